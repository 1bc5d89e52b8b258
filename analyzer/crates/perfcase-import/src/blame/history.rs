//! What threads and CPUs did, as far back as waits are followed.

use hashbrown::{HashMap, HashSet};

use super::calls::{CallKind, CallName, NO_CALL};
use super::naps::Naps;
use super::retries::Retries;
use super::tries::{LockCall, Locks, Tries};
use crate::bound::Bound;

/// A number that is not known.
pub(super) const NONE: u32 = u32::MAX;

/// What a thread does in a piece of its time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Doing {
    Running,
    /// It ran at the end. A switch is missing, so nobody knows since when.
    RanInTheEnd,
    Runnable,
    Sleeping,
    DiskSleep,
    /// Stopped, traced, parked or dead.
    Stopped,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Context {
    Unknown,
    Task,
    Softirq,
    Hardirq,
}

/// A piece of a thread's time. Times are in ns since the capture's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) waker: u32,
    pub(super) name: u32,
    pub(super) stack: u32,
    /// The CPU that it ran on, or in whose queue it waited.
    pub(super) cpu: u32,
    /// The CPU that it got after it had waited.
    pub(super) got_cpu: u32,
    pub(super) doing: Doing,
    pub(super) context: Context,
    pub(super) is_open: bool,
}

/// A system call in which a thread may have slept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) descriptor: u32,
    /// What a futex is about: see [`word_of`].
    pub(super) word: u32,
    pub(super) name: CallName,
    /// Why a thread waits in it.
    pub(super) kind: CallKind,
    pub(super) has_timed_out: bool,
    /// A signal ended it.
    pub(super) is_cut_short: bool,
    /// What was ready may be a new request: a connection to take, or bytes of a client.
    pub(super) is_asked: bool,
    /// It waited for the reply to what the thread had said, unasked, on a connection that it took.
    pub(super) is_reply: bool,
    /// A poll whose time was over before the answer came: the thread said more then, and had its answer after that.
    pub(super) is_in_vain: bool,
}

impl Call {
    pub(super) const NONE: Call = Call {
        start: i64::MIN,
        end: i64::MIN,
        descriptor: NONE,
        word: NONE,
        name: NO_CALL,
        kind: CallKind::Other,
        has_timed_out: false,
        is_cut_short: false,
        is_asked: false,
        is_reply: false,
        is_in_vain: false,
    };
}

/// A call that woke who waited for a word of memory.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Wake {
    pub(super) end: i64,
    pub(super) start: i64,
    pub(super) utid: u32,
}

/// Gives the number of the eight bytes that an address is in: the C library waits for a condition by turns in the two words of such
/// eight bytes. Two of a process have the same number if they are a multiple of 32 GiB apart.
pub(super) fn word_of(address: u64) -> u32 {
    ((address >> 3) as u32).min(NONE - 1)
}

/// What a thread says on connections that it took. A thread that writes twice, waits in between and reads no question meanwhile sends a
/// stream, as PostgreSQL does to a standby. What it reads there later is a reply to that.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    /// The connection that it wrote to last; none if it has read a question from it since.
    last: u32,
    has_waited: bool,
    /// The one on which it speaks.
    spoken: u32,
}

impl Default for Stream {
    fn default() -> Stream {
        Stream { last: NONE, has_waited: false, spoken: NONE }
    }
}

impl Stream {
    pub(super) fn waited(&mut self) {
        self.has_waited = true;
    }

    pub(super) fn wrote(&mut self, descriptor: u32) {
        if descriptor == self.last && self.has_waited {
            self.spoken = descriptor;
        }
        (self.last, self.has_waited) = (descriptor, false);
    }

    /// Gives whether what was read is a reply.
    pub(super) fn read(&mut self, descriptor: u32) -> bool {
        let is_reply = descriptor != NONE && descriptor == self.spoken;
        if descriptor == self.last && !is_reply {
            self.last = NONE;
        }
        is_reply
    }

    pub(super) fn closed(&mut self, descriptor: u32) {
        if descriptor == self.spoken || descriptor == self.last {
            *self = Stream::default();
        }
    }
}

/// The polls of a thread that ended before the answer came to what it had asked.
#[derive(Default)]
pub(super) struct Vain {
    /// The last one, in the thread's calls, until it polls again.
    pub(super) last: Option<usize>,
    /// Those after which it said more.
    pub(super) went_on: Vec<usize>,
}

