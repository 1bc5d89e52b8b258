//! Waits in parts: a thread waits with a limit of time, finds nothing, and waits again for the same.

use std::sync::atomic::Ordering;

use super::calls::{CallKind, Thing};
use super::follow::Known;
use super::history::{Call, Context, Doing, NONE, Piece};
use super::tries::Nap;

/// A thread that waits in parts does nothing else between them for so long.
const WAITS_ON_NS: i64 = 1_000_000;
/// The most calls between such a part and the end of the whole wait: each part looks at those behind it.
const MOST_PARTS: usize = 256;

impl Known<'_> {
    /// Tells whether a timer's signal ended a sleep in a call: an alarm of the process.
    pub(super) fn is_alarm(call: &Call, piece: &Piece) -> bool {
        call.is_cut_short && piece.context == Context::Hardirq
    }

    /// Gives the last part of a wait in a poll, and its call, where the wait goes on after a part: a limit of time or an alarm ended this
    /// part and the thread did nothing with others before it polled again, or new work came, which is not what the work before it waits for.
    pub(super) fn last_of_wait(&self, utid: u32, piece: &Piece, call: &Call) -> Option<(Piece, Call)> {
        let is_poll = call.kind == CallKind::Poll && piece.doing == Doing::Sleeping;
        let is_part = call.has_timed_out || Self::is_alarm(call, piece);
        let thread = self.history.thread(utid).filter(|_| is_poll && (is_part || call.is_asked))?;
        let first = thread.calls.partition_point(|other| other.start <= call.start);
        let later = thread.calls.get(first..)?;
        let (mut last, mut since, mut rang) = (call, 0, i64::MIN);
        while let Some(next) = later[since..].iter().take(MOST_PARTS).position(|other| other.kind == CallKind::Poll) {
            let (between, next) = (&later[since..since + next], since + next);
            if last.is_cut_short {
                rang = last.end;
            }
            let start = later[next].start;
            if !self.goes_on(utid, last, between, start, start.saturating_sub(rang) <= WAITS_ON_NS) {
                break;
            }
            if next >= MOST_PARTS {
                self.note_cut();
                break;
            }
            (last, since) = (&later[next], next + 1);
        }
        let slept = thread.pieces_after(last.start).iter().take_while(|piece| piece.start < last.end);
        let slept = slept.filter(|piece| piece.doing == Doing::Sleeping).last();
        slept.filter(|piece| since > 0 && !piece.is_open && piece.end <= last.end).map(|piece| (*piece, *last))
    }

    /// Tells whether a thread goes on with the wait of a poll in its next one, which begins at `start`. `has_rung`: just after an alarm,
    /// the thread may look what it rang for.
    fn goes_on(&self, utid: u32, call: &Call, between: &[Call], start: i64, has_rung: bool) -> bool {
        let is_quiet = |other: &Call| match other.kind {
            CallKind::Read if other.has_timed_out => true,
            CallKind::Read if has_rung && self.thing(other.descriptor) == Thing::Input => true,
            CallKind::Read | CallKind::Send => self.thing(other.descriptor) == Thing::File,
            CallKind::Demand | CallKind::Other => true,
            _ => false,
        };
        if call.has_timed_out || has_rung {
            return start.saturating_sub(call.end) <= WAITS_ON_NS && between.iter().all(is_quiet);
        }
        call.is_asked && self.works.only_began(utid, call.end, start)
    }

    /// Gives the thread that let go of what another waits for in a futex in parts, where a timer ended this part: the first that wakes
    /// who waits for this word, if the other has done nothing but wait since.
    pub(super) fn let_go_by(&self, utid: u32, piece: &Piece, call: &Call) -> Option<u32> {
        let is_timed = call.has_timed_out || piece.context == Context::Hardirq;
        let thread = self.history.thread(utid).filter(|_| is_timed && call.word != NONE)?;
        let wake = self.history.wake_after(thread.upid, call.word, piece.end).filter(|wake| wake.utid != utid)?;
        let next = thread.calls.partition_point(|other| other.start < call.end);
        let until = thread.calls.partition_point(|other| other.start <= wake.start);
        let between = thread.calls.get(next..until).unwrap_or(&[]);
        let mut since = call.end;
        let waits_on = between.iter().take(MOST_PARTS).all(|other| {
            let pause = other.start.saturating_sub(std::mem::replace(&mut since, other.end));
            pause <= WAITS_ON_NS && other.kind == CallKind::Futex
        });
        if waits_on && between.len() > MOST_PARTS {
            self.note_cut();
            return None;
        }
        (waits_on && wake.start.saturating_sub(since) <= WAITS_ON_NS).then_some(wake.utid)
    }

    /// Counts a wait in so many parts that the last ones are not looked at.
    fn note_cut(&self) {
        self.cut_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives the sleep after a try for the lock of a file that a piece is, if its thread had the lock in the end.
    pub(super) fn tries(&self, utid: u32, piece: &Piece, call: &Call) -> Option<&Nap> {
        let thread = self.history.thread(utid).filter(|_| call.kind == CallKind::Sleep)?;
        thread.tries.at(piece.start)
    }
}
