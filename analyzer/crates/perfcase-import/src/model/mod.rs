//! The state at a moment of the capture: threads and their names, mappings, callchains, sources, issues.
//!
//! Nothing here uses the session, timelines or tracepoints; tests/test_importer_rooms.py holds that.

pub(crate) mod code;
pub(crate) mod events;
pub(crate) mod functions;
pub(crate) mod host;
pub(crate) mod issues;
pub(crate) mod load;
pub(crate) mod maps;
pub(crate) mod record;
pub(crate) mod regions;
pub(crate) mod stacks;
pub(crate) mod threads;

use std::collections::HashMap;

use perfcase_decode::perf_data::FileSymbols;
use perfcase_symbols::Kallsyms;

pub use events::SourceId;
pub use perfcase_decode::NO_TIME;
pub use record::Record;
pub use threads::{NameId, Utid, until_nul};

/// The whole state.
pub(crate) struct Model {
    /// Bytes of a page of the recorded host: the unit of a mapping's offset in some records.
    pub page_size_bytes: u64,
    /// What decoders learned about the host.
    pub host: host::HostFacts,
    /// Symbols of the recorded kernel in the recording itself: for a file without an archive.
    pub kernel_symbols: Option<Kallsyms>,
    /// Functions of files by path, from the recording itself.
    pub file_symbols: HashMap<Vec<u8>, FileSymbols>,
    pub issues: issues::Issues,
    pub threads: threads::Threads,
    pub maps: maps::Maps,
    pub stacks: stacks::Stacks,
    pub events: events::Events,
}

impl Model {
    /// Begins with nothing.
    pub(crate) fn new() -> Model {
        Model {
            page_size_bytes: 4096,
            host: host::HostFacts::default(),
            kernel_symbols: None,
            file_symbols: HashMap::new(),
            issues: issues::Issues::default(),
            threads: threads::Threads::new(),
            maps: maps::Maps::new(),
            stacks: stacks::Stacks::new(),
            events: events::Events::default(),
        }
    }
}