/// A thread's pieces and calls, in the order of time.
#[derive(Default)]
pub(super) struct Thread {
    pub(super) upid: u32,
    /// A thread of a process that was not recorded: what it did between two switches is not known.
    pub(super) is_stranger: bool,
    /// A thread of the kernel itself: it sleeps until somebody has something for it to do.
    pub(super) is_kernel: bool,
    pub(super) pieces: Vec<Piece>,
    pub(super) calls: Vec<Call>,
    /// When it was created, and by which thread; it was there before the capture if that is the lowest number.
    pub(super) born: i64,
    pub(super) creator: u32,
    /// The thread's time before this is written.
    pub(super) written: i64,
    /// Its last poll, in `calls`, if a descriptor was ready: the thread's next call that has one tells which.
    pub(super) polled: Option<usize>,
    /// The connection that it asked something on, and from which no answer was read yet.
    pub(super) asked: u32,
    /// Its polls, in `calls`, that ended in vain since it asked there, and whether the thread has said more since the last one.
    pub(super) vain: Vain,
    /// The connections that it took.
    pub(super) stream: Stream,
    /// The sleeps between its questions.
    pub(super) retries: Retries,
    /// Its tries for the locks of files.
    pub(super) tries: Tries,
    /// Its sleeps without a call in between.
    pub(super) naps: Naps,
}

impl Thread {
    /// Notes a poll, which is the next of `calls`.
    pub(super) fn note_poll(&mut self, call: &Call, is_ready: bool) {
        let next = Some(self.calls.len());
        match call.kind {
            CallKind::Poll if is_ready => self.polled = next,
            CallKind::Poll if call.has_timed_out && call.descriptor != NONE => self.vain.last = next,
            _ => {}
        }
    }

    /// Gives the first piece that ends after `at`.
    pub(super) fn pieces_after(&self, at: i64) -> &[Piece] {
        &self.pieces[self.pieces.partition_point(|piece| piece.end <= at)..]
    }

    /// Gives the last piece that ended before `at` or then.
    pub(super) fn piece_before(&self, at: i64) -> Option<&Piece> {
        self.pieces[..self.pieces.partition_point(|piece| piece.end <= at)].last()
    }

    /// Gives the call that the thread was in at a time.
    pub(super) fn call_at(&self, at: i64) -> Option<&Call> {
        let later = self.calls.partition_point(|call| call.start <= at);
        // Calls of a thread do not overlap, but one whose exit was lost seems to last.
        self.calls[..later].last().filter(|call| call.end > at)
    }
}

/// The pieces that are at hand: of threads, and of the CPUs that they ran on.
pub(super) struct History {
    pub(super) threads: Vec<Thread>,
    /// Who ran on each CPU, in the order of time.
    cpus: Vec<Vec<(i64, i64, u32)>>,
    /// Who woke those that waited for a word of a process, of words for which a thread waited with a limit of time.
    wakes: HashMap<(u32, u32), Vec<Wake>>,
    limited: HashSet<(u32, u32)>,
    pub(super) bound_of_words: Bound,
    /// Who locked which file.
    pub(super) locks: Locks,
    /// The number of pieces at hand.
    pub(super) count: usize,
    /// Only some processes were recorded: a CPU on which none of them ran may have been busy or not.
    pub(super) has_strangers: bool,
    /// What was before this is no longer at hand.
    pub(super) begin: i64,
}

/// The most CPUs: the table has no others.
const MOST_CPUS: u32 = 1 << 16;
/// The most words of memory whose wakes are known: a bound for hostile input.
const MOST_WORDS: usize = 1 << 20;

impl Default for History {
    fn default() -> History {
        History {
            threads: Vec::new(),
            cpus: Vec::new(),
            wakes: HashMap::new(),
            limited: HashSet::new(),
            bound_of_words: Bound::of(MOST_WORDS),
            locks: Locks::default(),
            count: 0,
            has_strangers: false,
            begin: i64::MIN,
        }
    }
}

impl History {
    pub(super) fn thread(&self, utid: u32) -> Option<&Thread> {
        self.threads.get(utid as usize)
    }

    pub(super) fn thread_mut(&mut self, utid: u32) -> Option<&mut Thread> {
        // Each number is that of a row of `thread`.
        if utid == NONE {
            return None;
        }
        let index = utid as usize;
        if index >= self.threads.len() {
            let new = || Thread {
                upid: NONE,
                born: i64::MIN,
                creator: NONE,
                written: i64::MIN,
                asked: NONE,
                ..Thread::default()
            };
            self.threads.resize_with(index + 1, new);
        }
        self.threads.get_mut(index)
    }

