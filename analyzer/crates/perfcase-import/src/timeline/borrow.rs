//! What other sources know about the switches of one source: callchains, and the threads that were followed.

use std::collections::HashMap;
use std::io::Result;

use super::interval::{Interval, NONE};
use super::sched::Sched;
use crate::bound::Bound;
use crate::model::Utid;

/// Callchains by thread and time.
#[derive(Default)]
struct Moments(HashMap<Utid, Vec<(i64, u32)>>);

impl Moments {
    /// The most ns between the clock readings of two handlers of one event, if nothing takes the CPU away between them.
    const APART_NS: u64 = 10_000;
    /// The most ns between them if the thread does nothing else of this kind meanwhile: the host of a virtual machine
    /// may take the CPU away for that long.
    const FAR_NS: i64 = 10_000_000;

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

    /// Gives the callchain nearest to a thread's switch at `at`: after the thread got the CPU (`came`), and before it
    /// gets one again (`comes`). `NONE` where there is none.
    fn between(&self, utid: Utid, came: i64, at: i64, comes: i64) -> u32 {
        let Some(moments) = self.0.get(&utid) else { return NONE };
        let first = moments.partition_point(|&(moment, _)| moment < came.max(at.saturating_sub(Self::FAR_NS)));
        let until = comes.min(at.saturating_add(Self::FAR_NS));
        let around = moments[first..].iter().take_while(|&&(moment, _)| moment < until);
        around.min_by_key(|&&(moment, _)| moment.abs_diff(at)).map_or(NONE, |&(_, stack)| stack)
    }
}

/// The moment of a thread at which a callchain was taken, for events that do not say which thread came or was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The thread leaves a CPU.
    Switch,
    /// The thread wakes another thread.
    Wakeup,
    /// The thread left a CPU earlier, at the time that the sample has as its data.
    Past,
}

/// Callchains of some switches and wakeups, without the switches themselves: samples of `context-switches`, and the
/// callchains of waits that perfcase-record takes within a budget.
pub(crate) struct SampledStacks {
    switches: Moments,
    wakeups: Moments,
    pub bound: Bound,
    /// An event of a recording has such callchains: the rows of `thread_state` wait for them.
    pub are_to_come: bool,
}

impl Default for SampledStacks {
    fn default() -> SampledStacks {
        // They take half a gigabyte. An untrusted file may have any number.
        let bound = Bound::of(1 << 25);
        SampledStacks { switches: Moments::default(), wakeups: Moments::default(), bound, are_to_come: false }
    }
}

impl SampledStacks {
    pub(crate) fn add(&mut self, moment: Moment, utid: Utid, clock_ns: i64, stack: u32) {
        if utid != 0 && self.bound.admits() {
            let moments = if moment == Moment::Wakeup { &mut self.wakeups } else { &mut self.switches };
            moments.add(utid, (clock_ns, stack));
        }
    }

    /// Gives the callchains for the intervals of another source; `None` if there are none. `of_some` is the number of
    /// threads, where only some of them were recorded.
    pub(super) fn into_borrowed(self, of_some: Option<usize>) -> Option<Borrowed> {
        let SampledStacks { mut switches, mut wakeups, .. } = self;
        if switches.0.is_empty() && wakeups.0.is_empty() {
            return None;
        }
        switches.sort();
        wakeups.sort();
        // The first switch of each followed thread has its callchain.
        let followed = of_some.map(|count| (0..count).map(|utid| switches.0.contains_key(&(utid as Utid))).collect());
        Some(Borrowed { runs: switches, wakers: wakeups, followed, ..Borrowed::default() })
    }
}

/// What the chosen source takes from other sources.
#[derive(Default)]
pub(super) struct Borrowed {
    /// Callchains by the thread that left a CPU.
    runs: Moments,
    /// Callchains by the thread that was woken.
    wakes: Moments,
    /// Callchains by the thread that woke another.
    wakers: Moments,
    /// Whether each thread was followed; `None` when all were.
    followed: Option<Vec<bool>>,
    /// The callchain with which each thread left a CPU.
    left: HashMap<Utid, u32>,
}

impl Borrowed {
    /// Takes the callchains of switches and wakeups of another source. Both sources record the same moment on the same
    /// clock, one handler after the other.
    ///
    /// # Errors
    /// When the intervals that wait in a file cannot be read.
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
    /// This is for a recording of some threads by both sources. perf records only these threads. ftrace also records
    /// the threads before and after them, at the switches to them and away from them. What those other threads did in
    /// between is unknown.
    pub(super) fn threads_of(self, other: &Sched, thread_count: usize) -> Borrowed {
        let followed = (0..thread_count).map(|utid| utid != 0 && other.has_left(utid as Utid)).collect();
        Borrowed { followed: Some(followed), ..self }
    }

    /// Tells whether a thread was followed.
    pub(super) fn has_followed(&self, utid: Utid) -> bool {
        self.followed.as_ref().is_none_or(|followed| followed.get(utid as usize).copied().unwrap_or(false))
    }

