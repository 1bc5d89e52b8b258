//! /proc/PID/{io,limits,numa_maps,cmdline,cgroup,smaps_rollup}: proc_pid_io(5), proc_pid_limits(5) and others.

use std::collections::BTreeMap;

use hashbrown::HashMap;

/// Longest command line in bytes, and longest path of a control group in characters.
const MOST_TEXT: usize = 4096;

/// What `io` says, in the kernel's order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Io {
    /// rchar, wchar: bytes that calls moved.
    pub chars: [Option<u64>; 2],
    /// syscr, syscw: calls.
    pub calls: [Option<u64>; 2],
    /// read_bytes, write_bytes, cancelled_write_bytes: storage.
    pub storage: [Option<u64>; 3],
}

/// Reads `io`, of a process or of a thread.
pub fn parse_io(text: &[u8]) -> Option<Io> {
    let mut io = Io::default();
    for (key, number) in numbers(text) {
        match key {
            "rchar" => io.chars[0] = Some(number),
            "wchar" => io.chars[1] = Some(number),
            "syscr" => io.calls[0] = Some(number),
            "syscw" => io.calls[1] = Some(number),
            "read_bytes" => io.storage[0] = Some(number),
            "write_bytes" => io.storage[1] = Some(number),
            "cancelled_write_bytes" => io.storage[2] = Some(number),
            _ => {}
        }
    }
    (io != Io::default()).then_some(io)
}

/// `key: number` lines; a number in kB becomes bytes.
fn numbers(text: &[u8]) -> impl Iterator<Item = (&str, u64)> {
    text.split(|&b| b == b'\n').filter_map(|line| {
        let (key, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
        let mut words = value.split_ascii_whitespace();
        let number: u64 = words.next()?.parse().ok()?;
        match words.next() {
            Some("kB") => Some((key, number.checked_mul(1024)?)),
            _ => Some((key, number)),
        }
    })
}

/// Reads `smaps_rollup`: bytes by the kernel's names. The file of a kernel thread is empty.
pub fn parse_smaps_rollup(text: &[u8]) -> HashMap<String, u64> {
    numbers(text).take(64).map(|(key, number)| (key.to_string(), number)).collect()
}

/// A line of /proc/PID/limits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limit<'a> {
    /// Its name, of several words.
    pub name: &'a str,
    /// The soft limit; `None` where there is none.
    pub soft: Option<u64>,
    /// The hard limit; `None` where there is none.
    pub hard: Option<u64>,
    /// The unit of both; `None` of a limit without one.
    pub unit: Option<&'a str>,
}

/// Reads `limits`: a heading, then lines of a name of several words and up to three more. `None` without such a line.
pub fn parse_limits(text: &[u8]) -> Option<Vec<Limit<'_>>> {
    let text = std::str::from_utf8(text).ok()?;
    let is_value = |word: &str| word == "unlimited" || word.bytes().all(|b| b.is_ascii_digit());
    let mut limits = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("Limit ")).take(64) {
        let Some(at) = line.split_ascii_whitespace().find(|word| is_value(word)) else { continue };
        let split = at.as_ptr() as usize - line.as_ptr() as usize;
        let mut words = line[split..].split_ascii_whitespace();
        let (Some(soft), Some(hard)) = (words.next(), words.next()) else { continue };
        if is_value(hard) {
            let value = |word: &str| word.parse().ok();
            limits.push(Limit { name: line[..split].trim(), soft: value(soft), hard: value(hard), unit: words.next() });
        }
    }
    (!limits.is_empty()).then_some(limits)
}

/// Adds up the bytes on each NUMA node, of all mappings in `numa_maps`:
/// `7f00 default file=/a N0=3 N1=1 kernelpagesize_kB=4`.
pub fn parse_numa_maps(text: &[u8]) -> BTreeMap<u32, u64> {
    let mut nodes: BTreeMap<u32, u64> = BTreeMap::new();
    for line in text.split(|&b| b == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        let page_kb = line.split(' ').find_map(|word| word.strip_prefix("kernelpagesize_kB=")?.parse::<u64>().ok());
        let Some(page_bytes) = page_kb.and_then(|kb| kb.checked_mul(1024)) else { continue };
        for word in line.split(' ').skip(2) {
            let Some((node, pages)) = word.strip_prefix('N').and_then(|word| word.split_once('=')) else { continue };
            if let (Ok(node), Ok(pages)) = (node.parse::<u32>(), pages.parse::<u64>())
                && (nodes.len() < 1024 || nodes.contains_key(&node))
            {
                let bytes = nodes.entry(node).or_default();
                *bytes = bytes.saturating_add(pages.saturating_mul(page_bytes));
            }
        }
    }
    nodes
}

