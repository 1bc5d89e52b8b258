use super::super::attr::Attr;
use super::super::bytes::ByteOrder;
use super::super::record::{HEADER_BYTES, kind};
use super::super::recording::Recording;
use super::super::sample::field;
use super::{Index, MOST_STREAMS};

/// Bytes of a sample that has only its time.
const SIZE: u16 = HEADER_BYTES as u16 + 8;

/// Makes a recording of samples with these times. `None` stands for bytes that are no record.
fn recording(index: Index, times: impl IntoIterator<Item = Option<u64>>) -> (Recording, Vec<u8>) {
    let mut out = Recording { index, ..Recording::new(ByteOrder::Little, false) };
    out.events.add(Attr { sample_type: field::TIME, ..Attr::default() }, Vec::new());
    let mut file = Vec::new();
    for time in times {
        let offset = file.len() as u64;
        file.extend(kind::SAMPLE.to_le_bytes());
        file.extend([0, 0]);
        file.extend(SIZE.to_le_bytes());
        file.extend(time.unwrap_or(7).to_le_bytes());
        if let Some(time) = time {
            out.add((time, true), (offset, false), SIZE);
        }
    }
    (out, file)
}

/// Gives times and places in the order of the index, and in the right order.
fn order(index: Index, times: impl IntoIterator<Item = Option<u64>>) -> [Vec<(u64, u64)>; 2] {
    let (recording, file) = recording(index, times);
    let mut sorted: Vec<_> = recording.entries(&file).map(|entry| (entry.time, entry.place)).collect();
    assert_eq!(sorted.len(), recording.index.len());
    assert!(sorted.is_sorted_by_key(|(_, place)| *place));
    sorted.sort_unstable();
    let mut order = recording.index.clone().in_time_order(&recording, &file);
    let got = std::iter::from_fn(|| {
        let peeked = order.peek();
        let entry = order.next(&recording, &file);
        assert_eq!(peeked, entry);
        entry.map(|entry| (entry.time, entry.place))
    });
    [got.collect(), sorted]
}

/// Checks the order of an index of runs, and of one of all times.
fn check(times: impl Fn() -> Vec<Option<u64>>) {
    let [got, want] = order(Index::default(), times());
    assert!(got == want, "{} records", want.len());
    assert_eq!(order(Index::of_all_times(), times()), [want.clone(), want]);
}

#[test]
fn equal_times_keep_the_order_of_the_file() {
    check(|| [5, 3, 5, 9, 3, 0, 5, 5, 0, 9].map(Some).to_vec());
    check(Vec::new);
}

#[test]
fn pieces_of_a_few_buffers_come_out_in_order() {
    // Four buffers with interleaved times, which are read one after the other.
    let round = |n: u64| (0..4u64).flat_map(move |buffer| (0..50).map(move |i| n * 200 + i * 4 + buffer));
    check(|| (0..30).flat_map(round).map(Some).collect());
    // Between some of the records are others.
    check(|| (0..30).flat_map(round).map(|time| (time % 7 != 0).then_some(time)).collect());
    let (recording, _) = recording(Index::default(), (0..30).flat_map(round).map(Some));
    assert_eq!((recording.index.len(), recording.index.runs.len()), (6000, 91));
}

#[test]
fn what_perf_never_writes_is_sorted_too() {
    check(|| (0..3 * MOST_STREAMS as u64).rev().map(Some).collect());
    check(|| (0..20_000u64).map(|i| Some(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)).collect());
}

#[test]
fn a_record_that_is_dropped_leaves_no_trace() {
    let (mut recording, file) = recording(Index::default(), [5, 6, 6, 4].map(Some));
    let places = |recording: &Recording| recording.entries(&file).map(|entry| entry.place / 16).collect::<Vec<_>>();
    recording.drop_last(3 * 16);
    assert_eq!(places(&recording), [0, 1, 2]);
    recording.drop_last(2 * 16);
    assert_eq!(places(&recording), [0, 1, 2], "only the last that was added can be dropped");
    recording.add((8, true), (3 * 16, false), SIZE);
    recording.drop_last(0);
    assert_eq!(places(&recording), [0, 1, 2, 3]);
    recording.drop_last(3 * 16);
    assert_eq!((places(&recording), recording.index.len()), (vec![0, 1, 2], 3));
    assert_eq!(recording.index.runs[0].last_time, 6);
}

#[test]
fn a_record_without_a_time_has_that_of_the_one_before_it() {
    let (mut recording, mut file) = recording(Index::default(), [5].map(Some));
    for (number, time) in [5u64, 0, 5].into_iter().enumerate() {
        let offset = file.len() as u64;
        // A COMM record: the event has no trailers. The scanner's last time is not that of the record before the last.
        let kind = if time == 0 { kind::SAMPLE } else { kind::COMM };
        file.extend(kind.to_le_bytes());
        file.extend([0, 0]);
        file.extend(SIZE.to_le_bytes());
        file.extend(0u64.to_le_bytes());
        recording.add((time, number == 1), (offset, false), SIZE);
    }
    assert_eq!(recording.entries(&file).map(|entry| entry.time).collect::<Vec<_>>(), [5, 5, 0, 5]);
    assert_eq!(recording.index.runs.len(), 3);
}