    /// Adds a piece of a thread. Those of a thread come in the order of their ends; where two overlap, the first counts.
    pub(super) fn add(&mut self, utid: u32, mut piece: Piece) {
        if self.thread(utid).is_some_and(|thread| thread.is_stranger) {
            return;
        }
        if matches!(piece.doing, Doing::Running | Doing::RanInTheEnd) && piece.cpu < MOST_CPUS {
            let index = piece.cpu as usize;
            if index >= self.cpus.len() {
                self.cpus.resize_with(index + 1, Vec::new);
            }
            self.cpus[index].push((piece.start, piece.end, utid));
            self.count += 1;
        }
        let Some(thread) = self.thread_mut(utid) else { return };
        // Who creates a thread wakes it.
        if thread.born != i64::MIN
            && thread.creator == NONE
            && thread.born <= piece.start
            && piece.doing == Doing::Runnable
        {
            thread.creator = piece.waker;
        }
        if let Some(last) = thread.pieces.last() {
            piece.start = piece.start.max(last.end);
        }
        if piece.end > piece.start {
            thread.pieces.push(piece);
            self.count += 1;
        }
    }

    pub(super) fn add_call(&mut self, utid: u32, call: Call) {
        if let Some(thread) = self.thread_mut(utid) {
            thread.calls.push(call);
            self.count += 1;
        }
    }

    /// Adds a call about the lock of a file.
    pub(super) fn add_lock(&mut self, utid: u32, call: LockCall) {
        let Some(thread) = self.threads.get_mut(utid as usize) else { return };
        let before = self.locks.count;
        self.locks.add(utid, &mut thread.tries, call);
        self.count += self.locks.count - before;
    }

    /// Notes that a thread waited for a word with a limit of time.
    pub(super) fn limit(&mut self, utid: u32, word: u32) {
        let upid = self.thread(utid).map_or(NONE, |thread| thread.upid);
        let key = (upid, word);
        if upid != NONE && !self.limited.contains(&key) && self.bound_of_words.admits() {
            self.limited.insert(key);
        }
    }

    /// Adds a wake, if a thread has waited for its word with a limit of time.
    pub(super) fn add_wake(&mut self, word: u32, wake: Wake) {
        let upid = self.thread(wake.utid).map_or(NONE, |thread| thread.upid);
        if self.limited.contains(&(upid, word)) {
            self.wakes.entry((upid, word)).or_default().push(wake);
            self.count += 1;
        }
    }

    /// Gives the first wake of a word of a process that ended at a time or later.
    pub(super) fn wake_after(&self, upid: u32, word: u32, at: i64) -> Option<Wake> {
        let wakes = self.wakes.get(&(upid, word))?;
        wakes.get(wakes.partition_point(|wake| wake.end < at)).copied()
    }

    /// Puts in the order of time what has come.
    pub(super) fn sort(&mut self) {
        self.cpus.iter_mut().for_each(|runs| runs.sort_unstable());
        self.wakes.values_mut().for_each(|wakes| wakes.sort_unstable());
        self.locks.sort();
        for (utid, thread) in self.threads.iter_mut().enumerate() {
            thread.calls.sort_by_key(|call| call.start);
            thread.tries.settle(utid as u32, &mut self.locks);
            thread.retries.settle();
        }
        for utid in 0..self.threads.len() {
            let mut naps = std::mem::take(&mut self.threads[utid].naps);
            naps.settle(utid as u32, self);
            self.threads[utid].naps = naps;
        }
    }

    pub(super) fn cpu_count(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// Gives who ran on a CPU between two times, in the order of time.
    pub(super) fn runs(&self, cpu: u32, from: i64) -> &[(i64, i64, u32)] {
        let runs = self.cpus.get(cpu as usize).map_or(&[][..], |runs| runs);
        &runs[runs.partition_point(|&(_, end, _)| end <= from)..]
    }

    /// Forgets what ended before `begin`.
    pub(super) fn forget(&mut self, begin: i64) {
        self.begin = begin;
        let mut count = 0;
        for thread in &mut self.threads {
            let old = thread.pieces.partition_point(|piece| piece.end <= begin);
            thread.pieces.drain(..old);
            thread.calls.retain(|call| call.end > begin);
            thread.polled = None;
            thread.vain = Vain::default();
            thread.tries.forget(begin);
            thread.retries.forget(begin);
            thread.naps.forget(begin);
            count += thread.pieces.len() + thread.calls.len();
        }
        for runs in &mut self.cpus {
            let old = runs.partition_point(|&(_, end, _)| end <= begin);
            runs.drain(..old);
            count += runs.len();
        }
        self.wakes.retain(|_, wakes| {
            let old = wakes.partition_point(|wake| wake.end <= begin);
            wakes.drain(..old);
            count += wakes.len();
            !wakes.is_empty()
        });
        self.locks.forget(begin);
        self.count = count + self.locks.count;
    }
}
