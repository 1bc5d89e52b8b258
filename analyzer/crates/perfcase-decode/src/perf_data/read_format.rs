//! Counter values as `read()` of a perf event gives them (PERF_SAMPLE_READ, PERF_RECORD_READ): of one event or of a
//! group.

use super::bytes::{Cursor, U64s};

const TOTAL_TIME_ENABLED: u64 = 1;
const TOTAL_TIME_RUNNING: u64 = 2;
const ID: u64 = 4;
const GROUP: u64 = 8;
const LOST: u64 = 16;

/// The values of one event or of a group, in the file's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadValues<'a> {
    /// Nanoseconds the event was enabled.
    pub enabled_ns: Option<u64>,
    /// Nanoseconds that it counted: less than it was enabled if it shared a counter.
    pub running_ns: Option<u64>,
    words: U64s<'a>,
    format: u64,
}

/// One counter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadValue {
    /// The count since the event was opened.
    pub value: u64,
    /// The id of its event; `None` where the format has no ids.
    pub id: Option<u64>,
    /// Samples the event lost (6.0 and later).
    pub lost: Option<u64>,
}

impl<'a> ReadValues<'a> {
    /// Reads values of the format `format`; `None` when they do not fit.
    pub fn parse(cursor: &mut Cursor<'a>, format: u64) -> Option<ReadValues<'a>> {
        let grouped = format & GROUP != 0;
        // For one event the value comes first, for a group the number of values.
        let first = cursor.clone();
        let head = cursor.u64()?;
        let enabled_ns = optional(format & TOTAL_TIME_ENABLED != 0, cursor)?;
        let running_ns = optional(format & TOTAL_TIME_RUNNING != 0, cursor)?;
        let per_value = words_per_value(format);
        let words = if grouped {
            cursor.u64s(head.checked_mul(per_value)?)?
        } else {
            cursor.u64s(per_value - 1)?;
            let times = u64::from(enabled_ns.is_some()) + u64::from(running_ns.is_some());
            first.clone().u64s(times + per_value)?
        };
        Some(ReadValues { enabled_ns, running_ns, words, format })
    }

    /// Tells whether the values are of a group.
    pub fn is_group(&self) -> bool {
        self.format & GROUP != 0
    }

    /// Gives the values in order; one for a single event.
    pub fn values(self) -> impl Iterator<Item = ReadValue> + 'a {
        let stride = words_per_value(self.format) as usize;
        let count = if self.is_group() { self.words.len() / stride } else { 1 };
        (0..count).filter_map(move |index| self.value(index, stride))
    }

    fn value(&self, index: usize, stride: usize) -> Option<ReadValue> {
        let (value_at, mut at) = if self.is_group() {
            (index * stride, index * stride + 1)
        } else {
            let times = usize::from(self.enabled_ns.is_some()) + usize::from(self.running_ns.is_some());
            (0, 1 + times)
        };
        let mut next = |present: bool| -> Option<Option<u64>> {
            if !present {
                return Some(None);
            }
            let word = self.words.get(at)?;
            at += 1;
            Some(Some(word))
        };
        let id = next(self.format & ID != 0)?;
        let lost = next(self.format & LOST != 0)?;
        Some(ReadValue { value: self.words.get(value_at)?, id, lost })
    }
}

fn words_per_value(format: u64) -> u64 {
    1 + u64::from(format & ID != 0) + u64::from(format & LOST != 0)
}

fn optional(present: bool, cursor: &mut Cursor) -> Option<Option<u64>> {
    Some(if present { Some(cursor.u64()?) } else { None })
}

#[cfg(test)]
mod tests {
    use super::super::bytes::ByteOrder;
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn every_combination_of_the_format_bits_round_trips() {
        for format in 0..32u64 {
            let members: &[u64] = if format & GROUP != 0 { &[0, 1, 2] } else { &[0] };
            let mut times = Vec::new();
            if format & TOTAL_TIME_ENABLED != 0 {
                times.push(500);
            }
            if format & TOTAL_TIME_RUNNING != 0 {
                times.push(400);
            }
            let member = |m: u64| {
                let mut tail = Vec::new();
                if format & ID != 0 {
                    tail.push(70 + m);
                }
                if format & LOST != 0 {
                    tail.push(90 + m);
                }
                (1000 + m, tail)
            };
            let mut input = Vec::new();
            if format & GROUP != 0 {
                input.push(3);
                input.extend(&times);
                for &m in members {
                    input.push(member(m).0);
                    input.extend(member(m).1);
                }
            } else {
                input.push(member(0).0);
                input.extend(&times);
                input.extend(member(0).1);
            }
            let length = input.len() * 8;
            input.push(0xdead);
            let bytes = words(&input);
            let mut cursor = Cursor::new(&bytes, ByteOrder::Big);
            let read = ReadValues::parse(&mut cursor, format).unwrap();
            assert_eq!(cursor.at(), length, "format {format}");
            assert_eq!(read.enabled_ns, (format & TOTAL_TIME_ENABLED != 0).then_some(500));
            assert_eq!(read.running_ns, (format & TOTAL_TIME_RUNNING != 0).then_some(400));
            let got: Vec<ReadValue> = read.values().collect();
            let want: Vec<ReadValue> = members
                .iter()
                .map(|&m| ReadValue {
                    value: 1000 + m,
                    id: (format & ID != 0).then_some(70 + m),
                    lost: (format & LOST != 0).then_some(90 + m),
                })
                .collect();
            assert_eq!(got, want, "format {format}");
        }
    }

    #[test]
    fn a_hostile_group_size_is_refused() {
        let bytes = words(&[u64::MAX / 2, 1, 2]);
        let mut cursor = Cursor::new(&bytes, ByteOrder::Big);
        assert!(ReadValues::parse(&mut cursor, GROUP | ID | LOST).is_none());
    }
}
