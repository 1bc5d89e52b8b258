//! What records say of threads and their names.

use super::{NO_TIME, NameId, Session, Upid, Utid, until_nul};
use crate::model::threads::{Name, Threads};
use crate::tables::{ProcessRow, Tables, ThreadNameRow, ThreadRow};

impl Session {
    /// The thread that has this id at this time. `pid` is the thread group's id where the record tells it.
    #[inline]
    pub fn utid(&mut self, clock_ns: i64, tid: i32, pid: Option<i32>) -> Utid {
        self.model.threads.find_or_create(clock_ns, tid, pid)
    }

    /// The key of the name that a thread has at an event: by its time or, where it has none, by its place in the file.
    #[inline]
    pub fn name_at(&mut self, clock_ns: i64, utid: Utid) -> NameId {
        self.model.threads.name_at(clock_ns, utid)
    }

    /// The process of a thread, made when it is new.
    pub fn upid(&mut self, utid: Utid, pid: i32) -> Upid {
        match self.model.threads.all.get(utid as usize).and_then(|thread| thread.upid) {
            Some(upid) => upid,
            None => self.model.threads.process(pid),
        }
    }

    /// A thread or process was created. Ids are `None` where the record does not tell.
    pub fn fork(&mut self, clock_ns: i64, pid: Option<i32>, tid: i32, parent_pid: Option<i32>) -> Utid {
        let before = self.model.threads.processes.len();
        let utid = self.model.threads.fork(clock_ns, pid, tid, parent_pid);
        if let (Some(pid), Some(parent)) = (pid, parent_pid)
            && self.model.threads.processes.len() > before
            && let (Some(child), Some(parent)) =
                (self.model.threads.find_process(pid), self.model.threads.find_process(parent))
        {
            self.model.maps.copy(parent, child);
            self.inherit_compat(parent, child);
        }
        utid
    }

    /// A new thread has its creator's name until it gets another.
    pub fn inherit_name(&mut self, clock_ns: i64, child: Utid, parent_tid: i32) {
        let parent = self.model.threads.of_tid(parent_tid);
        let Some(name) = parent.and_then(|parent| self.model.threads.comm_of(parent)).map(<[u8]>::to_vec) else {
            return;
        };
        self.name_if_unnamed(clock_ns, child, &name);
    }

    /// A thread ended.
    pub fn exit(&mut self, clock_ns: i64, tid: i32) {
        self.model.threads.exit(clock_ns, tid);
    }

    /// A snapshot shows a thread's name: it counts where no event tells its names.
    pub fn name_if_untold(&mut self, clock_ns: i64, utid: Utid, name: &[u8]) {
        self.model.threads.set_comm_if_untold(clock_ns, utid, until_nul(name));
    }

    /// A name that a thread has if nothing tells another.
    pub fn name_if_unnamed(&mut self, clock_ns: i64, utid: Utid, name: &[u8]) {
        if self.model.threads.comm_of(utid).is_none() {
            self.model.threads.set_comm(clock_ns, utid, until_nul(name), true);
        }
    }

    /// A thread got a name.
    ///
    /// On exec its process's old mappings stay until new ones cover them, as perf has it: until the kernel enters the new
    /// program, samples still name the old one's call of execve as their caller.
    pub fn comm(&mut self, clock_ns: i64, pid: Option<i32>, tid: i32, name: &[u8]) {
        let utid = self.model.threads.find_or_create(NO_TIME, tid, pid);
        self.model.threads.set_comm(clock_ns, utid, until_nul(name), true);
    }

    pub(crate) fn write_threads(&mut self) {
        let start = self.start_ns();
        let ts = |clock_ns: i64| (clock_ns != NO_TIME).then(|| clock_ns.saturating_sub(start));
        let (threads, tables): (&Threads, &mut Tables) = (&self.model.threads, &mut self.sink.tables);
        let mut names: Vec<Option<String>> = vec![None; threads.processes.len()];
        for (utid, thread) in threads.all.iter().enumerate() {
            let comm = threads.comm_of(utid as Utid).map(String::from_utf8_lossy);
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
        let mut order: Vec<(NameId, &Name)> = (0..).zip(&threads.names).collect();
        order.sort_by_key(|(_, name)| (name.utid, name.since));
        for (name_id, name) in order {
            if let Some(comm) = &name.comm {
                let (ts_ns, comm) = (ts(name.since).unwrap_or(0), &String::from_utf8_lossy(comm));
                tables.thread_name.push(ThreadNameRow { name_id, utid: name.utid, ts_ns, comm });
            }
        }
    }
}
