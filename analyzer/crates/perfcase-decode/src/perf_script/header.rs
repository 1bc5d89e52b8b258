//! What `perf script --header` says of the host: lines that begin with `#`, before the samples and between them.

/// A fact about the host or the recording.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fact<'a> {
    /// The host's name.
    Hostname(&'a str),
    /// The kernel's release.
    KernelRelease(&'a str),
    /// The architecture, as `uname -m` names it.
    Machine(&'a str),
    /// The CPU's model.
    CpuModel(&'a str),
    /// How many CPUs are online.
    CpuCount(u32),
    /// The memory, in bytes.
    MemoryBytes(u64),
    /// The command that recorded.
    Command(&'a str),
    /// The version of perf.
    PerfVersion(&'a str),
    /// The clock of the times: `monotonic`, ….
    Clock(&'a str),
    /// One moment on the recording's clock, and in ns since 1970-01-01 UTC.
    ClockAndRealtime(i64, i64),
}

/// Reads a line that begins with `#`; `None` where it has no fact.
pub fn parse(line: &str) -> Option<Fact<'_>> {
    let (key, value) = line.trim_start_matches('#').trim().split_once(':')?;
    let (key, value) = (key.trim(), value.trim());
    if value.is_empty() {
        return None;
    }
    match key {
        "hostname" => Some(Fact::Hostname(value)),
        "os release" => Some(Fact::KernelRelease(value)),
        "arch" => Some(Fact::Machine(value)),
        "cpudesc" => Some(Fact::CpuModel(value)),
        "cmdline" => Some(Fact::Command(value)),
        "nrcpus online" => value.parse().ok().map(Fact::CpuCount),
        "total memory" => {
            let kib = value.strip_suffix(" kB")?.trim().parse::<u64>().ok()?;
            kib.checked_mul(1024).map(Fact::MemoryBytes)
        }
        "perf version" => Some(Fact::PerfVersion(value)),
        "clockid" => Some(Fact::Clock(value.split(' ').next().unwrap_or(value))),
        "reference time" => reference(value),
        _ => None,
    }
}

/// Gives the event of a line like `# event : name = cycles:u, , id = { 1 }`.
pub fn event(line: &str) -> Option<&str> {
    line.strip_prefix("# event : name = ")?.split(", ").next()
}

/// Tells whether the line of an event says that registers are recorded: at the interrupt, of the user.
pub fn registers(line: &str) -> (bool, bool) {
    let is_event = line.starts_with("# event : ");
    (is_event && line.contains("REGS_INTR"), is_event && line.contains("REGS_USER"))
}

/// Reads `2026-11-21 00:09:22.258357 = 1795219762.258357 (TOD) = 18.186134864 (monotonic)`.
fn reference(text: &str) -> Option<Fact<'_>> {
    let mut parts = text.split(" = ").skip(1).map(|part| part.split(' ').next().unwrap_or(""));
    let (realtime_ns, clock_ns) = (nanoseconds(parts.next()?)?, nanoseconds(parts.next()?)?);
    Some(Fact::ClockAndRealtime(clock_ns, realtime_ns))
}

fn nanoseconds(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.split_once('.')?;
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts() {
        for (line, fact) in [
            ("# ========", None),
            ("# hostname : guest", Some(Fact::Hostname("guest"))),
            ("# os release : 6.1.0-50-arm64", Some(Fact::KernelRelease("6.1.0-50-arm64"))),
            ("# perf version : 6.1.176", Some(Fact::PerfVersion("6.1.176"))),
            ("# arch : aarch64", Some(Fact::Machine("aarch64"))),
            ("# nrcpus online : 2", Some(Fact::CpuCount(2))),
            ("# nrcpus online : x", None),
            ("# total memory : 2029440 kB", Some(Fact::MemoryBytes(2_029_440 * 1024))),
            ("# total memory : 99999999999999999999 kB", None),
            ("# cmdline : /usr/bin/perf record -a ", Some(Fact::Command("/usr/bin/perf record -a"))),
            ("# cmdline : ", None),
            ("# clockid: monotonic (1)", Some(Fact::Clock("monotonic"))),
            (
                "# reference time: 2026-11-21 00:09:22.258357 = 1795219762.258357 (TOD) = 18.186134864 (monotonic)",
                Some(Fact::ClockAndRealtime(18_186_134_864, 1_795_219_762_258_357_000)),
            ),
        ] {
            assert_eq!(parse(line), fact, "{line}");
        }
    }

    #[test]
    fn events_and_their_registers() {
        let line = "# event : name = cycles:u, , id = { 1 }, sample_type = IP|TID|REGS_USER";
        assert_eq!((event(line), registers(line)), (Some("cycles:u"), (false, true)));
        assert_eq!((event("# arch : x"), registers("# REGS_INTR")), (None, (false, false)));
    }
}
