//! Samples and sample_id trailers, read by a plan that is made once for each attribute.
//!
//! Field order: include/uapi/linux/perf_event.h (PERF_RECORD_SAMPLE); CGROUP, the page sizes and AUX come last, in the
//! order kernel/events/core.c writes them.

use super::attr::Attr;
use super::bytes::{ByteOrder, Cursor, U64s};
use super::read_format::ReadValues;
use super::sample_parts::{BranchStack, Registers, UserStack};

/// PERF_SAMPLE_* bits.
pub mod field {
    macro_rules! fields {
        ($($name:ident = $bit:literal;)*) => {
            $(#[doc = concat!("PERF_SAMPLE_", stringify!($name))] pub const $name: u64 = 1 << $bit;)*
            /// All bits with a known layout.
            pub const KNOWN: u64 = 0 $(| $name)*;
        };
    }
    fields! {
        IP = 0; TID = 1; TIME = 2; ADDR = 3; READ = 4; CALLCHAIN = 5; ID = 6; CPU = 7; PERIOD = 8; STREAM_ID = 9;
        RAW = 10; BRANCH_STACK = 11; REGS_USER = 12; STACK_USER = 13; WEIGHT = 14; DATA_SRC = 15; IDENTIFIER = 16;
        TRANSACTION = 17; REGS_INTR = 18; PHYS_ADDR = 19; AUX = 20; CGROUP = 21; DATA_PAGE_SIZE = 22;
        CODE_PAGE_SIZE = 23; WEIGHT_STRUCT = 24;
    }
}

/// Fields of one word before the first field of variable length, in the kernel's order.
const FIXED: [u64; 9] = [
    field::IDENTIFIER,
    field::IP,
    field::TID,
    field::TIME,
    field::ADDR,
    field::ID,
    field::STREAM_ID,
    field::CPU,
    field::PERIOD,
];
/// Fields of the sample_id trailer, in order.
const TRAILER: [u64; 6] = [field::TID, field::TIME, field::ID, field::STREAM_ID, field::CPU, field::IDENTIFIER];

/// Fields after RAW: those of [`More`].
const MORE: u64 = field::KNOWN & !(field::RAW | (field::RAW - 1) | field::IDENTIFIER);

const ABSENT: u8 = u8::MAX;

/// The places of the fields in an attribute's samples and trailers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    sample_type: u64,
    read_format: u64,
    branch_sample_type: u64,
    regs_user_mask: u64,
    regs_intr_mask: u64,
    order: ByteOrder,
    /// Word of each FIXED field, or ABSENT.
    fixed: [u8; 9],
    fixed_bytes: usize,
    /// Words from the end of a record to each TRAILER field, or ABSENT.
    trailer: [u8; 6],
}

/// Gives the process and the thread of a record, where it has them. A thread that is exiting has no id any more: the
/// record has -1 or 0, which is otherwise the id of the idle task, of process 0.
#[inline]
pub fn ids((pid, tid): (i32, i32)) -> (Option<i32>, Option<i32>) {
    let is_known = tid > 0 || (tid, pid) == (0, 0);
    ((pid >= 0).then_some(pid), is_known.then_some(tid))
}

/// The trailer of records that are not samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Process and thread that caused the record.
    pub pid_tid: Option<(i32, i32)>,
    /// When, in ns on the capture's clock.
    pub time: Option<u64>,
    /// Id of the event.
    pub id: Option<u64>,
    /// CPU.
    pub cpu: Option<u32>,
}

/// One sample; the fields of variable length are left in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample<'a> {
    /// Id of the event (IDENTIFIER or ID).
    pub id: Option<u64>,
    /// Id of the event of this thread, which may have inherited it (STREAM_ID).
    pub stream_id: Option<u64>,
    /// Instruction address.
    pub ip: Option<u64>,
    /// Process and thread.
    pub pid_tid: Option<(i32, i32)>,
    /// When, in ns on the capture's clock.
    pub time: Option<u64>,
    /// Data address, or another value that the event defines.
    pub addr: Option<u64>,
    /// CPU.
    pub cpu: Option<u32>,
    /// Events since the sample before.
    pub period: Option<u64>,
    /// Counter values.
    pub read: Option<ReadValues<'a>>,
    /// Return addresses with PERF_CONTEXT_* markers, the innermost first.
    pub callchain: Option<U64s<'a>>,
    /// The payload of a tracepoint, or data of the PMU.
    pub raw: Option<&'a [u8]>,
    /// The rarer fields, if the event has some. They are separate because most samples are copied without them.
    pub more: Option<Box<More<'a>>>,
}

