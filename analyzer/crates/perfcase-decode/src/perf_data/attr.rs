//! `struct perf_event_attr` of every published size, either byte order.
//!
//! Layout: include/uapi/linux/perf_event.h; sizes 64 (2.6.33), 72, 80, 96, 104, 112, 120, 128, 136 (6.3), 144 (6.17).

use super::bytes::{ByteOrder, Cursor};

/// The size in bytes that `size == 0` means (PERF_ATTR_SIZE_VER0).
const SIZE_VERSION_0: u32 = 64;
/// Bytes of the newest attribute whose fields are read.
const SIZE_KNOWN: u32 = 144;

/// `attr.type` of tracepoints.
pub const TYPE_TRACEPOINT: u32 = 2;
/// `PERF_TYPE_SOFTWARE`.
pub const TYPE_SOFTWARE: u32 = 1;
/// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
pub const SOFTWARE_CONTEXT_SWITCHES: u64 = 3;
/// `PERF_COUNT_SW_BPF_OUTPUT`.
pub const SOFTWARE_BPF_OUTPUT: u64 = 10;

/// What an event measures, and which fields its samples have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attr {
    /// PERF_TYPE_*: 0 hardware, 1 software, 2 tracepoint, 3 cache, 4 raw, 5 breakpoint, above: a PMU of the host.
    pub kind: u32,
    /// Bytes of the attribute as recorded.
    pub size_bytes: u32,
    /// The event within `kind`; a tracepoint's id.
    pub config: u64,
    /// Period in events, or frequency in Hz where `flags.freq`.
    pub period_or_freq: u64,
    /// PERF_SAMPLE_* bits.
    pub sample_type: u64,
    /// PERF_FORMAT_* bits.
    pub read_format: u64,
    /// The bit field. The first field is bit 0 in both byte orders.
    pub flags: AttrFlags,
    /// How far the sampled address may be from the right one: 0 (any distance) to 3 (none).
    pub precise_ip: u8,
    /// Events or bytes before a wakeup.
    pub wakeup: u32,
    /// Breakpoint type.
    pub bp_type: u32,
    /// Extension of config, breakpoint address.
    pub config1: u64,
    /// Extension of config, breakpoint length.
    pub config2: u64,
    /// PERF_SAMPLE_BRANCH_* bits.
    pub branch_sample_type: u64,
    /// Registers dumped by REGS_USER.
    pub regs_user_mask: u64,
    /// Bytes of user stack dumped.
    pub stack_user_bytes: u32,
    /// CLOCK_* of the time field where `flags.use_clockid`.
    pub clock_id: i32,
    /// Registers dumped by REGS_INTR.
    pub regs_intr_mask: u64,
    /// AUX wakeup watermark in bytes.
    pub aux_watermark: u32,
    /// Longest callchain.
    pub max_stack: u16,
    /// Bytes of AUX data per sample.
    pub aux_sample_bytes: u32,
    /// Data handed back by SIGTRAP.
    pub sig_data: u64,
    /// Extension of config (6.3).
    pub config3: u64,
    /// Extension of config (6.17).
    pub config4: u64,
    /// Bytes after the fields known here that are not zero.
    pub unknown_bytes: u32,
}

/// The attribute's bit field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttrFlags(pub u64);

impl AttrFlags {
    fn bit(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }
    /// Children inherit the event.
    pub fn inherit(self) -> bool {
        self.bit(1)
    }
    /// Nothing is counted while the CPU runs programs.
    #[inline]
    pub fn exclude_user(self) -> bool {
        self.bit(4)
    }
    /// Nothing is counted while the CPU runs the kernel.
    #[inline]
    pub fn exclude_kernel(self) -> bool {
        self.bit(5)
    }
    /// Nothing is counted while the CPU runs a hypervisor.
    #[inline]
    pub fn exclude_hv(self) -> bool {
        self.bit(6)
    }
    /// `period_or_freq` is a frequency.
    #[inline]
    pub fn freq(self) -> bool {
        self.bit(10)
    }
    /// Records other than samples carry a sample_id trailer.
    #[inline]
    pub fn sample_id_all(self) -> bool {
        self.bit(18)
    }
    /// Nothing is counted while the CPU runs the host.
    #[inline]
    pub fn exclude_host(self) -> bool {
        self.bit(19)
    }
    /// Nothing is counted while the CPU runs a guest.
    #[inline]
    pub fn exclude_guest(self) -> bool {
        self.bit(20)
    }
    /// Times are of the clock `clock_id`.
    pub fn use_clockid(self) -> bool {
        self.bit(25)
    }
}

impl Attr {
    /// Gives the size of an attribute in bytes, as the attribute says; `None` without a size field.
    pub fn recorded_size(bytes: &[u8], order: ByteOrder) -> Option<u32> {
        Some(match order.u32(bytes, 4)? {
            0 => SIZE_VERSION_0,
            size => size,
        })
    }

