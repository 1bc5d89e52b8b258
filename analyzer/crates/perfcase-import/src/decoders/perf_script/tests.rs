//! Whole texts through the decoder.

use crate::scale::scaled;
use perfcase_archive::Content;

use crate::decoders::testing::rows;
use crate::session::{Session, SourceInfo};
use crate::source::run;

const TEXT: &str = "# ========\n# arch : x86_64\n# hostname : box\n#\n\
app  10/11 [000]     1.000001:          7 cycles:u: \n\
\t            401136 inner+0x6 (inlined)\n\
\t            401136 outer+0x16 (/usr/bin/app)\n\
\tffffffff81000010 do_it+0x10 ([kernel.kallsyms])\n\
\n\
app  10/11 [000]     1.000002:          9 cycles:u:      401136 outer+0x16 (/usr/bin/app)\n\
app  10/11 [001]     1.000003: raw_syscalls:sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n\
garbage in between\n\
app  10/11 [001]     1.000009: raw_syscalls:sys_exit: NR 0 = -11\n\
app  10/11 [001]     1.000010: PERF_RECORD_LOST lost 31\n\
swapper     0/0 [001]     1.000012: sched:sched_switch: prev_comm=app prev_pid=11 prev_prio=120 prev_state=S ==> \
next_comm=swapper/1 next_pid=0 next_prio=120\n\
swapper     0/0 [001]     1.000020: my:event: work struct 0xff\n";

fn import(text: &[u8]) -> (Session, Vec<(&'static str, Option<u64>)>) {
    let directory = tempfile::tempdir().unwrap();
    let mut session = Session::new(directory.path(), None);
    let source = session.source(SourceInfo { name: "perf".into(), ..SourceInfo::default() });
    let mut sources = vec![super::open(Content::from_bytes(text), &mut session, source)];
    run(&mut sources, &mut session, &mut |_, _| true);
    let kinds = session.model.issues.list().iter().map(|issue| (issue.kind, issue.byte_offset)).collect();
    (session, kinds)
}

#[test]
fn a_text_that_was_cut_has_no_half_addresses_and_names() {
    let (whole, _) = import(TEXT.as_bytes());
    let names = |mut session: Session| {
        session.write_stacks(None);
        rows(&mut session.sink.tables.frame, "address symbol symbol_offset_bytes")
    };
    let known = names(whole);
    for cut in 40..TEXT.len() {
        let (session, issues) = import(&TEXT.as_bytes()[..cut]);
        let is_whole = TEXT.as_bytes()[cut - 1] == b'\n';
        let start = TEXT[..cut].rfind('\n').unwrap() as u64 + 1;
        assert_eq!(issues.contains(&("truncated", Some(start))), !is_whole, "cut at {cut}");
        assert!(names(session).iter().all(|name| known.contains(name)), "cut at {cut}");
    }
}

#[test]
fn samples_callchains_and_what_is_left_out() {
    let (mut session, issues) = import(TEXT.as_bytes());
    assert_eq!(
        rows(&mut session.sink.tables.sample, "ts_ns cpu event_id period cpu_mode frame_id stack_id"),
        [
            "0 0 0 7 2 0 0",
            "1000 0 0 9 2 1 -",
            "2000 1 1 - 0 - -",
            "8000 1 2 - 0 - -",
            "11000 1 3 - 0 - -",
            "19000 1 4 - 0 - -",
        ]
    );
    let garbage = TEXT.find("garbage").unwrap() as u64;
    assert_eq!(issues, [("unparsed_line", Some(garbage)), ("lost_events", None), ("rounded_times", None)]);
    assert_eq!(session.model.host.hostname.as_deref(), Some("box"));
    session.write_stacks(None);
    assert_eq!(
        rows(&mut session.sink.tables.frame, "dso_id address is_kernel symbol symbol_offset_bytes"),
        ["- 4198710 false inner 6", "0 4198710 false outer 22", "1 18446744071578845200 true do_it 16",]
    );
    assert_eq!(rows(&mut session.sink.tables.dso, "name kind"), ["app user", "[kernel.kallsyms] kernel"]);
}

#[test]
fn calls_of_an_unknown_machine_say_how_to_know_it() {
    let (_, issues) = import(b"app 1/1 [000] 1.000000001: raw_syscalls:sys_exit: NR 0 = 1\n");
    assert_eq!(issues, [("unknown_machine", None)]);
}

#[test]
fn a_thread_may_be_called_like_an_address() {
    let text = "app 1 [000] 1.000001: a:b: x=1\n  dd 2 [000] 1.000002: a:b: x=2\n  bad 3 [000] 1.000003: a:b: x=3\n";
    let (mut session, _) = import(text.as_bytes());
    assert_eq!(rows(&mut session.sink.tables.sample, "ts_ns stack_id"), ["0 -", "1000 -", "2000 -"]);
}

#[test]
fn a_text_without_a_sample_says_so() {
    let (_, issues) = import(b"# ========\n# captured on : x\n");
    assert_eq!(issues, [("no_records", None)]);
}

#[test]
fn any_bytes_are_survived() {
    let mut seed = 7u64;
    for _ in 0..scaled(20_000) {
        let mut bytes = TEXT.as_bytes().to_vec();
        for _ in 0..6 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (seed >> 40) as usize % bytes.len();
            bytes[at] = (seed >> 32) as u8;
        }
        bytes.truncate((seed >> 20) as usize % bytes.len() + 1);
        import(&bytes);
    }
}

