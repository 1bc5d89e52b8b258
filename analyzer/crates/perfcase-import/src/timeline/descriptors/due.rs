//! Requests without an answer of which one was due.
//!
//! Most reads at an end that serves, after which nothing is written, want no answer: messages of a stream, statistics, logs, what a
//! standby confirms, the last words before an end. In a recording they look the same as a request that hangs. An answer was due where
//! all of this holds:
//!
//! - *Such requests are answered.* At least 20 of this kind (the first of a connection, or a later one) were, at the same address;
//!   more than had no answer. With 20 of 20, at least 85 of 100 are, with 95 % confidence (the "rule of three", Hanley and
//!   Lippman-Hand, 1983).
//! - *Who reads them answers them.* Each answer there was written by the thread that had read the request. So the wait of this thread
//!   is that of the request, and one that gives requests away (an event loop, a pool behind a queue, a handler that a timer goes on
//!   with) says nothing about them.
//! - *The thread does not wait for more.* It has read nothing else of a client since, and sleeps, for more than half of that time and
//!   until the end, in one call that waits for no client: not in accept, not in a read of a connection that it serves, not in a poll
//!   that may be for one. A futex counts without a limit of time only: who holds answers back until there is news (long polling) sets
//!   one.
//! - *It has taken long.* Ten times as long as half of the answered ones; longer than any of them, and than any that had no answer
//!   when its connection was closed. Else the recording's end cut it, or it was a goodbye (QUIT), which the connection's end answers.
//! - The connection is still open: the end came of the recording, or of the process without its doing.

use hashbrown::HashMap;

use super::Moved;
use super::turns::is_read;
use crate::syscall_names::{awaits_signal, polls, polls_epoll};

/// The least number of requests of the same kind that were answered.
const LEAST_ANSWERED: u64 = 20;
/// How many times as long as the median.
const TIMES_USUAL: i64 = 10;

/// The most epoll descriptors of a thread that are kept: a bound for hostile input. Nothing is said of a thread with more.
const MOST_INPUTS: usize = 64;

/// The operations of futex(2) that wait: `FUTEX_WAIT`, `FUTEX_LOCK_PI`, `FUTEX_WAIT_BITSET`, `FUTEX_LOCK_PI2`.
const FUTEX_WAITS: [u64; 4] = [0, 6, 9, 13];
/// The commands of fcntl(2) that wait for a lock: `F_SETLKW`, its form of 32 bits for long files, `F_OFD_SETLKW`.
const SETLKW: [u64; 3] = [7, 14, 38];

/// A call in which a thread was when the recording ended, or its process.
pub(crate) struct LastCall {
    pub upid: u32,
    pub utid: u32,
    pub fd: Option<i32>,
    pub name: &'static str,
    /// When it began, in ns since the capture's start.
    pub begin: i64,
    pub args: [u64; 6],
}

/// What a call waits for, as far as its name and arguments say.
pub(super) enum Awaits {
    /// A client's words, or nothing that is known.
    Client,
    /// What the descriptor gives.
    Descriptor(i32),
    /// One of the descriptors that an epoll descriptor has.
    Epoll(i32),
    /// One of some descriptors.
    Any,
    /// Something else.
    Other,
}

impl LastCall {
    pub(super) fn awaits(&self) -> Awaits {
        let arg = |index: usize| self.args[index];
        match self.name {
            "accept" | "accept4" | "io_uring_enter" | "exit" | "exit_group" | "rt_sigreturn" | "restart_syscall"
            | "futex_wait" | "futex_waitv" => Awaits::Client,
            name if awaits_signal(name) => Awaits::Client,
            name if is_read(name) => self.fd.map_or(Awaits::Client, Awaits::Descriptor),
            name if polls_epoll(name) => self.fd.map_or(Awaits::Client, Awaits::Epoll),
            // Without a descriptor it is a sleep.
            "poll" | "ppoll" | "ppoll_time64" if arg(1) == 0 => Awaits::Other,
            "select" | "_newselect" | "pselect6" | "pselect6_time64" if arg(0) == 0 => Awaits::Other,
            name if polls(name) => Awaits::Any,
            "futex" | "futex_time64" => {
                if FUTEX_WAITS.contains(&(arg(1) & 127)) && arg(3) == 0 {
                    Awaits::Other
                } else {
                    Awaits::Client
                }
            }
            "semtimedop" | "semtimedop_time64" if arg(3) != 0 => Awaits::Client,
            "fcntl" | "fcntl64" if !SETLKW.contains(&arg(1)) => Awaits::Client,
            _ => Awaits::Other,
        }
    }
}

/// What a thread has taken from clients.
#[derive(Default)]
struct Taker {
    /// When it read from a client, or accepted one, last.
    last_ts: i64,
    /// The epoll descriptor by which it knew of what it does next.
    told_by: Option<i32>,
    /// The epoll descriptors by which it knew of what it read from clients.
    inputs: Vec<i32>,
}

/// The answered requests of one kind at an address.
#[derive(Clone)]
struct Usual {
    answered_count: u64,
    unanswered_count: u64,
    /// Answers that another thread wrote than had read the request.
    given_count: u64,
    longest_ns: i64,
    most_reads: i64,
    /// How many took as many nanoseconds as have this number of binary digits.
    by_digits: [u64; 64],
}

