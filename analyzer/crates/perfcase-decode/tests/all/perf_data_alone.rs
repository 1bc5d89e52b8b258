//! A perf.data read with this crate alone, as a fuzzer or another tool would: its records, samples and problems.

use perfcase_decode::perf_data::bytes::Cursor;
use perfcase_decode::perf_data::record::{self, kind};
use perfcase_decode::perf_data::recording::Recording;
use perfcase_decode::perf_data::scan::scan;

use crate::chance::Chance;
use crate::fixture::fixture;
use crate::scale::scaled;

/// What a file holds: samples, other records, those that are damaged.
#[derive(Debug, Default, PartialEq)]
struct Read {
    samples: usize,
    others: usize,
    damaged: usize,
}

fn read(file: &[u8], recording: &mut Recording) -> Read {
    let mut read = Read::default();
    let mut order = std::mem::take(&mut recording.index).in_time_order(recording, file);
    while let Some(entry) = order.next(recording, file) {
        let Some((header, body)) = recording.record(file, entry) else { continue };
        if header.kind != kind::SAMPLE {
            let is_whole = record::parse(header, &mut Cursor::new(body, recording.order)).is_some();
            read.others += 1;
            read.damaged += usize::from(!is_whole);
            continue;
        }
        let event = recording.events.of_record(header, body).and_then(|event| recording.events.get(event));
        let is_whole = event.is_some_and(|event| event.plan.sample(body).1.is_none());
        read.samples += 1;
        read.damaged += usize::from(!is_whole);
    }
    read
}

#[test]
fn each_record_of_a_whole_file_is_read() {
    for name in ["file", "pipe", "compressed", "compressed-pipe"] {
        let file = fixture(&format!("perf/{name}.data"));
        let mut recording = scan(&file).unwrap();
        let found = read(&file, &mut recording);
        assert!(found.samples > 0 && found.others > 0 && found.damaged == 0, "{name}: {found:?}");
        assert!(recording.problems.list().is_empty(), "{name}: {:?}", recording.problems.list());
    }
}

#[test]
fn flipped_bits_cost_records_and_never_more() {
    let mut chance = Chance::new(7);
    for name in ["file", "compressed"] {
        let whole = fixture(&format!("perf/{name}.data"));
        for round in 0..scaled(1000) {
            let mut file = whole.clone();
            // Half of them in the first bytes, where every byte is a length or an offset.
            let reach = if round % 2 == 0 { 512 } else { file.len() };
            for _ in 0..1 + chance.below(8) {
                file[chance.below(reach)] ^= 1 << chance.below(8);
            }
            let Ok(mut recording) = scan(&file) else { continue };
            let found = read(&file, &mut recording);
            let bytes = file.len() as u64 + recording.arena.len();
            assert!((found.samples + found.others) as u64 <= bytes / 8, "{name}: {found:?}");
        }
    }
}
