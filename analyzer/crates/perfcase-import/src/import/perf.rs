//! Opens a perf.data with its surroundings in the capture: the other files of its directory, and event formats of the
//! host.

use std::collections::BTreeSet;

use perfcase_archive::{ArchiveError, Capture, Content, Issue, Member, MemberKind};
use perfcase_decode::format::EventFormat;
use perfcase_decode::perf_data::HeaderError;

use super::inputs::{Refused, UNREADABLE, note_unreadable};
use super::{Input, Opened};
use crate::decoders::perf_data;
use crate::session::Session;

/// The folder of the formats that the recorder copied from tracefs: `<system>/<event>`.
const FORMATS: &str = "ftrace/raw/format/";

pub(super) fn open(
    session: &mut Session,
    capture: &Capture,
    input: &Input<'_>,
    content: Content,
) -> Result<Opened, Refused> {
    let parts = parts(session, capture, input.member).map_err(Refused::Fault)?;
    let parts = parts.iter().map(|part| &part[..]).collect();
    let formats = formats(capture).map_err(Refused::Fault)?;
    let bytes = content.clone();
    let options = perf_data::Options { parts, formats, release: Some(Box::new(move |end| bytes.release(end))) };
    let source = perf_data::open(content, session, input.source, options);
    source.map(|source| Box::new(source) as Opened).map_err(|error| match error {
        HeaderError::NoRoom(kind) => Refused::Fault(ArchiveError::no_room(capture.path(), kind.into())),
        error => Refused::Damaged(Issue::error(UNREADABLE, error.to_string())),
    })
}

/// Gives the further files of a directory that perf record --threads wrote: `data.0` and so on, next to `data`.
///
/// No file says how many there are: the lack of the last ones cannot be seen. perf numbers them without a gap.
fn parts(session: &mut Session, capture: &Capture, member: &Member) -> Result<Vec<Content>, ArchiveError> {
    let number = |other: &Member| {
        let number = other.path.strip_prefix(&member.path).and_then(|rest| rest.strip_prefix('.'))?;
        (other.kind == MemberKind::PerfDataPart && !number.contains('/')).then(|| number.to_string())
    };
    let numbers: BTreeSet<u32> =
        capture.members.iter().filter_map(number).filter_map(|number| number.parse().ok()).collect();
    let end = numbers.last().map_or(0, |&last| last as usize + 1);
    if let Some(first) = (0..).find(|place| !numbers.contains(place)).filter(|&place| (place as usize) < end) {
        let count = (end - numbers.len()) as u64;
        let message = format!("data.{first} of the directory is not here: what its thread of perf recorded is lost");
        session.issue(
            Issue::error("missing_files", message).of(&member.path).count(count).hint("import the whole directory"),
        );
    }
    let mut parts = Vec::new();
    for part in capture.members.iter().filter(|other| number(other).is_some()) {
        match capture.read(part) {
            Ok(content) => parts.push(content),
            Err(error) => note_unreadable(session, part, error)?,
        }
    }
    Ok(parts)
}

/// Gives the host's event formats. perf writes its copy at the end, so a killed perf wrote none. The decoder of
/// ftrace/raw reports problems with them.
fn formats(capture: &Capture) -> Result<Vec<EventFormat>, ArchiveError> {
    let mut formats = Vec::new();
    for member in &capture.members {
        let Some((system, _)) = member.path.strip_prefix(FORMATS).and_then(|path| path.split_once('/')) else {
            continue;
        };
        let content = match capture.read(member) {
            Err(error) if error.is_of_this_machine() => return Err(error),
            read => read.ok(),
        };
        let text = content.as_ref().and_then(|content| std::str::from_utf8(content).ok());
        formats.extend(text.and_then(|text| EventFormat::parse(system, text).ok()));
    }
    Ok(formats)
}
