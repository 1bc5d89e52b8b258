//! What recordings say about the host. A recording without a capture has no other description.

/// Facts about the host that a decoder found in its file. Those of the manifest come first.
#[derive(Clone, Debug, Default)]
pub struct HostFacts {
    /// `uname -n`.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub kernel_release: Option<String>,
    /// `uname -m`.
    pub machine: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpu_count: Option<u32>,
    /// NUMA nodes: number and list of CPUs.
    pub numa_nodes: Vec<(u32, String)>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Bytes of a page, where it is known.
    pub page_size_bytes: Option<u64>,
    /// The command that recorded.
    pub command: Option<String>,
    /// The clock of the times: monotonic, monotonic_raw, boottime, realtime, tai; perf's own clock is sched.
    pub clock: Option<String>,
    /// One moment on the recording's clock and in ns since 1970-01-01 UTC.
    pub clock_and_realtime_ns: Option<(i64, i64)>,
}

impl HostFacts {
    /// Gives the wall-clock time, in ns since 1970-01-01 UTC, at a reading of the recording's clock.
    pub fn realtime_at(&self, clock_ns: i64) -> Option<i64> {
        let (clock, realtime) = self.clock_and_realtime_ns?;
        realtime.checked_add(clock_ns.checked_sub(clock)?)
    }
}
