//! Turns a little-endian perf.data into the one that a big-endian machine would have recorded: the reader's figures must
//! stay the same.

use std::collections::BTreeMap;

use perfcase_decode::format::{EventFormat, FieldKind};
use perfcase_decode::perf_data::features::number;
use perfcase_decode::perf_data::record::{kind, misc};
use perfcase_decode::perf_data::sample::field;
use perfcase_decode::perf_data::tracing_data;

/// Widths of the fields of an attribute after the bit field.
const ATTR_TAIL: [usize; 15] = [4, 4, 8, 8, 8, 8, 4, 4, 8, 4, 2, 2, 4, 4, 8];

struct Attr {
    sample_type: u64,
    read_group: bool,
    config: u64,
    kind: u32,
}

struct Swapper {
    bytes: Vec<u8>,
    attrs: Vec<Attr>,
    by_id: BTreeMap<u64, usize>,
    formats: BTreeMap<u32, EventFormat>,
}

/// The big-endian twin of a recording in file mode.
pub fn to_big_endian(little: &[u8]) -> Vec<u8> {
    let mut swapper =
        Swapper { bytes: little.to_vec(), attrs: Vec::new(), by_id: BTreeMap::new(), formats: BTreeMap::new() };
    let word = |at: usize| u64::from_le_bytes(little[at..at + 8].try_into().unwrap());
    let (attrs, data) = ((word(24), word(32)), (word(40) as usize, word(48) as usize));
    swapper.attrs(attrs.0 as usize, attrs.1 as usize, word(16) as usize);
    swapper.features(data.0 + data.1, word(72));
    swapper.records(data.0, data.0 + data.1);
    swapper.bytes[..8].reverse();
    swapper.words(8, 12);
    swapper.bytes
}

