//! A record of a tracepoint.

/// A tracepoint record, from any kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Time on the capture's clock in ns.
    pub clock_ns: i64,
    /// The CPU that recorded it.
    pub cpu: Option<u32>,
    /// The thread that ran, if the record has it. perf writes -1 for a thread that is exiting.
    pub tid: Option<i32>,
    /// Its process, if the record has it.
    pub pid: Option<i32>,
    /// The callchain.
    pub stack: Option<u32>,
    /// The event's own bytes, with the common fields.
    pub payload: &'a [u8],
}
