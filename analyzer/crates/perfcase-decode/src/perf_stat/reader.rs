//! The counter values of a file of `perf stat` output, one after the other, and problems with its other lines.

use std::collections::VecDeque;
use std::ops::Deref;

use perfcase_archive::Issue;

use super::{Line, Reading, parse_line, text};

/// The longest part of a line that is read, in bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Lines that were left out: their number, the place of the first, and its beginning.
#[derive(Default)]
struct Tally {
    count: u64,
    first_at: Option<u64>,
    first: String,
}

impl Tally {
    fn add(&mut self, at: u64, line: &str) {
        self.count += 1;
        if self.first_at.is_none() {
            self.first_at = Some(at);
            self.first = line.chars().take(80).collect();
        }
    }
}

/// Reads the counter values of a file in their order.
pub struct Reader<B> {
    lines: Lines<B>,
    /// The file has the form for people.
    is_text: bool,
    /// In the form for people: a heading was read. Lines before the first heading are the command's own output.
    is_below_heading: bool,
    /// In the form for people: the totals of a run, after the length of the run was read.
    run: VecDeque<Reading>,
    /// The separator of CSV, after a line showed it.
    separator: Option<char>,
    /// A line had a time: then a line without a time is the total of all intervals.
    has_intervals: bool,
    unknown: Tally,
    /// Lines above the first counter.
    above: Tally,
    /// A line was JSON.
    has_json: bool,
    summary_count: u64,
}

impl<B: Deref<Target = [u8]>> Reader<B> {
    /// Starts at the first line. It never fails: unknown lines become problems.
    pub fn new(bytes: B) -> Reader<B> {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(LINE_BYTES_MAX)]).into_owned();
        Reader {
            is_text: text::is_text(&head),
            is_below_heading: head.lines().any(text::is_interval_header),
            run: VecDeque::new(),
            lines: Lines { bytes, at: 0 },
            separator: None,
            has_intervals: false,
            unknown: Tally::default(),
            above: Tally::default(),
            has_json: false,
            summary_count: 0,
        }
    }

    /// Gives the next value of the forms for programs.
    fn csv_or_json(&mut self) -> Option<Reading> {
        loop {
            let (at, line) = self.lines.next()?;
            match parse_line(&line, &mut self.separator, self.has_intervals) {
                Line::Reading(reading) => {
                    self.has_intervals |= reading.at_ns.is_some();
                    self.has_json |= self.separator.is_none();
                    return Some(reading);
                }
                Line::Nothing => {}
                Line::Summary => self.summary_count += 1,
                // A terminal, a wrapper or the command itself wrote it.
                Line::Unknown if self.separator.is_none() && !self.has_json => self.above.add(at, &line),
                Line::Unknown => self.unknown.add(at, &line),
            }
        }
    }

    /// Gives the next value of the form for people. The length of a run is below its values.
    fn text(&mut self) -> Option<Reading> {
        let mut waiting = VecDeque::new();
        while self.run.is_empty() {
            let Some((at, line)) = self.lines.next() else {
                self.run.append(&mut waiting);
                break;
            };
            match text::parse(&line) {
                text::Text::Heading => {
                    self.is_below_heading = true;
                    // The end of the run before was not printed.
                    self.run.append(&mut waiting);
                }
                _ if !self.is_below_heading => {}
                text::Text::Line(Line::Reading(reading)) if reading.at_ns.is_some() => {
                    self.has_intervals = true;
                    return Some(reading);
                }
                text::Text::Line(Line::Reading(_)) if self.has_intervals => self.summary_count += 1,
                text::Text::Line(Line::Reading(reading)) => waiting.push_back(reading),
                text::Text::Elapsed(ns) => {
                    waiting.iter_mut().for_each(|reading: &mut Reading| reading.elapsed_ns = Some(ns));
                    self.run.append(&mut waiting);
                }
                text::Text::Advice => while self.lines.next().is_some_and(|(_, line)| !line.trim().is_empty()) {},
                text::Text::Line(Line::Unknown) => self.unknown.add(at, &line),
                text::Text::Line(_) => {}
            }
        }
        self.run.pop_front()
    }

    /// Gives the problems with the lines so far.
    pub fn problems(&self) -> Vec<Issue> {
        let mut problems = Vec::new();
        if self.unknown.count > 0 {
            let message = format!(
                "{} lines are no counter values and were left out; the first: {:?}",
                self.unknown.count, self.unknown.first
            );
            problems.push(Issue::warning("unparsed_line", message).at(self.unknown.first_at));
        }
        if self.above.count > 0 {
            let message = format!(
                "{} lines above the first counter are not perf's and were left out; the first: {:?}",
                self.above.count, self.above.first
            );
            problems.push(Issue::info("banner", message).at(self.above.first_at));
        }
        if self.lines.is_cut() {
            let message = "the last line has no end: perf stat was killed while writing it";
            problems.push(Issue::info("truncated", message).at(self.lines.bytes.len() as u64));
        }
        if self.summary_count > 0 {
            let message = format!("{} lines of --summary were left out: they add up the intervals", self.summary_count);
            problems.push(Issue::info("summary_lines", message));
        }
        problems
    }
}

