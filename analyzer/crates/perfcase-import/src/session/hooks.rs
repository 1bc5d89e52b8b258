//! What tracepoints say about threads and timelines, besides their own rows.

use super::{NO_TIME, Session, SourceId, Utid};
use crate::model::Record;
use crate::timeline::descriptors::StateChange;
use crate::timeline::{BlockEvent, BlockStep, Context, Entry, Return, Switch, WakeKind, Wakeup};
use crate::tracepoint::hooks::{BlockFields, COMM_MAX, Hook, Side, SocketFields, TextField, pid_of, read_args, text};
use crate::tracepoint::plan::IntField;

/// perf's cpu mode of the kernel (PERF_RECORD_MISC_KERNEL).
const KERNEL_MODE: u8 = 1;
/// The protocol TCP, and the families of sockets.
const TCP: i64 = 6;
const AF_INET: i64 = 2;
const AF_INET6: i64 = 10;

impl Session {
    /// Hands a record to the timelines. Gives the thread of the event's row.
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
        let utid = tid.map(|tid| if tid == 0 { 0 } else { self.model.threads.find_or_create(clock, tid, record.pid) });
        match *hook {
            Hook::Wakeup { pid, comm, kind, flags } => {
                let flags = flags.and_then(|flags| flags.read(payload));
                self.on_wakeup(source, record, utid, pid, comm, (kind, flags.map_or(Context::Unknown, Context::of)));
            }
            Hook::Move { pid, cpu } => {
                // A move does not make a thread known: the idle task's number is that of no thread.
                let moved =
                    pid_of(pid, payload).and_then(|pid| self.model.threads.of_tid(pid)).filter(|&utid| utid != 0);
                if let Some(moved) = moved {
                    let cpu = cpu.read(payload).and_then(|cpu| u32::try_from(cpu).ok());
                    self.timelines.of(source).sched.moved(clock, moved, cpu, utid);
                }
            }
            Hook::SysEnter { number, args, is_typed } => {
                if let (Some(utid), Some(number)) = (utid, number.read(payload)) {
                    let is_compat = self.is_compat(utid);
                    let arg_count = args.count;
                    let args = read_args(payload, args);
                    let name = self.model.threads.name_of(utid);
                    let entry = Entry { number, args, arg_count, is_compat, is_typed };
                    self.timelines.of(source).syscalls.enter((utid, name), clock, record, entry);
                }
            }
            Hook::SysExit { number, ret, is_typed } => {
                if let (Some(utid), Some(number), Some(ret)) = (utid, number.read(payload), ret.read(payload)) {
                    let is_compat = self.is_compat(utid);
                    let is_x86 = self.timelines.is_x86();
                    let of = Return { number, ret, is_compat, is_typed };
                    let called_by = (utid, self.model.threads.name_of(utid));
                    let program = self.timelines.of(source).syscalls.exit(called_by, clock, record, of, is_x86);
                    if let Some(is_compat) = program {
                        self.set_compat(utid, is_compat);
                    }
                }
            }
            Hook::Fork { child, comm } => {
                if let Some(child) = pid_of(child, payload) {
                    let child = self.model.threads.fork(clock, None, child, None);
                    self.name(clock, child, comm.map(|field| text(payload, field)));
                    if let Some(parent) = utid {
                        self.inherit_thread_compat(parent, child);
                    }
                }
            }
            Hook::Exit { pid } => {
                if let Some(pid) = pid_of(pid, payload) {
                    self.model.threads.exit(clock, pid);
                }
            }
            Hook::Exec { pid, filename } => {
                if let (Some(pid), Some(path)) = (pid_of(pid, payload), filename.read(payload)) {
                    let utid = self.model.threads.find_or_create(clock, pid, None);
                    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
                    self.name(clock, utid, Some(&file[..file.len().min(COMM_MAX)]));
                }
            }
            Hook::Rename { pid, comm } => {
                if let Some(pid) = pid_of(pid, payload) {
                    let utid = self.model.threads.find_or_create(clock, pid, None);
                    self.name(clock, utid, Some(text(payload, comm)));
                }
            }
            Hook::Block { step, ref fields } => self.on_block(source, record, utid, step, fields),
            Hook::SocketState(ref fields) => self.on_socket_state(source, record, utid, fields),
            Hook::None | Hook::Switch { .. } | Hook::Call { .. } => {}
        }
        utid
    }

    /// Gives the callchain in an event of a function tracer: the function and its caller, which are code of the kernel.
    pub(super) fn traced_call(&mut self, hook: &Hook, payload: &[u8]) -> Option<u32> {
        let Hook::Call { function, caller } = *hook else { return None };
        let chain = [function.read(payload)? as u64, caller.read(payload)? as u64];
        self.stack(None, KERNEL_MODE, &chain, Default::default())
    }

    #[inline]
    fn name(&mut self, clock_ns: i64, utid: Utid, comm: Option<&[u8]>) {
        if let Some(comm) = comm {
            self.model.threads.set_comm(clock_ns, utid, comm, true);
        }
    }

    /// Gives the thread on one side of a switch. The idle tasks of all CPUs have tid 0 and are one thread here.
    #[inline]
    fn side(&mut self, clock_ns: i64, side: Side, payload: &[u8]) -> Option<Utid> {
        let tid = pid_of(side.pid, payload)?;
        if tid == 0 {
            return Some(0);
        }
        let utid = self.model.threads.find_or_create(clock_ns, tid, None);
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
        // The sample has the process, the event has the thread: perf's tid is -1 while a thread exits.
        let prev_tid = pid_of(prev.pid, payload)?;
        if let (Some(pid), Some(tid)) = (record.pid, record.tid)
            && tid == prev_tid
            && tid > 0
        {
            self.model.threads.find_or_create(clock_ns, tid, Some(pid));
        }
        let prev = self.side(clock_ns, prev, payload)?;
        let next = self.side(clock_ns, next, payload)?;
        let (Some(cpu), Some(state)) = (record.cpu, state) else { return Some(prev) };
        let prev_name = self.model.threads.name_of(prev);
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
        (kind, context): (WakeKind, Context),
    ) {
        let clock_ns = record.clock_ns;
        let Some(pid) = pid_of(pid, record.payload) else { return };
        let woken = match kind {
            WakeKind::New => self.model.threads.fork(clock_ns, None, pid, None),
            _ => self.model.threads.find_or_create(NO_TIME, pid, None),
        };
        self.name(clock_ns, woken, comm.map(|field| text(record.payload, field)));
        let woken_name = self.model.threads.name_of(woken);
        let waker = waker.map(|waker| (waker, self.model.threads.name_of(waker)));
        let wakeup = Wakeup { clock_ns, kind, woken, woken_name, waker, cpu: record.cpu, stack: record.stack, context };
        self.timelines.of(source).sched.wakeup(wakeup);
    }

    fn on_socket_state(&mut self, source: SourceId, record: &Record<'_>, utid: Option<Utid>, fields: &SocketFields) {
        let read = |field: IntField| field.read(record.payload);
        let is_v6 = match (read(fields.protocol), read(fields.family)) {
            (Some(TCP), Some(AF_INET)) => false,
            (Some(TCP), Some(AF_INET6)) => true,
            _ => return,
        };
        let states = read(fields.old).zip(read(fields.new)).zip(read(fields.skaddr));
        let (Some(((old, new), skaddr)), Some([local, peer])) = (states, fields.ends(record.payload, is_v6)) else {
            return;
        };
        let (clock_ns, skaddr) = (record.clock_ns, skaddr as u64);
        let change = StateChange { source, clock_ns, utid, skaddr, old, new, is_v6, local, peer };
        self.timelines.descriptors.see_state(&change);
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