    /// Reads an attribute. `bytes` may go on after it. `None` where it is shorter than version 0.
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<Attr> {
        let size_bytes = Attr::recorded_size(bytes, order)?;
        let length = (size_bytes as usize).min(bytes.len());
        if length < SIZE_VERSION_0 as usize {
            return None;
        }
        let bytes = &bytes[..length];
        let mut cursor = Cursor::new(bytes, order);
        let mut attr = Attr { kind: cursor.u32()?, ..Attr::default() };
        cursor.u32()?;
        attr.size_bytes = size_bytes;
        attr.config = cursor.u64()?;
        attr.period_or_freq = cursor.u64()?;
        attr.sample_type = cursor.u64()?;
        attr.read_format = cursor.u64()?;
        (attr.flags, attr.precise_ip) = bit_field(cursor.u64()?, order);
        attr.wakeup = cursor.u32()?;
        attr.bp_type = cursor.u32()?;
        attr.config1 = cursor.u64()?;
        // Older attributes end before one of these fields: the missing ones are zero, as in the kernel.
        let _ = attr.parse_later(&mut cursor);
        let known = SIZE_KNOWN as usize;
        let extra = bytes.get(known..).unwrap_or(&[]);
        attr.unknown_bytes = extra.iter().filter(|&&byte| byte != 0).count() as u32;
        Some(attr)
    }

    fn parse_later(&mut self, cursor: &mut Cursor) -> Option<()> {
        self.config2 = cursor.u64()?;
        self.branch_sample_type = cursor.u64()?;
        self.regs_user_mask = cursor.u64()?;
        self.stack_user_bytes = cursor.u32()?;
        self.clock_id = cursor.i32()?;
        self.regs_intr_mask = cursor.u64()?;
        self.aux_watermark = cursor.u32()?;
        self.max_stack = cursor.u16()?;
        cursor.u16()?;
        self.aux_sample_bytes = cursor.u32()?;
        cursor.u32()?;
        self.sig_data = cursor.u64()?;
        self.config3 = cursor.u64()?;
        self.config4 = cursor.u64()?;
        Some(())
    }
}

/// Moves the bits of a big-endian machine to their places on a little-endian one: C bit fields start at the least
/// significant bit there, and at the most significant one here. `precise_ip` (bits 15 and 16) is the only field of more
/// than one bit.
fn bit_field(word: u64, order: ByteOrder) -> (AttrFlags, u8) {
    match order {
        ByteOrder::Little => (AttrFlags(word), (word >> 15 & 3) as u8),
        ByteOrder::Big => {
            let mirrored = word.reverse_bits();
            let precise = (mirrored >> 15 & 1) << 1 | mirrored >> 16 & 1;
            (AttrFlags(mirrored), precise as u8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr_bytes(size: u32) -> Vec<u8> {
        let mut bytes = vec![0u8; size as usize];
        bytes[0..4].copy_from_slice(&2u32.to_le_bytes());
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        bytes[8..16].copy_from_slice(&317u64.to_le_bytes());
        bytes[40..48].copy_from_slice(&(1u64 << 18 | 1 << 25 | 2 << 15).to_le_bytes());
        for (at, value) in [(92, 1u32), (120, 7), (128, 9)] {
            if at + 4 <= bytes.len() {
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
        bytes
    }

    #[test]
    fn every_size_gives_the_fields_it_has() {
        for size in [64, 72, 80, 96, 104, 112, 120, 128, 136, 160] {
            let attr = Attr::parse(&attr_bytes(size), ByteOrder::Little).unwrap();
            assert_eq!((attr.kind, attr.config, attr.size_bytes), (2, 317, size));
            assert!(attr.flags.sample_id_all() && attr.flags.use_clockid());
            assert_eq!(attr.precise_ip, 2);
            assert_eq!(attr.clock_id, i32::from(size >= 96), "clock of size {size}");
            assert_eq!(attr.sig_data, if size >= 128 { 7 } else { 0 });
            assert_eq!(attr.config3, if size >= 136 { 9 } else { 0 });
            assert_eq!(attr.unknown_bytes, 0);
        }
        let mut newer = attr_bytes(160);
        newer[150] = 1;
        let attr = Attr::parse(&newer, ByteOrder::Little).unwrap();
        assert_eq!(attr.unknown_bytes, 1);
        assert_eq!(Attr::parse(&attr_bytes(64)[..63], ByteOrder::Little), None);
    }

    #[test]
    fn big_endian_bit_fields_are_mirrored() {
        // sample_id_all is field 18: the 19th bit from the top. precise_ip = 2 is binary 10 in bits 15 and 16.
        let word = 1u64 << (63 - 18) | 1 << (63 - 15);
        let (flags, precise) = bit_field(word, ByteOrder::Big);
        assert!(flags.sample_id_all());
        assert!(!flags.use_clockid());
        assert_eq!(precise, 2);
    }
}
