//! Ftrace: trace.dat files of trace-cmd and folders of raw ring-buffer pages.
//!
//! | part | job |
//! |---|---|
//! | `trace_dat` | a trace.dat v6 or v7 to a [`Capture`] |
//! | `raw_folder` | the members under `ftrace/raw/` to a [`Capture`] |
//! | `layout`, `page` | the kernel's ring-buffer pages |
//! | `stream`, `merge` | one CPU's events; all CPUs' events by time |
//! | `events` | a capture opened: what it says, and its events |
//! | `source` | hands the events to the session |

pub mod capture;
pub mod compression;
mod cursor;
pub mod events;
pub mod layout;
pub mod merge;
pub mod page;
#[cfg(test)]
mod page_tests;
pub mod raw_folder;
mod source;
pub mod stream;
pub mod trace_dat;

use std::ops::Deref;

pub use capture::{Buffer, Capture, FormatText};
pub use events::Events;

use perfcase_archive::Issue;

use crate::session::{Session, SourceId};
use crate::source::Source;

/// Opens a trace.dat. An error means that nothing of it can be read.
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
