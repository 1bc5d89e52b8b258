//! The writing of a window: threads are worked on side by side, and their rows are put together in a fixed order.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::PoisonError;

use super::calls::{CallKind, Thing};
use super::follow::{Cause, Known, MOST_PIECES, Path};
use super::history::{Doing, NONE, Piece};
use super::output::Found;
use super::work::{Stretch, Work};

/// How much is worked on before rows are put together.
#[derive(Clone, Copy)]
pub(super) struct Round {
    /// The most threads of the capture in a round.
    pub(super) threads: usize,
    /// The pieces after which a round has enough threads.
    pub(super) pieces: usize,
    /// The rows after which a thread of the capture waits for the next round. It may find a few more.
    pub(super) rows: usize,
}

/// 16 MB of rows, and at most ten times as much: a piece may have many.
pub(super) const ROUND: Round = Round { threads: 32, pieces: 131_072, rows: 32_768 };
/// Fewer pieces are not worth a second thread of this process.
const ALONE_PIECES: usize = 2048;

/// Gives `add` what the threads did up to a time. Gives until when each thread is written, and takes the pieces that were looked at from
/// `looks_left`.
///
/// The rows come in the same order each time: what is in a round does not depend on which thread of this process is faster.
pub(super) fn write(
    known: Known,
    until: i64,
    looks_left: &mut u64,
    size: Round,
    mut add: impl FnMut(Found),
) -> Vec<i64> {
    let threads = &known.history.threads;
    let mut written: Vec<i64> = threads.iter().map(|thread| thread.written).collect();
    let mut left: VecDeque<(u32, usize)> = VecDeque::new();
    for (utid, thread) in (0..).zip(threads) {
        let count = thread.pieces_after(thread.written).partition_point(|piece| piece.end <= until);
        if count > 0 && utid != 0 {
            left.push_back((utid, count));
        }
    }
    while !left.is_empty() {
        let (mut round, mut pieces) = (Vec::new(), 0);
        while round.len() < size.threads
            && pieces < size.pieces
            && let Some((utid, count)) = left.pop_front()
        {
            round.push((utid, written[utid as usize], count));
            // A turn ends after so many rows, and most pieces have one.
            pieces += count.min(size.rows);
        }
        // Each may look at all that is left: a round may look at a little more than there is, and the next one then at nothing.
        let turns = side_by_side(&round, pieces >= ALONE_PIECES, |&(utid, from, _)| {
            let mut turn = Turn { known, looks_left: *looks_left, rows: size.rows, found: Found::default() };
            let at = turn.thread(utid, from, until);
            (at, *looks_left - turn.looks_left, turn.found)
        });
        let mut unfinished = Vec::new();
        for ((utid, from, count), (at, looks, found)) in round.into_iter().zip(turns) {
            let done = threads[utid as usize].pieces_after(from).partition_point(|piece| piece.end <= at);
            if done < count {
                unfinished.push((utid, count - done));
            }
            written[utid as usize] = at;
            *looks_left = looks_left.saturating_sub(looks);
            add(found);
        }
        unfinished.into_iter().rev().for_each(|thread| left.push_front(thread));
    }
    written
}

