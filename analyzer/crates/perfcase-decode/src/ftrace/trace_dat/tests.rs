//! Real files against what `trace-cmd report` printed of them. Where the files come from:
//! `analyzer/testing/data/ftrace/README.md`.

use super::*;
use crate::fixture::{fixture, text};
use crate::ftrace::merge::Merge;
use crate::ftrace::stream::CpuStream;
use crate::scale::scaled;
use std::collections::HashMap;

fn merge<'a>(data: &'a [u8], capture: &Capture) -> Merge<&'a [u8]> {
    let streams = capture.buffers.iter().flat_map(|buffer| {
        buffer.cpus.iter().map(|cpu| {
            CpuStream::new(
                cpu.cpu,
                data,
                cpu.segments.clone(),
                (capture.compression, capture.room.clone()),
                buffer.layout,
            )
        })
    });
    Merge::new(streams.collect())
}

/// `(pid, cpu, µs, event)`.
type Row = (i32, u32, u64, String);

/// Every record, in order.
fn rows(data: &[u8]) -> (Vec<Row>, Vec<Issue>) {
    let mut capture = parse(data).unwrap();
    let (formats, errors) = capture.parse_formats();
    assert_eq!(errors, []);
    let names: HashMap<u32, String> = formats.into_iter().map(|f| (f.id, f.name)).collect();
    let mut merge = merge(data, &capture);
    let mut rows = Vec::new();
    while let Some((ts, index)) = merge.peek() {
        let stream = merge.stream(index);
        let record = stream.record();
        let id = u16::from_le_bytes([record[0], record[1]]);
        let pid = i32::from_le_bytes(record[4..8].try_into().unwrap());
        rows.push((pid, stream.cpu, (ts + 500) / 1000, names[&u32::from(id)].clone()));
        merge.advance();
    }
    let mut damages = std::mem::take(&mut capture.damages);
    for index in 0..merge.stream_count() {
        damages.extend(merge.stream_mut(index).take_damages());
    }
    (rows, damages)
}

/// The same from a line `            dd-2040  [000]    60.462941: sys_exit:             NR 64 = 1`.
fn reported(line: &str) -> Row {
    let (head, rest) = line.split_once(" [").unwrap();
    let pid = head.trim().rsplit_once('-').unwrap().1.parse().unwrap();
    let (cpu, rest) = rest.split_once(']').unwrap();
    let (time, rest) = rest.trim_start().split_once(": ").unwrap();
    let (seconds, micros) = time.split_once('.').unwrap();
    let us = seconds.parse::<u64>().unwrap() * 1_000_000 + micros.parse::<u64>().unwrap();
    (pid, cpu.parse().unwrap(), us, rest.split_once(':').unwrap().0.to_owned())
}

#[test]
fn every_row_is_the_one_that_trace_cmd_reports() {
    for (name, report, count) in [
        ("aarch64-v6", "aarch64-v6", 1491),
        ("aarch64-v7-zstd", "aarch64-v7-zstd", 3230),
        ("x86_64-v6", "x86_64-v6", 1511),
        ("aarch64-function", "aarch64-function", 3746),
        ("instances-v6", "instances", 4234),
        ("instances-v7-zstd", "instances", 4234),
        ("instances-v7-none", "instances", 4234),
        ("instances-16k-pages", "instances-16k-pages", 3181),
    ] {
        let (rows, damages) = rows(&fixture(&format!("ftrace/{name}.dat")));
        assert_eq!(damages, [], "{name}");
        let report = text(&format!("ftrace/{report}.report.txt"));
        let events = report.lines().filter(|line| !line.starts_with("cpus=") && !line.ends_with("EVENTS DROPPED]"));
        let expected: Vec<_> = events.map(reported).collect();
        for (index, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            assert_eq!(row, expected, "{name}, row {index}");
        }
        assert_eq!((rows.len(), expected.len()), (count, count), "{name}");
    }
}

