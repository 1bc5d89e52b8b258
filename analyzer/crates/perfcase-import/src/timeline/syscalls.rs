//! System calls from raw_syscalls:sys_enter and sys_exit, or from syscalls:sys_enter_* and sys_exit_*.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::model::{NO_TIME, NameId, Record, Utid};
use crate::order;
use crate::syscall_names::Names;
use crate::tables::{self, SyscallRow, SyscallTable, Table};
use crate::timeline::fd_events::{FdCall, FdEvents};
use crate::writer::Build;

const NONE: u32 = u32::MAX;

/// The number that the kernel shows when it has forgotten the call: on return from a signal handler.
const FORGOTTEN: i64 = -1;

/// execve as x86 shows it when it returns into the new program: its number in the new program's convention.
const X86_EXECVE: i64 = 59;
const I386_EXECVE: i64 = 11;

#[derive(Clone, Copy, PartialEq)]
enum Pairing {
    Strict,
    ExitOnly,
    EnterOnly,
}

/// The part of a call that an edge of the capture cut off.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Edge {
    None,
    Start,
    End,
}

/// An entry, as a tracepoint reports it.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub number: i64,
    pub args: [u64; 6],
    /// The number of arguments that the tracepoint has.
    pub arg_count: u8,
    pub is_compat: bool,
    /// The entry is from a tracepoint of this one call, not from raw_syscalls.
    pub is_typed: bool,
}

/// A return, as a tracepoint reports it.
#[derive(Clone, Copy)]
pub(crate) struct Return {
    pub number: i64,
    pub ret: i64,
    pub is_compat: bool,
    pub is_typed: bool,
}

#[derive(Clone, Copy)]
struct Call {
    entered: i64,
    exited: i64,
    /// The thread's latest entry before the exit, of any call. perf trace counts from it.
    latest_entry: i64,
    number: i64,
    ret: i64,
    args: [u64; 6],
    utid: Utid,
    /// The thread's name when it made the call, or when it returned if only that is known.
    name: NameId,
    cpu: u32,
    stack: u32,
    arg_count: u8,
    pairing: Pairing,
    edge: Edge,
    is_compat: bool,
    is_typed: bool,
}

impl Call {
    /// Gives the time when the call was made, or when it returned if only that is known.
    fn begin(&self) -> i64 {
        if self.entered == NO_TIME { self.exited } else { self.entered }
    }
}

#[derive(Clone, Default)]
struct Thread {
    pending: Option<Call>,
    latest_entry: Option<i64>,
    has_returned: bool,
    /// The number of entries, and of returns without an entry before.
    call_count: u64,
    /// An argument or a result did not fit into 32 bits, so the thread's program has 64 bits.
    is_wide: bool,
}

#[derive(Default)]
pub(crate) struct Syscalls {
    threads: Vec<Thread>,
    calls: Vec<Call>,
    count: u64,
    /// raw_syscalls events were seen. Events of single calls that were recorded too report the same a second time.
    has_raw_enter: bool,
    has_raw_exit: bool,
    /// For the writer's thread, which makes the rows of all calls in the order in which it gets them.
    fd_events: Arc<Mutex<FdEvents>>,
}

impl Syscalls {
    /// Gives the number of entries and exits.
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
    pub(crate) fn enter(&mut self, (utid, name): (Utid, NameId), clock_ns: i64, record: &Record<'_>, entry: Entry) {
        if entry.is_typed && self.has_raw_enter {
            return;
        }
        let is_first_raw = !entry.is_typed && !self.has_raw_enter;
        self.has_raw_enter |= !entry.is_typed;
        self.count += 1;
        let call = Call {
            entered: clock_ns,
            exited: NO_TIME,
            latest_entry: NO_TIME,
            number: entry.number,
            ret: 0,
            args: entry.args,
            utid,
            name,
            cpu: record.cpu.unwrap_or(NONE),
            stack: record.stack.unwrap_or(NONE),
            arg_count: entry.arg_count,
            pairing: Pairing::EnterOnly,
            edge: Edge::None,
            is_compat: entry.is_compat,
            is_typed: entry.is_typed,
        };
        let thread = self.thread(utid);
        thread.latest_entry = Some(clock_ns);
        thread.call_count += 1;
        thread.is_wide |= entry.args.iter().fold(0, |all, arg| all | arg) >> 32 != 0;
        if let Some(lost) = thread.pending.replace(call) {
            if is_first_raw && lost.is_typed && lost.number == call.number {
                self.count -= 1;
            } else {
                self.calls.push(lost);
            }
        }
    }

