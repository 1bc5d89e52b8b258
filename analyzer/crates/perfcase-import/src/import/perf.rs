//! What a perf.data needs of the capture around it: the other files of its directory, event formats of the host.

use perfcase_archive::{Capture, Content, Member, MemberKind};

use super::inputs::note_unreadable;
use super::{Input, Opened};
use crate::decoders::perf_data;
use crate::format::EventFormat;
use crate::session::Session;

/// Where the formats lie that the recorder copied out of tracefs: `<system>/<event>` below it.
const FORMATS: &str = "ftrace/raw/format/";

pub(super) fn open(
    session: &mut Session,
    capture: &Capture,
    input: &Input<'_>,
    content: Content,
) -> Result<Opened, (Option<u64>, String)> {
    let parts = parts(session, capture, input.member);
    let parts = parts.iter().map(|part| &part[..]).collect();
    let options = perf_data::Options { parts, formats: formats(capture) };
    let source = perf_data::open(content, session, input.source, &options);
    source.map(|source| Box::new(source) as Opened).map_err(|error| (None, error.to_string()))
}

/// The further files of a directory that perf record --threads wrote: `data.0` and so on beside `data`.
fn parts(session: &mut Session, capture: &Capture, member: &Member) -> Vec<Content> {
    let is_part = |other: &&Member| {
        let number = other.path.strip_prefix(&member.path).and_then(|rest| rest.strip_prefix('.'));
        other.kind == MemberKind::PerfDataPart && number.is_some_and(|number| !number.contains('/'))
    };
    let mut parts = Vec::new();
    for part in capture.members.iter().filter(is_part) {
        match capture.read(part) {
            Ok(content) => parts.push(content),
            Err(error) => note_unreadable(session, part, &error),
        }
    }
    parts
}

/// The host's own event formats: perf writes its copy at the end, so one that was killed has none. What is wrong with
/// them is for the decoder of ftrace/raw to say.
fn formats(capture: &Capture) -> Vec<EventFormat> {
    let format = |member: &Member| {
        let (system, _) = member.path.strip_prefix(FORMATS)?.split_once('/')?;
        let content = capture.read(member).ok()?;
        EventFormat::parse(system, std::str::from_utf8(&content).ok()?).ok()
    };
    capture.members.iter().filter_map(format).collect()
}
