//! What happened between events: who ran and who waited, which system calls and disk requests took how long.
//!
//! Each source has timelines of its own, so that an event which two sources recorded counts once; at the end one
//! source is chosen for each table.

mod block;
mod sched;
mod syscalls;

pub(crate) use block::{BlockEvent, BlockStep};
pub(crate) use sched::{Switch, WakeKind, Wakeup};

use crate::session::{Session, SourceId};

/// The timelines of one source.
#[derive(Default)]
pub(crate) struct Timeline {
    pub sched: sched::Sched,
    pub syscalls: syscalls::Syscalls,
    pub block: block::Block,
}

#[derive(Default)]
pub(crate) struct Timelines {
    sources: Vec<Timeline>,
    /// Architecture of the recorded host, as uname -m prints it: names the system calls.
    pub machine: Option<String>,
}

/// The source that each table is made from.
#[derive(Default)]
pub(crate) struct Chosen {
    pub sched: Option<SourceId>,
    pub syscall: Option<SourceId>,
    pub block: Option<SourceId>,
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

    /// Of several sources that recorded the same events: the one that lost the fewest; then the one with wakeups,
    /// then the one with callchains, then the one with more events.
    pub(crate) fn chosen(&self, events: &crate::session::EventsView<'_>) -> Chosen {
        let pick = |quality: &dyn Fn(&Timeline) -> (u64, bool, bool)| {
            let sources = self.sources.iter().enumerate().map(|(id, timeline)| (id as SourceId, quality(timeline)));
            let used = sources.filter(|(_, (count, ..))| *count > 0);
            used.max_by_key(|&(id, (count, wakes, stacks))| {
                (std::cmp::Reverse(events.lost(id)), wakes, stacks, count, std::cmp::Reverse(id))
            })
            .map(|(id, _)| id)
        };
        Chosen {
            sched: pick(&|timeline| timeline.sched.quality()),
            syscall: pick(&|timeline| (timeline.syscalls.count(), false, false)),
            block: pick(&|timeline| (timeline.block.count(), false, false)),
        }
    }
}

impl Session {
    /// Writes `thread_state`, `syscall` and `block_io` from the chosen sources.
    pub(crate) fn write_timelines(&mut self) {
        let chosen = self.timelines.chosen(&self.events.view());
        let end = self.last_ts_ns().saturating_add(self.start_ns());
        if let Some(source) = chosen.sched {
            let sched = std::mem::take(&mut self.timelines.of(source).sched);
            sched.write(self, end);
        }
        if let Some(source) = chosen.syscall {
            let syscalls = std::mem::take(&mut self.timelines.of(source).syscalls);
            let machine = self.timelines.machine.clone();
            syscalls.write(self, machine.as_deref());
        }
        if let Some(source) = chosen.block {
            let block = std::mem::take(&mut self.timelines.of(source).block);
            block.write(self);
        }
    }
}
