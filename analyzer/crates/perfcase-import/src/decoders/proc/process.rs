//! Files of a process, /proc/PID/…, to rows of `proc_process`, `proc_command`, `proc_limit` and `proc_fd`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use perfcase_decode::proc::thread;
use perfcase_decode::proc::thread::{ThreadStat, ThreadStatus};

use super::fd;
use super::rows::signed;
use super::system::At;
use crate::session::{Session, SourceId, Upid};
use crate::tables::{ProcCommandRow, ProcLimitRow, ProcNumaRow, ProcProcessRow};

/// Longest command line and control group that become a cell, in bytes.
const MOST_TEXT_BYTES: usize = 4096;

/// What /proc/PID/io says, in the kernel's order.
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

/// `key: number` lines; a number in kB is given in bytes.
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

/// A line of /proc/PID/limits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Limit<'a> {
    name: &'a str,
    soft: Option<u64>,
    hard: Option<u64>,
    unit: Option<&'a str>,
}

/// Reads `limits`: a heading, then lines of a name of several words and up to three more. Without a line: `None`.
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

/// Bytes on each node, of all mappings in `numa_maps`: `7f00 default file=/a N0=3 N1=1 kernelpagesize_kB=4`.
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

fn push_numa(session: &mut Session, at: At, process: &Process, bytes: &[u8]) -> bool {
    let nodes = parse_numa_maps(bytes);
    for (node, bytes) in &nodes {
        session.sink.tables.proc_numa.push(ProcNumaRow {
            ts_ns: at.ts_ns,
            snapshot: at.snapshot,
            source_id: at.source_id,
            upid: process.upid,
            pid: process.pid,
            node: *node,
            resident_bytes: i64::try_from(*bytes).unwrap_or(i64::MAX),
        });
        session.row_added();
    }
    bytes.is_empty() || !nodes.is_empty()
}

/// The arguments of `cmdline`, separated by spaces; a kernel thread has none.
pub fn command_line(bytes: &[u8]) -> Option<String> {
    let cut = &bytes[..bytes.len().min(MOST_TEXT_BYTES)];
    let cut = cut.iter().rposition(|&b| b != 0).map(|last| &cut[..=last])?;
    Some(String::from_utf8_lossy(cut).replace('\0', " "))
}

/// The path in `cgroup`: of the unified hierarchy (`0::`), unless a process is in none but its root while version 1 has
/// hierarchies; then of the first of these.
pub fn cgroup(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let path = |line: &str| line.splitn(3, ':').nth(2).map(str::to_string);
    let unified = text.lines().find(|line| line.starts_with("0::")).and_then(path);
    let first = text.lines().find(|line| !line.starts_with("0::")).and_then(path);
    let chosen = match (unified, first) {
        (Some(unified), Some(first)) if unified == "/" => Some(first),
        (unified, first) => unified.or(first),
    }?;
    Some(chosen.chars().take(MOST_TEXT_BYTES).collect())
}

/// What is known of the process whose files come now.
#[derive(Default)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its key.
    pub upid: Upid,
    /// When its first file was read.
    pub ts_ns: i64,
    /// Its `stat`.
    pub stat: Option<ThreadStat>,
    status: Option<ThreadStatus>,
    io: Option<Io>,
    rollup: HashMap<String, u64>,
    fd_count: Option<u32>,
    command: Option<Option<String>>,
    cgroup: Option<String>,
}

impl Process {
    /// A process whose first file was read at `ts_ns`.
    pub fn new(pid: i32, upid: Upid, ts_ns: i64) -> Process {
        Process { pid, upid, ts_ns, ..Process::default() }
    }
}

/// The last of what is written only when it changes, and who holds each socket in this snapshot.
#[derive(Default)]
pub struct Processes {
    commands: HashMap<Upid, (Option<String>, Option<String>)>,
    limits: HashMap<Upid, Vec<u8>>,
    /// Inode of a socket to those that have it open.
    pub holders: HashMap<u64, Vec<Holder>>,
}

/// Who has a socket open.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    /// The process.
    pub upid: Upid,
    /// Its id.
    pub pid: i32,
    /// The descriptor.
    pub fd: i32,
}

/// Files that are read here.
pub fn is_known(file: &str) -> bool {
    matches!(file, "stat" | "status" | "io" | "smaps_rollup" | "numa_maps" | "cmdline" | "cgroup" | "limits" | "fd")
}

