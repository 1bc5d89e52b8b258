//! Header features: what perf wrote about the host and the recording.
//!
//! Layouts: `tools/perf/Documentation/perf.data-file-format.txt` and tools/perf/util/header.c (numbers of HEADER_*).

use super::attr::Attr;
use super::bytes::{ByteOrder, Cursor, until_nul};

/// Numbers of the features that are read here.
pub mod number {
    #![allow(missing_docs)]
    pub const TRACING_DATA: u32 = 1;
    pub const BUILD_ID: u32 = 2;
    pub const HOSTNAME: u32 = 3;
    pub const OSRELEASE: u32 = 4;
    pub const VERSION: u32 = 5;
    pub const ARCH: u32 = 6;
    pub const NRCPUS: u32 = 7;
    pub const CPUDESC: u32 = 8;
    pub const CPUID: u32 = 9;
    pub const TOTAL_MEM: u32 = 10;
    pub const CMDLINE: u32 = 11;
    pub const EVENT_DESC: u32 = 12;
    pub const CPU_TOPOLOGY: u32 = 13;
    pub const NUMA_TOPOLOGY: u32 = 14;
    pub const PMU_MAPPINGS: u32 = 16;
    pub const GROUP_DESC: u32 = 17;
    pub const AUXTRACE: u32 = 18;
    pub const STAT: u32 = 19;
    pub const SAMPLE_TIME: u32 = 21;
    pub const CLOCKID: u32 = 23;
    pub const DIR_FORMAT: u32 = 24;
    pub const BPF_PROG_INFO: u32 = 25;
    pub const BPF_BTF: u32 = 26;
    pub const COMPRESSED: u32 = 27;
    pub const CLOCK_DATA: u32 = 29;
    /// The highest number perf uses (7.0).
    pub const LAST: u32 = 32;
}

/// The most strings or entries of a list: a bound for hostile counts.
const MOST_ENTRIES: u32 = 1 << 16;

/// What the features say. A field is `None` or empty where its feature is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// `uname -n`.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// perf's version.
    pub perf_version: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs online and available.
    pub cpu_counts: Option<(u32, u32)>,
    /// CPU model.
    pub cpu_description: Option<String>,
    /// Vendor, family, model, stepping.
    pub cpu_id: Option<String>,
    /// Memory in kB, as perf writes it from MemTotal.
    pub total_memory_kb: Option<u64>,
    /// The command that recorded.
    pub command: Vec<String>,
    /// Names and ids of the events.
    pub event_descriptions: Vec<EventDescription>,
    /// Sibling lists of cores, then of threads.
    pub cpu_topology: Option<(Vec<String>, Vec<String>)>,
    /// NUMA nodes: number and list of CPUs.
    pub numa_nodes: Vec<(u32, String)>,
    /// Numbers and names of the host's PMUs (`attr.kind`).
    pub pmus: Vec<(u32, String)>,
    /// Event groups: name, index of the leader, members.
    pub groups: Vec<(String, u32, u32)>,
    /// Times of the first and the last sample, ns.
    pub sample_time_ns: Option<(u64, u64)>,
    /// Resolution of the clock in ns.
    pub clock_resolution_ns: Option<u64>,
    /// The clock's id, and readings of the wall clock and of this clock at one moment, in ns.
    pub clock_data: Option<ClockData>,
    /// zstd level and ratio of compressed records.
    pub compression: Option<(u32, u32)>,
    /// True for a recording of `perf stat record`.
    pub is_stat: bool,
    /// True where the records are in further files of a directory.
    pub is_directory: bool,
}

/// HEADER_CLOCK_DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockData {
    /// CLOCK_* number of the time field.
    pub clock_id: i32,
    /// Wall clock, ns since 1970.
    pub realtime_ns: u64,
    /// The clock's reading at the same moment, ns.
    pub clock_ns: u64,
}

/// One entry of HEADER_EVENT_DESC.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDescription {
    /// The attribute again.
    pub attr: Attr,
    /// Name as given to perf.
    pub name: String,
    /// Ids of the event.
    pub ids: Vec<u64>,
}