/// Reads `cmdline`: the arguments, separated by spaces; `None` of a kernel thread, which has none.
pub fn parse_cmdline(bytes: &[u8]) -> Option<String> {
    let cut = &bytes[..bytes.len().min(MOST_TEXT)];
    let cut = cut.iter().rposition(|&b| b != 0).map(|last| &cut[..=last])?;
    Some(String::from_utf8_lossy(cut).replace('\0', " "))
}

/// Reads the path in `cgroup`. That of the unified hierarchy (`0::`) counts. Where version 1 has the controllers, it is the root for
/// every process: then the first counts of these that is not the root: `cpu`, `cpuacct`, `memory`, systemd's own, any other.
pub fn parse_cgroup(text: &[u8]) -> Option<String> {
    const PREFERRED: [&str; 5] = ["", "cpu", "cpuacct", "memory", "name=systemd"];
    let text = String::from_utf8_lossy(text);
    let rank = |controllers: &str| {
        let place = |name: &str| PREFERRED.iter().position(|&preferred| preferred == name);
        controllers.split(',').filter_map(place).min().unwrap_or(PREFERRED.len())
    };
    let chosen = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            Some((path == "/", rank(controllers), path))
        })
        .min_by_key(|&(is_root, rank, _)| (is_root, rank))?;
    Some(chosen.2.chars().take(MOST_TEXT).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_of_a_process() {
        let text = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let some = |numbers: [u64; 2]| numbers.map(Some);
        assert_eq!(
            parse_io(text),
            Some(Io { chars: some([1, 2]), calls: some([3, 4]), storage: [Some(5), Some(6), Some(7)] })
        );
        assert_eq!(parse_io(b"rchar: 1").unwrap().storage, [None; 3]);
        assert_eq!(parse_io(b"hello"), None);
    }

    #[test]
    fn limits_have_names_of_several_words() {
        let text = b"Limit                     Soft Limit           Hard Limit           Units     \n\
            Max cpu time              unlimited            unlimited            seconds   \n\
            Max open files            1024                 524288               files     \n\
            Max nice priority         0                    0                    \n\
            Max broken";
        let limits = parse_limits(text).unwrap();
        assert_eq!(limits.len(), 3);
        assert_eq!(limits[0], Limit { name: "Max cpu time", soft: None, hard: None, unit: Some("seconds") });
        assert_eq!(
            limits[1],
            Limit { name: "Max open files", soft: Some(1024), hard: Some(524_288), unit: Some("files") }
        );
        assert_eq!(limits[2], Limit { name: "Max nice priority", soft: Some(0), hard: Some(0), unit: None });
        assert_eq!(parse_limits(b""), None);
    }

    #[test]
    fn memory_by_node() {
        let text = b"5600 default file=/x mapped=4 N0=3 N1=1 kernelpagesize_kB=4\n7f00 bind:0 huge anon=2 N0=2 \
            kernelpagesize_kB=2048\n7f01 default file=N9=9\n7f02 default\n";
        assert_eq!(parse_numa_maps(text), BTreeMap::from([(0, 3 * 4096 + (4 << 20)), (1, 4096)]));
        assert_eq!(parse_numa_maps(b"1 x N0=99999999999999999999 kernelpagesize_kB=4"), BTreeMap::new());
    }

    #[test]
    fn command_lines_and_groups() {
        assert_eq!(parse_cmdline(b"sh\0-c\0a b\0").as_deref(), Some("sh -c a b"));
        assert_eq!(parse_cmdline(b""), None);
        assert_eq!(parse_cmdline(b"\0\0"), None);
        assert_eq!(parse_cmdline(&[b'x'; 9000]).unwrap().len(), 4096);
        assert_eq!(parse_cgroup(b"0::/a/b\n").as_deref(), Some("/a/b"));
        assert_eq!(parse_cgroup(b"4:memory:/m:x\n1:cpuacct,cpu:/c\n0::/\n").as_deref(), Some("/c"));
        assert_eq!(parse_cgroup(b"4:memory:/m:x\n1:cpu,cpuacct:/\n0::/\n").as_deref(), Some("/m:x"));
        assert_eq!(parse_cgroup(b"9:name=systemd:/\n8:pids:/p\n0::/\n").as_deref(), Some("/p"));
        assert_eq!(parse_cgroup(b"9:name=systemd:/\n8:pids:/\n").as_deref(), Some("/"));
        assert_eq!(parse_cgroup(b"4:memory:/m\n0::/a\n").as_deref(), Some("/a"));
        assert_eq!(parse_cgroup(b""), None);
    }
}
