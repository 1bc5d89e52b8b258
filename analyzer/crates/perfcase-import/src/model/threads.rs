//! Threads and processes, with keys that survive the reuse of ids.

use hashbrown::HashMap;

use super::NO_TIME;

/// The capture's own key of a thread. 0 is the idle task of every CPU.
pub type Utid = u32;
/// The capture's own key of a process.
pub type Upid = u32;
/// The capture's own key of a name that a thread had for a time.
pub type NameId = u32;

pub(crate) struct Thread {
    pub tid: i32,
    pub upid: Option<Upid>,
    pub pid: Option<i32>,
    /// Its current name.
    name: NameId,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// A name of a thread, from the moment when it was first seen. Each thread has a name from its beginning on, which
/// events also have before the name is known.
pub(crate) struct Name {
    pub(crate) utid: Utid,
    pub(crate) since: i64,
    pub(crate) comm: Option<Box<[u8]>>,
    /// Whether it is from an event, which has the time of the change. A snapshot does not.
    is_told: bool,
    /// Whether an event without a time has this name: then the next name is a later one, and does not replace this one.
    is_kept: bool,
}

pub(crate) struct Process {
    pub pid: i32,
    pub(crate) parent: Option<Upid>,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

impl Process {
    /// Whether it was created during the capture.
    pub(crate) fn is_new(&self) -> bool {
        self.start != NO_TIME
    }
}

pub(crate) struct Threads {
    pub all: Vec<Thread>,
    pub processes: Vec<Process>,
    by_tid: ById,
    by_pid: ById,
    pub(crate) names: Vec<Name>,
}

/// The kernel's PID_MAX_LIMIT: the ids of threads and processes are below it.
const MOST_IDS: usize = 1 << 22;
const NONE: u32 = u32::MAX;

/// The keys of the current threads or processes by id. Every event uses this, so ids of a real kernel are an index.
#[derive(Default)]
struct ById {
    direct: Vec<u32>,
    odd: HashMap<i32, u32>,
}

impl ById {
    #[inline]
    fn get(&self, id: i32) -> Option<u32> {
        match self.direct.get(id as usize) {
            Some(&key) => (key != NONE).then_some(key),
            None => self.odd.get(&id).copied(),
        }
    }

    fn insert(&mut self, id: i32, key: u32) {
        let index = id as usize;
        if index >= MOST_IDS {
            self.odd.insert(id, key);
            return;
        }
        if index >= self.direct.len() {
            self.direct.resize((index + 1).next_power_of_two(), NONE);
        }
        self.direct[index] = key;
    }
}

impl Threads {
    /// Gives the current thread of an id.
    pub(crate) fn of_tid(&self, tid: i32) -> Option<Utid> {
        self.by_tid.get(tid)
    }

    pub(crate) fn new() -> Threads {
        let mut threads = Threads {
            all: Vec::new(),
            processes: Vec::new(),
            by_tid: ById::default(),
            by_pid: ById::default(),
            names: Vec::new(),
        };
        threads.create(NO_TIME, 0, Some(0));
        threads.names[0].comm = Some(Box::from(&b"swapper"[..]));
        threads
    }

    fn create(&mut self, ts: i64, tid: i32, pid: Option<i32>) -> Utid {
        let utid = self.all.len() as Utid;
        let upid = pid.map(|pid| self.process(pid));
        let none = NO_TIME;
        let name = self.names.len() as NameId;
        self.names.push(Name { utid, since: none, comm: None, is_told: false, is_kept: false });
        self.all.push(Thread { tid, upid, pid, name, start: ts, end: none, first: none, last: none });
        self.by_tid.insert(tid, utid);
        utid
    }

    fn create_process(&mut self, ts: i64, pid: i32, parent: Option<Upid>) -> Upid {
        let upid = self.processes.len() as Upid;
        self.processes.push(Process { pid, parent, start: ts, end: NO_TIME });
        self.by_pid.insert(pid, upid);
        upid
    }

    /// Gives the process of that id. A new one is added.
    pub(crate) fn process(&mut self, pid: i32) -> Upid {
        match self.by_pid.get(pid) {
            Some(upid) => upid,
            None => self.create_process(NO_TIME, pid, None),
        }
    }

