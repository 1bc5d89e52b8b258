//! How fast ring-buffer pages are walked: 2.4 million events of one CPU, then those of two CPUs merged by time.
//!
//! `cargo run -p perfcase-decode --example walk_pages` prints the time of each of five rounds.

use std::time::Instant;

use perfcase_decode::ftrace::compression::{Compression, Room};
use perfcase_decode::ftrace::layout::PageLayout;
use perfcase_decode::ftrace::merge::Merge;
use perfcase_decode::ftrace::stream::{CpuStream, Segment};

const PAGES: usize = 30_000;
const PAGE_BYTES: usize = 4096;

/// Pages of 80 events each, 2 µs between two of them; the lengths are those of sched_waking and sched_switch.
fn pages(phase_ns: u64) -> Vec<u8> {
    let mut file = Vec::with_capacity(PAGES * PAGE_BYTES);
    let mut ts = phase_ns;
    for _ in 0..PAGES {
        let start = file.len();
        file.extend(ts.to_le_bytes());
        file.extend(3840_u64.to_le_bytes());
        for words in [10_u32, 12].into_iter().cycle().take(80) {
            file.extend((words | 2000 << 5).to_le_bytes());
            file.extend(std::iter::repeat_n(1, words as usize * 4));
            ts += 2000;
        }
        file.resize(start + PAGE_BYTES, 0);
    }
    file
}

fn main() {
    let layout = PageLayout::standard(PAGE_BYTES, 8, false);
    let (first, second) = (pages(0), pages(700));
    let open = |cpu, file| {
        let whole = vec![Segment::Plain(0..PAGES * PAGE_BYTES)];
        CpuStream::new(cpu, file, whole, (Compression::None, Room::of_file(0)), layout)
    };
    for _ in 0..5 {
        let began = Instant::now();
        let mut one = open(0, &first[..]);
        let mut bytes = 0;
        while one.ts().is_some() {
            bytes += one.record().len();
            one.advance();
        }
        let single = began.elapsed();
        let began = Instant::now();
        let mut merge = Merge::new(vec![open(0, &first[..]), open(1, &second[..])]);
        let mut count = 0;
        while let Some((_, index)) = merge.peek() {
            bytes += merge.stream(index).record().len();
            count += 1;
            merge.advance();
        }
        let merged = began.elapsed();
        println!(
            "{} events in {single:?}; {count} of two CPUs merged in {merged:?} ({bytes} bytes)",
            one.event_count()
        );
    }
}