impl Features {
    /// Reads the bytes of feature `number`. `None` where they are too short. This function leaves out unknown features
    /// and those that have their own sections (tracing data, build ids).
    pub fn read(&mut self, number: u32, bytes: &[u8], order: ByteOrder) -> Option<()> {
        let mut c = Cursor::new(bytes, order);
        let c = &mut c;
        match number {
            number::HOSTNAME => self.hostname = Some(string(c)?),
            number::OSRELEASE => self.os_release = Some(string(c)?),
            number::VERSION => self.perf_version = Some(string(c)?),
            number::ARCH => self.arch = Some(string(c)?),
            // The documentation has the reverse order; perf writes the available CPUs first.
            number::NRCPUS => {
                let available = c.u32()?;
                self.cpu_counts = Some((c.u32()?, available));
            }
            number::CPUDESC => self.cpu_description = Some(string(c)?),
            number::CPUID => self.cpu_id = Some(string(c)?),
            number::TOTAL_MEM => self.total_memory_kb = Some(c.u64()?),
            number::CMDLINE => self.command = strings(c)?,
            number::EVENT_DESC => self.event_descriptions = event_descriptions(c)?,
            number::CPU_TOPOLOGY => self.cpu_topology = Some((strings(c)?, strings(c)?)),
            number::NUMA_TOPOLOGY => {
                for _ in 0..c.u32()?.min(MOST_ENTRIES) {
                    let (node, _memory_kb, _free_kb) = (c.u32()?, c.u64()?, c.u64()?);
                    self.numa_nodes.push((node, string(c)?));
                }
            }
            number::PMU_MAPPINGS => {
                for _ in 0..c.u32()?.min(MOST_ENTRIES) {
                    self.pmus.push((c.u32()?, string(c)?));
                }
            }
            number::GROUP_DESC => {
                for _ in 0..c.u32()?.min(MOST_ENTRIES) {
                    self.groups.push((string(c)?, c.u32()?, c.u32()?));
                }
            }
            number::STAT => self.is_stat = true,
            number::SAMPLE_TIME => self.sample_time_ns = Some((c.u64()?, c.u64()?)),
            number::CLOCKID => self.clock_resolution_ns = Some(c.u64()?),
            number::DIR_FORMAT => self.is_directory = true,
            number::COMPRESSED => {
                let (_version, _type, level, ratio) = (c.u32()?, c.u32()?, c.u32()?, c.u32()?);
                self.compression = Some((level, ratio));
            }
            number::CLOCK_DATA => {
                let (_version, clock_id) = (c.u32()?, c.i32()?);
                self.clock_data = Some(ClockData { clock_id, realtime_ns: c.u64()?, clock_ns: c.u64()? });
            }
            _ => {}
        }
        Some(())
    }
}

/// Reads a string: its padded length, then the bytes with NULs.
fn string(c: &mut Cursor) -> Option<String> {
    let length = c.u32()?;
    let bytes = c.take(length.into())?;
    Some(String::from_utf8_lossy(until_nul(bytes)).into_owned())
}

fn strings(c: &mut Cursor) -> Option<Vec<String>> {
    let count = c.u32()?.min(MOST_ENTRIES);
    (0..count).map(|_| string(c)).collect()
}

fn event_descriptions(c: &mut Cursor) -> Option<Vec<EventDescription>> {
    let count = c.u32()?.min(MOST_ENTRIES);
    let attr_bytes = c.u32()?;
    let mut list = Vec::new();
    for _ in 0..count {
        let attr = Attr::parse(c.take(attr_bytes.into())?, c.order())?;
        let id_count = c.u32()?;
        let name = string(c)?;
        let ids = c.u64s(id_count.into())?.iter().collect();
        list.push(EventDescription { attr, name, ids });
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Vec<u8> {
        let mut bytes = 64u32.to_be_bytes().to_vec();
        bytes.extend(value.as_bytes());
        bytes.resize(4 + 64, 0);
        bytes
    }

    #[test]
    fn strings_lists_and_event_descriptions() {
        let mut features = Features::default();
        features.read(number::HOSTNAME, &text("zhost"), ByteOrder::Big).unwrap();
        assert_eq!(features.hostname.as_deref(), Some("zhost"));
        let mut nodes = 2u32.to_be_bytes().to_vec();
        for (node, cpus) in [(0u32, "0-3,8"), (2, "4-7")] {
            nodes.extend(node.to_be_bytes());
            nodes.extend([0; 16]);
            nodes.extend(text(cpus));
        }
        features.read(number::NUMA_TOPOLOGY, &nodes, ByteOrder::Big).unwrap();
        assert_eq!(features.numa_nodes, [(0, "0-3,8".to_string()), (2, "4-7".to_string())]);
        let mut list = 2u32.to_be_bytes().to_vec();
        list.extend(text("perf"));
        list.extend(text("record"));
        features.read(number::CMDLINE, &list, ByteOrder::Big).unwrap();
        assert_eq!(features.command, ["perf", "record"]);

        let mut descriptions = [1u32.to_be_bytes(), 64u32.to_be_bytes()].concat();
        descriptions.extend([0u8; 64]);
        descriptions.extend(2u32.to_be_bytes());
        descriptions.extend(text("cycles"));
        descriptions.extend([7u64.to_be_bytes(), 8u64.to_be_bytes()].concat());
        features.read(number::EVENT_DESC, &descriptions, ByteOrder::Big).unwrap();
        assert_eq!(features.event_descriptions[0].name, "cycles");
        assert_eq!(features.event_descriptions[0].ids, [7, 8]);
    }

    #[test]
    fn lies_about_lengths_are_refused() {
        let mut features = Features::default();
        let lie = u32::MAX.to_le_bytes();
        for number in
            [number::HOSTNAME, number::CMDLINE, number::EVENT_DESC, number::PMU_MAPPINGS, number::NUMA_TOPOLOGY]
        {
            assert_eq!(features.read(number, &lie, ByteOrder::Little), None, "feature {number}");
        }
    }
}
