//! Records of tracepoints: their rows, and their parts of timelines.

use std::rc::Rc;

use perfcase_archive::Issue;
use perfcase_decode::format::EventFormat;
use perfcase_decode::format::state_bits::OldBits;

use super::{Session, SourceId};
use crate::model::Record;
use crate::tracepoint::hooks::Hook;
use crate::tracepoint::plan::IntField;
use crate::tracepoint::rows::Head;
use crate::tracepoint::{Definition, TracepointId};

impl Session {
    /// Registers an event format: makes the plan to read it, and its table. Gives the key for [`Session::tracepoint`].
    pub fn tracepoint_def(&mut self, format: &EventFormat, is_big_endian: bool, source: SourceId) -> TracepointId {
        let points = &mut self.tracepoints;
        let id = points.definitions.len() as TracepointId;
        let is_switch = format.system == "sched" && format.name == "sched_switch";
        let old_bits = is_switch.then(|| OldBits::of(format, self.model.host.kernel_release.as_deref())).flatten();
        let hook = Rc::new(Hook::of(format, is_big_endian, old_bits));
        let own = (!hook.replaces_table()).then(|| {
            let table = points.table(&format.name, &format.system);
            (table, points.tables[table].add_format(format, is_big_endian, old_bits))
        });
        let common_pid = IntField::find(format, "common_pid", is_big_endian);
        points.definitions.push(Definition { source, own, hook, common_pid, short_count: 0 });
        id
    }

    /// Gives the thread that ran, according to the event itself.
    pub fn tracepoint_tid(&self, id: TracepointId, payload: &[u8]) -> Option<i32> {
        tid_of(self.tracepoints.definitions.get(id as usize)?.common_pid, payload)
    }

    /// Adds the record's row to the event's table, and hands the record to the timelines.
    #[inline]
    pub fn tracepoint(&mut self, id: TracepointId, record: Record<'_>) {
        let Some(definition) = self.tracepoints.definitions.get(id as usize) else { return };
        let (source, hook, common_pid) = (definition.source, definition.hook.clone(), definition.common_pid);
        // 0 is the id of the idle task, but also of a thread that is exiting or is in another PID namespace.
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
        let Some((table, plan)) = definition.own else {
            // The timelines have it, which put aside what they need not hold.
            return self.row_added();
        };
        let head = Head { ts_ns: ts, cpu: record.cpu, utid, stack, source, plan };
        let is_whole = self.tracepoints.tables[table].push(head, record.payload);
        definition.short_count += u64::from(!is_whole);
        for (name, build) in self.tracepoints.take_heavy(record.payload.len()) {
            self.sink.write_later(&name, build);
        }
        self.row_added();
    }

    /// Reports the number of records that were shorter than their format.
    pub(crate) fn report_short_records(&mut self) {
        let short = self.tracepoints.definitions.iter().filter(|definition| definition.short_count > 0);
        let short: Vec<_> = short.filter_map(|d| Some((d.source, d.own?.0, d.short_count))).collect();
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
#[path = "tracepoint_tests.rs"]
mod tests;
