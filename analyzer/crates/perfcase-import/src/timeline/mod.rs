//! What happened between events: which threads ran and which waited, and how long system calls and disk requests took.
//!
//! Each source has its own timelines, so that an event that two sources recorded counts once. At the end one source is
//! chosen for each table.

pub(crate) mod aside;
pub(crate) mod block;
mod borrow;
mod burst;
pub(crate) mod descriptors;
mod interval;
mod queue;
pub(crate) mod sched;
pub(crate) mod syscalls;
mod wake;

pub(crate) use block::{BlockEvent, BlockStep};
use borrow::Borrowed;
pub(crate) use borrow::{Moment, SampledStacks};
use descriptors::{Descriptors, Facts, Process, Turns};
pub(crate) use interval::Context;
pub(crate) use sched::{Switch, WakeKind, Wakeup};
pub(crate) use syscalls::{Entry, Return};

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use crate::model::threads::Threads;
use crate::model::{NO_TIME, SourceId, Utid};
use crate::syscall_names::{self, Names};
use crate::tables::{SyscallDefinitionRow, SyscallValueRow, Tables};
use crate::writer::Build;

/// The timelines of one source.
#[derive(Default)]
pub(crate) struct Timeline {
    pub sched: sched::Sched,
    pub syscalls: syscalls::Syscalls,
    pub block: block::Block,
}

#[derive(Default)]
pub(crate) struct Timelines {
    /// The only source that can have switches: its rows need not wait until a source is chosen.
    pub only_sched: Option<SourceId>,
    /// Sources of /proc whose first snapshot has not ended. It may show that the calls before it were those of 32-bit
    /// programs.
    pub awaited: Vec<SourceId>,
    /// Some process was looked at: then a thread without a known process is a stranger, which the views leave out
    /// (followed_state). So it is in a perf.data, which tells the process of each event.
    pub has_commands: bool,
    /// Only some threads were recorded: those of a command, of processes or of a control group. perf then sees switches
    /// away from these threads and none to them. ftrace sees both, by its list of pids.
    pub is_of_some_threads: bool,
    /// The callchains that the chosen source may lack.
    pub sampled: SampledStacks,
    /// What snapshots say about descriptors.
    pub descriptors: Descriptors,
    sources: Vec<Timeline>,
    /// The architecture of the recorded host, as uname -m prints it. It decides the names of the system calls.
    machine: Option<String>,
    is_x86: bool,
    names: Option<Arc<Names>>,
}

/// The source of each table.
#[derive(Default)]
pub(crate) struct Chosen {
    pub sched: Option<SourceId>,
    pub syscall: Option<SourceId>,
    pub block: Option<SourceId>,
}

/// The figures by which a source is chosen.
#[derive(Default)]
struct Quality {
    /// Whether the source saw both sides of its events.
    has_both_sides: bool,
    /// The share of runs whose beginning is not known, in twentieths: sources of the same events differ a little.
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

    /// Sets the architecture, as uname -m prints it. Only the first call has an effect.
    pub(crate) fn set_machine(&mut self, machine: &str) {
        let machine = self.machine.get_or_insert_with(|| machine.to_string());
        self.is_x86 = machine == "x86_64";
    }

    /// Tells whether execve returns as it does on x86.
    #[inline]
    pub(crate) fn is_x86(&self) -> bool {
        self.is_x86
    }

    /// Gives the names of the recorded architecture's system calls.
    pub(crate) fn names(&mut self) -> Arc<Names> {
        let machine = self.machine.as_deref();
        self.names.get_or_insert_with(|| Arc::new(syscall_names::table(machine))).clone()
    }

