//! Tracepoints that tell more than their own row: who runs, which thread wakes which, which calls and
//! requests are under way.

use perfcase_decode::format::{EventFormat, FieldKind};

use super::Record;
use super::plan::IntField;
use super::state_bits::OldBits;
use crate::session::{Session, SourceId, Utid, until_nul};
use crate::timeline::{BlockEvent, BlockStep, Entry, Return, Switch, WakeKind, Wakeup};

/// perf's cpu mode of the kernel (PERF_RECORD_MISC_KERNEL).
const KERNEL_MODE: u8 = 1;

/// A fixed-size name in a payload: offset and size in bytes.
type TextField = (usize, usize);

/// Where the arguments of a system call are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    offset: usize,
    /// Bytes of one argument.
    width: usize,
    count: u8,
    is_big_endian: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Hook {
    None,
    Switch {
        prev: Side,
        next: Side,
        prev_state: IntField,
        /// The layout of the state's bits, if it is that of a kernel before 4.14.
        old_bits: Option<OldBits>,
    },
    Wakeup {
        pid: IntField,
        comm: Option<TextField>,
        kind: WakeKind,
    },
    Fork {
        child: IntField,
        comm: Option<TextField>,
    },
    Exit {
        pid: IntField,
    },
    /// A program was executed: the thread is called by its file then (begin_new_exec in fs/exec.c).
    Exec {
        pid: IntField,
        filename: Located,
    },
    Rename {
        pid: IntField,
        comm: TextField,
    },
    SysEnter {
        number: IntField,
        args: Args,
        is_typed: bool,
    },
    SysExit {
        number: IntField,
        ret: IntField,
        is_typed: bool,
    },
    Block {
        step: BlockStep,
        fields: BlockFields,
    },
    /// The function tracer: what was called, and the return address in its caller.
    Call {
        function: IntField,
        caller: IntField,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pid: IntField,
    comm: TextField,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockFields {
    device: IntField,
    sector: IntField,
    sector_count: IntField,
    bytes: Option<IntField>,
    error: Option<IntField>,
    rwbs: TextField,
    comm: Option<TextField>,
}

fn text_field(format: &EventFormat, name: &str) -> Option<TextField> {
    let field = format.fields.iter().find(|field| field.name == name)?;
    matches!(field.kind, FieldKind::CharArray).then_some((field.offset as usize, field.size as usize))
}

/// Characters of a thread's name: TASK_COMM_LEN without its NUL (include/linux/sched.h).
const COMM_MAX: usize = 15;

/// A text that follows the fixed part of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    at: usize,
    is_big_endian: bool,
    /// What its offset counts from.
    base: usize,
}

impl Located {
    fn find(format: &EventFormat, name: &str, is_big_endian: bool) -> Option<Located> {
        let field = format.fields.iter().find(|field| field.name == name)?;
        let base = match field.kind {
            FieldKind::DataLoc { .. } => 0,
            FieldKind::RelLoc { .. } => (field.offset + field.size) as usize,
            _ => return None,
        };
        Some(Located { at: field.offset as usize, is_big_endian, base })
    }

    fn read(self, payload: &[u8]) -> Option<&[u8]> {
        let bytes: [u8; 4] = payload.get(self.at..self.at + 4)?.try_into().ok()?;
        let place = if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        let start = self.base.checked_add((place & 0xffff) as usize)?;
        payload.get(start..start.checked_add((place >> 16) as usize)?).map(until_nul)
    }
}

fn text(payload: &[u8], (offset, size): TextField) -> &[u8] {
    until_nul(payload.get(offset..offset + size).unwrap_or_default())
}

impl Hook {
    /// What the event of this format tells. An event that lacks a field it should have tells nothing.
    pub(crate) fn of(format: &EventFormat, is_big_endian: bool, old_bits: Option<OldBits>) -> Hook {
        Hook::find(format, is_big_endian, old_bits).unwrap_or(Hook::None)
    }

    fn find(format: &EventFormat, is_big_endian: bool, old_bits: Option<OldBits>) -> Option<Hook> {
        let int = |name: &str| IntField::find(format, name, is_big_endian);
        let comm = |name: &str| text_field(format, name);
        let side = |pid: &str, name: &str| Some(Side { pid: int(pid)?, comm: comm(name)? });
        Some(match (format.system.as_str(), format.name.as_str()) {
            ("sched", "sched_switch") => Hook::Switch {
                prev: side("prev_pid", "prev_comm")?,
                next: side("next_pid", "next_comm")?,
                prev_state: int("prev_state")?,
                old_bits,
            },
            ("sched", name @ ("sched_waking" | "sched_wakeup" | "sched_wakeup_new")) => {
                let kind = match name {
                    "sched_waking" => WakeKind::Waking,
                    "sched_wakeup" => WakeKind::Wakeup,
                    _ => WakeKind::New,
                };
                Hook::Wakeup { pid: int("pid")?, comm: comm("comm"), kind }
            }
            ("sched", "sched_process_fork") => Hook::Fork { child: int("child_pid")?, comm: comm("child_comm") },
            ("sched", "sched_process_exit") => Hook::Exit { pid: int("pid")? },
            ("sched", "sched_process_exec") => {
                Hook::Exec { pid: int("pid")?, filename: Located::find(format, "filename", is_big_endian)? }
            }
            ("task", "task_rename") => Hook::Rename { pid: int("pid")?, comm: comm("newcomm")? },
            ("raw_syscalls", "sys_enter") => {
                let args = format.fields.iter().find(|field| field.name == "args")?;
                let (offset, width) = (args.offset as usize, args.size as usize / 6);
                Hook::SysEnter {
                    number: int("id")?,
                    args: Args { offset, width, count: 6, is_big_endian },
                    is_typed: false,
                }
            }
            ("raw_syscalls", "sys_exit") => Hook::SysExit { number: int("id")?, ret: int("ret")?, is_typed: false },
            ("syscalls", name) => {
                // Kernels before 3.7 called the number nr.
                let number = int("__syscall_nr").or_else(|| int("nr"))?;
                if name.starts_with("sys_exit_") {
                    return Some(Hook::SysExit { number, ret: int("ret")?, is_typed: true });
                }
                if !name.starts_with("sys_enter_") {
                    return None;
                }
                Hook::SysEnter { number, args: typed_args(format, is_big_endian), is_typed: true }
            }
            ("ftrace", "function") => Hook::Call { function: int("ip")?, caller: int("parent_ip")? },
            ("block", name) => {
                let step = match name {
                    "block_rq_insert" => BlockStep::Queued,
                    "block_rq_merge" => BlockStep::Merged,
                    "block_rq_issue" => BlockStep::Issued,
                    "block_rq_requeue" => BlockStep::Requeued,
                    "block_rq_complete" => BlockStep::Completed,
                    _ => return None,
                };
                let fields = BlockFields {
                    device: int("dev")?,
                    sector: int("sector")?,
                    sector_count: int("nr_sector")?,
                    bytes: int("bytes"),
                    error: int("error").or_else(|| int("errors")),
                    rwbs: comm("rwbs")?,
                    comm: comm("comm"),
                };
                Hook::Block { step, fields }
            }
            _ => return None,
        })
    }

    /// True where another table holds everything that the event's own would.
    #[inline]
    pub(crate) fn replaces_table(&self) -> bool {
        matches!(self, Hook::SysEnter { is_typed: false, .. } | Hook::SysExit { is_typed: false, .. })
    }
}

impl Session {
    /// Tells the timelines; gives the thread that the event's row belongs to.
    #[inline]
    pub(super) fn run_hook(
        &mut self,
        hook: &Hook,
        source: SourceId,
        tid: Option<i32>,
        record: &Record<'_>,
    ) -> Option<Utid> {
        let (clock, payload) = (record.clock_ns, record.payload);
        if let Hook::Switch { prev, next, prev_state, ref old_bits } = *hook {
            let state = prev_state.read(payload);
            let state = state.map(|bits| old_bits.as_ref().map_or(bits, |old| old.today(bits)));
            return self.on_switch(source, record, prev, next, state);
        }
        let utid = tid.map(|tid| if tid == 0 { 0 } else { self.threads.find_or_create(clock, tid, record.pid) });
        match *hook {
            Hook::Wakeup { pid, comm, kind } => self.on_wakeup(source, record, utid, pid, comm, kind),
            Hook::SysEnter { number, args, is_typed } => {
                if let (Some(utid), Some(number)) = (utid, number.read(payload)) {
                    let is_compat = self.is_compat(utid);
                    let arg_count = args.count;
                    let args = read_args(payload, args);
                    let name = self.threads.name_of(utid);
                    let entry = Entry { number, args, arg_count, is_compat, is_typed };
                    self.timelines.of(source).syscalls.enter((utid, name), clock, record, entry);
                }
            }
            Hook::SysExit { number, ret, is_typed } => {
                if let (Some(utid), Some(number), Some(ret)) = (utid, number.read(payload), ret.read(payload)) {
                    let is_compat = self.is_compat(utid);
                    let is_x86 = self.timelines.is_x86();
                    let of = Return { number, ret, is_compat, is_typed };
                    let called_by = (utid, self.threads.name_of(utid));
                    let program = self.timelines.of(source).syscalls.exit(called_by, clock, record, of, is_x86);
                    if let Some(is_compat) = program {
                        self.set_compat(utid, is_compat);
                    }
                }
            }
            Hook::Fork { child, comm } => {
                if let Some(child) = pid_of(child, payload) {
                    let child = self.threads.fork(clock, None, child, None);
                    self.name(clock, child, comm.map(|field| text(payload, field)));
                    if let Some(parent) = utid {
                        self.inherit_thread_compat(parent, child);
                    }
                }
            }
            Hook::Exit { pid } => {
                if let Some(pid) = pid_of(pid, payload) {
                    self.threads.exit(clock, pid);
                }
            }
            Hook::Exec { pid, filename } => {
                if let (Some(pid), Some(path)) = (pid_of(pid, payload), filename.read(payload)) {
                    let utid = self.threads.find_or_create(clock, pid, None);
                    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
                    self.name(clock, utid, Some(&file[..file.len().min(COMM_MAX)]));
                }
            }
            Hook::Rename { pid, comm } => {
                if let Some(pid) = pid_of(pid, payload) {
                    let utid = self.threads.find_or_create(clock, pid, None);
                    self.name(clock, utid, Some(text(payload, comm)));
                }
            }
            Hook::Block { step, ref fields } => self.on_block(source, record, utid, step, fields),
            Hook::None | Hook::Switch { .. } | Hook::Call { .. } => {}
        }
        utid
    }

    /// The callchain that a function tracer's event tells itself: the function and its caller, code of the kernel.
    pub(super) fn traced_call(&mut self, hook: &Hook, payload: &[u8]) -> Option<u32> {
        let Hook::Call { function, caller } = *hook else { return None };
        let chain = [function.read(payload)? as u64, caller.read(payload)? as u64];
        self.stack(None, KERNEL_MODE, &chain, Default::default())
    }

    #[inline]
    fn name(&mut self, clock_ns: i64, utid: Utid, comm: Option<&[u8]>) {
        if let Some(comm) = comm {
            self.threads.set_comm(clock_ns, utid, comm, true);
        }
    }

    /// The thread on one side of a switch. The idle task of every CPU has tid 0 and is one thread here.
    #[inline]
    fn side(&mut self, clock_ns: i64, side: Side, payload: &[u8]) -> Option<Utid> {
        let tid = pid_of(side.pid, payload)?;
        if tid == 0 {
            return Some(0);
        }
        let utid = self.threads.find_or_create(clock_ns, tid, None);
        self.name(clock_ns, utid, Some(text(payload, side.comm)));
        Some(utid)
    }

    #[inline]
    fn on_switch(
        &mut self,
        source: SourceId,
        record: &Record<'_>,
        prev: Side,
        next: Side,
        state: Option<i64>,
    ) -> Option<Utid> {
        let (clock_ns, payload) = (record.clock_ns, record.payload);
        // The process is told by the sample, the thread by the event: perf's tid is -1 while a thread exits.
        let prev_tid = pid_of(prev.pid, payload)?;
        if let (Some(pid), Some(tid)) = (record.pid, record.tid)
            && tid == prev_tid
            && tid > 0
        {
            self.threads.find_or_create(clock_ns, tid, Some(pid));
        }
        let prev = self.side(clock_ns, prev, payload)?;
        let next = self.side(clock_ns, next, payload)?;
        let (Some(cpu), Some(state)) = (record.cpu, state) else { return Some(prev) };
        let prev_name = self.threads.name_of(prev);
        let switch = Switch { clock_ns, cpu, prev, prev_name, next, prev_state: state, stack: record.stack };
        self.timelines.of(source).sched.switch(switch);
        Some(prev)
    }

    #[inline]
    fn on_wakeup(
        &mut self,
        source: SourceId,
        record: &Record<'_>,
        waker: Option<Utid>,
        pid: IntField,
        comm: Option<TextField>,
        kind: WakeKind,
    ) {
        let clock_ns = record.clock_ns;
        let Some(pid) = pid_of(pid, record.payload) else { return };
        let woken = match kind {
            WakeKind::New => self.threads.fork(clock_ns, None, pid, None),
            _ => self.threads.find_or_create(crate::session::NO_TIME, pid, None),
        };
        self.name(clock_ns, woken, comm.map(|field| text(record.payload, field)));
        let woken_name = self.threads.name_of(woken);
        let waker = waker.map(|waker| (waker, self.threads.name_of(waker)));
        let wakeup = Wakeup { clock_ns, kind, woken, woken_name, waker, cpu: record.cpu, stack: record.stack };
        self.timelines.of(source).sched.wakeup(wakeup);
    }

    fn on_block(
        &mut self,
        source: SourceId,
        record: &Record<'_>,
        utid: Option<Utid>,
        step: BlockStep,
        fields: &BlockFields,
    ) {
        let read = |field: IntField| field.read(record.payload);
        let (Some(device), Some(sector)) = (read(fields.device), read(fields.sector)) else { return };
        let sectors = read(fields.sector_count).unwrap_or(0) as u64;
        let bytes = fields.bytes.and_then(read).filter(|&bytes| bytes > 0).map(|bytes| bytes as u64);
        let event = BlockEvent {
            clock_ns: record.clock_ns,
            step,
            device: device as u32,
            sector: sector as u64,
            size_bytes: bytes.unwrap_or(sectors.saturating_mul(512)),
            sector_count: sectors,
            error: fields.error.and_then(read).map(|error| error as i32),
            utid,
            cpu: record.cpu,
        };
        let rwbs = text(record.payload, fields.rwbs);
        let comm = fields.comm.map(|field| text(record.payload, field)).unwrap_or_default();
        self.timelines.of(source).block.event(event, rwbs, comm);
    }
}

#[inline]
fn pid_of(field: IntField, payload: &[u8]) -> Option<i32> {
    field.read(payload).and_then(|pid| i32::try_from(pid).ok()).filter(|&pid| pid >= 0)
}

/// The arguments of a tracepoint of one call: the fields behind the number, each as wide as a register.
fn typed_args(format: &EventFormat, is_big_endian: bool) -> Args {
    let fields = format.fields.iter().filter(|field| !field.is_common);
    let fields: Vec<_> = fields.filter(|field| !matches!(field.name.as_str(), "__syscall_nr" | "nr")).collect();
    let (offset, width) = fields.first().map_or((0, 0), |first| (first.offset as usize, first.size as usize));
    // Newer kernels add what a pointer points to behind the arguments, as data of variable size.
    let is_next = |&(index, field): &(usize, &&perfcase_decode::format::Field)| {
        field.offset as usize == offset + index * width && field.size as usize == width
    };
    let count = fields.iter().enumerate().take(6).take_while(is_next).count() as u8;
    Args { offset, width, count, is_big_endian }
}

/// The arguments; a 32-bit kernel's are 4 bytes wide.
#[inline]
fn read_args(payload: &[u8], Args { offset, width, count, is_big_endian }: Args) -> [u64; 6] {
    let mut args = [0; 6];
    let size = usize::from(count) * width;
    if let (Some(bytes), true) = (payload.get(offset..offset + size), width > 0) {
        for (arg, bytes) in args.iter_mut().zip(bytes.chunks_exact(width)) {
            *arg = super::plan::integer(bytes, false, is_big_endian) as u64;
        }
    }
    args
}
