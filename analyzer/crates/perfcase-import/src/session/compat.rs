//! Who runs a program of 32 bits on a kernel of 64: their system calls have other numbers.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use perfcase_archive::Issue;

use super::{Session, Upid, Utid};
use crate::timeline::syscalls::Syscalls;

/// Names of threads that the issue tells.
const THREADS_NAMED: usize = 5;

/// Such programs are rare, but the recording does not always say whether there is one.
#[derive(Default)]
pub(super) struct Compat {
    threads: HashSet<Utid>,
    processes: HashSet<Upid>,
    /// Those of which something told whether they have 32 bits or 64.
    told_threads: HashSet<Utid>,
    told_processes: HashSet<Upid>,
}

impl Session {
    fn process_of(&self, utid: Utid) -> Option<Upid> {
        self.model.threads.all.get(utid as usize).and_then(|thread| thread.upid)
    }

    /// Whether a thread runs a program of 32 bits on a kernel of 64.
    #[inline]
    pub(crate) fn is_compat(&self, utid: Utid) -> bool {
        let Compat { threads, processes, .. } = &self.compat;
        if threads.is_empty() && processes.is_empty() {
            return false;
        }
        threads.contains(&utid) || self.process_of(utid).is_some_and(|upid| processes.contains(&upid))
    }

    /// A thread has begun to run a program of 32 bits, or of 64.
    pub(crate) fn set_compat(&mut self, utid: Utid, is_compat: bool) {
        let upid = self.process_of(utid);
        if let Some(upid) = upid {
            self.set_process_compat(upid, is_compat);
        }
        let compat = &mut self.compat;
        if is_compat && upid.is_none() {
            compat.threads.insert(utid);
        } else if !is_compat {
            compat.threads.remove(&utid);
        }
        compat.told_threads.insert(utid);
    }

    /// A process runs a program of 32 bits, or of 64: its mappings tell.
    pub(crate) fn set_process_compat(&mut self, upid: Upid, is_compat: bool) {
        let compat = &mut self.compat;
        if is_compat {
            compat.processes.insert(upid);
        } else {
            compat.processes.remove(&upid);
        }
        compat.told_processes.insert(upid);
    }

    /// /proc says where a process's stack begins: below 4 GiB in a program of 32 bits, which may have run since before the
    /// capture. Its calls until now were such calls too, unless it is a new process, which may have run another program.
    pub(crate) fn stack_tells_compat(&mut self, upid: Upid, stack_start: u64) {
        // The kernel shows 0 or 1 to those who may not know, and of threads of the kernel.
        if stack_start <= 1 {
            return;
        }
        self.compat.told_processes.insert(upid);
        if stack_start >= 1 << 32 {
            return;
        }
        let is_new = self.model.threads.processes.get(upid as usize).is_none_or(|process| process.is_new());
        if self.compat.processes.insert(upid) && !is_new {
            let threads = &self.model.threads;
            let is_of = |utid: Utid| threads.all.get(utid as usize).is_some_and(|thread| thread.upid == Some(upid));
            self.timelines.make_compat(is_of);
        }
    }

    /// A new process runs what its parent runs.
    pub(crate) fn inherit_compat(&mut self, parent: Upid, child: Upid) {
        let compat = &mut self.compat;
        if compat.processes.contains(&parent) {
            compat.processes.insert(child);
        }
        if compat.told_processes.contains(&parent) {
            compat.told_processes.insert(child);
        }
    }

    /// A new thread, of whatever process, runs what the one that made it runs.
    pub(crate) fn inherit_thread_compat(&mut self, parent: Utid, child: Utid) {
        let is_compat = self.is_compat(parent);
        let told = &self.compat;
        let is_told = told.told_threads.contains(&parent)
            || self.process_of(parent).is_some_and(|upid| told.told_processes.contains(&upid));
        if is_compat || is_told {
            self.set_compat(child, is_compat);
        }
    }

    /// Says whose calls may have the names of another convention: nothing told whether the program has 32 bits or 64, and
    /// no argument or result of its calls is too large for 32.
    pub(super) fn report_unknown_widths(&mut self, syscalls: &Syscalls) {
        let told = &self.compat;
        let mut wide = HashSet::new();
        let mut narrow: HashMap<(Option<Upid>, Option<Utid>), (u64, Utid)> = HashMap::new();
        for (utid, call_count, is_wide) in syscalls.widths() {
            let upid = self.process_of(utid);
            let program = (upid, upid.is_none().then_some(utid));
            let is_told =
                upid.is_some_and(|upid| told.told_processes.contains(&upid)) || told.told_threads.contains(&utid);
            if is_wide || is_told {
                wide.insert(program);
            } else {
                narrow.entry(program).or_insert((0, utid)).0 += call_count;
            }
        }
        narrow.retain(|program, _| !wide.contains(program));
        let call_count: u64 = narrow.values().map(|(count, _)| count).sum();
        if call_count == 0 {
            return;
        }
        let comm = |utid: Utid| String::from_utf8_lossy(self.model.threads.comm_of(utid).unwrap_or(b"?")).into_owned();
        let comms: BTreeSet<String> = narrow.values().map(|(_, utid)| comm(*utid)).collect();
        let more = if comms.len() > THREADS_NAMED { ", …" } else { "" };
        let comms: Vec<String> = comms.into_iter().take(THREADS_NAMED).collect();
        let message = format!(
            "nothing tells whether programs of 32 bits or of 64 made system calls of {} ({}{more}): they have the names that \
             their numbers have for 64",
            match narrow.len() {
                1 => "one thread or process".to_string(),
                count => format!("{count} threads or processes"),
            },
            comms.join(", "),
        );
        let hint = "/proc/PID/stat tells: record with perfcase-record, whose proc source takes it";
        self.issue(Issue::warning("syscall_abi_unknown", message).count(call_count).hint(hint));
    }
}
