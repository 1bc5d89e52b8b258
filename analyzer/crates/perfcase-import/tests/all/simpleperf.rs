//! A recording of Android's simpleperf, built by hand: what it adds is read or told, and is no damage.

use crate::support::build::{Attr, Bytes, file};
use crate::support::tables::Table;
use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_decode::perf_data::record::kind;
use perfcase_decode::perf_data::sample::field;
use perfcase_import::{Options, import};

fn new() -> Bytes {
    Bytes::new(ByteOrder::Little)
}

fn sample(misc: u16, ip: u64, time: u64) -> (u32, u16, Vec<u8>) {
    (kind::SAMPLE, misc, new().u64(ip).u32(7).u32(7).u64(time).bytes)
}

/// `file_struct` of record_file_format.h.
fn symbols(path: &str, kind: u32, first: u64, functions: &[(u64, u32, &str)], offset: Option<u64>) -> Vec<u8> {
    let mut entry = new().u8s(path.as_bytes()).u8s(b"\0").u32(kind).u64(first).u32(functions.len() as u32);
    for (start, length, name) in functions {
        entry = entry.u64(*start).u32(*length).u8s(name.as_bytes()).u8s(b"\0");
    }
    let entry = offset.map_or(entry.bytes.clone(), |offset| Bytes::u64(entry, offset).bytes);
    new().u32(entry.len() as u32).u8s(&entry).bytes
}

/// Adds header features behind the records.
fn with_features(mut file: Vec<u8>, features: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut at = file.len() + features.len() * 16;
    let (mut table, mut contents) = (new(), Vec::new());
    for (number, bytes) in features {
        let byte = 72 + *number as usize / 8;
        file[byte] |= 1 << (number % 8);
        table = table.u64s(&[at as u64, bytes.len() as u64]);
        contents.extend(bytes);
        at += bytes.len();
    }
    [file, table.bytes, contents].concat()
}

fn recording() -> Vec<u8> {
    let attr = Attr { sample_type: field::IP | field::TID | field::TIME, sample_id_all: true, ..Attr::default() };
    let path = b"/data/app/lib.so\0\0\0\0\0\0\0\0";
    let map = new().u32(7).u32(7).u64s(&[0x7000_0000, 0x10000, 0x1000]).u8s(path).u32(7).u32(7).u64(50).bytes;
    // The list of the kernel's symbols is larger than perf's records can be: its high half stands where perf has misc.
    let mut kallsyms = "ffffffff81000000 T _text\nffffffff81000100 T do_it\n".to_string();
    kallsyms.push_str(&" ".repeat(70_000));
    let size = 8 + 4 + kallsyms.len();
    let kernel = new().u32(32_769).u16((size >> 16) as u16).u16(size as u16).u32(kallsyms.len() as u32);
    let kernel = kernel.u8s(kallsyms.as_bytes()).bytes;
    let unread = new().u32(32_776).u16(0).u16(24).u64s(&[1, 2]).bytes;
    let records = [
        (kind::MMAP, 2, map),
        sample(2, 0x7000_0210, 100),
        sample(2, 0x7000_0900, 150),
        sample(1, 0xffff_ffff_8100_0108, 200),
    ];
    let mut bytes = file(ByteOrder::Little, &[attr], &records);
    let size_at = 48;
    let length = u64::from_le_bytes(bytes[size_at..size_at + 8].try_into().unwrap());
    bytes.extend([kernel, unread].concat());
    let grown = length + size as u64 + 24;
    bytes[size_at..size_at + 8].copy_from_slice(&grown.to_le_bytes());
    let meta = b"simpleperf_version\x001.build.9\0event_type_info\0my-clock,1,0\n\0".to_vec();
    // The file's first segment of code is at 0x40001000, offset 0x1000.
    let lib = symbols("/data/app/lib.so", 2, 0x4000_1000, &[(0x4000_1200, 0x40, "ns::work()")], Some(0x1000));
    with_features(bytes, &[(128, lib), (129, meta), (132, vec![1, 2, 3])])
}

fn imported(bytes: &[u8]) -> (perfcase_import::Summary, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("perf.data"), bytes).unwrap();
    let out = folder.path().join("out");
    let summary = import(&folder.path().join("perf.data"), &out, &Options::default(), &mut |_| true).unwrap();
    (summary, folder)
}

