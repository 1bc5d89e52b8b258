//! Cut and damaged recordings: nothing panics, hangs or grows; what lies before the damage is kept; the end is reported.

use std::ops::Deref;
use std::time::{Duration, Instant};

use crate::scale::scaled;
use crate::support::build::{Attr, file};
use crate::support::fixture::fixture;
use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_decode::perf_data::record::kind;
use perfcase_decode::perf_data::recording::Recording;
use perfcase_decode::perf_data::scan::scan;
use perfcase_import::decoders::perf_data::{Options, open};
use perfcase_import::import;
use perfcase_import::session::{Session, SourceInfo};
use perfcase_import::source::Source;

const FIXTURES: [&str; 6] = ["compressed", "compressed-pipe", "file", "pipe", "rich", "dwarf"];
/// Far more than any of these files takes (some milliseconds), far less than a hang.
const LONGEST: Duration = Duration::from_secs(5);

/// Numbers that look random and are the same on every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Decodes all of a file for a session and gives the kinds of its problems.
fn decode(file: &[u8]) -> Option<Vec<&'static str>> {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new(folder.path(), None);
    let source = session.source(SourceInfo { name: "perf".to_string(), ..SourceInfo::default() });
    let mut perf = open(Shared(file), &mut session, source, Options::default()).ok()?;
    while perf.next_ts().is_some() {
        perf.step(&mut session);
    }
    let kinds = perf.recording().problems.list().iter().map(|problem| problem.kind).collect();
    perf.finish(&mut session);
    Some(kinds)
}

struct Shared<'a>(&'a [u8]);

impl Deref for Shared<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0
    }
}

/// Where each indexed record ends in the file; of a compressed one, where its compressed record ends.
fn ends(recording: &Recording, file: &[u8]) -> Vec<u64> {
    let end = |entry| {
        let start = recording.file_offset(entry);
        let at = start as usize;
        let size = u16::from_le_bytes(file[at + 6..at + 8].try_into().unwrap());
        start + u64::from(size)
    };
    recording.entries(file).map(end).collect()
}

#[test]
fn cut_anywhere() {
    let mut numbers = Numbers(1);
    for name in FIXTURES {
        let file = fixture(&format!("perf/{name}.data"));
        let whole = scan(&file).unwrap();
        let ends = ends(&whole, &file);
        let first_record = ends.iter().min().copied().unwrap();
        for _ in 0..scaled(400) {
            let cut = numbers.below(file.len());
            let started = Instant::now();
            let Ok(recording) = scan(&file[..cut]) else {
                assert!(cut < 104, "{name} cut at {cut}: not read at all");
                continue;
            };
            // A cut inside the table of attributes or the tracing data before the records loses what they describe.
            if cut as u64 > first_record {
                let want = ends.iter().filter(|&&end| end <= cut as u64).count();
                assert_eq!(recording.index.len(), want, "{name} cut at {cut}: records before the cut");
            }
            let kinds = decode(&file[..cut]).unwrap();
            let is_at_record_end = kinds.is_empty() && whole.is_pipe;
            assert!(!kinds.is_empty() || is_at_record_end, "{name} cut at {cut}: nothing is reported");
            assert!(started.elapsed() < LONGEST, "{name} cut at {cut}");
        }
    }
}

#[test]
fn a_cut_says_where() {
    let file = fixture("perf/file.data");
    let whole = scan(&file).unwrap();
    let last = whole.entries(&file).map(|entry| whole.file_offset(entry)).max().unwrap();
    let cut = last as usize + 12;
    let recording = scan(&file[..cut]).unwrap();
    let list: Vec<_> = recording.problems.list().iter().map(|p| (p.kind, p.byte_offset)).collect();
    assert_eq!(list, [("truncated", Some(cut as u64)), ("truncated_record", Some(last))]);
    assert_eq!(recording.index.len(), whole.index.len() - 1);
}

