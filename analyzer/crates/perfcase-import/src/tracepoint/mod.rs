//! Tracepoint payloads: decoded by the formats in the file into one typed table an event, and handed to the timelines.

pub(crate) mod hooks;
pub(crate) mod plan;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::model::SourceId;
use crate::tables::TableSpec;
use crate::writer::Build;
use hashbrown::HashMap;
use hooks::Hook;
use plan::{IntField, Plan};
use table::EventTable;

/// Key of an event format that a source recorded.
pub type TracepointId = u32;

/// Tables that tracepoints may make: a bound for hostile input.
const MOST_TABLES: usize = 4096;

pub(crate) struct Definition {
    pub(crate) source: SourceId,
    /// The event's table and how to fill it; `None` where another table holds everything that it would.
    pub(crate) own: Option<(usize, Plan)>,
    /// Shared, since what it calls needs the whole session.
    pub(crate) hook: Rc<Hook>,
    pub(crate) common_pid: Option<IntField>,
    pub(crate) short_count: u64,
}

#[derive(Default)]
pub(crate) struct Tracepoints {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) tables: Vec<EventTable>,
    by_name: HashMap<String, usize>,
}

impl Tracepoints {
    /// Rows that wait, of each table with at least `least` of them.
    pub(crate) fn take(&mut self, least: usize) -> Vec<(String, Build)> {
        let full = self.tables.iter_mut().filter(|table| table.len() >= least && table.is_wanted());
        full.map(|table| (table.name().to_string(), table.take())).collect()
    }

    /// Makes sure that the tables with a specification exist, though no event filled them.
    pub(crate) fn complete(&mut self) {
        for spec in crate::tables::SPECS.iter().filter(|spec| spec.is_tracepoint) {
            if !self.by_name.contains_key(spec.name) {
                self.table(spec.name, "");
            }
        }
    }

    /// The columns, with their types in SQL, of every table that has others than the schema says.
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

    /// The table of an event. Two systems may have events of one name, and an event may be named as another table:
    /// those are prefixed with their system.
    pub(crate) fn table(&mut self, event: &str, system: &str) -> usize {
        // A name becomes a file's name: nothing of it but letters, digits and underscores is kept.
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
