//! Files made by hand, for cases that no trace of these tests has: big-endian machines, 32-bit kernels, zlib, latency
//! traces, options that move times.

use std::io::Write;

use super::parse;
use crate::ftrace::capture::{Capture, TscToNs};
use crate::ftrace::events::{CommonFields, Events};
use crate::ftrace::layout::PageLayout;

const FORMAT: &str = "name: tick\nID: 7\nformat:\n\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
\tfield:unsigned int value;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"%u\", REC->value\n";

const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\
\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\
\tdata max type_len  == 28\n";

/// Writes numbers in a byte order.
#[derive(Clone)]
struct Writer {
    bytes: Vec<u8>,
    big_endian: bool,
    word: usize,
}

impl Writer {
    fn new(big_endian: bool, word: usize) -> Writer {
        Writer { bytes: Vec::new(), big_endian, word }
    }

    fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(bytes.as_ref());
    }

    fn number(&mut self, value: u64, size: usize) {
        let bytes = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(if self.big_endian { &bytes[8 - size..] } else { &bytes[..size] });
    }

    /// An empty part of the same file.
    fn part(&self) -> Writer {
        Writer::new(self.big_endian, self.word)
    }

    fn sized64(&mut self, text: &str) {
        self.number(text.len() as u64, 8);
        self.raw(text);
    }

    fn initial(&mut self, version: &str) {
        self.raw(super::MAGIC);
        self.raw(version);
        self.raw([0, u8::from(self.big_endian), self.word as u8]);
        self.number(4096, 4);
    }

    fn header_info(&mut self) {
        let data = 8 + self.word;
        self.raw("header_page\0");
        self.sized64(&format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{};\tsigned:1;\n\
             \tfield: char data;\toffset:{data};\tsize:{};\tsigned:0;\n",
            self.word,
            4096 - data
        ));
        self.raw("header_event\0");
        self.sized64(HEADER_EVENT);
    }

    fn event_formats(&mut self) {
        self.number(1, 4);
        self.raw("test\0");
        self.number(1, 4);
        self.sized64(FORMAT);
    }

    /// A page with an event for each value, 1,000 ns apart.
    fn page(&mut self, ts: u64, values: &[u32]) {
        let start = self.bytes.len();
        self.number(ts, 8);
        self.number(values.len() as u64 * 16, self.word);
        for value in values {
            let (kind, delta) = (3, 1000);
            self.number(if self.big_endian { kind << 27 | delta } else { kind | delta << 5 }, 4);
            self.number(7, 2);
            self.raw([0, 0]);
            self.number(42, 4);
            self.number(u64::from(*value), 4);
        }
        self.bytes.resize(start + 4096, 0);
    }

    fn option(&mut self, id: u64, body: &[u8]) {
        self.number(id, 2);
        self.number(body.len() as u64, 4);
        self.raw(body);
    }
}