impl Usual {
    const NONE: Usual = Usual {
        answered_count: 0,
        unanswered_count: 0,
        given_count: 0,
        longest_ns: 0,
        most_reads: 0,
        by_digits: [0; 64],
    };

    /// Gives a time that half of the requests did not exceed, up to twice the median.
    fn half_ns(&self) -> i64 {
        let mut count = 0;
        let digits = self.by_digits.iter().position(|&of| {
            count += of;
            2 * count >= self.answered_count
        });
        digits.map_or(i64::MAX, |digits| 1_i64.checked_shl(digits as u32).unwrap_or(i64::MAX))
    }
}

/// A request as far as it matters here. Times are in ns since the capture's start.
pub(super) struct Asked {
    pub(super) utid: u32,
    pub(super) first_ts: i64,
    pub(super) last_ts: i64,
    pub(super) read_count: i64,
}

/// What came of a request, and when, in ns since the capture's start.
pub(super) enum Answer {
    /// A thread wrote the last part of the answer.
    By(u32, i64),
    /// The connection was closed, and nothing was written.
    Closed(i64),
    None,
}

/// What the threads of services have read, and which requests have answers.
#[derive(Default)]
pub(super) struct Due {
    takers: Vec<Taker>,
    /// By a number for the address, and whether a request was the first of its connection.
    usual: HashMap<(u32, bool), Usual>,
}

impl Due {
    fn taker(&mut self, utid: u32) -> &mut Taker {
        let index = utid as usize;
        if index >= self.takers.len() {
            self.takers.resize_with(index + 1, Taker::default);
        }
        &mut self.takers[index]
    }

    /// Notes a call that returned something.
    pub(super) fn returned(&mut self, call: &Moved) {
        if polls_epoll(call.name) {
            self.taker(call.utid).told_by = Some(call.fd);
        } else if matches!(call.name, "accept" | "accept4") {
            let taker = self.taker(call.utid);
            (taker.last_ts, taker.told_by) = (call.end, None);
        } else if let Some(taker) = self.takers.get_mut(call.utid as usize).filter(|_| !is_read(call.name)) {
            taker.told_by = None;
        }
    }

    /// Notes a read, of a client's words or of other ones.
    pub(super) fn read(&mut self, call: &Moved, is_of_client: bool) {
        if !is_of_client {
            if let Some(taker) = self.takers.get_mut(call.utid as usize) {
                taker.told_by = None;
            }
            return;
        }
        let taker = self.taker(call.utid);
        taker.last_ts = call.end;
        let told_by = taker.told_by.take().filter(|_| taker.inputs.len() < MOST_INPUTS);
        if let Some(fd) = told_by.filter(|fd| !taker.inputs.contains(fd)) {
            taker.inputs.push(fd);
        }
    }

    /// Notes a request, and what came of it.
    pub(super) fn note(&mut self, kind: (u32, bool), asked: &Asked, answer: &Answer) {
        let usual = self.usual.entry(kind).or_insert(Usual::NONE);
        let (Answer::By(_, end) | Answer::Closed(end)) = *answer else {
            usual.unanswered_count += 1;
            return;
        };
        let duration_ns = end.saturating_sub(asked.first_ts).max(0);
        usual.longest_ns = usual.longest_ns.max(duration_ns);
        let Answer::By(writer_utid, _) = *answer else {
            usual.unanswered_count += 1;
            return;
        };
        usual.answered_count += 1;
        usual.given_count += u64::from(writer_utid != asked.utid);
        usual.most_reads = usual.most_reads.max(asked.read_count);
        usual.by_digits[(i64::BITS - duration_ns.leading_zeros()) as usize] += 1;
    }

    /// Tells whether an answer was due, if the thread waited until the end in this call for no client. `end`: in ns since the capture's start.
    pub(super) fn is_due(&self, kind: (u32, bool), asked: &Asked, call: &LastCall, end: i64) -> bool {
        let (Some(usual), Some(taker)) = (self.usual.get(&kind), self.takers.get(asked.utid as usize)) else {
            return false;
        };
        let waited_ns = end.saturating_sub(asked.first_ts);
        usual.answered_count >= LEAST_ANSWERED
            && usual.answered_count > usual.unanswered_count
            && usual.given_count == 0
            && asked.read_count <= usual.most_reads
            && taker.last_ts == asked.last_ts
            && call.begin >= asked.last_ts
            && end.saturating_sub(call.begin) > waited_ns / 2
            && waited_ns > usual.longest_ns
            && waited_ns >= usual.half_ns().saturating_mul(TIMES_USUAL)
    }

    /// Tells whether a thread knows of nothing that clients say by this epoll descriptor, but by others.
    pub(super) fn is_other_epoll(&self, utid: u32, fd: i32) -> bool {
        let inputs = self.takers.get(utid as usize).map_or(&[][..], |taker| &taker.inputs);
        !inputs.is_empty() && inputs.len() < MOST_INPUTS && !inputs.contains(&fd)
    }
}
