//! The places of a file's records, and the order of their times.
//!
//! perf writes one ring buffer after the other to the file, so a file has a few sorted streams that are cut into
//! pieces. The index has only these pieces. It joins them to streams, and merges the streams while they are read: the
//! time of a record is read again from the record. So the memory does not grow with the number of records.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::recording::Recording;

/// The most streams. perf writes fewer: the records of a file with more are sorted.
const MOST_STREAMS: usize = 1024;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time in ns; 0 for records without one, which come first.
    pub time: u64,
    /// Its place: see `Recording::record`.
    pub(super) place: u64,
}

/// Records without a gap between them and with rising times. A record without an own time has that of the one before.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: Entry,
    /// The place behind the last record.
    end: u64,
    /// Time of the last record.
    last_time: u64,
}

/// The records of a file, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Index {
    runs: Vec<Run>,
    count: usize,
    /// Each record is a run, so that no time is read again.
    is_split: bool,
    /// The last record, and the time of the record before it in its run.
    last: Option<(Entry, Option<u64>)>,
}

impl Index {
    /// Begins an index that keeps the time of each record.
    pub(super) fn of_all_times() -> Index {
        Index { is_split: true, ..Index::default() }
    }

    /// Adds a record of so many bytes after the others. `is_own` is false if the time is that of the record before it.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry, size: u64, is_own: bool) {
        self.count += 1;
        let end = entry.place.saturating_add(size);
        if let Some(run) = self.runs.last_mut()
            && run.end == entry.place
            && !self.is_split
            && if is_own { entry.time >= run.last_time } else { entry.time == run.last_time }
        {
            self.last = Some((entry, Some(run.last_time)));
            run.last_time = entry.time;
            run.end = end;
            return;
        }
        self.last = Some((entry, None));
        self.runs.push(Run { first: entry, end, last_time: entry.time });
    }

    /// Removes the last record if it is at this place. Only one record can be removed after each that is added.
    pub(super) fn drop_last(&mut self, place: u64) {
        let Some((last, before)) = self.last.take_if(|(last, _)| last.place == place) else { return };
        self.count -= 1;
        match (before, self.runs.last_mut()) {
            (Some(time), Some(run)) => {
                run.end = last.place;
                run.last_time = time;
            }
            _ => drop(self.runs.pop()),
        }
    }

    /// Gives the last record that was added.
    pub(super) fn last(&self) -> Option<Entry> {
        self.last.map(|(last, _)| last)
    }

    /// Gives the number of records.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Tells whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Gives the records in the order of the file.
    pub(super) fn entries<'a>(&'a self, recording: &'a Recording, file: &'a [u8]) -> impl Iterator<Item = Entry> + 'a {
        self.runs.iter().flat_map(move |run| {
            let mut now = Some(run.first);
            std::iter::from_fn(move || {
                let entry = now?;
                now = recording.following(file, entry, run.end);
                Some(entry)
            })
        })
    }

    /// Gives the records in the order of time. Records of the same time are in the order of the file.
    pub fn in_time_order(self, recording: &Recording, file: &[u8]) -> InTimeOrder {
        let mut streams: Vec<Stream> = Vec::new();
        for (number, run) in self.runs.iter().enumerate() {
            // The stream with the latest end before it: the other streams can take older records.
            let before =
                streams.iter_mut().filter(|stream| stream.last <= run.first.time).max_by_key(|stream| stream.last);
            match before {
                Some(stream) => {
                    stream.runs.push(number);
                    stream.last = run.last_time;
                }
                None => streams.push(Stream { runs: vec![number], last: run.last_time }),
            }
            if streams.len() > MOST_STREAMS {
                let mut sorted: Vec<Entry> = self.entries(recording, file).collect();
                sorted.sort_by_key(|entry| entry.time);
                return InTimeOrder::Sorted(sorted.into_iter());
            }
        }
        InTimeOrder::Merged(Merge::new(self.runs, streams))
    }
}

/// Pieces of the file that follow each other in time.
struct Stream {
    /// The numbers of the pieces.
    runs: Vec<usize>,
    /// Time of the last record of the last piece.
    last: u64,
}

/// Goes through the records in the order of time.
pub enum InTimeOrder {
    /// From streams.
    Merged(Merge),
    /// From a list.
    Sorted(std::vec::IntoIter<Entry>),
}

impl InTimeOrder {
    /// Gives the next record; `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<Entry> {
        match self {
            InTimeOrder::Merged(merge) => Some(merge.rests.get(merge.current)?.now),
            InTimeOrder::Sorted(entries) => entries.as_slice().first().copied(),
        }
    }

    /// Gives the next record and goes on to the one after it.
    #[inline]
    pub fn next(&mut self, recording: &Recording, file: &[u8]) -> Option<Entry> {
        match self {
            InTimeOrder::Merged(merge) => merge.next(recording, file),
            InTimeOrder::Sorted(entries) => entries.next(),
        }
    }
}

/// A record's place in the order: its time, then the number of its run.
type Key = (u64, usize);

/// The rest of a stream.
struct Rest {
    /// The next record.
    now: Entry,
    /// The number of its run.
    run: usize,
    /// The place behind the run.
    end: u64,
    later: std::vec::IntoIter<usize>,
}

/// Merges streams.
pub struct Merge {
    runs: Vec<Run>,
    rests: Vec<Rest>,
    /// The next record of each stream except the current one.
    waiting: BinaryHeap<Reverse<(Key, usize)>>,
    /// The stream that is read now, until another stream has an older record.
    current: usize,
    limit: Key,
}

impl Merge {
    fn new(runs: Vec<Run>, streams: Vec<Stream>) -> Merge {
        let rest = |stream: Stream| {
            let mut later = stream.runs.into_iter();
            let run = later.next()?;
            let Run { first, end, .. } = *runs.get(run)?;
            Some(Rest { now: first, run, end, later })
        };
        let rests: Vec<Rest> = streams.into_iter().filter_map(rest).collect();
        let waiting = rests.iter().enumerate().map(|(at, rest)| Reverse(((rest.now.time, rest.run), at))).collect();
        let mut order = Merge { runs, rests, waiting, current: usize::MAX, limit: (0, 0) };
        order.choose();
        order
    }

    #[inline]
    fn next(&mut self, recording: &Recording, file: &[u8]) -> Option<Entry> {
        let rest = self.rests.get_mut(self.current)?;
        let entry = rest.now;
        match recording.following(file, entry, rest.end) {
            Some(next) => rest.now = next,
            None => match rest.later.next().and_then(|run| Some((run, self.runs.get(run)?))) {
                Some((run, &Run { first, end, .. })) => (rest.now, rest.run, rest.end) = (first, run, end),
                None => {
                    self.choose();
                    return Some(entry);
                }
            },
        }
        let key = (rest.now.time, rest.run);
        if key > self.limit {
            self.change_to_oldest(key);
        }
        Some(entry)
    }

    /// Goes to the stream with the oldest next record.
    fn choose(&mut self) {
        self.current = self.waiting.pop().map_or(usize::MAX, |Reverse((_, stream))| stream);
        self.set_limit();
    }

    /// Does the same, and puts the current stream, with its next record `key`, among the waiting ones.
    fn change_to_oldest(&mut self, key: Key) {
        if let Some(mut oldest) = self.waiting.peek_mut() {
            let Reverse((_, stream)) = std::mem::replace(&mut *oldest, Reverse((key, self.current)));
            self.current = stream;
        }
        self.set_limit();
    }

    fn set_limit(&mut self) {
        self.limit = self.waiting.peek().map_or((u64::MAX, usize::MAX), |Reverse((key, _))| *key);
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
