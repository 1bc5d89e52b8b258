//! Tracepoint payloads. They are decoded by the formats in the file into one typed table for each event, and given to
//! the timelines.

pub(crate) mod hooks;
pub(crate) mod plan;
pub(crate) mod rows;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::model::SourceId;
use crate::tables::TableSpec;
use crate::writer::Build;
use hashbrown::HashMap;
use hooks::Hook;
use plan::IntField;
use table::EventTable;

/// The key of an event format that a source recorded.
pub type TracepointId = u32;

/// The most bytes of payloads that wait. Usual payloads are much smaller before the usual number of rows is complete.
const PAYLOAD_BYTES_HELD: usize = 32 << 20;

/// The most tables that tracepoints may make: a bound for hostile input.
const MOST_TABLES: usize = 4096;

pub(crate) struct Definition {
    pub(crate) source: SourceId,
    /// The event's table and the number of its plan there; `None` where another table has everything that this table would have.
    pub(crate) own: Option<(usize, u32)>,
    /// Shared, because its calls need the whole session.
    pub(crate) hook: Rc<Hook>,
    pub(crate) common_pid: Option<IntField>,
    pub(crate) short_count: u64,
}

#[derive(Default)]
pub(crate) struct Tracepoints {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) tables: Vec<EventTable>,
    by_name: HashMap<String, usize>,
    payload_bytes: usize,
}

impl Tracepoints {
    /// Takes the waiting rows of each table that has at least `least` of them.
    pub(crate) fn take(&mut self, least: usize) -> Vec<(String, Build)> {
        let full = self.tables.iter_mut().filter(|table| table.len() >= least && table.is_wanted());
        let taken = full.map(|table| {
            self.payload_bytes -= table.payload_bytes();
            (table.name().to_string(), table.take())
        });
        taken.collect()
    }

    /// Counts the bytes of a payload. Gives the waiting rows of all tables when there are too many bytes.
    #[inline]
    pub(crate) fn take_heavy(&mut self, bytes: usize) -> Vec<(String, Build)> {
        self.payload_bytes += bytes;
        if self.payload_bytes < PAYLOAD_BYTES_HELD { Vec::new() } else { self.take(1) }
    }

    /// Makes sure that the tables with a specification exist, even if no event filled them.
    pub(crate) fn complete(&mut self) {
        for spec in crate::tables::SPECS.iter().filter(|spec| spec.is_tracepoint) {
            if !self.by_name.contains_key(spec.name) {
                self.table(spec.name, "");
            }
        }
    }

    /// Gives the columns and their SQL types of every table whose columns differ from those of the schema.
    pub(crate) fn other_columns(&self) -> BTreeMap<String, Vec<(String, &'static str)>> {
        let columns = |table: &EventTable| table.columns().map(|(name, of)| (name.to_string(), of)).collect();
        let is_other = |table: &&EventTable| {
            let spec = TableSpec::find(table.name());
            table.is_wanted()
                && !spec
                    .is_some_and(|spec| spec.columns.iter().map(|c| c.name).eq(table.columns().map(|(name, _)| name)))
        };
        let tables = self.tables.iter().filter(is_other);
        tables.map(|table| (table.name().to_string(), columns(table))).collect()
    }

    /// Gives the table of an event. Two systems may have events of one name, and an event may have the name of another
    /// table: the names of such tables begin with the system.
    pub(crate) fn table(&mut self, event: &str, system: &str) -> usize {
        // The name becomes a file's name: only letters, digits and underscores are kept.
        let clean = |text: &str| -> String {
            let text = if text.is_empty() { "unnamed" } else { text };
            text.chars().take(200).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
        };
        let (event, system) = (clean(event), clean(system));
        let qualified = format!("{system}_{event}").to_ascii_lowercase();
        let mut name = event.to_ascii_lowercase();
        let is_taken = |name: &str| TableSpec::find(name).is_some_and(|spec| !spec.is_tracepoint);
        let other = self.by_name.get(&name).is_some_and(|&i| !self.tables[i].is_of(&system));
        if is_taken(&name) || other {
            name = qualified;
        }
        if is_taken(&name) || self.tables.len() >= MOST_TABLES {
            name = "other_tracepoint".to_string();
        }
        if let Some(&index) = self.by_name.get(&name) {
            return index;
        }
        let index = self.tables.len();
        self.tables.push(EventTable::new(&name, &system));
        self.by_name.insert(name, index);
        index
    }
}
