//! Lines to samples, samples to the session.

use hashbrown::HashMap;
use perfcase_archive::{Content, Issue};
use perfcase_decode::format::state_bits::is_old;
use perfcase_decode::perf_data::sample::ids;
use perfcase_decode::perf_script::details::{Details, MOST_BRANCHES};
use perfcase_decode::perf_script::fields;
use perfcase_decode::perf_script::frame::{self, Frame};
use perfcase_decode::perf_script::head::{self, Head, What};

use super::header;
use super::layout::Layouts;
use crate::model::Record;
use crate::session::{EventAttr, EventId, NO_TIME, Session, SourceId};
use crate::source::Source;
use crate::syscall_names;
use crate::tables::SampleRow;

/// Longest line that is looked at.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Frames of one callchain that are kept.
const MOST_FRAMES: usize = 4096;
/// Lines that are not understood and have an issue of their own.
const MOST_SHOWN: u64 = 20;

/// Starts to read `perf script` text. It never fails: lines that are not understood become issues.
pub fn open(content: Content, session: &mut Session, source: SourceId) -> Box<dyn Source> {
    let mut script = PerfScript {
        content,
        at: 0,
        line_number: 0,
        source,
        next: None,
        events: HashMap::new(),
        layouts: Layouts::default(),
        call_numbers: None,
        sample_count: 0,
        record_count: 0,
        lost_count: 0,
        unknown_count: 0,
        untimed_count: 0,
        cut_at: None,
        inlined_count: 0,
        left_out: LeftOut::default(),
        unclear_registers: 0,
        records_registers: (false, false),
        has_digits: false,
        has_times: false,
        is_old_kernel: false,
        is_bare: None,
        header_events: Vec::new(),
    };
    // The host's facts stand before the samples, and the architecture names the system calls.
    script.advance(session);
    Box::new(script)
}

/// Where the head of a sample is, and its time.
#[derive(Clone, Copy)]
struct Next {
    start: usize,
    end: usize,
    clock_ns: i64,
}

/// What was beyond a bound, for hostile texts: perf prints far less.
#[derive(Default)]
struct LeftOut {
    /// Lines of which the end was not looked at.
    lines: u64,
    frames: u64,
    branches: u64,
}

pub(super) struct PerfScript {
    content: Content,
    /// Where the next line begins.
    at: usize,
    line_number: u64,
    source: SourceId,
    next: Option<Next>,
    events: HashMap<String, EventId>,
    layouts: Layouts,
    /// Numbers of the system calls by name: the text of their own tracepoints has only the name.
    call_numbers: Option<HashMap<&'static str, i64>>,
    sample_count: u64,
    record_count: u64,
    lost_count: u64,
    unknown_count: u64,
    untimed_count: u64,
    /// Where the last line begins, of one that has no end: half an address or name would be another one.
    cut_at: Option<usize>,
    inlined_count: u64,
    left_out: LeftOut,
    /// Samples with registers of one kind, where both kinds were recorded.
    pub(super) unclear_registers: u64,
    /// What the header says is recorded: registers at the interrupt, of the user.
    pub(super) records_registers: (bool, bool),
    /// A time had nine digits behind the point.
    has_digits: bool,
    has_times: bool,
    /// The header names a kernel before 4.14.
    is_old_kernel: bool,
    /// Whether the first head had neither time nor CPU: then all may be so, else none is.
    is_bare: Option<bool>,
    /// Names of events in the header, for samples without: the first two.
    header_events: Vec<String>,
}

impl PerfScript {
    /// The next line: its begin and its end in the text.
    fn line(&mut self) -> Option<(usize, usize)> {
        let rest = self.content.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let Some(length) = rest.iter().position(|&b| b == b'\n') else {
            self.at = self.content.len();
            self.cut_at = Some(start);
            return None;
        };
        self.at = start + length + 1;
        self.line_number += 1;
        self.left_out.lines += u64::from(length > LINE_BYTES_MAX);
        Some((start, start + length.min(LINE_BYTES_MAX)))
    }