    /// Gives the process of that id, if it is known.
    pub(crate) fn find_process(&self, pid: i32) -> Option<Upid> {
        self.by_pid.get(pid)
    }

    /// Gives the current thread of that id. A new one is added.
    #[inline]
    pub(crate) fn find_or_create(&mut self, ts: i64, tid: i32, pid: Option<i32>) -> Utid {
        let pid = pid.filter(|&pid| pid >= 0);
        let utid = match self.by_tid.get(tid) {
            // The same tid in another process is another thread. Its creation was not recorded.
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

    /// Forgets all ids after a boot: they mean other threads and processes from now on.
    pub(crate) fn forget(&mut self) {
        self.by_tid = ById::default();
        self.by_tid.insert(0, 0);
        self.by_pid = ById::default();
        self.by_pid.insert(0, 0);
    }

    /// Notes that a thread was created. Two sources may record it, and a wakeup may come first: a thread of that id
    /// that did nothing yet is the same one.
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

    /// Gives the time of the thread's exit, if it exited.
    #[inline]
    pub(crate) fn end_of(&self, utid: Utid) -> Option<i64> {
        self.all.get(utid as usize).map(|thread| thread.end).filter(|&end| end != NO_TIME)
    }

    /// Gives the key of the thread's current name.
    #[inline]
    pub(crate) fn name_of(&self, utid: Utid) -> NameId {
        self.all.get(utid as usize).map_or(0, |thread| thread.name)
    }

    /// Gives the key of the thread's name at an event: by the time of the event or, without a time, by its place in the
    /// file.
    #[inline]
    pub(crate) fn name_at(&mut self, clock_ns: i64, utid: Utid) -> NameId {
        let name = self.name_of(utid);
        if clock_ns == NO_TIME
            && let Some(name) = self.names.get_mut(name as usize)
        {
            name.is_kept = true;
        }
        name
    }

    /// Gives the thread's current name, if it is known.
    #[inline]
    pub(crate) fn comm_of(&self, utid: Utid) -> Option<&[u8]> {
        self.names.get(self.name_of(utid) as usize).and_then(|name| name.comm.as_deref())
    }

    /// Notes a name of a snapshot. It counts only if no event has names of this thread.
    pub(crate) fn set_comm_if_untold(&mut self, ts: i64, utid: Utid, comm: &[u8]) {
        if self.names.get(self.name_of(utid) as usize).is_some_and(|name| !name.is_told) {
            self.set_comm(ts, utid, comm, false);
        }
    }

    pub(crate) fn set_comm(&mut self, ts: i64, utid: Utid, comm: &[u8], is_told: bool) {
        let Some(thread) = self.all.get_mut(utid as usize) else { return };
        let now = &mut self.names[thread.name as usize];
        // An event without a time is later than the known ones, as it is in the file.
        let ts = ts.max(now.since);
        now.is_told |= is_told;
        let known = now.comm.as_deref().unwrap_or_default();
        if utid == 0 || comm.is_empty() || known == comm || is_worker_with_work(comm, known) {
            return;
        }
        if is_worker_with_work(known, comm) {
            now.comm = Some(comm.into());
            return;
        }
        if now.comm.is_none() || (now.since == ts && !now.is_kept) {
            *now = Name { since: ts, comm: Some(comm.into()), is_told, ..*now };
            return;
        }
        thread.name = self.names.len() as NameId;
        self.names.push(Name { utid, since: ts, comm: Some(comm.into()), is_told, is_kept: false });
    }
}

/// Tells whether the first name is the second with the current or last work of a kworker (`kworker/0:1-events`). /proc
/// has the name with the work (wq_worker_comm in kernel/workqueue.c), and perf copies it at its start; events have only
/// the name.
fn is_worker_with_work(name: &[u8], plain: &[u8]) -> bool {
    plain.starts_with(b"kworker/")
        && name.strip_prefix(plain).and_then(<[u8]>::first).is_some_and(|byte| b"-+".contains(byte))
}

/// Gives the text of a kernel string of fixed size: up to the first NUL.
#[inline]
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[(i64, &[u8])]) -> (Threads, Vec<NameId>) {
        let mut threads = Threads::new();
        let utid = threads.find_or_create(0, 7, Some(7));
        let ids = names.iter().map(|&(ts, comm)| {
            threads.set_comm(ts, utid, comm, true);
            threads.name_of(utid)
        });
        let ids = ids.collect();
        (threads, ids)
    }

