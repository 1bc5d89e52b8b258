//! What another source knows of the switches that one recorded: callchains, and whose they were.

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

/// What is taken from another source.
pub(super) struct Borrowed {
    runs: Moments,
    wakes: Moments,
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
        Ok(Borrowed { runs, wakes, followed: None, left: HashMap::new() })
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
                interval.waker_stack = self.wakes.nearest(interval.utid, interval.woken());
            }
        }
        if let Some(followed) = &self.followed {
            intervals.retain(|interval| followed.get(interval.utid as usize).copied().unwrap_or(false));
        }
    }
}
