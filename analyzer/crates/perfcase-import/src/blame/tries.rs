//! Sleeps between tries for the lock of a file: SQLite and others ask for it, find it taken, sleep, and ask again.

use hashbrown::HashMap;

/// Who finds a lock taken sleeps at once, and tries again at once after the sleep: as the rule `file_lock_held` has it.
const AT_ONCE_NS: i64 = 1_000_000;
const AGAIN_NS: i64 = 5_000_000;
/// The most calls that are kept, and the most threads of a file: bounds for hostile input.
const MOST_CALLS: usize = 1 << 22;
const MOST_THREADS: usize = 256;

/// A sleep of a thread that had the lock in the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Nap {
    /// When the try before it began.
    tried: i64,
    start: i64,
    end: i64,
    file: u32,
    pub(super) descriptor: u32,
    /// When the first of these tries began.
    first: i64,
    /// The last sleep before the thread had the lock: who had it gave it back then.
    last: (i64, i64),
}

/// What a thread does to get the locks of files, in the order of time.
#[derive(Default)]
pub(super) struct Tries {
    /// The last try that found a lock taken: when it began and ended, the file, and the descriptor.
    tried: Option<(i64, i64, u32, u32)>,
    /// Sleeps after tries for one file, one after the other; the thread has the lock of the file since.
    open: Vec<Nap>,
    has_lock: bool,
    naps: Vec<Nap>,
}

impl Tries {
    /// Adds a try that found the lock of a file taken.
    fn fail(&mut self, start: i64, end: i64, file: u32, descriptor: u32) {
        if !self.goes_on(start, file) {
            self.settle();
            self.open.clear();
        }
        self.has_lock = false;
        self.tried = Some((start, end, file, descriptor));
    }

    /// Adds a call that did what was asked of the lock of a file.
    fn succeed(&mut self, start: i64, file: u32) {
        // After a try in vain, what belongs to it is undone.
        self.has_lock |= self.tried.is_none() && self.goes_on(start, file);
    }

    fn goes_on(&self, start: i64, file: u32) -> bool {
        self.open.last().is_some_and(|nap| nap.file == file && start.saturating_sub(nap.end) <= AGAIN_NS)
    }

    /// Adds a sleep.
    pub(super) fn sleep(&mut self, start: i64, end: i64) {
        let Some((tried, before, file, descriptor)) = self.tried.take() else { return };
        if start.saturating_sub(before) <= AT_ONCE_NS && self.open.len() < MOST_CALLS {
            self.open.push(Nap { tried, start, end, file, descriptor, first: tried, last: (start, end) });
        }
    }

    /// Keeps the sleeps of which it is known that the thread had the lock after them.
    pub(super) fn settle(&mut self) {
        if std::mem::take(&mut self.has_lock) {
            let first = self.open.first().map_or(0, |nap| nap.first);
            let last = self.open.last().map_or((0, 0), |nap| nap.last);
            self.naps.extend(self.open.drain(..).map(|nap| Nap { first, last, ..nap }));
        }
    }

    /// Gives the sleep that a thread was in at a time, if it slept until a lock was free.
    pub(super) fn at(&self, time: i64) -> Option<&Nap> {
        self.naps[..self.naps.partition_point(|nap| nap.start <= time)].last().filter(|nap| nap.end > time)
    }

    pub(super) fn forget(&mut self, begin: i64) {
        let old = self.naps.partition_point(|nap| nap.end <= begin);
        self.naps.drain(..old);
    }
}

/// When a thread's calls about the lock of a file did what was asked, and when they found it taken.
#[derive(Default)]
struct Calls {
    done: Vec<i64>,
    failed: Vec<i64>,
}

/// The calls about the locks of files, in the order of time.
#[derive(Default)]
pub(super) struct Locks {
    of: HashMap<u32, Vec<(u32, Calls)>>,
    count: usize,
}

/// A call about the lock of a file.
#[derive(Clone, Copy)]
pub(super) struct LockCall {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The file: the same number for all descriptors of it.
    pub(super) file: u32,
    pub(super) descriptor: u32,
    /// Whether the lock was taken by another.
    pub(super) is_taken: bool,
}

