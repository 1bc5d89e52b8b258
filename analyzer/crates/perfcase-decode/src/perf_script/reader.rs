//! Text of `perf script`: its header, and its samples with their callchains, one after the other.

use std::borrow::Cow;
use std::ops::Deref;

use perfcase_archive::Issue;

use super::details::{Details, MOST_BRANCHES};
use super::frame::{self, Frame};
use super::head::{self, Head, What, tracepoint};
use super::header::{self, Fact};
use crate::NO_TIME;

/// The longest part of a line that is read, in bytes.
const LINE_BYTES_MAX: usize = 64 << 10;
/// The most frames of a callchain.
const MOST_FRAMES: usize = 4096;
/// The most unknown lines that get their own issue.
const MOST_SHOWN: u64 = 20;

/// The place of a sample's head, and its time.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    start: usize,
    end: usize,
    /// The time in ns; [`NO_TIME`] where it was not printed.
    pub clock_ns: i64,
}

/// A sample.
#[derive(Debug)]
pub struct Sample<'a> {
    /// Its first line.
    pub head: Head<'a>,
    /// Its event. If none was printed: the only event of the header, or `unknown`.
    pub event: Cow<'a, str>,
    /// The sampled address, if it is on the first line.
    pub own: Option<Frame<'a>>,
    /// The printed fields of a tracepoint.
    pub fields: &'a str,
    /// The rarer fields.
    pub details: Details,
}

impl Sample<'_> {
    /// Gives the system and the name of a tracepoint's event; `None` for an event like `cycles:u`.
    pub fn tracepoint(&self) -> Option<(&str, &str)> {
        tracepoint(&self.event)
    }
}

/// Counts what exceeds a bound. Only hostile texts do: perf prints far less.
#[derive(Default)]
struct LeftOut {
    /// Lines that were not read to their end.
    lines: u64,
    frames: u64,
    branches: u64,
}

/// Reads the samples of a text in their order. It never fails: unknown lines become problems.
pub struct Reader<B> {
    bytes: B,
    /// Where the next line begins.
    at: usize,
    line_number: u64,
    sample_count: u64,
    /// Events that perf lost while it recorded.
    pub lost_count: u64,
    unknown_count: u64,
    untimed_count: u64,
    /// The place of the last line, if it has no end: it is left out, because half an address or name would be wrong.
    cut_at: Option<usize>,
    left_out: LeftOut,
    /// Samples with registers of one kind, where both kinds were recorded.
    unclear_registers: u64,
    /// What the header says is recorded: registers at the interrupt, of the user.
    records_registers: (bool, bool),
    /// A time has nine digits behind the point.
    has_digits: bool,
    has_times: bool,
    /// Whether the first head has neither time nor CPU: then all heads may be like that, otherwise none is.
    is_bare: Option<bool>,
    /// The names of the first two events in the header, for samples without an event.
    header_events: Vec<String>,
    /// Problems that nobody took yet.
    problems: Vec<Issue>,
}

