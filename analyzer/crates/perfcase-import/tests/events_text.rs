//! Events as text against what `trace-cmd report` printed of the same files, line by line.

use perfcase_import::decoders::ftrace::Events;
use perfcase_import::traceevent::client::CommandLine;
use perfcase_import::traceevent::trace_text::{PrintOptions, Printed, print};

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/ftrace/{name}.zst", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    zstd::decode_all(&packed[..]).unwrap()
}

/// The printed lines of a trace.dat, and the problems.
fn printed(name: &str, options: &PrintOptions) -> (Vec<String>, Vec<Printed>) {
    let data = fixture(&format!("{name}.dat"));
    let events = Events::trace_dat(&data[..]).unwrap();
    let mut child = CommandLine(vec![env!("CARGO_BIN_EXE_eventprinter").into()]);
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    print(events, options, &mut child, &mut |printed| {
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
        ("instances-v6", "instances"),
        ("instances-v7-zstd", "instances"),
        ("instances-16k-pages", "instances-16k-pages"),
    ] {
        let (lines, problems) = printed(name, &PrintOptions::default());
        assert_eq!(problems, [], "{name}");
        let report = String::from_utf8(fixture(&format!("{report}.report.txt"))).unwrap();
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
        let report = String::from_utf8(fixture("aarch64-v6.report.txt")).unwrap();
        let switches: Vec<&str> = report.lines().filter(|line| line.contains(" sched_switch: ")).take(5).collect();
        assert_eq!(lines[1..], switches);
    }
}
