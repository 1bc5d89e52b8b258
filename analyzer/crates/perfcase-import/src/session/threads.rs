//! What records say about threads and their names.

use super::{NO_TIME, NameId, Session, Upid, Utid, until_nul};
use crate::model::threads::{Name, Threads};
use crate::tables::{ProcessRow, Tables, ThreadNameRow, ThreadRow};

impl Session {
    /// Gives the thread of this id at this time. `pid` is the id of its thread group, if the record has it.
    #[inline]
    pub fn utid(&mut self, clock_ns: i64, tid: i32, pid: Option<i32>) -> Utid {
        self.model.threads.find_or_create(clock_ns, tid, pid)
    }

    /// Gives the key of a thread's name at an event: by the time of the event or, without a time, by its place in the
    /// file.
    #[inline]
    pub fn name_at(&mut self, clock_ns: i64, utid: Utid) -> NameId {
        self.model.threads.name_at(clock_ns, utid)
    }

    /// Gives the process of a thread. A new one is added.
    pub fn upid(&mut self, utid: Utid, pid: i32) -> Upid {
        match self.model.threads.all.get(utid as usize).and_then(|thread| thread.upid) {
            Some(upid) => upid,
            None => self.model.threads.process(pid),
        }
    }

    /// Notes that a thread or process was created. Ids are `None` where the record does not have them.
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

    /// A new thread has the name of its creator until it gets another name.
    pub fn inherit_name(&mut self, clock_ns: i64, child: Utid, parent_tid: i32) {
        let parent = self.model.threads.of_tid(parent_tid);
        let Some(name) = parent.and_then(|parent| self.model.threads.comm_of(parent)).map(<[u8]>::to_vec) else {
            return;
        };
        self.name_if_unnamed(clock_ns, child, &name);
    }

    /// Notes that a thread ended.
    pub fn exit(&mut self, clock_ns: i64, tid: i32) {
        self.model.threads.exit(clock_ns, tid);
    }

    /// Notes a thread's name of a snapshot. It counts only if no event has names of this thread.
    pub fn name_if_untold(&mut self, clock_ns: i64, utid: Utid, name: &[u8]) {
        self.model.threads.set_comm_if_untold(clock_ns, utid, until_nul(name));
    }

    /// Notes a name that a thread has if no other is known.
    pub fn name_if_unnamed(&mut self, clock_ns: i64, utid: Utid, name: &[u8]) {
        if self.model.threads.comm_of(utid).is_none() {
            self.model.threads.set_comm(clock_ns, utid, until_nul(name), true);
        }
    }

    /// Notes that a thread got a name.
    ///
    /// On exec the old mappings of its process stay until new ones cover them, as in perf: before the kernel enters the
    /// new program, the caller of samples is still the old program's call of execve.
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
