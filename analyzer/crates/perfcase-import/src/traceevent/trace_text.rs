//! The lines of `trace-cmd report`, for a trace.dat or a folder of raw pages.

use std::cell::RefCell;
use std::ops::Deref;

use hashbrown::HashMap;
use perfcase_decode::format::EventFormat;
use perfcase_decode::ftrace::events::{CommonFields, Events};
use perfcase_decode::ftrace::stream::Loss;

use super::client::{Client, PrintError, Spawn};
use super::graph::{GraphFields, is_leaf};
use super::output::{Output, PrintOptions, Printed, Sink};
use super::printer::{Setup, Style};
use super::protocol::Request;

/// The subject of a request, to which its outcome belongs.
enum Tag {
    Format,
    Event { prefix: String, offset: u64 },
}

/// Prints the events of a capture in order, until `sink` returns false.
pub fn print<B: Deref<Target = [u8]> + Clone>(
    events: Events<B>,
    options: &PrintOptions,
    spawn: &mut dyn Spawn,
    sink: &mut Sink<'_>,
) -> Result<(), PrintError> {
    let mut report = Report::new(events, options);
    let output = RefCell::new(Output::new(sink));
    output.borrow_mut().line(report.first_line());
    if let Some(text) = &report.events.capture.latency_text {
        String::from_utf8_lossy(text).lines().for_each(|line| output.borrow_mut().line(line));
    }
    let damages = std::mem::take(&mut report.events.capture.damages);
    damages.into_iter().for_each(|damage| output.borrow_mut().problem(damage.byte_offset, damage.message));
    if let (Some(event), true) = (&options.event, report.known.values().all(|known| !known.is_selected)) {
        output.borrow_mut().problem(None, format!("the trace has no event {event}"));
    }
    let mut client = Client::new(spawn, options.deadline, report.base());
    let mut taken = |tag: Tag, outcome: Result<String, String>| {
        let mut output = output.borrow_mut();
        match (tag, outcome) {
            (Tag::Event { prefix, .. }, Ok(text)) => output.line(format!("{prefix}{text}")),
            (Tag::Event { offset, .. }, Err(why)) => output.problem(Some(offset), why),
            (Tag::Format, Err(why)) => output.problem(None, why),
            (Tag::Format, Ok(_)) => {}
        }
    };
    while let Some((requests, problems)) = report.next_event() {
        for (request, tag) in requests {
            client.send(request, tag, &mut taken)?;
        }
        problems.into_iter().for_each(|problem| output.borrow_mut().put(problem));
        if !output.borrow().goes_on {
            return Ok(());
        }
    }
    client.finish(&mut taken)?;
    report.damages().into_iter().for_each(|problem| output.borrow_mut().put(problem));
    Ok(())
}

/// An event's format, and whether the child knows it.
struct Known {
    format: EventFormat,
    text: String,
    is_selected: bool,
    is_sent: bool,
}

impl Known {
    /// Gives the format for the child, the first time only.
    fn introduce(&mut self) -> Option<(Request, Tag)> {
        if std::mem::replace(&mut self.is_sent, true) {
            return None;
        }
        let (system, text) = (self.format.system.clone(), std::mem::take(&mut self.text));
        Some((Request::Format { system, text }, Tag::Format))
    }
}

struct Report<'a, B> {
    events: Events<B>,
    options: &'a PrintOptions,
    common: CommonFields,
    known: HashMap<u32, Known>,
    graph: GraphFields,
    /// The width of the instances' names; 0 where there are none.
    name_width: usize,
    printed: u64,
}

type Requests = Vec<(Request, Tag)>;

