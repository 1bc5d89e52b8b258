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

use std::collections::HashMap;

use perfcase_decode::perf_data::FileSymbols;
use perfcase_symbols::Kallsyms;

pub use events::SourceId;
pub use perfcase_decode::NO_TIME;
pub use record::Record;
pub use threads::{NameId, Utid, until_nul};

/// All of it.
pub(crate) struct Model {
    /// Pages of the recorded host: the unit of a mapping's offset in some records.
    pub page_size_bytes: u64,
    /// What decoders learned of the host.
    pub host: host::HostFacts,
    /// Symbols of the recorded kernel that a recording carries itself: for a bare file, where no archive has them.
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
    /// Nothing is known yet.
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
