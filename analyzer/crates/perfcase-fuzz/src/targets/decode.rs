//! perfcase-decode.

use perfcase_decode::format::EventFormat;
use perfcase_decode::ftrace::capture::{CpuStats, Uname};
use perfcase_decode::ftrace::events::{CommonFields, Events};
use perfcase_decode::ftrace::trace_dat::plain as trace_plain;
use perfcase_decode::jitdump::Jitdump;
use perfcase_decode::perf_data::bytes::Cursor;
use perfcase_decode::perf_data::plain as perf_plain;
use perfcase_decode::perf_data::record::{self, kind};
use perfcase_decode::perf_data::{names, scan::scan};
use perfcase_decode::perf_script::reader::Reader as PerfScript;
use perfcase_decode::perf_stat::reader::Reader as PerfStat;
use perfcase_decode::proc::stream;

use crate::texts::DECODERS;

/// A perf.data: its headers, and each record and sample in the order of time.
pub(super) fn perf_data(input: &[u8]) {
    let Ok(mut recording) = scan(input) else { return };
    let mut order = std::mem::take(&mut recording.index).in_time_order(&recording, input);
    let mut count = 0;
    while let Some(entry) = order.next(&recording, input) {
        count += 1;
        let Some((header, body)) = recording.record(input, entry) else { continue };
        if header.kind != kind::SAMPLE {
            record::parse(header, &mut Cursor::new(body, recording.order));
        }
        let Some(event) = recording.events.of_record(header, body) else { continue };
        let Some(event) = recording.events.get(event) else { continue };
        event.plan.sample(body);
        event.plan.trailer(body);
    }
    assert!(count <= (input.len() as u64 + recording.arena.len()) / 8);
    for event in recording.events.list() {
        names::event(&event.attr, &recording.features, recording.tracing.as_ref());
    }
    for (system, text) in recording.tracing.iter().flat_map(|tracing| &tracing.formats) {
        let _ = EventFormat::parse(system, text);
    }
    recording.problems.list();
    if perf_plain::is_compressed(input) {
        let mut plain = std::io::Cursor::new(Vec::new());
        if perf_plain::write(input, &mut plain).is_ok() {
            assert!(scan(plain.get_ref()).is_ok());
        }
    }
}

fn events<B: std::ops::Deref<Target = [u8]> + Clone>(mut events: Events<B>) {
    let (formats, _) = events.capture.parse_formats();
    let common = CommonFields::of(&formats, events.capture.big_endian);
    events.capture.comms().count();
    let _ = events.capture.uname.as_deref().map(Uname::parse);
    let (mut before, mut is_steady) = (0, true);
    while let Some((time, stream)) = events.merge.peek() {
        let now = events.merge.stream_mut(stream);
        let (record, _) = (now.record(), now.offset());
        common.id(record);
        common.pid(record);
        if now.has_news() {
            now.take_losses();
            is_steady &= now.take_damages().iter().all(|damage| damage.kind != "clock_goes_back");
        }
        // All are in order, as long as no CPU said that its clock goes back.
        assert!(time >= before || !is_steady, "{time} after {before}");
        before = time;
        if let Some(convert) = &events.capture.tsc_to_ns {
            convert.convert(time);
        }
        events.merge.advance();
    }
}

/// A trace.dat: its descriptions, and each event in the order of time.
pub(super) fn trace_dat(input: &[u8]) {
    if let Ok(found) = Events::trace_dat(input) {
        events(found);
    }
    let mut plain = std::io::Cursor::new(Vec::new());
    if trace_plain::is_compressed(input) && trace_plain::write(input, &mut plain).is_ok() {
        assert!(Events::trace_dat(&plain.get_ref()[..]).is_ok());
        assert!(!trace_plain::is_compressed(plain.get_ref()));
    }
}

/// A folder of raw pages: its files as the sampler's stream of snapshots has them.
pub(super) fn raw_folder(input: &[u8]) {
    let (mut at, mut members) = (0, Vec::new());
    while let Some(step) = stream::read(input, at) {
        if let Some(stream::Frame::File { path, bytes, .. }) = step.frame {
            members.push((path.to_string(), bytes));
        }
        at = step.next;
    }
    if let Ok(found) = Events::raw_folder(&members) {
        events(found);
    }
}

/// A text of /proc, /sys or of the host: the first byte says which.
pub(super) fn proc(input: &[u8]) {
    let Some((which, text)) = input.split_first() else { return };
    let (name, _, items) = DECODERS[usize::from(*which) % DECODERS.len()];
    assert!(items(text) <= text.len() + 1, "{name}");
}

/// What tools print or write: the first byte says which.
pub(super) fn printed(input: &[u8]) {
    let Some((which, text)) = input.split_first() else { return };
    match which % 4 {
        0 => perf_script(text),
        1 => {
            let mut reader = PerfStat::new(text);
            let lines = text.split(|&byte| byte == b'\n').count();
            assert!(reader.by_ref().count() <= lines);
            reader.problems();
        }
        2 => jitdump(text),
        _ => {
            let text = String::from_utf8_lossy(text);
            CpuStats::parse(&text);
            if let Ok(mut format) = EventFormat::parse("system", &text) {
                format.set_long_size(4);
            }
        }
    }
}

fn perf_script(text: &[u8]) {
    let mut reader = PerfScript::new(text);
    while let Some(next) = reader.advance(|_| {}) {
        let line = reader.first_line(next);
        if let Some(sample) = reader.sample(next, &line, |_| {}) {
            sample.tracepoint();
        }
        reader.take_problems();
    }
    reader.problems();
    reader.problem_with_times();
}

fn jitdump(bytes: &[u8]) {
    let Ok(mut dump) = Jitdump::open(bytes) else { return };
    while dump.next_time().is_some() {
        let at = dump.at();
        dump.read();
        assert!(dump.at() > at, "it must go on");
    }
    dump.problem();
}
