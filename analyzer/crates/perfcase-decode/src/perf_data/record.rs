//! Record headers, record types, and the records of the kernel except samples.
//!
//! Layouts: include/uapi/linux/perf_event.h (enum perf_event_type) and tools/lib/perf/include/perf/event.h.

use super::bytes::{Cursor, U64s};

/// Bytes of `struct perf_event_header`.
pub const HEADER_BYTES: usize = 8;

/// Record types by number, as perf names them in `perf report --stats`.
pub mod kind {
    macro_rules! kinds {
        ($($name:ident = $value:literal;)*) => {
            $(#[doc = concat!("PERF_RECORD_", stringify!($name))] pub const $name: u32 = $value;)*
            /// Gives perf's name of a record type; `None` for an unknown one.
            pub fn name(kind: u32) -> Option<&'static str> {
                match kind { $($value => Some(stringify!($name)),)* _ => None }
            }
        };
    }
    kinds! {
        MMAP = 1; LOST = 2; COMM = 3; EXIT = 4; THROTTLE = 5; UNTHROTTLE = 6; FORK = 7; READ = 8; SAMPLE = 9;
        MMAP2 = 10; AUX = 11; ITRACE_START = 12; LOST_SAMPLES = 13; SWITCH = 14; SWITCH_CPU_WIDE = 15;
        NAMESPACES = 16; KSYMBOL = 17; BPF_EVENT = 18; CGROUP = 19; TEXT_POKE = 20; AUX_OUTPUT_HW_ID = 21;
        CALLCHAIN_DEFERRED = 22;
        HEADER_ATTR = 64; EVENT_TYPE = 65; TRACING_DATA = 66; BUILD_ID = 67; FINISHED_ROUND = 68; ID_INDEX = 69;
        AUXTRACE_INFO = 70; AUXTRACE = 71; AUXTRACE_ERROR = 72; THREAD_MAP = 73; CPU_MAP = 74; STAT_CONFIG = 75;
        STAT = 76; STAT_ROUND = 77; EVENT_UPDATE = 78; TIME_CONV = 79; HEADER_FEATURE = 80; COMPRESSED = 81;
        FINISHED_INIT = 82; COMPRESSED2 = 83; BPF_METADATA = 84; SCHEDSTAT_CPU = 85; SCHEDSTAT_DOMAIN = 86;
    }
    /// The first type that perf itself writes; lower ones come from the kernel.
    pub const FIRST_USER: u32 = 64;
}

/// Bits of `misc`.
pub mod misc {
    /// The three bits of the CPU mode.
    pub const CPUMODE_MASK: u16 = 7;
    /// CPU mode: the kernel of a guest. This mode and greater ones are of guests.
    pub const GUEST_KERNEL: u16 = 4;
    /// CPU mode: a program of a guest.
    pub const GUEST_USER: u16 = 5;
    /// The bit has a meaning for each type. COMM: an exec gave the name. SWITCH: the task leaves the CPU. MMAP: data.
    pub const COMM_EXEC: u16 = 1 << 13;
    /// MMAP: a mapping of data, from which no code runs.
    pub const MMAP_DATA: u16 = 1 << 13;
    /// SWITCH: switched out.
    pub const SWITCH_OUT: u16 = 1 << 13;
    /// SWITCH: switched out while still runnable.
    pub const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
    /// MMAP2: a build id is in place of device and inode.
    pub const MMAP_BUILD_ID: u16 = 1 << 14;
}

/// `struct perf_event_header`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Record type.
    pub kind: u32,
    /// Bits by type, and the CPU mode.
    pub misc: u16,
    /// Bytes of the record with this header.
    pub size: u16,
}

/// What a process mapped (MMAP, MMAP2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mmap<'a> {
    /// Process; -1 for the kernel's.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// First address.
    pub start: u64,
    /// Bytes mapped.
    pub length: u64,
    /// Bytes into the file; for the kernel the address of its reference symbol.
    pub page_offset: u64,
    /// MMAP2 only.
    pub more: Option<Mmap2<'a>>,
    /// File, or a name such as `[vdso]`.
    pub path: &'a [u8],
}

/// What MMAP2 adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mmap2<'a> {
    /// Device and inode, or the build id in their place.
    pub identity: FileIdentity<'a>,
    /// PROT_* bits.
    pub protection: u32,
    /// MAP_* bits.
    pub flags: u32,
}

/// Which file was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileIdentity<'a> {
    /// By its place in a file system.
    Inode {
        /// Device major number.
        major: u32,
        /// Device minor number.
        minor: u32,
        /// Inode number.
        inode: u64,
        /// Generation of the inode number.
        generation: u64,
    },
    /// By its build id.
    BuildId(&'a [u8]),
}

/// FORK and EXIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Process.
    pub pid: i32,
    /// Parent's process.
    pub ppid: i32,
    /// Thread.
    pub tid: i32,
    /// Parent's thread.
    pub ptid: i32,
    /// The time on the capture's clock, in ns.
    pub time: u64,
}

