//! `perf stat` output, CSV (`-x`), JSON (`-j`) or text for people, to rows of `pmc_interval`.

use perfcase_archive::{Content, Issue, Severity};
use perfcase_decode::perf_stat::reader::Reader;
use perfcase_decode::perf_stat::{Reading, Scope, Status};

use crate::session::{NO_TIME, Session, SourceId};
use crate::source::Source;
use crate::tables::PmcIntervalRow;

/// The most events that an issue names.
const NAMES_MAX: usize = 100;

/// What the importer knows and the text does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The capture's clock when perf stat started: its times count from there. Without it they count from the capture's
    /// start.
    pub started_ns: Option<i64>,
    /// The capture's clock when perf stat ended: the time of totals without `-I`.
    pub ended_ns: Option<i64>,
    /// The capture's clock when the only counted command began: the interval that contains this moment begins then.
    pub command_ns: Option<i64>,
}

/// Starts to read `perf stat` output. It never fails: unknown lines become issues.
pub fn open(content: Content, source: SourceId, options: Options) -> Box<dyn Source> {
    let mut reader = Reader::new(content);
    Box::new(PerfStat {
        next: reader.next(),
        reader,
        source,
        options,
        interval_end: None,
        interval_start: 0,
        not_supported: Vec::new(),
        row_count: 0,
        counted: 0,
        waited: false,
    })
}

struct PerfStat {
    reader: Reader<Content>,
    source: SourceId,
    options: Options,
    next: Option<Reading>,
    interval_end: Option<i64>,
    interval_start: i64,
    not_supported: Vec<String>,
    row_count: u64,
    counted: u64,
    /// An event had nothing to count.
    waited: bool,
}

impl PerfStat {
    /// Gives the reading's time on the capture's clock, in ns; [`NO_TIME`] where the start of perf stat is unknown.
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

    /// Gives the length in ns of the interval that ends at `at`: from the end of the interval before it, or from the
    /// command's beginning in it.
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
        // perf stat prints the end of an interval, and a row has its beginning.
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
        self.next = self.reader.next();
    }

    fn finish(&mut self, session: &mut Session) {
        if let (None, Some(end)) = (self.options.started_ns, self.interval_end) {
            // All other sources are done, so the capture's start is known now. Without other sources it is the start of
            // perf stat.
            let start = session.start_ns();
            session.ts(start);
            session.ts(start.saturating_add(end));
        }
        let mut issue = |issue| session.issue_of(self.source, issue);
        for problem in self.reader.problems() {
            issue(problem);
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
            // Nothing ran, so nothing was counted: an idle process, a control group without tasks.
            let severity = if self.waited { Severity::Info } else { Severity::Warning };
            let message = "not one event was counted in it: see pmc_interval.status";
            issue(Issue::new(severity, "nothing_counted", message));
        }
    }
}

#[cfg(test)]
mod tests;
