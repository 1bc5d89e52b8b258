//! Sleeps between tries for the lock of a file: SQLite and others ask for it, find it taken, sleep, and ask again.

use hashbrown::HashMap;

use super::history::NONE;

/// Who finds a lock taken sleeps at once, and tries again at once after the sleep: as the rule `file_lock_held` has it.
const AT_ONCE_NS: i64 = 1_000_000;
const AGAIN_NS: i64 = 5_000_000;
/// The most calls that are at hand, and the most threads of files: bounds for hostile input, of 32 MB each.
const MOST_CALLS: usize = 1 << 20;
const MOST_USERS: usize = 1 << 20;
/// The most calls that others may make in a sleep of which the holder is looked for.
const MOST_LOOKS: usize = 4096;

/// A sleep of a thread that had the lock in the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Nap {
    /// When the try before it began.
    tried: i64,
    start: i64,
    end: i64,
    pub(super) descriptor: u32,
    /// The thread that had the lock meanwhile; [`NONE`] if nothing tells.
    pub(super) holder: u32,
}

/// Sleeps after tries for the lock of one file, one after the other.
struct Tried {
    file: u32,
    /// The last sleep: who had the lock gave it back then.
    last: (i64, i64),
    naps: Vec<Nap>,
}

/// What a thread does to get the locks of files, in the order of time.
#[derive(Default)]
pub(super) struct Tries {
    /// The last try that found a lock taken: when it began and ended, the file, and the descriptor.
    failed: Option<(i64, i64, u32, u32)>,
    open: Option<Tried>,
    /// The thread has the lock of the file of `open` since.
    has_lock: bool,
    /// Those that ended with the lock; who had it meanwhile was not looked for yet.
    had: Vec<Tried>,
    naps: Vec<Nap>,
}

impl Tries {
    /// Adds a try that found the lock of a file taken.
    fn fail(&mut self, start: i64, end: i64, file: u32, descriptor: u32) {
        if !self.goes_on(start, file) {
            self.close();
        }
        self.has_lock = false;
        self.failed = Some((start, end, file, descriptor));
    }

    /// Adds a call that did what was asked of the lock of a file. Tells whether it ended sleeps.
    fn succeed(&mut self, start: i64, file: u32) -> bool {
        // After a try in vain, what belongs to it is undone.
        let has_lock = self.failed.is_none() && self.goes_on(start, file);
        has_lock && !std::mem::replace(&mut self.has_lock, true)
    }

    fn goes_on(&self, start: i64, file: u32) -> bool {
        self.open.as_ref().is_some_and(|open| open.file == file && start.saturating_sub(open.last.1) <= AGAIN_NS)
    }

    fn close(&mut self) {
        let closed = self.open.take();
        if std::mem::take(&mut self.has_lock) {
            self.had.extend(closed);
        }
    }

    /// Adds a sleep.
    pub(super) fn sleep(&mut self, start: i64, end: i64) {
        let Some((tried, before, file, descriptor)) = self.failed.take() else { return };
        if start.saturating_sub(before) <= AT_ONCE_NS {
            let last = (start, end);
            let open = self.open.get_or_insert_with(|| Tried { file, last, naps: Vec::new() });
            open.last = last;
            open.naps.push(Nap { tried, start, end, descriptor, holder: NONE });
        }
    }

    /// Keeps the sleeps of which it is known that the thread had the lock after them.
    pub(super) fn settle(&mut self, utid: u32, locks: &mut Locks) {
        if self.has_lock {
            self.close();
        }
        for mut tried in self.had.drain(..) {
            locks.find_holders(utid, &mut tried);
            self.naps.append(&mut tried.naps);
        }
    }

    /// Gives the sleep that a thread was in at a time, if it slept until a lock was free.
    pub(super) fn at(&self, time: i64) -> Option<&Nap> {
        self.naps[..self.naps.partition_point(|nap| nap.start <= time)].last().filter(|nap| nap.end > time)
    }

    pub(super) fn forget(&mut self, begin: i64) {
        for naps in self.open.iter_mut().map(|open| &mut open.naps).chain([&mut self.naps]) {
            naps.drain(..naps.partition_point(|nap| nap.end <= begin));
        }
    }
}

