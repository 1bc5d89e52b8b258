//! System calls from raw_syscalls:sys_enter and sys_exit, or from syscalls:sys_enter_* and sys_exit_*.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::aside::{Aside, Stored};
use super::descriptors::{Facts, FdCall, History, LastCall, Moved};
use crate::model::{NO_TIME, NameId, Record, Utid};
use crate::order;
use crate::syscall_names::Names;
use crate::tables::{self, SyscallRow, SyscallTable, Table};
use crate::writer::Build;

const NONE: u32 = u32::MAX;

/// The number that the kernel shows when it has forgotten the call: on return from a signal handler.
const FORGOTTEN: i64 = -1;

/// execve as x86 shows it when it returns into the new program: its number in the new program's convention.
const X86_EXECVE: i64 = 59;
const I386_EXECVE: i64 = 11;

#[derive(Clone, Copy, Debug, PartialEq)]
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

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Call {
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

    fn args(&self) -> &[u64] {
        &self.args[..usize::from(self.arg_count).min(6)]
    }
}

/// Writes numbers one after the other.
fn put_all<const N: usize>(bytes: &mut [u8], numbers: impl IntoIterator<Item = [u8; N]>) {
    for (place, number) in bytes.chunks_exact_mut(N).zip(numbers) {
        place.copy_from_slice(&number);
    }
}

/// Gives the bytes of a number, by its place among numbers of this size.
fn bytes_of<const N: usize>(bytes: &[u8], index: usize) -> Option<[u8; N]> {
    bytes.get(N * index..)?.first_chunk().copied()
}

impl Stored for Call {
    const BYTES: usize = 11 * 8 + 4 * 4 + 4;

    fn put(&self, bytes: &mut [u8]) {
        let (times, rest) = bytes.split_at_mut(5 * 8);
        let (args, rest) = rest.split_at_mut(6 * 8);
        let (numbers, rest) = rest.split_at_mut(4 * 4);
        put_all(times, [self.entered, self.exited, self.latest_entry, self.number, self.ret].map(i64::to_le_bytes));
        put_all(args, self.args.map(u64::to_le_bytes));
        put_all(numbers, [self.utid, self.name, self.cpu, self.stack].map(u32::to_le_bytes));
        let flags = u8::from(self.is_compat) | u8::from(self.is_typed) << 1;
        put_all(rest, [[self.arg_count, self.pairing as u8, self.edge as u8, flags]]);
    }

