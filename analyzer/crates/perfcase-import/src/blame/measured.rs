//! What snapshots measured of threads: how long each was on a CPU, and how long a quota held back its control group. A recording of some
//! processes does not have the switches between threads of others, so no event tells when a thread got its CPU from one of these.

use hashbrown::HashMap;

use crate::bound::Bound;

/// The most intervals that are kept: a bound for hostile input.
const MOST: usize = 1 << 22;

/// The time between two snapshots of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    start: i64,
    end: i64,
    /// Measured: the time on a CPU, and the time that the thread's group was held back, on all CPUs together.
    on_cpu_ns: i64,
    held_ns: i64,
    /// By events: it surely ran; it waited for a CPU at first and ran in the end; it waited for a CPU.
    ran_ns: i64,
    unsure_ns: i64,
    queued_ns: i64,
}

impl Interval {
    /// How much of the unsure time it was on a CPU, at most.
    fn unsure_on_cpu_ns(&self) -> i64 {
        self.on_cpu_ns.saturating_sub(self.ran_ns).clamp(0, self.unsure_ns)
    }
}

/// What a state says of a thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Seen {
    Ran,
    /// It waited for a CPU first, and ran in the end.
    Unsure,
    Queued,
}

pub(super) struct Measured {
    of: HashMap<u32, Vec<Interval>>,
    pub(super) bound: Bound,
}

impl Default for Measured {
    fn default() -> Measured {
        Measured { of: HashMap::new(), bound: Bound::of(MOST) }
    }
}

impl Measured {
    /// Adds the time between two snapshots of a thread; those of a thread come in the order of time.
    pub(super) fn add(&mut self, utid: u32, (start, end): (i64, i64), on_cpu_ns: i64, held_ns: i64) {
        if end > start && on_cpu_ns >= 0 && self.bound.admits() {
            self.of.entry(utid).or_default().push(Interval { start, end, on_cpu_ns, held_ns, ..Interval::default() });
        }
    }

    pub(super) fn has(&self, utid: u32) -> bool {
        self.of.contains_key(&utid)
    }

    /// Adds a state of a thread.
    pub(super) fn see(&mut self, utid: u32, start: i64, end: i64, seen: Seen) {
        let Some(all) = self.of.get_mut(&utid) else { return };
        let first = all.partition_point(|interval| interval.end <= start);
        for interval in all[first..].iter_mut().take_while(|interval| interval.start < end) {
            let part = end.min(interval.end).saturating_sub(start.max(interval.start));
            let sum = match seen {
                Seen::Ran => &mut interval.ran_ns,
                Seen::Unsure => &mut interval.unsure_ns,
                Seen::Queued => &mut interval.queued_ns,
            };
            *sum = sum.saturating_add(part);
        }
    }

    fn at(&self, utid: u32, time: i64) -> Option<&Interval> {
        let all = self.of.get(&utid)?;
        all.get(all.partition_point(|interval| interval.end < time)).filter(|interval| interval.start < time)
    }

    /// Gives until when a thread waited for a CPU of which no event tells when it got it: by the part of all such times that it was on one.
    /// Where that is half of them or more, nothing speaks against all of this time.
    pub(super) fn waits_until(&self, utid: u32, start: i64, end: i64) -> i64 {
        let Some(interval) = self.at(utid, end) else { return start };
        let on_cpu_ns = interval.unsure_on_cpu_ns();
        if on_cpu_ns.saturating_mul(2) >= interval.unsure_ns {
            return start;
        }
        let ran = i128::from(end.saturating_sub(start)) * i128::from(on_cpu_ns) / i128::from(interval.unsure_ns);
        end.saturating_sub(ran as i64)
    }

    /// Tells whether a quota explains the waits of a thread for a CPU at a time: it held its group back for nearly as long as the thread
    /// waited then, or longer.
    pub(super) fn is_held(&self, utid: u32, time: i64) -> bool {
        self.at(utid, time).is_some_and(|interval| {
            let waited = interval.queued_ns.saturating_add(interval.unsure_ns - interval.unsure_on_cpu_ns());
            waited > 0 && i128::from(interval.held_ns) * 10 >= i128::from(waited) * 9
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_bounds_what_nobody_saw() {
        let measured = |on_cpu_ns: i64, held_ns: i64| {
            let mut all = Measured::default();
            all.add(5, (0, 1000), on_cpu_ns, held_ns);
            all.add(5, (1000, 2000), 900, 0);
            all.see(5, 0, 100, Seen::Ran);
            all.see(5, 100, 500, Seen::Unsure);
            all.see(5, 500, 800, Seen::Queued);
            all.see(5, 800, 1100, Seen::Ran);
            all
        };
        // 300 of its time on a CPU are certain; of the 400 that are not, it ran 100.
        assert_eq!(measured(400, 0).waits_until(5, 100, 500), 400);
        assert_eq!(measured(250, 0).waits_until(5, 100, 500), 500);
        assert_eq!(measured(499, 0).waits_until(5, 100, 500), 301);
        assert_eq!(measured(500, 0).waits_until(5, 100, 500), 100, "half of it");
        assert_eq!(measured(400, 0).waits_until(6, 100, 500), 100, "a thread without snapshots");
        // It waited for 300 and 300.
        assert!(measured(400, 540).is_held(5, 800) && !measured(400, 539).is_held(5, 800));
        assert!(!measured(400, 540).is_held(5, 1001) && !measured(400, 540).is_held(6, 800));
    }

    #[test]
    fn what_was_measured_beyond_the_bound_is_counted() {
        let mut all = Measured { bound: Bound::of(1), ..Measured::default() };
        all.add(5, (0, 1000), -1, 0);
        (0..4).for_each(|number| all.add(5, (1000 * number, 1000 * number + 1000), 0, 0));
        all.see(5, 0, 4000, Seen::Unsure);
        let waits = |from: i64| all.waits_until(5, from, from + 500) - from;
        assert_eq!((all.bound.refused_count, waits(100), waits(2100)), (3, 500, 0));
    }
}
