//! Who or what a thread waited for: a wait is replaced by what its waker did meanwhile, again and again.

use std::sync::atomic::AtomicU64;

use super::calls::{CallKind, CallName, NO_CALL, Thing};
use super::disks::Completions;
use super::history::{Call, Context, Doing, History, NONE, Piece};
use super::measured::Measured;
use super::samples::Samples;
use super::work::Works;

/// What the time is due to in the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Cause {
    /// A thread ran.
    Running,
    /// A thread waited for a CPU, on which another ran.
    CpuTaken,
    /// A thread could run, and its CPU did not run any other thread.
    CpuIdle,
    /// The CPU quota of the thread's control group was used up.
    Quota,
    /// A disk, or another device for blocks.
    Disk,
    /// Data from another end came, or had to come.
    Network,
    /// A thread slept as long as it wished.
    Sleep,
    /// What a thread waited for did not come in the time that it gave it.
    Timeout,
    /// What a thread waited for did not come before a timer sent it a signal.
    Alarm,
    /// A thread had no work: it waited for a request, a connection, a key.
    NoWork,
    /// A device or a timer that the recording does not name.
    Interrupt,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// It did not end in the recording.
    Open,
    /// A bound was reached.
    NotFollowed,
    /// No event tells.
    NotRecorded,
}

impl Cause {
    pub(super) fn name(self) -> &'static [u8] {
        match self {
            Cause::Running => b"running",
            Cause::CpuTaken => b"cpu_taken",
            Cause::CpuIdle => b"cpu_idle",
            Cause::Quota => b"quota",
            Cause::Disk => b"disk",
            Cause::Network => b"network",
            Cause::Sleep => b"sleep",
            Cause::Timeout => b"timeout",
            Cause::Alarm => b"alarm",
            Cause::NoWork => b"no_work",
            Cause::Interrupt => b"interrupt",
            Cause::Stopped => b"stopped",
            Cause::Open => b"open",
            Cause::NotFollowed => b"not_followed",
            Cause::NotRecorded => b"not_recorded",
        }
    }

    /// Tells whether the cause hinders a thread of which nobody knows whether it had work.
    pub(super) fn hinders(self) -> bool {
        matches!(self, Cause::Running | Cause::CpuTaken | Cause::CpuIdle | Cause::Quota | Cause::Disk)
    }
}

/// A part of a thread's time, and what it is due to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Due {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) cause: Cause,
    /// The thread that the time is due to: who ran, who had the CPU, who slept.
    pub(super) utid: u32,
    pub(super) name: u32,
    /// The call that this thread was in, and the descriptor of this call.
    pub(super) call: CallName,
    pub(super) descriptor: u32,
    pub(super) stack: u32,
    pub(super) cpu: u32,
    /// The block device.
    pub(super) device: u32,
    /// How many wakers away this thread is.
    pub(super) depth: u32,
}

/// The most wakers in a row.
const DEEPEST: u32 = 20;
/// The most pieces that one wait is followed over.
pub(super) const MOST_PIECES: usize = 4096;

/// All that is needed to follow waits.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) history: &'a History,
    pub(super) works: &'a Works,
    /// What each descriptor is.
    pub(super) things: &'a [Thing],
    pub(super) completions: &'a Completions,
    pub(super) samples: &'a Samples,
    pub(super) measured: &'a Measured,
    /// Waits in parts that go on after the last part that was looked at.
    pub(super) cut_count: &'a AtomicU64,
}

/// The wait that is followed.
pub(super) struct Path {
    pub(super) dues: Vec<Due>,
    /// Pieces that may still be looked at.
    pub(super) budget: usize,
}

impl Path {
    fn push(&mut self, due: Due) {
        if due.end <= due.start {
            return;
        }
        if let Some(last) = self.dues.last_mut()
            && last.end == due.start
            && (Due { start: due.start, end: due.end, ..*last }) == due
        {
            last.end = due.end;
            return;
        }
        self.dues.push(due);
    }
}

