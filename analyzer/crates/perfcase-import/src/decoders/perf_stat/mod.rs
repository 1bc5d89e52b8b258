//! `perf stat` output, CSV (`-x`), JSON (`-j`) or text for people, to rows of `pmc_interval`.

use std::collections::VecDeque;

use perfcase_archive::{Content, Issue, Severity};
use perfcase_decode::perf_stat::{Line, Reading, Scope, Status, parse_line, text};

use crate::session::{NO_TIME, Session, SourceId};
use crate::source::Source;
use crate::tables::PmcIntervalRow;

/// Longest line that is looked at.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Events that are named in a report.
const NAMES_MAX: usize = 100;

/// What the text itself does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The capture's clock when perf stat started: its times count from there. Without it they count from the
    /// capture's start, whatever that is.
    pub started_ns: Option<i64>,
    /// The capture's clock when perf stat ended: the time of totals without `-I`.
    pub ended_ns: Option<i64>,
    /// The capture's clock when the only command that is counted began: the interval that this is in begins then.
    pub command_ns: Option<i64>,
}

/// Starts to read `perf stat` output. It never fails: lines that are not understood become issues.
pub fn open(content: Content, source: SourceId, options: Options) -> Box<dyn Source> {
    let head = String::from_utf8_lossy(&content[..content.len().min(LINE_BYTES_MAX)]).into_owned();
    let mut stat = PerfStat {
        is_text: text::is_text(&head),
        is_below_heading: head.lines().any(text::is_interval_header),
        run: VecDeque::new(),
        lines: Lines { content, at: 0 },
        source,
        options,
        separator: None,
        next: None,
        has_intervals: false,
        interval_end: None,
        interval_start: 0,
        unknown: Tally::default(),
        above: Tally::default(),
        has_json: false,
        summary_count: 0,
        not_supported: Vec::new(),
        row_count: 0,
        counted: 0,
        waited: false,
    };
    stat.next = stat.read();
    Box::new(stat)
}

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

struct PerfStat {
    lines: Lines,
    /// The form for people.
    is_text: bool,
    /// In the form for people a heading was read. What comes before the first one is the command's own output.
    is_below_heading: bool,
    /// In the form for people: totals whose run's length is known now.
    run: VecDeque<Reading>,
    source: SourceId,
    options: Options,
    /// The separator of CSV, once a line told it.
    separator: Option<char>,
    next: Option<Reading>,
    /// A line had a time: one without is the total of all intervals.
    has_intervals: bool,
    interval_end: Option<i64>,
    interval_start: i64,
    unknown: Tally,
    /// Lines above the first counter.
    above: Tally,
    /// A line was JSON.
    has_json: bool,
    summary_count: u64,
    not_supported: Vec<String>,
    row_count: u64,
    counted: u64,
    /// An event waited for something to count.
    waited: bool,
}

