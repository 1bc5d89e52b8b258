//! `blame`: what threads waited for while they had work, followed to its cause.
//!
//! This is done when all tables are written, from these tables, in one pass in the order of time. A part of the states is at hand at
//! a time: a window that is written, the one before it (as far back as waits are followed) and the one behind it (what wakers were
//! doing is known only when they leave their CPU).
//!
//! The models are wake-up chains (Gregg, 2016) and the critical path of a thread (Perfetto's standard library, sched).

mod calls;
mod descriptors;
mod disks;
mod entered;
mod follow;
mod history;
mod input;
mod measured;
mod naps;
mod output;
mod parts;
mod retries;
mod rows;
mod samples;
mod snapshots;
mod tries;
mod work;

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use perfcase_archive::Issue;

use crate::writer::WriteError;
use calls::{CallKind, CallNames, Thing};
use follow::{Cause, Known, MOST_PIECES, Path as Followed};
use history::{Doing, History, NONE, Piece};
use input::Input;
use output::Output;
use work::{Stretch, Work};

/// The pieces in a window. Three windows are at hand, of 24 to 40 bytes each piece: 40 MB.
const WINDOW: usize = 350_000;
/// How many pieces may be looked at for each state of the capture, on the average: the work stays linear.
const LOOKS_PER_STATE: u64 = 16;

/// What was written.
pub(crate) struct Written {
    /// The rows of `blame`.
    pub(crate) rows: u64,
    /// What was too much to be followed.
    pub(crate) issues: Vec<Issue>,
}

/// Writes `blame` beside the other tables in `folder`; `None` where no states were recorded.
///
/// # Errors
/// When a table cannot be read or written.
pub(crate) fn write(folder: &Path) -> Result<Option<Written>, WriteError> {
    let mut names = Arc::new(CallNames::default());
    let mut history = History::default();
    let Some(mut input) = Input::open(folder, &mut history)? else { return Ok(None) };
    let works = input.works()?;
    let (descriptors, samples, measured) =
        (input.descriptors()?, input.samples()?, snapshots::measured(folder, &history)?);
    let mut completions = input.completions()?;
    let mut output = Output::start(folder, std::mem::take(&mut completions.devices));
    let cut_count = Cell::new(0);
    let mut looks_left = LOOKS_PER_STATE * input.state_count();
    // The ends of the last two windows: what ended before the first of them is forgotten when a third is at hand.
    let mut edges = (i64::MIN, i64::MIN);
    loop {
        let (is_last, end) = input.window(&mut history, Arc::make_mut(&mut names), &descriptors, WINDOW)?;
        history.sort();
        let until = if is_last { i64::MAX } else { edges.1 };
        let known = Known {
            history: &history,
            works: &works,
            names: &names,
            things: &descriptors.things,
            completions: &completions,
            samples: &samples,
            measured: &measured,
            cut_count: &cut_count,
        };
        let mut blame = Blame { known, looks_left, output: &mut output };
        let mut written = Vec::with_capacity(history.threads.len());
        for utid in 0..history.threads.len() as u32 {
            written.push(blame.thread(utid, until));
        }
        looks_left = blame.looks_left;
        for (thread, written) in history.threads.iter_mut().zip(written) {
            thread.written = written;
        }
        if is_last {
            break;
        }
        history.forget(edges.0);
        edges = (edges.1, end);
    }
    let counts = [
        works.bound.refused_count,
        history.locks.refused_count,
        u64::from(looks_left == 0),
        cut_count.get(),
        history.bound_of_words.refused_count,
        completions.bound.refused_count,
        samples.bound.refused_count,
        measured.bound.refused_count,
    ];
    Ok(Some(Written { rows: output.finish(&names)?, issues: issues(counts) }))
}

/// Gives an issue for each bound that was reached, by what it kept out.
fn issues(counts: [u64; 8]) -> Vec<Issue> {
    let all = [
        ("requests_not_followed", "so many requests were under way that what some of them waited for is not followed"),
        ("locks_not_followed", "so many calls took locks of files that who had some of these locks is not known"),
        ("waits_not_followed", "so many threads wait for one another that not every wait is followed to its cause"),
        ("parts_not_followed", "waits went on in so many parts that what ended them is not known"),
        (
            "wakes_not_followed",
            "threads waited for so many locks with a limit of time that who had some of them is not known",
        ),
        ("devices_not_followed", "so many requests to disks ended that the device of some waits is not known"),
        ("samples_not_followed", "so many samples were taken that where some threads ran is not in blame"),
        (
            "snapshots_not_followed",
            "snapshots have so many threads that how long some of them were on a CPU is not in blame",
        ),
    ];
    let reached = all.into_iter().zip(counts).filter(|(_, count)| *count > 0);
    reached.map(|((kind, message), count)| Issue::warning(kind, message).count(count)).collect()
}

/// The writing of one window.
struct Blame<'a> {
    known: Known<'a>,
    looks_left: u64,
    output: &'a mut Output,
}

impl Blame<'_> {
    /// Writes a thread's time up to a time. Gives until when it is written.
    fn thread(&mut self, utid: u32, until: i64) -> i64 {
        let known = self.known;
        let Some(thread) = known.history.thread(utid).filter(|_| utid != 0) else { return i64::MIN };
        let has_work = known.works.has_any(utid);
        let mut written = thread.written;
        for piece in thread.pieces_after(written) {
            if piece.end > until {
                break;
            }
            written = piece.end;
            if !has_work && thread.is_kernel && piece.doing == Doing::Sleeping {
                continue;
            }
            if !has_work {
                self.part(utid, piece, Stretch { start: piece.start, end: piece.end, work: Work::Thread, count: 0 });
                continue;
            }
            let mut at = piece.start;
            for stretch in known.works.after(utid, piece.start) {
                if stretch.start >= piece.end {
                    break;
                }
                let (start, end) = (stretch.start.max(piece.start), stretch.end.min(piece.end));
                self.before_work(utid, piece, (at, start));
                self.part(utid, piece, Stretch { start, end, ..*stretch });
                at = end;
            }
            self.before_work(utid, piece, (at, piece.end));
        }
        written
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
        let mut path = Followed { dues: Vec::new(), budget };
        known.piece(&mut path, utid, piece, (part.start, part.end), part.end, 0);
        self.looks_left -= (budget - path.budget) as u64;
        let waker = if piece.is_open { NONE } else { piece.waker };
        let demands = || call.kind == CallKind::Demand || call.is_in_vain || known.tries(utid, piece, &call).is_some();
        let has_work = part.work != Work::Thread || demands();
        for due in &path.dues {
            let is_own_run = due.cause == Cause::Running && due.depth == 0;
            if !is_own_run && (has_work || due.cause.hinders()) {
                self.output.push(utid, piece, &part, &call, waker, due);
            }
        }
        if self.output.is_full() {
            self.output.flush(known.names);
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
