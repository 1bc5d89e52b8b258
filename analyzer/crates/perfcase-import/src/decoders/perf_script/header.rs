//! What `perf script --header` says of the host, and notes between samples.

use crate::session::{HostFacts, SourceInfo};

/// Takes a line that begins with `#`.
pub fn take(line: &str, host: &mut HostFacts, source: &mut SourceInfo) {
    let line = line.trim_start_matches('#').trim();
    let Some((key, value)) = line.split_once(':') else { return };
    let (key, value) = (key.trim(), value.trim());
    if value.is_empty() {
        return;
    }
    let text = || Some(value.to_string());
    match key {
        "hostname" => host.hostname = host.hostname.take().or_else(text),
        "os release" => host.kernel_release = host.kernel_release.take().or_else(text),
        "arch" => host.machine = host.machine.take().or_else(text),
        "cpudesc" => host.cpu_model = host.cpu_model.take().or_else(text),
        "cmdline" => host.command = host.command.take().or_else(text),
        "nrcpus online" => host.cpu_count = host.cpu_count.or(value.parse().ok()),
        "total memory" => {
            let kib = value.strip_suffix(" kB").and_then(|n| n.trim().parse::<u64>().ok());
            host.memory_bytes = host.memory_bytes.or(kib.and_then(|n| n.checked_mul(1024)));
        }
        "perf version" => {
            source.tool = Some("perf".to_string());
            source.tool_version = text();
        }
        "clockid" => {
            let name = value.split(' ').next().unwrap_or(value).to_string();
            source.clock = Some(name.clone());
            host.clock = host.clock.take().or(Some(name));
        }
        "reference time" => host.clock_and_realtime_ns = host.clock_and_realtime_ns.or_else(|| reference(value)),
        _ => {}
    }
}

/// `2026-11-21 00:09:22.258357 = 1795219762.258357 (TOD) = 18.186134864 (monotonic)`
fn reference(text: &str) -> Option<(i64, i64)> {
    let mut parts = text.split(" = ").skip(1).map(|part| part.split(' ').next().unwrap_or(""));
    let (realtime, clock) = (nanoseconds(parts.next()?)?, nanoseconds(parts.next()?)?);
    Some((clock, realtime))
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
        let (mut host, mut source) = (HostFacts::default(), SourceInfo::default());
        for line in [
            "# ========",
            "# hostname : guest",
            "# os release : 6.1.0-50-arm64",
            "# perf version : 6.1.176",
            "# arch : aarch64",
            "# nrcpus online : 2",
            "# total memory : 2029440 kB",
            "# cmdline : /usr/bin/perf record -a ",
            "# clockid: monotonic (1)",
            "# reference time: 2026-11-21 00:09:22.258357 = 1795219762.258357 (TOD) = 18.186134864 (monotonic)",
        ] {
            take(line, &mut host, &mut source);
        }
        assert_eq!((host.hostname.as_deref(), host.machine.as_deref()), (Some("guest"), Some("aarch64")));
        assert_eq!((host.cpu_count, host.memory_bytes), (Some(2), Some(2_029_440 * 1024)));
        assert_eq!(host.command.as_deref(), Some("/usr/bin/perf record -a"));
        assert_eq!((host.clock.as_deref(), source.tool_version.as_deref()), (Some("monotonic"), Some("6.1.176")));
        assert_eq!(host.clock_and_realtime_ns, Some((18_186_134_864, 1_795_219_762_258_357_000)));
    }
}