#[test]
fn symbols_and_records_are_read_and_the_rest_is_listed() {
    let (summary, folder) = imported(&recording());
    let table = |name: &str| Table::read(&folder.path().join("out/tables"), name);
    let (samples, frames) = (table("sample"), table("frame"));
    let named = |row: usize| {
        let frame = samples.u64("frame_id", row).unwrap() as usize;
        let text = |name: &str| frames.text(name, frame).unwrap_or_default();
        (text("symbol"), frames.u64("symbol_offset_bytes", frame), text("symbol_source"))
    };
    let row = |symbol: &str, offset, source: &str| (symbol.to_string(), offset, source.to_string());
    assert_eq!(named(0), row("ns::work()", Some(0x10), "simpleperf"));
    assert_eq!(named(1), row("", None, ""));
    assert_eq!(named(2), row("do_it", Some(8), "kallsyms"));
    let source = table("source");
    assert_eq!(
        (source.text("tool", 0), source.text("tool_version", 0)),
        (Some("simpleperf".into()), Some("1.build.9".into()))
    );
    assert_eq!(table("perf_event").text("name", 0).as_deref(), Some("my-clock"));
    let told: Vec<_> = summary.issues.iter().map(|issue| (issue.kind, issue.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (
                "not_decoded",
                "simpleperf's header feature 132, symbols in the form of newer versions (file2), is not read"
            ),
            ("not_decoded", "1 records of simpleperf, UNWINDING_RESULT, are not read"),
        ]
    );
}

/// A record of simpleperf's own.
fn own_record(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len();
    new().u32(kind).u16((size >> 16) as u16).u16(size as u16).u8s(body).bytes
}

/// What perf copies out of tracefs, with one event.
fn tracing_data(format: &str) -> Vec<u8> {
    let empty = |part: Bytes, name: &[u8]| part.u8s(name).u64(0);
    let head = new().u8s(b"\x17\x08\x44tracing0.6\0\0\x08").u32(4096);
    let head = empty(empty(head, b"header_page\0"), b"header_event\0").u32(0).u32(1).u8s(b"my\0").u32(1);
    head.u64(format.len() as u64).u8s(format.as_bytes()).u32(0).u32(0).u64(0).bytes
}

#[test]
fn tracepoints_are_read_by_simpleperfs_own_records() {
    let sample_type = field::IDENTIFIER | field::IP | field::TID | field::TIME;
    let attr = Attr { sample_type, sample_id_all: true, ..Attr::default() };
    let format = "name: thing\nID: 42\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:u32 amount;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"%u\", REC->amount\n";
    let raw = new().u16(42).u16(0).u32(7).u32(4711).bytes;
    let sample = |id: u64, time: u64| {
        let body = new().u64(id).u64(0x1000).u32(7).u32(7).u64(time);
        let body = if id == 701 { body.u32(12).u8s(&raw).bytes } else { body.bytes };
        new().u32(kind::SAMPLE).u16(2).u16(8 + body.len() as u16).u8s(&body).bytes
    };
    // Neither id is in the table of the file's attributes: 700 is the clock's, 701 the tracepoint's.
    let ids = new().u64(2).u64s(&[0, 700, 1, 701]).bytes;
    let data = tracing_data(format);
    let tracing = new().u32(data.len() as u32).u8s(&data).bytes;
    let records =
        [own_record(32_774, &ids), own_record(32_777, &tracing), sample(700, 100), sample(701, 200), sample(701, 300)];
    let attrs = [Attr { id: 1, ..attr }, Attr { id: 2, tracepoint: 42, sample_type: sample_type | field::RAW, ..attr }];
    let mut bytes = file(ByteOrder::Little, &attrs, &[]);
    bytes[48..56].copy_from_slice(&(records.concat().len() as u64).to_le_bytes());
    bytes.extend(records.concat());
    let meta = b"simpleperf_version\x001.build.9\0event_type_info\0my-clock,1,0\nmy:thing,2,42\0\0".to_vec();
    let (summary, folder) = imported(&with_features(bytes, &[(129, meta)]));
    assert_eq!(summary.issues.iter().map(|issue| issue.message.as_str()).collect::<Vec<_>>(), [""; 0]);
    let table = |name: &str| Table::read(&folder.path().join("out/tables"), name);
    let (things, events, samples) = (table("thing"), table("perf_event"), table("sample"));
    assert_eq!(
        [0, 1].map(|row| (things.i64("ts_ns", row), things.u64("amount", row))),
        [(Some(100), Some(4711)), (Some(200), Some(4711))]
    );
    let names = [0, 1].map(|row| (events.text("name", row).unwrap(), events.u64("sample_count", row).unwrap()));
    assert_eq!(names, [("my-clock".to_string(), 1), ("my:thing".to_string(), 2)]);
    assert_eq!(samples.rows(), 3);
}

#[test]
fn damage_never_panics() {
    let whole = recording();
    let mut state = 5u64;
    for _ in 0..crate::scale::scaled(300) {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Not within the spaces.
            let at = (state >> 33) as usize % 1200;
            let at = if at < 600 { at } else { bytes.len() - (at - 599) };
            bytes[at] = (state >> 20) as u8;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("perf.data"), &bytes).unwrap();
        let _ =
            import(&folder.path().join("perf.data"), &folder.path().join("out"), &Options::default(), &mut |_| true);
    }
}
