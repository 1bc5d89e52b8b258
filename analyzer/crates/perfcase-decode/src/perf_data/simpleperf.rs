//! The parts of a perf.data that Android's simpleperf adds: header features from 128 on, and record types from 32,769
//! on, whose records may be larger than those of perf.
//!
//! Layouts: simpleperf/record.h and record_file_format.h of the Android source.

use perfcase_archive::Issue;

use super::bytes::{ByteOrder, Cursor, until_nul};
use super::file_symbols::FileSymbols;
use super::record::{HEADER_BYTES, RecordHeader};
use super::recording::Recording;
use super::tracing_data;

/// The first header feature that is simpleperf's own.
pub const FIRST_FEATURE: u32 = 128;
const FILE: u32 = 128;
const META_INFO: u32 = 129;
/// Features that are known by name and not read.
const FEATURES: [(u32, &str); 5] = [
    (130, "unwinding information for debugging"),
    (131, "files for debugging the unwinding"),
    (132, "symbols in the form of newer versions (file2)"),
    (133, "branches of ETM"),
    (134, "mappings at the start (init_map)"),
];

/// Above perf's types.
const FIRST_RECORD: u32 = 32_768;
const LAST_RECORD: u32 = FIRST_RECORD + 64;
const KERNEL_SYMBOL: u32 = 32_769;
const EVENT_ID: u32 = 32_774;
const TRACING_DATA: u32 = 32_777;
/// Records by type: their names, and whether they are read.
const RECORDS: [(u32, &str, bool); 9] = [
    (KERNEL_SYMBOL, "KERNEL_SYMBOL", true),
    (32_770, "DSO", false),
    (32_771, "SYMBOL", false),
    (32_772, "SPLIT", false),
    (32_773, "SPLIT_END", false),
    (EVENT_ID, "EVENT_ID", true),
    (32_775, "CALLCHAIN", false),
    (32_776, "UNWINDING_RESULT", false),
    (TRACING_DATA, "TRACING_DATA", true),
];

/// Type of a file whose addresses are the kernel's.
const KERNEL: u32 = 0;
const KERNEL_MODULE: u32 = 1;
const ELF: u32 = 2;
const DEX: u32 = 3;

/// What simpleperf says and perf does not.
#[derive(Debug, Default)]
pub struct Simpleperf {
    /// simpleperf's version.
    pub version: Option<String>,
    /// The kernel's list of symbols.
    pub kernel_symbols: Option<String>,
    /// Symbols by the path of their file.
    pub files: Vec<(Vec<u8>, FileSymbols)>,
}

/// Gives the bytes of a record with its header, if its type is one of simpleperf.
pub fn size_of(header: RecordHeader) -> Option<usize> {
    let is_own = (FIRST_RECORD..LAST_RECORD).contains(&header.kind);
    // The high half of the size is where perf has misc.
    is_own.then(|| usize::from(header.misc) << 16 | usize::from(header.size)).filter(|&size| size >= HEADER_BYTES)
}

/// Gives the name of a record type of simpleperf, and whether it is read.
pub fn record_name(kind: u32) -> Option<(&'static str, bool)> {
    let known = RECORDS.iter().find(|(known, ..)| *known == kind).map(|&(_, name, is_read)| (name, is_read));
    known.or((FIRST_RECORD..LAST_RECORD).contains(&kind).then_some(("of a newer version", false)))
}

/// Reads a record. `None` where it is shorter than its fields.
pub fn record(out: &mut Recording, kind: u32, body: &[u8]) -> Option<()> {
    let mut c = Cursor::new(body, out.order);
    match kind {
        KERNEL_SYMBOL => {
            let size = c.u32()?;
            let text = String::from_utf8_lossy(c.take(size.into())?).into_owned();
            own(out).kernel_symbols = Some(text);
        }
        EVENT_ID => {
            let count = c.u64()?;
            for pair in c.u64s(count.checked_mul(2)?)?.iter().collect::<Vec<_>>().chunks_exact(2) {
                let event = usize::try_from(pair[0]).ok()?;
                out.change_events(|events| events.add_id(pair[1], event));
            }
        }
        TRACING_DATA => {
            let size = c.u32()?;
            out.tracing = Some(tracing_data::parse(c.take(size.into())?)?);
        }
        _ => {}
    }
    Some(())
}

