//! Whole files through the decoder.

use perfcase_archive::Content;

use super::*;
use crate::decoders::testing::rows;
use crate::session::SourceInfo;
use crate::source::run;

const COLUMNS: &str = "ts_ns interval_ns cpu aggregate event unit count status running_ratio is_scaled";

/// The rows of a file, and the kinds of its issues.
fn import(text: &str, start_ns: Option<i64>, options: Options) -> (Vec<String>, Vec<&'static str>) {
    let directory = tempfile::tempdir().unwrap();
    let mut session = Session::new(directory.path(), start_ns);
    let source = session.source(SourceInfo { name: "pmc".into(), ..SourceInfo::default() });
    let mut sources = vec![open(Content::from_bytes(text.as_bytes()), source, options)];
    run(&mut sources, &mut session, &mut |_, _| true);
    let kinds = session.model.issues.list().iter().map(|issue| issue.kind).collect();
    (rows(&mut session.sink.tables.pmc_interval, COLUMNS), kinds)
}

#[test]
fn intervals_lie_on_the_captures_clock() {
    let text = "# started on Sat Nov 21 00:09:11 2026\n\n\
        \x20    1.000000100,CPU0,500,,cycles,1000,100.00,1.000,GHz\n\
        \x20    1.000000100,CPU1,<not counted>,,cycles,0,100.00,,\n\
        \x20    2.500000100,CPU0,700,,cycles,1000,50.00,1.000,GHz\n";
    let options = Options { started_ns: Some(5_000_000_000), ..Options::default() };
    let (rows, issues) = import(text, Some(4_000_000_000), options);
    assert_eq!(
        rows,
        [
            "1000000000 1000000100 0 - cycles - 500 counted 1 false",
            "1000000000 1000000100 1 - cycles - - not_counted - -",
            "2000000100 1500000000 0 - cycles - 700 counted 0.5 true",
        ]
    );
    assert_eq!(issues, [""; 0]);
}

#[test]
fn the_interval_in_which_the_command_begins_is_as_long_as_it_ran() {
    let text: String = [1, 2, 3].map(|s| format!("     {s}.000000000,100,,context-switches,1000,100.00,,\n")).concat();
    let lengths = |command_ns| {
        let options = Options { started_ns: Some(5_000_000_000), command_ns: Some(command_ns), ..Options::default() };
        let (rows, issues) = import(&text, Some(4_000_000_000), options);
        assert_eq!(issues, [""; 0]);
        rows.iter().map(|row| row.split(' ').nth(1).unwrap().parse().unwrap()).collect::<Vec<i64>>()
    };
    assert_eq!(lengths(4_900_000_000), [1_000_000_000, 1_000_000_000, 1_000_000_000]);
    assert_eq!(lengths(5_700_000_000), [300_000_000, 1_000_000_000, 1_000_000_000]);
    assert_eq!(lengths(6_250_000_000), [1_000_000_000, 750_000_000, 1_000_000_000]);
}

#[test]
fn a_lone_file_begins_at_zero() {
    let text = "     0.200267160,402.48,msec,task-clock,402477757,100.00,,\n";
    let (rows, issues) = import(text, None, Options::default());
    assert_eq!(rows, ["0 200267160 - - task-clock msec 402.48 counted 1 false"]);
    assert_eq!(issues, [""; 0]);
}

#[test]
fn damage_and_what_is_left_out_are_issues() {
    let text = "     1.000000000;S0;2;400.86;msec;task-clock;400855391;100.00;2.004;CPUs utilized\n\
        garbage\n\
        \x20    1.000000000;S0;1;<not supported>;;cycles;0;100.00;;\n\
        \x20        summary;S0;2;602.87;msec;task-clock;602868896;100.00;;\n\
        \x20    2.000000000;S0;2;400.8";
    let (rows, issues) = import(text, None, Options::default());
    assert_eq!(
        rows,
        ["0 1000000000 - S0 task-clock msec 400.86 counted 1 false", "0 1000000000 - S0 cycles - - not_supported - -",]
    );
    assert_eq!(issues, ["unparsed_line", "truncated", "summary_lines", "not_supported"]);
}