impl Swapper {
    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    fn half(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    /// Swaps the field at `at` and gives the place behind it.
    fn swap(&mut self, at: usize, width: usize) -> usize {
        self.bytes[at..at + width].reverse();
        at + width
    }

    fn all(&mut self, mut at: usize, widths: &[usize]) -> usize {
        for &width in widths {
            at = self.swap(at, width);
        }
        at
    }

    fn words(&mut self, at: usize, count: usize) -> usize {
        (0..count).fold(at, |at, _| self.swap(at, 8))
    }

    fn attrs(&mut self, start: usize, size: usize, stride: usize) {
        for (index, at) in (start..start + size).step_by(stride).enumerate() {
            let ids = (self.word(at + stride - 16) as usize, self.word(at + stride - 8) as usize);
            for id in (ids.0..ids.0 + ids.1).step_by(8) {
                self.by_id.insert(self.word(id), index);
                self.swap(id, 8);
            }
            self.attrs.push(Attr {
                kind: self.half(at),
                config: self.word(at + 8),
                sample_type: self.word(at + 24),
                read_group: self.word(at + 32) & 8 != 0,
            });
            self.attr(at, stride - 16);
            self.words(at + stride - 16, 2);
        }
    }

    fn attr(&mut self, start: usize, size: usize) {
        self.all(start, &[4, 4, 8, 8, 8, 8]);
        let flags = self.word(start + 40);
        let precise = flags >> 15 & 3;
        let other = flags & !(3 << 15);
        let mirrored = other.reverse_bits() | (precise & 1) << 47 | (precise >> 1) << 48;
        self.bytes[start + 40..start + 48].copy_from_slice(&mirrored.to_be_bytes());
        let mut at = start + 48;
        for width in ATTR_TAIL {
            if at + width <= start + size {
                at = self.swap(at, width);
            }
        }
    }

    fn features(&mut self, table: usize, bits: u64) {
        let present: Vec<u32> = (0..64).filter(|bit| bits >> bit & 1 == 1).collect();
        let mut kept = 0u64;
        let mut entries = Vec::new();
        for (index, &feature) in present.iter().enumerate() {
            let (at, size) = (self.word(table + index * 16) as usize, self.word(table + index * 16 + 8) as usize);
            if self.feature(feature, at, size) {
                kept |= 1 << feature;
                entries.push((at as u64, size as u64));
            }
        }
        for (index, (at, size)) in entries.into_iter().enumerate() {
            let entry = table + index * 16;
            self.bytes[entry..entry + 8].copy_from_slice(&at.to_be_bytes());
            self.bytes[entry + 8..entry + 16].copy_from_slice(&size.to_be_bytes());
        }
        self.bytes[72..80].copy_from_slice(&kept.to_le_bytes());
    }

    /// Swaps a feature that the test needs; false for one that it leaves out.
    fn feature(&mut self, feature: u32, at: usize, size: usize) -> bool {
        match feature {
            number::HOSTNAME | number::OSRELEASE | number::VERSION | number::ARCH | number::CPUDESC => {
                self.swap(at, 4);
            }
            number::NRCPUS => {
                self.all(at, &[4, 4]);
            }
            number::TOTAL_MEM => {
                self.swap(at, 8);
            }
            number::SAMPLE_TIME => {
                self.words(at, 2);
            }
            number::CMDLINE => {
                let count = self.half(at);
                self.swap(at, 4);
                let mut at = at + 4;
                for _ in 0..count {
                    at = self.string(at);
                }
            }
            number::NUMA_TOPOLOGY => {
                let count = self.half(at);
                let mut at = self.swap(at, 4);
                for _ in 0..count {
                    at = self.all(at, &[4, 8, 8]);
                    at = self.string(at);
                }
            }
            number::GROUP_DESC => {
                let count = self.half(at);
                let mut at = self.swap(at, 4);
                for _ in 0..count {
                    at = self.string(at);
                    at = self.all(at, &[4, 4]);
                }
            }
            number::EVENT_DESC => self.event_descriptions(at),
            number::BUILD_ID => self.build_ids(at, size),
            number::TRACING_DATA => self.tracing_data(at, size),
            _ => return false,
        }
        true
    }

    fn string(&mut self, at: usize) -> usize {
        let length = self.half(at) as usize;
        self.swap(at, 4) + length
    }

    fn event_descriptions(&mut self, start: usize) {
        let (count, size) = (self.half(start), self.half(start + 4) as usize);
        let mut at = self.all(start, &[4, 4]);
        for _ in 0..count {
            self.attr(at, size);
            let ids = self.half(at + size) as usize;
            at = self.swap(at + size, 4);
            at = self.string(at);
            at = self.words(at, ids);
        }
    }

    fn build_ids(&mut self, start: usize, size: usize) {
        let mut at = start;
        while at < start + size {
            let length = self.half(at + 4) as usize >> 16;
            self.all(at, &[4, 2, 2, 4]);
            at += length;
        }
    }

    fn tracing_data(&mut self, start: usize, size: usize) {
        let data = tracing_data::parse(&self.bytes[start..start + size]).unwrap();
        for (system, text) in &data.formats {
            let format = EventFormat::parse(system, text).unwrap();
            self.formats.insert(format.id, format);
        }
        let mut at = start + 14;
        assert_eq!(self.bytes[at - 1], 0, "the version ends");
        self.bytes[at] = 1;
        at = self.swap(at + 2, 4);
        for name in ["header_page\0", "header_event\0"] {
            at = self.sized(at + name.len(), 8);
        }
        at = self.formats_at(at);
        let systems = self.half(at);
        at = self.swap(at, 4);
        for _ in 0..systems {
            at += self.bytes[at..].iter().position(|&byte| byte == 0).unwrap() + 1;
            at = self.formats_at(at);
        }
        at = self.sized(at, 4);
        at = self.sized(at, 4);
        self.sized(at, 8);
    }

    fn formats_at(&mut self, at: usize) -> usize {
        let count = self.half(at);
        let at = self.swap(at, 4);
        (0..count).fold(at, |at, _| self.sized(at, 8))
    }

    fn sized(&mut self, at: usize, width: usize) -> usize {
        let length = if width == 8 { self.word(at) as usize } else { self.half(at) as usize };
        self.swap(at, width) + length
    }

    fn records(&mut self, mut at: usize, end: usize) {
        while at < end {
            let number = self.half(at);
            let flags = self.half(at + 4) as u16;
            let size = (self.half(at + 4) >> 16) as usize;
            self.record(number, flags, at + 8, at + size);
            self.all(at, &[4, 2, 2]);
            at += size;
        }
    }

    fn record(&mut self, number: u32, flags: u16, at: usize, end: usize) {
        match number {
            kind::SAMPLE => return self.sample(at),
            kind::MMAP | kind::MMAP2 => {
                let next = self.all(at, &[4, 4, 8, 8, 8]);
                if number == kind::MMAP2 && flags & misc::MMAP_BUILD_ID == 0 {
                    self.all(next, &[4, 4, 8, 8, 4, 4]);
                } else if number == kind::MMAP2 {
                    self.all(next + 24, &[4, 4]);
                }
            }
            kind::COMM => _ = self.all(at, &[4, 4]),
            kind::FORK | kind::EXIT => _ = self.all(at, &[4, 4, 4, 4, 8]),
            kind::LOST => _ = self.words(at, 2),
            kind::LOST_SAMPLES => _ = self.words(at, 1),
            kind::THROTTLE | kind::UNTHROTTLE => _ = self.words(at, 3),
            kind::SWITCH => {}
            kind::SWITCH_CPU_WIDE => _ = self.all(at, &[4, 4]),
            kind::NAMESPACES => {
                let count = self.word(at + 8) as usize;
                let next = self.all(at, &[4, 4, 8]);
                self.words(next, count * 2);
            }
            kind::CGROUP => _ = self.swap(at, 8),
            kind::KSYMBOL => _ = self.all(at, &[8, 4, 2, 2]),
            kind::BPF_EVENT => _ = self.all(at, &[2, 2, 4]),
            kind::EVENT_UPDATE => _ = self.words(at, 2),
            kind::THREAD_MAP => _ = self.words(at, 1),
            kind::ID_INDEX => _ = self.words(at, (end - at) / 8),
            number if number >= kind::FIRST_USER => return,
            other => panic!("the test does not know record type {other}"),
        }
        if number < kind::FIRST_USER {
            self.trailer(end);
        }
    }

    fn trailer(&mut self, end: usize) {
        let sample_type = self.attrs[0].sample_type;
        let present = [field::TID, field::TIME, field::ID, field::STREAM_ID, field::CPU, field::IDENTIFIER];
        let present: Vec<u64> = present.into_iter().filter(|bit| sample_type & bit != 0).collect();
        let mut at = end - present.len() * 8;
        for bit in present {
            let is_pair = bit == field::TID || bit == field::CPU;
            at = if is_pair { self.all(at, &[4, 4]) } else { self.swap(at, 8) };
        }
    }

    fn sample(&mut self, start: usize) {
        let first = self.attrs[0].sample_type;
        let index = if first & field::IDENTIFIER != 0 { self.by_id[&self.word(start)] } else { 0 };
        let sample_type = self.attrs[index].sample_type;
        let has = |bit: u64| sample_type & bit != 0;
        let mut at = start;
        let fixed = [
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
        for bit in fixed.into_iter().filter(|&bit| has(bit)) {
            let is_pair = bit == field::TID || bit == field::CPU;
            at = if is_pair { self.all(at, &[4, 4]) } else { self.swap(at, 8) };
        }
        if has(field::READ) {
            assert!(self.attrs[index].read_group, "the test knows group reads: count, then value, id, lost of each");
            let count = self.word(at) as usize;
            at = self.swap(at, 8);
            at = self.words(at, count * 3);
        }
        if has(field::CALLCHAIN) {
            let count = self.word(at) as usize;
            at = self.swap(at, 8);
            at = self.words(at, count);
        }
        if has(field::RAW) {
            let length = self.half(at) as usize;
            self.payload(index, at + 4, length);
            at = self.swap(at, 4) + length;
        }
        let words = [field::WEIGHT, field::DATA_SRC, field::TRANSACTION];
        let last = [field::PHYS_ADDR, field::CGROUP, field::DATA_PAGE_SIZE, field::CODE_PAGE_SIZE];
        let dumps = [field::REGS_USER, field::STACK_USER];
        for bit in dumps.into_iter().chain(words).chain([field::REGS_INTR]).chain(last).filter(|&bit| has(bit)) {
            let is_dump = dumps.contains(&bit) || bit == field::REGS_INTR;
            at = if is_dump { self.dump(bit, at) } else { self.swap(at, 8) };
        }
        assert!(sample_type & (field::BRANCH_STACK | field::AUX) == 0);
    }

    fn dump(&mut self, bit: u64, at: usize) -> usize {
        let first = self.word(at);
        let next = self.swap(at, 8);
        match (first, bit) {
            (0, _) => next,
            (size, field::STACK_USER) => self.swap(next + size as usize, 8),
            _ => self.words(next, self.registers(bit)),
        }
    }

    /// Registers a sample has: the fixtures with registers have one event.
    fn registers(&self, bit: u64) -> usize {
        let mask_at = 104 + if bit == field::REGS_USER { 80 } else { 96 };
        // The attribute is swapped already.
        let mask: [u8; 8] = self.bytes[mask_at + self.ids_before()..][..8].try_into().unwrap();
        u64::from_be_bytes(mask).count_ones() as usize
    }

    /// perf writes the ids between header and attributes.
    fn ids_before(&self) -> usize {
        self.word(24) as usize - 104
    }

    fn payload(&mut self, index: usize, start: usize, length: usize) {
        assert_eq!(self.attrs[index].kind, 2);
        let format = self.formats[&(self.attrs[index].config as u32)].clone();
        for field in &format.fields {
            let at = start + field.offset as usize;
            match field.kind {
                FieldKind::Int | FieldKind::DataLoc { .. } | FieldKind::RelLoc { .. } => {
                    self.swap(at, field.size as usize);
                }
                FieldKind::IntArray { elem_size, count } => {
                    let count =
                        if count == 0 { (length - field.offset as usize) / elem_size as usize } else { count as usize };
                    self.all(at, &vec![elem_size as usize; count]);
                }
                FieldKind::CharArray | FieldKind::Bytes => {}
            }
        }
    }
}
