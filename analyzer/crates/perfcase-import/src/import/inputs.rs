//! The registry of decoders: the decoder of each kind of member.

use perfcase_archive::{ArchiveError, Capture, Content, Issue, Member, MemberKind};
use perfcase_symbols::listing::Kind;

use super::{Input, Opened, Progress, bare_source, note_problems, perf, proc_folder};
use crate::decoders::jitdump::Owner;
use crate::decoders::{ftrace, jitdump, perf_script, perf_stat, proc, symbol_list};
use crate::session::{Session, SourceId, SourceInfo};

/// The most jitdumps outside of the capture: a copy of /tmp may have those of all processes of a host.
const MOST_JITDUMPS: usize = 1024;

/// Decoders that are ready to run.
pub(super) struct Inputs {
    pub opened: Vec<Opened>,
    /// Those that may have switches, system calls and block requests.
    pub with_events: Vec<SourceId>,
}

/// Registers every source of the capture, also missing ones, and opens a decoder for each source with data.
pub(super) fn open(
    session: &mut Session,
    capture: &Capture,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Inputs, ArchiveError> {
    use MemberKind::{PerfData, PerfScript, TraceDat};
    let known = declare(session, capture);
    let (mut opened, mut with_events) = (Vec::new(), Vec::new());
    for member in &capture.members {
        let is_recording =
            matches!(member.kind, PerfData | TraceDat | MemberKind::PerfStat | PerfScript | MemberKind::ProcSnapshots);
        if !is_recording {
            continue;
        }
        progress(Progress::step("reading"));
        match capture.read(member) {
            Ok(content) => {
                note_problems(session, Some(member), content.problems());
                let input = input_of(session, capture, &known, member);
                let source = open_one(session, capture, &input, content)?;
                if source.is_some() && matches!(member.kind, PerfData | TraceDat | PerfScript) {
                    with_events.push(input.source);
                }
                opened.extend(source);
            }
            Err(error) => note_unreadable(session, member, error)?,
        }
    }
    if let Some((source, id)) = open_raw_ftrace(session, capture, &known)? {
        with_events.push(id);
        opened.push(source);
    }
    opened.extend(proc_folder::open(session, capture)?);
    list_symbols(session, capture, &known)?;
    opened.extend(generated_code(session, capture)?);
    Ok(Inputs { opened, with_events })
}

/// Opens the jitdumps of runtimes: in the capture, next to it, and in the user's directories.
fn generated_code(session: &mut Session, capture: &Capture) -> Result<Vec<Opened>, ArchiveError> {
    let entries = session.objects.listing().entries.iter();
    let listed = entries.filter(|entry| entry.kind == Kind::Jitdump);
    let files: Vec<_> = listed.filter_map(|entry| Some((entry.member.clone()?, entry.pid))).collect();
    let mut opened = Vec::new();
    for (name, pid) in files {
        let Some(member) = capture.member(&format!("symbols/{name}")) else { continue };
        match capture.read(member) {
            Ok(content) => opened.extend(jitdump::open(&member.path, content, Owner::Known(pid), session)),
            Err(error) => note_unreadable(session, member, error)?,
        }
    }
    for (content, path) in session.objects.jitdumps().into_iter().take(MOST_JITDUMPS) {
        opened.extend(jitdump::open(&path, content, Owner::Unsure, session));
    }
    Ok(opened)
}

/// Registers the sources of the manifest, in its order.
fn declare(session: &mut Session, capture: &Capture) -> Vec<(String, SourceId)> {
    let mut known = Vec::new();
    let Some(manifest) = &capture.manifest else { return known };
    if manifest.recorder.stopped_by.as_deref() == Some("unfinished") {
        let message = "the recorder was killed: the end of each source may be missing, and its last file may be cut";
        let hint = "what it wrote is here; record again if what is missing matters";
        session.issue(Issue::warning("unfinished", message).hint(hint));
    }
    // A command begins after all sources started: its first record is its beginning. If it ended before the recording did, its last is its end.
    let is_of_command = manifest.recorder.target.mode.as_deref() == Some("command");
    let is_whole_command =
        is_of_command && matches!(manifest.recorder.stopped_by.as_deref(), None | Some("target_exit"));
    for source in &manifest.sources {
        let member = capture.members.iter().find(|member| member.source.as_deref() == Some(&source.name));
        let id = session.source(SourceInfo {
            name: source.name.clone(),
            kind: source.kind.clone(),
            member: member.map(|member| member.path.clone()),
            status: source.status.clone().unwrap_or_else(|| "available".to_string()),
            reason: source.reason.clone(),
            remedy: source.remedy.clone(),
            tool: source.tool.clone(),
            tool_version: source.tool_version.clone(),
            clock: source.clock.clone(),
            size_bytes: member.and_then(|member| member.size_bytes),
            started_ns: source.started_monotonic_ns.filter(|_| !is_of_command),
            ended_ns: source.ended_monotonic_ns.filter(|_| !is_whole_command),
        });
        known.push((source.name.clone(), id));
    }
    known
}

fn input_of<'a>(
    session: &mut Session,
    capture: &Capture,
    known: &[(String, SourceId)],
    member: &'a Member,
) -> Input<'a> {
    let name = member.source.as_deref();
    let declared = known.iter().find(|(known, _)| Some(known.as_str()) == name);
    let source = match declared {
        Some((_, id)) => *id,
        None => session.source(bare_source(member)),
    };
    let described = name.and_then(|name| capture.manifest.as_ref()?.source(name));
    Input {
        member,
        source,
        started_ns: described.and_then(|source| source.started_monotonic_ns),
        ended_ns: described.and_then(|source| source.ended_monotonic_ns),
        clock_ticks_per_s: capture.manifest.as_ref().and_then(|manifest| manifest.host.clock_ticks_per_s),
    }
}