/// Fields of a sample that few recordings have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct More<'a> {
    /// Last branches.
    pub branch_stack: Option<BranchStack<'a>>,
    /// User registers.
    pub regs_user: Option<Registers<'a>>,
    /// A copy of the user stack.
    pub stack_user: Option<UserStack<'a>>,
    /// With WEIGHT the whole word is the weight; with WEIGHT_STRUCT it has three numbers (32, 16 and 16 bits from the
    /// lowest).
    pub weight: Option<u64>,
    /// Where data came from (union perf_mem_data_src).
    pub data_src: Option<u64>,
    /// Transaction abort reasons.
    pub transaction: Option<u64>,
    /// Registers at the interrupt.
    pub regs_intr: Option<Registers<'a>>,
    /// Physical data address.
    pub phys_addr: Option<u64>,
    /// Cgroup id.
    pub cgroup: Option<u64>,
    /// Page size of the data address in bytes.
    pub data_page_bytes: Option<u64>,
    /// Page size of the code address in bytes.
    pub code_page_bytes: Option<u64>,
    /// AUX area data.
    pub aux: Option<&'a [u8]>,
}

/// How a sample differs from the layout of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleDamage {
    /// It ends inside this field.
    EndsIn(&'static str),
    /// It has this number of bytes after its fields.
    GoesOn(usize),
}

impl Plan {
    /// Makes the plan of `attr`.
    pub fn new(attr: &Attr, order: ByteOrder) -> Plan {
        let mut fixed = [ABSENT; 9];
        let mut words = 0;
        for (slot, bit) in fixed.iter_mut().zip(FIXED) {
            if attr.sample_type & bit != 0 {
                *slot = words;
                words += 1;
            }
        }
        let mut trailer = [ABSENT; 6];
        if attr.flags.sample_id_all() {
            let mut from_end = 0;
            for (slot, bit) in trailer.iter_mut().zip(TRAILER).rev() {
                if attr.sample_type & bit != 0 {
                    from_end += 1;
                    *slot = from_end;
                }
            }
        }
        Plan {
            sample_type: attr.sample_type,
            read_format: attr.read_format,
            branch_sample_type: attr.branch_sample_type,
            regs_user_mask: attr.regs_user_mask,
            regs_intr_mask: attr.regs_intr_mask,
            order,
            fixed,
            fixed_bytes: usize::from(words) * 8,
            trailer,
        }
    }

    /// Gives the bytes from the start of a sample's body to its time.
    pub fn time_offset(&self) -> Option<usize> {
        (self.fixed[3] != ABSENT).then(|| usize::from(self.fixed[3]) * 8)
    }

    /// Gives the bytes from the start of a sample's body to an id of its event.
    pub fn id_offset(&self) -> Option<usize> {
        let word = if self.fixed[0] != ABSENT { self.fixed[0] } else { self.fixed[5] };
        (word != ABSENT).then(|| usize::from(word) * 8)
    }

    /// Gives the bytes from the end of another record back to its time.
    pub fn trailer_time_offset(&self) -> Option<usize> {
        (self.trailer[1] != ABSENT).then(|| usize::from(self.trailer[1]) * 8)
    }

    /// Gives the bytes from the end of another record back to the id of its event.
    pub fn trailer_id_offset(&self) -> Option<usize> {
        let word = if self.trailer[5] != ABSENT { self.trailer[5] } else { self.trailer[2] };
        (word != ABSENT).then(|| usize::from(word) * 8)
    }

    #[inline]
    fn word(&self, body: &[u8], field: usize) -> Option<u64> {
        match self.fixed[field] {
            ABSENT => None,
            word => self.order.u64(body, usize::from(word) * 8),
        }
    }

    #[inline]
    fn halves(&self, body: &[u8], at: Option<usize>) -> Option<(u32, u32)> {
        let at = at?;
        Some((self.order.u32(body, at)?, self.order.u32(body, at + 4)?))
    }

    /// Reads the trailer of a record that is not a sample.
    #[inline]
    pub fn trailer(&self, body: &[u8]) -> Trailer {
        let at = |field: usize| -> Option<usize> {
            match self.trailer[field] {
                ABSENT => None,
                word => body.len().checked_sub(usize::from(word) * 8),
            }
        };
        let word = |field: usize| self.order.u64(body, at(field)?);
        Trailer {
            pid_tid: self.halves(body, at(0)).map(|(p, t)| (p as i32, t as i32)),
            time: word(1),
            id: word(5).or_else(|| word(2)),
            cpu: self.halves(body, at(4)).map(|(cpu, _)| cpu),
        }
    }

    /// Gives the bytes of the trailer of a record that is not a sample.
    #[inline]
    pub fn trailer_bytes(&self) -> usize {
        self.trailer.iter().filter(|&&word| word != ABSENT).count() * 8
    }

