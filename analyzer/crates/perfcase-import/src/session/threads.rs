//! Threads and processes, with keys that survive the reuse of ids.

use hashbrown::HashMap;

use super::{NO_TIME, Session};
use crate::tables::{ProcessRow, Tables, ThreadNameRow, ThreadRow};

/// The capture's own key of a thread. 0 is the idle task of every CPU.
pub type Utid = u32;
/// The capture's own key of a process.
pub type Upid = u32;

pub(crate) struct Thread {
    pub tid: i32,
    pub upid: Option<Upid>,
    pub pid: Option<i32>,
    pub comm: Option<Box<[u8]>>,
    start: i64,
    end: i64,
    first: i64,
    last: i64,
}

pub(crate) struct Process {
    pub pid: i32,
    parent: Option<Upid>,
    start: i64,
    end: i64,
}

impl Process {
    /// Whether it was made within the capture.
    pub(crate) fn is_new(&self) -> bool {
        self.start != NO_TIME
    }
}

pub(crate) struct Threads {
    pub all: Vec<Thread>,
    pub processes: Vec<Process>,
    by_tid: ByTid,
    by_pid: HashMap<i32, Upid>,
    names: Vec<(Utid, i64, Box<[u8]>)>,
}

/// The kernel's PID_MAX_LIMIT: thread ids are below it.
const MOST_TIDS: usize = 1 << 22;
const NONE: u32 = u32::MAX;

/// The thread that has an id now. Every event looks here, so ids of a real kernel are an index.
#[derive(Default)]
struct ByTid {
    direct: Vec<Utid>,
    odd: HashMap<i32, Utid>,
}

impl ByTid {
    #[inline]
    fn get(&self, tid: i32) -> Option<Utid> {
        match self.direct.get(tid as usize) {
            Some(&utid) => (utid != NONE).then_some(utid),
            None => self.odd.get(&tid).copied(),
        }
    }

    fn insert(&mut self, tid: i32, utid: Utid) {
        let index = tid as usize;
        if index >= MOST_TIDS {
            self.odd.insert(tid, utid);
            return;
        }
        if index >= self.direct.len() {
            self.direct.resize((index + 1).next_power_of_two(), NONE);
        }
        self.direct[index] = utid;
    }
}

impl Threads {
    pub(crate) fn new() -> Threads {
        let mut threads = Threads {
            all: Vec::new(),
            processes: Vec::new(),
            by_tid: ByTid::default(),
            by_pid: HashMap::new(),
            names: Vec::new(),
        };
        threads.create(NO_TIME, 0, Some(0));
        threads.all[0].comm = Some(Box::from(&b"swapper"[..]));
        threads.names.push((0, NO_TIME, Box::from(&b"swapper"[..])));
        threads
    }

    fn create(&mut self, ts: i64, tid: i32, pid: Option<i32>) -> Utid {
        let utid = self.all.len() as Utid;
        let upid = pid.map(|pid| self.process(pid));
        let none = NO_TIME;
        self.all.push(Thread { tid, upid, pid, comm: None, start: ts, end: none, first: none, last: none });
        self.by_tid.insert(tid, utid);
        utid
    }

    fn create_process(&mut self, ts: i64, pid: i32, parent: Option<Upid>) -> Upid {
        let upid = self.processes.len() as Upid;
        self.processes.push(Process { pid, parent, start: ts, end: NO_TIME });
        self.by_pid.insert(pid, upid);
        upid
    }

    /// The process of that id, made when it is new.
    pub(crate) fn process(&mut self, pid: i32) -> Upid {
        match self.by_pid.get(&pid) {
            Some(&upid) => upid,
            None => self.create_process(NO_TIME, pid, None),
        }
    }

    /// The process of that id, if it was seen.
    pub(crate) fn find_process(&self, pid: i32) -> Option<Upid> {
        self.by_pid.get(&pid).copied()
    }