/// The kind of the issue with a member that its decoder refuses.
pub(super) const UNREADABLE: &str = "unreadable";

/// Why a decoder cannot begin.
pub(super) enum Refused {
    /// The member is damaged.
    Damaged(Issue),
    /// This machine had an error.
    Fault(ArchiveError),
}

/// Opens the decoder of a member: the list has a line for each decoder.
fn open_one(
    session: &mut Session,
    capture: &Capture,
    input: &Input<'_>,
    content: Content,
) -> Result<Option<Opened>, ArchiveError> {
    let opened: Result<Opened, Refused> = match input.member.kind {
        MemberKind::PerfData => perf::open(session, capture, input, content),
        MemberKind::TraceDat => ftrace::open_trace_dat(content, input.source, session)
            .map_err(|damage| Refused::Damaged(Issue { kind: UNREADABLE, ..damage })),
        MemberKind::PerfScript => Ok(perf_script::open(content, session, input.source)),
        MemberKind::PerfStat => {
            let options = perf_stat::Options {
                started_ns: input.started_ns,
                ended_ns: input.ended_ns,
                command_ns: capture
                    .manifest
                    .as_ref()
                    .and_then(|manifest| manifest.recorder.target.started_monotonic_ns),
            };
            Ok(perf_stat::open(content, input.source, options))
        }
        MemberKind::ProcSnapshots => {
            let options = proc::Options { clock_ticks_per_s: input.clock_ticks_per_s, ..proc::Options::default() };
            Ok(proc::open(content, session, input.source, options))
        }
        kind => Err(Refused::Damaged(Issue::error(UNREADABLE, format!("no decoder for {kind:?}")))),
    };
    match opened {
        Ok(source) => Ok(Some(source)),
        Err(Refused::Damaged(damage)) => {
            session.issue(damage.of(&input.member.path));
            Ok(None)
        }
        Err(Refused::Fault(error)) => Err(error),
    }
}

/// Opens raw ring-buffer pages: they have many members and one source.
fn open_raw_ftrace(
    session: &mut Session,
    capture: &Capture,
    known: &[(String, SourceId)],
) -> Result<Option<(Opened, SourceId)>, ArchiveError> {
    let mut members = Vec::new();
    for member in capture.members.iter().filter(|member| member.kind == MemberKind::FtraceRaw) {
        match capture.read(member) {
            Ok(content) => {
                note_problems(session, Some(member), content.problems());
                members.push((member.path.clone(), content));
            }
            Err(error) => note_unreadable(session, member, error)?,
        }
    }
    let Some(first) = capture.members.iter().find(|member| member.kind == MemberKind::FtraceRaw) else {
        return Ok(None);
    };
    let input = input_of(session, capture, known, first);
    match ftrace::open_raw_folder(&members, input.source, session) {
        Ok(source) => Ok(Some((source, input.source))),
        Err(damage) => {
            session.issue(damage.of(&first.path));
            Ok(None)
        }
    }
}

/// Reads the list of object files. The files themselves are opened later, for names.
fn list_symbols(session: &mut Session, capture: &Capture, known: &[(String, SourceId)]) -> Result<(), ArchiveError> {
    let Some(member) = capture.member("symbols/objects.tsv") else { return Ok(()) };
    match capture.read(member) {
        Ok(content) => {
            note_problems(session, Some(member), content.problems());
            let input = input_of(session, capture, known, member);
            let size_of = |path: &str| capture.member(path).and_then(|member| member.size_bytes);
            symbol_list::read(session, input.source, &member.path, &String::from_utf8_lossy(&content), size_of);
        }
        Err(error) => note_unreadable(session, member, error)?,
    }
    Ok(())
}

/// Notes a member that cannot be read: the file is gone, or this user has no right to read it.
///
/// # Errors
/// An error of this machine ends the import: without the member the tables would look complete.
pub(super) fn note_unreadable(session: &mut Session, member: &Member, error: ArchiveError) -> Result<(), ArchiveError> {
    if error.is_of_this_machine() {
        return Err(error);
    }
    session.issue(Issue::error(error.kind(), error.to_string()).of(&member.path).hint(error.hint()));
    Ok(())
}