/// A call that may have given the lock of a file back: it did what was asked, and fcntl(2) does not tell what that was.
#[derive(Clone, Copy)]
struct Done {
    at: i64,
    utid: u32,
    /// The thread's call before it that took the lock or gave it back; the highest number if there is none.
    before: i64,
}

/// The calls about the locks of files.
#[derive(Default)]
pub(super) struct Locks {
    /// Those that may have given a lock back, by file.
    of: HashMap<u32, Vec<Done>>,
    /// When each thread last took or gave back the lock of a file, and whether it has found it taken since.
    last: HashMap<(u32, u32), (i64, bool)>,
    pub(super) count: usize,
    /// Calls and sleeps beyond the bounds.
    pub(super) refused_count: u64,
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
    /// Whether the call cannot have given it back.
    pub(super) is_take: bool,
}

impl Locks {
    /// Adds a call of a thread, whose calls come in the order of time.
    pub(super) fn add(&mut self, utid: u32, tries: &mut Tries, call: LockCall) {
        let LockCall { start, end, file, descriptor, is_taken, is_take } = call;
        let has_slept = !is_taken && tries.succeed(start, file);
        if is_taken {
            tries.fail(start, end, file, descriptor);
        }
        if self.last.len() >= MOST_USERS && !self.last.contains_key(&(file, utid)) {
            self.refused_count += 1;
            return;
        }
        let (before, has_failed) = self.last.entry((file, utid)).or_insert((i64::MAX, false));
        // Who found it taken, or slept after that, has nothing to give back.
        if std::mem::replace(has_failed, is_taken) | is_take | has_slept | is_taken {
            *before = if is_taken { *before } else { start };
            return;
        }
        let done = Done { at: start, utid, before: std::mem::replace(before, start) };
        if self.count >= MOST_CALLS {
            self.refused_count += 1;
            return;
        }
        self.of.entry(file).or_default().push(done);
        self.count += 1;
    }

    /// Puts in the order of time what has come.
    pub(super) fn sort(&mut self) {
        self.of.values_mut().for_each(|calls| calls.sort_by_key(|done| (done.at, done.utid)));
    }

    /// Finds the threads that had the lock while another slept: the first that called nothing about it between the other's try and the
    /// other's last sleep, and did then: it gave it back, before which nobody took it.
    fn find_holders(&mut self, utid: u32, tried: &mut Tried) {
        let Some(calls) = self.of.get(&tried.file) else { return };
        let upto = |time: i64| calls.partition_point(|done| done.at <= time);
        let (from, to) = (upto(tried.last.0), upto(tried.last.1));
        let looked = &calls[from..to.min(from.saturating_add(MOST_LOOKS)).max(from)];
        let mut gave = looked.iter().filter(|done| done.utid != utid);
        let mut first = gave.next();
        // Who called nothing since an early try did not since a later one, either.
        for (index, nap) in tried.naps.iter_mut().enumerate().rev() {
            while first.is_some_and(|done| done.before > nap.tried) {
                first = gave.next();
            }
            let Some(done) = first else {
                let is_cut = looked.len() < to.saturating_sub(from);
                self.refused_count += if is_cut { index as u64 + 1 } else { 0 };
                return;
            };
            nap.holder = done.utid;
        }
    }