impl Processes {
    /// Takes in a file. False when it is not as the kernel writes it.
    pub fn file(&mut self, session: &mut Session, at: At, process: &mut Process, file: &str, bytes: &[u8]) -> bool {
        match file {
            "stat" => {
                process.stat = thread::parse_stat(bytes);
                if let Some(start) = process.stat.as_ref().and_then(|stat| stat.stack_start) {
                    session.stack_tells_compat(process.upid, start);
                }
                process.stat.is_some()
            }
            "status" => {
                process.status = Some(thread::parse_status(bytes)).filter(|status| *status != ThreadStatus::default());
                process.status.is_some()
            }
            "io" => {
                process.io = parse_io(bytes);
                process.io.is_some()
            }
            // The file of a kernel thread is empty.
            "smaps_rollup" => {
                process.rollup = numbers(bytes).take(64).map(|(key, number)| (key.to_string(), number)).collect();
                bytes.is_empty() || !process.rollup.is_empty()
            }
            "cmdline" => {
                process.command = Some(command_line(bytes));
                true
            }
            "cgroup" => {
                process.cgroup = cgroup(bytes);
                process.cgroup.is_some()
            }
            "limits" => self.limits(session, at, process, bytes),
            "numa_maps" => push_numa(session, at, process, bytes),
            "fd" => self.descriptors(session, at, process, bytes),
            _ => false,
        }
    }

    fn limits(&mut self, session: &mut Session, at: At, process: &Process, bytes: &[u8]) -> bool {
        let Some(limits) = parse_limits(bytes) else { return false };
        if self.limits.get(&process.upid).is_some_and(|known| known == bytes) {
            return true;
        }
        self.limits.insert(process.upid, bytes.to_vec());
        for limit in limits {
            session.sink.tables.proc_limit.push(ProcLimitRow {
                ts_ns: at.ts_ns,
                snapshot: at.snapshot,
                source_id: at.source_id,
                upid: process.upid,
                pid: process.pid,
                name: limit.name.as_bytes(),
                soft: limit.soft,
                hard: limit.hard,
                unit: limit.unit.map(str::as_bytes),
            });
            session.row_added();
        }
        true
    }

    fn descriptors(&mut self, session: &mut Session, at: At, process: &mut Process, bytes: &[u8]) -> bool {
        let links: Vec<fd::Link<'_>> = bytes.split(|&b| b == b'\n').filter_map(fd::parse_link).collect();
        for link in &links {
            if let (Some(inode), fd::SOCKET) = (link.inode, link.kind) {
                let holder = Holder { upid: process.upid, pid: process.pid, fd: link.fd };
                self.holders.entry(inode).or_default().push(holder);
            }
            session.sink.tables.proc_fd.push(link.row(at, process.upid, process.pid));
            session.row_added();
        }
        process.fd_count = u32::try_from(links.len()).ok();
        bytes.is_empty() || !links.is_empty()
    }

    /// The process's files are all there: its rows.
    pub fn push(&mut self, session: &mut Session, snapshot: u32, source_id: SourceId, units: Units, process: Process) {
        let at = At { ts_ns: process.ts_ns, snapshot, source_id };
        if process.command.is_some() || process.cgroup.is_some() {
            self.push_command(session, at, &process);
        }
        let is_measured = process.stat.is_some()
            || process.status.is_some()
            || process.io.is_some()
            || process.fd_count.is_some()
            || !process.rollup.is_empty();
        if is_measured {
            let none = ThreadStat::default();
            let stat = process.stat.as_ref().unwrap_or(&none);
            session.sink.tables.proc_process.push(row(at, units, &process, stat));
            session.row_added();
        }
    }

    fn push_command(&mut self, session: &mut Session, at: At, process: &Process) {
        let now = (process.command.clone().flatten(), process.cgroup.clone());
        if self.commands.get(&process.upid) == Some(&now) {
            return;
        }
        session.sink.tables.proc_command.push(ProcCommandRow {
            ts_ns: at.ts_ns,
            snapshot: at.snapshot,
            source_id: at.source_id,
            upid: process.upid,
            pid: process.pid,
            command_line: now.0.as_deref(),
            cgroup: now.1.as_deref(),
        });
        session.row_added();
        self.commands.insert(process.upid, now);
    }
}

/// What the kernel's own units are on this host.
#[derive(Clone, Copy)]
pub struct Units {
    /// USER_HZ.
    pub ticks_per_s: u64,
    /// Bytes of a page, where that is known.
    pub page_size_bytes: Option<u64>,
}

