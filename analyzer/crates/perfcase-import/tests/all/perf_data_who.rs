//! Whose a sample is: guests of KVM, and threads that have lost their ids while they exit.

use crate::support::build::{Attr, Bytes, file};
use crate::support::tables::Table;
use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_decode::perf_data::record::{kind, misc};
use perfcase_decode::perf_data::sample::field;
use perfcase_import::{Options, Summary, import};

const KERNEL: u16 = 1;
const USER: u16 = 2;

fn imported(records: &[(u32, u16, Vec<u8>)]) -> (Summary, impl Fn(&str) -> Table) {
    let attr = Attr {
        sample_type: field::IP | field::TID | field::TIME | field::CPU | field::PERIOD,
        sample_id_all: true,
        ..Attr::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("perf.data");
    std::fs::write(&path, file(ByteOrder::Little, &[attr], records)).unwrap();
    let out = folder.path().join("out");
    let summary = import(&path, &out, &Options::default(), &mut |_| true).unwrap();
    (summary, move |name: &str| Table::read(&folder.path().join("out/tables"), name))
}

fn sample(misc: u16, ip: u64, (pid, tid): (i32, i32), time: u64) -> (u32, u16, Vec<u8>) {
    let bytes = Bytes::new(ByteOrder::Little).u64(ip).u32(pid as u32).u32(tid as u32).u64(time);
    (kind::SAMPLE, misc, bytes.u32(3).u32(0).u64(100).bytes)
}

/// perf report hides them and perf script leaves them out, without --guest.
#[test]
fn samples_in_guests_are_kept_apart() {
    let records = [
        sample(USER, 0x1000, (10, 10), 1000),
        sample(misc::GUEST_KERNEL, 0xffff_ffff_8200_0000, (20, 21), 1100),
        sample(misc::GUEST_USER, 0x2000, (20, 21), 1200),
        sample(KERNEL, 0xffff_ffff_8100_0000, (20, 21), 1300),
    ];
    let (summary, table) = imported(&records);
    let (samples, guests) = (table("sample"), table("guest_sample"));
    let times = |of: &Table| (0..of.rows()).map(|row| of.i64("ts_ns", row).unwrap()).collect::<Vec<_>>();
    assert_eq!((times(&samples), times(&guests)), (vec![0, 300], vec![100, 200]));
    let row = |row: usize| {
        let number = |name: &str| guests.u64(name, row).unwrap();
        (number("cpu"), number("event_id"), number("period"), number("cpu_mode"), number("address"))
    };
    assert_eq!(row(0), (3, 0, 100, 4, 0xffff_ffff_8200_0000));
    assert_eq!(row(1), (3, 0, 100, 5, 0x2000));
    assert_eq!(guests.u64("utid", 0), samples.u64("utid", 1), "the thread of the host that runs the guest");
    let told: Vec<_> = summary.issues.iter().map(|issue| (issue.kind, issue.count)).collect();
    assert_eq!(told, [("guest_samples", 2)]);
    assert!(summary.issues[0].message.contains("2 samples of cpu-clock"), "{}", summary.issues[0].message);
    assert_eq!(table("perf_event").u64("sample_count", 0), Some(4));
}

#[test]
fn an_exiting_thread_is_not_the_idle_task() {
    let records = [
        sample(KERNEL, 0xffff_ffff_8100_0000, (0, 0), 1000),
        sample(KERNEL, 0xffff_ffff_8100_0000, (30, 31), 1100),
        // A thread of a process that lives on has lost its own id only.
        sample(KERNEL, 0xffff_ffff_8100_0000, (30, 0), 1200),
        sample(KERNEL, 0xffff_ffff_8100_0000, (-1, 0), 1300),
        sample(KERNEL, 0xffff_ffff_8100_0000, (-1, -1), 1400),
    ];
    let (_, table) = imported(&records);
    let samples = table("sample");
    let threads: Vec<Option<u64>> = (0..samples.rows()).map(|row| samples.u64("utid", row)).collect();
    assert_eq!(threads, [Some(0), Some(1), None, None, None]);
}
