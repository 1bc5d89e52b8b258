//! The tables that blame is made of, as far as it needs them.

use std::path::{Path, PathBuf};

use arrow_array::Array as _;
use hashbrown::{HashMap, HashSet};

use super::calls::CallNames;
use super::descriptors::Descriptors;
use super::disks::Completions;
use super::entered::add_calls;
use super::history::{Context, Doing, History, NONE, Piece};
use super::rows::{Batch, Rows, at, each, meaning, meanings};
use super::samples::Samples;
use super::work::{Work, Works};
use crate::writer::WriteError;

/// Sampled events that count CPU time.
const CLOCKS: [&str; 4] = ["cpu-clock", "task-clock", "cpu-cycles", "cycles"];

/// States and calls in the order of time, and all that is read as a whole.
pub(super) struct Input {
    folder: PathBuf,
    states: Rows,
    calls: Option<Rows>,
    /// The last end of a call that was read.
    calls_end: i64,
    /// The kernel's own threads: each is a process.
    of_kernel: HashSet<u32>,
}

impl Input {
    /// Opens the tables, and tells `history` which process each thread is of. `None` if no states were recorded.
    pub(super) fn open(folder: &Path, history: &mut History) -> Result<Option<Input>, WriteError> {
        let columns = [
            "ts_ns",
            "duration_ns",
            "utid",
            "name_id",
            "state",
            "cpu",
            "stack_id",
            "waker_utid",
            "waker_context",
            "queue_cpu",
            "ran_cpu",
            "is_open",
            "is_ambiguous",
        ]; // fmt: skip
        let Some(states) = Rows::open(folder, "thread_state", &columns)? else { return Ok(None) };
        let columns =
            ["ts_ns", "exit_ts_ns", "utid", "name", "args", "descriptor_id", "ret", "errno", "pairing", "cut_at"];
        let calls = Rows::open(folder, "syscall", &columns)?;
        // As the kit's stranger.sql has it.
        let mut knows_all = Rows::open(folder, "proc_command", &["ts_ns"])?.is_some();
        each(folder, "source", &["kind", "is_timeline"], |batch| {
            let (Some(kinds), Some(chosen)) = (batch.texts("kind"), batch.bools("is_timeline")) else { return };
            knows_all |= kinds.iter().zip(chosen).any(|of| of == (Some("perf_data"), Some(true)));
        })?;
        let of_kernel = kernel_threads(folder)?;
        each(folder, "thread", &["utid", "upid", "start_ts_ns"], |batch| {
            let (Some(utids), Some(upids)) = (batch.u32s("utid"), batch.u32s("upid")) else { return };
            let Some(starts) = batch.i64s("start_ts_ns") else { return };
            for row in 0..batch.0.num_rows() {
                let upid = at(upids, row);
                if let Some(thread) = history.thread_mut(utids.value(row)) {
                    thread.upid = upid.unwrap_or(NONE);
                    thread.born = at(starts, row).unwrap_or(i64::MIN);
                    thread.is_stranger = knows_all && upid.is_none();
                    thread.is_kernel = upid.is_some_and(|upid| of_kernel.contains(&upid));
                }
                history.has_strangers |= knows_all && upid.is_none();
            }
        })?;
        Ok(Some(Input { folder: folder.to_path_buf(), states, calls, calls_end: i64::MIN, of_kernel }))
    }

    /// Gives the number of all states.
    pub(super) fn state_count(&self) -> u64 {
        self.states.row_count
    }

    /// Adds the next states, with the calls until their end, to `history`: at least `count` pieces and calls. Gives whether
    /// that was all, and the end of the last state.
    pub(super) fn window(
        &mut self,
        history: &mut History,
        names: &mut CallNames,
        descriptors: &Descriptors,
        count: usize,
    ) -> Result<(bool, i64), WriteError> {
        let enough = history.count.saturating_add(count);
        let mut end = i64::MIN;
        while history.count < enough {
            let Some(batch) = self.states.next()? else {
                self.read_calls(history, names, descriptors, i64::MAX)?;
                return Ok((true, end));
            };
            end = end.max(add_states(&batch, history).unwrap_or(i64::MIN));
            self.read_calls(history, names, descriptors, end)?;
        }
        Ok((false, end))
    }

    fn read_calls(
        &mut self,
        history: &mut History,
        names: &mut CallNames,
        descriptors: &Descriptors,
        until: i64,
    ) -> Result<(), WriteError> {
        while let Some(calls) = &mut self.calls
            && self.calls_end < until
        {
            let Some(batch) = calls.next()? else {
                self.calls = None;
                return Ok(());
            };
            let end = add_calls(&batch, history, names, descriptors);
            self.calls_end = self.calls_end.max(end.unwrap_or(i64::MIN));
        }
        Ok(())
    }