/// Version 6; the second CPU's pages follow the first's.
fn version_6(big_endian: bool, word: usize) -> Vec<u8> {
    let mut file = Writer::new(big_endian, word);
    file.initial("6");
    file.header_info();
    file.number(0, 4);
    file.event_formats();
    file.number(0, 4);
    file.number(0, 4);
    file.sized64("42 clock\n");
    file.number(2, 4);
    file.raw("options  \0");
    file.option(4, b"local [mono] boot\n\0");
    file.option(1, b"0x10\0");
    file.option(7, b"-6\0");
    let mut tsc = file.part();
    tsc.number(3, 4);
    tsc.number(1, 4);
    tsc.number(5, 8);
    file.option(14, &tsc.bytes);
    file.number(0, 2);
    file.raw("flyrecord\0");
    let table = file.bytes.len() + 32;
    let pages = table.next_multiple_of(4096) as u64;
    for (offset, size) in [(pages, 8192), (pages + 8192, 4096)] {
        file.number(offset, 8);
        file.number(size, 8);
    }
    file.bytes.resize(pages as usize, 0);
    file.page(1_000_000, &[1, 2]);
    file.page(2_000_000, &[5]);
    file.page(1_000_500, &[3, 4]);
    file.bytes
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Version 7, all sections compressed with zlib. `latency` instead of pages where given.
fn version_7(big_endian: bool, latency: Option<&str>) -> Vec<u8> {
    let mut file = Writer::new(big_endian, 8);
    file.initial("7");
    file.raw("zlib\x001.3\0");
    let options_at = file.bytes.len();
    file.number(0, 8);
    let mut options = file.part();
    for id in [16, 18] {
        let mut body = file.part();
        if id == 16 {
            body.header_info()
        } else {
            body.event_formats()
        }
        let packed = zlib(&body.bytes);
        let mut at = file.part();
        at.number(file.bytes.len() as u64, 8);
        options.option(id, &at.bytes);
        section(&mut file, id, packed.len() as u64 + 8);
        file.number(packed.len() as u64, 4);
        file.number(body.bytes.len() as u64, 4);
        file.raw(packed);
    }
    let buffer_at = file.bytes.len() as u64;
    let mut pages = file.part();
    match latency {
        Some(text) => pages.raw(text),
        None => [1, 2].into_iter().for_each(|page| pages.page(page * 1_000_000, &[page as u32])),
    }
    section(&mut file, if latency.is_some() { 22 } else { 3 }, 0);
    let data_at = file.bytes.len() as u64;
    let half = pages.bytes.len().div_ceil(2);
    file.number(2, 4);
    for chunk in pages.bytes.chunks(half) {
        let packed = zlib(chunk);
        file.number(packed.len() as u64, 4);
        file.number(chunk.len() as u64, 4);
        file.raw(packed);
    }
    let size = file.bytes.len() as u64 - data_at;
    let mut header = file.part();
    header.number(size, 8);
    file.bytes[data_at as usize - 8..data_at as usize].copy_from_slice(&header.bytes);
    let mut buffer = file.part();
    buffer.number(buffer_at, 8);
    buffer.raw("\0mono\0");
    let numbers = [(4096, 4), (1, 4), (3, 4), (data_at, 8), (size, 8)];
    numbers.into_iter().for_each(|(value, bytes)| buffer.number(value, bytes));
    options.option(if latency.is_some() { 22 } else { 3 }, &buffer.bytes);
    options.option(0, &[0; 8]);
    let at = file.bytes.len() as u64;
    file.number(0, 2);
    file.number(0, 2);
    file.number(0, 4);
    file.number(options.bytes.len() as u64, 8);
    file.raw(&options.bytes);
    let mut place = file.part();
    place.number(at, 8);
    file.bytes[options_at..options_at + 8].copy_from_slice(&place.bytes);
    file.bytes
}

fn section(file: &mut Writer, id: u64, size: u64) {
    file.number(id, 2);
    file.number(1, 2);
    file.number(0, 4);
    file.number(size, 8);
}

/// `(cpu, time, event, pid, value)` of every record.
fn rows(file: &[u8]) -> Vec<(u32, u64, u32, i32, u64)> {
    let mut events = Events::trace_dat(file).unwrap();
    assert_eq!(events.capture.damages, []);
    let (formats, errors) = events.capture.parse_formats();
    assert_eq!((errors, formats.len()), (vec![], 1));
    let common = CommonFields::of(&formats, events.capture.big_endian);
    let mut rows = Vec::new();
    while let Some((ts, index)) = events.merge.peek() {
        let stream = events.merge.stream(index);
        let record = stream.record();
        let value: [u8; 4] = record[8..12].try_into().unwrap();
        let value = if events.capture.big_endian { u32::from_be_bytes(value) } else { u32::from_le_bytes(value) };
        rows.push((stream.cpu, ts, common.id(record).unwrap(), common.pid(record).unwrap(), u64::from(value)));
        events.merge.advance();
    }
    rows
}

#[test]
fn version_6_in_both_byte_orders_and_words() {
    for (big_endian, word) in [(false, 4), (false, 8), (true, 4), (true, 8)] {
        let file = version_6(big_endian, word);
        let expected = [
            (0, 1_001_000, 7, 42, 1),
            (1, 1_001_500, 7, 42, 3),
            (0, 1_002_000, 7, 42, 2),
            (1, 1_002_500, 7, 42, 4),
            (0, 2_001_000, 7, 42, 5),
        ];
        assert_eq!(rows(&file), expected, "{big_endian} {word}");
        let capture: Capture = parse(&file).unwrap();
        assert_eq!(capture.buffers[0].clock, "mono");
        assert_eq!(capture.buffers[0].layout, PageLayout::standard(4096, word, big_endian));
        assert_eq!(capture.comms().collect::<Vec<_>>(), [(42, &b"clock"[..])]);
        // The date is in µs, the offset in ns.
        assert_eq!(capture.ts_offset_ns, 16_000 - 6);
        let tsc = TscToNs { mult: 3, shift: 1, offset_ns: 5 };
        assert_eq!(capture.tsc_to_ns, Some(tsc));
        assert_eq!(
            (tsc.convert(10), tsc.convert(u64::MAX)),
            (20, (u64::MAX / 2).wrapping_add(u64::MAX).wrapping_add(5))
        );
    }
}

#[test]
fn version_7_with_zlib_in_both_byte_orders() {
    for big_endian in [false, true] {
        let expected = [(3, 1_001_000, 7, 42, 1), (3, 2_001_000, 7, 42, 2)];
        assert_eq!(rows(&version_7(big_endian, None)), expected);
    }
}

#[test]
fn a_latency_trace_is_kept_as_text() {
    let text = "# tracer: wakeup\n".repeat(100);
    let capture = parse(&version_7(false, Some(&text))).unwrap();
    assert_eq!(capture.damages, []);
    assert_eq!(capture.latency_text.as_deref(), Some(text.as_bytes()));
    assert!(capture.buffers.is_empty());
}

/// A file of version 7 with many options that all point to one section. Returns the place of that section.
fn pointing(count: usize, id: u64, body: &[u8], unpacked: usize) -> Vec<u8> {
    let mut file = Writer::new(false, 8);
    file.initial("7");
    file.raw("zlib\x001.3\0");
    let options_at = file.bytes.len();
    file.number(0, 8);
    let place = file.bytes.len() as u64;
    section(&mut file, id, body.len() as u64 + 8);
    file.number(body.len() as u64, 4);
    file.number(unpacked as u64, 4);
    file.raw(body);
    let at = file.bytes.len() as u64;
    let mut options = file.part();
    for _ in 0..count {
        options.option(id, &place.to_le_bytes());
    }
    options.option(0, &[0; 8]);
    file.number(0, 4);
    file.number(0, 4);
    file.number(options.bytes.len() as u64, 8);
    file.raw(&options.bytes);
    file.bytes[options_at..options_at + 8].copy_from_slice(&at.to_le_bytes());
    file.bytes
}

#[test]
fn small_parts_that_unpack_to_much_together_are_read_up_to_the_limit() {
    let bytes = 16 << 20;
    let file = pointing(40, 19, &zlib(&vec![b'a'; bytes]), bytes);
    assert!(file.len() < 100_000);
    let capture = parse(&file).unwrap();
    let refused = capture.damages.iter().filter(|damage| damage.kind == "compression_limit");
    // 256 MiB, and some more for the file itself.
    assert_eq!(refused.count(), 40 - 16);
}

#[test]
fn what_is_no_trace_or_of_another_version_is_refused() {
    assert_eq!(parse(b"PERFILE2 and more").unwrap_err().kind, "corrupt");
    assert_eq!(parse(b"\x17\x08").unwrap_err().kind, "truncated");
    let error = parse(b"\x17\x08\x44tracing8\0\0\x08").unwrap_err();
    assert_eq!((error.kind, error.byte_offset), ("unknown_version", Some(10)));
}