/// A record of the kernel. Fields have the names of perf_event.h; times are in ns, lengths and sizes in bytes.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record<'a> {
    /// MMAP and MMAP2.
    Mmap(Mmap<'a>),
    /// Records that did not fit into the ring buffer.
    Lost { id: u64, lost: u64 },
    /// A thread's name.
    Comm { pid: i32, tid: i32, name: &'a [u8] },
    /// A task ended.
    Exit(Task),
    /// A task began.
    Fork(Task),
    /// The kernel stopped sampling because it was too frequent.
    Throttle { time: u64, id: u64 },
    /// Sampling goes on.
    Unthrottle { time: u64, id: u64 },
    /// Counter values of a task that ended.
    Read { pid: i32, tid: i32 },
    /// New data in the AUX area.
    Aux { offset: u64, size: u64, flags: u64 },
    /// Instruction tracing began.
    ItraceStart { pid: i32, tid: i32 },
    /// Samples that the hardware dropped.
    LostSamples { lost: u64 },
    /// The task of the trailer was switched. Only recordings of a CPU have the other task.
    Switch { other: Option<(i32, i32)> },
    /// The namespaces of a task: device and inode in turn.
    Namespaces { pid: i32, tid: i32, links: U64s<'a> },
    /// A kernel symbol was added or removed.
    Ksymbol { address: u64, length: u32, kind: u16, flags: u16, name: &'a [u8] },
    /// A BPF program was loaded or unloaded.
    Bpf { kind: u16, id: u32, tag: &'a [u8] },
    /// A cgroup's path.
    Cgroup { id: u64, path: &'a [u8] },
    /// Kernel text was modified.
    TextPoke { address: u64, old: &'a [u8], new: &'a [u8] },
    /// The hardware id of AUX output.
    AuxOutputHwId { id: u64 },
    /// The user part of earlier callchains that carry the cookie (6.19).
    CallchainDeferred { cookie: u64, chain: U64s<'a> },
}

/// Tells whether a type of record ends in text: tools pad it in different ways.
#[inline]
pub fn ends_in_text(kind: u32) -> bool {
    matches!(kind, kind::MMAP | kind::MMAP2 | kind::COMM | kind::KSYMBOL | kind::CGROUP)
}

/// Reads the body, which is everything after the header, with the trailer; then the cursor is after the fields. `None`
/// where the record is shorter than its fields, or its type is not one of the kernel.
pub fn parse<'a>(header: RecordHeader, c: &mut Cursor<'a>) -> Option<Record<'a>> {
    Some(match header.kind {
        kind::MMAP | kind::MMAP2 => Record::Mmap(mmap(header, c)?),
        kind::LOST => Record::Lost { id: c.u64()?, lost: c.u64()? },
        kind::COMM => Record::Comm { pid: c.i32()?, tid: c.i32()?, name: c.padded_string() },
        kind::EXIT => Record::Exit(task(c)?),
        kind::FORK => Record::Fork(task(c)?),
        kind::THROTTLE | kind::UNTHROTTLE => {
            let (time, id, _stream_id) = (c.u64()?, c.u64()?, c.u64()?);
            match header.kind {
                kind::THROTTLE => Record::Throttle { time, id },
                _ => Record::Unthrottle { time, id },
            }
        }
        kind::READ => Record::Read { pid: c.i32()?, tid: c.i32()? },
        kind::AUX => Record::Aux { offset: c.u64()?, size: c.u64()?, flags: c.u64()? },
        kind::ITRACE_START => Record::ItraceStart { pid: c.i32()?, tid: c.i32()? },
        kind::LOST_SAMPLES => Record::LostSamples { lost: c.u64()? },
        kind::SWITCH => Record::Switch { other: None },
        kind::SWITCH_CPU_WIDE => Record::Switch { other: Some((c.i32()?, c.i32()?)) },
        kind::NAMESPACES => {
            let (pid, tid, count) = (c.i32()?, c.i32()?, c.u64()?);
            Record::Namespaces { pid, tid, links: c.u64s(count.checked_mul(2)?)? }
        }
        kind::KSYMBOL => Record::Ksymbol {
            address: c.u64()?,
            length: c.u32()?,
            kind: c.u16()?,
            flags: c.u16()?,
            name: c.padded_string(),
        },
        kind::BPF_EVENT => {
            let (kind, _flags) = (c.u16()?, c.u16()?);
            Record::Bpf { kind, id: c.u32()?, tag: c.take(8)? }
        }
        kind::CGROUP => Record::Cgroup { id: c.u64()?, path: c.padded_string() },
        kind::TEXT_POKE => {
            let (address, old, new) = (c.u64()?, c.u16()?, c.u16()?);
            Record::TextPoke { address, old: c.take(old.into())?, new: c.take(new.into())? }
        }
        kind::AUX_OUTPUT_HW_ID => Record::AuxOutputHwId { id: c.u64()? },
        kind::CALLCHAIN_DEFERRED => {
            let (cookie, count) = (c.u64()?, c.u64()?);
            Record::CallchainDeferred { cookie, chain: c.u64s(count)? }
        }
        _ => return None,
    })
}

fn mmap<'a>(header: RecordHeader, c: &mut Cursor<'a>) -> Option<Mmap<'a>> {
    let (pid, tid) = (c.i32()?, c.i32()?);
    let (start, length, page_offset) = (c.u64()?, c.u64()?, c.u64()?);
    let mut more = None;
    if header.kind == kind::MMAP2 {
        let mut named = c.clone();
        let build_id = if header.misc & misc::MMAP_BUILD_ID != 0 { build_id(named.take(24)?) } else { None };
        let inode = FileIdentity::Inode { major: c.u32()?, minor: c.u32()?, inode: c.u64()?, generation: c.u64()? };
        let identity = build_id.map_or(inode, FileIdentity::BuildId);
        more = Some(Mmap2 { identity, protection: c.u32()?, flags: c.u32()? });
    }
    let path = c.padded_string();
    Some(Mmap { pid, tid, start, length, page_offset, more, path })
}

/// Reads the build id of a mapping: its size, three zeros, and 20 bytes with zeros after its end. A kernel may set the
/// flag of a build id where the inode is: if another recording of the same mapping has build ids, it does not clear the
/// flag (`perf_event_mmap_output` in kernel/events/core.c). perf aborts at such a record if the device's number is
/// above 20.
fn build_id(bytes: &[u8]) -> Option<&[u8]> {
    let (size, id) = (usize::from(bytes[0]), &bytes[4..]);
    let is_one = bytes[1..4] == [0; 3] && size > 0 && size <= id.len() && id[size..].iter().all(|&byte| byte == 0);
    is_one.then(|| &id[..size])
}

fn task(c: &mut Cursor) -> Option<Task> {
    Some(Task { pid: c.i32()?, ppid: c.i32()?, tid: c.i32()?, ptid: c.i32()?, time: c.u64()? })
}

#[cfg(test)]
mod tests {
    use super::super::bytes::ByteOrder;
    use super::*;

    fn parse_le<'a>(kind: u32, misc: u16, body: &'a [u8]) -> Option<Record<'a>> {
        let header = RecordHeader { kind, misc, size: 0 };
        parse(header, &mut Cursor::new(body, ByteOrder::Little))
    }

    #[test]
    fn mmap2_with_inode_and_with_build_id() {
        let mut body = Vec::new();
        body.extend(7i32.to_le_bytes());
        body.extend(8i32.to_le_bytes());
        for word in [0x1000u64, 0x2000, 0x3000] {
            body.extend(word.to_le_bytes());
        }
        let identity_at = body.len();
        body.extend(254u32.to_le_bytes());
        body.extend(1u32.to_le_bytes());
        body.extend(99u64.to_le_bytes());
        body.extend(3u64.to_le_bytes());
        body.extend(5u32.to_le_bytes());
        body.extend(2u32.to_le_bytes());
        body.extend(b"/bin/true\0\0\0\0\0\0\0");
        let Some(Record::Mmap(map)) = parse_le(kind::MMAP2, 0, &body) else {
            panic!("no mmap");
        };
        assert_eq!((map.pid, map.tid, map.path), (7, 8, &b"/bin/true"[..]));
        let more = map.more.unwrap();
        assert_eq!((more.protection, more.flags), (5, 2));
        let inode = FileIdentity::Inode { major: 254, minor: 1, inode: 99, generation: 3 };
        assert_eq!(more.identity, inode);

        // The flag of another recording, over an inode.
        for major in [254u32, 8, 0x103, 0] {
            body[identity_at..identity_at + 4].copy_from_slice(&major.to_le_bytes());
            let Some(Record::Mmap(map)) = parse_le(kind::MMAP2, misc::MMAP_BUILD_ID, &body) else {
                panic!("no mmap");
            };
            let inode = FileIdentity::Inode { major, minor: 1, inode: 99, generation: 3 };
            assert_eq!(map.more.unwrap().identity, inode);
        }

        body[identity_at..identity_at + 24].fill(0);
        body[identity_at] = 16;
        body[identity_at + 4..identity_at + 20].fill(0xab);
        let Some(Record::Mmap(map)) = parse_le(kind::MMAP2, misc::MMAP_BUILD_ID, &body) else {
            panic!("no mmap");
        };
        assert_eq!(map.more.unwrap().identity, FileIdentity::BuildId(&[0xab; 16]));
        assert_eq!(parse_le(kind::MMAP2, 0, &body[..60]), None);
    }

    #[test]
    fn counts_of_hostile_records_are_bounded() {
        let mut body = vec![0u8; 8];
        body.extend(u64::MAX.to_le_bytes());
        body.extend([0; 32]);
        assert_eq!(parse_le(kind::NAMESPACES, 0, &body), None);
        assert_eq!(parse_le(kind::CALLCHAIN_DEFERRED, 0, &body), None);
        assert_eq!(kind::name(83), Some("COMPRESSED2"));
        assert_eq!(kind::name(200), None);
    }
}