    /// Gives when each thread has work.
    pub(super) fn works(&self) -> Result<Works, WriteError> {
        let mut works = Works::default();
        let mut servers = HashSet::new();
        let columns = ["ts_ns", "end_ts_ns", "unanswered_ns", "upid", "utid", "writer_utid"];
        each(&self.folder, "request", &columns, |batch| {
            let (Some(starts), Some(ends)) = (batch.i64s("ts_ns"), batch.i64s("end_ts_ns")) else { return };
            let (Some(upids), Some(writers)) = (batch.u32s("upid"), batch.u32s("writer_utid")) else { return };
            let (Some(waited), Some(readers)) = (batch.i64s("unanswered_ns"), batch.u32s("utid")) else { return };
            for row in 0..batch.0.num_rows() {
                servers.insert(upids.value(row));
                let start = starts.value(row);
                if let (Some(end), Some(utid)) = (at(ends, row), at(writers, row)) {
                    works.add(utid, start, end, Work::Request);
                } else if let Some(waited_ns) = at(waited, row) {
                    // Where an answer was due, who reads requests answers them.
                    works.add(readers.value(row), start, start.saturating_add(waited_ns), Work::Request);
                }
            }
        })?;
        each(&self.folder, "socket_turn", &["ts_ns", "answer_ts_ns", "utid", "is_client"], |batch| {
            let (Some(starts), Some(ends)) = (batch.i64s("ts_ns"), batch.i64s("answer_ts_ns")) else { return };
            let (Some(utids), Some(clients)) = (batch.u32s("utid"), batch.bools("is_client")) else { return };
            for row in 0..batch.0.num_rows() {
                if clients.is_valid(row) && clients.value(row) {
                    works.add(utids.value(row), starts.value(row), ends.value(row), Work::Call);
                }
            }
        })?;
        let mut begun = HashMap::new();
        each(&self.folder, "process", &["upid", "pid", "start_ts_ns", "end_ts_ns"], |batch| {
            let (Some(upids), Some(pids)) = (batch.u32s("upid"), batch.i32s("pid")) else { return };
            let (Some(starts), Some(ends)) = (batch.i64s("start_ts_ns"), batch.i64s("end_ts_ns")) else { return };
            for row in 0..batch.0.num_rows() {
                let upid = upids.value(row);
                if let Some(start) =
                    at(starts, row).filter(|_| !servers.contains(&upid) && !self.of_kernel.contains(&upid))
                {
                    begun.insert(upid, (pids.value(row), start, at(ends, row).unwrap_or(i64::MAX)));
                }
            }
        })?;
        each(&self.folder, "thread", &["utid", "tid", "upid"], |batch| {
            let (Some(utids), Some(tids)) = (batch.u32s("utid"), batch.i32s("tid")) else { return };
            let Some(upids) = batch.u32s("upid") else { return };
            for row in 0..batch.0.num_rows() {
                let process = at(upids, row).and_then(|upid| begun.get(&upid));
                if let Some(&(_, start, end)) = process.filter(|(pid, ..)| *pid == tids.value(row)) {
                    works.add(utids.value(row), start, end, Work::Command);
                }
            }
        })?;
        works.settle();
        Ok(works)
    }

    /// Gives what each descriptor is.
    pub(super) fn descriptors(&self) -> Result<Descriptors, WriteError> {
        Descriptors::read(&self.folder)
    }

    /// Gives the samples of CPU time.
    pub(super) fn samples(&self) -> Result<Samples, WriteError> {
        let mut clocks = HashSet::new();
        each(&self.folder, "perf_event", &["event_id", "name"], |batch| {
            let (Some(ids), Some(names)) = (batch.u32s("event_id"), batch.texts("name")) else { return };
            for (row, name) in names.iter().enumerate() {
                if name.is_some_and(|name| CLOCKS.contains(&name.split([':', '/']).next().unwrap_or(name))) {
                    clocks.insert(ids.value(row));
                }
            }
        })?;
        let mut samples = Samples::default();
        if clocks.is_empty() {
            return Ok(samples);
        }
        each(&self.folder, "sample", &["ts_ns", "utid", "event_id", "stack_id"], |batch| {
            let (Some(times), Some(utids)) = (batch.i64s("ts_ns"), batch.u32s("utid")) else { return };
            let (Some(events), Some(stacks)) = (batch.u32s("event_id"), batch.u32s("stack_id")) else { return };
            for row in 0..batch.0.num_rows() {
                let (time, utid, stack) = (at(times, row), at(utids, row), at(stacks, row));
                if let (Some(time), Some(utid), Some(stack), true) =
                    (time, utid, stack, clocks.contains(&events.value(row)))
                {
                    samples.add(utid, time, stack);
                }
            }
        })?;
        samples.settle();
        Ok(samples)
    }

