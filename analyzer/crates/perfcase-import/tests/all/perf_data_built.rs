//! Every field of samples and the layouts that no machine at hand records, built by hand in both byte orders.

use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_decode::perf_data::deferred::join;
use perfcase_decode::perf_data::index::Entry;
use perfcase_decode::perf_data::record::kind;
use perfcase_decode::perf_data::recording::Recording;
use perfcase_decode::perf_data::sample::{Sample, SampleDamage, field};
use perfcase_decode::perf_data::scan::scan;

use crate::support::build::{Attr, Bytes, file};

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
/// READ of a group with times, ids and losses.
const READ_ALL: u64 = 31;
/// PERF_SAMPLE_BRANCH_HW_INDEX and COUNTERS.
const BRANCHES: u64 = 1 << 17 | 1 << 19;

/// All fields at once; WEIGHT_STRUCT shares its word with WEIGHT.
fn everything() -> Attr {
    Attr {
        sample_type: field::KNOWN & !field::WEIGHT,
        read_format: READ_ALL,
        sample_id_all: true,
        branch_sample_type: BRANCHES,
        regs_user: 0b101,
        regs_intr: 0b10,
        id: 77,
        tracepoint: 0,
    }
}

fn body(order: ByteOrder) -> Vec<u8> {
    let bytes = Bytes::new(order).u64s(&[77, 0x1000]).u32(10).u32(11).u64s(&[5000, 0x2000, 77, 78]).u32(3).u32(0);
    let bytes = bytes.u64(1234);
    // The group: two values behind enabled and running time.
    let bytes = bytes.u64s(&[2, 900, 800, 41, 77, 1, 42, 79, 0]);
    let bytes = bytes.u64s(&[3, u64::MAX - 511, 0x3000, 0x3008]);
    let bytes = bytes.u32(12).u8s(b"raw data 12.");
    // Two branches, the hardware's index before them, counters after them.
    let bytes = bytes.u64s(&[2, 6, 0xa, 0xb, 0, 0xc, 0xd, 0, 501, 502]);
    let bytes = bytes.u64s(&[2, 61, 62]);
    let bytes = bytes.u64(16).u8s(b"stack-copy......").u64(10);
    let bytes = bytes.u64s(&[3 << 48 | 2 << 32 | 1, 0xdada, 0x7a]);
    let bytes = bytes.u64s(&[1, 63]);
    let bytes = bytes.u64s(&[0x9999, 4242, 4096, 2 << 20]);
    bytes.u64(8).u8s(b"AUX data").bytes
}

fn in_time_order<'a>(recording: &'a Recording, bytes: &'a [u8]) -> impl Iterator<Item = Entry> + 'a {
    let mut order = recording.index.clone().in_time_order(recording, bytes);
    std::iter::from_fn(move || order.next(recording, bytes))
}

fn first_sample<'a>(recording: &'a Recording, bytes: &'a [u8]) -> (Sample<'a>, Option<SampleDamage>) {
    let (header, body) = recording.record(bytes, recording.entries(bytes).next().unwrap()).unwrap();
    let event = recording.events.of_record(header, body).unwrap();
    recording.events.get(event).unwrap().plan.sample(body)
}

