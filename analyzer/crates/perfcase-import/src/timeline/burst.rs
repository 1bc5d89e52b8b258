//! The CPU bursts of each thread, and in which of them a sleeper's waker was when the sleep began and ended.
//!
//! A burst is a run with the waits before it. A wait is followed to what its waker did meanwhile: its bursts from one number
//! to another. Both numbers are known when the wait is: the sleeper leaves a CPU later than it was woken.

use super::interval::{Interval, NONE, State};
use crate::model::{NO_TIME, Utid};

/// What a thread did until now.
#[derive(Clone)]
struct Track {
    /// The end of its last interval.
    end: i64,
    /// The end of each run, in the order of time.
    runs: Vec<i64>,
}

#[derive(Default)]
pub(super) struct Bursts {
    tracks: Vec<Track>,
}

impl Bursts {
    fn track(&mut self, utid: Utid) -> &mut Track {
        let index = utid as usize;
        if index >= self.tracks.len() {
            self.tracks.resize(index + 1, Track { end: NO_TIME, runs: Vec::new() });
        }
        &mut self.tracks[index]
    }

    /// Tells an interval its burst, how far it is from the interval before, and where its waker was. The intervals of a thread
    /// come in the order of their ends. What is left when the capture ends is of the last burst, however many runs there are:
    /// which of them ended first is not known.
    #[inline]
    pub(super) fn add(&mut self, interval: &mut Interval) {
        let Interval { start, end, utid, .. } = *interval;
        if utid == 0 {
            return;
        }
        let track = self.track(utid);
        interval.burst = number(track.runs.len());
        if track.end != NO_TIME && track.end != start {
            interval.gap = start.saturating_sub(track.end);
        }
        let begin = start.max(track.end);
        if end > begin {
            track.end = end;
            if interval.state == State::Running && !interval.is_open {
                track.runs.push(end);
            }
        }
        if interval.is_sleep() && ![NONE, 0, utid].contains(&interval.waker) {
            // A waker without a track may have an interval yet: the one in which it is now.
            let runs = self.tracks.get(interval.waker as usize).map_or(&[][..], |waker| &waker.runs);
            let first = count(runs, |run| run <= begin);
            let last = count(runs, |run| run < end).max(first);
            interval.waker_burst = number(first);
            interval.waker_bursts = number(last - first + 1);
        }
    }
}

/// Counts the runs before the first that is not `earlier`. Most sleeps are short, so that it is among the last ones.
#[inline]
fn count(runs: &[i64], earlier: impl Fn(i64) -> bool) -> usize {
    const NEAR: usize = 8;
    let (far, near) = runs.split_at(runs.len().saturating_sub(NEAR));
    match far.last() {
        Some(&run) if !earlier(run) => far.partition_point(|&run| earlier(run)),
        _ => far.len() + near.iter().take_while(|&&run| earlier(run)).count(),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_near_the_end_and_far_from_it() {
        let runs: Vec<i64> = (0..40).map(|run| run * 10).collect();
        for at in -5..410 {
            assert_eq!(count(&runs, |run| run < at), runs.iter().filter(|&&run| run < at).count());
        }
        assert_eq!(count(&[], |_| true), 0);
    }

    #[test]
    fn a_sleep_knows_the_bursts_of_its_waker() {
        let mut bursts = Bursts::default();
        let mut add = |utid: Utid, start: i64, end: i64, state: State, waker: u32| {
            let mut interval = Interval { start, end, utid, state, waker, ..Interval::UNKNOWN };
            bursts.add(&mut interval);
            (interval.burst, interval.gap, interval.waker_burst, interval.waker_bursts)
        };
        assert_eq!(add(1, 0, 10, State::Running, NONE), (0, NO_TIME, NONE, NONE));
        assert_eq!(add(1, 15, 20, State::Runnable, NONE), (1, 5, NONE, NONE));
        assert_eq!(add(1, 18, 30, State::Running, NONE), (1, -2, NONE, NONE), "it may have begun later");
        assert_eq!(add(1, 30, 40, State::Running, NONE), (2, NO_TIME, NONE, NONE));
        // 1 ran until 10, 30 and 40: what ends at the moment of a sleep's edge is not in the sleep.
        assert_eq!(add(2, 10, 30, State::Sleeping, 1), (0, NO_TIME, 1, 1));
        assert_eq!(add(3, 9, 31, State::Sleeping, 1), (0, NO_TIME, 0, 3));
        assert_eq!(add(4, 40, 60, State::DiskSleep, 1), (0, NO_TIME, 3, 1));
        assert_eq!(add(5, 40, 60, State::Sleeping, 99), (0, NO_TIME, 0, 1), "not seen to leave a CPU until now");
        for (state, waker) in
            [(State::Sleeping, 0), (State::Sleeping, 6), (State::Sleeping, NONE), (State::Runnable, 1)]
        {
            let (_, _, first, count) = add(6, 0, 50, state, waker);
            assert_eq!((first, count), (NONE, NONE));
        }
        assert_eq!(add(0, 0, 50, State::Idle, NONE), (NONE, NO_TIME, NONE, NONE), "the idle task is on many CPUs");
    }
}