impl<B: Deref<Target = [u8]>> Iterator for Reader<B> {
    type Item = Reading;

    fn next(&mut self) -> Option<Reading> {
        if self.is_text { self.text() } else { self.csv_or_json() }
    }
}

/// The lines of the file with their offsets. A last line without an end is left out, because its numbers may be cut.
struct Lines<B> {
    bytes: B,
    at: usize,
}

impl<B: Deref<Target = [u8]>> Lines<B> {
    fn next(&mut self) -> Option<(u64, String)> {
        let start = self.at;
        let rest = self.bytes.get(start..)?;
        let length = rest.iter().position(|&b| b == b'\n')?;
        self.at = start + length + 1;
        let line = &rest[..length.min(LINE_BYTES_MAX)];
        Some((start as u64, String::from_utf8_lossy(line).into_owned()))
    }

    fn is_cut(&self) -> bool {
        self.at < self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::scaled;

    const FORMS: [&str; 3] = [
        "     1.000000000,CPU0,500,,cpu/a=1,b=2/,cycles,1000,100.00,1.000,GHz\n     2.000000000,CPU0,5,,cs,1000,100.00,,\n",
        "{\"interval\" : 1.0, \"cpu\" : \"0\", \"counter-value\" : \"1\", \"event\" : \"x\"}\n",
        " Performance counter stats for 'true':\n\n              1.50 msec task-clock    #    0.500 CPUs utilized\n\
         \x20                7      cs\n\n       0.046008592 seconds time elapsed\n",
    ];

    #[test]
    fn each_form_is_read_without_a_problem() {
        for (form, count) in FORMS.iter().zip([2, 1, 2]) {
            let mut reader = Reader::new(form.as_bytes());
            assert_eq!(reader.by_ref().count(), count, "{form}");
            assert_eq!(reader.problems(), [], "{form}");
        }
        let last: Vec<_> = Reader::new(FORMS[2].as_bytes()).map(|reading| reading.elapsed_ns).collect();
        assert_eq!(last, [Some(46_008_592); 2]);
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut seed = 1u64;
        for round in 0..scaled(30_000) {
            let mut bytes = FORMS[round % FORMS.len()].as_bytes().to_vec();
            for _ in 0..3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (seed >> 40) as usize % bytes.len();
                bytes[at] = (seed >> 32) as u8;
            }
            let mut reader = Reader::new(&bytes[..]);
            let count = reader.by_ref().count();
            assert!(count <= bytes.len() / 8, "a reading for each line at most");
            assert!(reader.problems().len() <= 4);
        }
    }
}
