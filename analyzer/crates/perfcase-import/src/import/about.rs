//! The capture itself: host, clock anchors, kept files, the recorder's cost.

use std::path::Path;

use perfcase_archive::{Anchor, ArchiveError, Capture, Issue, MemberKind};

use super::{Facts, Options, note_problems};
use crate::decoders::host as host_rows;
use crate::decoders::proc::{CLOCK_STEP_NS, signed_seconds};
use crate::session::Session;
use crate::tables::{CaptureRow, HostFileRow, RecorderProcessRow};
use perfcase_decode::host::Host;
use perfcase_symbols::Kallsyms;

/// The largest host file that becomes a cell, in bytes.
const MOST_TEXT_BYTES: usize = 1 << 20;

/// The content of the host's files.
#[derive(Default)]
pub(super) struct HostFiles {
    pub kallsyms: Option<Kallsyms>,
    pub facts: Host,
}

/// Gives the moment that becomes ts_ns 0.
pub(super) fn start_anchor(capture: &Capture) -> Option<&Anchor> {
    let anchors = &capture.manifest.as_ref()?.clock.anchors;
    anchors.iter().find(|anchor| anchor.at.as_deref() == Some("start")).or(anchors.first())
}

fn end_anchor(capture: &Capture) -> Option<&Anchor> {
    let anchors = &capture.manifest.as_ref()?.clock.anchors;
    anchors.iter().find(|anchor| anchor.at.as_deref() == Some("end"))
}