    /// Completes intervals. They come in the order in which they were recorded.
    pub(super) fn complete(&mut self, intervals: &mut Vec<Interval>) {
        // The intervals of one thread are in the order of time. The loop goes from the last to the first, so it knows
        // when the thread gets a CPU again.
        let mut comes: HashMap<Utid, i64> = HashMap::new();
        for run in intervals.iter_mut().rev().filter(|interval| interval.is_run() && interval.utid != 0) {
            let next = comes.insert(run.utid, run.start).unwrap_or(i64::MAX);
            if run.stack == NONE && !run.is_open {
                run.stack = self.runs.between(run.utid, run.start, run.end, next);
            }
        }
        for interval in intervals.iter_mut().filter(|interval| interval.utid != 0) {
            if interval.is_run() {
                self.left.insert(interval.utid, interval.stack);
            } else if interval.stack == NONE {
                // The run before a thread's first wait was not recorded. A wait that the end of the capture ends may
                // come before the run in which it began.
                let left = self.left.get(&interval.utid).copied();
                interval.stack = left.unwrap_or_else(|| self.runs.nearest(interval.utid, interval.start));
            }
            if interval.waker != NONE && interval.waker_stack == NONE {
                let by_woken = self.wakes.nearest(interval.utid, interval.woken());
                let by_waker = || self.wakers.nearest(interval.waker, interval.woken());
                interval.waker_stack = if by_woken == NONE { by_waker() } else { by_woken };
            }
        }
        if self.followed.is_some() {
            intervals.retain(|interval| self.has_followed(interval.utid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::interval::{Context, State};
    use super::super::sched::{Switch, WakeKind, Wakeup};
    use super::*;

    /// Thread 1 leaves the CPU at 100 µs. Thread 2 wakes it at 200 µs. It gets the CPU at 210 µs and leaves it at 300
    /// µs.
    fn a_wait() -> Sched {
        let mut sched = Sched::default();
        let mut switch = |clock_ns, prev, next| {
            sched.switch(Switch { clock_ns, cpu: 0, prev, prev_name: 0, next, prev_state: 1, stack: None });
        };
        switch(0, 0, 1);
        switch(100_000, 1, 2);
        let waker = Some((2, 0));
        let kind = WakeKind::Wakeup;
        sched.wakeup(Wakeup {
            clock_ns: 200_000,
            kind,
            woken: 1,
            woken_name: 0,
            waker,
            cpu: Some(0),
            stack: None,
            context: Context::Task,
        });
        let mut switch = |clock_ns, prev, next| {
            sched.switch(Switch { clock_ns, cpu: 0, prev, prev_name: 0, next, prev_state: 1, stack: None });
        };
        switch(210_000, 2, 1);
        switch(300_000, 1, 0);
        sched
    }

    /// Gives the thread, state, callchain and waker's callchain of each interval.
    fn completed(add: impl Fn(&mut SampledStacks), of_some: Option<usize>) -> Vec<(Utid, State, u32, u32)> {
        let mut stacks = SampledStacks::default();
        add(&mut stacks);
        let mut intervals = Vec::new();
        a_wait().each_block(|block| intervals.extend_from_slice(block)).unwrap();
        if let Some(mut other) = stacks.into_borrowed(of_some) {
            other.complete(&mut intervals);
        }
        let row = |of: &Interval| (of.utid, of.state, of.stack, of.waker_stack);
        intervals.iter().map(row).collect()
    }

    #[test]
    fn sampled_callchains_are_those_of_the_nearest_switch_and_wakeup() {
        use State::*;
        let add = |stacks: &mut SampledStacks| {
            stacks.add(Moment::Switch, 1, 100_900, 7);
            stacks.add(Moment::Wakeup, 2, 199_100, 8);
            // One callchain is of another thread, and one is too far away.
            stacks.add(Moment::Switch, 3, 210_000, 9);
            stacks.add(Moment::Switch, 1, 20_320_000, 10);
            stacks.add(Moment::Wakeup, 1, 200_000, 11);
        };
        let all = [
            (1, Running, 7, NONE),
            (2, Running, NONE, NONE),
            (1, Sleeping, 7, 8),
            (1, Runnable, 7, NONE),
            (1, Running, NONE, NONE),
        ];
        assert_eq!(completed(add, None), all);
        let of_1: Vec<_> = all.into_iter().filter(|&(utid, ..)| utid == 1).collect();
        assert_eq!(completed(add, Some(3)), of_1, "2 was never seen to leave a CPU: it is not of the recording");
    }

    #[test]
    fn callchains_beyond_the_bound_are_counted() {
        let mut stacks = SampledStacks { bound: Bound::of(1), ..SampledStacks::default() };
        (0..3).for_each(|_| stacks.add(Moment::Switch, 1, 100_000, 7));
        stacks.add(Moment::Wakeup, 0, 200_000, 8);
        assert_eq!((stacks.bound.refused_count, stacks.switches.0[&1].len()), (2, 1));
    }

    #[test]
    fn without_sampled_callchains_nothing_changes() {
        let bare = completed(|_| (), Some(3));
        assert_eq!(bare.len(), 5);
        assert!(bare.iter().all(|&(.., stack, waker_stack)| (stack, waker_stack) == (NONE, NONE)));
    }
}
