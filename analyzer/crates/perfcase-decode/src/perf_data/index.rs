//! The places of a file's records, and the order of their times.
//!
//! perf writes one ring buffer after the other to the file, so a file has a few sorted streams that are cut into
//! pieces. The index joins the pieces to streams and merges the streams while they are read. So it never moves millions
//! of records.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Deref;
use std::ops::Range;

/// The most streams. perf writes fewer: a file with more is sorted.
const MOST_STREAMS: usize = 1024;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time in ns; 0 for records without one, which come first.
    pub time: u64,
    /// Its place: see `Recording::record`.
    pub(super) place: u64,
}

/// The records of a file, in the order of the file.
#[derive(Clone, Default)]
pub struct Index {
    entries: Vec<Entry>,
}

impl Index {
    /// Makes room for more records.
    pub fn reserve(&mut self, count: usize) {
        self.entries.reserve(count);
    }

    /// Adds a record after the others.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Removes the last record.
    pub fn pop(&mut self) -> Option<Entry> {
        self.entries.pop()
    }

    /// Gives the records in the order of time. Records of the same time are in the order of the file.
    pub fn in_time_order(mut self) -> InTimeOrder {
        let mut streams: Vec<Stream> = Vec::new();
        let mut start = 0;
        for run in self.entries.chunk_by(|a, b| a.time <= b.time) {
            let (first, last) = (run[0].time, run[run.len() - 1].time);
            let range = start..start + run.len();
            start = range.end;
            // The stream with the latest end before it: the other streams can take older records.
            let before = streams.iter_mut().filter(|stream| stream.last <= first).max_by_key(|stream| stream.last);
            match before {
                Some(stream) => {
                    stream.runs.push(range);
                    stream.last = last;
                }
                None => streams.push(Stream { runs: vec![range], last }),
            }
            if streams.len() > MOST_STREAMS {
                break;
            }
        }
        if streams.len() > MOST_STREAMS {
            self.entries.sort_by_key(|entry| entry.time);
            streams = vec![Stream { runs: std::iter::once(0..self.entries.len()).collect(), last: 0 }];
        }
        InTimeOrder::merge(self.entries, streams)
    }
}

impl Deref for Index {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.entries
    }
}

/// Pieces of the file that follow each other in time.
struct Stream {
    runs: Vec<Range<usize>>,
    /// Time of the last record of the last piece.
    last: u64,
}

/// The rest of a stream.
struct Rest {
    now: Range<usize>,
    runs: std::vec::IntoIter<Range<usize>>,
}

/// A record's place in the order: its time, then its place in the file.
type Key = (u64, usize);

/// Goes through the records in the order of time.
pub struct InTimeOrder {
    entries: Vec<Entry>,
    rests: Vec<Rest>,
    /// The next record of each stream except the current one.
    waiting: BinaryHeap<Reverse<(Key, usize)>>,
    /// The stream that is read now, until another stream has an older record.
    current: usize,
    limit: Key,
}

impl InTimeOrder {
    fn merge(entries: Vec<Entry>, streams: Vec<Stream>) -> InTimeOrder {
        let rests = streams.into_iter().map(|stream| {
            let mut runs = stream.runs.into_iter();
            Rest { now: runs.next().unwrap_or_default(), runs }
        });
        let rests: Vec<Rest> = rests.collect();
        let head = |(stream, rest): (usize, &Rest)| {
            Some(Reverse(((entries.get(rest.now.start)?.time, rest.now.start), stream)))
        };
        let waiting = rests.iter().enumerate().filter_map(head).collect();
        let mut order = InTimeOrder { entries, rests, waiting, current: usize::MAX, limit: (0, 0) };
        order.choose();
        order
    }

    /// Gives the next record; `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<Entry> {
        self.entries.get(self.rests.get(self.current)?.now.start).copied()
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

impl Iterator for InTimeOrder {
    type Item = Entry;

    #[inline]
    fn next(&mut self) -> Option<Entry> {
        let rest = self.rests.get_mut(self.current)?;
        let entry = *self.entries.get(rest.now.start)?;
        rest.now.start += 1;
        if rest.now.is_empty() {
            rest.now = rest.runs.next().unwrap_or_default();
        }
        if rest.now.is_empty() {
            self.choose();
        } else {
            let at = rest.now.start;
            let key = (self.entries[at].time, at);
            if key > self.limit {
                self.change_to_oldest(key);
            }
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Index, MOST_STREAMS};

    type Records = Vec<(u64, u64)>;

    /// Times and places in the order of the index, and in the right order.
    fn order(times: impl IntoIterator<Item = u64>) -> (Records, Records) {
        let mut index = Index::default();
        for (place, time) in times.into_iter().enumerate() {
            index.push(Entry { time, place: place as u64 });
        }
        let mut sorted: Vec<_> = index.entries.iter().map(|entry| (entry.time, entry.place)).collect();
        sorted.sort_unstable();
        (index.in_time_order().map(|entry| (entry.time, entry.place)).collect(), sorted)
    }

    #[test]
    fn equal_times_keep_the_order_of_the_file() {
        let (got, want) = order([5, 3, 5, 9, 3, 0, 5, 5, 0, 9]);
        assert_eq!(got, want);
        assert_eq!(order([]).0, []);
    }

    #[test]
    fn pieces_of_a_few_buffers_come_out_in_order() {
        // Four buffers with interleaved times, which are read one after the other.
        let round = |n: u64| (0..4u64).flat_map(move |buffer| (0..50).map(move |i| n * 200 + i * 4 + buffer));
        let (got, want) = order((0..30).flat_map(round));
        assert_eq!(got, want);
    }

    #[test]
    fn what_perf_never_writes_is_sorted_too() {
        let (got, want) = order((0..3 * MOST_STREAMS as u64).rev());
        assert_eq!(got, want);
        let (got, want) = order((0..20_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40));
        assert_eq!(got, want);
    }
}
