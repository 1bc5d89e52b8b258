//! What happened between events: who ran and who waited, which system calls and disk requests took how long.
//!
//! Each source has timelines of its own, so that an event which two sources recorded counts once; at the end one
//! source is chosen for each table.

mod block;
mod borrow;
mod compat;
mod fd_events;
mod interval;
mod sched;
mod syscalls;

pub(crate) use block::{BlockEvent, BlockStep};
use borrow::Borrowed;
pub(crate) use borrow::{Moment, SampledStacks};
pub(crate) use sched::{Switch, WakeKind, Wakeup};
pub(crate) use syscalls::{Entry, Return};

use std::cmp::Reverse;
use std::sync::Arc;

use crate::session::{Session, SourceId};
use crate::syscall_names::{self, Names};
use crate::tables::{SyscallDefinitionRow, SyscallValueRow};
use crate::writer::WriteError;

/// The timelines of one source.
#[derive(Default)]
pub(crate) struct Timeline {
    pub sched: sched::Sched,
    pub syscalls: syscalls::Syscalls,
    pub block: block::Block,
}

#[derive(Default)]
pub(crate) struct Timelines {
    /// The one source that can have switches: its rows need not wait until a source is chosen.
    pub only_sched: Option<SourceId>,
    /// The same for system calls.
    pub only_syscall: Option<SourceId>,
    /// Sources of /proc whose first snapshot has not ended: it may tell that calls until then were those of programs of 32 bits.
    pub awaited: Vec<SourceId>,
    /// Only some threads were recorded: a command, processes, a control group. perf then sees switches away from these
    /// threads and none to them; ftrace, by its list of pids, sees both.
    pub is_of_some_threads: bool,
    /// What the chosen source may lack.
    pub sampled: SampledStacks,
    sources: Vec<Timeline>,
    /// Architecture of the recorded host, as uname -m prints it: names the system calls.
    machine: Option<String>,
    is_x86: bool,
    names: Option<Arc<Names>>,
    compat: compat::Compat,
}

/// The source that each table is made from.
#[derive(Default)]
pub(crate) struct Chosen {
    pub sched: Option<SourceId>,
    pub syscall: Option<SourceId>,
    pub block: Option<SourceId>,
}

/// What a source is chosen by.
#[derive(Default)]
struct Quality {
    /// Whether it saw both sides of its events.
    has_both_sides: bool,
    /// The share of runs of which nothing says when they began, in twentieths: sources of the same events differ a little.
    doubtful: u64,
    count: u64,
    has_wakeups: bool,
    has_stacks: bool,
}

impl Timelines {
    #[inline]
    pub(crate) fn of(&mut self, source: SourceId) -> &mut Timeline {
        let index = source as usize;
        if index >= self.sources.len() {
            self.sources.resize_with(index + 1, Timeline::default);
        }
        &mut self.sources[index]
    }

    /// Sets the architecture, as uname -m prints it; a first word stays.
    pub(crate) fn set_machine(&mut self, machine: &str) {
        let machine = self.machine.get_or_insert_with(|| machine.to_string());
        self.is_x86 = machine == "x86_64";
    }

    /// Whether execve returns as it does on x86.
    #[inline]
    pub(crate) fn is_x86(&self) -> bool {
        self.is_x86
    }

    fn names(&mut self) -> Arc<Names> {
        let machine = self.machine.as_deref();
        self.names.get_or_insert_with(|| Arc::new(syscall_names::table(machine))).clone()
    }

    /// Choose among sources that recorded the same events. First the one that saw threads both leave a CPU and come
    /// to it; then the one that lost the fewest events, and with those the beginnings of the fewest runs; then the one with
    /// wakeups, then the one with callchains, then the one with more events.
    pub(crate) fn chosen(&self, events: &crate::session::EventsView<'_>) -> Chosen {
        let pick = |only: Option<SourceId>, quality: &dyn Fn(SourceId, &Timeline) -> Quality| {
            let sources = self
                .sources
                .iter()
                .enumerate()
                .map(|(id, timeline)| (id as SourceId, quality(id as SourceId, timeline)));
            let used = sources.filter(|(id, of)| of.count > 0 && only.is_none_or(|only| only == *id));
            used.max_by_key(|(id, of)| {
                let lost = Reverse((events.lost(*id), of.doubtful));
                (of.has_both_sides, lost, of.has_wakeups, of.has_stacks, of.count, Reverse(*id))
            })
            .map(|(id, _)| id)
        };
        let counted = |count: u64| Quality { count, ..Quality::default() };
        Chosen {
            sched: pick(self.only_sched, &|id, timeline| {
                let has_both_sides = !self.is_of_some_threads || events.kind(id) != Some("perf_data");
                Quality { has_both_sides, ..timeline.sched.quality() }
            }),
            syscall: pick(self.only_syscall, &|_, timeline| counted(timeline.syscalls.count())),
            block: pick(None, &|_, timeline| counted(timeline.block.count())),
        }
    }