#[test]
fn what_people_read_has_the_length_of_the_run() {
    let text = "# started on Sat\n1 2 3 of the command's own\n\n Performance counter stats for 'true':\n\n\
        \x20        40083904      cycles            #    1.000 GHz        (49.99%)\n\
        \x20            1.50 msec task-clock        #    0.871 CPUs utilized\n\
        \x20  <not supported>      branches\n\n\
        \x20      0.046008592 seconds time elapsed\n\n\
        \x20      0.025268000 seconds user\n\n\n\
        Some events weren't counted. Try disabling the NMI watchdog:\n\techo 0 > /proc/sys/kernel/nmi_watchdog\n";
    let (rows, issues) = import(text, None, Options::default());
    assert_eq!(
        rows,
        [
            "0 46008592 - - cycles - 40083904 counted 0.4999 true",
            "0 46008592 - - task-clock msec 1.5 counted 1 false",
            "0 46008592 - - branches - - not_supported - -",
        ]
    );
    assert_eq!(issues, ["not_supported"]);
}

#[test]
fn what_people_read_at_an_interval() {
    let text = "#           time CPU             counts unit events\n\
        \x20    1.000100000 CPU0              3,528      cs          #    3.495 K/sec\n\
        \x20    1.000100000 CPU1      <not counted>      cs                             (0.00%)\n\
        \x20    2.000200000 CPU0                  7      cs\n\
        nonsense\n";
    let (rows, issues) = import(text, None, Options::default());
    assert_eq!(
        rows,
        [
            "0 1000100000 0 - cs - 3528 counted 1 false",
            "0 1000100000 1 - cs - - not_counted 0 true",
            "1000100000 1000100000 0 - cs - 7 counted 1 false",
        ]
    );
    assert_eq!(issues, ["unparsed_line"]);
}

#[test]
fn an_empty_run_says_so() {
    let (rows, issues) = import("# started on Sat\n\n", None, Options::default());
    assert_eq!((rows.len(), issues), (0, vec!["no_records"]));
}

#[test]
fn a_run_that_counted_nothing_is_a_warning() {
    let (rows, issues) = import("     1.000000000,<not supported>,,cs,app,0,100.00,,\n", None, Options::default());
    assert_eq!((rows.len(), issues), (1, vec!["not_supported", "nothing_counted"]));
}

/// Lines of `-x ' '` of perf 6.1: with units, without units, not counted, with a deviation, by interval and CPU.
#[test]
fn spaces_separate_too() {
    let text = "0.59 msec task-clock 587750 100.00 0.650 CPUs utilized\n\
        49  page-faults 587750 100.00 83.369 K/sec\n\
        <not supported>  cycles 0 100.00  \n\
        0.58 msec task-clock 1.64% 575558 100.00 1.387 CPUs utilized\n";
    let (rows, issues) = import(text, None, Options::default());
    assert_eq!(
        rows,
        [
            "0 - - - task-clock msec 0.59 counted 1 false",
            "0 - - - page-faults - 49 counted 1 false",
            "0 - - - cycles - - not_supported - -",
            "0 - - - task-clock msec 0.58 counted 1 false",
        ]
    );
    assert_eq!(issues, ["not_supported"]);
    let text = "     0.100138671 CPU0 100.24 msec cpu-clock 100240346 100.00 1.002 CPUs utilized\n\
        \x20    0.100138671 CPU1 82  cs 100240843 50.00 818.037 /sec\n";
    let (rows, issues) = import(text, None, Options::default());
    assert_eq!(
        rows,
        ["0 100138671 0 - cpu-clock msec 100.24 counted 1 false", "0 100138671 1 - cs - 82 counted 0.5 true",]
    );
    assert_eq!(issues, [""; 0]);
}

#[test]
fn a_banner_above_the_counters_is_told_and_no_damage() {
    let text = "$ perf stat -x, true\nhost: web-1\n\n0.59,msec,task-clock,587750,100.00,,\ngarbage\n";
    let (rows, issues) = import(text, None, Options::default());
    assert_eq!(rows, ["0 - - - task-clock msec 0.59 counted 1 false"]);
    assert_eq!(issues, ["unparsed_line", "banner"]);
    let text = "web-1\n{\"counter-value\" : \"7\", \"unit\" : \"\", \"event\" : \"cs\", \"event-runtime\" : 9, \"pcnt-running\" : 100.00}\nx\n";
    let (rows, issues) = import(text, None, Options::default());
    assert_eq!((rows.len(), issues), (1, vec!["unparsed_line", "banner"]));
}