    /// Adds a return. `is_x86` says how a successful execve returns. If the return shows it, the answer is whether the
    /// new program has 32 bits; otherwise `None`.
    #[inline]
    pub(crate) fn exit(
        &mut self,
        (utid, name): (Utid, NameId),
        clock_ns: i64,
        record: &Record<'_>,
        Return { number, ret, is_compat, is_typed }: Return,
        is_x86: bool,
    ) -> Option<bool> {
        if is_typed && self.has_raw_exit {
            return None;
        }
        let is_first_raw = !is_typed && !self.has_raw_exit;
        self.has_raw_exit |= !is_typed;
        self.count += 1;
        let (cpu, stack) = (record.cpu.unwrap_or(NONE), record.stack.unwrap_or(NONE));
        let thread = self.thread(utid);
        let latest_entry = thread.latest_entry.unwrap_or(NO_TIME);
        let is_first = thread.latest_entry.is_none() && !thread.has_returned;
        thread.has_returned = true;
        thread.is_wide |= !(i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&ret);
        let pending = thread.pending.take();
        thread.call_count += u64::from(pending.is_none());
        match pending {
            Some(call) if call.number == number || returned_as(&call, number, ret, is_x86) => {
                let stack = if call.stack == NONE { stack } else { call.stack };
                let strict =
                    Call { exited: clock_ns, latest_entry, ret, stack, is_typed, pairing: Pairing::Strict, ..call };
                self.calls.push(strict);
                (number != call.number && number != FORGOTTEN).then_some(number == I386_EXECVE)
            }
            other => {
                if is_first_raw && other.is_none() && self.typed_return_of(utid, number, ret) {
                    self.count -= 1;
                    return None;
                }
                self.calls.extend(other);
                self.calls.push(Call {
                    entered: NO_TIME,
                    exited: clock_ns,
                    latest_entry,
                    number,
                    ret,
                    args: [0; 6],
                    utid,
                    name,
                    cpu,
                    stack,
                    arg_count: 0,
                    pairing: Pairing::ExitOnly,
                    edge: if is_first { Edge::Start } else { Edge::None },
                    is_compat,
                    is_typed,
                });
                None
            }
        }
    }

    /// Tells whether the tracepoint of the single call has just reported this return.
    fn typed_return_of(&self, utid: Utid, number: i64, ret: i64) -> bool {
        let last = self.calls.last();
        last.is_some_and(|call| call.is_typed && (call.utid, call.number, call.ret) == (utid, number, ret))
    }

    /// Marks the calls of these threads that are not written yet as calls of a 32-bit program.
    pub(crate) fn make_compat(&mut self, is_of: impl Fn(Utid) -> bool) {
        let pending = self.threads.iter_mut().filter_map(|thread| thread.pending.as_mut());
        for call in self.calls.iter_mut().chain(pending).filter(|call| is_of(call.utid)) {
            call.is_compat = true;
        }
    }

    /// Gives, for each thread that made calls, their number and whether one of them shows that its program has 64 bits.
    pub(crate) fn widths(&self) -> impl Iterator<Item = (Utid, u64, bool)> {
        let threads = self.threads.iter().zip(0..).filter(|(thread, _)| thread.call_count > 0);
        threads.map(|(thread, utid)| (utid, thread.call_count, thread.is_wide))
    }

    /// Settles the entries whose return is not in the capture.
    pub(crate) fn settle_open(&mut self) {
        for thread in &mut self.threads {
            self.calls.extend(thread.pending.take().map(|call| Call { edge: Edge::End, ..call }));
        }
    }

    /// Takes the settled calls, if there are at least `least`; otherwise `None`. The thread that writes them makes
    /// their rows.
    pub(crate) fn settled(&mut self, start: i64, least: usize, names: Arc<Names>) -> Option<Build> {
        if self.calls.len() < least.max(1) {
            return None;
        }
        let capacity = self.calls.len();
        let calls = std::mem::replace(&mut self.calls, Vec::with_capacity(capacity));
        let known = self.fd_events.clone();
        Some(Box::new(move || {
            let fd_events = fd_events(&known, &calls, &names);
            rows(&calls, &fd_events, &order::by_time(calls.len(), |row| calls[row].begin()), start, &names)
        }))
    }