    /// Another source of the same switches, with callchains, if the chosen one has none.
    fn with_stacks(&self, chosen: SourceId) -> Option<&sched::Sched> {
        let has_stacks = |timeline: &&Timeline| timeline.sched.quality().has_stacks;
        // The chosen one's own timeline has been taken out: the caller holds it.
        self.sources
            .iter()
            .enumerate()
            .filter(|&(id, _)| id as SourceId != chosen)
            .map(|(_, of)| of)
            .find(has_stacks)
            .map(|of| &of.sched)
    }
}

impl Session {
    /// Hands over settled rows in blocks while events come in, where one source alone can have them.
    pub(crate) fn stream_timelines(&mut self, least: usize) {
        let start = self.start_ns();
        if self.timelines.only_sched.is_none() {
            self.put_intervals_aside();
        } else if let Some(source) = self.timelines.only_sched
            && let Some(build) = self.timelines.of(source).sched.settled(start, least)
        {
            self.write_later("thread_state", build);
        }
        if let Some(source) = self.timelines.only_syscall
            && self.timelines.awaited.is_empty()
        {
            let names = self.timelines.names();
            if let Some(build) = self.timelines.of(source).syscalls.settled(start, least, names) {
                self.write_later("syscall", build);
            }
        }
    }

    /// Puts intervals aside that wait until a source is chosen.
    fn put_intervals_aside(&mut self) {
        let Session { timelines, folder, .. } = self;
        let failed = timelines.sources.iter_mut().find_map(|timeline| timeline.sched.put_aside(folder).err());
        failed.into_iter().for_each(|error| self.not_put_aside(error));
    }

    fn not_put_aside(&mut self, source: std::io::Error) {
        let path = self.folder.clone();
        self.write_error.get_or_insert(WriteError::Io { path, source });
    }

