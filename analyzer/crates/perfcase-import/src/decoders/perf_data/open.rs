//! From a scanned recording to a source of the session: its events, formats, build ids and problems.

use std::ops::Deref;

use hashbrown::HashMap;
use perfcase_archive::Issue;
use perfcase_decode::format::EventFormat;
use perfcase_decode::perf_data::attr::{
    Attr, SOFTWARE_BPF_OUTPUT, SOFTWARE_CONTEXT_SWITCHES, TYPE_SOFTWARE, TYPE_TRACEPOINT,
};
use perfcase_decode::perf_data::behind::{Behind, Release};
use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_decode::perf_data::header::HeaderError;
use perfcase_decode::perf_data::names;
use perfcase_decode::perf_data::recording::Recording;
use perfcase_decode::perf_data::sample::field;
use perfcase_decode::perf_data::scan::scan_within;
use perfcase_symbols::Kallsyms;

use super::source::PerfSource;
use crate::session::{EventAttr, EventId, Session, SourceId};
use crate::timeline::Moment;
use crate::tracepoint::TracepointId;

/// What the importer knows and the file does not.
#[derive(Default)]
pub struct Options<'a> {
    /// Frees the memory of the file that is not needed soon.
    pub release: Option<Release>,
    /// The further files of a directory (`perf record --threads`), which have only records.
    pub parts: Vec<&'a [u8]>,
    /// Formats of the host's events from the capture, for recordings that were killed before perf wrote its own.
    pub formats: Vec<EventFormat>,
}

/// The session's key of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub event: EventId,
    pub tracepoint: Option<TracepointId>,
    /// The moments of a thread that its callchains show.
    pub moment: Option<Moment>,
}

/// Scans a perf.data and registers what it says about itself.
///
/// Damage becomes issues of the session. An error means that the file is no perf.data.
pub fn open<C>(
    content: C,
    session: &mut Session,
    source: SourceId,
    mut options: Options<'_>,
) -> Result<PerfSource<C>, HeaderError>
where
    C: Deref<Target = [u8]>,
{
    let mut behind = Behind::new(options.release.take());
    let mut recording = scan_within(&content, &options.parts, &mut behind)?;
    describe_host(&recording, session);
    describe_source(&recording, session, source);
    if let Some(own) = recording.simpleperf.as_mut() {
        session.model.file_symbols.extend(std::mem::take(&mut own.files));
        let kernel = own.kernel_symbols.take().and_then(|text| Kallsyms::parse(&text));
        session.model.kernel_symbols = session.model.kernel_symbols.take().or(kernel);
    }
    let known = events(&mut recording, session, source, &options);
    for build_id in &recording.build_ids {
        session.build_id(&build_id.path, &build_id.bytes);
    }
    behind.restart();
    Ok(PerfSource::new(content, recording, known, source, behind))
}

/// Notes what the header says about the recorded host. A perf.data without a capture has no other description of its
/// host.
fn describe_host(recording: &Recording, session: &mut Session) {
    let features = &recording.features;
    if let Some(arch) = &features.arch {
        session.set_machine(arch);
    }
    let host = &mut session.model.host;
    let keep = |place: &mut Option<String>, found: &Option<String>| {
        if place.is_none() {
            place.clone_from(found);
        }
    };
    keep(&mut host.hostname, &features.hostname);
    keep(&mut host.kernel_release, &features.os_release);
    keep(&mut host.cpu_model, &features.cpu_description);
    host.cpu_count = host.cpu_count.or(features.cpu_counts.map(|(online, _)| online));
    host.memory_bytes = host.memory_bytes.or(features.total_memory_kb.and_then(|kb| kb.checked_mul(1024)));
    if host.numa_nodes.is_empty() {
        host.numa_nodes = features.numa_nodes.clone();
    }
    if host.command.is_none() && !features.command.is_empty() {
        host.command = Some(features.command.join(" "));
    }
    if host.clock.is_none() {
        host.clock = recording.events.list().first().map(|event| names::clock(&event.attr).to_string());
    }
    if let (None, Some(data)) = (host.clock_and_realtime_ns, &features.clock_data) {
        host.clock_and_realtime_ns = i64::try_from(data.clock_ns).ok().zip(i64::try_from(data.realtime_ns).ok());
    }
}

fn describe_source(recording: &Recording, session: &mut Session, source: SourceId) {
    if let Some(page_bytes) = recording.tracing.as_ref().map(|tracing| tracing.page_bytes)
        && page_bytes.is_power_of_two()
    {
        session.model.page_size_bytes = page_bytes.into();
    }
    let Some(info) = session.source_info(source) else { return };
    if let Some(own) = &recording.simpleperf {
        info.tool = Some("simpleperf".to_string());
        info.tool_version.clone_from(&own.version);
    }
    info.tool.get_or_insert_with(|| "perf".to_string());
    if info.tool_version.is_none() {
        info.tool_version.clone_from(&recording.features.perf_version);
    }
    if info.clock.is_none() {
        let first = recording.events.list().first();
        info.clock = first.map(|event| names::clock(&event.attr).to_string());
    }
}

