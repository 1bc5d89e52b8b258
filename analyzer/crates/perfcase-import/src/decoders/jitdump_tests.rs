use perfcase_archive::Content;

use super::*;
use crate::jitdump_file::{ARCH_TIMESTAMP, CLOSE, File};

fn session() -> (Session, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Session::new(folder.path(), Some(0)), folder)
}

/// Steps until the next record is later than `until`.
fn play(source: &mut dyn Source, session: &mut Session, until: i64) {
    while source.next_ts().is_some_and(|ts| ts <= until) {
        source.step(session);
    }
}

fn names(session: &mut Session) -> Vec<String> {
    session.write_stacks(None);
    crate::decoders::testing::rows(
        &mut session.sink.tables.frame,
        "frame_id address symbol symbol_offset_bytes symbol_source source_file source_line missing_reason",
    )
}

#[test]
fn code_has_the_name_of_its_moment() {
    for is_big in [false, true] {
        let mut file = File::new(is_big, 0);
        file.lines(9, 0x1000, &[(0x1004, 7, b"a.js"), (0x1008, 8, b"\xff")]);
        file.load(10, 0x1000, 0x10, "first");
        file.moved(20, 0x1000, 0x2000, 0x10);
        file.load(30, 0x1000, 0x20, "second");
        file.record(CLOSE, 40, &[]);
        file.load(50, 0x9000, 0x20, "after the end");
        let (mut session, _folder) = session();
        let mut source =
            open("symbols/jitdump/1-0", Content::from_bytes(file.bytes), Owner::Known(Some(5)), &mut session).unwrap();
        let mut at = |session: &mut Session, until: i64, address: u64| {
            play(&mut *source, session, until);
            session.frame(Some(5), 2, address);
        };
        at(&mut session, 5, 0x1005);
        at(&mut session, 15, 0x1005);
        at(&mut session, 25, 0x2008);
        at(&mut session, 35, 0x1005);
        at(&mut session, 99, 0x1020);
        at(&mut session, 99, 0x9000);
        assert_eq!(
            names(&mut session),
            [
                "0 4101 - - - - - no mapping covers the address",
                "1 4101 first 5 jitdump a.js 7 -",
                "2 8200 first 8 jitdump a.js 8 -",
                "3 4101 second 5 jitdump - - -",
                "4 4128 - - - - - no mapping covers the address",
                "5 36864 - - - - - no mapping covers the address",
            ]
        );
    }
}

#[test]
fn damage_is_noted_and_never_more() {
    let mut file = File::new(false, 0);
    file.lines(9, 0x1000, &[(0x1004, 7, b"a.js")]);
    file.load(10, 0x1000, 0x10, "first");
    file.moved(20, 0x7777, 0x2000, 0x10);
    let whole = file.bytes;
    let run = |bytes: Vec<u8>| {
        let (mut session, _folder) = session();
        if let Some(mut source) = open("j", Content::from_bytes(bytes), Owner::Known(None), &mut session) {
            play(&mut *source, &mut session, i64::MAX);
            source.finish(&mut session);
        }
        session.model.issues.list().len()
    };
    // The move of what was never loaded.
    assert_eq!(run(whole.clone()), 1);
    for cut in 0..whole.len() {
        run(whole[..cut].to_vec());
    }
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            run(bytes);
        }
    }
    assert_eq!(run(b"JiTD".to_vec()), 1);
}

#[test]
fn readings_of_a_counter_come_before_everything() {
    let mut file = File::new(false, ARCH_TIMESTAMP);
    file.load(1 << 60, 0x1000, 0x10, "f");
    let (mut session, _folder) = session();
    let mut source = open("j", Content::from_bytes(file.bytes), Owner::Known(None), &mut session).unwrap();
    assert_eq!(source.next_ts(), Some(NO_TIME));
    play(&mut *source, &mut session, 0);
    session.frame(Some(77), 2, 0x1001);
    assert_eq!(names(&mut session), ["0 4097 f 1 jitdump - - -"]);
}

#[test]
fn code_of_a_process_that_was_not_recorded_is_left_out() {
    let mut file = File::new(false, 0);
    file.load(10, 0x1000, 0x10, "early");
    file.load(30, 0x2000, 0x10, "late");
    file.record(4, 35, &[0; 40]);
    file.load(40, 0x3000, 0x10, "behind unwinding information");
    let (mut session, _folder) = session();
    let before = session.model.threads.processes.len();
    let mut source = open("j", Content::from_bytes(file.bytes), Owner::Unsure, &mut session).unwrap();
    play(&mut *source, &mut session, 15);
    assert_eq!(session.model.threads.processes.len(), before);
    session.utid(20, 77, Some(77));
    play(&mut *source, &mut session, 99);
    for address in [0x1001, 0x2001, 0x3001] {
        session.frame(Some(77), 2, address);
    }
    let named: Vec<_> = names(&mut session).iter().map(|row| row.split(' ').nth(2).unwrap().to_string()).collect();
    assert_eq!(named, ["-", "late", "behind"]);
}

#[test]
fn another_clock_than_the_recordings_comes_before_everything() {
    let mut file = File::new(false, 0);
    file.load(1 << 50, 0x1000, 0x10, "f");
    for (clock, has_times) in [("monotonic", true), ("perf", false)] {
        let (mut session, _folder) = session();
        session.model.host.clock = Some(clock.to_string());
        let source = open("j", Content::from_bytes(file.bytes.clone()), Owner::Unsure, &mut session).unwrap();
        assert_eq!(source.next_ts(), Some(if has_times { 1 << 50 } else { NO_TIME }));
        assert_eq!(session.model.issues.list().len(), usize::from(!has_times));
    }
}
