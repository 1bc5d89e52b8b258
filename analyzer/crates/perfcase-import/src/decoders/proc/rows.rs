//! From the files of a snapshot to rows.

use hashbrown::HashMap;
use perfcase_decode::proc::process::{Io, parse_io};
use perfcase_decode::proc::socket::parse_path as parse_socket_path;
use perfcase_decode::proc::thread::{ThreadPath, ThreadStat, ThreadStatus, parse_schedstat, scheduler_comm};
use perfcase_decode::proc::{counters, meminfo, stat, thread};

use super::process::{self, Process, Processes, Units};
use super::system::{self, At, Links};
use super::{memory, socket};
use crate::session::{NO_TIME, Session, SourceId, Utid};
use crate::tables::{ProcCpuRow, ProcLoadRow, ProcSystemRow, ProcThreadRow};

/// Gives a counter as a signed number, so that queries can subtract counters; `None` for one outside of this range.
pub fn signed(counter: Option<u64>) -> Option<i64> {
    counter.and_then(|counter| i64::try_from(counter).ok())
}

/// The result of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Rows.
    Read,
    /// Nothing: it is damaged or cut.
    Damaged,
    /// No decoder reads it.
    Other,
}

/// What a snapshot does not have, by the names that the recorder gives it, and the most of it in a snapshot.
pub type LeftOut<const N: usize> = [(&'static str, i64); N];

/// Makes rows of snapshots. The files of a thread come one after the other; its row is pushed when the files of another
/// thread begin.
pub struct Rows {
    source: SourceId,
    units: Units,
    snapshot: u32,
    thread: Option<Thread>,
    links: Links,
    last_read: HashMap<Utid, LastRead>,
    process: Option<Process>,
    processes: Processes,
    /// The start of each thread in ticks after boot, which tells threads of the same id apart.
    starts: HashMap<Utid, u64>,
    /// The number of unknown lines of /proc/stat.
    pub unknown_stat_lines: u64,
    /// Names of /proc/meminfo without a column.
    pub unknown_memory: Vec<String>,
    /// The most network namespaces whose counters were not read, and the most processes whose namespace is not known.
    pub networks_left_out: LeftOut<2>,
    /// The most file systems that were not asked: of a network or a program, too many of them, and those that gave no answer.
    pub file_systems_left_out: LeftOut<3>,
}

/// The last content of a thread's files. The sampler leaves them out while schedstat stays the same.
#[derive(Default)]
struct LastRead {
    schedstat: (u64, u64, u64),
    stat: Option<ThreadStat>,
    others: Option<(ThreadStatus, Io, Option<Vec<u8>>)>,
}

struct Thread {
    pid: i32,
    tid: i32,
    utid: Utid,
    ts_ns: i64,
    stat: Option<ThreadStat>,
    status: ThreadStatus,
    schedstat: Option<(u64, u64, u64)>,
    io: Io,
    wait_channel: Option<Vec<u8>>,
    /// Whether this snapshot has more files of it than stat and schedstat.
    has_others: bool,
}

impl Rows {
    /// Begins with a source. Its host counts `ticks_per_s`.
    pub fn new(source: SourceId, ticks_per_s: u64, page_size_bytes: Option<u64>) -> Rows {
        Rows {
            source,
            units: Units { ticks_per_s, page_size_bytes },
            snapshot: 0,
            thread: None,
            links: Links::default(),
            last_read: HashMap::new(),
            process: None,
            processes: Processes::default(),
            starts: HashMap::new(),
            unknown_stat_lines: 0,
            unknown_memory: Vec::new(),
            networks_left_out: [("namespace_count", 0), ("process_count", 0)],
            file_systems_left_out: [("foreign_count", 0), ("surplus_count", 0), ("silent_count", 0)],
        }
    }

    /// Begins a snapshot.
    pub fn begin(&mut self, session: &mut Session, snapshot: u32) {
        self.end(session);
        self.snapshot = snapshot;
        self.processes.holders.clear();
    }

    /// Ends a snapshot or the stream.
    pub fn end(&mut self, session: &mut Session) {
        if let Some(thread) = self.thread.take() {
            let thread = self.completed(thread);
            self.push_thread(session, &thread);
        }
        self.links.push(session, self.snapshot, self.source);
        if let Some(process) = self.process.take() {
            self.processes.push(session, self.snapshot, self.source, self.units, process);
        }
    }

    /// Reads a file of the snapshot.
    pub fn file(&mut self, session: &mut Session, clock_ns: i64, path: &str, bytes: &[u8]) -> Outcome {
        if let Some(at) = thread::parse_path(path) {
            return match at.tid {
                Some(tid) => self.thread_file(session, clock_ns, at, tid, bytes),
                None => self.process_file(session, clock_ns, at, bytes),
            };
        }
        let ts_ns = session.ts(clock_ns).unwrap_or(0);
        let place = At { ts_ns, snapshot: self.snapshot, source_id: self.source };
        let is_read = match path {
            "/proc/stat" => self.stat(session, ts_ns, bytes),
            "/proc/loadavg" => self.load(session, ts_ns, bytes),
            "/proc/meminfo" => self.memory(session, ts_ns, bytes),
            "/perfcase/netns/left_out" => left_out(&mut self.networks_left_out, bytes),
            "/perfcase/file_systems/left_out" => left_out(&mut self.file_systems_left_out, bytes),
            _ => {
                let is_read = match parse_socket_path(path) {
                    Some((netns_inode, "sockets")) => {
                        Some(socket::read(session, place, netns_inode, &self.processes.holders, bytes))
                    }
                    Some((Some(inode), name)) => system::file_of_network(session, place, inode, name, bytes),
                    _ => system::file(session, &mut self.links, place, path, bytes),
                };
                match is_read {
                    Some(is_read) => is_read,
                    None => return Outcome::Other,
                }
            }
        };
        if is_read { Outcome::Read } else { Outcome::Damaged }
    }

    fn ns(&self, ticks: Option<u64>) -> Option<i64> {
        self.units.ns(ticks)
    }

    fn stat(&mut self, session: &mut Session, ts_ns: i64, bytes: &[u8]) -> bool {
        let stat = stat::parse_stat(bytes);
        self.unknown_stat_lines += stat.unknown_lines;
        for ticks in &stat.cpus {
            let [
                user_ns,
                nice_ns,
                system_ns,
                idle_ns,
                iowait_ns,
                irq_ns,
                softirq_ns,
                steal_ns,
                guest_ns,
                guest_nice_ns,
            ] = ticks.modes.map(|mode| self.ns(mode));
            session.sink.tables.proc_cpu.push(ProcCpuRow {
                ts_ns,
                snapshot: self.snapshot,
                source_id: self.source,
                cpu: ticks.cpu,
                user_ns,
                nice_ns,
                system_ns,
                idle_ns,
                iowait_ns,
                irq_ns,
                softirq_ns,
                steal_ns,
                guest_ns,
                guest_nice_ns,
            });
            session.row_added();
        }
        if stat.context_switch_count.is_some() || stat.running_count.is_some() {
            session.sink.tables.proc_system.push(ProcSystemRow {
                ts_ns,
                snapshot: self.snapshot,
                source_id: self.source,
                interrupt_count: signed(stat.interrupt_count),
                softirq_count: signed(stat.softirq_count),
                context_switch_count: signed(stat.context_switch_count),
                fork_count: signed(stat.fork_count),
                running_count: signed(stat.running_count),
                blocked_count: signed(stat.blocked_count),
            });
            session.row_added();
        }
        !stat.cpus.is_empty()
    }

    fn load(&mut self, session: &mut Session, ts_ns: i64, bytes: &[u8]) -> bool {
        let Some(load) = stat::parse_loadavg(bytes) else { return false };
        let [load_1min, load_5min, load_15min] = load.loads;
        session.sink.tables.proc_load.push(ProcLoadRow {
            ts_ns,
            snapshot: self.snapshot,
            source_id: self.source,
            load_1min,
            load_5min,
            load_15min,
            runnable_count: load.runnable_count,
            thread_count: load.thread_count,
            last_pid: load.last_pid,
        });
        session.row_added();
        true
    }

    fn memory(&mut self, session: &mut Session, ts_ns: i64, bytes: &[u8]) -> bool {
        let info = meminfo::parse(bytes);
        if info.is_empty() {
            return false;
        }
        for name in info.unknown(memory::NAMES) {
            if self.unknown_memory.len() < 50 && !self.unknown_memory.iter().any(|known| known == name) {
                self.unknown_memory.push(name.to_string());
            }
        }
        session.sink.tables.proc_memory.push(memory::row(ts_ns, self.snapshot, self.source, &info));
        session.row_added();
        true
    }

    fn thread_file(
        &mut self,
        session: &mut Session,
        clock_ns: i64,
        at: ThreadPath<'_>,
        tid: i32,
        bytes: &[u8],
    ) -> Outcome {
        if !matches!(at.file, "stat" | "status" | "schedstat" | "io" | "wchan") {
            return Outcome::Other;
        }
        if self.thread.as_ref().is_none_or(|thread| (thread.pid, thread.tid) != (at.pid, tid)) {
            self.end(session);
            let (stat, status, schedstat) = (None, ThreadStatus::default(), None);
            let (io, wait_channel) = (Io::default(), None);
            let ts_ns = session.ts(clock_ns).unwrap_or(0);
            let utid = session.utid(clock_ns, tid, Some(at.pid));
            let (pid, has_others) = (at.pid, false);
            let thread = Thread { pid, tid, utid, ts_ns, stat, status, schedstat, io, wait_channel, has_others };
            self.thread = Some(thread);
        }
        let Some(thread) = &mut self.thread else { return Outcome::Damaged };
        thread.has_others |= !matches!(at.file, "stat" | "schedstat");
        let is_read = match at.file {
            "stat" => {
                thread.stat = thread::parse_stat(bytes);
                if let Some(stat) = &thread.stat {
                    thread.utid = identify(&mut self.starts, session, clock_ns, thread.utid, thread.pid, stat);
                }
                thread.stat.is_some()
            }
            "status" => {
                thread.status = thread::parse_status(bytes);
                thread.status != ThreadStatus::default()
            }
            "io" => {
                let io = parse_io(bytes);
                thread.io = io.unwrap_or_default();
                io.is_some()
            }
            "wchan" => {
                thread.wait_channel = thread::parse_wchan(bytes).map(<[u8]>::to_vec);
                true
            }
            _ => {
                thread.schedstat = parse_schedstat(bytes);
                thread.schedstat.is_some()
            }
        };
        if is_read { Outcome::Read } else { Outcome::Damaged }
    }

    fn process_file(&mut self, session: &mut Session, clock_ns: i64, at: ThreadPath<'_>, bytes: &[u8]) -> Outcome {
        if !process::is_known(at.file) {
            return Outcome::Other;
        }
        if self.process.as_ref().is_none_or(|process| process.pid != at.pid) {
            self.end(session);
            let ts_ns = session.ts(clock_ns).unwrap_or(0);
            let utid = session.utid(clock_ns, at.pid, Some(at.pid));
            let upid = session.upid(utid, at.pid);
            self.process = Some(Process::new(at.pid, upid, ts_ns));
        }
        let Some(process) = &mut self.process else { return Outcome::Damaged };
        let place = At { ts_ns: process.ts_ns, snapshot: self.snapshot, source_id: self.source };
        let is_read = self.processes.file(session, place, process, at.file, bytes);
        if let (true, "stat", Some(stat)) = (is_read, at.file, &process.stat) {
            let utid = session.utid(clock_ns, at.pid, Some(at.pid));
            let utid = identify(&mut self.starts, session, clock_ns, utid, at.pid, stat);
            process.upid = session.upid(utid, at.pid);
        }
        if is_read { Outcome::Read } else { Outcome::Damaged }
    }

    /// Completes a thread that did not run, with its last content. The lines about its process stay unknown.
    fn completed(&mut self, mut thread: Thread) -> Thread {
        let Some(schedstat) = thread.schedstat else { return thread };
        let last = self.last_read.entry(thread.utid).or_default();
        if last.schedstat != schedstat {
            *last = LastRead { schedstat, ..LastRead::default() };
        }
        match &thread.stat {
            Some(stat) => {
                let (virtual_bytes, resident_pages, thread_count) = (None, None, None);
                last.stat = Some(ThreadStat { virtual_bytes, resident_pages, thread_count, ..stat.clone() });
            }
            None => thread.stat.clone_from(&last.stat),
        }
        if thread.has_others {
            let status = ThreadStatus {
                resident_peak_bytes: None,
                resident_anon_bytes: None,
                resident_file_bytes: None,
                resident_shmem_bytes: None,
                swap_bytes: None,
                ..thread.status
            };
            last.others = Some((status, thread.io, thread.wait_channel.clone()));
        } else if let Some((status, io, wait_channel)) = &last.others {
            (thread.status, thread.io, thread.wait_channel) = (*status, *io, wait_channel.clone());
        }
        thread
    }

    fn push_thread(&self, session: &mut Session, thread: &Thread) {
        // A thread without stat has no name and no state: it ended between two reads.
        let Some(stat) = &thread.stat else { return };
        let status = &thread.status;
        session.sink.tables.proc_thread.push(ProcThreadRow {
            ts_ns: thread.ts_ns,
            snapshot: self.snapshot,
            source_id: self.source,
            utid: thread.utid,
            tid: thread.tid,
            pid: thread.pid,
            comm: &stat.comm,
            state: &[stat.state],
            parent_pid: stat.parent_pid,
            flags: stat.flags,
            user_ns: self.ns(stat.user_ticks),
            system_ns: self.ns(stat.system_ticks),
            on_cpu_ns: signed(thread.schedstat.map(|(run, _, _)| run)),
            run_queue_ns: signed(thread.schedstat.map(|(_, wait, _)| wait)),
            run_count: signed(thread.schedstat.map(|(_, _, count)| count)),
            voluntary_switch_count: signed(status.voluntary_switch_count),
            involuntary_switch_count: signed(status.involuntary_switch_count),
            minor_fault_count: signed(stat.minor_fault_count),
            major_fault_count: signed(stat.major_fault_count),
            block_delay_ns: self.ns(stat.block_delay_ticks),
            cpu: stat.cpu,
            priority: stat.priority,
            nice: stat.nice,
            policy: stat.policy,
            realtime_priority: stat.realtime_priority,
            start_boottime_ns: self.ns(stat.start_ticks),
            thread_count: stat.thread_count,
            user_id: status.uid,
            virtual_bytes: signed(stat.virtual_bytes),
            resident_bytes: self.units.bytes(stat.resident_pages),
            resident_peak_bytes: signed(status.resident_peak_bytes),
            resident_anon_bytes: signed(status.resident_anon_bytes),
            resident_file_bytes: signed(status.resident_file_bytes),
            resident_shmem_bytes: signed(status.resident_shmem_bytes),
            swap_bytes: signed(status.swap_bytes),
            read_char_bytes: signed(thread.io.chars[0]),
            write_char_bytes: signed(thread.io.chars[1]),
            read_call_count: signed(thread.io.calls[0]),
            write_call_count: signed(thread.io.calls[1]),
            read_bytes: signed(thread.io.storage[0]),
            write_bytes: signed(thread.io.storage[1]),
            cancelled_write_bytes: signed(thread.io.storage[2]),
            wait_channel: thread.wait_channel.as_deref(),
        });
        session.row_added();
    }
}

/// Reads a list of what was left out of a snapshot.
fn left_out(most: &mut [(&str, i64)], bytes: &[u8]) -> bool {
    let counts = counters::parse_vmstat(bytes);
    for (name, value) in most {
        *value = counts.iter().filter(|count| count.name == *name).map(|count| count.value).fold(*value, i64::max);
    }
    !counts.is_empty()
}

/// Gives the key of the thread of this `stat`. It is a new thread if the kernel used the id again, even without an
/// event about it.
fn identify(
    starts: &mut HashMap<Utid, u64>,
    session: &mut Session,
    clock_ns: i64,
    utid: Utid,
    pid: i32,
    stat: &ThreadStat,
) -> Utid {
    let (mut utid, tid, start) = (utid, stat.tid, stat.start_ticks);
    if starts.get(&utid).is_some_and(|known| start.is_some_and(|start| start != *known)) {
        utid = session.fork(NO_TIME, Some(pid), tid, stat.parent_pid);
        session.utid(clock_ns, tid, Some(pid));
    }
    starts.extend(start.map(|start| (utid, start)));
    session.name_if_untold(clock_ns, utid, scheduler_comm(stat));
    utid
}