impl Known<'_> {
    /// Adds what the time of a thread between two times is due to. `limit` is when the wait ended that is followed.
    pub(super) fn follow(&self, path: &mut Path, utid: u32, (from, to): (i64, i64), limit: i64, depth: u32) {
        let pieces = self.history.thread(utid).map_or(&[][..], |thread| thread.pieces_after(from));
        let mut at = from;
        for piece in pieces {
            if piece.start >= to || at >= to {
                break;
            }
            if path.budget == 0 {
                return self.nothing(path, utid, (at, to), Cause::NotFollowed, depth);
            }
            path.budget -= 1;
            if piece.start > at {
                self.gap(path, utid, (at, piece.start), depth);
                at = piece.start;
            }
            let until = piece.end.min(to);
            self.piece(path, utid, piece, (at, until), limit, depth);
            at = until;
        }
        if at < to {
            self.gap(path, utid, (at, to), depth);
        }
    }

    /// A time of which no piece is at hand.
    fn gap(&self, path: &mut Path, utid: u32, (from, to): (i64, i64), depth: u32) {
        let known = self.history.begin.clamp(from, to);
        self.nothing(path, utid, (from, known), Cause::NotFollowed, depth);
        let born = self.history.thread(utid).map_or(i64::MIN, |thread| thread.born).clamp(known, to);
        // Who waits for a thread that is not there yet waits for the one that creates it.
        match self.history.thread(utid).map_or(NONE, |thread| thread.creator) {
            NONE | 0 => self.nothing(path, utid, (known, born), Cause::NotRecorded, depth),
            creator if creator == utid || depth >= DEEPEST => {
                self.nothing(path, creator, (known, born), Cause::NotFollowed, depth + 1);
            }
            creator if born > known => self.follow(path, creator, (known, born), born, depth + 1),
            _ => {}
        }
        self.nothing(path, utid, (born, to), Cause::NotRecorded, depth);
    }

    fn nothing(&self, path: &mut Path, utid: u32, (start, end): (i64, i64), cause: Cause, depth: u32) {
        let (call, descriptor) = (NO_CALL, NONE);
        path.push(Due {
            start,
            end,
            cause,
            utid,
            name: NONE,
            call,
            descriptor,
            stack: NONE,
            cpu: NONE,
            device: NONE,
            depth,
        });
    }

    /// Adds what a part of a piece of a thread's time is due to. `limit` is when the wait ended that is followed.
    pub(super) fn piece(
        &self,
        path: &mut Path,
        utid: u32,
        piece: &Piece,
        (from, to): (i64, i64),
        limit: i64,
        depth: u32,
    ) {
        let call = self.call_of(utid, piece, from);
        let Call { name: call_name, descriptor, .. } = call;
        let Piece { name, stack, cpu, .. } = *piece;
        let due = Due {
            start: from,
            end: to,
            cause: Cause::Running,
            utid,
            name,
            call: call_name,
            descriptor,
            stack,
            cpu,
            device: NONE,
            depth,
        };
        match piece.doing {
            // Where a run ended says nothing about the time before.
            Doing::Running => self.ran(path, &due),
            Doing::RanInTheEnd => self.unsure(path, &due, piece),
            Doing::Runnable => self.queue(path, &due, piece.got_cpu),
            Doing::Stopped => path.push(Due { cause: Cause::Stopped, ..due }),
            Doing::Sleeping | Doing::DiskSleep => match self.ended_by(utid, piece, &call, limit, depth) {
                End::By(waker, _) if depth >= DEEPEST => {
                    self.nothing(path, waker, (from, to), Cause::NotFollowed, depth + 1);
                }
                End::By(waker, end) => self.follow(path, waker, (from, to), end.unwrap_or(to), depth + 1),
                End::For(cause, descriptor) => {
                    let device = if cause == Cause::Disk { self.completions.device(utid, piece.end) } else { NONE };
                    path.push(Due { cause, device, descriptor, ..due });
                }
            },
        }
    }

    /// Gives the call that a thread was in during a piece; [`Call::NONE`] where it was in none, or none was recorded.
    pub(super) fn call_of(&self, utid: u32, piece: &Piece, at: i64) -> Call {
        let call = self.history.thread(utid).and_then(|thread| thread.call_at(at));
        call.copied().filter(|call| call.end >= piece.end).unwrap_or(Call::NONE)
    }

    /// A time in which a thread slept first, maybe, and then ran: it slept no longer than the call that it was in at first.
    /// One that waited for a CPU before got it when a thread of a process that was not recorded left it, at a time that nobody knows.
    fn unsure(&self, path: &mut Path, due: &Due, piece: &Piece) {
        let thread = self.history.thread(due.utid);
        let before = thread.and_then(|thread| thread.piece_before(piece.start));
        if before.is_some_and(|before| before.doing == Doing::Runnable && before.end == piece.start) {
            let until = self.measured.waits_until(due.utid, piece.start, piece.end).clamp(due.start, due.end);
            path.push(Due { end: until, cause: self.held_back(due.utid, piece.end), ..*due });
            return self.ran(path, &Due { start: until, ..*due });
        }
        let call = thread.and_then(|thread| thread.call_at(due.start)).copied().unwrap_or(Call::NONE);
        let has_calls = thread.is_some_and(|thread| !thread.calls.is_empty());
        let until = if has_calls { call.end.clamp(due.start, due.end) } else { due.end };
        let cause = match call.kind {
            CallKind::Sleep => Cause::Sleep,
            _ => Cause::NotRecorded,
        };
        let Call { name, descriptor, .. } = call;
        path.push(Due { end: until, cause, call: name, descriptor, ..*due });
        self.ran(path, &Due { start: until, ..*due });
    }

    /// A time in which a thread ran.
    fn ran(&self, path: &mut Path, due: &Due) {
        path.push(Due { stack: self.samples.between(due.utid, due.start, due.end), ..*due });
    }

    /// Gives why a thread that could run did not get a CPU on which no thread is known to have run.
    fn held_back(&self, utid: u32, at: i64) -> Cause {
        match () {
            () if self.measured.is_held(utid, at) => Cause::Quota,
            () if self.history.has_strangers => Cause::NotRecorded,
            () => Cause::CpuIdle,
        }
    }

    /// A wait for a CPU: who had the one in whose queue it began, else the one that it got in the end. What no thread had of
    /// both was idle.
    fn queue(&self, path: &mut Path, waits: &Due, got_cpu: u32) {
        if waits.cpu == NONE {
            return path.push(Due { cause: Cause::NotRecorded, ..*waits });
        }
        let mut at = waits.start;
        let free = |path: &mut Path, start: i64, end: i64| {
            let part = Due { start, end, cause: self.held_back(waits.utid, end), cpu: got_cpu, ..*waits };
            match got_cpu {
                NONE => path.push(Due { cpu: waits.cpu, ..part }),
                cpu if cpu == waits.cpu => path.push(part),
                _ => self.queue(path, &part, got_cpu),
            }
        };
        for &(start, end, utid) in self.history.runs(waits.cpu, waits.start) {
            if start >= waits.end || path.budget == 0 {
                break;
            }
            path.budget -= 1;
            let (from, to) = (start.max(at), end.min(waits.end));
            if from > at {
                free(path, at, from);
            }
            if to > from {
                let (name, call, descriptor, stack) = (self.name_at(utid, from), NO_CALL, NONE, NONE);
                let taken = Due { cause: Cause::CpuTaken, utid, name, call, descriptor, stack, ..*waits };
                path.push(Due { start: from, end: to, ..taken });
            }
            at = at.max(to);
        }
        if at >= waits.end {
            return;
        }
        if path.budget == 0 || at < self.history.begin {
            path.push(Due { start: at, cause: Cause::NotFollowed, ..*waits });
        } else {
            free(path, at, waits.end);
        }
    }

    fn name_at(&self, utid: u32, at: i64) -> u32 {
        let piece = self.history.thread(utid).and_then(|thread| thread.pieces_after(at).first());
        piece.map_or(NONE, |piece| piece.name)
    }

    /// Gives what ended a sleep.
    fn ended_by(&self, utid: u32, piece: &Piece, call: &Call, limit: i64, depth: u32) -> End {
        let (kind, thing) = (call.kind, self.thing(call.descriptor));
        if piece.is_open {
            return End::For(Cause::Open, call.descriptor);
        }
        // Who waits for a reply has asked for it, for the sake of the one that waits for this thread.
        if depth > 0 && !call.is_reply && self.has_no_work(utid, piece, kind, thing) {
            return End::For(Cause::NoWork, call.descriptor);
        }
        let is_in_time = |end: i64| depth == 0 || end <= limit;
        if let Some((piece, call)) = self.last_of_wait(utid, piece, call).filter(|(piece, _)| is_in_time(piece.end)) {
            return self.ended(utid, &piece, &call, true, Some(piece.end));
        }
        self.ended(utid, piece, call, is_in_time(piece.end), None)
    }

    /// Gives what ended a sleep. `is_in_time`: before what is followed had ended; `end`: when the whole wait ended, of one in parts.
    fn ended(&self, utid: u32, piece: &Piece, call: &Call, is_in_time: bool, end: Option<i64>) -> End {
        let (kind, thing, waker) = (call.kind, self.thing(call.descriptor), piece.waker);
        let is_thread = waker != NONE && waker != 0 && waker != utid;
        // A waker that slept itself at that moment was interrupted in its sleep: its CPU did it.
        if is_thread && is_in_time && self.did_itself(waker, piece, thing) {
            return End::By(waker, end);
        }
        if is_in_time && let Some(holder) = self.let_go_by(utid, piece, call) {
            return End::By(holder, end);
        }
        if kind == CallKind::Sleep
            && let Some(ender) = self.history.thread(utid).and_then(|thread| thread.naps.at(piece.start))
        {
            return End::By(ender, end);
        }
        let tries = self.tries(utid, piece, call);
        if let Some(nap) = tries.filter(|nap| nap.holder != NONE) {
            return End::By(nap.holder, end);
        }
        let cause = match kind {
            _ if piece.doing == Doing::DiskSleep => Cause::Disk,
            CallKind::Sleep => Cause::Sleep,
            _ if call.has_timed_out => Cause::Timeout,
            _ if Self::is_alarm(call, piece) => Cause::Alarm,
            CallKind::Accept => Cause::NoWork,
            CallKind::Read | CallKind::Poll | CallKind::Send if thing == Thing::Socket => Cause::Network,
            _ if waker == NONE && piece.context == Context::Unknown => Cause::NotRecorded,
            _ => Cause::Interrupt,
        };
        let thread = self.history.thread(utid).filter(|_| cause == Cause::Sleep);
        let about = || thread.and_then(|thread| thread.retries.at(piece.start)).unwrap_or(call.descriptor);
        End::For(cause, tries.map_or_else(about, |nap| nap.descriptor))
    }

    pub(super) fn thing(&self, descriptor: u32) -> Thing {
        self.things.get(descriptor as usize).copied().unwrap_or(Thing::Unknown)
    }

    /// Tells whether a thread slept because nobody had given it work.
    pub(super) fn has_no_work(&self, utid: u32, piece: &Piece, kind: CallKind, thing: Thing) -> bool {
        let waits_for_work = match kind {
            CallKind::Accept | CallKind::Signal | CallKind::Poll => true,
            CallKind::Read => matches!(thing, Thing::Socket | Thing::Input | Thing::Tunnel),
            _ => false,
        };
        if !waits_for_work || self.works.is_busy(utid, piece.start, piece.end) {
            return false;
        }
        // A thread of the same process that hands something over is part of the work.
        let upid = |utid| self.history.thread(utid).map_or(NONE, |thread| thread.upid);
        !(kind == CallKind::Poll && upid(utid) != NONE && upid(utid) == upid(piece.waker))
    }

    /// Tells whether a waker woke a thread by its own doing: an interrupt hits any thread that is on the CPU.
    fn did_itself(&self, waker: u32, piece: &Piece, thing: Thing) -> bool {
        let can_be_socket = |thing: Thing| matches!(thing, Thing::Socket | Thing::Unknown);
        let call = self.history.thread(waker).and_then(|thread| thread.call_at(piece.end.saturating_sub(1)));
        let sent_to = call.filter(|call| call.kind == CallKind::Send).map(|call| self.thing(call.descriptor));
        match piece.context {
            // What a program writes to a tunnel is a packet that came from elsewhere: its carrier is a part of the network.
            Context::Task | Context::Unknown => !(can_be_socket(thing) && sent_to == Some(Thing::Tunnel)),
            Context::Hardirq => false,
            // A packet over loopback is delivered while its sender sends it.
            Context::Softirq => {
                piece.doing == Doing::Sleeping && can_be_socket(thing) && sent_to.is_some_and(can_be_socket)
            }
        }
    }
}

/// What ended a sleep: a thread that is followed, or a cause.
enum End {
    /// With when the whole wait ended, of one in parts.
    By(u32, Option<i64>),
    /// With the descriptor that it was about.
    For(Cause, u32),
}
