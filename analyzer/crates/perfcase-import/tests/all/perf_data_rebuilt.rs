//! Recordings that perf 6.1 cannot make give the same tables as the ones they were made from: other attribute sizes,
//! COMPRESSED2, big-endian machines, kernels before 4.14.

use std::collections::BTreeMap;

use crate::support::fixture::fixture;
use crate::support::rebuild::{with_attr_size, with_compressed_2, with_states_of_4_9};
use crate::support::swap::to_big_endian;
use crate::support::tables::Table;
use arrow_array::RecordBatch;
use perfcase_import::{Options, Summary, import};

/// Tables that say which file they come from.
const ABOUT_THE_FILE: [&str; 3] = ["capture", "source", "import_issue"];

struct Imported {
    summary: Summary,
    tables: BTreeMap<String, Vec<RecordBatch>>,
}

fn imported(file: &[u8]) -> Imported {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("perf.data");
    std::fs::write(&path, file).unwrap();
    let out = folder.path().join("out");
    let summary = import(&path, &out, &Options::default(), &mut |_| true).unwrap();
    let tables = summary.tables.keys().filter(|name| !ABOUT_THE_FILE.contains(&name.as_str()));
    let tables = tables.map(|name| (name.clone(), Table::read(&out.join("tables"), name).batches)).collect();
    Imported { summary, tables }
}

/// Compares every table; `except` names columns that may differ.
fn assert_same(got: &Imported, want: &Imported, except: &[(&str, &str)], what: &str) {
    assert_eq!(got.tables.keys().collect::<Vec<_>>(), want.tables.keys().collect::<Vec<_>>(), "{what}");
    assert!(want.tables["sample"].iter().map(RecordBatch::num_rows).sum::<usize>() > 0, "{what}: no samples");
    for (name, batches) in &want.tables {
        for (got, want) in got.tables[name].iter().zip(batches) {
            for (index, field) in want.schema().fields().iter().enumerate() {
                if !except.contains(&(name, field.name())) {
                    assert_eq!(got.column(index), want.column(index), "{what}: {name}.{}", field.name());
                }
            }
        }
        assert_eq!(got.tables[name].len(), batches.len(), "{what}: {name}");
    }
    let issues = |of: &Imported| of.summary.issues.iter().map(|i| (i.kind, i.count)).collect::<Vec<_>>();
    assert_eq!(issues(got), issues(want), "{what}");
}

#[test]
fn attributes_of_every_size() {
    for (name, sizes) in [("file", &[104, 112, 120, 136, 144, 200][..]), ("rich", &[112, 136]), ("no-time", &[72, 80])]
    {
        let file = fixture(&format!("perf/{name}.data"));
        let want = imported(&file);
        for &size in sizes {
            let got = imported(&with_attr_size(&file, size));
            assert_same(&got, &want, &[("perf_event", "attr_size_bytes")], &format!("{name} with {size} bytes"));
        }
    }
}

#[test]
fn a_newer_attribute_is_reported() {
    let mut file = with_attr_size(&fixture("perf/no-time.data"), 160);
    let at = file.len() - 16 - 4;
    file[at] = 1;
    let issues = imported(&file).summary.issues;
    let newer: Vec<_> = issues.iter().filter(|issue| issue.kind == "newer_attribute").collect();
    assert_eq!(newer.len(), 1);
    assert!(newer[0].message.contains("160 bytes"), "{}", newer[0].message);
}

#[test]
fn compressed_2_in_both_layouts() {
    let file = fixture("perf/compressed.data");
    let want = imported(&file);
    for overflow in [false, true] {
        let got = imported(&with_compressed_2(&file, overflow));
        assert_same(&got, &want, &[], &format!("COMPRESSED2, overflow {overflow}"));
    }
}

#[test]
fn states_of_an_old_kernel_are_the_same_states() {
    for name in ["perf_text/aarch64-sched.data", "perf_text/x86_64-sched.data"] {
        let file = fixture(name);
        let (got, want) = (imported(&with_states_of_4_9(&file)), imported(&file));
        assert_same(&got, &want, &[], name);
        let states = want.tables["thread_state"].iter().map(RecordBatch::num_rows).sum::<usize>();
        assert!(states > 100, "{name}: {states} states");
    }
}

#[test]
fn a_big_endian_machine_would_have_recorded_the_same() {
    for name in ["build-id-mmap", "file", "group", "no-time", "rich", "switch-cpu-wide"] {
        let file = fixture(&format!("perf/{name}.data"));
        let got = imported(&to_big_endian(&file));
        assert_same(&got, &imported(&file), &[], name);
    }
}

/// Copies of stack memory are bytes to the swapper, and no big-endian machine's stacks are unwound: all but what the
/// unwinding adds is the same.
#[test]
fn stacks_of_a_big_endian_machine_are_not_unwound() {
    let file = fixture("perf/dwarf.data");
    let (mut got, mut want) = (imported(&to_big_endian(&file)), imported(&file));
    let reasons = got.tables["stack"][0].column_by_name("end_reason").unwrap().clone();
    let reasons = reasons.as_any().downcast_ref::<arrow_array::StringArray>().unwrap();
    assert!(reasons.iter().flatten().any(|reason| reason == "not unwound on this architecture"));
    for imported in [&mut got, &mut want] {
        imported.tables.retain(|name, _| !matches!(name.as_str(), "stack" | "frame" | "dso"));
        imported.summary.issues.retain(|issue| issue.kind != "unwinding");
    }
    assert_same(&got, &want, &[("sample", "stack_id"), ("sample", "frame_id")], "dwarf");
}
