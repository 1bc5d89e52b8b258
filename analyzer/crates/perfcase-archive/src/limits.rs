//! Bounds on the work that a capture may cause.

/// Bounds on the input. A capture beyond a bound is read up to it, and an [`crate::Issue`] says so.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most members of an archive, or files of a folder.
    pub member_count_max: usize,
    /// The most bytes of `manifest.json`, which is held in memory.
    pub manifest_bytes_max: u64,
    /// The most values in it: a value of three characters takes some hundred bytes of memory.
    pub manifest_value_count_max: usize,
    /// The most bytes that one member may decompress to.
    pub member_bytes_max: u64,
    /// The most decompressed bytes for each stored byte, of a member and of all members together, once they are more
    /// than `ratio_free_bytes`.
    pub ratio_max: u64,
    /// The ratio does not matter up to so many decompressed bytes: small files of zeros are common.
    pub ratio_free_bytes: u64,
    /// The deepest folder below a recorder's folder that is read.
    pub folder_depth_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            member_count_max: 100_000,
            manifest_bytes_max: 16 << 20,
            // A line of ten values for each of 30,000 members.
            manifest_value_count_max: 300_000,
            member_bytes_max: 64 << 30,
            // zstd of idle /proc snapshots reaches a ratio of a few hundred, zstd of zeros tens of thousands.
            ratio_max: 1_000,
            ratio_free_bytes: 256 << 20,
            folder_depth_max: 12,
        }
    }
}

impl Limits {
    /// Gives the most bytes that a member of `stored_bytes` may decompress to.
    pub(crate) fn output_bytes_max(&self, stored_bytes: u64) -> u64 {
        self.sum_bytes_max(stored_bytes).min(self.member_bytes_max)
    }

    /// Gives the most bytes that all members together, which have `stored_bytes`, may decompress to.
    pub(crate) fn sum_bytes_max(&self, stored_bytes: u64) -> u64 {
        stored_bytes.saturating_mul(self.ratio_max).max(self.ratio_free_bytes)
    }
}
