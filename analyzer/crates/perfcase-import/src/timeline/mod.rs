//! What happened between events: who ran and who waited, which system calls and disk requests took how long.
//!
//! Each source has timelines of its own, so that an event which two sources recorded counts once; at the end one
//! source is chosen for each table.

mod block;
mod compat;
mod sched;
mod syscalls;

pub(crate) use block::{BlockEvent, BlockStep};
pub(crate) use sched::{Switch, WakeKind, Wakeup};
pub(crate) use syscalls::{Entry, Return};

use std::sync::Arc;

use crate::session::{Session, SourceId};
use crate::syscall_names::{self, Names};
use crate::tables::{SyscallDefinitionRow, SyscallValueRow};

/// The timelines of one source.
#[derive(Default)]
pub(crate) struct Timeline {
    pub sched: sched::Sched,
    pub syscalls: syscalls::Syscalls,
    pub block: block::Block,
}

#[derive(Default)]
pub(crate) struct Timelines {
    /// The one source that has events at all: its rows need not wait until a source is chosen.
    pub only: Option<SourceId>,
    /// Only some threads were recorded: a command, processes, a control group. perf then sees switches away from these
    /// threads and none to them; ftrace, by its list of pids, sees both.
    pub is_of_some_threads: bool,
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

/// Whether a source saw both sides of its events, how many there are, whether it has wakeups, whether it has callchains.
type Quality = (bool, u64, bool, bool);

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
    /// to it; then the one that lost the fewest; then the one with wakeups, then the one with callchains, then the one
    /// with more events.
    pub(crate) fn chosen(&self, events: &crate::session::EventsView<'_>) -> Chosen {
        let pick = |quality: &dyn Fn(SourceId, &Timeline) -> Quality| {
            let sources = self
                .sources
                .iter()
                .enumerate()
                .map(|(id, timeline)| (id as SourceId, quality(id as SourceId, timeline)));
            let used = sources.filter(|(_, (_, count, ..))| *count > 0);
            used.max_by_key(|&(id, (seen, count, wakes, stacks))| {
                (seen, std::cmp::Reverse(events.lost(id)), wakes, stacks, count, std::cmp::Reverse(id))
            })
            .map(|(id, _)| id)
        };
        Chosen {
            sched: pick(&|id, timeline| {
                let (count, wakes, stacks) = timeline.sched.quality();
                (!self.is_of_some_threads || events.kind(id) != Some("perf_data"), count, wakes, stacks)
            }),
            syscall: pick(&|_, timeline| (true, timeline.syscalls.count(), false, false)),
            block: pick(&|_, timeline| (true, timeline.block.count(), false, false)),
        }
    }

    /// Another source of the same switches, with callchains, if the chosen one has none.
    fn with_stacks(&self, chosen: SourceId) -> Option<&sched::Sched> {
        let has_stacks = |timeline: &&Timeline| timeline.sched.quality().2;
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
    /// For a capture with one source: hand over rows that are settled, in blocks, while events come in.
    pub(crate) fn stream_timelines(&mut self, least: usize) {
        let Some(source) = self.timelines.only else { return };
        let start = self.start_ns();
        let names = self.timelines.names();
        let timeline = self.timelines.of(source);
        let states = timeline.sched.settled(start, least);
        let calls = timeline.syscalls.settled(start, least, names);
        if let Some(build) = states {
            self.write_later("thread_state", build);
        }
        if let Some(build) = calls {
            self.write_later("syscall", build);
        }
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
            if let Some(other) = self.timelines.with_stacks(source) {
                sched.borrow_stacks(other);
                if self.timelines.is_of_some_threads {
                    sched.keep_threads_of(other);
                }
            }
            if let Some(build) = sched.settled(start, 1) {
                self.write_later("thread_state", build);
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
            if let Some(build) = syscalls.settled(start, 1, names) {
                self.write_later("syscall", build);
            }
        }
        if let Some(source) = chosen.block {
            let block = std::mem::take(&mut self.timelines.of(source).block);
            block.write(self);
        }
    }
}
