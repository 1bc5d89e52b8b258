//! Where threads were on their CPUs, now and then.

use super::history::NONE;
use crate::bound::Bound;

/// The most samples that are kept: a bound for hostile input.
const MOST: usize = 1 << 24;

/// The samples of CPU time of all threads: when, and the callchain.
pub(super) struct Samples {
    of: Vec<Vec<(i64, u32)>>,
    pub(super) bound: Bound,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples { of: Vec::new(), bound: Bound::of(MOST) }
    }
}

impl Samples {
    pub(super) fn add(&mut self, utid: u32, time: i64, stack: u32) {
        if !self.bound.admits() {
            return;
        }
        let index = utid as usize;
        if index >= self.of.len() {
            self.of.resize_with(index + 1, Vec::new);
        }
        self.of[index].push((time, stack));
    }

    /// Puts those of each thread in the order of time.
    pub(super) fn settle(&mut self) {
        self.of.iter_mut().for_each(|all| all.sort_unstable());
    }

    /// Gives the callchain of a thread that ran between two times: of the sample in the middle of those between them.
    pub(super) fn between(&self, utid: u32, from: i64, to: i64) -> u32 {
        let all = self.of.get(utid as usize).map_or(&[][..], |all| all);
        let first = all.partition_point(|&(time, _)| time < from);
        let within = &all[first..all.partition_point(|&(time, _)| time < to).max(first)];
        within.get(within.len() / 2).map_or(NONE, |&(_, stack)| stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_in_the_middle_stands_for_a_run() {
        let mut samples = Samples::default();
        for (time, stack) in [(150, 3), (10, 1), (90, 2), (200, 4)] {
            samples.add(5, time, stack);
        }
        samples.settle();
        let of = |from, to| samples.between(5, from, to);
        assert_eq!([of(0, 200), of(10, 90), of(11, 90), of(10, 91), of(200, 201)], [2, 1, NONE, 2, 4]);
        assert_eq!((samples.between(4, 0, 9), samples.between(9, 0, 9), of(90, 10)), (NONE, NONE, NONE));
    }

    #[test]
    fn samples_beyond_the_bound_are_counted() {
        let mut samples = Samples { bound: Bound::of(2), ..Samples::default() };
        (1..=5).for_each(|time| samples.add(5, time, time as u32));
        assert_eq!((samples.bound.refused_count, samples.between(5, 0, 9), samples.between(5, 3, 9)), (3, 2, NONE));
    }
}
