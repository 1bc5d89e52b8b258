//! What other sources know of the switches that one recorded: callchains, and whose they were.

use std::collections::HashMap;
use std::io::Result;

use super::interval::{Interval, NONE, State};
use super::sched::Sched;
use crate::session::Utid;

/// Callchains by thread and time.
#[derive(Default)]
struct Moments(HashMap<Utid, Vec<(i64, u32)>>);

impl Moments {
    /// Two handlers of one event read the clock this far apart at most; the same thread cannot switch twice in it.
    const APART_NS: u64 = 10_000;

    fn add(&mut self, utid: Utid, moment: (i64, u32)) {
        if moment.1 != NONE {
            self.0.entry(utid).or_default().push(moment);
        }
    }

    fn sort(&mut self) {
        self.0.values_mut().for_each(|moments| moments.sort_unstable());
    }

    fn nearest(&self, utid: Utid, at: i64) -> u32 {
        let Some(moments) = self.0.get(&utid) else { return NONE };
        let after = moments.partition_point(|&(moment, _)| moment < at);
        let around = moments[after.saturating_sub(1)..].iter().take(2);
        let best = around.min_by_key(|&&(moment, _)| moment.abs_diff(at));
        best.filter(|&&(moment, _)| moment.abs_diff(at) <= Self::APART_NS).map_or(NONE, |&(_, stack)| stack)
    }
}

/// Which moment of a thread a callchain was taken at, where the event itself says nothing of who came or was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// It leaves a CPU.
    Switch,
    /// It wakes another thread.
    Wakeup,
}

/// Callchains of some switches and wakeups, without the switches themselves: samples of `context-switches`, and what
/// perfcase-record takes of waits within a budget.
#[derive(Default)]
pub(crate) struct SampledStacks {
    switches: Moments,
    wakeups: Moments,
    count: usize,
    /// An event of a recording has them: the rows of `thread_state` wait for them.
    pub are_to_come: bool,
}

impl SampledStacks {
    /// A stranger's file may hold any number; these take half a gigabyte.
    const MOST: usize = 1 << 25;

    pub(crate) fn add(&mut self, moment: Moment, utid: Utid, clock_ns: i64, stack: u32) {
        if self.count < Self::MOST && utid != 0 {
            self.count += 1;
            let moments = if moment == Moment::Switch { &mut self.switches } else { &mut self.wakeups };
            moments.add(utid, (clock_ns, stack));
        }
    }

    /// None if there are none. `of_some`: of so many threads only some were recorded.
    pub(super) fn into_borrowed(self, of_some: Option<usize>) -> Option<Borrowed> {
        let SampledStacks { mut switches, mut wakeups, count, .. } = self;
        if count == 0 {
            return None;
        }
        switches.sort();
        wakeups.sort();
        // The first switch of each thread has its callchain.
        let followed = of_some.map(|count| (0..count).map(|utid| switches.0.contains_key(&(utid as Utid))).collect());
        Some(Borrowed { runs: switches, wakers: wakeups, followed, ..Borrowed::default() })
    }
}

/// What is taken from other sources.
#[derive(Default)]
pub(super) struct Borrowed {
    /// By the thread that left a CPU.
    runs: Moments,
    /// By the thread that was woken.
    wakes: Moments,
    /// By the thread that woke another.
    wakers: Moments,
    /// Whether each thread was followed; none: all were.
    followed: Option<Vec<bool>>,
    /// The callchain with which each thread left a CPU.
    left: HashMap<Utid, u32>,
}

impl Borrowed {
    /// The callchains of switches and wakeups. Both sources record the same moment on the same clock, one handler after the
    /// other.
    ///
    /// # Errors
    /// When what was put aside cannot be read.
    pub(super) fn from(other: &Sched) -> Result<Borrowed> {
        let (mut runs, mut wakes) = (Moments::default(), Moments::default());
        other.each_block(|intervals| {
            for interval in intervals {
                if interval.is_run() && interval.utid != 0 {
                    runs.add(interval.utid, (interval.end, interval.stack));
                }
                if interval.waker != NONE {
                    wakes.add(interval.utid, (interval.woken(), interval.waker_stack));
                }
            }
        })?;
        runs.sort();
        wakes.sort();
        Ok(Borrowed { runs, wakes, ..Borrowed::default() })
    }

    /// Also leaves out the threads that the other source never saw leave a CPU.
    ///
    /// A recording of some threads by both: perf records these threads only, ftrace also what it switches from and to
    /// where they come and go. Nobody knows what those others did in between.
    pub(super) fn threads_of(self, other: &Sched, thread_count: usize) -> Borrowed {
        let followed = (0..thread_count).map(|utid| utid != 0 && other.has_left(utid as Utid)).collect();
        Borrowed { followed: Some(followed), ..self }
    }

    /// Completes intervals, which come in the order in which they were recorded.
    pub(super) fn complete(&mut self, intervals: &mut Vec<Interval>) {
        // The intervals of one thread lie in the order of time: the wait for a CPU after the sleep that it follows.
        for interval in intervals.iter_mut() {
            if interval.stack == NONE && interval.utid != 0 {
                let at = if interval.is_run() { interval.end } else { interval.start };
                interval.stack = match interval.state {
                    State::Runnable => self.left.get(&interval.utid).copied().unwrap_or(NONE),
                    _ => self.runs.nearest(interval.utid, at),
                };
                self.left.insert(interval.utid, interval.stack);
            }
            if interval.waker != NONE && interval.waker_stack == NONE {
                let by_woken = self.wakes.nearest(interval.utid, interval.woken());
                let by_waker = || self.wakers.nearest(interval.waker, interval.woken());
                interval.waker_stack = if by_woken == NONE { by_waker() } else { by_woken };
            }
        }
        if let Some(followed) = &self.followed {
            intervals.retain(|interval| followed.get(interval.utid as usize).copied().unwrap_or(false));
        }
    }
}
