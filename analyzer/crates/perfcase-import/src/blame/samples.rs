//! Where threads were on their CPUs, now and then.

use super::history::NONE;

/// The most samples that are kept, and the most threads: bounds for hostile input.
const MOST: usize = 1 << 24;
const MOST_THREADS: u32 = 1 << 24;

/// The samples of CPU time of all threads: when, and the callchain.
#[derive(Default)]
pub(super) struct Samples {
    of: Vec<Vec<(i64, u32)>>,
    count: usize,
}

impl Samples {
    pub(super) fn add(&mut self, utid: u32, time: i64, stack: u32) {
        if self.count >= MOST || utid >= MOST_THREADS {
            return;
        }
        let index = utid as usize;
        if index >= self.of.len() {
            self.of.resize_with(index + 1, Vec::new);
        }
        self.of[index].push((time, stack));
        self.count += 1;
    }

    /// Puts those of each thread in the order of time.
    pub(super) fn settle(&mut self) {
        self.of.iter_mut().for_each(|all| all.sort_unstable());
    }

    /// Cuts a time in which a thread ran: each part has the callchain of the sample in it that is nearest. No more than `most` parts; the
    /// last then has the rest.
    pub(super) fn parts(
        &self,
        utid: u32,
        (from, to): (i64, i64),
        most: usize,
    ) -> impl Iterator<Item = (i64, i64, u32)> {
        let all = self.of.get(utid as usize).map_or(&[][..], |all| all);
        let within = &all[all.partition_point(|&(time, _)| time < from)..all.partition_point(|&(time, _)| time < to)];
        let within = &within[..within.len().min(most.max(1))];
        let edge = move |index: usize| match (index.checked_sub(1).map(|index| within[index].0), within.get(index)) {
            (None, _) => from,
            (_, None) => to,
            (Some(before), Some(&(after, _))) => before.midpoint(after),
        };
        (0..within.len().max(1)).map(move |index| {
            let stack = within.get(index).map_or(NONE, |&(_, stack)| stack);
            (edge(index), if index + 1 < within.len() { edge(index + 1) } else { to }, stack)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_cut_between_its_samples() {
        let mut samples = Samples::default();
        for (time, stack) in [(150, 3), (10, 1), (90, 2), (200, 4)] {
            samples.add(5, time, stack);
        }
        samples.settle();
        let of = |utid, from, to, most| samples.parts(utid, (from, to), most).collect::<Vec<_>>();
        assert_eq!(of(5, 0, 200, 9), [(0, 50, 1), (50, 120, 2), (120, 200, 3)]);
        assert_eq!(of(5, 10, 90, 9), [(10, 90, 1)]);
        assert_eq!(of(5, 11, 90, 9), [(11, 90, NONE)]);
        assert_eq!(of(5, 0, 200, 2), [(0, 50, 1), (50, 200, 2)]);
        assert_eq!(of(5, 0, 200, 0), [(0, 200, 1)]);
        assert_eq!((of(4, 0, 9, 9), of(9, 0, 9, 9)), (vec![(0, 9, NONE)], vec![(0, 9, NONE)]));
    }
}
