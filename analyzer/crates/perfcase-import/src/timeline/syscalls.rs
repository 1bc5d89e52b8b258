//! System calls from raw_syscalls:sys_enter and sys_exit.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::order;
use crate::session::{NO_TIME, Utid};
use crate::syscall_names::Names;
use crate::tables::{self, SyscallRow, SyscallTable, Table};
use crate::tracepoint::Record;
use crate::writer::Build;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq)]
enum Pairing {
    Strict,
    ExitOnly,
    EnterOnly,
}

#[derive(Clone, Copy)]
struct Call {
    entered: i64,
    exited: i64,
    /// The thread's latest entry before the exit, of whatever call: what perf trace counts from.
    latest_entry: i64,
    number: i64,
    ret: i64,
    args: [u64; 6],
    utid: Utid,
    cpu: u32,
    stack: u32,
    pairing: Pairing,
}

#[derive(Clone, Default)]
struct Thread {
    pending: Option<Call>,
    latest_entry: Option<i64>,
}

#[derive(Default)]
pub(crate) struct Syscalls {
    threads: Vec<Thread>,
    calls: Vec<Call>,
    count: u64,
}

impl Syscalls {
    /// Number of entries and exits.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    fn thread(&mut self, utid: Utid) -> &mut Thread {
        let index = utid as usize;
        if index >= self.threads.len() {
            self.threads.resize(index + 1, Thread::default());
        }
        &mut self.threads[index]
    }

    #[inline]
    pub(crate) fn enter(&mut self, utid: Utid, clock_ns: i64, record: &Record<'_>, number: i64, args: [u64; 6]) {
        self.count += 1;
        let call = Call {
            entered: clock_ns,
            exited: NO_TIME,
            latest_entry: NO_TIME,
            number,
            ret: 0,
            args,
            utid,
            cpu: record.cpu.unwrap_or(NONE),
            stack: record.stack.unwrap_or(NONE),
            pairing: Pairing::EnterOnly,
        };
        let thread = self.thread(utid);
        thread.latest_entry = Some(clock_ns);
        if let Some(lost) = thread.pending.replace(call) {
            self.calls.push(lost);
        }
    }

    #[inline]
    pub(crate) fn exit(&mut self, utid: Utid, clock_ns: i64, record: &Record<'_>, number: i64, ret: i64) {
        self.count += 1;
        let (cpu, stack) = (record.cpu.unwrap_or(NONE), record.stack.unwrap_or(NONE));
        let thread = self.thread(utid);
        let latest_entry = thread.latest_entry.unwrap_or(NO_TIME);
        let pending = thread.pending.take();
        match pending {
            Some(call) if call.number == number => {
                let stack = if call.stack == NONE { stack } else { call.stack };
                self.calls.push(Call { exited: clock_ns, latest_entry, ret, stack, pairing: Pairing::Strict, ..call });
            }
            other => {
                self.calls.extend(other);
                self.calls.push(Call {
                    entered: NO_TIME,
                    exited: clock_ns,
                    latest_entry,
                    number,
                    ret,
                    args: [0; 6],
                    utid,
                    cpu,
                    stack,
                    pairing: Pairing::ExitOnly,
                });
            }
        }
    }

    /// Entries whose return is not in the capture.
    pub(crate) fn settle_open(&mut self) {
        for thread in &mut self.threads {
            self.calls.extend(thread.pending.take());
        }
    }

    /// Takes the settled calls, if there are at least `least`: their rows are made where they are written.
    pub(crate) fn settled(&mut self, start: i64, least: usize, names: Arc<Names>) -> Option<Build> {
        if self.calls.len() < least.max(1) {
            return None;
        }
        let capacity = self.calls.len();
        let calls = std::mem::replace(&mut self.calls, Vec::with_capacity(capacity));
        Some(Box::new(move || rows(&calls, start, &names)))
    }
}

/// Rows of `syscall`, in the order of their beginning.
fn rows(calls: &[Call], start: i64, names: &Names) -> Result<RecordBatch, ArrowError> {
    let begin = |call: &Call| if call.entered == NO_TIME { call.exited } else { call.entered };
    let known = |number: u32| (number != NONE).then_some(number);
    let mut table = SyscallTable::default();
    let mut unknown = String::new();
    for row in order::by_time(calls.len(), |row| begin(&calls[row])) {
        let call = &calls[row as usize];
        let has_exit = call.exited != NO_TIME;
        let is_strict = call.pairing == Pairing::Strict;
        // perf trace: 0 without an earlier entry; the time must be after it, not at it.
        let perf =
            (call.latest_entry != NO_TIME).then(|| call.exited.saturating_sub(call.latest_entry).max(0)).unwrap_or(0);
        let name = names.get(call.number).unwrap_or_else(|| {
            unknown = format!("syscall_{}", call.number);
            &unknown
        });
        table.push(SyscallRow {
            ts_ns: begin(call).saturating_sub(start),
            exit_ts_ns: has_exit.then(|| call.exited.saturating_sub(start)),
            duration_ns: is_strict.then(|| call.exited.saturating_sub(call.entered)),
            perf_duration_ns: has_exit.then_some(perf),
            utid: call.utid,
            cpu: known(call.cpu),
            number: call.number,
            name: name.as_bytes(),
            args: (call.pairing != Pairing::ExitOnly).then_some(&call.args[..]),
            ret: has_exit.then_some(call.ret),
            errno: (has_exit && (-4095..0).contains(&call.ret)).then(|| -call.ret as i32),
            pairing: match call.pairing {
                Pairing::Strict => b"strict",
                Pairing::ExitOnly => b"exit_only",
                Pairing::EnterOnly => b"enter_only",
            },
            stack_id: known(call.stack),
        });
    }
    tables::batch("syscall", table.take())
}