    /// Writes `thread_state`, `syscall` and `block_io` from the chosen sources.
    pub(crate) fn write_timelines(&mut self) {
        let chosen = self.timelines.chosen(&self.events.view());
        let start = self.start_ns();
        let end = self.last_ts_ns().saturating_add(start);
        let names = self.timelines.names();
        if let Some(source) = chosen.sched {
            let mut sched = std::mem::take(&mut self.timelines.of(source).sched);
            sched.settle_open(end, |utid| self.threads.end_of(utid), |utid| self.threads.name_of(utid));
            let of_some = self.timelines.is_of_some_threads;
            let thread_count = self.threads.all.len();
            let sampled = std::mem::take(&mut self.timelines.sampled);
            let other = match self.timelines.with_stacks(source) {
                Some(other) => Borrowed::from(other).map(|borrowed| match of_some {
                    true => Some(borrowed.threads_of(other, thread_count)),
                    false => Some(borrowed),
                }),
                None => Ok(sampled.into_borrowed(of_some.then_some(thread_count))),
            };
            match other {
                Ok(other) => sched.into_blocks(start, other).for_each(|build| self.write_later("thread_state", build)),
                Err(error) => self.not_put_aside(error),
            }
        }
        if let Some(source) = chosen.syscall {
            let mut syscalls = std::mem::take(&mut self.timelines.of(source).syscalls);
            syscalls.settle_open();
            if names.has_compat() {
                self.report_unknown_widths(&syscalls);
            }
            for (abi, number, name, form) in names.each() {
                self.tables.syscall_definition.push(SyscallDefinitionRow {
                    abi: abi.as_bytes(),
                    number,
                    name,
                    test_argument: form.test.map(|(index, ..)| index + 1),
                    test_mask: form.test.map(|(_, mask, _)| mask),
                    test_value: form.test.map(|(.., value)| value),
                    arguments: form.arguments,
                    result: form.result,
                });
            }
            for (abi, value) in names.values() {
                self.tables.syscall_value.push(SyscallValueRow {
                    abi: abi.as_bytes(),
                    set_name: value.set.as_bytes(),
                    position: value.position,
                    mask: value.mask,
                    value: value.value,
                    name: value.name,
                });
            }
            for build in syscalls.into_blocks(start, names) {
                self.write_later("syscall", build);
            }
        }
        if let Some(source) = chosen.block {
            let block = std::mem::take(&mut self.timelines.of(source).block);
            block.write(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::Record;

    /// Calls of a source that are written while events come in.
    fn streamed(only: Option<SourceId>, awaited: &[SourceId]) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::new(folder.path(), Some(0));
        (session.timelines.only_syscall, session.timelines.awaited) = (only, awaited.to_vec());
        let record = Record { clock_ns: 0, cpu: None, tid: None, pid: None, stack: None, payload: &[] };
        let entry = Entry { number: 0, args: [0; 6], arg_count: 0, is_compat: false, is_typed: false };
        let back = Return { number: 0, ret: 0, is_compat: false, is_typed: false };
        for time in 0..20 {
            session.timelines.of(0).syscalls.enter((1, 0), 2 * time, &record, entry);
            session.timelines.of(0).syscalls.exit((1, 0), 2 * time + 1, &record, back, true);
        }
        session.stream_timelines(10);
        session.close().unwrap()["syscall"]
    }

    #[test]
    fn calls_wait_until_it_is_known_whose_they_are() {
        assert_eq!(streamed(Some(0), &[]), 20);
        assert_eq!(streamed(None, &[]), 0, "another source may have them, too");
        assert_eq!(streamed(Some(0), &[1]), 0, "/proc may say that the program has 32 bits");
    }
    /// A thread that switches with the idle task again and again, as a source with callchains or one without saw it.
    fn switches(sched: &mut sched::Sched, count: i64, stack: Option<u32>) {
        for number in 0..count {
            let (prev, next) = if number % 2 == 0 { (0, 1) } else { (1, 0) };
            let stack = stack.filter(|_| prev == 1).map(|stack| stack + number as u32 % 100);
            let (prev_name, prev_state) = (0, 1);
            let clock_ns = 20_000 * number;
            sched.switch(Switch { clock_ns, cpu: 0, prev, prev_name, next, prev_state, stack });
        }
    }

    /// What is written of two sources that saw the same, and whether that failed.
    fn of_two_sources(count: i64, folder: Option<&str>) -> (u64, bool) {
        let place = tempfile::tempdir().unwrap();
        let mut session = Session::new(place.path(), Some(0));
        folder.into_iter().for_each(|folder| session.folder = folder.into());
        for (source, stack) in [(0, None), (1, Some(7))] {
            switches(&mut session.timelines.of(source).sched, count, stack);
        }
        session.flush(1);
        let has_failed = session.has_failed();
        session.write_timelines();
        let written = session.close();
        (written.map_or(0, |counts| counts["thread_state"]), has_failed)
    }

    #[test]
    fn what_waits_for_a_source_to_be_chosen_lies_in_a_file() {
        let (few, many) = (1000, interval::BLOCK as i64);
        // A run after each switch, and a sleep before each second but the first.
        let rows = |count: i64| count as u64 * 3 / 2 - 1;
        assert_eq!(of_two_sources(few, None), (rows(few), false));
        assert_eq!(of_two_sources(many, None), (rows(many), false));
        assert_eq!(of_two_sources(few, Some("/nowhere")), (rows(few), false), "no file is needed");
        assert_eq!(of_two_sources(many, Some("/nowhere")), (0, true));
    }

    /// A CPU whose idle task traces no switch: source 0, with callchains, has one wakeup of its thread, source 1 has all.
    #[test]
    fn the_source_that_knows_when_runs_began_is_chosen() {
        let chosen = |has_idle: bool| {
            let folder = tempfile::tempdir().unwrap();
            let mut session = Session::new(folder.path(), Some(0));
            for source in [0, 1] {
                let sched = &mut session.timelines.of(source).sched;
                for number in 0..20 {
                    let at = |ns: i64| number * 20_000 + ns;
                    if source == 1 || number == 0 {
                        let (woken, woken_name) = (1, 0);
                        let kind = WakeKind::Wakeup;
                        let (clock_ns, waker, cpu, stack) = (at(100), None, None, None);
                        sched.wakeup(Wakeup { clock_ns, kind, woken, woken_name, waker, cpu, stack });
                    }
                    let mut switch = |clock_ns, prev, next, stack| {
                        sched.switch(Switch { clock_ns, cpu: 0, prev, prev_name: 0, next, prev_state: 1, stack });
                    };
                    if has_idle {
                        switch(at(110), 0, 1, None);
                    }
                    switch(at(200), 1, 0, (source == 0).then_some(7));
                }
            }
            session.timelines.chosen(&session.events.view()).sched
        };
        assert_eq!(chosen(false), Some(1));
        assert_eq!(chosen(true), Some(0), "with the same switches, callchains count");
    }
}