impl Locks {
    /// Adds a call of a thread.
    pub(super) fn add(&mut self, utid: u32, tries: &mut Tries, call: LockCall) {
        let LockCall { start, end, file, descriptor, is_taken } = call;
        if is_taken {
            tries.fail(start, end, file, descriptor);
        } else {
            tries.succeed(start, file);
        }
        if self.count >= MOST_CALLS {
            return;
        }
        let threads = self.of.entry(file).or_default();
        let index = threads.iter().position(|(of, _)| *of == utid);
        if index.is_none() && threads.len() >= MOST_THREADS {
            return;
        }
        let index = index.unwrap_or_else(|| {
            threads.push((utid, Calls::default()));
            threads.len() - 1
        });
        let of = &mut threads[index].1;
        if is_taken {
            of.failed.push(start)
        } else {
            of.done.push(start)
        }
        self.count += 1;
    }

    /// Gives the thread that had the lock while another slept: the last that called nothing about it between the other's try and the
    /// other's last sleep, and did then: it gave it back. One that tried in vain since the other began to try got it later.
    pub(super) fn holder(&self, utid: u32, nap: &Nap) -> Option<u32> {
        let threads = self.of.get(&nap.file)?.iter().filter(|(of, _)| *of != utid);
        let gave = threads.filter_map(|(of, Calls { done, failed })| {
            let next = done.partition_point(|&at| at <= nap.tried);
            let gave = *done.get(next).filter(|_| next > 0)?;
            let last = failed[..failed.partition_point(|&at| at <= nap.last.1)].last();
            let is_its = gave > nap.last.0 && gave <= nap.last.1 && last.is_none_or(|&at| at < nap.first);
            is_its.then_some((gave, *of))
        });
        gave.max().map(|(_, of)| of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn call(start: i64, is_taken: bool) -> LockCall {
        LockCall { start, end: start + 10, file: 3, descriptor: 9, is_taken }
    }

    #[test]
    fn a_sleep_counts_if_the_lock_was_had_after_it() {
        // Two tries with a sleep after each. The second one had a lock of another part of the file first.
        let tries = |again: i64, is_had: bool| {
            let (mut locks, mut tries) = (Locks::default(), Tries::default());
            locks.add(1, &mut tries, call(0, true));
            tries.sleep(20, 10 * MS);
            locks.add(1, &mut tries, call(10 * MS + again, false));
            locks.add(1, &mut tries, call(10 * MS + again + 20, true));
            tries.sleep(10 * MS + again + 40, 30 * MS);
            if is_had {
                locks.add(1, &mut tries, call(31 * MS, false));
            }
            tries.settle();
            [20, 10 * MS - 1, 10 * MS, 20 * MS].map(|at| tries.at(at).map(|nap| (nap.descriptor, nap.last.1 / MS)))
        };
        let both = [Some((9, 30)), Some((9, 30)), None, Some((9, 30))];
        assert_eq!((tries(100, true), tries(100, false)), (both, [None; 4]));
        // It did something else before it tried again.
        assert_eq!(tries(AGAIN_NS + 1, true), [None, None, None, Some((9, 30))]);
        let (mut locks, mut late) = (Locks::default(), Tries::default());
        locks.add(1, &mut late, call(0, true));
        late.sleep(11 + AT_ONCE_NS, 10 * MS);
        locks.add(1, &mut late, call(10 * MS, false));
        late.settle();
        assert_eq!(late.at(5 * MS), None, "it slept later, for something else");
    }

    #[test]
    fn who_gives_a_lock_back_in_the_last_sleep_had_it() {
        let holder = |others: &[(u32, i64, bool)]| {
            let (mut locks, mut tries, mut other) = (Locks::default(), Tries::default(), Tries::default());
            locks.add(1, &mut tries, call(5 * MS, true));
            tries.sleep(6 * MS, 10 * MS);
            locks.add(1, &mut tries, call(10 * MS, true));
            tries.sleep(11 * MS, 20 * MS);
            others.iter().for_each(|&(utid, at, is_taken)| locks.add(utid, &mut other, call(at * MS, is_taken)));
            locks.add(1, &mut tries, call(20 * MS, false));
            tries.settle();
            [7, 12].map(|at| tries.at(at * MS).and_then(|nap| locks.holder(1, nap)))
        };
        assert_eq!(holder(&[(2, 1, false), (2, 15, false)]), [Some(2), Some(2)]);
        assert_eq!(holder(&[(2, 8, false), (2, 15, false)]), [None, Some(2)], "it took it after the first try");
        assert_eq!(holder(&[(2, 15, false)]), [None, None], "it had not taken it before");
        assert_eq!(holder(&[(2, 1, false), (2, 9, false)]), [None, None], "it was not the last that had it");
        let waits_too = [(3, 1, false), (3, 7, true), (3, 16, false), (2, 1, false), (2, 15, false)];
        assert_eq!(holder(&waits_too), [Some(2), Some(2)]);
    }
}