    /// Skips the counter values of a READ record; `None` when they do not fit.
    #[inline]
    pub fn skip_values(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        ReadValues::parse(cursor, self.read_format).map(drop)
    }

    /// Reads a sample's body. The fields before a damage are kept.
    pub fn sample<'a>(&self, body: &'a [u8]) -> (Sample<'a>, Option<SampleDamage>) {
        let at = |field: usize| match self.fixed[field] {
            ABSENT => None,
            word => Some(usize::from(word) * 8),
        };
        let mut sample = Sample {
            id: self.word(body, 0).or_else(|| self.word(body, 5)),
            stream_id: self.word(body, 6),
            ip: self.word(body, 1),
            pid_tid: self.halves(body, at(2)).map(|(p, t)| (p as i32, t as i32)),
            time: self.word(body, 3),
            addr: self.word(body, 4),
            cpu: self.halves(body, at(7)).map(|(cpu, _)| cpu),
            period: self.word(body, 8),
            ..Sample::default()
        };
        let Some(rest) = body.get(self.fixed_bytes..) else {
            return (sample, Some(SampleDamage::EndsIn("fixed fields")));
        };
        let mut cursor = Cursor::new(rest, self.order);
        let damage = match self.variable(&mut sample, &mut cursor) {
            Err(field) => Some(SampleDamage::EndsIn(field)),
            Ok(()) if cursor.rest().is_empty() || self.sample_type & !field::KNOWN != 0 => None,
            Ok(()) => Some(SampleDamage::GoesOn(cursor.rest().len())),
        };
        (sample, damage)
    }

    fn variable<'a>(&self, sample: &mut Sample<'a>, c: &mut Cursor<'a>) -> Result<(), &'static str> {
        let has = |bit: u64| self.sample_type & bit != 0;
        if has(field::READ) {
            sample.read = Some(ReadValues::parse(c, self.read_format).ok_or("counter values")?);
        }
        if has(field::CALLCHAIN) {
            let count = c.u64().ok_or("callchain")?;
            sample.callchain = Some(c.u64s(count).ok_or("callchain")?);
        }
        if has(field::RAW) {
            let size = c.u32().ok_or("raw data")?;
            sample.raw = Some(c.take(size.into()).ok_or("raw data")?);
            // The kernel pads raw data so that the next field is at a multiple of 8.
            let odd = c.at() % 8;
            if odd != 0 {
                c.take(8 - odd as u64).ok_or("raw data padding")?;
            }
        }
        if self.sample_type & MORE != 0 {
            self.more(sample.more.get_or_insert_default(), c)?;
        }
        Ok(())
    }

    fn more<'a>(&self, more: &mut More<'a>, c: &mut Cursor<'a>) -> Result<(), &'static str> {
        let has = |bit: u64| self.sample_type & bit != 0;
        if has(field::BRANCH_STACK) {
            more.branch_stack = Some(BranchStack::parse(c, self.branch_sample_type).ok_or("branch stack")?);
        }
        if has(field::REGS_USER) {
            more.regs_user = Registers::parse(c, self.regs_user_mask).ok_or("user registers")?;
        }
        if has(field::STACK_USER) {
            more.stack_user = UserStack::parse(c).ok_or("user stack")?;
        }
        let mut word = |bit: u64, name: &'static str| -> Result<Option<u64>, &'static str> {
            if has(bit) { c.u64().map(Some).ok_or(name) } else { Ok(None) }
        };
        more.weight = word(field::WEIGHT | field::WEIGHT_STRUCT, "weight")?;
        more.data_src = word(field::DATA_SRC, "data source")?;
        more.transaction = word(field::TRANSACTION, "transaction")?;
        if has(field::REGS_INTR) {
            more.regs_intr = Registers::parse(c, self.regs_intr_mask).ok_or("interrupt registers")?;
        }
        let mut word = |bit: u64, name: &'static str| -> Result<Option<u64>, &'static str> {
            if has(bit) { c.u64().map(Some).ok_or(name) } else { Ok(None) }
        };
        more.phys_addr = word(field::PHYS_ADDR, "physical address")?;
        more.cgroup = word(field::CGROUP, "cgroup")?;
        more.data_page_bytes = word(field::DATA_PAGE_SIZE, "data page size")?;
        more.code_page_bytes = word(field::CODE_PAGE_SIZE, "code page size")?;
        if has(field::AUX) {
            let size = c.u64().ok_or("AUX data")?;
            more.aux = Some(c.take(size).ok_or("AUX data")?);
        }
        Ok(())
    }
}
