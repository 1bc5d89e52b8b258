//! What the snapshots tell of the time that threads were on a CPU and of the quotas that held them back.

use std::path::Path;

use hashbrown::HashMap;

use super::history::History;
use super::measured::{Measured, Seen};
use super::rows::{at, each, meaning, meanings};
use crate::writer::WriteError;

/// A control group: its path, and how long a quota has held it back until each snapshot, in ns.
type Held = (String, HashMap<u32, i64>);

/// Gives what snapshots measured of the threads whose processes were recorded, where events do not tell enough: others ran on the CPUs, or
/// a quota held some back.
pub(super) fn measured(folder: &Path, history: &History) -> Result<Measured, WriteError> {
    let mut measured = Measured::default();
    let held = held(folder)?;
    if !history.has_strangers && held.is_empty() {
        return Ok(measured);
    }
    let mut groups = HashMap::new();
    each(folder, "proc_command", &["upid", "cgroup"], |batch| {
        let (Some(upids), Some(names)) = (batch.u32s("upid"), batch.texts("cgroup")) else { return };
        for (row, name) in names.iter().enumerate() {
            // A group that was held back, or one below it.
            let within = |path: &str| name?.strip_prefix(path).filter(|rest| rest.is_empty() || rest.starts_with('/'));
            if let Some(group) = held.iter().position(|(path, _)| within(path).is_some()) {
                groups.entry(upids.value(row)).or_insert(group);
            }
        }
    })?;
    let mut last: HashMap<u32, (i64, u32, i64)> = HashMap::new();
    each(folder, "proc_thread", &["ts_ns", "snapshot", "utid", "on_cpu_ns"], |batch| {
        let (Some(times), Some(snapshots)) = (batch.i64s("ts_ns"), batch.u32s("snapshot")) else { return };
        let (Some(utids), Some(values)) = (batch.u32s("utid"), batch.i64s("on_cpu_ns")) else { return };
        for row in 0..batch.0.num_rows() {
            let (utid, snapshot) = (utids.value(row), snapshots.value(row));
            let (Some(time), Some(value)) = (at(times, row), at(values, row)) else { continue };
            let Some((since, before, old)) = last.insert(utid, (time, snapshot, value)) else { continue };
            let group = history.thread(utid).and_then(|thread| groups.get(&thread.upid)).map(|&group| &held[group].1);
            let of = |snapshot: u32| group.and_then(|values| values.get(&snapshot)).copied();
            let held_ns = of(snapshot).zip(of(before)).map_or(0, |(now, then)| now.saturating_sub(then));
            measured.add(utid, (since, time), value.saturating_sub(old), held_ns);
        }
    })?;
    let columns = ["ts_ns", "duration_ns", "utid", "state", "is_ambiguous"];
    let mut queued: HashMap<u32, i64> = HashMap::new();
    each(folder, "thread_state", &columns, |batch| {
        let (Some(starts), Some(durations)) = (batch.i64s("ts_ns"), batch.i64s("duration_ns")) else { return };
        let (Some(utids), Some(states)) = (batch.u32s("utid"), batch.symbols("state")) else { return };
        let Some(ambiguous) = batch.bools("is_ambiguous") else { return };
        let seen = meanings(states, |state| match state {
            "running" => Some(Seen::Ran),
            "runnable" | "runnable_preempted" => Some(Seen::Queued),
            _ => None,
        });
        for row in 0..batch.0.num_rows() {
            let utid = utids.value(row);
            let Some(seen) = meaning(states, &seen, row).flatten().filter(|_| measured.has(utid)) else { continue };
            let start = starts.value(row);
            let end = start.saturating_add(durations.value(row));
            match (seen, ambiguous.value(row)) {
                (Seen::Ran, true) if queued.get(&utid) == Some(&start) => measured.see(utid, start, end, Seen::Unsure),
                // It may have slept at first: it did not surely run.
                (Seen::Ran, true) => {}
                _ => measured.see(utid, start, end, seen),
            }
            if seen == Seen::Queued {
                queued.insert(utid, end);
            }
        }
    })?;
    Ok(measured)
}

/// Gives the control groups that a quota held back.
fn held(folder: &Path) -> Result<Vec<Held>, WriteError> {
    let mut held: HashMap<String, HashMap<u32, i64>> = HashMap::new();
    each(folder, "proc_cgroup_stat", &["snapshot", "cgroup", "name", "value"], |batch| {
        let (Some(snapshots), Some(groups)) = (batch.u32s("snapshot"), batch.symbols("cgroup")) else { return };
        let (Some(names), Some(values)) = (batch.symbols("name"), batch.i64s("value")) else { return };
        let units = meanings(names, |name| match name {
            "cpu.stat.throttled_usec" => Some(1000),
            "cpu.stat.throttled_time" => Some(1),
            _ => None,
        });
        // In version 1, the name of the controller stands before the path.
        let paths = meanings(groups, |group| group.find('/').map_or("", |at| &group[at..]).to_owned());
        for row in 0..batch.0.num_rows() {
            let Some(unit) = meaning(names, &units, row).flatten() else { continue };
            let path = at(groups.keys(), row).and_then(|key| paths.get(key as usize));
            if let (Some(path), Some(value)) = (path, at(values, row)) {
                held.entry_ref(path.as_str()).or_default().insert(snapshots.value(row), value.saturating_mul(unit));
            }
        }
    })?;
    held.retain(|_, values| values.values().min() < values.values().max());
    Ok(held.into_iter().collect())
}
