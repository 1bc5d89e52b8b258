//! Events as text against what `trace-cmd report` printed of the same files, line by line.

use std::time::Duration;

use perfcase_decode::ftrace::Events;
use perfcase_import::traceevent::client::{CommandLine, PrintError};
use perfcase_import::traceevent::output::{PrintOptions, Printed};
use perfcase_import::traceevent::{perf_text, trace_text};

use crate::support::fixture::{fixture, text};

/// The printed lines of a trace.dat, and the problems.
fn printed(name: &str, options: &PrintOptions) -> (Vec<String>, Vec<Printed>) {
    let data = fixture(&format!("ftrace/{name}.dat"));
    let events = Events::trace_dat(&data[..]).unwrap();
    let mut child = CommandLine(vec![env!("CARGO_BIN_EXE_eventprinter").into()]);
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    trace_text::print(events, options, &mut child, &mut |printed| {
        match printed {
            Printed::Line(text) => lines.extend(text.split('\n').map(str::to_owned)),
            problem => problems.push(problem),
        }
        true
    })
    .unwrap();
    (lines, problems)
}

#[test]
fn every_line_is_the_one_that_trace_cmd_reports() {
    for (name, report) in [
        ("aarch64-v6", "aarch64-v6"),
        ("x86_64-v6", "x86_64-v6"),
        ("aarch64-v7-zstd", "aarch64-v7-zstd"),
        ("aarch64-function", "aarch64-function"),
        ("aarch64-fgraph", "aarch64-fgraph"),
        ("stack", "stack"),
        ("instances-v6", "instances"),
        ("instances-v7-zstd", "instances"),
        ("instances-16k-pages", "instances-16k-pages"),
    ] {
        let (lines, problems) = printed(name, &PrintOptions::default());
        assert_eq!(problems, [], "{name}");
        let report = text(&format!("ftrace/{report}.report.txt"));
        let expected: Vec<&str> = report.lines().collect();
        for (number, (line, expected)) in lines.iter().zip(&expected).enumerate() {
            assert_eq!(line, expected, "{name}, line {}", number + 1);
        }
        assert_eq!(lines.len(), expected.len(), "{name}");
    }
}

#[test]
fn one_event_and_a_limit() {
    for event in ["sched_switch", "sched:sched_switch"] {
        let options = PrintOptions { event: Some(event.into()), limit: Some(5), ..PrintOptions::default() };
        let (lines, problems) = printed("aarch64-v6", &options);
        assert_eq!(problems, []);
        let report = text("ftrace/aarch64-v6.report.txt");
        let switches: Vec<&str> = report.lines().filter(|line| line.contains(" sched_switch: ")).take(5).collect();
        assert_eq!(lines[1..], switches);
    }
}

/// The time of a line of perf script, in µs.
fn time(line: &str) -> u64 {
    let (_, rest) = line.split_once("] ").unwrap();
    rest.split_once(": ").unwrap().0.trim().replace('.', "").parse().unwrap()
}

#[test]
fn every_line_is_the_one_that_perf_script_prints() {
    for (name, count) in
        [("aarch64-sched", 4172), ("aarch64-offcpu", 12690), ("aarch64-kwork", 179), ("x86_64-sched", 4828)]
    {
        let file = fixture(&format!("perf_text/{name}.data"));
        let mut child = CommandLine(vec![env!("CARGO_BIN_EXE_eventprinter").into()]);
        let (mut lines, mut problems) = (Vec::new(), Vec::new());
        let mut sink = |printed| {
            match printed {
                Printed::Line(text) => lines.push(text),
                problem => problems.push(problem),
            }
            true
        };
        perf_text::print(&file, None, &PrintOptions::default(), &mut child, &mut sink).unwrap();
        assert_eq!(problems, [], "{name}");
        let script = text(&format!("perf_text/{name}.script.txt"));
        let mut expected: Vec<&str> = script.lines().collect();
        // perf prints a record that its buffers gave late where it came, behind younger ones: once in aarch64-offcpu.
        let inversions = expected.windows(2).filter(|pair| time(pair[1]) < time(pair[0])).count();
        assert_eq!(inversions, usize::from(name == "aarch64-offcpu"), "{name}");
        expected.sort_by_key(|line| time(line));
        for (number, (line, expected)) in lines.iter().zip(&expected).enumerate() {
            assert_eq!(line, expected, "{name}, line {}", number + 1);
        }
        assert_eq!((lines.len(), expected.len()), (count, count), "{name}");
    }
}

#[test]
fn damaged_traces_are_printed_as_far_as_they_go() {
    let whole = fixture("ftrace/instances-v6.dat");
    let formats = whole.windows(12).position(|window| window == b"header_event").unwrap()..whole.len() / 8;
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let (mut printed, mut told) = (0, 0);
    for round in 0..40 {
        let mut data = whole.clone();
        for _ in 0..200 {
            let (start, length) = if round % 2 == 0 { (formats.start, formats.len()) } else { (0, data.len()) };
            let at = start + next() % length;
            data[at] = next() as u8;
        }
        let Ok(events) = Events::trace_dat(&data[..]) else { continue };
        // Damage may make the library ask for any amount of memory.
        let limited = "ulimit -v 2000000 && exec \"$0\"";
        let child = ["sh", "-c", limited, env!("CARGO_BIN_EXE_eventprinter")];
        let mut child = CommandLine(child.map(Into::into).to_vec());
        let options =
            PrintOptions { limit: Some(500), deadline: Duration::from_millis(500), ..PrintOptions::default() };
        let outcome = trace_text::print(events, &options, &mut child, &mut |one| {
            match one {
                Printed::Line(_) => printed += 1,
                Printed::Problem { .. } => told += 1,
            }
            true
        });
        assert!(matches!(outcome, Ok(()) | Err(PrintError::Deaths { .. })), "{outcome:?}");
    }
    assert!(printed > 1000 && told > 10, "{printed} lines, {told} problems");
}

#[test]
fn an_event_that_is_not_there_is_said_to_be_missing() {
    let options = PrintOptions { event: Some("sched_swich".into()), ..PrintOptions::default() };
    let (lines, problems) = printed("aarch64-v6", &options);
    let message = "the trace has no event sched_swich".to_owned();
    assert_eq!((lines, problems), (vec!["cpus=2".to_owned()], vec![Printed::Problem { offset: None, message }]));
    let mut child = CommandLine(vec![env!("CARGO_BIN_EXE_eventprinter").into()]);
    let mut printed = Vec::new();
    let file = fixture("perf_text/aarch64-kwork.data");
    perf_text::print(&file, None, &options, &mut child, &mut |one| {
        printed.push(one);
        true
    })
    .unwrap();
    let message = "the recording has no tracepoint sched_swich with a format".to_owned();
    assert_eq!(printed, [Printed::Problem { offset: None, message }]);
}
