//! The lines of `perf script` for the tracepoints of a perf.data, as it prints them with `-G` (no callchains) and
//! `-F comm,tid,cpu,time,event,trace`. The lines look like those of perf 6.1.

use std::cell::RefCell;

use hashbrown::HashMap;
use perfcase_decode::format::EventFormat;
use perfcase_decode::perf_data::attr::TYPE_TRACEPOINT;
use perfcase_decode::perf_data::bytes::{ByteOrder, Cursor};
use perfcase_decode::perf_data::record::{self, Record, RecordHeader, kind};
use perfcase_decode::perf_data::recording::Recording;
use perfcase_decode::perf_data::scan::scan;

use super::client::{Client, PrintError, Spawn};
use super::output::{Output, PrintOptions, Sink};
use super::printer::{Setup, Style};
use super::protocol::Request;

/// Why a perf.data has no lines.
#[derive(Debug, thiserror::Error)]
pub enum PerfTextError {
    /// The file is no perf.data.
    #[error("{0}")]
    Unreadable(String),
    /// The printer failed.
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// The subject of a request, to which its outcome belongs.
enum Tag {
    Format,
    Event { head: String, offset: u64 },
}

/// Prints the tracepoints of a perf.data in the order of time, until `sink` returns false. `kallsyms` is that of the
/// recorded host. Without it addresses stay numbers.
pub fn print(
    file: &[u8],
    kallsyms: Option<&[u8]>,
    options: &PrintOptions,
    spawn: &mut dyn Spawn,
    sink: &mut Sink<'_>,
) -> Result<(), PerfTextError> {
    let mut recording = scan(file).map_err(|error| PerfTextError::Unreadable(error.to_string()))?;
    let output = RefCell::new(Output::new(sink));
    let mut order = std::mem::take(&mut recording.index).in_time_order(&recording, file);
    for problem in recording.problems.take() {
        output.borrow_mut().problem(problem.byte_offset, problem.message);
    }
    let mut client = Client::new(spawn, options.deadline, base(&recording, kallsyms));
    let mut taken = |tag: Tag, outcome: Result<String, String>| {
        let mut output = output.borrow_mut();
        match (tag, outcome) {
            (Tag::Event { head, .. }, Ok(text)) => output.line(format!("{head}{text}")),
            (Tag::Event { offset, .. }, Err(why)) => output.problem(Some(offset), why),
            (Tag::Format, Err(why)) => output.problem(None, why),
            (Tag::Format, Ok(_)) => {}
        }
    };
    let mut script = Script::new(&recording, options);
    if script.known.iter().all(Option::is_none) {
        output.borrow_mut().problem(None, nothing(options));
    }
    let mut printed = 0;
    while let Some(entry) = order.next(&recording, file) {
        if options.is_reached(printed) || !output.borrow().goes_on {
            break;
        }
        let Some((header, body)) = recording.record(file, entry) else { continue };
        if header.kind != kind::SAMPLE {
            script.names.take(&recording, header, body);
            continue;
        }
        let Some((format, head, request)) = script.sample(header, body) else { continue };
        if let Some(request) = format {
            client.send(request, Tag::Format, &mut taken)?;
        }
        client.send(request, Tag::Event { head, offset: recording.file_offset(entry) }, &mut taken)?;
        printed += 1;
    }
    client.finish(&mut taken)?;
    Ok(())
}

fn nothing(options: &PrintOptions) -> String {
    match &options.event {
        Some(event) => format!("the recording has no tracepoint {event} with a format"),
        None => "the recording has no tracepoints: samples of other events have no text".to_owned(),
    }
}

fn base(recording: &Recording, kallsyms: Option<&[u8]>) -> Vec<Request> {
    let tracing = recording.tracing.as_ref();
    let order = tracing.map_or(recording.order, |tracing| tracing.order);
    let long_size = tracing.map_or(8, |tracing| tracing.long_bytes);
    let setup = Setup { big_endian: order == ByteOrder::Big, long_size, style: Style::Perf };
    let of_file = |part: fn(&perfcase_decode::perf_data::tracing_data::TracingData) -> &Vec<u8>| {
        tracing.map(part).filter(|text| !text.is_empty())
    };
    let mut base = vec![Request::Setup(setup)];
    let kallsyms = kallsyms.map(<[u8]>::to_vec).or_else(|| of_file(|tracing| &tracing.kallsyms).cloned());
    base.extend(kallsyms.map(Request::Kallsyms));
    base.extend(of_file(|tracing| &tracing.printk_formats).cloned().map(Request::PrintkFormats));
    base.extend(of_file(|tracing| &tracing.saved_cmdlines).cloned().map(Request::Comms));
    base
}

/// A tracepoint of the recording that is selected.
struct Known<'a> {
    name: String,
    system: &'a str,
    text: &'a str,
    is_sent: bool,
}