#[test]
fn what_is_beyond_a_bound_is_counted() {
    let branches = |count: usize| " 0x1/0x2/-/-/-/0 ".repeat(count);
    let head = "app  10/11 [000]     1.000001:          7 cycles:u:      401136 outer+0x16 (/usr/bin/app)";
    let text = format!("{head}{}\n{head}{}\n", branches(1024), branches(1027));
    let (mut session, issues) = import(text.as_bytes());
    assert_eq!(rows(&mut session.sink.tables.branch, "sample_id").len(), 2048);
    assert_eq!(issues, [("long_branch_stacks", None), ("rounded_times", None)]);
    assert_eq!(session.model.issues.list()[0].count, 3);
    let deep =
        "app  10/11 [000]     1.000001:          7 cycles:u: \n".to_string() + &"\t 401136 f (/x)\n".repeat(4098);
    // The line after a callchain is read twice and counts once.
    let (session, issues) = import(format!("{deep}{head}{}\n", " ".repeat(65536)).as_bytes());
    assert_eq!(issues, [("long_lines", None), ("deep_stacks", None), ("rounded_times", None)]);
    assert_eq!((session.model.issues.list()[0].count, session.model.issues.list()[1].count), (1, 2));
}

/// Samples as perf script -F comm,tid,event,ip,sym,dso prints them, and after editors and pipes changed them.
#[test]
fn samples_without_time_and_cpu() {
    let text = "# event : name = cycles:u, , id = { 1 }\nsh   474 cycles:u: \n\t 3df30 f+0x1 (/bin/sh)\n\t 4780 [unknown] (/bin/sh)\n\n\
        pool 3   475         50 cycles:u: \n\t 3df30 f+0x1 (/bin/sh)\n\nsh 476 cycles:u: \n\n\
        sh 477 cycles:u:  3df30 f+0x1 (/bin/sh)\nnot 478 a head:\nError 479 lines: none\n\
        sh 480 \n\t 3df30 f+0x1 (/bin/sh)\n";
    let (mut session, issues) = import(text.as_bytes());
    let rows = rows(&mut session.sink.tables.sample, "ts_ns cpu event_id period utid frame_id stack_id");
    assert_eq!(rows, ["- - 0 - 1 0 0", "- - 0 50 2 0 1", "- - 0 - 3 - -", "- - 0 - 4 0 -", "- - 0 - 5 0 1"]);
    let at = |part: &str| Some(text.find(part).unwrap() as u64);
    assert_eq!(issues, [("unparsed_line", at("not 478")), ("unparsed_line", at("Error")), ("no_time", None)]);
    let names: Vec<_> = (0..session.model.threads.all.len())
        .map(|utid| session.model.threads.comm_of(utid as u32).unwrap_or_default())
        .collect();
    assert_eq!(names, [&b"swapper"[..], b"sh", b"pool 3", b"sh", b"sh", b"sh"]);
}

#[test]
fn samples_without_an_event_have_the_name_of_the_only_one() {
    let sample = "sh 474 [003] 1.5: \n\t 3df30 f (/bin/sh)\n";
    for (header, name) in [
        ("", "unknown"),
        ("# event : name = cycles:u, , id = { 1 }\n", "cycles:u"),
        ("# event : name = cycles, , id = { 1 }\n# event : name = instructions, , id = { 2 }\n", "unknown"),
    ] {
        let (mut session, _) = import(format!("{header}{sample}").as_bytes());
        assert_eq!(rows(&mut session.sink.tables.sample, "ts_ns cpu frame_id"), ["0 3 0"]);
        session.write_events();
        assert_eq!(rows(&mut session.sink.tables.perf_event, "name"), [name]);
    }
}

#[test]
fn blank_and_odd_lines() {
    let text = "\n   \nsh 474 [000] 1.0001: cycles: \r\n\r\n\t 3df30 f+0x1 (/bin/sh)\r\n\t 4780 (inlined)\r\n\r\n\
        # a comment\n\n\nsh 474 [001] 1.5: 7 cycles: \n3df30 f+0x1 (/bin/sh)\n4780 g (/bin/sh)\n\n\n\
        sh 474 [001] 1.75: 7 cycles: \n\n\t 99 orphan (/x)\n\nsh 474 [001] 1.8: 7 cycles:\n";
    let (mut session, issues) = import(text.as_bytes());
    assert_eq!(issues, [("rounded_times", None)]);
    let rows = rows(&mut session.sink.tables.sample, "ts_ns cpu period frame_id stack_id");
    assert_eq!(rows, ["0 0 - 0 0", "499900000 1 7 0 1", "749900000 1 7 3 2", "799900000 1 7 - -"]);
}