/// Tells whether an event counts the kernel's switches, or is written by the BPF programs of perfcase-record
/// (recorder/src/stack_budget.c).
fn moment(attr: &Attr, name: Option<&str>) -> Option<Moment> {
    if attr.kind != TYPE_SOFTWARE || attr.sample_type & field::CALLCHAIN == 0 {
        return None;
    }
    match (attr.config, name) {
        (SOFTWARE_CONTEXT_SWITCHES, _) if !attr.flags.freq() && attr.period_or_freq == 1 => Some(Moment::Switch),
        (SOFTWARE_BPF_OUTPUT, Some("switch-stacks")) => Some(Moment::Switch),
        (SOFTWARE_BPF_OUTPUT, Some("wakeup-stacks")) => Some(Moment::Wakeup),
        (SOFTWARE_BPF_OUTPUT, Some("wait-stacks")) => Some(Moment::Past),
        _ => None,
    }
}

fn events(recording: &mut Recording, session: &mut Session, source: SourceId, options: &Options<'_>) -> Vec<Known> {
    let formats = formats(recording, options);
    let mut defined: HashMap<u32, TracepointId> = HashMap::new();
    let mut known: Vec<Known> = Vec::new();
    let is_big = recording.order == ByteOrder::Big;
    let leaders = leaders(recording);
    let mut names = Vec::new();
    for (index, event) in recording.events.list().iter().enumerate() {
        let attr = &event.attr;
        let is_tracepoint = attr.kind == TYPE_TRACEPOINT;
        let format = if is_tracepoint { u32::try_from(attr.config).ok().and_then(|id| formats.get(&id)) } else { None };
        let tracepoint = format
            .map(|format| *defined.entry(format.id).or_insert_with(|| session.tracepoint_def(format, is_big, source)));
        let by_format = || format.map(|format| format!("{}:{}", format.system, format.name));
        let name = event.name.clone().or_else(by_format);
        let name = name.unwrap_or_else(|| names::event(attr, &recording.features, recording.tracing.as_ref()));
        if is_tracepoint && tracepoint.is_none() {
            let message = || format!("the file has no format of tracepoint {name}; its fields cannot be decoded");
            let hint = "end perf record with SIGINT so that it can write the formats, or import the host's formats too";
            recording.problems.note("missing_format", attr.config, |kind| Issue::warning(kind, message()).hint(hint));
        }
        names.push(name.clone());
        let id = session.event(EventAttr {
            source,
            name,
            kind: Some(names::kind(attr.kind)),
            config: Some(attr.config),
            sample_period: (!attr.flags.freq()).then_some(attr.period_or_freq),
            sample_freq: attr.flags.freq().then_some(attr.period_or_freq),
            sample_type: Some(attr.sample_type),
            attr_size_bytes: Some(attr.size_bytes),
            group_leader: leaders.get(index).copied().flatten().and_then(|i| known.get(i)).map(|k| k.event),
            is_tracepoint,
        });
        let moment = moment(attr, event.name.as_deref());
        session.timelines.sampled.are_to_come |= moment.is_some();
        known.push(Known { event: id, tracepoint, moment });
    }
    for (index, name) in names.iter().enumerate() {
        recording.events.set_name(None, index, name);
    }
    if recording.events.are_ambiguous() {
        let message = "samples carry no id of their event: all are taken for the first event's";
        recording.problems.note("ambiguous_events", 0, |kind| Issue::warning(kind, message));
    }
    known
}

/// Gives formats by id: those of the file, otherwise the given ones.
fn formats(recording: &mut Recording, options: &Options<'_>) -> HashMap<u32, EventFormat> {
    let mut by_id: HashMap<u32, EventFormat> =
        options.formats.iter().map(|format| (format.id, format.clone())).collect();
    let Recording { tracing, problems, .. } = recording;
    for (system, text) in tracing.iter().flat_map(|tracing| &tracing.formats) {
        match EventFormat::parse(system, text) {
            Ok(format) => {
                by_id.insert(format.id, format);
            }
            Err(error) => {
                let message = || format!("an event format of {system} cannot be used: {error}");
                problems.note("damaged_format", 0, |kind| Issue::warning(kind, message()));
            }
        }
    }
    by_id
}

/// Gives the number of the group's leader for each event; `None` for a leader and for events without a group.
fn leaders(recording: &Recording) -> Vec<Option<usize>> {
    let mut leaders = vec![None; recording.events.list().len()];
    for (_, leader, members) in &recording.features.groups {
        let leader = *leader as usize;
        let end = leader.saturating_add(*members as usize).min(leaders.len());
        for slot in leaders.iter_mut().take(end).skip(leader + 1) {
            *slot = Some(leader);
        }
    }
    leaders
}
