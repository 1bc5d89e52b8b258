//! The trait of every decoder: its records, one at a time, in the order of time.

use crate::session::Session;

/// A decoder of one input that hands its records to the [`Session`].
pub trait Source {
    /// Gives the time of the next record in ns on the source's own clock; `None` at the end.
    ///
    /// Records without a time have `i64::MIN`: they come before everything else.
    fn next_ts(&self) -> Option<i64>;

    /// Decodes the next record and hands it to the session. Damage becomes an issue, never a panic.
    fn step(&mut self, session: &mut Session);

    /// Ends the source after its last record: notes totals, and counts of unknown parts.
    fn finish(&mut self, session: &mut Session);
}

/// Runs sources side by side until all are at their end. The next record is always the oldest of all sources.
///
/// `progress` gets the number of records so far and the time of the last one, about every 65,536 records. False when it
/// returned false. The run ends early when rows cannot be written: closing the session gives the reason.
pub fn run(sources: &mut [Box<dyn Source>], session: &mut Session, progress: &mut dyn FnMut(u64, i64) -> bool) -> bool {
    let mut count = 0u64;
    let mut times: Vec<Option<i64>> = sources.iter().map(|source| source.next_ts()).collect();
    while let Some((index, until)) = oldest(&times) {
        // Stay with one source while it is the oldest: this is often for many records, and the choice costs more than a
        // step.
        loop {
            let at = times[index].unwrap_or(i64::MIN);
            sources[index].step(session);
            count += 1;
            if count.is_multiple_of(65_536) && (session.has_failed() || !progress(count, at)) {
                return session.has_failed();
            }
            times[index] = sources[index].next_ts();
            match times[index] {
                Some(ts) if ts <= until => {}
                _ => break,
            }
        }
    }
    for source in sources {
        source.finish(session);
    }
    progress(count, i64::MAX)
}

/// Gives the source with the oldest next record, and the oldest time of all others.
fn oldest(times: &[Option<i64>]) -> Option<(usize, i64)> {
    let (index, _) = times.iter().enumerate().filter_map(|(i, t)| t.map(|t| (i, t))).min_by_key(|&(i, t)| (t, i))?;
    let others = times.iter().enumerate().filter(|&(i, _)| i != index);
    let until = others.filter_map(|(_, t)| *t).min().unwrap_or(i64::MAX);
    Some((index, until))
}