#[test]
fn flipped_anywhere() {
    let mut numbers = Numbers(2);
    for name in FIXTURES {
        let file = fixture(&format!("perf/{name}.data"));
        for round in 0..scaled(340) {
            let mut damaged = file.clone();
            let flips = 1 + numbers.below(8);
            for _ in 0..flips {
                let at = numbers.below(file.len());
                damaged[at] ^= 1 << numbers.below(8);
            }
            let started = Instant::now();
            decode(&damaged);
            if let Ok(recording) = scan(&damaged) {
                assert!(recording.index.len() <= file.len(), "{name} round {round}");
                assert!(recording.arena.len() < 64 << 20, "{name} round {round}: {} bytes", recording.arena.len());
            }
            assert!(started.elapsed() < LONGEST, "{name} round {round}");
        }
    }
}

/// Damage among the records costs the records that it hits, not those before it nor most of those after it.
#[test]
fn records_around_damage_are_kept() {
    let mut numbers = Numbers(3);
    for name in ["file", "rich", "dwarf"] {
        let file = fixture(&format!("perf/{name}.data"));
        let whole = scan(&file).unwrap();
        let ends = ends(&whole, &file);
        let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
        for _ in 0..scaled(400) {
            let mut damaged = file.clone();
            let at = *first as usize + numbers.below((last - first) as usize - 8);
            damaged[at..at + 8].fill(0xff);
            let recording = scan(&damaged).unwrap();
            let before = ends.iter().filter(|&&end| end <= at as u64).count();
            let kept = recording.entries(&damaged).filter(|&entry| recording.file_offset(entry) < at as u64).count();
            assert!(kept >= before, "{name} damaged at {at}: {kept} of {before} before it");
            let lost = whole.index.len().saturating_sub(recording.index.len());
            assert!(lost < 4, "{name} damaged at {at}: {lost} records lost");
        }
    }
}

/// Words of all ones in the places where records count their parts.
#[test]
fn hostile_counts_in_samples() {
    for name in ["file", "rich", "dwarf", "group"] {
        let file = fixture(&format!("perf/{name}.data"));
        let whole = scan(&file).unwrap();
        let sample = |entry: &_| whole.record(&file, *entry).unwrap().0.kind == kind::SAMPLE;
        for entry in whole.entries(&file).filter(sample).take(20) {
            let start = whole.file_offset(entry) as usize;
            let size = usize::from(u16::from_le_bytes(file[start + 6..start + 8].try_into().unwrap()));
            for at in (start + 8..start + size).step_by(8) {
                let mut damaged = file.clone();
                damaged[at..at + 8].fill(0xff);
                assert!(decode(&damaged).is_some(), "{name} at {at}");
            }
        }
    }
}

/// What an import says of a file, and how many records it says were lost.
fn told(file: &[u8]) -> (Vec<&'static str>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new(folder.path(), None);
    let source = session.source(SourceInfo { name: "perf".to_string(), ..SourceInfo::default() });
    let mut perf = open(Shared(file), &mut session, source, Options::default()).unwrap();
    while perf.next_ts().is_some() {
        perf.step(&mut session);
    }
    perf.finish(&mut session);
    let list = session.noted();
    let lost = list.iter().filter(|issue| issue.kind.starts_with("lost_")).map(|issue| issue.count).sum();
    (list.iter().map(|issue| issue.kind).collect(), lost)
}

/// Each bit of the low byte of samples' types, and of their sizes.
#[test]
fn a_sample_whose_type_or_size_is_damaged_is_not_lost_in_silence() {
    for name in ["file", "rich"] {
        let file = fixture(&format!("perf/{name}.data"));
        let whole = scan(&file).unwrap();
        let before = told(&file);
        let sample = |entry: &_| whole.record(&file, *entry).unwrap().0.kind == kind::SAMPLE;
        for entry in whole.entries(&file).filter(sample).skip(30).take(15) {
            let start = whole.file_offset(entry) as usize;
            for (byte, bit) in (0..8).map(|bit| (0, bit)).chain((0..16).map(|bit| (6 + bit / 8, bit % 8))) {
                let mut damaged = file.clone();
                damaged[start + byte] ^= 1 << bit;
                let (kinds, lost) = told(&damaged);
                assert!(kinds != before.0, "{name}: sample at {start}, byte {byte}, bit {bit}: {kinds:?}");
                assert_eq!(lost, before.1, "{name}: sample at {start}, byte {byte}, bit {bit}");
            }
        }
    }
}