    pub(super) fn forget(&mut self, begin: i64) {
        self.of.retain(|_, calls| {
            calls.drain(..calls.partition_point(|done| done.at <= begin));
            !calls.is_empty()
        });
        self.count = self.of.values().map(Vec::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn call(start: i64, is_taken: bool) -> LockCall {
        LockCall { start, end: start + 10, file: 3, descriptor: 9, is_taken, is_take: false }
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
            tries.settle(1, &mut locks);
            [20, 10 * MS - 1, 10 * MS, 20 * MS].map(|at| tries.at(at).map(|nap| nap.descriptor))
        };
        let both = [Some(9), Some(9), None, Some(9)];
        assert_eq!((tries(100, true), tries(100, false)), (both, [None; 4]));
        // It did something else before it tried again.
        assert_eq!(tries(AGAIN_NS + 1, true), [None, None, None, Some(9)]);
        let (mut locks, mut late) = (Locks::default(), Tries::default());
        locks.add(1, &mut late, call(0, true));
        late.sleep(11 + AT_ONCE_NS, 10 * MS);
        locks.add(1, &mut late, call(10 * MS, false));
        late.settle(1, &mut locks);
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
            locks.sort();
            tries.settle(1, &mut locks);
            [7, 12].map(|at| tries.at(at * MS).map(|nap| nap.holder).filter(|&holder| holder != NONE))
        };
        assert_eq!(holder(&[(2, 1, false), (2, 15, false)]), [Some(2), Some(2)]);
        assert_eq!(holder(&[(2, 8, false), (2, 15, false)]), [None, Some(2)], "it took it after the first try");
        assert_eq!(holder(&[(2, 15, false)]), [None, None], "it had not taken it before");
        assert_eq!(holder(&[(2, 1, false), (2, 9, false)]), [None, None], "it was not the last that had it");
        let takes_it_then = [(2, 1, false), (3, 2, false), (2, 15, false), (3, 16, false)];
        assert_eq!(holder(&takes_it_then), [Some(2), Some(2)]);
        // 3 slept after a try, too, and had given back another part of the file before.
        let (mut locks, mut tries, mut sleeper) = (Locks::default(), Tries::default(), Tries::default());
        locks.add(3, &mut sleeper, call(MS, true));
        locks.add(3, &mut sleeper, call(MS + 20, false));
        sleeper.sleep(MS + 40, 15 * MS);
        locks.add(1, &mut tries, call(5 * MS, true));
        tries.sleep(6 * MS, 20 * MS);
        locks.add(3, &mut sleeper, call(15 * MS, false));
        locks.add(1, &mut tries, call(20 * MS, false));
        locks.sort();
        tries.settle(1, &mut locks);
        assert_eq!(tries.at(7 * MS).map(|nap| nap.holder), Some(NONE));
        let waits_too = [(3, 1, false), (3, 7, true), (3, 16, false), (2, 1, false), (2, 15, false)];
        assert_eq!(holder(&waits_too), [Some(2), Some(2)]);
    }

    #[test]
    fn a_call_that_only_takes_a_lock_does_not_give_it_back() {
        let (mut locks, mut tries) = (Locks::default(), Tries::default());
        let mut others = [Tries::default(), Tries::default()];
        let mut other = |locks: &mut Locks, utid: u32, at: i64, is_take: bool| {
            locks.add(utid, &mut others[utid as usize - 2], LockCall { is_take, ..call(at * MS, false) });
        };
        other(&mut locks, 2, 1, true);
        other(&mut locks, 3, 2, true);
        locks.add(1, &mut tries, call(5 * MS, true));
        tries.sleep(6 * MS, 20 * MS);
        other(&mut locks, 2, 10, true);
        other(&mut locks, 3, 15, false);
        locks.add(1, &mut tries, call(20 * MS, false));
        locks.sort();
        tries.settle(1, &mut locks);
        assert_eq!(tries.at(7 * MS).map(|nap| nap.holder), Some(3));
    }

    #[test]
    fn what_is_beyond_the_bounds_is_counted() {
        // Another calls so often in a sleep that who gave the lock back is found or not; the thread's own call counts, too.
        let holder = |count: usize| {
            let (mut locks, mut tries) = (Locks::default(), Tries::default());
            let mut others = [Tries::default(), Tries::default()];
            locks.add(2, &mut others[0], call(1, false));
            locks.add(1, &mut tries, call(MS, true));
            tries.sleep(MS + 20, 4 * MS);
            (0..count as i64).for_each(|at| locks.add(3, &mut others[1], call(2 * MS + at, false)));
            locks.add(2, &mut others[0], call(3 * MS, false));
            locks.add(1, &mut tries, call(4 * MS, false));
            locks.sort();
            tries.settle(1, &mut locks);
            (tries.at(2 * MS).map(|nap| nap.holder), locks.refused_count)
        };
        assert_eq!([holder(MOST_LOOKS - 1), holder(MOST_LOOKS)], [(Some(2), 0), (Some(NONE), 1)]);

        let (mut locks, mut tries) = (Locks::default(), Tries::default());
        (0..=MOST_CALLS).for_each(|_| locks.add(1, &mut tries, call(5, false)));
        assert_eq!((locks.count, locks.refused_count), (MOST_CALLS, 1));
        locks.forget(5);
        assert_eq!(locks.count, 0);
        (1..MOST_USERS as u32 + 5).for_each(|utid| locks.add(utid, &mut tries, call(6, true)));
        assert_eq!(locks.refused_count, 1 + 4);
    }
}