impl Units {
    /// Ticks as ns.
    pub fn ns(self, ticks: Option<u64>) -> Option<i64> {
        let ns = u128::from(ticks?) * 1_000_000_000 / u128::from(self.ticks_per_s.max(1));
        i64::try_from(ns).ok()
    }

    /// Pages as bytes.
    pub fn bytes(self, pages: Option<u64>) -> Option<i64> {
        let pages = pages?;
        if pages == 0 {
            return Some(0);
        }
        signed(pages.checked_mul(self.page_size_bytes?))
    }
}

fn row<'a>(at: At, units: Units, process: &'a Process, stat: &'a ThreadStat) -> ProcProcessRow<'a> {
    let status = process.status.unwrap_or_default();
    let io = process.io.unwrap_or_default();
    let rollup = |key: &str| signed(process.rollup.get(key).copied());
    let is_there = process.stat.is_some();
    ProcProcessRow {
        ts_ns: at.ts_ns,
        snapshot: at.snapshot,
        source_id: at.source_id,
        upid: process.upid,
        pid: process.pid,
        comm: is_there.then_some(stat.comm.as_slice()),
        state: is_there.then_some(std::slice::from_ref(&stat.state)),
        parent_pid: stat.parent_pid,
        flags: stat.flags,
        user_ns: units.ns(stat.user_ticks),
        system_ns: units.ns(stat.system_ticks),
        children_user_ns: units.ns(stat.children_user_ticks),
        children_system_ns: units.ns(stat.children_system_ticks),
        minor_fault_count: signed(stat.minor_fault_count),
        major_fault_count: signed(stat.major_fault_count),
        nice: stat.nice,
        thread_count: stat.thread_count,
        start_boottime_ns: units.ns(stat.start_ticks),
        block_delay_ns: units.ns(stat.block_delay_ticks),
        virtual_bytes: signed(stat.virtual_bytes),
        resident_bytes: units.bytes(stat.resident_pages),
        resident_peak_bytes: signed(status.resident_peak_bytes),
        resident_anon_bytes: signed(status.resident_anon_bytes),
        resident_file_bytes: signed(status.resident_file_bytes),
        resident_shmem_bytes: signed(status.resident_shmem_bytes),
        swap_bytes: signed(status.swap_bytes),
        user_id: status.uid,
        voluntary_switch_count: signed(status.voluntary_switch_count),
        involuntary_switch_count: signed(status.involuntary_switch_count),
        read_char_bytes: signed(io.chars[0]),
        write_char_bytes: signed(io.chars[1]),
        read_call_count: signed(io.calls[0]),
        write_call_count: signed(io.calls[1]),
        read_bytes: signed(io.storage[0]),
        write_bytes: signed(io.storage[1]),
        cancelled_write_bytes: signed(io.storage[2]),
        mapped_resident_bytes: rollup("Rss"),
        pss_bytes: rollup("Pss"),
        pss_anon_bytes: rollup("Pss_Anon"),
        pss_file_bytes: rollup("Pss_File"),
        pss_shmem_bytes: rollup("Pss_Shmem"),
        shared_clean_bytes: rollup("Shared_Clean"),
        shared_dirty_bytes: rollup("Shared_Dirty"),
        private_clean_bytes: rollup("Private_Clean"),
        private_dirty_bytes: rollup("Private_Dirty"),
        referenced_bytes: rollup("Referenced"),
        anonymous_bytes: rollup("Anonymous"),
        lazy_free_bytes: rollup("LazyFree"),
        anon_huge_pages_bytes: rollup("AnonHugePages"),
        swap_pss_bytes: rollup("SwapPss"),
        locked_bytes: rollup("Locked"),
        fd_count: process.fd_count,
    }
}

/// The text of a link or name with the octal escapes `\012` and `\134` resolved.
pub fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\\012", "\n").replace("\\040", " ").replace("\\134", "\\"))
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
        assert_eq!(command_line(b"sh\0-c\0a b\0").as_deref(), Some("sh -c a b"));
        assert_eq!(command_line(b""), None);
        assert_eq!(command_line(b"\0\0"), None);
        assert_eq!(command_line(&[b'x'; 9000]).unwrap().len(), 4096);
        assert_eq!(cgroup(b"0::/a/b\n").as_deref(), Some("/a/b"));
        assert_eq!(cgroup(b"4:memory:/m:x\n1:cpu:/c\n0::/\n").as_deref(), Some("/m:x"));
        assert_eq!(cgroup(b""), None);
    }
}