/// COMPRESSED2 records that claim large payloads and hold what looks like further pieces, again and again.
#[test]
fn sizes_of_compressed_records_that_lead_nowhere_cost_no_more_than_others() {
    let attr = Attr { sample_id_all: true, ..Attr::default() };
    let mut bytes = file(ByteOrder::Little, &[attr], &[]);
    let header = [&kind::COMPRESSED2.to_le_bytes()[..], &[0, 0, 24, 0], &70_000u64.to_le_bytes(), &[7; 8]].concat();
    for _ in 0..20_000 {
        bytes.extend(&header);
    }
    let size = bytes.len() as u64 - u64::from_le_bytes(bytes[40..48].try_into().unwrap());
    bytes[48..56].copy_from_slice(&size.to_le_bytes());
    let started = Instant::now();
    assert!(decode(&bytes).is_some_and(|kinds| !kinds.is_empty()));
    assert!(started.elapsed() < LONGEST, "{:?}", started.elapsed());
}

/// Attributes in the tens of thousands, and attributes that all claim the same ids.
#[test]
fn many_attributes_take_time_and_memory_by_their_number_only() {
    let attrs = vec![Attr { sample_type: 1 << 2, sample_id_all: true, id: 7, ..Attr::default() }; 30_000];
    let bytes = file(ByteOrder::Little, &attrs, &[(kind::LOST, 0, vec![0; 24])]);
    let started = Instant::now();
    assert_eq!(scan(&bytes).unwrap().events.list().len(), 30_000);
    assert!(started.elapsed() < LONGEST, "{:?}", started.elapsed());

    let mut bytes = file(ByteOrder::Little, &attrs[..1000], &[]);
    let length = bytes.len() as u64;
    for attr in 0..1000 {
        let section = 104 + attr * 144 + 128;
        bytes[section..section + 8].copy_from_slice(&0u64.to_le_bytes());
        bytes[section + 8..section + 16].copy_from_slice(&length.to_le_bytes());
    }
    let recording = scan(&bytes).unwrap();
    let ids: usize = recording.events.list().iter().map(|event| event.ids.len()).sum();
    assert_eq!(ids as u64, length / 8);
    let damaged = recording.problems.list().iter().find(|problem| problem.kind == "damaged_attributes").unwrap();
    assert_eq!(damaged.count, 999);
}

/// Whole imports of damaged recordings: every stage copes with what the decoder lets through.
#[test]
fn damaged_recordings_are_imported() {
    let mut numbers = Numbers(4);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("perf.data");
    for name in ["file", "compressed", "group"] {
        let file = fixture(&format!("perf/{name}.data"));
        for round in 0..scaled(200) {
            let mut damaged = file.clone();
            for _ in 0..1 + numbers.below(20) {
                // The first bytes say that it is a perf.data at all.
                let at = 16 + numbers.below(file.len() - 16);
                damaged[at] ^= 1 << numbers.below(8);
            }
            std::fs::write(&path, &damaged).unwrap();
            let summary = import(&path, &folder.path().join("out"), &Default::default(), &mut |_| true);
            let summary = summary.unwrap_or_else(|error| panic!("{name} round {round}: {error}"));
            assert!(summary.tables.values().sum::<u64>() < 100_000, "{name} round {round}");
        }
    }
}

#[test]
fn an_impossible_time_costs_its_record_only() {
    let file = fixture("perf/file.data");
    let whole = scan(&file).unwrap();
    let sample = |entry: &_| whole.record(&file, *entry).unwrap().0.kind == kind::SAMPLE;
    let entry = whole.entries(&file).filter(sample).nth(500).unwrap();
    let start = whole.file_offset(entry);
    let (header, body) = whole.record(&file, entry).unwrap();
    let event = whole.events.get(whole.events.of_record(header, body).unwrap()).unwrap();
    let at = start as usize + 8 + event.plan.time_offset().unwrap();
    let mut damaged = file.clone();
    damaged[at + 7] |= 0x40;
    let recording = scan(&damaged).unwrap();
    assert_eq!(recording.index.len(), whole.index.len() - 1);
    let list: Vec<_> = recording.problems.list().iter().map(|p| (p.kind, p.byte_offset, p.count)).collect();
    assert_eq!(list, [("damaged_time", Some(start), 1)]);
}
