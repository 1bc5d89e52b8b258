//! Wakeups: what an event says about one, and what a thread's interval takes from it.

use super::interval::{Context, Interval, NONE};
use crate::model::{NO_TIME, NameId, Utid};

/// The most ns from sched_waking to what the same wakeup does next: the thread may be on the way off its CPU, where it
/// is taken into a run queue then, and the waker may choose another run queue. The host of a virtual machine may take
/// the CPU away meanwhile; then they are not seen as one.
pub(super) const JUST_NS: i64 = 100_000;

/// The event that reported a wakeup.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WakeKind {
    /// sched_waking: in the waker's context, before the thread is put on a run queue.
    Waking,
    /// sched_wakeup: when it is on the run queue, maybe in an interrupt on another CPU.
    Wakeup,
    /// sched_wakeup_new: a new thread.
    New,
}

/// A thread became runnable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wakeup {
    pub clock_ns: i64,
    pub kind: WakeKind,
    pub woken: Utid,
    pub woken_name: NameId,
    pub waker: Option<(Utid, NameId)>,
    pub cpu: Option<u32>,
    pub stack: Option<u32>,
    pub context: Context,
}

/// Who woke a thread, and when.
#[derive(Clone, Copy)]
pub(super) struct Wake {
    pub(super) at: i64,
    pub(super) waker: u32,
    pub(super) waker_name: NameId,
    pub(super) waker_cpu: u32,
    pub(super) waker_stack: u32,
    pub(super) waker_context: Context,
}

impl Wake {
    pub(super) const NONE: Wake = Wake {
        at: NO_TIME,
        waker: NONE,
        waker_name: NONE,
        waker_cpu: NONE,
        waker_stack: NONE,
        waker_context: Context::Unknown,
    };

    pub(super) fn of(wakeup: &Wakeup) -> Wake {
        let (waker, waker_name) = wakeup.waker.unwrap_or((NONE, NONE));
        Wake {
            at: wakeup.clock_ns,
            waker,
            waker_name,
            waker_cpu: wakeup.cpu.unwrap_or(NONE),
            waker_stack: wakeup.stack.unwrap_or(NONE),
            waker_context: wakeup.context,
        }
    }

    /// Tells whether it came shortly before `at`.
    pub(super) fn is_just_before(&self, at: i64) -> bool {
        self.at != NO_TIME && (0..=JUST_NS).contains(&at.saturating_sub(self.at))
    }

    /// Gives the interval with the waker that ended it.
    pub(super) fn ended(&self, interval: Interval) -> Interval {
        let Wake { waker, waker_name, waker_cpu, waker_stack, waker_context, .. } = *self;
        Interval { waker, waker_name, waker_cpu, waker_stack, waker_context, ..interval }
    }
}