    fn of(bytes: &[u8]) -> Option<Call> {
        let wide = |index: usize| bytes_of(bytes, index).map(i64::from_le_bytes);
        let number = |index: usize| bytes_of(bytes, 22 + index).map(u32::from_le_bytes);
        let [arg_count, pairing, edge, flags] = bytes_of(bytes, 26)?;
        let mut args = [0; 6];
        for (index, arg) in args.iter_mut().enumerate() {
            *arg = bytes_of(bytes, 5 + index).map(u64::from_le_bytes)?;
        }
        Some(Call {
            entered: wide(0)?,
            exited: wide(1)?,
            latest_entry: wide(2)?,
            number: wide(3)?,
            ret: wide(4)?,
            args,
            utid: number(0)?,
            name: number(1)?,
            cpu: number(2)?,
            stack: number(3)?,
            arg_count,
            pairing: [Pairing::Strict, Pairing::ExitOnly, Pairing::EnterOnly].get(usize::from(pairing)).copied()?,
            edge: [Edge::None, Edge::Start, Edge::End].get(usize::from(edge)).copied()?,
            is_compat: flags & 1 != 0,
            is_typed: flags & 2 != 0,
        })
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
    /// The calls before these, in a file, and what they say about descriptors.
    aside: Aside<Call>,
    facts: Facts,
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

    /// Moves the settled calls to a file in the folder if there are at least `least`: what their descriptors are shows
    /// only at the end.
    pub(crate) fn put_aside(&mut self, folder: &Path, least: usize, names: &Names) -> std::io::Result<()> {
        if self.calls.len() >= least.max(1) {
            self.note_facts(names);
            self.aside.push(folder, &self.calls)?;
            self.calls.clear();
        }
        Ok(())
    }

    /// Gives the number of settled calls that are not in the file.
    #[cfg(test)]
    pub(crate) fn in_memory(&self) -> usize {
        self.calls.len()
    }

    /// Notes what the calls that are not in the file say about descriptors.
    fn note_facts(&mut self, names: &Names) {
        for call in &self.calls {
            let (_, of) = names.get(call.number, call.is_compat);
            if let Some(of) = of {
                let ret = (call.exited != NO_TIME).then_some(call.ret);
                let at = (call.begin(), if call.exited == NO_TIME { call.entered } else { call.exited });
                self.facts.note(&FdCall { utid: call.utid, of, number: call.number, args: call.args(), ret, at });
            }
        }
    }

    /// Takes what all calls say about descriptors.
    pub(super) fn take_facts(&mut self, names: &Names) -> Facts {
        self.note_facts(names);
        std::mem::take(&mut self.facts)
    }

    /// Gives all calls that moved bytes, in the order in which they returned.
    pub(crate) fn each_moved(&self, with: &RowFacts, mut each: impl FnMut(&Moved)) -> std::io::Result<()> {
        let RowFacts { start, names, upids, .. } = with;
        let mut look = |calls: &[Call]| {
            for call in calls.iter().filter(|call| call.ret > 0 && call.exited != NO_TIME) {
                let (_, of) = names.get(call.number, call.is_compat);
                let fd = of.and_then(|of| of.fd_of(call.args()));
                let upid = upids.get(call.utid as usize).copied().flatten();
                if let (Some(of), Some(fd), Some(upid)) = (of, fd, upid) {
                    each(&Moved {
                        upid,
                        fd,
                        utid: call.utid,
                        name_id: call.name,
                        name: of.name,
                        begin: call.begin().saturating_sub(*start),
                        end: call.exited.saturating_sub(*start),
                        bytes: call.ret,
                    });
                }
            }
        };
        for block in self.aside.blocks() {
            look(&block?);
        }
        look(&self.calls);
        Ok(())
    }

    /// Gives the calls in which threads were when the recording ended, or their process: a source whose calls are settled has them last.
    pub(crate) fn each_last<'a>(&'a self, with: &'a RowFacts) -> impl Iterator<Item = LastCall> + 'a {
        let RowFacts { start, names, upids, .. } = with;
        self.calls.iter().filter(|call| call.edge == Edge::End).filter_map(|call| {
            let (_, of) = names.get(call.number, call.is_compat);
            let (of, upid) = (of?, upids.get(call.utid as usize).copied().flatten()?);
            let begin = call.begin().saturating_sub(*start);
            Some(LastCall { upid, utid: call.utid, fd: of.fd_of(call.args()), name: of.name, begin, args: call.args })
        })
    }

    /// Gives everything, in blocks that are made one after the other: together they would need much memory.
    pub(crate) fn into_blocks(self, with: Arc<RowFacts>) -> impl Iterator<Item = Build> {
        let calls = self.calls;
        let order = order::by_time(calls.len(), |row| calls[row].begin());
        let of_rest = with.clone();
        let rest = order::blocks(calls, order, move |calls, order| rows(calls, order, &of_rest));
        let aside = self.aside.into_reads().map(move |read| -> Build {
            let with = with.clone();
            Box::new(move || {
                let calls = read()?;
                rows(&calls, &order::by_time(calls.len(), |row| calls[row].begin()), &with)
            })
        });
        aside.chain(rest)
    }
}

/// What the rows of calls need besides the calls.
pub(crate) struct RowFacts {
    pub start: i64,
    pub names: Arc<Names>,
    pub history: History,
    /// The process of each thread.
    pub upids: Vec<Option<u32>>,
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
fn rows(calls: &[Call], order: &[u32], with: &RowFacts) -> Result<RecordBatch, ArrowError> {
    let RowFacts { start, names, history, upids } = with;
    let known = |number: u32| (number != NONE).then_some(number);
    let mut table = SyscallTable::with_capacity(order.len());
    let mut unknown = String::new();
    for &row in order {
        let call = &calls[row as usize];
        let has_exit = call.exited != NO_TIME;
        let is_strict = call.pairing == Pairing::Strict;
        // As perf trace: 0 without an earlier entry. The exit must be after the entry, not at the same time.
        let perf = if call.latest_entry != NO_TIME { call.exited.saturating_sub(call.latest_entry).max(0) } else { 0 };
        let (abi, of) = names.get(call.number, call.is_compat);
        let args = call.args();
        let name = of.map(|of| of.name).unwrap_or_else(|| {
            unknown = format!("syscall_{}", call.number);
            &unknown
        });
        let errno = (has_exit && (-4095..0).contains(&call.ret)).then(|| -call.ret as i32);
        let fd = of.and_then(|of| of.fd_of(args));
        let ts_ns = call.begin().saturating_sub(*start);
        let upid = upids.get(call.utid as usize).copied().flatten();
        table.push(SyscallRow {
            ts_ns,
            exit_ts_ns: has_exit.then(|| call.exited.saturating_sub(*start)),
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
            descriptor_id: upid.zip(fd).and_then(|key| history.id_at(key, ts_ns)),
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
