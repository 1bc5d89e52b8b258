//! Ftrace: events of a trace.dat or of a folder of raw ring-buffer pages, handed to the session.

mod source;

use std::ops::Deref;

use perfcase_archive::Issue;
use perfcase_decode::ftrace::Events;

use crate::session::{Session, SourceId};
use crate::source::Source;

/// Opens a trace.dat. An error means that nothing in it can be read.
pub fn open_trace_dat<B: Deref<Target = [u8]> + Clone + 'static>(
    file: B,
    source: SourceId,
    session: &mut Session,
) -> Result<Box<dyn Source>, Issue> {
    Ok(Box::new(source::FtraceSource::open(Events::trace_dat(file)?, source, session)))
}

/// Opens a folder of raw pages: all members below `ftrace/raw/` with their paths, full or relative to that folder.
pub fn open_raw_folder<B: Deref<Target = [u8]> + Clone + 'static>(
    members: &[(String, B)],
    source: SourceId,
    session: &mut Session,
) -> Result<Box<dyn Source>, Issue> {
    Ok(Box::new(source::FtraceSource::open(Events::raw_folder(members)?, source, session)))
}
