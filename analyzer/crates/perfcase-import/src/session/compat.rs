//! Programs of 32 bits on a kernel of 64 bits: their system calls have other numbers.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use perfcase_archive::Issue;

use super::{Session, Upid, Utid};
use crate::timeline::syscalls::Syscalls;

/// The most names of threads in the issue.
const THREADS_NAMED: usize = 5;

/// What is known about such programs. They are rare, but the recording does not always show whether there is one.
#[derive(Default)]
pub(super) struct Compat {
    threads: HashSet<Utid>,
    processes: HashSet<Upid>,
    /// Processes and threads that are known to have 32 or 64 bits.
    told_threads: HashSet<Utid>,
    told_processes: HashSet<Upid>,
}

impl Session {
    fn process_of(&self, utid: Utid) -> Option<Upid> {
        self.model.threads.all.get(utid as usize).and_then(|thread| thread.upid)
    }

    /// Tells whether a thread runs a program of 32 bits on a kernel of 64 bits.
    #[inline]
    pub(crate) fn is_compat(&self, utid: Utid) -> bool {
        let Compat { threads, processes, .. } = &self.compat;
        if threads.is_empty() && processes.is_empty() {
            return false;
        }
        threads.contains(&utid) || self.process_of(utid).is_some_and(|upid| processes.contains(&upid))
    }

    /// Notes that a thread began to run a program of 32 or of 64 bits.
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

    /// Notes that a process runs a program of 32 or of 64 bits, by its mappings.
    pub(crate) fn set_process_compat(&mut self, upid: Upid, is_compat: bool) {
        let compat = &mut self.compat;
        if is_compat {
            compat.processes.insert(upid);
        } else {
            compat.processes.remove(&upid);
        }
        compat.told_processes.insert(upid);
    }

    /// Notes the beginning of a process's stack from /proc. It is below 4 GiB in a program of 32 bits. Such a program
    /// may have begun before the capture, and its earlier calls had the same numbers. A new process may have run
    /// another program before.
    pub(crate) fn stack_tells_compat(&mut self, upid: Upid, stack_start: u64) {
        // The kernel shows 0 or 1 to readers without the right to know, and for its own threads.
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

    /// Gives a new process the program of its parent.
    pub(crate) fn inherit_compat(&mut self, parent: Upid, child: Upid) {
        let compat = &mut self.compat;
        if compat.processes.contains(&parent) {
            compat.processes.insert(child);
        }
        if compat.told_processes.contains(&parent) {
            compat.told_processes.insert(child);
        }
    }

    /// Gives a new thread of any process the program of the thread that created it.
    pub(crate) fn inherit_thread_compat(&mut self, parent: Utid, child: Utid) {
        let is_compat = self.is_compat(parent);
        let told = &self.compat;
        let is_told = told.told_threads.contains(&parent)
            || self.process_of(parent).is_some_and(|upid| told.told_processes.contains(&upid));
        if is_compat || is_told {
            self.set_compat(child, is_compat);
        }
    }

    /// Reports the threads with calls that may have the names of another convention: nothing shows whether the program
    /// has 32 or 64 bits, and no argument or result of its calls is too large for 32 bits.
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