impl<B: Deref<Target = [u8]>> Reader<B> {
    /// Starts at the first line.
    pub fn new(bytes: B) -> Reader<B> {
        Reader {
            bytes,
            at: 0,
            line_number: 0,
            sample_count: 0,
            lost_count: 0,
            unknown_count: 0,
            untimed_count: 0,
            cut_at: None,
            left_out: LeftOut::default(),
            unclear_registers: 0,
            records_registers: (false, false),
            has_digits: false,
            has_times: false,
            is_bare: None,
            header_events: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Goes to the head of the next sample; `None` at the end. `header` gets each line before it that begins with `#`, as
    /// its fact where it has one.
    pub fn advance(&mut self, mut header: impl FnMut(Option<Fact<'_>>)) -> Option<Next> {
        while let Some((start, end)) = self.line() {
            let line = self.text(start, end);
            if line.trim().is_empty() {
                continue;
            }
            if line.starts_with('#') {
                let line = line.into_owned();
                self.event_line(&line);
                header(header::parse(&line));
                continue;
            }
            match self.head(&line, end) {
                Some(Head { what: What::Record(text), .. }) => {
                    let lost = lost(text);
                    self.lost_count += lost;
                }
                Some(head) => {
                    let (clock_ns, is_bare) = (head.clock_ns, head.is_bare());
                    self.is_bare.get_or_insert(is_bare);
                    return Some(Next { start, end, clock_ns });
                }
                None => self.unknown(start),
            }
        }
        None
    }

    /// Gives the first line of a sample, for [`Reader::sample`].
    pub fn first_line(&self, next: Next) -> String {
        self.text(next.start, next.end).into_owned()
    }

    /// Reads the sample whose first line is `line`; `frame` gets the frames of its callchain, the innermost first.
    pub fn sample<'a>(&mut self, next: Next, line: &'a str, mut frame: impl FnMut(&Frame<'_>)) -> Option<Sample<'a>> {
        if next.clock_ns != NO_TIME {
            self.has_times = true;
            self.has_digits |= next.clock_ns % 1000 != 0;
        }
        let head = head::parse(line)?;
        let What::Sample(event, rest) = head.what else { return None };
        let event = match event {
            "" => Cow::Owned(self.only_event()),
            event => Cow::Borrowed(event),
        };
        let is_tracepoint = tracepoint(&event).is_some();
        // A sampled address stands on the line itself, a callchain below it.
        let mut details = Details::default();
        let has_chain = self.chain(&mut details, &mut frame);
        let (fields, own) = if is_tracepoint {
            frame::split_off(rest)
        } else {
            let place = details.of_line(rest, has_chain);
            (place, frame::parse(place))
        };
        if !is_tracepoint && own.is_none() && !fields.trim().is_empty() {
            self.unknown(next.start);
        }
        self.sample_count += 1;
        self.left_out.branches += details.branches_left_out;
        self.unclear_registers += u64::from(details.name_registers(self.records_registers));
        self.untimed_count += u64::from(is_tracepoint && head.clock_ns == NO_TIME);
        Some(Sample { head, event, own, fields, details })
    }

    /// Takes the problems with single lines so far.
    pub fn take_problems(&mut self) -> Vec<Issue> {
        std::mem::take(&mut self.problems)
    }

    /// Gives the problems with the whole text, at its end.
    pub fn problems(&self) -> Vec<Issue> {
        let mut problems = Vec::new();
        if self.unknown_count > MOST_SHOWN {
            let message = format!("{} lines in all were not understood and were left out", self.unknown_count);
            problems.push(Issue::warning("unparsed_lines", message));
        }
        if self.lost_count > 0 {
            let message = format!("perf lost {} events while it recorded", self.lost_count);
            problems.push(Issue::warning("lost_events", message));
        }
        if self.sample_count == 0 {
            problems.push(Issue::warning("no_records", "there is no sample in it"));
        }
        if let Some(at) = self.cut_at {
            let message = "the text ends inside a line, which is left out: a copy of it stopped early";
            problems.push(Issue::error("truncated", message).at(at as u64));
        }
        if self.untimed_count > 0 {
            let message = format!("{} tracepoints have no time and are only samples", self.untimed_count);
            problems.push(Issue::warning("untimed_tracepoint", message));
        }
        for (kind, count, message) in [
            ("long_lines", self.left_out.lines, format!("only the first {LINE_BYTES_MAX} bytes of a line are read")),
            ("deep_stacks", self.left_out.frames, format!("callers beyond {MOST_FRAMES} frames were left out")),
            ("long_branch_stacks", self.left_out.branches, format!("branches beyond {MOST_BRANCHES} were left out")),
        ] {
            if count > 0 {
                problems.push(Issue::warning(kind, message).count(count));
            }
        }
        if self.unclear_registers > 0 {
            let message = format!(
                "{} samples have registers of one kind, and the text does not say which: perf script -F iregs,uregs prints both",
                self.unclear_registers
            );
            problems.push(Issue::warning("unclear_registers", message));
        }
        problems
    }

    /// Gives the problem with the times of all samples, at the end of the text.
    pub fn problem_with_times(&self) -> Option<Issue> {
        if self.sample_count > 0 && !self.has_times {
            let message = "samples have no times: perf script -F +time prints them";
            return Some(Issue::info("no_time", message));
        }
        let message = "times are in microseconds: perf script --ns prints all digits";
        (self.sample_count > 0 && !self.has_digits).then(|| Issue::info("rounded_times", message))
    }

    /// Gives the next line: its beginning and its end in the text.
    fn line(&mut self) -> Option<(usize, usize)> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let Some(length) = rest.iter().position(|&b| b == b'\n') else {
            self.at = self.bytes.len();
            self.cut_at = Some(start);
            return None;
        };
        self.at = start + length + 1;
        self.line_number += 1;
        self.left_out.lines += u64::from(length > LINE_BYTES_MAX);
        Some((start, start + length.min(LINE_BYTES_MAX)))
    }

    fn text(&self, start: usize, end: usize) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes[start..end])
    }

    /// Reads what a line of the header says of an event.
    fn event_line(&mut self, line: &str) {
        if let Some(event) = header::event(line)
            && self.header_events.len() < 2
        {
            self.header_events.push(event.to_string());
        }
        let (at_interrupt, of_user) = header::registers(line);
        self.records_registers.0 |= at_interrupt;
        self.records_registers.1 |= of_user;
    }

    /// Gives the event of samples without one: the only event of the header.
    fn only_event(&self) -> String {
        match &self.header_events[..] {
            [only] => only.clone(),
            _ => "unknown".to_string(),
        }
    }

    /// Reads a head. A head without time and CPU looks like any words with a number. So it counts only if other heads
    /// are like that, and if a callchain follows, the address is on the line, or neither exists.
    fn head<'a>(&self, line: &'a str, end: usize) -> Option<Head<'a>> {
        let head = head::parse(line)?;
        if !head.is_vague() {
            return Some(head);
        }
        let has_address =
            matches!(head.what, What::Sample(event, rest) if !event.is_empty() && frame::parse(rest).is_some());
        let next = self.next_line(end);
        let is_followed = is_frame(&next) || (self.is_bare.is_some() && next.trim().is_empty());
        let is_expected = self.is_bare.unwrap_or(true) || !head.is_bare();
        (is_expected && (is_followed || has_address)).then_some(head)
    }

    /// Gives the line after the line that ends at `end`.
    fn next_line(&self, end: usize) -> Cow<'_, str> {
        let rest = self.bytes.get(end..).unwrap_or_default();
        let next = rest.iter().position(|&b| b == b'\n').map_or(rest.len(), |newline| newline + 1);
        let rest = &rest[next..];
        let length =
            rest.iter().take(LINE_BYTES_MAX).position(|&b| b == b'\n').unwrap_or(rest.len().min(LINE_BYTES_MAX));
        String::from_utf8_lossy(&rest[..length])
    }

    #[cold]
    fn unknown(&mut self, start: usize) {
        self.unknown_count += 1;
        if self.unknown_count <= MOST_SHOWN {
            let end = self.bytes[start..].iter().position(|&b| b == b'\n').map_or(self.bytes.len(), |n| start + n);
            let shown: String = self.text(start, end.min(start + 400)).chars().take(80).collect();
            let message = format!("line {} is neither a sample nor part of a callchain: {shown:?}", self.line_number);
            self.problems.push(Issue::warning("unparsed_line", message).at(start as u64));
        }
    }

    /// Reads the callchain below a head: the frames' lines up to a blank line or the next head. False where there is none.
    fn chain(&mut self, details: &mut Details, each: &mut impl FnMut(&Frame<'_>)) -> bool {
        let mut count = 0;
        loop {
            let before = (self.at, self.line_number, self.left_out.lines);
            let Some((start, end)) = self.line() else { break };
            if self.bytes[start..end].trim_ascii().is_empty() {
                // Editors and pipes add blank lines: the callchain is still to come.
                if count == 0 && is_frame(&self.next_line(end)) {
                    continue;
                }
                break;
            }
            let line = self.text(start, end).into_owned();
            // A sample without a callchain has no blank line behind it. Heads are tried first: a thread may be called
            // `dd`.
            if line.starts_with('#') || self.head(&line, end).is_some() {
                (self.at, self.line_number, self.left_out.lines) = before;
                break;
            }
            if details.of_last_line(&line) {
                continue;
            }
            // Without the indentation, the object shows that it is a frame.
            match frame::parse(&line).filter(|frame| line.starts_with([' ', '\t']) || frame.object.is_some()) {
                Some(frame) if count < MOST_FRAMES => {
                    each(&frame);
                    count += 1;
                }
                Some(_) => self.left_out.frames += 1,
                None => self.unknown(start),
            }
        }
        count > 0
    }
}

/// Tells whether a line is an indented line of a callchain.
fn is_frame(line: &str) -> bool {
    line.starts_with([' ', '\t']) && frame::parse(line).is_some()
}

/// Gives the losses that a record counts: `PERF_RECORD_LOST lost 31`, `PERF_RECORD_LOST_SAMPLES lost 31`.
fn lost(text: &str) -> u64 {
    let is_loss = text.starts_with("PERF_RECORD_LOST");
    let number = text.rsplit(' ').next().and_then(|word| word.parse().ok());
    number.filter(|_| is_loss).unwrap_or(0)
}