    /// The thread of that id now, made when it is new.
    #[inline]
    pub(crate) fn find_or_create(&mut self, ts: i64, tid: i32, pid: Option<i32>) -> Utid {
        let pid = pid.filter(|&pid| pid >= 0);
        let utid = match self.by_tid.get(tid) {
            // The same tid in another process is another thread, whose creation was not seen.
            Some(utid) if tid != 0 && matches!((self.all[utid as usize].pid, pid), (Some(a), Some(b)) if a != b) => {
                self.create(NO_TIME, tid, pid)
            }
            Some(utid) => utid,
            None => self.create(NO_TIME, tid, pid),
        };
        if let (Some(pid), None) = (pid, self.all[utid as usize].pid) {
            self.set_pid(utid, pid);
        }
        if ts != NO_TIME {
            let thread = &mut self.all[utid as usize];
            if thread.first == NO_TIME {
                thread.first = ts;
            }
            thread.last = thread.last.max(ts);
        }
        utid
    }

    fn set_pid(&mut self, utid: Utid, pid: i32) {
        let upid = self.process(pid);
        let thread = &mut self.all[utid as usize];
        thread.pid = Some(pid);
        thread.upid = Some(upid);
    }

    /// A thread was created. Two sources may tell of it, and a wakeup may come first: a thread of that id which has
    /// not done anything yet is the same one.
    pub(crate) fn fork(&mut self, ts: i64, pid: Option<i32>, tid: i32, parent: Option<i32>) -> Utid {
        if let Some(utid) = self.by_tid.get(tid) {
            let thread = &self.all[utid as usize];
            if thread.end == NO_TIME && thread.first == NO_TIME {
                if ts != NO_TIME {
                    self.all[utid as usize].start = ts;
                }
                if let (Some(pid), None) = (pid, self.all[utid as usize].pid) {
                    self.set_pid(utid, pid);
                }
                return utid;
            }
        }
        if pid == Some(tid) {
            let parent = parent.map(|pid| self.process(pid));
            self.create_process(ts, tid, parent);
        }
        self.create(ts, tid, pid)
    }

    pub(crate) fn exit(&mut self, ts: i64, tid: i32) {
        if let Some(utid) = self.by_tid.get(tid)
            && utid != 0
        {
            let thread = &mut self.all[utid as usize];
            thread.end = ts;
            if let (Some(pid), Some(upid)) = (thread.pid, thread.upid)
                && pid == tid
            {
                self.processes[upid as usize].end = ts;
            }
        }
    }

    #[inline]
    /// When the thread exited, if it did.
    pub(crate) fn end_of(&self, utid: Utid) -> Option<i64> {
        self.all.get(utid as usize).map(|thread| thread.end).filter(|&end| end != NO_TIME)
    }

    pub(crate) fn set_comm(&mut self, ts: i64, utid: Utid, comm: &[u8]) {
        let thread = &mut self.all[utid as usize];
        if utid == 0 || comm.is_empty() || thread.comm.as_deref() == Some(comm) {
            return;
        }
        thread.comm = Some(comm.into());
        self.names.push((utid, ts, comm.into()));
    }
}

/// The text of a fixed-size kernel string: up to the first NUL.
#[inline]
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

impl Session {
    /// The thread that has this id at this time. `pid` is the thread group's id where the record tells it.
    #[inline]
    pub fn utid(&mut self, clock_ns: i64, tid: i32, pid: Option<i32>) -> Utid {
        self.threads.find_or_create(clock_ns, tid, pid)
    }

    /// The process of a thread, made when it is new.
    pub fn upid(&mut self, utid: Utid, pid: i32) -> Upid {
        match self.threads.all.get(utid as usize).and_then(|thread| thread.upid) {
            Some(upid) => upid,
            None => self.threads.process(pid),
        }
    }

