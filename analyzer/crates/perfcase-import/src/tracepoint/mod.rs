//! Tracepoint payloads: decoded by the formats in the file into one typed table an event, and handed to the timelines.

mod hooks;
mod plan;
pub(crate) mod state_bits;
mod table;

use std::collections::BTreeMap;
use std::rc::Rc;

use hashbrown::HashMap;
use perfcase_archive::Issue;
use perfcase_decode::format::EventFormat;

use crate::session::{Session, SourceId};
use crate::tables::TableSpec;
use crate::writer::Build;
use hooks::Hook;
use plan::{IntField, Plan};
use state_bits::OldBits;
use table::EventTable;

/// Key of an event format that a source recorded.
pub type TracepointId = u32;

/// Tables that tracepoints may make: a bound for hostile input.
const MOST_TABLES: usize = 4096;

/// One tracepoint record, from whatever file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Time on the capture's clock in ns.
    pub clock_ns: i64,
    /// The CPU that recorded it.
    pub cpu: Option<u32>,
    /// The thread that was running, where the record tells: perf says -1 for a thread that is exiting.
    pub tid: Option<i32>,
    /// Its process, where the record tells.
    pub pid: Option<i32>,
    /// The callchain.
    pub stack: Option<u32>,
    /// The event's own bytes, common fields included.
    pub payload: &'a [u8],
}

struct Definition {
    source: SourceId,
    /// The event's table and how to fill it; `None` where another table holds everything that it would.
    own: Option<(usize, Plan)>,
    /// Shared, since what it calls needs the whole session.
    hook: Rc<Hook>,
    common_pid: Option<IntField>,
    short_count: u64,
}

#[derive(Default)]
pub(crate) struct Tracepoints {
    definitions: Vec<Definition>,
    tables: Vec<EventTable>,
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
    fn table(&mut self, event: &str, system: &str) -> usize {
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

impl Session {
    /// Registers an event format: compiles how to read it and makes its table. The answer is the key for
    /// [`Session::tracepoint`].
    pub fn tracepoint_def(&mut self, format: &EventFormat, is_big_endian: bool, source: SourceId) -> TracepointId {
        let points = &mut self.tracepoints;
        let id = points.definitions.len() as TracepointId;
        let is_switch = format.system == "sched" && format.name == "sched_switch";
        let old_bits = is_switch.then(|| OldBits::of(format, self.host.kernel_release.as_deref())).flatten();
        let hook = Rc::new(Hook::of(format, is_big_endian, old_bits));
        let own = (!hook.replaces_table()).then(|| {
            let table = points.table(&format.name, &format.system);
            (table, Plan::compile(format, is_big_endian, old_bits, &mut points.tables[table]))
        });
        let common_pid = IntField::find(format, "common_pid", is_big_endian);
        points.definitions.push(Definition { source, own, hook, common_pid, short_count: 0 });
        id
    }

    /// The thread that the event itself names as the one that was running.
    pub fn tracepoint_tid(&self, id: TracepointId, payload: &[u8]) -> Option<i32> {
        tid_of(self.tracepoints.definitions.get(id as usize)?.common_pid, payload)
    }

    /// Adds the record's row to the event's table, and what it tells to the timelines.
    #[inline]
    pub fn tracepoint(&mut self, id: TracepointId, record: Record<'_>) {
        let Some(definition) = self.tracepoints.definitions.get(id as usize) else { return };
        let (source, hook, common_pid) = (definition.source, definition.hook.clone(), definition.common_pid);
        // 0 is the id of the idle task, but also of a thread that is exiting or lives in another namespace of pids.
        let own_tid = || tid_of(common_pid, record.payload);
        let (tid, record) = match record.tid.filter(|&tid| tid > 0) {
            Some(tid) => (Some(tid), record),
            None => {
                let pid = record.pid.filter(|&pid| pid > 0);
                (own_tid().or(record.tid.filter(|&tid| tid == 0)), Record { pid, ..record })
            }
        };
        let utid = self.run_hook(&hook, source, tid, &record);
        let stack = record.stack.or_else(|| self.traced_call(&hook, record.payload));
        let ts = self.ts(record.clock_ns).unwrap_or(0);
        let Some(definition) = self.tracepoints.definitions.get_mut(id as usize) else { return };
        let Some((table, plan)) = &definition.own else { return };
        let table = &mut self.tracepoints.tables[*table];
        table.begin_row(ts, record.cpu, utid, source, stack);
        if !plan.read(record.payload, table) {
            definition.short_count += 1;
        }
        self.row_added();
    }

    /// Says how many records were shorter than their format.
    pub(crate) fn report_short_records(&mut self) {
        let short = self.tracepoints.definitions.iter().filter(|definition| definition.short_count > 0);
        let short: Vec<_> = short.filter_map(|d| Some((d.source, d.own.as_ref()?.0, d.short_count))).collect();
        for (source, table, count) in short {
            let table = self.tracepoints.tables[table].name().to_string();
            let text = format!("{count} records of {table} are shorter than their format; missing fields are NULL");
            self.issue_of(source, Issue::warning("short_record", text));
        }
    }
}

fn tid_of(common_pid: Option<IntField>, payload: &[u8]) -> Option<i32> {
    let pid = common_pid?.read(payload)?;
    i32::try_from(pid).ok().filter(|&pid| pid >= 0)
}

#[cfg(test)]
mod tests;
