//! One counter value as `perf stat` printed it, whatever the form.

/// What a value was added up over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scope {
    /// Everything that was counted.
    All,
    /// One CPU (`-A`).
    Cpu(u32),
    /// A core, die, socket, node or thread, as perf names it: `S0-D0-C0`, `N0`, `comm-tid`.
    Named(String),
}

/// Whether there is a value, and why not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// There is.
    Counted,
    /// The event never ran in the interval: no free counter, no task on the CPU, or the CPU was offline.
    NotCounted,
    /// The machine or kernel does not have the event.
    NotSupported,
}

impl Status {
    /// The word in `pmc_interval.status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Counted => "counted",
            Status::NotCounted => "not_counted",
            Status::NotSupported => "not_supported",
        }
    }
}

/// A counter value.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// End of the interval in ns after perf stat's start; `None` without `-I`.
    pub at_ns: Option<i64>,
    /// What it was added up over.
    pub scope: Scope,
    /// How many CPUs were added up, where perf says.
    pub cpu_count: Option<u32>,
    /// The control group.
    pub cgroup: Option<String>,
    /// The event as it was asked for.
    pub event: String,
    /// Unit of the value; `None` for plain counts.
    pub unit: Option<String>,
    /// The value, scaled by perf to the whole interval; `None` unless counted.
    pub value: Option<f64>,
    /// Whether there is a value.
    pub status: Status,
    /// How long the counter ran.
    pub running_ns: Option<u64>,
    /// Share of the time it was enabled that it ran: below 1 the value is an estimate.
    pub running_ratio: Option<f64>,
    /// Length of the run in ns, of a total without `-I` where perf says.
    pub elapsed_ns: Option<i64>,
}

/// What a line of the file is.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A counter value.
    Reading(Reading),
    /// Nothing to keep: blank, a comment, a further metric of the counter before.
    Nothing,
    /// A total over all intervals, which their sum gives as well.
    Summary,
    /// Not understood.
    Unknown,
}

/// A count or the reason there is none.
pub fn value(text: &str) -> Option<(Option<f64>, Status)> {
    match text {
        "<not counted>" => Some((None, Status::NotCounted)),
        "<not supported>" => Some((None, Status::NotSupported)),
        _ => {
            let value: f64 = text.parse().ok()?;
            value.is_finite().then_some((Some(value), Status::Counted))
        }
    }
}

/// The share of time that a counter ran. A counter that was never enabled is printed as 100 %, which is no statement.
pub fn running_ratio(percent: Option<f64>, running_ns: Option<u64>) -> Option<f64> {
    let percent = percent.filter(|p| p.is_finite() && *p >= 0.0)?;
    (running_ns != Some(0) || percent < 100.0).then_some(percent / 100.0)
}

/// `12.000345678` seconds as nanoseconds, without a detour over floating point.
pub fn seconds_to_ns(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.')?;
    if fraction.len() != 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let seconds: i64 = seconds.parse().ok().filter(|s| *s >= 0)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction.parse().ok()?)
}
