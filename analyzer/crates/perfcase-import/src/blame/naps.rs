//! Naps in a row: a thread that sleeps again and again and makes no call in between looks at nothing but memory. The virtual machine of
//! Java waits so until all its threads have stopped. What ends such naps is a thread of the same process: the one that was active all the while,
//! and did something else at last.

use super::history::{Doing, History, NONE, Thread};

/// Fewer in a row are a sleep, or one that is done in portions.
const LEAST: u32 = 3;
/// Who looks at memory looks again soon.
const LONGEST_NS: i64 = 20_000_000;
/// What ended the naps ran, or waited for a CPU, for four fifths of them; no other thread of the process ran for half as long.
const ACTIVE: (i64, i64) = (4, 5);
/// It did something else within the last nap, or at once after it.
const AT_ONCE_NS: i64 = 1_000_000;
/// The most runs on CPUs that are looked at for a nap, and for a row at least: the work stays linear.
const LOOKS: usize = 64;
const LEAST_LOOKS: usize = 1024;

/// Naps of a thread without a call in between.
#[derive(Clone, Copy, Debug)]
struct Row {
    start: i64,
    end: i64,
    last_start: i64,
    count: u32,
    /// The thread that ended them; [`NONE`] if nothing tells.
    ended_by: u32,
}

/// The naps of a thread, in the order of time.
#[derive(Default)]
pub(super) struct Naps {
    open: Option<Row>,
    /// Those of which nobody has looked yet who ended them.
    new: Vec<Row>,
    rows: Vec<Row>,
}

impl Naps {
    /// Adds a sleep.
    pub(super) fn sleep(&mut self, start: i64, end: i64) {
        if end.saturating_sub(start) > LONGEST_NS {
            return self.call();
        }
        let row = self.open.get_or_insert(Row { start, end, last_start: start, count: 0, ended_by: NONE });
        *row = Row { end, last_start: start, count: row.count.saturating_add(1), ..*row };
    }

    /// Notes another call.
    pub(super) fn call(&mut self) {
        self.new.extend(self.open.take().filter(|row| row.count >= LEAST));
    }

    /// Looks who ended the naps of a thread.
    pub(super) fn settle(&mut self, utid: u32, history: &History) {
        for row in self.new.drain(..) {
            if let Some(ended_by) = ended_by(utid, &row, history) {
                self.rows.push(Row { ended_by, ..row });
            }
        }
    }

    /// Gives the thread that ended the naps that a thread was in at a time.
    pub(super) fn at(&self, time: i64) -> Option<u32> {
        let last = self.rows[..self.rows.partition_point(|row| row.start <= time)].last();
        last.filter(|row| row.end > time).map(|row| row.ended_by)
    }

    pub(super) fn forget(&mut self, begin: i64) {
        self.rows.retain(|row| row.end > begin);
    }
}

fn ended_by(utid: u32, row: &Row, history: &History) -> Option<u32> {
    let upid = history.thread(utid).map(|thread| thread.upid).filter(|&upid| upid != NONE)?;
    let is_sibling = |other: u32| other != utid && history.thread(other).is_some_and(|thread| thread.upid == upid);
    let mut looks = LOOKS.saturating_mul(row.count as usize).max(LEAST_LOOKS);
    let mut ran: Vec<(u32, i64)> = Vec::new();
    for cpu in 0..history.cpu_count() {
        for &(start, end, other) in history.runs(cpu, row.start) {
            if start >= row.end {
                break;
            }
            looks = looks.checked_sub(1)?;
            if is_sibling(other) {
                let part = end.min(row.end).saturating_sub(start.max(row.start));
                match ran.iter_mut().find(|(utid, _)| *utid == other) {
                    Some((_, sum)) => *sum += part,
                    None => ran.push((other, part)),
                }
            }
        }
        looks = looks.checked_sub(1)?;
    }
    ran.sort_unstable_by_key(|&(utid, sum)| (-sum, utid));
    let &(most, sum) = ran.first()?;
    let is_alone = ran.get(1).is_none_or(|&(_, second)| second <= sum / 2);
    let thread = history.thread(most)?;
    (is_alone && was_active(thread, row, looks)? && did_more(thread, row)).then_some(most)
}

/// Tells whether a thread ran or wanted a CPU for most of a row of naps.
fn was_active(thread: &Thread, row: &Row, looks: usize) -> Option<bool> {
    let mut active = 0;
    for (number, piece) in thread.pieces_after(row.start).iter().take_while(|piece| piece.start < row.end).enumerate() {
        if number >= looks {
            return None;
        }
        if matches!(piece.doing, Doing::Running | Doing::RanInTheEnd | Doing::Runnable) {
            active += piece.end.min(row.end).saturating_sub(piece.start.max(row.start));
        }
    }
    Some(ACTIVE.1 * active >= ACTIVE.0 * row.end.saturating_sub(row.start))
}

/// Tells whether a thread slept or made a call when the naps ended.
fn did_more(thread: &Thread, row: &Row) -> bool {
    let until = row.end.saturating_add(AT_ONCE_NS);
    let is_then = |at: i64| at >= row.last_start && at <= until;
    let pieces = thread.pieces_after(row.last_start).iter().take_while(|piece| piece.start <= until);
    let mut calls = thread.calls[thread.calls.partition_point(|call| call.start < row.last_start)..].iter();
    pieces.filter(|piece| piece.doing == Doing::Sleeping).any(|piece| is_then(piece.start))
        || calls.next().is_some_and(|call| is_then(call.start))
}