    fn text(&self, start: usize, end: usize) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.content[start..end])
    }

    /// Goes to the head of the next sample.
    fn advance(&mut self, session: &mut Session) {
        self.next = None;
        while let Some((start, end)) = self.line() {
            let line = self.text(start, end);
            if line.trim().is_empty() {
                continue;
            }
            if line.starts_with('#') {
                let line = line.into_owned();
                if let Some(event) = line.strip_prefix("# event : name = ")
                    && self.header_events.len() < 2
                {
                    self.header_events.push(event.split(", ").next().unwrap_or_default().to_string());
                }
                if line.starts_with("# event : ") {
                    self.records_registers.0 |= line.contains("REGS_INTR");
                    self.records_registers.1 |= line.contains("REGS_USER");
                }
                let mut host = std::mem::take(&mut session.model.host);
                if let Some(info) = session.source_info(self.source) {
                    header::take(&line, &mut host, info);
                }
                session.model.host = host;
                self.is_old_kernel = session.model.host.kernel_release.as_deref().is_some_and(is_old);
                if let Some(machine) = session.model.host.machine.clone() {
                    session.set_machine(&machine);
                }
                continue;
            }
            match self.head(&line, end) {
                Some(Head { what: What::Record(text), .. }) => {
                    let lost = lost(text);
                    self.record_count += 1;
                    self.lost_count += lost;
                }
                Some(head) => {
                    let (clock_ns, is_bare) = (head.clock_ns, head.is_bare());
                    self.is_bare.get_or_insert(is_bare);
                    self.next = Some(Next { start, end, clock_ns });
                    return;
                }
                None => self.unknown(session, start),
            }
        }
    }

    /// The head that a line is. Any words and a number look like one without time and CPU: it is one where others are, and
    /// where the callchain follows, the address stands on the line, or there is neither.
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

    /// The line behind one that ends at `end`.
    fn next_line(&self, end: usize) -> std::borrow::Cow<'_, str> {
        let rest = self.content.get(end..).unwrap_or_default();
        let next = rest.iter().position(|&b| b == b'\n').map_or(rest.len(), |newline| newline + 1);
        let rest = &rest[next..];
        let length =
            rest.iter().take(LINE_BYTES_MAX).position(|&b| b == b'\n').unwrap_or(rest.len().min(LINE_BYTES_MAX));
        String::from_utf8_lossy(&rest[..length])
    }

    #[cold]
    fn unknown(&mut self, session: &mut Session, start: usize) {
        self.unknown_count += 1;
        if self.unknown_count <= MOST_SHOWN {
            let end = self.content[start..].iter().position(|&b| b == b'\n').map_or(self.content.len(), |n| start + n);
            let shown: String = self.text(start, end.min(start + 400)).chars().take(80).collect();
            let message = format!("line {} is neither a sample nor part of a callchain: {shown:?}", self.line_number);
            session.issue_of(self.source, Issue::warning("unparsed_line", message).at(start as u64));
        }
    }

    /// The callchain below a head: the frames' lines up to a blank line or the next head.
    fn chain(&mut self, session: &mut Session, details: &mut Details) -> Vec<u32> {
        let mut ids = Vec::new();
        loop {
            let before = (self.at, self.line_number, self.left_out.lines);
            let Some((start, end)) = self.line() else { break };
            if self.content[start..end].trim_ascii().is_empty() {
                // Editors and pipes add blank lines: the callchain is still to come.
                if ids.is_empty() && is_frame(&self.next_line(end)) {
                    continue;
                }
                break;
            }
            let line = self.text(start, end).into_owned();
            // A sample without a callchain has no blank line behind it. Heads first: a thread may be called `dd`.
            if line.starts_with('#') || self.head(&line, end).is_some() {
                (self.at, self.line_number, self.left_out.lines) = before;
                break;
            }
            if details.of_last_line(&line) {
                continue;
            }
            // Where the indentation is lost, the object tells a frame.
            match frame::parse(&line).filter(|frame| line.starts_with([' ', '\t']) || frame.object.is_some()) {
                Some(frame) if ids.len() < MOST_FRAMES => ids.push(self.frame(session, &frame)),
                Some(_) => self.left_out.frames += 1,
                None => self.unknown(session, start),
            }
        }
        ids
    }

    fn frame(&mut self, session: &mut Session, frame: &Frame<'_>) -> u32 {
        self.inlined_count += u64::from(frame.is_inlined);
        session.named_frame(frame.object, frame.address, frame.is_kernel, frame.symbol, frame.offset)
    }

    fn event(&mut self, session: &mut Session, name: &str, is_tracepoint: bool) -> EventId {
        if let Some(&id) = self.events.get(name) {
            return id;
        }
        let kind = is_tracepoint.then(|| "tracepoint".to_string());
        let id = session.event(EventAttr {
            source: self.source,
            name: name.to_string(),
            kind,
            is_tracepoint,
            ..EventAttr::default()
        });
        self.events.insert(name.to_string(), id);
        id
    }

    /// The number of the call of `sys_enter_openat` or `sys_exit_openat`.
    fn call_number(&mut self, session: &Session, event: &str) -> Option<i64> {
        let numbers = self.call_numbers.get_or_insert_with(|| {
            let names = syscall_names::table(session.model.host.machine.as_deref());
            let mut numbers = HashMap::new();
            // The machine's own convention comes first.
            for (_, number, name, _) in names.each() {
                numbers.entry(name).or_insert(number);
            }
            numbers
        });
        let name = event.strip_prefix("sys_enter_").or_else(|| event.strip_prefix("sys_exit_"))?;
        // The kernel's function is called after its history: newfstat, sendfile64.
        let plain = name.strip_prefix("new").unwrap_or(name);
        let plain = plain.strip_suffix("64").unwrap_or(plain);
        numbers.get(name).or_else(|| numbers.get(plain)).copied()
    }

    fn sample(&mut self, session: &mut Session, next: Next) {
        let line = self.text(next.start, next.end).into_owned();
        let Some(head) = head::parse(&line) else { return };
        let What::Sample(event, rest) = head.what else { return };
        let only = self.header_events.first().filter(|_| self.header_events.len() == 1).cloned();
        let unnamed = only.unwrap_or_else(|| "unknown".to_string());
        let event = if event.is_empty() { &unnamed } else { event };
        let tracepoint = tracepoint_name(event);
        // A sampled address stands on the line itself, a callchain below it.
        let mut details = Details::default();
        let chain = self.chain(session, &mut details);
        let (rest, own) = match tracepoint {
            None => {
                let place = details.of_line(rest, !chain.is_empty());
                (place, frame::parse(place))
            }
            Some(_) => frame::split_off(rest),
        };
        if tracepoint.is_none() && own.is_none() && !rest.trim().is_empty() {
            self.unknown(session, next.start);
        }
        let own = own.map(|frame| (self.frame(session, &frame), frame.is_kernel));
        let frame_id = own.map(|(id, _)| id).or(chain.first().copied());
        let is_kernel = frame_id.is_some_and(|id| session.is_kernel_frame(id));
        let stack_id = session.named_stack(&chain);
        let (pid, tid) = ids((head.pid.unwrap_or(if head.tid == 0 { 0 } else { -1 }), head.tid));
        let utid = tid.map(|tid| session.utid(head.clock_ns, tid, pid));
        // perf calls a thread whose name it does not know by its number.
        let is_named = !head.comm.is_empty() && !head.comm.starts_with(':');
        if let (Some(tid), true) = (tid.filter(|&tid| tid != 0), is_named) {
            session.comm(head.clock_ns, pid, tid, head.comm.as_bytes());
        }
        let event_id = self.event(session, event, tracepoint.is_some());
        session.count_record(head.clock_ns, self.source, Some(event_id));
        let sample_id = session.next_sample_id();
        let ts_ns = session.ts(head.clock_ns);
        let name_id = utid.map(|utid| session.name_at(head.clock_ns, utid));
        session.sink.tables.sample.push(SampleRow {
            sample_id,
            ts_ns,
            cpu: head.cpu,
            utid,
            name_id,
            event_id,
            period: head.period,
            cpu_mode: match frame_id {
                None => 0,
                Some(_) if is_kernel => 1,
                Some(_) => 2,
            },
            frame_id,
            stack_id,
        });
        session.row_added();
        self.sample_count += 1;
        self.left_out.branches += details.branches_left_out;
        self.details(session, sample_id, details);
        let Some((system, name)) = tracepoint else { return };
        if head.clock_ns == NO_TIME {
            self.untimed_count += 1;
            return;
        }
        let mut printed = fields::parse(system, name, rest, self.is_old_kernel);
        if system == "syscalls"
            && let Some(number) = self.call_number(session, name)
        {
            printed.insert(0, ("__syscall_nr".to_string(), fields::Value::Int(number)));
        }
        let laid_out = self.layouts.lay_out(session, self.source, (system, name), &printed);
        let Some((id, payload)) = laid_out else { return };
        let record = Record { clock_ns: head.clock_ns, cpu: head.cpu, tid, pid, stack: stack_id, payload };
        session.tracepoint(id, record);
    }
}

