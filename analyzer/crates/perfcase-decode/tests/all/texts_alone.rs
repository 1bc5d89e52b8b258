//! Texts read with this crate alone, whole and damaged: what a decoder gives is bounded by its text, and nothing panics.

use perfcase_decode::perf_script::reader::Reader as PerfScript;
use perfcase_decode::perf_stat::reader::Reader as PerfStat;
use perfcase_decode::proc::{fd, stream};

use crate::chance::Chance;
use crate::fixture::fixture;
use crate::scale::scaled;
use crate::texts::DECODERS;

#[test]
fn each_decoder_gives_something_of_a_whole_text_and_is_bounded_on_a_damaged_one() {
    let mut chance = Chance::new(11);
    for (name, whole, items) in DECODERS {
        assert!(items(whole) > 0, "{name}");
        for _ in 0..scaled(3000) {
            let damaged = chance.damaged(whole);
            let count = items(&damaged);
            assert!(count <= damaged.len() + 1, "{name}: {count} items of {:?}", String::from_utf8_lossy(&damaged));
        }
    }
}

#[test]
fn what_is_written_is_read_again() {
    let mut chance = Chance::new(5);
    for _ in 0..scaled(3000) {
        let target: String =
            (0..chance.below(40)).map(|_| ['/', 'a', '\\', '\n', ' ', '0', '1', '2', 'é'][chance.below(9)]).collect();
        let mut text = Vec::new();
        fd::write(&mut text, 7, target.as_bytes());
        let links = fd::parse(&text);
        assert_eq!(links.iter().map(|link| &*link.target).collect::<Vec<_>>(), [&target]);
        let mut snapshot = Vec::new();
        stream::write(&mut snapshot, 5, 0, [("/proc/1/fd", &text[..])]);
        let file = stream::read(&snapshot, 0).and_then(|start| stream::read(&snapshot, start.next)?.frame).unwrap();
        assert_eq!(file, stream::Frame::File { clock_ns: 5, path: "/proc/1/fd", bytes: &text });
    }
}

#[test]
fn damage_of_a_perf_script_costs_samples_and_never_more() {
    let count = |bytes: &[u8]| {
        let mut reader = PerfScript::new(bytes);
        let (mut samples, mut frames, mut problems) = (0, 0, 0);
        while let Some(next) = reader.advance(|_| {}) {
            let line = reader.first_line(next);
            samples += usize::from(reader.sample(next, &line, |_| frames += 1).is_some());
            problems += reader.take_problems().len();
        }
        problems += reader.take_problems().len();
        assert!(problems <= 20 && reader.problems().len() <= 9, "{problems}");
        (samples, frames)
    };
    let mut chance = Chance::new(3);
    for (name, has_chains) in [("perf_text/x86_64-sched.script.txt", false), ("perf/file.script", true)] {
        let mut whole = fixture(name);
        let (samples, frames) = count(&whole);
        assert!(samples > 100 && (frames > samples) == has_chains, "{name}: {samples} samples, {frames} frames");
        whole.truncate(20_000);
        for _ in 0..scaled(300) {
            let damaged = chance.damaged(&whole);
            let lines = damaged.split(|&b| b == b'\n').count();
            let (samples, frames) = count(&damaged);
            assert!(samples + frames <= lines, "{name}: {samples} samples, {frames} frames, {lines} lines");
        }
    }
}

#[test]
fn damage_of_a_perf_stat_costs_readings_and_never_more() {
    let whole = b"     1.000000000,CPU0,500,,cycles,1000,100.00,1.000,GHz\n     2.000000000,CPU0,5,,cs,1000,100.00,,\n";
    assert_eq!(PerfStat::new(&whole[..]).count(), 2);
    let mut chance = Chance::new(9);
    for _ in 0..scaled(3000) {
        let damaged = chance.damaged(whole);
        let lines = damaged.split(|&b| b == b'\n').count();
        let mut reader = PerfStat::new(&damaged[..]);
        assert!(reader.by_ref().count() <= lines && reader.problems().len() <= 4);
    }
}
