//! Bounds on what a capture may make the reader do.

/// Bounds on the input. A capture beyond one of them is read up to it and an [`crate::Issue`] says so.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Most members an archive or files a folder may have.
    pub member_count_max: usize,
    /// Most bytes `manifest.json` may have: it is held in memory.
    pub manifest_bytes_max: u64,
    /// Most values it may have: a value of three characters takes some hundred bytes of memory.
    pub manifest_value_count_max: usize,
    /// Most bytes one member may decompress to.
    pub member_bytes_max: u64,
    /// Most decompressed bytes per stored byte, of a member and of all members together, once they are more than
    /// `ratio_free_bytes`.
    pub ratio_max: u64,
    /// Decompressed bytes up to which the ratio is not looked at: small files of zeros are common.
    pub ratio_free_bytes: u64,
    /// Deepest folder below a recorder's folder that is looked at.
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
            // zstd of idle /proc snapshots reaches a few hundred; of zeros, tens of thousands.
            ratio_max: 1_000,
            ratio_free_bytes: 256 << 20,
            folder_depth_max: 12,
        }
    }
}

impl Limits {
    /// Most bytes a member of `stored_bytes` may decompress to.
    pub(crate) fn output_bytes_max(&self, stored_bytes: u64) -> u64 {
        self.sum_bytes_max(stored_bytes).min(self.member_bytes_max)
    }

    /// Most bytes that all members together, which have `stored_bytes`, may decompress to.
    pub(crate) fn sum_bytes_max(&self, stored_bytes: u64) -> u64 {
        stored_bytes.saturating_mul(self.ratio_max).max(self.ratio_free_bytes)
    }
}
