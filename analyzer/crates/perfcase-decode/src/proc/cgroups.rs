//! Statistics of control groups: files below /sys/fs/cgroup, version 1 and 2
//! (Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/).

use super::text::lines;

/// The controllers of version 1: a first folder with only such names is a hierarchy of version 1.
const CONTROLLERS_V1: &[&str] = &[
    "blkio",
    "cpu",
    "cpuacct",
    "cpuset",
    "devices",
    "freezer",
    "hugetlb",
    "memory",
    "misc",
    "net_cls",
    "net_prio",
    "perf_event",
    "pids",
    "rdma",
    "systemd",
];

/// A control group and one of its files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CgroupPath<'a> {
    /// `/a/b`, or `cpu,cpuacct:/a/b` for version 1.
    pub cgroup: String,
    /// `cpu.stat`.
    pub file: &'a str,
}

/// Splits a path below /sys/fs/cgroup. Only names with a dot in them are files of a controller.
pub fn parse_path(path: &str) -> Option<CgroupPath<'_>> {
    let rest = path.strip_prefix("/sys/fs/cgroup")?;
    let (folder, file) = rest.rsplit_once('/')?;
    if !file.contains('.') || file.starts_with("cgroup.") {
        return None;
    }
    let (first, below) = match folder.strip_prefix('/').map(|folder| folder.split_once('/')) {
        Some(Some((first, below))) => (first, below),
        Some(None) => (&folder[1..], ""),
        None => ("", ""),
    };
    let cgroup = if first == "unified" {
        format!("/{below}")
    } else if !first.is_empty() && first.split(',').all(|name| CONTROLLERS_V1.contains(&name)) {
        format!("{first}:/{below}")
    } else if folder.is_empty() {
        "/".to_string()
    } else {
        folder.to_string()
    };
    Some(CgroupPath { cgroup, file })
}

/// Calls `found` with each name and value; the value `max` is `None`.
pub fn parse(file: &str, text: &[u8], mut found: impl FnMut(&str, Option<i64>)) {
    for line in lines(text) {
        let words: Vec<&str> = line.split_ascii_whitespace().take(64).collect();
        match words.as_slice() {
            [value] => emit(file, value, &mut found),
            // The quota, and its period.
            [quota, period] if file == "cpu.max" => {
                emit(file, quota, &mut found);
                emit("cpu.max.period", period, &mut found);
            }
            [key, rest @ ..] if rest.iter().any(|word| word.contains('=')) => {
                for (name, value) in rest.iter().filter_map(|word| word.split_once('=')) {
                    emit(&format!("{file}.{key}.{name}"), value, &mut found);
                }
            }
            [key, value] => emit(&format!("{file}.{key}"), value, &mut found),
            [key, name, value] => emit(&format!("{file}.{key}.{name}"), value, &mut found),
            _ => {}
        }
    }
}

fn emit(name: &str, value: &str, found: &mut impl FnMut(&str, Option<i64>)) {
    match value.parse::<i64>() {
        Ok(value) => found(name, Some(value)),
        Err(_) if value == "max" => found(name, None),
        // Averages of pressure are left out: the total is more exact.
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let path = |text| parse_path(text).map(|p| (p.cgroup, p.file.to_string()));
        let is = |cgroup: &str, file: &str| Some((cgroup.to_string(), file.to_string()));
        assert_eq!(path("/sys/fs/cgroup/cpu.stat"), is("/", "cpu.stat"));
        assert_eq!(
            path("/sys/fs/cgroup/system.slice/a.service/memory.current"),
            is("/system.slice/a.service", "memory.current")
        );
        assert_eq!(path("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.stat"), is("cpu,cpuacct:/docker/x", "cpu.stat"));
        assert_eq!(path("/sys/fs/cgroup/memory/memory.stat"), is("memory:/", "memory.stat"));
        assert_eq!(path("/sys/fs/cgroup/unified/a/cpu.pressure"), is("/a", "cpu.pressure"));
        assert_eq!(path("/sys/fs/cgroup/tasks"), None);
        assert_eq!(path("/sys/fs/cgroup/cgroup.controllers"), None);
        assert_eq!(path("/sys/fs/other/cpu.stat"), None);
    }

    #[test]
    fn files() {
        let read = |file: &str, text: &str| {
            let mut rows = Vec::new();
            parse(file, text.as_bytes(), |name, value| rows.push((name.to_string(), value)));
            rows.into_iter().map(|(name, value)| format!("{name}={value:?}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(read("memory.current", "7\n"), "memory.current=Some(7)");
        assert_eq!(read("memory.max", "max\n"), "memory.max=None");
        assert_eq!(read("cpu.max", "max 100000\n"), "cpu.max=None cpu.max.period=Some(100000)");
        assert_eq!(
            read("cpu.stat", "usage_usec 5\nnr_periods 0\n"),
            "cpu.stat.usage_usec=Some(5) cpu.stat.nr_periods=Some(0)"
        );
        assert_eq!(read("io.stat", "8:0 rbytes=1 wbytes=2\n"), "io.stat.8:0.rbytes=Some(1) io.stat.8:0.wbytes=Some(2)");
        assert_eq!(read("io.pressure", "some avg10=0.50 total=9\n"), "io.pressure.some.total=Some(9)");
        assert_eq!(
            read("blkio.throttle.io_service_bytes", "8:0 Read 4\nTotal 4\n"),
            "blkio.throttle.io_service_bytes.8:0.Read=Some(4) blkio.throttle.io_service_bytes.Total=Some(4)"
        );
    }
}
