//! The CPU bursts of each thread, and in which of them a sleeper's waker was when the sleep began and ended.
//!
//! A burst is a run with the waits before it. A wait is followed to what its waker did meanwhile: its bursts from one number
//! to another. Both numbers are known when the wait is: the sleeper leaves a CPU later than it was woken.
//!
//! So of a run only its number is asked, at the moments when a sleep began or ended. The beginnings of the sleeps that go on are
//! known, and other moments are still to come. Runs with no such moment between them become one: the memory grows with the
//! number of sleeps that go on, not with the length of the capture.

use super::interval::{Interval, NONE, State};
use crate::model::{NO_TIME, Utid};

/// The number of new runs after which runs become one: 2 MiB.
const RUNS: usize = 1 << 17;

/// What a thread did until now.
#[derive(Clone)]
struct Track {
    /// The end of its last interval.
    end: i64,
    /// Its runs in the order of time, or several that nothing asks to tell apart as the last of them.
    runs: Vec<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    end: i64,
    /// The number of runs until here, with this one.
    count: u32,
}

pub(super) struct Bursts {
    tracks: Vec<Track>,
    /// The number of new runs that still fit.
    room: usize,
    /// The least number of new runs after which runs become one.
    least: usize,
}

impl Default for Bursts {
    fn default() -> Self {
        Bursts::joined_after(RUNS)
    }
}

impl Bursts {
    pub(super) fn joined_after(runs: usize) -> Self {
        Bursts { tracks: Vec::new(), room: runs, least: runs }
    }

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
        interval.burst = track.runs.last().map_or(0, |run| run.count);
        if track.end != NO_TIME && track.end != start {
            interval.gap = start.saturating_sub(track.end);
        }
        let begin = start.max(track.end);
        if end > begin {
            track.end = end;
            if interval.state == State::Running && !interval.is_open {
                track.runs.push(Run { end, count: interval.burst.saturating_add(1) });
                self.room = self.room.saturating_sub(1);
            }
        }
        if interval.is_sleep() && ![NONE, 0, utid].contains(&interval.waker) {
            // A waker without a track may have an interval yet: the one in which it is now.
            let runs = self.tracks.get(interval.waker as usize).map_or(&[][..], |waker| &waker.runs);
            let first = count(runs, |run| run <= begin);
            let last = count(runs, |run| run < end).max(first);
            interval.waker_burst = first;
            interval.waker_bursts = (last - first).saturating_add(1);
        }
    }

    /// Tells whether it is time to join runs.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.room == 0
    }

    /// Joins runs that are not told apart any more: by no sleep that goes on, which each have their thread, their beginning and,
    /// if it is known, their end, and by no moment from `now` on. A clock that goes back may ask for a moment among runs that
    /// are one: none of them counts then.
    pub(super) fn join(&mut self, now: i64, sleeps: impl Iterator<Item = (Utid, i64, Option<i64>)>) {
        let mut moments = vec![now];
        for (utid, start, end) in sleeps {
            moments.push(self.tracks.get(utid as usize).map_or(start, |track| start.max(track.end)));
            moments.extend(end);
        }
        moments.sort_unstable();
        moments.dedup();
        let mut kept = 0;
        for Track { runs, .. } in &mut self.tracks {
            runs.dedup_by(|run, before| {
                let next = moments.partition_point(|&moment| moment < before.end);
                let is_one = moments.get(next).is_none_or(|&moment| moment > run.end);
                if is_one {
                    *before = *run;
                }
                is_one
            });
            runs.shrink_to_fit();
            kept += runs.len();
        }
        // As many as what was looked at now: so the work for each run is bounded.
        self.room = self.least.max(kept).max(moments.len()).max(self.tracks.len());
    }
}

/// Counts the runs until the last that is `earlier`. Most sleeps are short, so that it is among the last ones.
#[inline]
fn count(runs: &[Run], earlier: impl Fn(i64) -> bool) -> u32 {
    const NEAR: usize = 8;
    let (far, near) = runs.split_at(runs.len().saturating_sub(NEAR));
    let until = match far.last() {
        Some(&run) if !earlier(run.end) => far.partition_point(|run| earlier(run.end)),
        _ => far.len() + near.iter().take_while(|run| earlier(run.end)).count(),
    };
    until.checked_sub(1).map_or(0, |last| runs[last].count)
}

#[cfg(test)]
#[path = "burst_tests.rs"]
mod tests;