#[test]
fn instances_have_names_and_losses_have_times_and_numbers() {
    for name in ["instances-v6", "instances-v7-zstd", "instances-v7-none"] {
        let data = fixture(&format!("ftrace/{name}.dat"));
        let capture = parse(&data).unwrap();
        let names: Vec<_> = capture.buffers.iter().map(|b| (b.name.as_str(), b.cpus.len())).collect();
        assert_eq!(
            names.iter().filter(|(name, _)| !name.is_empty()).copied().collect::<Vec<_>>(),
            [("pcfb", 2), ("pcfa", 2)]
        );
        let mut losses = Vec::new();
        for buffer in &capture.buffers {
            for cpu in &buffer.cpus {
                let mut stream = CpuStream::new(
                    cpu.cpu,
                    &data[..],
                    cpu.segments.clone(),
                    (capture.compression, capture.room.clone()),
                    buffer.layout,
                );
                let first = stream.ts();
                while stream.ts().is_some() {
                    stream.advance();
                }
                losses.extend(
                    stream
                        .take_losses()
                        .into_iter()
                        .map(|loss| (buffer.name.clone(), cpu.cpu, loss.count, Some(loss.ts) <= first)),
                );
            }
        }
        assert_eq!(losses, [("pcfb".to_owned(), 1, Some(3203), true)], "{name}");
        let overrun = capture.stats.iter().map(|s| (s.buffer.as_str(), s.cpu, s.overrun, s.read));
        let overrun: Vec<_> = overrun.filter(|(buffer, ..)| *buffer == "pcfb").collect();
        assert_eq!(overrun, [("pcfb", 0, Some(0), Some(924)), ("pcfb", 1, Some(3203), Some(1419))], "{name}");
    }
}

/// A sequence of numbers that is the same in every run.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// The times and bytes of all readable events of a file, and the number of reported damages.
fn all_events(data: &[u8]) -> (Vec<(u64, Vec<u8>)>, usize) {
    let Ok(capture) = parse(data) else { return (Vec::new(), 1) };
    let mut merge = merge(data, &capture);
    let mut events = Vec::new();
    while let Some((ts, index)) = merge.peek() {
        events.push((ts, merge.stream(index).record().to_vec()));
        merge.advance();
    }
    let damages = (0..merge.stream_count()).map(|index| merge.stream_mut(index).take_damages().len());
    (events, capture.damages.len() + damages.sum::<usize>())
}

#[test]
fn a_file_cut_anywhere_keeps_what_is_before_the_cut_and_says_so() {
    for (name, seed) in [("instances-v6", 1), ("instances-v7-zstd", 2), ("instances-v7-none", 3)] {
        let whole = fixture(&format!("ftrace/{name}.dat"));
        let (all, told) = all_events(&whole);
        assert_eq!((all.len(), told), (4234, 0));
        let mut all = all;
        all.sort();
        let mut next = random(seed);
        let mut kept = 0;
        for _ in 0..scaled(1000) {
            let cut = next() as usize % whole.len();
            let (events, told) = all_events(&whole[..cut]);
            assert!(told > 0, "{name} cut at {cut} must be told");
            for event in &events {
                assert!(all.binary_search(event).is_ok(), "{name} cut at {cut} has an event that the whole has not");
            }
            kept += events.len();
        }
        assert!(kept > 0, "{name}: no cut kept an event");
        // Cut after the pages, before or within the options at the end: no event may be missing.
        let (events, _) = all_events(&whole[..whole.len() - 5]);
        assert!(events.len() >= 4200, "{name}: {}", events.len());
    }
}

#[test]
fn flipped_bytes_never_panic() {
    for (name, seed) in [("instances-v6", 4), ("instances-v7-zstd", 5)] {
        let whole = fixture(&format!("ftrace/{name}.dat"));
        let mut next = random(seed);
        for round in 0..scaled(2500) {
            let mut data = whole.clone();
            // Half of them in the first bytes, where every byte is a length or an offset.
            let reach = if round % 2 == 0 { 512 } else { data.len() };
            for _ in 0..1 + next() % 8 {
                let at = next() as usize % reach;
                data[at] ^= 1 << (next() % 8);
            }
            all_events(&data);
        }
    }
}