/// An indented line of a callchain.
fn is_frame(line: &str) -> bool {
    line.starts_with([' ', '\t']) && frame::parse(line).is_some()
}

/// System and name of a tracepoint's event; `None` for `cycles:u` and its like.
fn tracepoint_name(event: &str) -> Option<(&str, &str)> {
    let (system, name) = event.split_once(':')?;
    let is_modifier = name.len() <= 8 && name.bytes().all(|b| b"ukhHGIpPSDWeb".contains(&b));
    (!is_modifier && !system.is_empty() && !system.contains('/')).then_some((system, name))
}

/// How much a record says was lost: `PERF_RECORD_LOST lost 31`, `PERF_RECORD_LOST_SAMPLES lost 31`.
fn lost(text: &str) -> u64 {
    let is_loss = text.starts_with("PERF_RECORD_LOST");
    let number = text.rsplit(' ').next().and_then(|word| word.parse().ok());
    number.filter(|_| is_loss).unwrap_or(0)
}

impl Source for PerfScript {
    fn next_ts(&self) -> Option<i64> {
        self.next.map(|next| next.clock_ns)
    }

    fn step(&mut self, session: &mut Session) {
        if let Some(next) = self.next.take() {
            if next.clock_ns != NO_TIME {
                self.has_times = true;
                self.has_digits |= next.clock_ns % 1000 != 0;
            }
            self.sample(session, next);
        }
        self.advance(session);
    }