impl PerfStat {
    /// The next counter value.
    fn read(&mut self) -> Option<Reading> {
        if self.is_text {
            return self.read_text();
        }
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
                // What a terminal or a wrapper wrote there, or the command itself.
                Line::Unknown if self.separator.is_none() && !self.has_json => self.above.add(at, &line),
                Line::Unknown => self.unknown.add(at, &line),
            }
        }
    }

    /// The next counter value of the form for people. How long a run took stands below its values.
    fn read_text(&mut self) -> Option<Reading> {
        let mut waiting = VecDeque::new();
        while self.run.is_empty() {
            let Some((at, line)) = self.lines.next() else {
                self.run.append(&mut waiting);
                break;
            };
            match text::parse(&line) {
                text::Text::Heading => {
                    self.is_below_heading = true;
                    // A run whose end was not printed.
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

    /// The reading's time on the capture's clock; [`NO_TIME`] where nobody said when perf stat started.
    fn clock_ns(&self, reading: &Reading) -> i64 {
        match (reading.at_ns, self.options.started_ns) {
            (Some(at), Some(start)) => start.saturating_add(at),
            (Some(_), None) => NO_TIME,
            (None, start) => {
                let end = start.zip(reading.elapsed_ns).map(|(start, length)| start.saturating_add(length));
                self.options.ended_ns.or(end).or(start).unwrap_or(NO_TIME)
            }
        }
    }

    /// Length of the interval that ends at `at`: from the end of the one before it, or from the command's beginning in it.
    fn interval_ns(&mut self, at: Option<i64>) -> Option<i64> {
        let at = at?;
        if self.interval_end != Some(at) {
            self.interval_start = self.interval_end.unwrap_or(0);
            if let (Some(command), Some(start)) = (self.options.command_ns, self.options.started_ns) {
                let began = command.saturating_sub(start);
                if (self.interval_start..at).contains(&began) {
                    self.interval_start = began;
                }
            }
            self.interval_end = Some(at);
        }
        (at > self.interval_start).then(|| at - self.interval_start)
    }

    fn push(&mut self, session: &mut Session, reading: &Reading) {
        let clock_ns = self.clock_ns(reading);
        let interval_ns = match reading.elapsed_ns {
            Some(length) => {
                self.interval_end = self.interval_end.max(Some(length));
                Some(length)
            }
            None => self.interval_ns(reading.at_ns),
        };
        let end_ns = session.ts(clock_ns).or(reading.at_ns).or(reading.elapsed_ns).unwrap_or(0);
        // perf stat prints when an interval ended; a row says when it began.
        let ts_ns = end_ns.saturating_sub(interval_ns.unwrap_or(0));
        let (cpu, aggregate) = match &reading.scope {
            Scope::All => (None, None),
            Scope::Cpu(cpu) => (Some(*cpu), None),
            Scope::Named(name) => (None, Some(name.as_bytes())),
        };
        session.sink.tables.pmc_interval.push(PmcIntervalRow {
            ts_ns,
            interval_ns,
            source_id: self.source,
            cpu,
            aggregate,
            cpu_count: reading.cpu_count,
            cgroup: reading.cgroup.as_deref().map(str::as_bytes),
            event: reading.event.as_bytes(),
            unit: reading.unit.as_deref().map(str::as_bytes),
            count: reading.value,
            status: reading.status.as_str().as_bytes(),
            running_ns: reading.running_ns.and_then(|ns| i64::try_from(ns).ok()),
            running_ratio: reading.running_ratio,
            is_scaled: reading.running_ratio.map(|ratio| ratio < 1.0),
        });
        session.row_added();
        session.count_record(clock_ns, self.source, None);
        self.row_count += 1;
        self.counted += u64::from(reading.status == Status::Counted);
        self.waited |= reading.status == Status::NotCounted;
        let room = self.not_supported.len() < NAMES_MAX;
        if reading.status == Status::NotSupported && room && !self.not_supported.contains(&reading.event) {
            self.not_supported.push(reading.event.clone());
        }
    }
}

impl Source for PerfStat {
    fn next_ts(&self) -> Option<i64> {
        self.next.as_ref().map(|reading| self.clock_ns(reading))
    }

    fn step(&mut self, session: &mut Session) {
        if let Some(reading) = self.next.take() {
            self.push(session, &reading);
        }
        self.next = self.read();
    }

    fn finish(&mut self, session: &mut Session) {
        if let (None, Some(end)) = (self.options.started_ns, self.interval_end) {
            // All other sources are done: what the start is is settled now. A lone file's is perf stat's own.
            let start = session.start_ns();
            session.ts(start);
            session.ts(start.saturating_add(end));
        }
        let mut issue = |issue| session.issue_of(self.source, issue);
        if self.unknown.count > 0 {
            let message = format!(
                "{} lines are no counter values and were left out; the first: {:?}",
                self.unknown.count, self.unknown.first
            );
            issue(Issue::warning("unparsed_line", message).at(self.unknown.first_at));
        }
        if self.above.count > 0 {
            let message = format!(
                "{} lines above the first counter are not perf's and were left out; the first: {:?}",
                self.above.count, self.above.first
            );
            issue(Issue::info("banner", message).at(self.above.first_at));
        }
        if self.lines.cut() {
            let message = "the last line has no end: perf stat was killed while writing it";
            issue(Issue::info("truncated", message).at(self.lines.content.len() as u64));
        }
        if self.summary_count > 0 {
            let message = format!("{} lines of --summary were left out: they add up the intervals", self.summary_count);
            issue(Issue::info("summary_lines", message));
        }
        if !self.not_supported.is_empty() {
            let shown = self.not_supported[..self.not_supported.len().min(20)].join(", ");
            let message =
                format!("perf could not count these events, the machine or its kernel does not have them: {shown}");
            issue(Issue::info("not_supported", message));
        }
        if self.row_count == 0 {
            issue(Issue::warning("no_records", "there is no counter value in it"));
        } else if self.counted == 0 {
            // What never ran is not counted: an idle process, a control group without tasks.
            let severity = if self.waited { Severity::Info } else { Severity::Warning };
            let message = "not one event was counted in it: see pmc_interval.status";
            issue(Issue::new(severity, "nothing_counted", message));
        }
    }
}

/// The lines of the file with their offsets; a last one without an end is not given, for its numbers may be cut.
struct Lines {
    content: Content,
    at: usize,
}

impl Lines {
    fn next(&mut self) -> Option<(u64, String)> {
        let start = self.at;
        let rest = self.content.get(start..)?;
        let length = rest.iter().position(|&b| b == b'\n')?;
        self.at = start + length + 1;
        let line = &rest[..length.min(LINE_BYTES_MAX)];
        Some((start as u64, String::from_utf8_lossy(line).into_owned()))
    }

    fn cut(&self) -> bool {
        self.at < self.content.len()
    }
}

#[cfg(test)]
mod tests;