#[test]
fn every_field_in_both_orders() {
    for order in ORDERS {
        let bytes = file(order, &[everything()], &[(kind::SAMPLE, 2, body(order))]);
        let recording = scan(&bytes).unwrap();
        assert!(recording.problems.list().is_empty(), "{:?}", recording.problems.list());
        let (sample, damage) = first_sample(&recording, &bytes);
        assert_eq!(damage, None);
        assert_eq!((sample.id, sample.ip, sample.pid_tid), (Some(77), Some(0x1000), Some((10, 11))));
        assert_eq!((sample.time, sample.addr, sample.stream_id), (Some(5000), Some(0x2000), Some(78)));
        assert_eq!((sample.cpu, sample.period), (Some(3), Some(1234)));
        let read = sample.read.unwrap();
        assert_eq!((read.enabled_ns, read.running_ns), (Some(900), Some(800)));
        let values: Vec<_> = read.values().map(|v| (v.value, v.id, v.lost)).collect();
        assert_eq!(values, [(41, Some(77), Some(1)), (42, Some(79), Some(0))]);
        let chain: Vec<u64> = sample.callchain.unwrap().iter().collect();
        assert_eq!(chain, [u64::MAX - 511, 0x3000, 0x3008]);
        assert_eq!(sample.raw, Some(&b"raw data 12."[..]));
        let more = sample.more.unwrap();
        let branches = more.branch_stack.unwrap();
        assert_eq!(branches.hw_index, Some(6));
        let branches: Vec<_> = branches.iter().map(|b| (b.from, b.to, b.counters)).collect();
        assert_eq!(branches, [(0xa, 0xb, Some(501)), (0xc, 0xd, Some(502))]);
        let user = more.regs_user.unwrap();
        assert_eq!((user.abi, user.get(0), user.get(1), user.get(2)), (2, Some(61), None, Some(62)));
        let stack = more.stack_user.unwrap();
        assert_eq!((stack.bytes, stack.requested_bytes), (&b"stack-copy"[..], 16));
        assert_eq!(more.weight, Some(3 << 48 | 2 << 32 | 1));
        assert_eq!((more.data_src, more.transaction), (Some(0xdada), Some(0x7a)));
        assert_eq!(more.regs_intr.unwrap().get(1), Some(63));
        assert_eq!((more.phys_addr, more.cgroup), (Some(0x9999), Some(4242)));
        assert_eq!((more.data_page_bytes, more.code_page_bytes), (Some(4096), Some(2 << 20)));
        assert_eq!(more.aux, Some(&b"AUX data"[..]));
    }
}

#[test]
fn a_short_sample_keeps_the_fields_before_the_end_and_names_the_first_bad_one() {
    let whole = body(ByteOrder::Little);
    let mut names = Vec::new();
    for length in (0..whole.len()).step_by(8) {
        let record = (kind::SAMPLE, 2, whole[..length].to_vec());
        let bytes = file(ByteOrder::Little, &[everything()], &[record]);
        let recording = scan(&bytes).unwrap();
        let (sample, damage) = first_sample(&recording, &bytes);
        assert_eq!(sample.ip.is_some(), length >= 16);
        assert_eq!(sample.callchain.is_some(), length >= 72 + 72 + 32);
        match damage {
            Some(SampleDamage::EndsIn(field)) => names.push(field),
            other => panic!("a short sample is damaged: {other:?}"),
        }
    }
    names.dedup();
    let want = [
        "fixed fields",
        "counter values",
        "callchain",
        "raw data",
        "branch stack",
        "user registers",
        "user stack",
        "weight",
        "data source",
        "transaction",
        "interrupt registers",
        "physical address",
        "cgroup",
        "data page size",
        "code page size",
        "AUX data",
    ];
    assert_eq!(names, want);
}

#[test]
fn events_with_different_layouts_are_told_apart_and_put_in_order() {
    let short = Attr { sample_type: field::IDENTIFIER | field::TIME, sample_id_all: true, id: 1, ..Attr::default() };
    let long = Attr {
        sample_type: field::IDENTIFIER | field::IP | field::TID | field::TIME,
        sample_id_all: true,
        id: 2,
        ..Attr::default()
    };
    for order in ORDERS {
        let new = || Bytes::new(order);
        let records = [
            (kind::SAMPLE, 2, new().u64s(&[2, 0x10, 0, 300]).bytes),
            (kind::SAMPLE, 2, new().u64s(&[1, 100]).bytes),
            // COMM of the second event: its trailer has the thread before the time.
            (kind::COMM, 0, new().u32(5).u32(6).u8s(b"name\0\0\0\0").u32(5).u32(6).u64s(&[200, 2]).bytes),
            (kind::SAMPLE, 2, new().u64s(&[9, 150]).bytes),
        ];
        let bytes = file(order, &[short, long], &records);
        let recording = scan(&bytes).unwrap();
        let times: Vec<u64> = in_time_order(&recording, &bytes).map(|entry| entry.time).collect();
        // The sample with an id of no event has no known time: it keeps its place after the record before it.
        assert_eq!(times, [100, 200, 200, 300]);
    }
}

