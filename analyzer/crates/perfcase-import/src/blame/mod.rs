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
mod rounds;
mod rows;
mod samples;
mod snapshots;
mod tries;
mod work;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use perfcase_archive::Issue;

use crate::writer::WriteError;
use calls::CallNames;
use follow::Known;
use history::History;
use input::Input;
use output::Output;
use rounds::ROUND;

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
    let cut_count = AtomicU64::new(0);
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
            things: &descriptors.things,
            completions: &completions,
            samples: &samples,
            measured: &measured,
            cut_count: &cut_count,
        };
        let written = rounds::write(known, until, &mut looks_left, ROUND, |found| output.add(found, &names));
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
        cut_count.load(Ordering::Relaxed),
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

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