    /// Gives everything that is left, in blocks that are made one after the other: together they would need as much
    /// memory again.
    pub(crate) fn into_blocks(self, start: i64, names: Arc<Names>) -> impl Iterator<Item = Build> {
        let calls = self.calls;
        let order = order::by_time(calls.len(), |row| calls[row].begin());
        let (known, of_all) = (self.fd_events, Arc::new(OnceLock::new()));
        order::blocks(calls, order, move |calls, order| {
            let fd_events = of_all.get_or_init(|| fd_events(&known, calls, &names));
            rows(calls, fd_events, order, start, &names)
        })
    }
}

/// Tells for each call whether it says something new about a descriptor. The calls are in the order in which they
/// ended.
fn fd_events(known: &Mutex<FdEvents>, calls: &[Call], names: &Names) -> Vec<bool> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let told = calls.iter().map(|call| {
        let (_, of) = names.get(call.number, call.is_compat);
        of.is_some_and(|of| {
            let args = &call.args[..call.arg_count as usize];
            let ret = (call.exited != NO_TIME).then_some(call.ret);
            let at = (call.begin(), if call.exited == NO_TIME { call.entered } else { call.exited });
            known.tells(&FdCall { utid: call.utid, of, number: call.number, args, ret, at })
        })
    });
    told.collect()
}

/// Tells whether a call returns under another number than it was made. After execve x86 shows the number of execve in
/// the new program's convention. After a return from a signal handler the kernel shows no number.
#[cold]
fn returned_as(call: &Call, number: i64, ret: i64, is_x86: bool) -> bool {
    let is_exec = || match call.is_compat {
        true => matches!(call.number, I386_EXECVE | 358),
        false => matches!(call.number, X86_EXECVE | 322 | 0x4000_0208 | 0x4000_0221),
    };
    number == FORGOTTEN || (is_x86 && ret == 0 && matches!(number, X86_EXECVE | I386_EXECVE) && is_exec())
}

/// Makes rows of `syscall`, in this order.
fn rows(
    calls: &[Call],
    fd_events: &[bool],
    order: &[u32],
    start: i64,
    names: &Names,
) -> Result<RecordBatch, ArrowError> {
    let known = |number: u32| (number != NONE).then_some(number);
    let mut table = SyscallTable::default();
    let mut unknown = String::new();
    for &row in order {
        let call = &calls[row as usize];
        let has_exit = call.exited != NO_TIME;
        let is_strict = call.pairing == Pairing::Strict;
        // As perf trace: 0 without an earlier entry. The exit must be after the entry, not at the same time.
        let perf = if call.latest_entry != NO_TIME { call.exited.saturating_sub(call.latest_entry).max(0) } else { 0 };
        let (abi, of) = names.get(call.number, call.is_compat);
        let args = &call.args[..call.arg_count as usize];
        let name = of.map(|of| of.name).unwrap_or_else(|| {
            unknown = format!("syscall_{}", call.number);
            &unknown
        });
        let errno = (has_exit && (-4095..0).contains(&call.ret)).then(|| -call.ret as i32);
        let fd = of.and_then(|of| of.fd_of(args));
        table.push(SyscallRow {
            ts_ns: call.begin().saturating_sub(start),
            exit_ts_ns: has_exit.then(|| call.exited.saturating_sub(start)),
            duration_ns: is_strict.then(|| call.exited.saturating_sub(call.entered)),
            perf_duration_ns: has_exit.then_some(perf),
            utid: call.utid,
            name_id: Some(call.name),
            cpu: known(call.cpu),
            abi: (!abi.is_empty()).then_some(abi.as_bytes()),
            number: call.number,
            name: name.as_bytes(),
            args: (call.pairing != Pairing::ExitOnly).then_some(args),
            fd,
            is_fd_event: fd_events[row as usize],
            ret: has_exit.then_some(call.ret),
            errno,
            errno_name: errno.and_then(|errno| names.error(errno)).map(str::as_bytes),
            pairing: match call.pairing {
                Pairing::Strict => b"strict",
                Pairing::ExitOnly => b"exit_only",
                Pairing::EnterOnly => b"enter_only",
            },
            cut_at: match call.edge {
                Edge::None => None,
                Edge::Start => Some(b"start"),
                Edge::End => Some(b"end"),
            },
            stack_id: known(call.stack),
        });
    }
    tables::batch("syscall", table.take())
}

#[cfg(test)]
#[path = "syscalls_tests.rs"]
mod tests;