/// A sample in the kernel, and the user part of its callchain when the thread goes back to user mode.
#[test]
fn a_deferred_user_callchain_is_joined_to_its_samples() {
    const MARKER: u64 = -640i64 as u64;
    let attr =
        Attr { sample_type: field::TID | field::TIME | field::CALLCHAIN, sample_id_all: true, ..Attr::default() };
    for order in ORDERS {
        let new = || Bytes::new(order);
        let chain = |tid: u32, time: u64, cookie: u64| {
            new().u32(tid).u32(tid).u64s(&[time, 4, -128i64 as u64, 0xffff_ffff_8000_0000, MARKER, cookie]).bytes
        };
        let user = new().u64s(&[9, 3, -512i64 as u64, 0x400, 0x500]).u32(5).u32(5).u64(300).bytes;
        let records = [
            (kind::SAMPLE, 1, chain(5, 100, 9)),
            (kind::SAMPLE, 1, chain(6, 150, 9)),
            (kind::SAMPLE, 1, chain(5, 200, 9)),
            (kind::CALLCHAIN_DEFERRED, 0, user),
        ];
        let bytes = file(order, &[attr], &records);
        let recording = scan(&bytes).unwrap();
        let joined = |at: usize, tid: i32| {
            let (_, body) = recording.record(&bytes, recording.entries(&bytes).nth(at).unwrap()).unwrap();
            let (sample, _) = recording.events.get(0).unwrap().plan.sample(body);
            let mut chain: Vec<u64> = sample.callchain.unwrap().iter().collect();
            let is_whole = join(&mut chain, tid, &recording, &bytes);
            (chain, is_whole)
        };
        let kernel = vec![-128i64 as u64, 0xffff_ffff_8000_0000];
        let whole = [kernel.clone(), vec![-512i64 as u64, 0x400, 0x500]].concat();
        assert_eq!(joined(0, 5), (whole.clone(), true));
        assert_eq!(joined(1, 6), (kernel, false), "another thread's cookie");
        assert_eq!(joined(2, 5), (whole, true));
    }
}

#[test]
fn unknown_records_are_counted_by_type() {
    let attr = Attr { sample_type: field::TIME, ..Attr::default() };
    let new = || Bytes::new(ByteOrder::Little);
    let records = [
        (kind::SAMPLE, 2, new().u64(100).bytes),
        (60, 0, vec![0; 16]),
        (60, 0, vec![1; 8]),
        (120, 0, vec![2; 24]),
        (kind::SAMPLE, 2, new().u64(200).bytes),
    ];
    let recording = scan(&file(ByteOrder::Little, &[attr], &records)).unwrap();
    assert_eq!(recording.index.len(), 2);
    assert_eq!((recording.counts[&60], recording.counts[&120]), (2, 1));
}

#[test]
fn forks_of_old_recordings_have_their_own_time() {
    let attr = Attr { sample_type: field::TIME, ..Attr::default() };
    let new = || Bytes::new(ByteOrder::Big);
    let records = [
        (kind::SAMPLE, 2, new().u64(300).bytes),
        (kind::FORK, 0, new().u32(2).u32(1).u32(2).u32(1).u64(200).bytes),
        (kind::COMM, 0, new().u32(2).u32(2).u8s(b"child\0\0\0").bytes),
    ];
    let bytes = file(ByteOrder::Big, &[attr], &records);
    let recording = scan(&bytes).unwrap();
    let kinds: Vec<(u32, u64)> =
        in_time_order(&recording, &bytes).map(|e| (recording.record(&bytes, e).unwrap().0.kind, e.time)).collect();
    assert_eq!(kinds, [(kind::FORK, 200), (kind::COMM, 200), (kind::SAMPLE, 300)]);
}