    /// Chooses among sources that recorded the same events. First comes the source that saw threads both leave a CPU
    /// and get one. Then the source that lost the fewest events, and among those the one that lacks the beginnings of
    /// the fewest runs. Then the source with wakeups, then the one with callchains, then the one with more events.
    pub(crate) fn chosen(&self, events: &crate::model::events::EventsView<'_>) -> Chosen {
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
            syscall: pick(None, &|_, timeline| counted(timeline.syscalls.count())),
            block: pick(None, &|_, timeline| counted(timeline.block.count())),
        }
    }

    /// Gives another source of the same switches that has callchains, where the chosen source has none.
    fn with_stacks(&self, chosen: SourceId) -> Option<&sched::Sched> {
        let has_stacks = |timeline: &&Timeline| timeline.sched.quality().has_stacks;
        // The caller has taken out the timeline of the chosen source, and holds it.
        self.sources
            .iter()
            .enumerate()
            .filter(|&(id, _)| id as SourceId != chosen)
            .map(|(_, of)| of)
            .find(has_stacks)
            .map(|of| &of.sched)
    }

    /// Moves what waits for the choice of a source, or for the end, to files in the folder: calls once there are at least
    /// `least`. Gives the error if that failed.
    pub(crate) fn put_aside(&mut self, folder: &Path, least: usize) -> Option<std::io::Error> {
        let is_streamed = self.only_sched.is_some();
        let has_calls = self.awaited.is_empty() && self.sources.iter().any(|of| of.syscalls.count() > 0);
        let names = has_calls.then(|| self.names());
        self.sources.iter_mut().find_map(|Timeline { sched, syscalls, .. }| {
            let intervals = if is_streamed { Ok(()) } else { sched.put_aside(folder) };
            let queue = intervals.and_then(|()| sched.queue_mut().put_aside(folder, aside::BLOCK));
            queue.and_then(|()| names.iter().try_for_each(|names| syscalls.put_aside(folder, least, names))).err()
        })
    }

    /// Takes the rows of `thread_state` from the chosen source, and what becomes of the CPUs' queues. `kind`
    /// is that of the source, `start` the clock's reading in ns at `ts_ns` 0, `end` the last reading. Fails when intervals that wait in a file cannot be
    /// read.
    pub(crate) fn take_states(
        &mut self,
        source: SourceId,
        (start, end): (i64, i64),
        threads: &Threads,
        kind: Option<&str>,
    ) -> std::io::Result<(impl Iterator<Item = Build> + use<>, impl Iterator<Item = (&'static str, Build)> + use<>)>
    {
        let mut sched = std::mem::take(&mut self.of(source).sched);
        sched.settle_open(end, |utid| threads.end_of(utid), |utid| threads.name_of(utid));
        let queue = sched.take_queue();
        let of_some = self.is_of_some_threads;
        let thread_count = threads.all.len();
        let sampled = std::mem::take(&mut self.sampled);
        let other = match self.with_stacks(source) {
            Some(other) => Borrowed::from(other).map(|borrowed| match of_some {
                true => Some(borrowed.threads_of(other, thread_count)),
                false => Some(borrowed),
            })?,
            None => sampled.into_borrowed(of_some.then_some(thread_count)),
        };
        let knows_all = self.has_commands || kind == Some("perf_data");
        let is_counted: Vec<bool> = (0..thread_count)
            .map(|utid| {
                let is_stranger = knows_all && threads.all[utid].upid.is_none();
                !is_stranger && other.as_ref().is_none_or(|other| other.has_followed(utid as Utid))
            })
            .collect();
        let levels = queue.levels(move |utid| is_counted.get(utid as usize).copied().unwrap_or(true));
        let levels = levels.flat_map(move |levels| queue::builds(levels, start));
        Ok((sched.into_blocks(start, other), levels))
    }

    /// Works out what each descriptor was, from the calls of one source and from the snapshots. The last value is false
    /// if something is missing, because a bound was reached.
    pub(crate) fn settle_descriptors(
        &mut self,
        calls: Option<&mut syscalls::Syscalls>,
        start: i64,
        threads: &Threads,
    ) -> (Arc<syscalls::RowFacts>, Turns, bool) {
        let names = self.names();
        let facts = calls.map_or_else(Facts::default, |calls| calls.take_facts(&names));
        let ts = |clock_ns: i64| (clock_ns != NO_TIME).then(|| clock_ns.saturating_sub(start));
        let processes = threads.processes.iter().map(|process| Process {
            pid: process.pid,
            parent: process.parent,
            start: ts(process.start),
            end: ts(process.end),
        });
        let upids: Vec<_> = threads.all.iter().map(|thread| thread.upid).collect();
        let upid_of = |utid: u32| upids.get(utid as usize).copied().flatten();
        let (history, mut turns, is_whole) = self.descriptors.settle(facts, start, processes.collect(), upid_of);
        if !turns.is_empty() {
            for (id, name) in (0..).zip(&threads.names).filter(|(_, name)| name.comm.is_some()) {
                let thread = threads.all.get(name.utid as usize);
                if let Some((upid, tid)) = thread.and_then(|thread| Some((thread.upid?, thread.tid)))
                    && threads.processes.get(upid as usize).is_some_and(|process| process.pid == tid)
                {
                    turns.add_name(upid, ts(name.since).unwrap_or(0), id);
                }
            }
            turns.sort_names();
            for (process, upid) in threads.processes.iter().zip(0..) {
                if let Some(end) = ts(process.end) {
                    turns.add_end(upid, end);
                }
            }
        }
        (Arc::new(syscalls::RowFacts { start, names, history, upids }), turns, is_whole)
    }

    /// Gives the calls of 32-bit programs the names of their convention. It may become known late that a program has 32
    /// bits.
    pub(crate) fn make_compat(&mut self, is_of: impl Fn(Utid) -> bool) {
        for timeline in &mut self.sources {
            timeline.syscalls.make_compat(&is_of);
        }
    }
}

/// Writes the meaning of the names and values of system calls.
pub(crate) fn write_definitions(names: &Names, tables: &mut Tables) {
    for (abi, number, name, form) in names.each() {
        tables.syscall_definition.push(SyscallDefinitionRow {
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
        tables.syscall_value.push(SyscallValueRow {
            abi: abi.as_bytes(),
            set_name: value.set.as_bytes(),
            position: value.position,
            mask: value.mask,
            value: value.value,
            name: value.name,
        });
    }
}