    /// A thread or process was created. Ids are `None` where the record does not tell.
    pub fn fork(&mut self, clock_ns: i64, pid: Option<i32>, tid: i32, parent_pid: Option<i32>) -> Utid {
        let before = self.threads.processes.len();
        let utid = self.threads.fork(clock_ns, pid, tid, parent_pid);
        if let (Some(pid), Some(parent)) = (pid, parent_pid)
            && self.threads.processes.len() > before
            && let (Some(child), Some(parent)) = (self.threads.find_process(pid), self.threads.find_process(parent))
        {
            self.maps.copy(parent, child);
            self.inherit_compat(parent, child);
        }
        utid
    }

    /// A new thread has its creator's name until it gets another.
    pub fn inherit_name(&mut self, clock_ns: i64, child: Utid, parent_tid: i32) {
        let parent = self.threads.by_tid.get(parent_tid).and_then(|utid| self.threads.all.get(utid as usize));
        if let Some(name) = parent.and_then(|parent| parent.comm.clone()) {
            self.name_if_unnamed(clock_ns, child, &name);
        }
    }

    /// A thread ended.
    pub fn exit(&mut self, clock_ns: i64, tid: i32) {
        self.threads.exit(clock_ns, tid);
    }

    /// A snapshot shows a thread's name: it counts where no event told one.
    pub fn name_if_unnamed(&mut self, clock_ns: i64, utid: Utid, name: &[u8]) {
        if self.threads.all.get(utid as usize).is_some_and(|thread| thread.comm.is_none()) {
            self.threads.set_comm(clock_ns, utid, until_nul(name));
        }
    }

    /// A thread got a name.
    ///
    /// On exec its process's old mappings stay until new ones cover them, as perf has it: until the kernel enters the new
    /// program, samples still name the old one's call of execve as their caller.
    pub fn comm(&mut self, clock_ns: i64, pid: Option<i32>, tid: i32, name: &[u8]) {
        let utid = self.threads.find_or_create(NO_TIME, tid, pid);
        self.threads.set_comm(clock_ns, utid, until_nul(name));
    }

    pub(crate) fn write_threads(&mut self) {
        let start = self.start_ns();
        let ts = |clock_ns: i64| (clock_ns != NO_TIME).then(|| clock_ns.saturating_sub(start));
        let (threads, tables): (&Threads, &mut Tables) = (&self.threads, &mut self.tables);
        let mut names: Vec<Option<String>> = vec![None; threads.processes.len()];
        for (utid, thread) in threads.all.iter().enumerate() {
            let comm = thread.comm.as_deref().map(String::from_utf8_lossy);
            if let Some(upid) = thread.upid
                && (thread.pid == Some(thread.tid) || names[upid as usize].is_none())
            {
                names[upid as usize] = comm.as_deref().map(str::to_string);
            }
            tables.thread.push(ThreadRow {
                utid: utid as u32,
                tid: thread.tid,
                upid: thread.upid,
                pid: thread.pid,
                comm: comm.as_deref(),
                start_ts_ns: ts(thread.start),
                end_ts_ns: ts(thread.end),
                first_ts_ns: ts(thread.first),
                last_ts_ns: ts(thread.last),
            });
        }
        for (upid, process) in threads.processes.iter().enumerate() {
            tables.process.push(ProcessRow {
                upid: upid as u32,
                pid: process.pid,
                parent_upid: process.parent,
                name: names[upid].as_deref(),
                start_ts_ns: ts(process.start),
                end_ts_ns: ts(process.end),
            });
        }
        let mut order: Vec<&(Utid, i64, Box<[u8]>)> = threads.names.iter().collect();
        order.sort_by_key(|(utid, ts, _)| (*utid, *ts));
        for (index, (utid, clock_ns, comm)) in order.iter().enumerate() {
            let ts_ns = ts(*clock_ns).unwrap_or(0);
            // What was there before the capture is replaced by what its first instant says.
            if order.get(index + 1).is_some_and(|next| next.0 == *utid && ts(next.1).unwrap_or(0) == ts_ns) {
                continue;
            }
            tables.thread_name.push(ThreadNameRow { utid: *utid, ts_ns, comm: &String::from_utf8_lossy(comm) });
        }
    }
}