    #[test]
    fn a_name_holds_until_the_next() {
        let (threads, ids) = named(&[(1, b"bash"), (5, b"bash"), (9, b"ls"), (9, b"cat"), (12, b"bash")]);
        assert_eq!(
            ids,
            [1, 1, 2, 2, 3],
            "the first is the one it had before anybody told it; two at one time are the later"
        );
        let names: Vec<_> = threads.names[1..].iter().map(|name| (name.since, name.comm.as_deref())).collect();
        assert_eq!(names, [(1, Some(&b"bash"[..])), (9, Some(b"cat")), (12, Some(b"bash"))]);
    }

    #[test]
    fn without_times_names_are_in_the_order_of_the_file() {
        let mut threads = Threads::new();
        let utid = threads.find_or_create(NO_TIME, 7, Some(7));
        let mut ids = Vec::new();
        for comm in [&b"perf"[..], b"bash", b"ls", b"ls", b"cat"] {
            threads.set_comm(NO_TIME, utid, comm, true);
            if comm != b"perf" {
                ids.push(threads.name_at(NO_TIME, utid));
            }
        }
        assert_eq!(ids, [1, 2, 2, 3], "nothing happened under the first name: it is not kept");
        let names: Vec<_> = threads.names[1..].iter().map(|name| (name.since, name.comm.as_deref())).collect();
        assert_eq!(names, [(NO_TIME, Some(&b"bash"[..])), (NO_TIME, Some(b"ls")), (NO_TIME, Some(b"cat"))]);
    }

    #[test]
    fn a_name_without_a_time_comes_after_the_one_before() {
        let mut threads = Threads::new();
        let utid = threads.find_or_create(NO_TIME, 7, Some(7));
        threads.set_comm(50, utid, b"bash", true);
        threads.name_at(NO_TIME, utid);
        threads.set_comm(NO_TIME, utid, b"grep", true);
        let names: Vec<_> = threads.names[1..].iter().map(|name| (name.since, name.comm.as_deref())).collect();
        assert_eq!(names, [(50, Some(&b"bash"[..])), (50, Some(b"grep"))]);
    }

    #[test]
    fn events_without_times_before_the_first_name_have_it() {
        let mut threads = Threads::new();
        let utid = threads.find_or_create(NO_TIME, 7, Some(7));
        let before = threads.name_at(NO_TIME, utid);
        threads.set_comm(NO_TIME, utid, b"bash", true);
        threads.set_comm(NO_TIME, utid, b"ls", true);
        assert_eq!(threads.names[before as usize].comm.as_deref(), Some(&b"bash"[..]));
        assert_eq!(threads.comm_of(utid), Some(&b"ls"[..]));
    }

    #[test]
    fn a_snapshot_names_until_an_event_does() {
        let mut threads = Threads::new();
        let utid = threads.find_or_create(0, 7, Some(7));
        threads.set_comm_if_untold(1, utid, b"bash");
        threads.set_comm_if_untold(5, utid, b"ls");
        threads.set_comm(9, utid, b"ls", true);
        threads.set_comm_if_untold(12, utid, b"stale");
        assert_eq!(threads.comm_of(utid), Some(&b"ls"[..]));
        assert_eq!(threads.names[threads.name_of(utid) as usize].since, 5);
    }

    #[test]
    fn what_a_kworker_works_on_is_no_other_name() {
        let (threads, ids) =
            named(&[(1, b"kworker/0:1-eve"), (5, b"kworker/0:1"), (9, b"kworker/0:1+mm_"), (11, b"kworker/0:1H")]);
        assert_eq!(ids, [1, 1, 1, 2]);
        assert_eq!(threads.names[1].comm.as_deref(), Some(&b"kworker/0:1"[..]));
        let (_, ids) = named(&[(1, b"kworker-a"), (5, b"kworker")]);
        assert_eq!(ids, [1, 2], "any other program may be called so");
    }
}