/// Makes the heads of lines.
struct Script<'a> {
    recording: &'a Recording,
    /// The tracepoints by the event's place in the recording; `None` for an event that is not printed.
    known: Vec<Option<Known<'a>>>,
    /// perf pads the names of events to the longest one.
    name_width: usize,
    names: Names,
}

impl<'a> Script<'a> {
    fn new(recording: &'a Recording, options: &PrintOptions) -> Script<'a> {
        let mut formats: HashMap<u32, (EventFormat, &str)> = HashMap::new();
        for (system, text) in recording.tracing.iter().flat_map(|tracing| &tracing.formats) {
            if let Ok(format) = EventFormat::parse(system, text) {
                formats.insert(format.id, (format, text));
            }
        }
        let (mut known, mut name_width) = (Vec::new(), 0);
        let mut sent = HashMap::new();
        for event in recording.events.list() {
            let format = formats.get(&(event.attr.config as u32)).filter(|_| event.attr.kind == TYPE_TRACEPOINT);
            let name = event.name.clone().or_else(|| format.map(|(f, _)| format!("{}:{}", f.system, f.name)));
            name_width = name_width.max(name.as_ref().map_or(0, String::len));
            let selected = format.filter(|(format, _)| options.selects(&format.system, &format.name));
            known.push(selected.zip(name).map(|((format, text), name)| {
                let is_sent = sent.insert(format.id, ()).is_some();
                let system = system_of(recording, text).unwrap_or_default();
                Known { name, system, text, is_sent }
            }));
        }
        Script { recording, known, name_width, names: Names::default() }
    }

    /// Gives the format if the child does not know it yet, the line up to the event's text, and the record to print.
    fn sample(&mut self, header: RecordHeader, body: &[u8]) -> Option<(Option<Request>, String, Request)> {
        let index = self.recording.events.of_record(header, body)?;
        let known = self.known.get_mut(index)?.as_mut()?;
        let (sample, _) = self.recording.events.get(index)?.plan.sample(body);
        let data = sample.raw?.to_vec();
        let format = (!std::mem::replace(&mut known.is_sent, true))
            .then(|| Request::Format { system: known.system.to_owned(), text: known.text.to_owned() });
        let mut head = String::new();
        if let Some((_, tid)) = sample.pid_tid {
            head.push_str(&format!("{:>16} {tid:>5} ", self.names.of(tid)));
        }
        if let Some(cpu) = sample.cpu {
            head.push_str(&format!("[{cpu:03}] "));
        }
        let ts = sample.time.unwrap_or(0);
        if sample.time.is_some() {
            head.push_str(&format!("{:>5}.{:06}: ", ts / 1_000_000_000, ts % 1_000_000_000 / 1000));
        }
        head.push_str(&format!("{:>width$}: ", known.name, width = self.name_width));
        Some((format, head, Request::Record { ts, cpu: sample.cpu.unwrap_or(0), data, following: None }))
    }
}

fn system_of<'a>(recording: &'a Recording, text: &str) -> Option<&'a str> {
    let formats = &recording.tracing.as_ref()?.formats;
    formats.iter().find(|(_, other)| std::ptr::eq(other.as_str(), text)).map(|(system, _)| system.as_str())
}

/// The names of the threads at the current time.
#[derive(Default)]
struct Names {
    by_tid: HashMap<i32, String>,
}

impl Names {
    fn of(&self, tid: i32) -> String {
        match self.by_tid.get(&tid) {
            Some(name) => name.clone(),
            None if tid == 0 => "swapper".to_owned(),
            None => format!(":{tid}"),
        }
    }

    fn take(&mut self, recording: &Recording, header: RecordHeader, body: &[u8]) {
        if !matches!(header.kind, kind::COMM | kind::FORK) {
            return;
        }
        match record::parse(header, &mut Cursor::new(body, recording.order)) {
            Some(Record::Comm { tid, name, .. }) => {
                self.by_tid.insert(tid, String::from_utf8_lossy(name).into_owned());
            }
            Some(Record::Fork(task)) => {
                let inherited = self.by_tid.get(&task.ptid).cloned();
                self.by_tid.insert(task.tid, inherited.unwrap_or_else(|| format!(":{}", task.tid)));
            }
            _ => {}
        }
    }
}
