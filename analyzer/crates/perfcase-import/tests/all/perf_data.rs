//! Recordings of every kind against what perf itself says of them (`data/perf/README.md`).

use std::collections::BTreeMap;

use crate::support::fixture::{fixture, text};
use crate::support::tables::Table;
use perfcase_decode::perf_data::record::kind;
use perfcase_decode::perf_data::scan::scan_parts;
use perfcase_import::{Options, import};

const ALL: [&str; 13] = [
    "build-id-mmap",
    "compressed",
    "compressed-pipe",
    "directory",
    "dwarf",
    "file",
    "group",
    "killed",
    "no-time",
    "pipe",
    "rich",
    "stat",
    "switch-cpu-wide",
];

/// A sample as `perf script` prints it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    time_ns: Option<i64>,
    pid: i32,
    tid: i32,
    cpu: Option<u32>,
    period: u64,
    event: String,
    address: Option<u64>,
    /// The callchain, for fixtures recorded with it in `perf script`.
    chain: Vec<u64>,
}

/// `31168/31168 [000]  3815.304164472:         10 page-faults:     7efc20c02c40`, then a line a caller.
fn perf_script(name: &str) -> Vec<Line> {
    let mut list: Vec<Line> = Vec::new();
    for line in text(&format!("perf/{name}.script")).lines() {
        if let Some(frame) = line.strip_prefix('\t') {
            let address = frame.split_whitespace().next().expect("an address");
            list.last_mut().expect("a sample").chain.push(u64::from_str_radix(address, 16).expect("hex"));
        } else if !line.trim().is_empty() {
            list.push(parse(line).unwrap_or_else(|| panic!("{name}: {line}")));
        }
    }
    list
}

fn parse(line: &str) -> Option<Line> {
    let mut words = line.split_whitespace().peekable();
    let (pid, tid) = words.next()?.split_once('/')?;
    let cpu = words.next_if(|word| word.starts_with('[')).map(|word| word.trim_matches(['[', ']']).parse().unwrap());
    let time = words.next_if(|word| word.ends_with(':') && word.contains('.')).map(|word| {
        let (seconds, ns) = word.trim_end_matches(':').split_once('.').unwrap();
        seconds.parse::<i64>().unwrap() * 1_000_000_000 + ns.parse::<i64>().unwrap()
    });
    let period = words.next()?.parse().ok()?;
    let event = words.next()?.strip_suffix(':')?.to_string();
    let address = words.next().map(|word| u64::from_str_radix(word, 16).unwrap());
    Some(Line {
        time_ns: time,
        pid: pid.parse().ok()?,
        tid: tid.parse().ok()?,
        cpu,
        period,
        event,
        address,
        chain: Vec::new(),
    })
}

/// The same out of the imported tables.
fn imported(name: &str) -> Vec<Line> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("perf.data");
    if name == "directory" {
        std::fs::create_dir(&file).unwrap();
        for part in ["data", "data.0", "data.1"] {
            std::fs::write(file.join(part), fixture(&format!("perf/{name}.{part}"))).unwrap();
        }
    } else {
        std::fs::write(&file, fixture(&format!("perf/{name}.data"))).unwrap();
    }
    let out = folder.path().join("out");
    import(&file, &out, &Options::default(), &mut |_| true).unwrap();
    let table = |name: &str| Table::read(&out.join("tables"), name);
    let (samples, threads, events) = (table("sample"), table("thread"), table("perf_event"));
    let start_ns = table("capture").i64("start_clock_ns", 0).unwrap();
    let details = table("sample_detail");
    let addresses: BTreeMap<u64, Option<u64>> = (0..details.rows())
        .map(|row| (details.u64("sample_id", row).unwrap(), details.u64("data_address", row)))
        .collect();
    let (stacks, frames) = (table("stack"), table("frame"));
    let mut last_ns = i64::MIN;
    let line = |row: usize| {
        let utid = samples.u64("utid", row).map(|utid| utid as usize);
        let event = samples.u64("event_id", row).unwrap() as usize;
        let ts_ns = samples.i64("ts_ns", row);
        assert!(ts_ns.is_none_or(|ts| ts >= last_ns), "{name}: row {row} is not in the order of time");
        last_ns = ts_ns.unwrap_or(last_ns);
        let chain = samples.u64("stack_id", row).map(|stack| stacks.list("frame_ids", stack as usize));
        Line {
            time_ns: ts_ns.map(|ts| ts + start_ns),
            pid: utid.map_or(-1, |utid| threads.i64("pid", utid).unwrap_or(-1) as i32),
            tid: utid.map_or(-1, |utid| threads.i64("tid", utid).unwrap() as i32),
            cpu: samples.u64("cpu", row).map(|cpu| cpu as u32),
            period: samples.u64("period", row).unwrap(),
            event: events.text("name", event).unwrap(),
            address: addresses.get(&(row as u64)).copied().flatten(),
            chain: chain.unwrap_or_default().iter().map(|&f| frames.u64("address", f as usize).unwrap()).collect(),
        }
    };
    (0..samples.rows()).map(line).collect()
}

