//! A record of a tracepoint.

/// One tracepoint record, from whatever file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Time on the capture's clock in ns.
    pub clock_ns: i64,
    /// The CPU that recorded it.
    pub cpu: Option<u32>,
    /// The thread that was running, where the record tells: perf says -1 for a thread that is exiting.
    pub tid: Option<i32>,
    /// Its process, where the record tells.
    pub pid: Option<i32>,
    /// The callchain.
    pub stack: Option<u32>,
    /// The event's own bytes, common fields included.
    pub payload: &'a [u8],
}