    fn finish(&mut self, session: &mut Session) {
        session.lost(self.source, self.lost_count);
        let has_calls =
            self.events.keys().any(|name| name.starts_with("raw_syscalls:") || name.starts_with("syscalls:"));
        let has_machine = session.model.host.machine.is_some();
        let mut issue = |issue| session.issue_of(self.source, issue);
        if self.unknown_count > MOST_SHOWN {
            let message = format!("{} lines in all were not understood and were left out", self.unknown_count);
            issue(Issue::warning("unparsed_lines", message));
        }
        if self.lost_count > 0 {
            let message = format!("perf lost {} events while it recorded", self.lost_count);
            issue(Issue::warning("lost_events", message));
        }
        if self.sample_count == 0 {
            issue(Issue::warning("no_records", "there is no sample in it"));
        }
        if let Some(at) = self.cut_at {
            let message = "the text ends inside a line, which is left out: a copy of it stopped early";
            issue(Issue::error("truncated", message).at(at as u64));
        }
        if self.untimed_count > 0 {
            let message = format!("{} tracepoints have no time and are only samples", self.untimed_count);
            issue(Issue::warning("untimed_tracepoint", message));
        }
        for (kind, count, message) in [
            ("long_lines", self.left_out.lines, format!("only the first {LINE_BYTES_MAX} bytes of a line are read")),
            ("deep_stacks", self.left_out.frames, format!("callers beyond {MOST_FRAMES} frames were left out")),
            ("long_branch_stacks", self.left_out.branches, format!("branches beyond {MOST_BRANCHES} were left out")),
        ] {
            if count > 0 {
                issue(Issue::warning(kind, message).count(count));
            }
        }
        if self.unclear_registers > 0 {
            let message = format!(
                "{} samples have registers of one kind, and the text does not say which: perf script -F iregs,uregs prints both",
                self.unclear_registers
            );
            issue(Issue::warning("unclear_registers", message));
        }
        if has_calls && !has_machine {
            let message =
                "system calls are not named, or not known at all: perf script --header tells the architecture";
            issue(Issue::warning("unknown_machine", message));
        }
        if self.sample_count > 0 && !self.has_times {
            let message = "samples have no times: perf script -F +time prints them";
            issue(Issue::info("no_time", message));
        } else if self.sample_count > 0 && !self.has_digits {
            let message = "times are in microseconds: perf script --ns prints all digits";
            issue(Issue::info("rounded_times", message));
        }
    }
}
