use super::*;
use crate::jitdump_file::{ARCH_TIMESTAMP, CLOSE, File};

/// Reads to the end: the events with the times of their records, and how many records are damaged.
fn events(bytes: &[u8]) -> Result<(Vec<(i64, Event)>, u64), Issue> {
    let mut dump = Jitdump::open(bytes)?;
    let mut events = Vec::new();
    while let Some(time) = dump.next_time() {
        let at = dump.at();
        events.extend(dump.read().map(|event| (time, event)));
        assert!(dump.at() > at, "it must go on");
    }
    Ok((events, dump.problem().map_or(0, |problem| problem.count)))
}

#[test]
fn records_of_either_byte_order() {
    for is_big in [false, true] {
        let mut file = File::new(is_big, 0);
        file.lines(9, 0x1000, &[(0x1008, 8, b"b.js"), (0x1004, 7, b"a.js"), (0x1006, 9, b"\xff")]);
        file.load(10, 0x1000, 0x10, "first");
        file.moved(20, 0x1000, 0x2000, 0x10);
        file.record(4, 25, &[0; 40]);
        file.record(CLOSE, 40, &[]);
        file.load(50, 0x9000, 0x20, "after the end");
        let line = |offset_bytes, file, line| SourceLine { offset_bytes, file: Rc::from(file), line };
        let load = Event::Load {
            start: 0x1000,
            size_bytes: 0x10,
            name: "first".to_string(),
            lines: vec![line(4, "a.js", 7), line(6, "a.js", 9), line(8, "b.js", 8)],
        };
        let moved = Event::Move { old_start: 0x1000, start: 0x2000, size_bytes: 0x10 };
        assert_eq!(events(&file.bytes).unwrap(), (vec![(10, load), (20, moved)], 0));
        let dump = Jitdump::open(&file.bytes[..]).unwrap();
        assert_eq!((dump.pid, dump.has_counter_times), (Some(77), false));
    }
    let file = File::new(false, ARCH_TIMESTAMP);
    assert!(Jitdump::open(&file.bytes[..]).unwrap().has_counter_times);
}

#[test]
fn a_wrong_size_ends_the_file() {
    let mut file = File::new(false, 0);
    file.load(10, 0x1000, 0x10, "first");
    let at = file.bytes.len();
    file.load(20, 0x2000, 0x10, "second");
    file.bytes[at + 4] = 8;
    let mut dump = Jitdump::open(&file.bytes[..]).unwrap();
    assert!(dump.read().is_some());
    assert_eq!(dump.next_time(), Some(NO_TIME));
    assert_eq!((dump.read(), dump.next_time()), (None, None));
    let problem = dump.problem().unwrap();
    assert_eq!((problem.byte_offset, problem.count), (Some(at as u64), 1));
}

#[test]
fn any_bytes_are_survived() {
    let mut file = File::new(false, 0);
    file.lines(9, 0x1000, &[(0x1004, 7, b"a.js"), (0x1008, 8, b"\xff")]);
    file.load(10, 0x1000, 0x10, "first");
    file.moved(20, 0x7777, 0x2000, 0x10);
    let whole = file.bytes;
    let (all, damaged) = events(&whole).unwrap();
    assert_eq!((all.len(), damaged), (2, 0));
    for cut in 40..whole.len() {
        let (kept, damaged) = events(&whole[..cut]).unwrap();
        assert_eq!(kept[..], all[..kept.len()], "cut at {cut}");
        assert!(damaged <= 1, "cut at {cut}");
    }
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            let _ = events(&bytes);
        }
    }
    assert_eq!(events(b"JiTD").unwrap_err().byte_offset, Some(0));
    assert!(events(b"").is_err());
}