fn own(out: &mut Recording) -> &mut Simpleperf {
    out.simpleperf.get_or_insert_default()
}

/// Reads a header feature.
pub fn feature(out: &mut Recording, number: u32, bytes: &[u8], offset: u64) {
    let order = out.order;
    let is_whole = match number {
        META_INFO => meta(out, bytes),
        FILE => {
            let (files, is_whole) = files(bytes, order);
            own(out).files = files;
            is_whole
        }
        _ => {
            let known = FEATURES.iter().find(|(known, _)| *known == number);
            let what = known.map_or("of a newer version", |(_, what)| what);
            let message = || format!("simpleperf's header feature {number}, {what}, is not read");
            own(out);
            out.problems.note("not_decoded", number.into(), |kind| Issue::info(kind, message()).at(offset));
            return;
        }
    };
    if !is_whole {
        let message = || format!("simpleperf's header feature {number} ends inside an entry; those before it are used");
        out.problems.note("damaged_feature", number.into(), |kind| Issue::warning(kind, message()).at(offset));
    }
}

/// Reads pairs of texts; for the events, the lines `name,type,config`.
fn meta(out: &mut Recording, bytes: &[u8]) -> bool {
    let texts: Vec<String> =
        bytes.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    own(out);
    for pair in texts.chunks_exact(2) {
        match pair[0].as_str() {
            "simpleperf_version" => own(out).version = Some(pair[1].clone()),
            "event_type_info" => {
                for line in pair[1].lines() {
                    let mut words = line.rsplitn(3, ',');
                    let (config, kind, name) = (words.next(), words.next(), words.next());
                    let number = |word: Option<&str>| word.and_then(|word| word.trim().parse::<u64>().ok());
                    let (Some(config), Some(kind), Some(name)) = (number(config), number(kind), name) else { continue };
                    let is_it = |event: &super::events::Event| {
                        u64::from(event.attr.kind) == kind && event.attr.config == config && event.name.is_none()
                    };
                    if let Some(index) = out.events.list().iter().position(is_it) {
                        out.events.set_name(None, index, name);
                    }
                }
            }
            _ => {}
        }
    }
    true
}

/// Reads the symbols of each file. Tells whether the section is complete.
fn files(bytes: &[u8], order: ByteOrder) -> (Vec<(Vec<u8>, FileSymbols)>, bool) {
    let mut c = Cursor::new(bytes, order);
    let mut files = Vec::new();
    while !c.rest().is_empty() {
        let file = c.u32().and_then(|size| c.take(size.into())).and_then(|file| one_file(file, order));
        match file {
            Some(file) => files.push(file),
            None => return (files, false),
        }
    }
    (files, true)
}

fn one_file(bytes: &[u8], order: ByteOrder) -> Option<(Vec<u8>, FileSymbols)> {
    let mut c = Cursor::new(bytes, order);
    let path = c.c_string()?.to_vec();
    let (kind, first_address, count) = (c.u32()?, c.u64()?, c.u32()?);
    let mut functions = Vec::new();
    for _ in 0..count {
        let (start, length) = (c.u64()?, c.u32()?);
        functions.push((start, length, String::from_utf8_lossy(until_nul(c.c_string()?)).into()));
    }
    let offset = match kind {
        ELF => c.u64(),
        DEX | KERNEL_MODULE => return Some((path, FileSymbols::new(0, 0, functions))),
        _ => None,
    };
    // The kernel's symbols have addresses. A file without the offset of its first segment counts as one with offset 0.
    let (first_address, offset) = if kind == KERNEL { (0, 0) } else { (first_address, offset.unwrap_or(0)) };
    Some((path, FileSymbols::new(first_address, offset, functions)))
}
