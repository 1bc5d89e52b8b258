//! Whole traces through the importer: what lands in the tables, what is said about losses.

use std::collections::BTreeMap;
use std::path::Path;

use perfcase_archive::{Capture, MemberKind};
use perfcase_decode::ftrace::Events;
use perfcase_decode::ftrace::events::CommonFields;
use perfcase_import::{Options, Summary};

use crate::support::fixture::{data, fixture, text};

fn import(file: &Path, folder: &Path) -> Summary {
    perfcase_import::import(file, folder, &Options::default(), &mut |_| true).unwrap()
}

/// `(pid, cpu, µs, event)` of a line of the kernel's own `trace` file:
/// `      sched-pipe-27306   [001] .....  5228.561616: sys_enter: NR 0 (3, …)`.
fn kernel_row(line: &str) -> (i32, u32, u64, String) {
    let (task, rest) = line.split_once(" [").unwrap();
    let pid = task.trim().rsplit_once('-').unwrap().1.parse().unwrap();
    let (cpu, rest) = rest.split_once("] ").unwrap();
    let mut words = rest.split_whitespace().skip(1);
    let time = words.next().unwrap().trim_end_matches(':').replace('.', "").parse().unwrap();
    let event = match words.next().unwrap() {
        "<stack" => "kernel_stack",
        name => name.trim_end_matches(':'),
    };
    (pid, cpu.parse().unwrap(), time, event.to_owned())
}

#[test]
fn raw_pages_hold_what_the_kernel_prints_of_them() {
    let capture = Capture::open(&data("raw_folder")).unwrap();
    let raw = capture.members.iter().filter(|member| member.kind == MemberKind::FtraceRaw);
    let members: Vec<_> = raw.map(|member| (member.path.clone(), capture.read(member).unwrap())).collect();
    let mut events = Events::raw_folder(&members).unwrap();
    assert_eq!(events.capture.damages, []);
    assert_eq!(events.capture.buffers[0].clock, "mono");
    let (formats, errors) = events.capture.parse_formats();
    assert_eq!(errors, []);
    let common = CommonFields::of(&formats, false);
    let names: BTreeMap<u32, &str> = formats.iter().map(|f| (f.id, f.name.as_str())).collect();
    let mut rows = Vec::new();
    while let Some((ts, index)) = events.merge.peek() {
        let stream = events.merge.stream(index);
        let record = stream.record();
        let name = names[&common.id(record).unwrap()].to_owned();
        rows.push((common.pid(record).unwrap(), stream.cpu, (ts + 500) / 1000, name));
        events.merge.advance();
    }
    let text = text("raw_folder.trace.txt");
    let expected: Vec<_> = text.lines().map(kernel_row).collect();
    for (number, (row, expected)) in rows.iter().zip(&expected).enumerate() {
        assert_eq!(row, expected, "row {number}");
    }
    assert_eq!((rows.len(), expected.len()), (1936, 1936));
}

#[test]
fn raw_pages_become_rows_and_their_losses_issues() {
    let out = tempfile::tempdir().unwrap();
    let summary = import(&data("raw_folder"), out.path());
    let text = text("raw_folder.trace.txt");
    let count = |event: &str| text.lines().map(kernel_row).filter(|row| row.3 == event).count() as u64;
    for event in ["sched_waking", "kernel_stack", "sched_switch"] {
        assert_eq!(summary.tables[event], count(event), "{event}");
    }
    let told: Vec<_> = summary.issues.iter().map(|issue| (issue.kind, issue.count)).collect();
    assert_eq!(told, [("no_manifest", 1), ("lost_events", 738)], "{:?}", summary.issues);
}

#[test]
fn every_event_of_a_trace_has_its_row() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("trace.dat");
    std::fs::write(&file, fixture("ftrace/aarch64-fgraph.dat")).unwrap();
    let graph = import(&file, &out.path().join("graph"));
    let report = text("ftrace/aarch64-fgraph.report.txt");
    let entries = report.lines().filter(|line| line.contains(": funcgraph_entry: ")).count() as u64;
    // trace-cmd prints a call that calls nothing and its return in one line, `name();`.
    let leaves = report.lines().filter(|line| line.ends_with("();")).count() as u64;
    let exits = report.lines().filter(|line| line.contains(": funcgraph_exit: ")).count() as u64;
    assert_eq!((graph.tables["funcgraph_entry"], graph.tables["funcgraph_exit"]), (entries, exits + leaves));
    assert!(graph.issues.is_empty(), "{:?}", graph.issues);

    std::fs::write(&file, fixture("ftrace/instances-v7-zstd.dat")).unwrap();
    let instances = import(&file, &out.path().join("instances"));
    let told: Vec<_> = instances.issues.iter().map(|issue| (issue.kind, issue.count)).collect();
    assert_eq!(told, [("lost_events", 3203)], "{:?}", instances.issues);
    let report = text("ftrace/instances.report.txt");
    for event in ["sched_waking", "softirq_raise", "softirq_entry", "sched_switch"] {
        let lines = report.lines().filter(|line| line.contains(&format!(": {event}: "))).count() as u64;
        assert_eq!(instances.tables[event], lines, "{event}");
    }
}

/// A sequence of numbers that is the same in every run.
fn random(seed: u64) -> impl FnMut() -> usize {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    }
}

#[test]
fn damaged_traces_are_imported_as_far_as_they_go() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("trace.dat");
    let mut rows = 0;
    for (name, seed) in [("instances-v6", 1), ("instances-v7-zstd", 2), ("stack", 3)] {
        let whole = fixture(&format!("ftrace/{name}.dat"));
        let mut next = random(seed);
        for round in 0..25 {
            let mut data = whole.clone();
            match round % 3 {
                0 => data.truncate(data.len() / 2 + next() % (data.len() / 2)),
                // Anywhere; and where the pages of the uncompressed file are.
                kind => {
                    let start = if kind == 1 { 0 } else { data.len() * 9 / 10 };
                    for _ in 0..100 {
                        let at = start + next() % (data.len() - start);
                        data[at] = next() as u8;
                    }
                }
            }
            std::fs::write(&file, &data).unwrap();
            let folder = out.path().join(format!("{name}{round}"));
            match perfcase_import::import(&file, &folder, &Options::default(), &mut |_| true) {
                Ok(summary) => {
                    let is_told = summary.issues.iter().any(|i| matches!(i.kind, "truncated" | "corrupt"));
                    assert!(is_told || round % 3 != 0, "{name}, round {round}: the cut is not told");
                    rows += summary.tables.get("sched_switch").copied().unwrap_or(0);
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
    assert!(rows > 10_000, "{rows} rows");
}
