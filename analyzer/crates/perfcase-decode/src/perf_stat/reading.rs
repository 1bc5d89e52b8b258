//! One counter value as `perf stat` printed it, in any form.

/// The part of the machine that a value is added up over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scope {
    /// Everything that was counted.
    All,
    /// One CPU (`-A`).
    Cpu(u32),
    /// A core, die, socket, node or thread, as perf names it: `S0-D0-C0`, `N0`, `comm-tid`.
    Named(String),
}

/// Whether there is a value, or why not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// There is a value.
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
    /// The part of the machine that it is added up over.
    pub scope: Scope,
    /// The number of CPUs that are added up, where perf prints it.
    pub cpu_count: Option<u32>,
    /// The control group.
    pub cgroup: Option<String>,
    /// The event as the user wrote it.
    pub event: String,
    /// Unit of the value; `None` for plain counts.
    pub unit: Option<String>,
    /// The value, which perf scaled to the whole interval; `None` if it was not counted.
    pub value: Option<f64>,
    /// Whether there is a value.
    pub status: Status,
    /// How long the counter ran, in ns.
    pub running_ns: Option<u64>,
    /// The share of the enabled time in which it ran, 0 to 1. Below 1 the value is an estimate.
    pub running_ratio: Option<f64>,
    /// The length of the run in ns, for a total without `-I`, where perf prints it.
    pub elapsed_ns: Option<i64>,
}

/// What a line of the file is.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A counter value.
    Reading(Reading),
    /// Nothing: a blank line, a comment, or a further metric of the counter before.
    Nothing,
    /// A total over all intervals, which is also their sum.
    Summary,
    /// An unknown line.
    Unknown,
}

/// Reads a count, or the reason why there is none.
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

/// Gives the share of time in which a counter ran, 0 to 1; `None` for a counter that was never enabled, of which perf
/// prints 100 %.
pub fn running_ratio(percent: Option<f64>, running_ns: Option<u64>) -> Option<f64> {
    let percent = percent.filter(|p| p.is_finite() && *p >= 0.0)?;
    (running_ns != Some(0) || percent < 100.0).then_some(percent / 100.0)
}

/// Reads seconds such as `12.000345678`, in ns, without floating point.
pub fn seconds_to_ns(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.')?;
    if fraction.len() != 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let seconds: i64 = seconds.parse().ok().filter(|s| *s >= 0)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction.parse().ok()?)
}
