//! What is known at a moment of the capture: threads and their names, what is mapped where, callchains, sources, trouble.
//!
//! Nothing here knows of the session that feeds it, nor of timelines and tracepoints; tests/test_importer_rooms.py holds that.

pub(crate) mod code;
pub(crate) mod events;
pub(crate) mod host;
pub(crate) mod issues;
pub(crate) mod load;
pub(crate) mod maps;
pub(crate) mod record;
pub(crate) mod regions;
pub(crate) mod stacks;
pub(crate) mod threads;

pub use events::SourceId;
pub use perfcase_decode::NO_TIME;
pub use record::Record;
pub use threads::{NameId, Utid, until_nul};