    /// Gives the requests to disks that ended.
    pub(super) fn completions(&self) -> Result<Completions, WriteError> {
        let mut found = Completions::default();
        each(&self.folder, "block_io", &["completed_ts_ns", "utid", "device"], |batch| {
            let (Some(ends), Some(utids)) = (batch.i64s("completed_ts_ns"), batch.u32s("utid")) else { return };
            let Some(names) = batch.texts("device") else { return };
            for row in 0..batch.0.num_rows() {
                if let Some(end) = at(ends, row) {
                    found.add(end, at(utids, row).unwrap_or(NONE), names.value(row));
                }
            }
        })?;
        found.settle();
        Ok(found)
    }
}

/// Gives the processes that kthreadd forked. In the PID namespace of a container another process may be number 2.
fn kernel_threads(folder: &Path) -> Result<HashSet<u32>, WriteError> {
    let (mut parents, mut forked) = (HashSet::new(), Vec::new());
    each(folder, "process", &["upid", "pid", "parent_upid", "name"], |batch| {
        let (Some(upids), Some(pids)) = (batch.u32s("upid"), batch.i32s("pid")) else { return };
        let (Some(above), Some(names)) = (batch.u32s("parent_upid"), batch.texts("name")) else { return };
        for row in 0..batch.0.num_rows() {
            if pids.value(row) == 2 && names.is_valid(row) && names.value(row) == "kthreadd" {
                parents.insert(upids.value(row));
            }
            forked.extend(at(above, row).map(|parent| (upids.value(row), parent)));
        }
    })?;
    Ok(forked.into_iter().filter(|(_, parent)| parents.contains(parent)).map(|(upid, _)| upid).collect())
}

/// Adds states. Gives the last end of them.
fn add_states(batch: &Batch, history: &mut History) -> Option<i64> {
    let (starts, durations, utids) = (batch.i64s("ts_ns")?, batch.i64s("duration_ns")?, batch.u32s("utid")?);
    let (names, stacks, wakers) = (batch.u32s("name_id")?, batch.u32s("stack_id")?, batch.u32s("waker_utid")?);
    let (cpus, queues, ran) = (batch.u32s("cpu")?, batch.u32s("queue_cpu")?, batch.u32s("ran_cpu")?);
    let (states, contexts, open) = (batch.symbols("state")?, batch.symbols("waker_context")?, batch.bools("is_open")?);
    let ambiguous = batch.bools("is_ambiguous")?;
    let doings = meanings(states, |state| match state {
        "running" => Some(Doing::Running),
        "runnable" | "runnable_preempted" => Some(Doing::Runnable),
        "sleeping" | "idle_sleep" => Some(Doing::Sleeping),
        "disk_sleep" => Some(Doing::DiskSleep),
        "stopped" | "traced" | "parked" | "dead" => Some(Doing::Stopped),
        _ => None,
    });
    let meant = meanings(contexts, |context| match context {
        "task" => Context::Task,
        "softirq" => Context::Softirq,
        "hardirq" => Context::Hardirq,
        _ => Context::Unknown,
    });
    let mut last = None;
    for row in 0..batch.0.num_rows() {
        let (start, utid) = (starts.value(row), utids.value(row));
        let end = start.saturating_add(durations.value(row));
        last = last.max(Some(end));
        let Some(doing) = meaning(states, &doings, row).flatten().filter(|_| utid != 0) else { continue };
        let doing = if doing == Doing::Running && ambiguous.value(row) { Doing::RanInTheEnd } else { doing };
        let or_none = |column| at(column, row).unwrap_or(NONE);
        let cpu = match doing {
            Doing::Runnable => at(queues, row).or(at(ran, row)).unwrap_or(NONE),
            _ => or_none(cpus),
        };
        let context = meaning(contexts, &meant, row).unwrap_or(Context::Unknown);
        let (waker, name, stack, is_open) = (or_none(wakers), or_none(names), or_none(stacks), open.value(row));
        let got_cpu = or_none(ran);
        history.add(utid, Piece { start, end, waker, name, stack, cpu, got_cpu, doing, context, is_open });
    }
    last
}