/// Gives `work` of each item, in their order. Two threads work: each takes the next item.
fn side_by_side<T: Sync, R: Send>(items: &[T], is_worth_it: bool, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if items.len() < 2 || !is_worth_it {
        return items.iter().map(work).collect();
    }
    let next = Mutex::new(items.iter().enumerate());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || std::iter::from_fn(take).map(|(at, item)| (at, work(item))).collect::<Vec<_>>();
    let mut all = std::thread::scope(|scope| {
        let other = scope.spawn(run);
        let mut own = run();
        match other.join() {
            Ok(others) => own.extend(others),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        own
    });
    all.sort_unstable_by_key(|&(at, _)| at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The turn of one thread of the capture in a round.
struct Turn<'a> {
    known: Known<'a>,
    looks_left: u64,
    /// The rows after which it is over.
    rows: usize,
    found: Found,
}

impl Turn<'_> {
    /// Writes a thread's time from `from` up to `until`, or as much as a turn may. Gives until when it is written.
    fn thread(&mut self, utid: u32, from: i64, until: i64) -> i64 {
        let known = self.known;
        let Some(thread) = known.history.thread(utid) else { return until };
        let has_work = known.works.has_any(utid);
        let mut at = from;
        for piece in thread.pieces_after(from) {
            if piece.end > until || self.is_over() {
                break;
            }
            if has_work {
                at = self.worked(utid, piece, piece.start.max(from));
                if at < piece.end {
                    break;
                }
                continue;
            }
            at = piece.end;
            if !thread.is_kernel || piece.doing != Doing::Sleeping {
                self.part(utid, piece, Stretch { start: piece.start, end: piece.end, work: Work::Thread, count: 0 });
            }
        }
        at
    }

    fn is_over(&self) -> bool {
        self.found.len() >= self.rows
    }

    /// Writes a piece of a thread that has work, by its stretches of work, from `at` on. Gives until when it is written.
    fn worked(&mut self, utid: u32, piece: &Piece, mut at: i64) -> i64 {
        let known = self.known;
        for stretch in known.works.after(utid, at) {
            if stretch.start >= piece.end {
                break;
            }
            if self.is_over() {
                return at;
            }
            let (start, end) = (stretch.start.max(at), stretch.end.min(piece.end));
            self.before_work(utid, piece, (at, start));
            self.part(utid, piece, Stretch { start, end, ..*stretch });
            at = end;
        }
        self.before_work(utid, piece, (at, piece.end));
        piece.end
    }

    /// Writes a part of a piece between two stretches of work, if it is a wait in vain: a question counts as work from its last words on.
    fn before_work(&mut self, utid: u32, piece: &Piece, (start, end): (i64, i64)) {
        let known = self.known;
        if start < end && piece.doing == Doing::Sleeping && known.call_of(utid, piece, start).is_in_vain {
            self.part(utid, piece, Stretch { start, end, work: Work::Thread, count: 0 });
        }
    }

    /// Writes a part of a piece that is in a stretch of work.
    fn part(&mut self, utid: u32, piece: &Piece, part: Stretch) {
        let known = self.known;
        if piece.doing == Doing::Running {
            return;
        }
        let call = known.call_of(utid, piece, part.start);
        if part.work == Work::Thread {
            let thing = known.things.get(call.descriptor as usize).copied().unwrap_or(Thing::Unknown);
            let has_no_work = || !call.is_in_vain && known.has_no_work(utid, piece, call.kind, thing);
            let is_idle = || piece.is_open || has_no_work();
            if matches!(piece.doing, Doing::Stopped | Doing::RanInTheEnd) || is_idle() {
                return;
            }
        }
        let budget = MOST_PIECES.min(self.looks_left as usize);
        let mut path = Path { dues: Vec::new(), budget };
        known.piece(&mut path, utid, piece, (part.start, part.end), part.end, 0);
        self.looks_left -= (budget - path.budget) as u64;
        let waker = if piece.is_open { NONE } else { piece.waker };
        let demands = || call.kind == CallKind::Demand || call.is_in_vain || known.tries(utid, piece, &call).is_some();
        let has_work = part.work != Work::Thread || demands();
        for due in &path.dues {
            let is_own_run = due.cause == Cause::Running && due.depth == 0;
            if !is_own_run && (has_work || due.cause.hinders()) {
                self.found.push(utid, piece, &part, &call, waker, due);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worked_on_side_by_side_stays_in_its_order() {
        let numbers: Vec<u32> = (0..1000).collect();
        for is_worth_it in [false, true] {
            let twice = side_by_side(&numbers, is_worth_it, |number| number * 2);
            assert!(twice.into_iter().eq((0..1000).map(|number| number * 2)));
        }
    }
}
