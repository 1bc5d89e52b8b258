//! When a thread has something to do: a request that it answers, a question of its own that is not answered yet, a command that
//! runs.

use crate::bound::Bound;

/// What kind of work a thread has, the one that tells most last.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Work {
    /// Nothing tells whether it has any.
    Thread,
    /// It is the main thread of a command that began in the capture.
    Command,
    /// It has asked, and has no answer yet.
    Call,
    /// It will answer a request that was read.
    Request,
}

impl Work {
    pub(super) fn name(self) -> &'static [u8] {
        match self {
            Work::Thread => b"thread",
            Work::Command => b"command",
            Work::Call => b"call",
            Work::Request => b"request",
        }
    }
}

/// A time in which a thread has work of one kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stretch {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) work: Work,
    /// How many works of this kind are under way.
    pub(super) count: u32,
}

/// The most works that are kept: 512 MB. It is a bound for hostile input.
const MOST: usize = 1 << 24;

/// The works of all threads.
pub(super) struct Works {
    all: Vec<(u32, i64, i64, Work)>,
    /// Those of each thread: stretches that do not overlap, in the order of time.
    of: Vec<Vec<Stretch>>,
    pub(super) bound: Bound,
}

impl Default for Works {
    fn default() -> Works {
        Works { all: Vec::new(), of: Vec::new(), bound: Bound::of(MOST) }
    }
}

impl Works {
    pub(super) fn add(&mut self, utid: u32, start: i64, end: i64, work: Work) {
        if end > start && utid != 0 && self.bound.admits() {
            self.all.push((utid, start, end, work));
        }
    }

    /// Cuts the works of each thread into stretches.
    pub(super) fn settle(&mut self) {
        let mut all = std::mem::take(&mut self.all);
        all.sort_unstable();
        for works in all.chunk_by(|a, b| a.0 == b.0) {
            let index = works[0].0 as usize;
            if index >= self.of.len() {
                self.of.resize_with(index + 1, Vec::new);
            }
            self.of[index] = stretches(works);
        }
    }

    /// Gives the stretches of a thread that end after `from`.
    pub(super) fn after(&self, utid: u32, from: i64) -> &[Stretch] {
        let all = self.of.get(utid as usize).map_or(&[][..], |all| all);
        &all[all.partition_point(|stretch| stretch.end <= from)..]
    }

    /// Tells whether a thread has work at some time between two times.
    pub(super) fn is_busy(&self, utid: u32, from: i64, to: i64) -> bool {
        self.after(utid, from).first().is_some_and(|stretch| stretch.start < to)
    }

    /// Tells whether a thread got more work between two times, and ended none.
    pub(super) fn only_began(&self, utid: u32, from: i64, to: i64) -> bool {
        let mut all = self.after(utid, from).iter().take_while(|stretch| stretch.start <= to);
        let Some(mut before) = all.next().filter(|first| first.start <= from) else { return false };
        let mut began = false;
        for stretch in all {
            let is_more = stretch.start == before.end && stretch.work == before.work && stretch.count > before.count;
            if !is_more {
                return false;
            }
            (began, before) = (true, stretch);
        }
        began && before.end > to
    }

    /// Tells whether a thread ever has work.
    pub(super) fn has_any(&self, utid: u32) -> bool {
        self.of.get(utid as usize).is_some_and(|all| !all.is_empty())
    }
}

/// Cuts works of one thread into stretches in which the same number of the same kind is under way.
fn stretches(works: &[(u32, i64, i64, Work)]) -> Vec<Stretch> {
    let mut edges: Vec<(i64, bool, Work)> = Vec::with_capacity(2 * works.len());
    for &(_, start, end, work) in works {
        edges.push((start, true, work));
        edges.push((end, false, work));
    }
    edges.sort_unstable();
    let mut counts = [0_u32; 4];
    let mut found: Vec<Stretch> = Vec::new();
    let mut since = i64::MIN;
    for (at, is_begin, of) in edges {
        let kind = [Work::Request, Work::Call, Work::Command].into_iter().find(|&work| counts[work as usize] > 0);
        if let Some(work) = kind
            && at > since
        {
            let count = counts[work as usize];
            match found.last_mut() {
                Some(last) if (last.end, last.work, last.count) == (since, work, count) => last.end = at,
                _ => found.push(Stretch { start: since, end: at, work, count }),
            }
        }
        since = at;
        let count = &mut counts[of as usize];
        *count = if is_begin { *count + 1 } else { count.saturating_sub(1) };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_beyond_the_bound_are_counted() {
        let mut works = Works { bound: Bound::of(1), ..Works::default() };
        (0..3).for_each(|start| works.add(3, start, start + 1, Work::Call));
        works.settle();
        assert_eq!((works.bound.refused_count, works.after(3, i64::MIN).len()), (2, 1));
    }

    #[test]
    fn works_of_a_thread_do_not_overlap() {
        let mut works = Works::default();
        works.add(3, 0, 100, Work::Command);
        works.add(3, 10, 30, Work::Request);
        works.add(3, 20, 40, Work::Request);
        works.add(3, 35, 50, Work::Call);
        works.add(3, 60, 60, Work::Call);
        works.add(0, 0, 9, Work::Call);
        works.settle();
        let of = |start, end, work, count| Stretch { start, end, work, count };
        let expected = [
            of(0, 10, Work::Command, 1),
            of(10, 20, Work::Request, 1),
            of(20, 30, Work::Request, 2),
            of(30, 40, Work::Request, 1),
            of(40, 50, Work::Call, 1),
            of(50, 100, Work::Command, 1),
        ];
        assert_eq!(works.after(3, i64::MIN), expected);
        assert_eq!(works.after(3, 40), &expected[4..]);
        assert!(works.is_busy(3, 99, 200) && !works.is_busy(3, 100, 200) && !works.is_busy(4, 0, 200));
        assert!(works.has_any(3) && !works.has_any(0));
        assert!(works.only_began(3, 15, 25) && works.only_began(3, 15, 20) && !works.only_began(3, 15, 30));
        assert!(!works.only_began(3, 5, 15), "of another kind");
        assert!(!works.only_began(3, 21, 25) && !works.only_began(3, 25, 31) && !works.only_began(4, 15, 25));
    }
}