/// Gives when the first source began and the last one ended, on the clock that all of them have; `None` if one has another, or
/// does not say.
pub(super) fn span(capture: &Capture) -> Option<(i64, i64)> {
    let manifest = capture.manifest.as_ref()?;
    let sources = manifest.sources.iter();
    let mut span: Option<(i64, i64)> = None;
    for source in sources.filter(|source| source.clock.is_some()) {
        if source.clock.as_deref() != Some("monotonic") {
            return None;
        }
        let (start, end) = (source.started_monotonic_ns?, source.ended_monotonic_ns?);
        span = Some(span.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
    }
    span.filter(|(start, end)| start < end)
}

/// Keeps the host's files, and sets the facts about the host that decoders need before they start.
pub(super) fn host(session: &mut Session, capture: &Capture) -> Result<HostFiles, ArchiveError> {
    if let Some(host) = capture.manifest.as_ref().map(|manifest| &manifest.host) {
        session.model.host.page_size_bytes = host.page_size_bytes.filter(|size| size.is_power_of_two());
        session.model.page_size_bytes = session.model.host.page_size_bytes.unwrap_or(4096);
        if let Some(machine) = &host.machine {
            session.timelines.set_machine(machine);
        }
    }
    let mode = capture.manifest.as_ref().and_then(|manifest| manifest.recorder.target.mode.as_deref());
    session.timelines.is_of_some_threads = mode.is_some_and(|mode| mode != "system");
    let mut found = HostFiles::default();
    let start_ns = start_anchor(capture).and_then(|anchor| anchor.monotonic_ns);
    for member in capture.members.iter().filter(|member| member.kind == MemberKind::HostFile) {
        let content = match capture.read(member) {
            Ok(content) => content,
            Err(error) => {
                super::inputs::note_unreadable(session, member, error)?;
                continue;
            }
        };
        note_problems(session, Some(member), content.problems());
        let text = std::str::from_utf8(&content).ok();
        if member.path == "host/kallsyms" {
            found.kallsyms = text.and_then(Kallsyms::parse);
            if !content.is_empty() && !content.ends_with(b"\n") {
                let message = "the list ends within a line: functions of the kernel behind it have no names";
                session.issue(Issue::error("truncated", message).of(&member.path).at(content.len() as u64));
            }
        }
        if let (Some(name), Some(text)) = (member.path.strip_prefix("host/"), text) {
            host_rows::file(session, &mut found.facts, name, text, start_ns);
        }
        session.sink.tables.host_file.push(HostFileRow {
            path: &member.path,
            size_bytes: content.len() as u64,
            content: text.filter(|text| text.len() <= MOST_TEXT_BYTES),
        });
    }
    Ok(found)
}

/// Writes `machine_fact`: facts of the host's files; where these have no fact, those of the manifest or of a
/// recording's header.
pub(super) fn write_facts(session: &mut Session, capture: &Capture, mut facts: Host) {
    let host = capture.manifest.as_ref().map(|manifest| manifest.host.clone()).unwrap_or_default();
    let learned = session.model.host.clone();
    let number = |value: Option<u64>| value.map(|value| value.to_string());
    for (key, value, unit) in [
        ("host.name", host.hostname.or(learned.hostname), None),
        ("host.os", host.os, None),
        ("kernel.release", host.kernel_release.or(learned.kernel_release), None),
        ("kernel.machine", host.machine.or(learned.machine), None),
        ("cpu.model", host.cpu_model.or(learned.cpu_model), None),
        ("cpu.count", number(host.cpu_count.or(learned.cpu_count.map(u64::from))), Some("count")),
        ("memory.total", number(host.memory_bytes.or(learned.memory_bytes)), Some("bytes")),
        ("memory.page_size", number(host.page_size_bytes), Some("bytes")),
    ] {
        facts.add(key, value.unwrap_or_default(), unit);
    }
    for (node, cpus) in learned.numa_nodes {
        facts.add(&format!("numa.node{node}.cpus"), cpus, None);
    }
    host_rows::write(session, facts);
}

/// Reports a step of the wall clock during the recording: its distance from the clock that includes suspended time
/// changed until the end.
fn note_clock_step(session: &mut Session, capture: &Capture) {
    let offset = |anchor: &Anchor| Some(i128::from(anchor.realtime_ns?) - i128::from(anchor.boottime_ns?));
    let (start, end) = (start_anchor(capture).and_then(offset), end_anchor(capture).and_then(offset));
    let Some(step_ns) = start.zip(end).map(|(start, end)| end - start) else { return };
    if step_ns.unsigned_abs() >= CLOCK_STEP_NS {
        let message = format!(
            "the host's wall clock was stepped by {} s during the recording: times of the capture hold, they are of another \
             clock; wall-clock times are those of the clock as it was at the start",
            signed_seconds(step_ns)
        );
        let hint = "compare with logs of the host that were written before the step, or add the step";
        session.issue(Issue::warning("clock_step", message).hint(hint));
    }
}

/// Writes `capture` and `recorder_process`, and gives what a list of captures shows of this one.
pub(super) fn write_capture(
    session: &mut Session,
    capture: &Capture,
    id: &str,
    path: &Path,
    options: &Options,
) -> Facts {
    note_clock_step(session, capture);
    let start_clock_ns = session.start_ns();
    let manifest = capture.manifest.as_ref();
    let host = manifest.map(|manifest| manifest.host.clone()).unwrap_or_default();
    let learned = session.model.host.clone();
    let anchor = start_anchor(capture);
    let end = end_anchor(capture).and_then(|anchor| anchor.monotonic_ns);
    let duration_ns = end.map(|end| end.saturating_sub(start_clock_ns)).unwrap_or_else(|| session.last_ts_ns());
    let clock = match manifest.and_then(|manifest| manifest.clock.name.as_deref()) {
        Some("CLOCK_MONOTONIC") => "monotonic".to_string(),
        Some(other) => other.to_string(),
        None => learned.clock.clone().unwrap_or_else(|| "unknown".to_string()),
    };
    let file_name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let recorder = manifest.map(|manifest| &manifest.recorder);
    let command = recorder.map(|recorder| recorder.command.join(" ")).filter(|text| !text.is_empty());
    let labels = manifest.map(|manifest| manifest.labels.join(",")).filter(|text| !text.is_empty());
    let number = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
    let row = CaptureRow {
        capture_id: id,
        name: options.name.as_deref().unwrap_or(&file_name),
        format_version: manifest.map(|manifest| manifest.format_version.as_str()),
        perfcase_version: env!("CARGO_PKG_VERSION"),
        recorder_version: recorder.and_then(|recorder| recorder.version.as_deref()),
        clock: &clock,
        start_clock_ns,
        start_realtime_ns: anchor.and_then(|anchor| anchor.realtime_ns).or(learned.realtime_at(start_clock_ns)),
        start_boottime_ns: anchor.and_then(|anchor| anchor.boottime_ns),
        duration_ns: duration_ns.max(0),
        hostname: host.hostname.as_deref().or(learned.hostname.as_deref()),
        kernel_release: host.kernel_release.as_deref().or(learned.kernel_release.as_deref()),
        machine: host.machine.as_deref().or(learned.machine.as_deref()),
        os: host.os.as_deref(),
        cpu_model: host.cpu_model.as_deref().or(learned.cpu_model.as_deref()),
        cpu_count: number(host.cpu_count).or(learned.cpu_count),
        page_size_bytes: number(host.page_size_bytes),
        clock_ticks_per_s: number(host.clock_ticks_per_s),
        memory_bytes: host.memory_bytes.or(learned.memory_bytes),
        command: command.as_deref().or(learned.command.as_deref()),
        ticket: manifest.and_then(|manifest| manifest.ticket.as_deref()),
        note: manifest.and_then(|manifest| manifest.note.as_deref()),
        labels: labels.as_deref(),
        interrupted_by: recorder.and_then(|recorder| recorder.interrupted_by.as_deref()),
    };
    let facts = Facts::of(&row);
    session.sink.tables.capture.push(row);
    for cost in manifest.iter().flat_map(|manifest| &manifest.overhead) {
        session.sink.tables.recorder_process.push(RecorderProcessRow {
            process: &cost.process,
            pid: cost.pid.and_then(|pid| i32::try_from(pid).ok()),
            phase: cost.phase.as_deref(),
            user_ns: cost.user_ns,
            system_ns: cost.system_ns,
            resident_max_bytes: cost.max_rss_bytes,
            read_bytes: cost.read_bytes,
            write_bytes: cost.write_bytes,
            output_bytes: cost.output_bytes,
            event_count: cost.event_count,
        });
    }
    facts
}
