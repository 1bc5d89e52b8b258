//! Folders of copied /proc files, as people make them by hand: the host's paths of the files, their moment, their boot.

use super::page::File;

/// The times that two readings of `btime` of one boot may differ by, in s: the kernel works it out at every reading
/// from the wall clock, which is corrected.
const BTIME_APART_S: i64 = 5;

/// Gives the path that a file has on the host, by its path in the folder of copies. Copies in one flat folder have `_` for
/// `/`; processes may lie below `pid`.
pub fn host_path(name: &str) -> String {
    let name = name.strip_prefix("pid/").unwrap_or(name);
    if let Some(file) = name.strip_prefix("cgroup_") {
        return format!("/sys/fs/cgroup/{file}");
    }
    for folder in ["net", "pressure"] {
        if let Some(file) = name.strip_prefix(folder).and_then(|rest| rest.strip_prefix('_')) {
            return format!("/proc/{folder}/{file}");
        }
    }
    format!("/proc/{name}")
}

/// Tells whether a file is a copy of /proc/stat, by its name and content. A folder with one is a copy of /proc.
pub fn is_host_stat(name: &str, content: &[u8]) -> bool {
    (name == "stat" || name.ends_with("/stat")) && content.starts_with(b"cpu  ")
}

/// Reads /proc/uptime: time since boot in ns. The file has seconds with two digits.
pub fn uptime(text: &[u8]) -> Option<i64> {
    let word = std::str::from_utf8(text).ok()?.split_ascii_whitespace().next()?;
    let (seconds, digits) = word.split_once('.').unwrap_or((word, ""));
    let fraction: i64 = format!("{digits:0<9}").get(..9)?.parse().ok()?;
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction).filter(|ns| *ns >= 0)
}

/// Reads the kernel's release in /proc/version: its third word.
pub fn release(version: &[u8]) -> Option<&str> {
    std::str::from_utf8(version).ok()?.split(' ').nth(2)
}

/// The boot, and the host, that copies are from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Boot {
    /// `btime` of /proc/stat: the moment of the boot, in s since 1970-01-01 UTC.
    pub time_s: Option<i64>,
    /// /proc/sys/kernel/random/boot_id.
    id: Option<String>,
    hostname: Option<String>,
}

impl Boot {
    /// Reads the boot from files of one moment.
    pub fn of(files: &[File<'_>]) -> Boot {
        let word = |path| text(files, path).and_then(|text| text.split_whitespace().next()).map(str::to_string);
        let line = text(files, "/proc/stat").and_then(|text| text.lines().find_map(|line| line.strip_prefix("btime ")));
        Boot {
            time_s: line
                .and_then(|seconds| seconds.trim().parse().ok())
                .filter(|seconds| (0..1 << 40).contains(seconds)),
            id: word("/proc/sys/kernel/random/boot_id"),
            hostname: word("/proc/sys/kernel/hostname"),
        }
    }

    /// Tells whether both may be one boot. A fact that is known of only one of them makes no difference.
    pub fn is_same(&self, other: &Boot) -> bool {
        if let (Some(a), Some(b)) = (&self.id, &other.id) {
            return a == b;
        }
        let is_other_host = matches!((&self.hostname, &other.hostname), (Some(a), Some(b)) if a != b);
        let is_other_time = self.after_ns(other).is_some_and(|ns| ns.abs() > BTIME_APART_S * 1_000_000_000);
        !is_other_host && !is_other_time
    }

    /// Gives the time from the other boot to this one, in ns.
    pub fn after_ns(&self, other: &Boot) -> Option<i64> {
        (self.time_s? - other.time_s?).checked_mul(1_000_000_000)
    }
}

fn text<'a>(files: &[File<'a>], path: &str) -> Option<&'a str> {
    let (_, content) = files.iter().find(|(known, _)| *known == path)?;
    std::str::from_utf8(content).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies() {
        for (name, path) in [
            ("stat", "/proc/stat"),
            ("net_dev", "/proc/net/dev"),
            ("net/dev", "/proc/net/dev"),
            ("pressure_io", "/proc/pressure/io"),
            ("cgroup_cpu.stat", "/sys/fs/cgroup/cpu.stat"),
            ("pid/12/status", "/proc/12/status"),
            ("12/task/13/stat", "/proc/12/task/13/stat"),
            ("network", "/proc/network"),
        ] {
            assert_eq!(host_path(name), path);
        }
        assert!(is_host_stat("a/stat", b"cpu  1") && !is_host_stat("a/12/stat", b"12 (x)"));
    }

    #[test]
    fn times_and_releases() {
        assert_eq!(uptime(b"108.50 41.74\n"), Some(108_500_000_000));
        assert_eq!(uptime(b"7\n"), Some(7_000_000_000));
        for bad in [&b""[..], b"x", b"-1.00 2", b"1.x", b"99999999999999999.00"] {
            assert_eq!(uptime(bad), None);
        }
        assert_eq!((release(b"Linux version 6.1.0 (x)"), release(b"Linux")), (Some("6.1.0"), None));
    }

    #[test]
    fn one_boot_or_two() {
        let boot = |btime: &str, id: Option<&str>| {
            let stat = format!("cpu  1 2\nbtime {btime}\n");
            let mut files = vec![("/proc/stat", stat.as_bytes())];
            files.extend(id.map(|id| ("/proc/sys/kernel/random/boot_id", id.as_bytes())));
            Boot::of(&files)
        };
        assert!(boot("1000", None).is_same(&boot("1001", None)), "the wall clock was corrected");
        assert!(!boot("1000", None).is_same(&boot("1100", None)));
        assert!(boot("1000", Some("a")).is_same(&boot("1100", Some("a"))), "the wall clock was set");
        assert!(!boot("1000", Some("a")).is_same(&boot("1000", Some("b"))));
        assert!(boot("x", None).is_same(&boot("1000", None)), "unknown is no difference");
        assert_eq!(boot("1100", None).after_ns(&boot("1000", None)), Some(100_000_000_000));
    }
}