impl<'a, B: Deref<Target = [u8]> + Clone> Report<'a, B> {
    fn new(events: Events<B>, options: &'a PrintOptions) -> Report<'a, B> {
        let capture = &events.capture;
        let long_size = capture.buffers.first().map_or(capture.long_size, |b| b.layout.commit_size as u8);
        let mut graph = GraphFields::new(capture.big_endian, long_size);
        let mut known = HashMap::new();
        for text in &capture.formats {
            let Ok(format) = EventFormat::parse(&text.system, &text.text) else { continue };
            graph.learn(&format);
            let is_selected = options.selects(&format.system, &format.name);
            known.insert(format.id, Known { text: text.text.clone(), is_selected, is_sent: false, format });
        }
        let all: Vec<EventFormat> = known.values().take(1).map(|k| k.format.clone()).collect();
        let common = CommonFields::of(&all, capture.big_endian);
        let name_width = capture.buffers.iter().map(|buffer| buffer.name.len()).max().unwrap_or(0);
        Report { events, options, common, known, graph, name_width, printed: 0 }
    }

    /// Gives `cpus=<n>`, the first line of trace-cmd.
    fn first_line(&self) -> String {
        let capture = &self.events.capture;
        let highest = capture.buffers.iter().flat_map(|b| &b.cpus).map(|cpu| cpu.cpu + 1).max();
        format!("cpus={}", capture.cpu_count.or(highest).unwrap_or(0))
    }

    fn base(&mut self) -> Vec<Request> {
        let capture = &mut self.events.capture;
        let long_size = capture.buffers.first().map_or(capture.long_size, |b| b.layout.commit_size as u8);
        let mut base =
            vec![Request::Setup(Setup { big_endian: capture.big_endian, long_size, style: Style::TraceCmd })];
        let mut add = |text: Vec<u8>, request: fn(Vec<u8>) -> Request| {
            if !text.is_empty() {
                base.push(request(text));
            }
        };
        add(std::mem::take(&mut capture.kallsyms), Request::Kallsyms);
        add(std::mem::take(&mut capture.printk_formats), Request::PrintkFormats);
        add(std::mem::take(&mut capture.saved_cmdlines), Request::Comms);
        base
    }

    /// Gives the requests of the next selected event, and the problems before it; `None` at the end.
    fn next_event(&mut self) -> Option<(Requests, Vec<Printed>)> {
        if self.options.is_reached(self.printed) {
            return None;
        }
        let (ts, index) = self.events.merge.peek()?;
        let mut prefix = self.buffer_prefix(index);
        let mut problems = Vec::new();
        if self.events.merge.stream(index).has_news() {
            let stream = self.events.merge.stream_mut(index);
            let damages = stream.take_damages();
            problems
                .extend(damages.into_iter().map(|d| Printed::Problem { offset: d.byte_offset, message: d.message }));
            let losses = stream.take_losses();
            losses.iter().for_each(|loss| prefix.push_str(&loss_line(stream.cpu, loss)));
        }
        let stream = self.events.merge.stream(index);
        let (cpu, offset, data) = (stream.cpu, stream.offset(), stream.record().to_vec());
        self.events.merge.advance();
        let Some(known) = self.common.id(&data).and_then(|id| self.known.get_mut(&id)) else {
            let message = "no format describes this record".to_owned();
            problems.push(Printed::Problem { offset: Some(offset), message });
            return Some((Vec::new(), problems));
        };
        if !known.is_selected {
            return Some((Vec::new(), problems));
        }
        let mut requests = Vec::new();
        requests.extend(known.introduce());
        let following = self.take_return(index, &data);
        if let Some(known) = following.as_deref().and_then(|next| self.known.get_mut(&self.common.id(next)?)) {
            requests.extend(known.introduce());
        }
        let ts = self.shown_time(ts);
        requests.push((Request::Record { ts, cpu, data, following }, Tag::Event { prefix, offset }));
        self.printed += 1;
        Some((requests, problems))
    }

    /// Takes the next record too, if it is the return of the call in `data`.
    fn take_return(&mut self, index: usize, data: &[u8]) -> Option<Vec<u8>> {
        let (_, next) = self.events.merge.peek()?;
        let record = self.events.merge.stream(next).record();
        let same_buffer = std::ptr::eq(self.events.buffer(next), self.events.buffer(index));
        let returned = (same_buffer && is_leaf(&self.graph, data, record)).then(|| record.to_vec())?;
        self.events.merge.advance();
        Some(returned)
    }

    /// Gives the first part of a line: where there are instances, every line begins with the name of its buffer.
    fn buffer_prefix(&self, index: usize) -> String {
        match (self.name_width, self.events.buffer(index).name.as_str()) {
            (0, _) => String::new(),
            (width, "") => format!("{:width$}  ", ""),
            (width, name) => format!("{name:>width$}: "),
        }
    }

    fn shown_time(&self, ts: u64) -> u64 {
        let capture = &self.events.capture;
        let is_tsc = capture.buffers.iter().any(|buffer| buffer.clock == "x86-tsc");
        let ts = capture.tsc_to_ns.filter(|_| is_tsc).map_or(ts, |tsc| tsc.convert(ts));
        ts.wrapping_add_signed(capture.ts_offset_ns)
    }

    fn damages(&mut self) -> Vec<Printed> {
        let mut damages = Vec::new();
        for index in 0..self.events.merge.stream_count() {
            damages.extend(self.events.merge.stream_mut(index).take_damages());
        }
        damages.into_iter().map(|d| Printed::Problem { offset: d.byte_offset, message: d.message }).collect()
    }
}

fn loss_line(cpu: u32, loss: &Loss) -> String {
    match loss.count {
        Some(count) => format!("CPU:{cpu} [{count} EVENTS DROPPED]\n"),
        None => format!("CPU:{cpu} [EVENTS DROPPED]\n"),
    }
}
