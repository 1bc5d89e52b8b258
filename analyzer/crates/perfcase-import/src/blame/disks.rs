//! Requests to disks that ended: which device a thread waited for.

use super::history::NONE;
use crate::bound::Bound;

/// A thread that an interrupt woke after a disk's request was complete: the most ns between the two.
const COMPLETED_NS: i64 = 1_000_000;
/// The most requests that are known: a bound for hostile input.
const MOST: usize = 8_000_000;

/// The requests in the order of time: when, who made it, the device.
pub(super) struct Completions {
    all: Vec<(i64, u32, u32)>,
    /// Their places in `all`, in the order of who made them, and of time.
    own: Vec<u32>,
    /// The names of the devices.
    pub(super) devices: Vec<Box<str>>,
    pub(super) bound: Bound,
}

impl Default for Completions {
    fn default() -> Completions {
        Completions { all: Vec::new(), own: Vec::new(), devices: Vec::new(), bound: Bound::of(MOST) }
    }
}

impl Completions {
    pub(super) fn add(&mut self, at: i64, utid: u32, device: &str) {
        if !self.bound.admits() {
            return;
        }
        let known = self.devices.iter().position(|known| **known == *device);
        let device = known.unwrap_or_else(|| {
            self.devices.push(device.into());
            self.devices.len() - 1
        });
        self.all.push((at, utid, device as u32));
    }

    /// Puts them in order.
    pub(super) fn settle(&mut self) {
        self.all.sort_unstable();
        self.own = (0..self.all.len() as u32).collect();
        let all = &self.all;
        self.own.sort_by_key(|&place| all[place as usize].1);
    }

    /// Gives the device whose request ended last before a thread woke, one of the thread's own if there is one.
    pub(super) fn device(&self, utid: u32, woken: i64) -> u32 {
        let of = |place: u32| self.all[place as usize];
        let own = self.own.partition_point(|&place| {
            let (at, maker, _) = of(place);
            (maker, at) <= (utid, woken)
        });
        let own = own.checked_sub(1).map(|index| of(self.own[index])).filter(|&(_, maker, _)| maker == utid);
        let any = self.all.partition_point(|&(at, ..)| at <= woken).checked_sub(1).map(|index| self.all[index]);
        let is_near = |&(at, ..): &(i64, u32, u32)| woken.saturating_sub(at) <= COMPLETED_NS;
        own.filter(is_near).or(any.filter(is_near)).map_or(NONE, |(.., device)| device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completions(most: usize, all: &[(i64, u32, &str)]) -> Completions {
        let mut found = Completions { bound: Bound::of(most), ..Completions::default() };
        all.iter().for_each(|&(at, utid, device)| found.add(at, utid, device));
        found.settle();
        found
    }

    #[test]
    fn a_threads_own_request_comes_before_the_requests_of_others() {
        let mut all = vec![(10, 1, "a"), (5, 2, "b"), (90, 2, "c")];
        all.extend((11..80).map(|at| (at, 2, "c")));
        let found = completions(100, &all);
        let device = |utid, woken| found.devices.get(found.device(utid, woken) as usize).map(|name| &**name);
        assert_eq!(device(1, 85), Some("a"), "also after more than 64 of others");
        assert_eq!([device(1, 9), device(3, 9), device(1, 4)], [Some("b"), Some("b"), None]);
        assert_eq!([device(1, 10 + COMPLETED_NS), device(1, 11 + COMPLETED_NS)], [Some("a"), Some("c")]);
        assert_eq!(device(2, 91 + COMPLETED_NS), None);
    }

    #[test]
    fn requests_beyond_the_bound_are_counted() {
        let found = completions(2, &[(10, 1, "a"), (20, 1, "b"), (30, 1, "c"), (40, 1, "d")]);
        assert_eq!((found.bound.refused_count, found.devices.len(), found.device(1, 45)), (2, 2, 1));
    }
}
