//! Files of a process, /proc/PID/…, to rows of `proc_process`, `proc_command`, `proc_limit` and `proc_fd`.

use hashbrown::HashMap;
use perfcase_decode::proc::fd;
use perfcase_decode::proc::process::{self, Io};
use perfcase_decode::proc::socket;
use perfcase_decode::proc::thread::{self, ThreadStat, ThreadStatus};

use super::rows::signed;
use super::system::At;
use crate::session::{Session, SourceId, Upid};
use crate::tables::{ProcCommandRow, ProcFdRow, ProcLimitRow, ProcNumaRow, ProcProcessRow};

fn push_numa(session: &mut Session, at: At, process: &Process, bytes: &[u8]) -> bool {
    let nodes = process::parse_numa_maps(bytes);
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

/// The process that the current files are of.
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
    netns_inode: Option<u64>,
}

/// What a process runs and where. A row of `proc_command` is a change of it.
#[derive(Clone, Default, PartialEq)]
struct Place {
    command_line: Option<String>,
    cgroup: Option<String>,
    netns_inode: Option<u64>,
}

impl Process {
    /// A process whose first file was read at `ts_ns`.
    pub fn new(pid: i32, upid: Upid, ts_ns: i64) -> Process {
        Process { pid, upid, ts_ns, ..Process::default() }
    }
}

/// The last values of tables that only get rows for changes, and the holders of each socket in this snapshot.
#[derive(Default)]
pub struct Processes {
    commands: HashMap<Upid, Place>,
    limits: HashMap<Upid, Vec<u8>>,
    /// The processes and descriptors that have a socket open, by its inode.
    pub holders: HashMap<u64, Vec<Holder>>,
}

/// A descriptor of a socket.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    /// The process.
    pub upid: Upid,
    /// Its id.
    pub pid: i32,
    /// The descriptor.
    pub fd: i32,
}

/// Tells whether this module reads a file.
pub fn is_known(file: &str) -> bool {
    matches!(
        file,
        "stat" | "status" | "io" | "smaps_rollup" | "numa_maps" | "cmdline" | "cgroup" | "limits" | "fd" | "ns/net"
    )
}

impl Processes {
    /// Reads a file. False when the kernel does not write it like this.
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
                process.io = process::parse_io(bytes);
                process.io.is_some()
            }
            // The file of a kernel thread is empty.
            "smaps_rollup" => {
                process.rollup = process::parse_smaps_rollup(bytes);
                bytes.is_empty() || !process.rollup.is_empty()
            }
            "cmdline" => {
                process.command = Some(process::parse_cmdline(bytes));
                true
            }
            "cgroup" => {
                process.cgroup = process::parse_cgroup(bytes);
                process.cgroup.is_some()
            }
            "ns/net" => {
                process.netns_inode = socket::parse_link(bytes);
                process.netns_inode.is_some()
            }
            "limits" => self.limits(session, at, process, bytes),
            "numa_maps" => push_numa(session, at, process, bytes),
            "fd" => self.descriptors(session, at, process, bytes),
            _ => false,
        }
    }

    fn limits(&mut self, session: &mut Session, at: At, process: &Process, bytes: &[u8]) -> bool {
        let Some(limits) = process::parse_limits(bytes) else { return false };
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
        let links = fd::parse(bytes);
        for link in &links {
            if let (Some(inode), fd::SOCKET) = (link.inode, link.kind) {
                let holder = Holder { upid: process.upid, pid: process.pid, fd: link.fd };
                self.holders.entry(inode).or_default().push(holder);
            }
            let key = (process.upid, link.fd);
            session.timelines.descriptors.see(at.ts_ns, key, link.kind, &link.target, link.inode);
            session.sink.tables.proc_fd.push(ProcFdRow {
                ts_ns: at.ts_ns,
                snapshot: at.snapshot,
                source_id: at.source_id,
                upid: process.upid,
                pid: process.pid,
                fd: link.fd,
                target: &link.target,
                kind: link.kind.as_bytes(),
                inode: link.inode,
            });
            session.row_added();
        }
        process.fd_count = u32::try_from(links.len()).ok();
        bytes.is_empty() || !links.is_empty()
    }

    /// Writes the rows of a process after its last file.
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
        let now = Place {
            command_line: process.command.clone().flatten(),
            cgroup: process.cgroup.clone(),
            netns_inode: process.netns_inode,
        };
        if self.commands.get(&process.upid) == Some(&now) {
            return;
        }
        session.timelines.has_commands = true;
        session.sink.tables.proc_command.push(ProcCommandRow {
            ts_ns: at.ts_ns,
            snapshot: at.snapshot,
            source_id: at.source_id,
            upid: process.upid,
            pid: process.pid,
            command_line: now.command_line.as_deref(),
            cgroup: now.cgroup.as_deref(),
            netns_inode: now.netns_inode,
        });
        session.row_added();
        self.commands.insert(process.upid, now);
    }
}

/// The kernel's units on this host.
#[derive(Clone, Copy)]
pub struct Units {
    /// USER_HZ.
    pub ticks_per_s: u64,
    /// Bytes of a page; `None` where it is unknown.
    pub page_size_bytes: Option<u64>,
}

impl Units {
    /// Converts ticks to ns.
    pub fn ns(self, ticks: Option<u64>) -> Option<i64> {
        let ns = u128::from(ticks?) * 1_000_000_000 / u128::from(self.ticks_per_s.max(1));
        i64::try_from(ns).ok()
    }

    /// Converts pages to bytes.
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