/// No file says how many there are: only a gap in the numbers can be seen.
#[test]
fn a_gap_in_the_files_of_a_directory_is_said() {
    for (there, lacking) in
        [(&["data", "data.0", "data.1"][..], None), (&["data", "data.1"], Some("data.0")), (&["data", "data.0"], None)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (file, out) = (folder.path().join("perf.data"), folder.path().join("out"));
        std::fs::create_dir(&file).unwrap();
        for part in there {
            std::fs::write(file.join(part), fixture(&format!("perf/directory.{part}"))).unwrap();
        }
        let done = import(&file, &out, &Options::default(), &mut |_| true).unwrap();
        let said: Vec<_> = done.issues.iter().filter(|issue| issue.kind == "missing_files").collect();
        assert_eq!(said.len(), usize::from(lacking.is_some()), "{there:?}: {said:?}");
        if let Some(lacking) = lacking {
            assert!(said[0].message.starts_with(&format!("{lacking} of the directory is not here")), "{said:?}");
            assert_eq!(said[0].count, 1);
        }
    }
}

#[test]
fn every_record_is_counted_as_perf_counts_it() {
    for name in ALL {
        let file = fixture(&format!("perf/{name}.data"));
        let parts = if name == "directory" {
            vec![fixture("perf/directory.data.0"), fixture("perf/directory.data.1")]
        } else {
            vec![]
        };
        let mut counts = counts(&file, &parts);
        let want: BTreeMap<String, u64> = text(&format!("perf/{name}.stats"))
            .lines()
            .map(|line| line.split_once(' ').unwrap())
            .filter(|(kind, _)| *kind != "TOTAL")
            .map(|(kind, count)| (kind.to_string(), count.parse().unwrap()))
            .collect();
        if name.contains("pipe") {
            // perf 6.1 has no --stats for pipes: its samples are counted by perf script below.
            assert!(want.is_empty());
            continue;
        }
        // perf counts what a compressed record holds besides it, as perfcase does.
        counts.retain(|_, count| *count > 0);
        assert_eq!(counts, want, "{name}");
    }
}

fn counts(file: &[u8], parts: &[Vec<u8>]) -> BTreeMap<String, u64> {
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let recording = scan_parts(file, &parts).unwrap();
    let mut counts: BTreeMap<u32, u64> = recording.counts.clone();
    for entry in recording.entries(file) {
        *counts.entry(recording.record(file, entry).unwrap().0.kind).or_default() += 1;
    }
    counts.into_iter().map(|(number, count)| (kind::name(number).unwrap().to_string(), count)).collect()
}

/// Kernel addresses as they are; of user addresses, which depend on the mappings, only that they are there.
fn kernel_part(chain: &[u64]) -> Vec<u64> {
    chain.iter().map(|&address| if address >> 63 == 1 { address } else { 0 }).collect()
}

#[test]
fn every_sample_is_as_perf_script_prints_it() {
    for name in ALL.into_iter().filter(|&name| name != "stat") {
        let (mut got, mut want) = (imported(name), perf_script(name));
        let has_chains = want.iter().any(|line| !line.chain.is_empty());
        want.iter_mut().for_each(|line| line.chain = kernel_part(&line.chain));
        for line in &mut got {
            line.chain = if has_chains { kernel_part(&line.chain) } else { Vec::new() };
            if want.iter().all(|line| line.address.is_none()) {
                line.address = None;
            }
        }
        assert!(!want.is_empty(), "{name}: perf printed nothing");
        got.sort();
        want.sort();
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got, want, "{name}");
        }
        assert_eq!(got.len(), want.len(), "{name}");
    }
}

/// perf writes event formats last: one that was killed has none, but the capture's folder may.
#[test]
fn a_killed_recording_is_decoded_by_the_formats_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fixture("perf/file.data");
    let recording = scan_parts(&whole, &[]).unwrap();
    let mut killed = whole.clone();
    killed[48..56].fill(0);
    let data =
        u64::from_le_bytes(whole[40..48].try_into().unwrap()) + u64::from_le_bytes(whole[48..56].try_into().unwrap());
    killed.truncate(data as usize);
    std::fs::write(folder.path().join("perf.data"), &killed).unwrap();
    let rows = |out: &str| {
        let out = folder.path().join(out);
        let summary = import(folder.path(), &out, &Options::default(), &mut |_| true).unwrap();
        let kinds: Vec<&str> = summary.issues.iter().map(|issue| issue.kind).collect();
        std::fs::remove_dir_all(&out).unwrap();
        (summary.tables["sched_switch"], kinds.contains(&"killed_recording"), kinds.contains(&"missing_format"))
    };
    assert_eq!(rows("without"), (0, true, true));
    for (system, text) in &recording.tracing.unwrap().formats {
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
        let path = folder.path().join("ftrace/raw/format").join(system);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(name), text).unwrap();
    }
    let switches = perf_script("file").iter().filter(|line| line.event == "sched:sched_switch").count();
    assert_eq!(rows("with"), (switches as u64, true, false));
}
