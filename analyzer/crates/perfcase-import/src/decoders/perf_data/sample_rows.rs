//! The rows of a sample: `sample`, its rarer fields, counter values, branches, and the table of its tracepoint; or
//! `guest_sample`.

use std::collections::BTreeMap;

use perfcase_decode::perf_data::bytes::U64s;
use perfcase_decode::perf_data::deferred;
use perfcase_decode::perf_data::events::Event;
use perfcase_decode::perf_data::record::{RecordHeader, misc};
use perfcase_decode::perf_data::recording::{LATEST_NS, Recording};
use perfcase_decode::perf_data::sample::{Sample, SampleDamage, field, ids};

use super::chains;
use super::group::LastValues;
use super::open::Known;
use crate::model::Record;
use crate::session::{NO_TIME, Session, SourceId};
use crate::tables::{BranchRow, GuestSampleRow, SampleDetailRow, SampleReadRow, SampleRow};
use crate::timeline::Moment;

/// The fields in `sample_detail`.
const DETAILS: u64 = field::ADDR
    | field::STREAM_ID
    | field::REGS_USER
    | field::STACK_USER
    | field::WEIGHT
    | field::WEIGHT_STRUCT
    | field::DATA_SRC
    | field::TRANSACTION
    | field::REGS_INTR
    | field::PHYS_ADDR
    | field::AUX
    | field::CGROUP
    | field::DATA_PAGE_SIZE
    | field::CODE_PAGE_SIZE;
/// Stack copies with this number of bytes are written before the usual number of rows is complete. Several batches of them wait.
const STACK_BYTES_HELD: usize = 2 << 20;

/// Buffers for all samples, and counts.
pub struct Scratch {
    chain: Vec<u64>,
    registers: Vec<u64>,
    registers_intr: Vec<u64>,
    stack_bytes: usize,
    /// Records by type. The last entry counts all higher types.
    pub counts: [u64; 64],
    /// Callchains with a user part that should have followed and did not.
    pub cut_chain_count: u64,
    /// Callchains with a marker of no known kind.
    pub odd_chain_count: u64,
    /// Tracepoint samples without a time.
    pub untimed_count: u64,
    /// Other samples without a time.
    pub untimed_sample_count: u64,
    /// Samples with raw data that belong to no tracepoint.
    pub opaque_raw_count: u64,
    /// Samples that were taken in guests, by the number of their event.
    pub guest_counts: BTreeMap<usize, u64>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            chain: Vec::new(),
            registers: Vec::new(),
            registers_intr: Vec::new(),
            stack_bytes: 0,
            counts: [0; 64],
            cut_chain_count: 0,
            odd_chain_count: 0,
            untimed_count: 0,
            untimed_sample_count: 0,
            opaque_raw_count: 0,
            guest_counts: BTreeMap::new(),
        }
    }
}

/// Makes the rows of a sample.
pub(super) struct Rows<'a> {
    pub session: &'a mut Session,
    pub known: &'a [Known],
    pub source: SourceId,
    pub last_values: &'a mut LastValues,
    pub scratch: &'a mut Scratch,
}

/// The values that all rows of a sample have in common.
struct Common {
    clock_ns: i64,
    utid: Option<u32>,
    cpu_mode: u8,
    frame_id: Option<u32>,
    stack_id: Option<u32>,
}

