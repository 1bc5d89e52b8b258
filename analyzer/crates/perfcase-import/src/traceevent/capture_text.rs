//! The events of a whole capture as text: its trace.dat, its raw pages and its perf.data, one after the other.

use std::collections::BTreeMap;

use perfcase_archive::{ArchiveError, Capture, Content, Issue, Member, MemberKind};
use perfcase_decode::ftrace::Events;

use super::client::{PrintError, Spawn};
use super::output::{Output, PrintOptions, Printed, Sink};
use super::perf_text::PerfTextError;
use super::{perf_text, trace_text};

/// Why a capture's events cannot be printed.
#[derive(Debug, thiserror::Error)]
pub enum CaptureTextError {
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The printer failed.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// No member has events.
    #[error("the capture holds no events: neither a perf.data nor a trace")]
    NoEvents,
}

/// What is printed in one piece.
enum Part<'a> {
    Perf(&'a Member),
    Trace(&'a Member),
    Raw(Vec<&'a Member>),
}

/// Prints all events of a capture that `options` select. If several members have events, a line `# <member>` comes
/// before each.
pub fn print(
    capture: &Capture,
    options: &PrintOptions,
    spawn: &mut dyn Spawn,
    sink: &mut Sink<'_>,
) -> Result<(), CaptureTextError> {
    let parts = parts(capture);
    if parts.is_empty() {
        return Err(CaptureTextError::NoEvents);
    }
    for (path, part) in &parts {
        let mut goes_on = true;
        let mut watched = |printed: Printed| {
            goes_on = sink(printed);
            goes_on
        };
        if parts.len() > 1 {
            Output::new(&mut watched).line(format!("# {path}"));
        }
        print_part(capture, part, options, spawn, &mut watched)?;
        if !goes_on {
            break;
        }
    }
    Ok(())
}

fn parts(capture: &Capture) -> BTreeMap<String, Part<'_>> {
    let mut parts = BTreeMap::new();
    for member in &capture.members {
        match member.kind {
            MemberKind::PerfData => drop(parts.insert(member.path.clone(), Part::Perf(member))),
            MemberKind::TraceDat => drop(parts.insert(member.path.clone(), Part::Trace(member))),
            MemberKind::FtraceRaw => {
                let folder = member.path.split_inclusive("raw/").next().unwrap_or_default().to_owned();
                if let Part::Raw(members) = parts.entry(folder).or_insert_with(|| Part::Raw(Vec::new())) {
                    members.push(member);
                }
            }
            _ => {}
        }
    }
    parts
}

fn print_part(
    capture: &Capture,
    part: &Part<'_>,
    options: &PrintOptions,
    spawn: &mut dyn Spawn,
    sink: &mut Sink<'_>,
) -> Result<(), CaptureTextError> {
    match part {
        Part::Perf(member) => {
            let kallsyms = capture.member("host/kallsyms").and_then(|member| capture.read(member).ok());
            match perf_text::print(&capture.read(member)?, kallsyms.as_deref(), options, spawn, sink) {
                Ok(()) => {}
                Err(PerfTextError::Print(error)) => return Err(error.into()),
                Err(PerfTextError::Unreadable(why)) => Output::new(sink).problem(None, why),
            }
        }
        Part::Trace(member) => print_trace(Events::trace_dat(capture.read(member)?), options, spawn, sink)?,
        Part::Raw(members) => {
            let read = |member: &&Member| Ok((member.path.clone(), capture.read(member)?));
            let members: Vec<(String, Content)> = members.iter().map(read).collect::<Result<_, ArchiveError>>()?;
            print_trace(Events::raw_folder(&members), options, spawn, sink)?;
        }
    }
    Ok(())
}

fn print_trace(
    events: Result<Events<Content>, Issue>,
    options: &PrintOptions,
    spawn: &mut dyn Spawn,
    sink: &mut Sink<'_>,
) -> Result<(), CaptureTextError> {
    match events {
        Ok(events) => Ok(trace_text::print(events, options, spawn, sink)?),
        Err(damage) => {
            Output::new(sink).problem(damage.byte_offset, damage.message);
            Ok(())
        }
    }
}