impl Rows<'_> {
    /// Decodes a sample and writes its rows. Gives the damage of the sample.
    pub fn sample(
        mut self,
        (recording, file): (&Recording, &[u8]),
        index: usize,
        header: RecordHeader,
        body: &[u8],
    ) -> Option<SampleDamage> {
        let (Some(event), Some(&known)) = (recording.events.get(index), self.known.get(index)) else {
            return None;
        };
        // A sample is large: it stays where it was made.
        let (sample, damage) = &event.plan.sample(body);
        let damage = *damage;
        // A tracepoint is always of the host.
        let is_guest = matches!(header.misc & misc::CPUMODE_MASK, misc::GUEST_KERNEL | misc::GUEST_USER);
        if is_guest && known.tracepoint.is_none() {
            self.guest(recording, event, sample, header, known);
            *self.scratch.guest_counts.entry(index).or_default() += 1;
            return damage;
        }
        let common = self.common(sample, header, (recording, file), event, known);
        let sample_id = match sample.read {
            None => {
                // Without the field the period is the event's fixed period, as in perf.
                let fixed = (!event.attr.flags.freq()).then_some(event.attr.period_or_freq);
                self.row(sample, &common, known, sample.period.or(fixed))
            }
            Some(_) => self.counters(recording, event, sample, &common, known),
        };
        // Events without a data address have 0.
        let is_bare = event.attr.sample_type & DETAILS == field::ADDR && sample.addr == Some(0);
        if event.attr.sample_type & DETAILS != 0 && !is_bare {
            self.details(event, sample, sample_id);
        }
        if let Some(branches) = sample.more.as_ref().and_then(|more| more.branch_stack) {
            let pid = sample.pid_tid.map(|(pid, _)| pid).filter(|&pid| pid >= 0);
            for (position, branch) in branches.iter().enumerate() {
                let from_frame_id = self.session.frame(pid, mode_of(branch.from), branch.from);
                let to_frame_id = self.session.frame(pid, mode_of(branch.to), branch.to);
                self.session.sink.tables.branch.push(BranchRow {
                    sample_id,
                    position: position.min(u16::MAX.into()) as u16,
                    from_address: branch.from,
                    to_address: branch.to,
                    from_frame_id,
                    to_frame_id,
                    flags: branch.flags,
                });
                self.session.row_added();
            }
        }
        if let (Some(moment), Some(utid), Some(stack)) = (known.moment, common.utid, common.stack_id)
            && common.clock_ns != NO_TIME
        {
            let past =
                || sample.raw.and_then(|raw| recording.order.u64(raw, 0)).and_then(|time| i64::try_from(time).ok());
            let clock_ns = if moment == Moment::Past { past() } else { Some(common.clock_ns) };
            if let Some(clock_ns) = clock_ns {
                self.session.timelines.sampled.add(moment, utid, clock_ns, stack);
            }
        }
        match (known.tracepoint, sample.raw) {
            // The tables of events have times: without a time there is no row.
            (Some(_), Some(_)) if common.clock_ns == NO_TIME => self.scratch.untimed_count += 1,
            (Some(tracepoint), Some(payload)) => {
                let (pid, tid) = sample.pid_tid.map(ids).unwrap_or_default();
                self.session.tracepoint(
                    tracepoint,
                    Record { clock_ns: common.clock_ns, cpu: sample.cpu, tid, pid, stack: common.stack_id, payload },
                );
            }
            (None, _) if common.clock_ns == NO_TIME => self.scratch.untimed_sample_count += 1,
            (None, Some(_)) if known.moment.is_none() => self.scratch.opaque_raw_count += 1,
            _ => {}
        }
        damage
    }

    fn common(
        &mut self,
        sample: &Sample,
        header: RecordHeader,
        (recording, file): (&Recording, &[u8]),
        event: &Event,
        known: Known,
    ) -> Common {
        let clock_ns = clock_of(sample);
        let cpu_mode = (header.misc & misc::CPUMODE_MASK) as u8;
        let (pid, mut tid) = sample.pid_tid.map(ids).unwrap_or_default();
        // The sample has the id of the idle task, but the event says that another thread ran: one that is exiting.
        if tid == Some(0)
            && let (Some(tracepoint), Some(payload)) = (known.tracepoint, sample.raw)
            && self.session.tracepoint_tid(tracepoint, payload).is_some_and(|tid| tid != 0)
        {
            tid = None;
        }
        let utid = tid.map(|tid| self.session.utid(clock_ns, tid, pid));
        // A process whose number is damaged is that of the thread.
        let pid = pid.or_else(|| self.session.model.threads.all.get(utid? as usize)?.pid);
        let stack_id = sample.callchain.and_then(|chain| {
            copy(chain, &mut self.scratch.chain);
            let is_whole = deferred::join(&mut self.scratch.chain, tid.unwrap_or(-1), recording, file);
            self.scratch.cut_chain_count += u64::from(!is_whole);
            let chain = &mut self.scratch.chain;
            self.scratch.odd_chain_count += u64::from(is_whole && chains::has_odd_marker(chain));
            let end = chains::complete(chain, sample.more.as_deref(), &event.attr, recording, pid, self.session);
            if let Some(stack) = sample.more.as_ref().and_then(|more| more.stack_user) {
                let at = (stack.bytes.as_ptr() as usize).wrapping_sub(file.as_ptr() as usize);
                self.session.keep_unwound((file.len(), at), chain, chains::USER);
            }
            self.session.stack(pid, cpu_mode, chain, end)
        });
        let frame_id = sample.ip.map(|ip| self.session.frame(pid, cpu_mode, ip));
        Common { clock_ns, utid, cpu_mode, frame_id, stack_id }
    }

    /// Writes the rows of a sample in a guest. The thread of the host that ran the guest is known, the thread in the
    /// guest is not. A sample with counter values makes a row for each counter that grew.
    fn guest(&mut self, recording: &Recording, event: &Event, sample: &Sample, header: RecordHeader, known: Known) {
        let clock_ns = clock_of(sample);
        let (pid, tid) = sample.pid_tid.map(ids).unwrap_or_default();
        let utid = tid.map(|tid| self.session.utid(clock_ns, tid, pid));
        let ts_ns = self.session.ts(clock_ns);
        let row = |session: &mut Session, event_id, period| {
            session.count_record(clock_ns, self.source, Some(event_id));
            session.sink.tables.guest_sample.push(GuestSampleRow {
                ts_ns,
                cpu: sample.cpu,
                utid,
                event_id,
                period,
                cpu_mode: (header.misc & misc::CPUMODE_MASK) as u8,
                address: sample.ip,
            });
            session.row_added();
        };
        let Some(read) = sample.read else {
            let fixed = (!event.attr.flags.freq()).then_some(event.attr.period_or_freq);
            return row(self.session, known.event, sample.period.or(fixed));
        };
        let thread = if event.attr.flags.inherit() { sample.pid_tid.map(|(_, tid)| tid) } else { None };
        for value in read.values() {
            let Some(period) = self.last_values.period(&value, thread).filter(|&period| period != 0) else { continue };
            let member = value.id.and_then(|id| recording.events.by_id(id)).and_then(|i| self.known.get(i));
            if let Some(member) = member {
                row(self.session, member.event, Some(period));
            }
        }
    }

    fn row(&mut self, sample: &Sample, common: &Common, known: Known, period: Option<u64>) -> u32 {
        let session = &mut *self.session;
        session.count_record(common.clock_ns, self.source, Some(known.event));
        let sample_id = session.next_sample_id();
        let ts_ns = session.ts(common.clock_ns);
        let name_id = common.utid.map(|utid| session.name_at(common.clock_ns, utid));
        session.sink.tables.sample.push(SampleRow {
            sample_id,
            ts_ns,
            cpu: sample.cpu,
            utid: common.utid,
            name_id,
            event_id: known.event,
            period,
            cpu_mode: common.cpu_mode,
            frame_id: common.frame_id,
            stack_id: common.stack_id,
        });
        session.row_added();
        sample_id
    }

    /// Writes the rows of a sample with counter values: a row for each counter that grew, as in perf. The leader always
    /// gets a row, which has the stack and the other fields.
    fn counters(
        &mut self,
        recording: &Recording,
        event: &Event,
        sample: &Sample,
        common: &Common,
        known: Known,
    ) -> u32 {
        let Some(read) = sample.read else { return 0 };
        let thread = if event.attr.flags.inherit() { sample.pid_tid.map(|(_, tid)| tid) } else { None };
        let mut first = None;
        for value in read.values() {
            let Some(period) = self.last_values.period(&value, thread).filter(|&period| period != 0) else { continue };
            let member = value.id.and_then(|id| recording.events.by_id(id)).and_then(|i| self.known.get(i));
            if let Some(&member) = member {
                let row = self.row(sample, common, member, Some(period));
                first.get_or_insert(row);
            }
        }
        let sample_id = first.unwrap_or_else(|| self.row(sample, common, known, sample.period));
        for value in read.values() {
            let member = value.id.and_then(|id| recording.events.by_id(id)).and_then(|i| self.known.get(i));
            self.session.sink.tables.sample_read.push(SampleReadRow {
                sample_id,
                event_id: member.map(|member| member.event),
                value: value.value,
                enabled_ns: read.enabled_ns,
                running_ns: read.running_ns,
                lost_count: value.lost,
            });
            self.session.row_added();
        }
        sample_id
    }

    fn details(&mut self, event: &Event, sample: &Sample, sample_id: u32) {
        let is_struct = event.attr.sample_type & field::WEIGHT_STRUCT != 0;
        let Scratch { registers, registers_intr, .. } = self.scratch;
        let more = sample.more.as_deref().copied().unwrap_or_default();
        let user_regs = more.regs_user.map(|regs| copy(regs.values, registers));
        let intr_regs = more.regs_intr.map(|regs| copy(regs.values, registers_intr));
        let stack = more.stack_user.map(|stack| stack.bytes);
        let data_address = sample.addr.filter(|&address| address != 0);
        let pid = sample.pid_tid.map(|(pid, _)| pid).filter(|&pid| pid >= 0);
        let data_dso_id = data_address.and_then(|address| self.session.data_object(pid, address));
        self.session.sink.tables.sample_detail.push(SampleDetailRow {
            sample_id,
            data_address,
            data_dso_id,
            physical_address: more.phys_addr,
            data_src: more.data_src,
            weight: more.weight.map(|weight| if is_struct { weight & 0xffff_ffff } else { weight }),
            weight2: more.weight.filter(|_| is_struct).map(|weight| (weight >> 32) as u16),
            weight3: more.weight.filter(|_| is_struct).map(|weight| (weight >> 48) as u16),
            transaction: more.transaction,
            cgroup_id: more.cgroup,
            data_page_size_bytes: more.data_page_bytes,
            code_page_size_bytes: more.code_page_bytes,
            stream_id: sample.stream_id,
            user_regs_abi: more.regs_user.map(|regs| regs.abi.min(255) as u8),
            user_regs,
            intr_regs,
            user_stack: stack,
            aux_bytes: more.aux.map(|aux| aux.len() as u64),
        });
        self.session.row_added();
        let stack_bytes = self.scratch.stack_bytes + stack.map_or(0, <[u8]>::len);
        self.scratch.stack_bytes = stack_bytes;
        if stack_bytes > STACK_BYTES_HELD {
            self.scratch.stack_bytes = 0;
            self.session.sink.flush_details();
        }
    }
}

fn clock_of(sample: &Sample) -> i64 {
    match sample.time {
        Some(time) if time != 0 && time < LATEST_NS => time as i64,
        _ => NO_TIME,
    }
}

/// Gives the CPU mode of a branch's address: the upper half is the kernel's.
fn mode_of(address: u64) -> u8 {
    if address >> 63 == 1 { 1 } else { 2 }
}

fn copy<'b>(numbers: U64s, buffer: &'b mut Vec<u64>) -> &'b [u64] {
    numbers.copy_to(buffer);
    buffer
}
