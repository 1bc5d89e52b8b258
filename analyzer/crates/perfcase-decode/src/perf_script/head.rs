//! The first line of a sample: `comm pid/tid [cpu] seconds.fraction: period event: rest`. The recording and `-F` decide
//! which of these are printed; the tid always is.

use crate::NO_TIME;

/// What the first line of a sample says.
#[derive(Debug, PartialEq)]
pub struct Head<'a> {
    /// The thread's name; empty where it was not printed.
    pub comm: &'a str,
    /// The process, where it was printed.
    pub pid: Option<i32>,
    /// The thread; -1 for one that is exiting.
    pub tid: i32,
    /// The CPU.
    pub cpu: Option<u32>,
    /// The time in ns; [`NO_TIME`] where it was not printed.
    pub clock_ns: i64,
    /// The period of the event: how many events the sample stands for.
    pub period: Option<u64>,
    /// What follows the time.
    pub what: What<'a>,
}

/// What a line is about.
#[derive(Debug, PartialEq)]
pub enum What<'a> {
    /// A sample: the event's name, empty where it was not printed, and what follows it on the line.
    Sample(&'a str, &'a str),
    /// A record that is no sample (`PERF_RECORD_MMAP2 …`).
    Record(&'a str),
}

impl Head<'_> {
    /// Tells whether the head is only words and a number: other lines may look like that too.
    pub fn is_vague(&self) -> bool {
        self.is_bare() || self.what == What::Sample("", "")
    }

    /// Tells whether it has neither a time nor a CPU.
    pub fn is_bare(&self) -> bool {
        self.clock_ns == NO_TIME && self.cpu.is_none()
    }
}

/// Tells whether perf separates words by this; a name may have the spaces of other scripts in it.
fn is_space(letter: char) -> bool {
    letter.is_ascii_whitespace()
}

/// Splits a line behind its first word.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_ascii_start();
    if text.is_empty() {
        return None;
    }
    let end = text.find(is_space).unwrap_or(text.len());
    Some((&text[..end], &text[end..]))
}

/// Reads the first line of a sample; `None` for any other line.
pub fn parse(line: &str) -> Option<Head<'_>> {
    anchored(line).or_else(|| bare(line))
}

fn anchored(line: &str) -> Option<Head<'_>> {
    // The thread's name may have any characters: the time, or else the CPU, shows where it ends.
    let mut rest = line;
    let mut start = 0;
    while let Some((token, after)) = word(rest) {
        let at = line.len() - after.len() - token.len();
        let is_anchor = time(token).is_some() || (cpu(token).is_some() && !has_time(after));
        if is_anchor && let Some(head) = around(line, at, token, after) {
            return Some(head);
        }
        rest = after;
        start += 1;
        // A line of a trace may be long. A head is at its beginning.
        if start > 64 {
            return None;
        }
    }
    None
}

/// Reads a head without a time and a CPU, by its event: `comm tid [period] event: rest`; or `comm tid` alone.
fn bare(line: &str) -> Option<Head<'_>> {
    // Lines of callchains are indented by a tab.
    if line.starts_with('\t') {
        return None;
    }
    let mut rest = line;
    for _ in 0..64 {
        let Some((token, after)) = word(rest) else { break };
        let at = line.len() - after.len() - token.len();
        if let (Some(event), Some((comm, ids, period))) = (event(token), thread(&line[..at])) {
            let what = What::Sample(event, after);
            return Some(Head { comm, pid: ids.0, tid: ids.1, cpu: None, clock_ns: NO_TIME, period, what });
        }
        rest = after;
    }
    let (comm, last) = split_last(line)?;
    let (pid, tid) = ids(last).filter(|_| !comm.trim_ascii().is_empty() && !line.starts_with(' '))?;
    let what = What::Sample("", "");
    Some(Head { comm: comm.trim_ascii(), pid, tid, cpu: None, clock_ns: NO_TIME, period: None, what })
}

/// Columns of a period, with the space before it (`%10` in process_event of tools/perf/builtin-script.c).
const PERIOD_COLUMNS: usize = 11;

/// The process, where it was printed, and the thread.
type Ids = (Option<i32>, i32);

/// Reads `comm tid`, with or without a period behind it: a name may end in a number.
fn thread(text: &str) -> Option<(&str, Ids, Option<u64>)> {
    let (before, last) = split_last(text)?;
    if let (Ok(period), Some((comm, first))) = (last.parse::<u64>(), split_last(before))
        && let Some(found) = ids(first)
        && (found.0.is_some() || text.trim_ascii_end().len() - before.trim_ascii_end().len() >= PERIOD_COLUMNS)
    {
        return Some((comm.trim_ascii(), found, Some(period)));
    }
    Some((before.trim_ascii(), ids(last)?, None))
}

fn has_time(text: &str) -> bool {
    word(text).is_some_and(|(token, _)| time(token).is_some())
}

/// Reads the head that has its time or CPU in the token at `at`.
fn around<'a>(line: &'a str, at: usize, token: &str, after: &'a str) -> Option<Head<'a>> {
    let clock_ns = time(token).unwrap_or(NO_TIME);
    let mut before = line[..at].trim_ascii_end();
    let mut on = cpu(token);
    // From the right: flags of interrupts and latency, the CPU, the thread, its name.
    for _ in 0..2 {
        let (rest, last) = split_last(before)?;
        match cpu(last) {
            Some(number) if on.is_none() => {
                on = Some(number);
                before = rest;
            }
            _ if ids(last).is_none() && clock_ns != NO_TIME => before = rest,
            _ => break,
        }
    }
    let (comm, last) = split_last(before)?;
    let (pid, tid) = ids(last)?;
    let what = what(after)?;
    Some(Head { comm: comm.trim_ascii(), pid, tid, cpu: on, clock_ns, period: what.0, what: what.1 })
}

fn split_last(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_ascii_end();
    if text.is_empty() {
        return None;
    }
    let at = text.rfind(is_space).map_or(0, |at| at + 1);
    Some((&text[..at], &text[at..]))
}

/// Reads `[period] event: rest`, or a record's name, or nothing.
fn what(text: &str) -> Option<(Option<u64>, What<'_>)> {
    let Some((first, after)) = word(text) else { return Some((None, What::Sample("", ""))) };
    if first.starts_with("PERF_RECORD_") {
        return Some((None, What::Record(text.trim_ascii())));
    }
    let (period, event, rest) = match first.parse::<u64>() {
        Ok(period) => {
            let (event, rest) = word(after)?;
            (Some(period), event, rest)
        }
        Err(_) => (None, first, after),
    };
    Some((period, What::Sample(self::event(event)?, rest)))
}

/// Reads `cycles:u:`.
fn event(word: &str) -> Option<&str> {
    word.strip_suffix(':').filter(|name| name.starts_with(|c: char| !c.is_ascii_digit() && c != ':'))
}

/// Reads `1836` or `1836/1840`.
fn ids(text: &str) -> Option<Ids> {
    match text.split_once('/') {
        Some((pid, tid)) => Some((Some(pid.parse().ok()?), tid.parse().ok()?)),
        None => Some((None, text.parse().ok()?)),
    }
}

/// Reads `[003]`.
fn cpu(text: &str) -> Option<u32> {
    text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Reads `18.441431:` or `18.441431007:`, in ns. Other tools that write perf's text may have another number of digits.
fn time(text: &str) -> Option<i64> {
    let (seconds, fraction) = text.strip_suffix(':')?.split_once('.')?;
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if !digits(seconds) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let ns: i64 = fraction.parse::<i64>().ok()? * 10_i64.pow(9 - fraction.len() as u32);
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// Gives the system and the name of a tracepoint's event; `None` for an event like `cycles:u`.
pub fn tracepoint(event: &str) -> Option<(&str, &str)> {
    let (system, name) = event.split_once(':')?;
    let is_modifier = name.len() <= 8 && name.bytes().all(|b| b"ukhHGIpPSDWeb".contains(&b));
    (!is_modifier && !system.is_empty() && !system.contains('/')).then_some((system, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> (String, Option<i32>, i32, Option<u32>, i64, Option<u64>, String) {
        let head = parse(line).unwrap_or_else(|| panic!("{line}"));
        let what = match head.what {
            What::Sample(event, rest) => format!("{event}|{}", rest.trim()),
            What::Record(text) => text.to_string(),
        };
        (head.comm.to_string(), head.pid, head.tid, head.cpu, head.clock_ns, head.period, what)
    }

    #[test]
    fn forms_of_a_head() {
        assert_eq!(
            of("perf  1836 [000]    18.441431:          1   cycles: "),
            ("perf".into(), None, 1836, Some(0), 18_441_431_000, Some(1), "cycles|".into())
        );
        assert_eq!(
            of("  Web Content  12/13  [011]  7.000000001:  5 cpu/event=0x3c,name=x/u:  7f sym+0x1 (lib.so)"),
            (
                "Web Content".into(),
                Some(12),
                13,
                Some(11),
                7_000_000_001,
                Some(5),
                "cpu/event=0x3c,name=x/u|7f sym+0x1 (lib.so)".into()
            )
        );
        assert_eq!(
            of("            perf  2029 [000]    53.810485:  raw_syscalls:sys_enter: NR 29 (e, 2400, 0)"),
            (
                "perf".into(),
                None,
                2029,
                Some(0),
                53_810_485_000,
                None,
                "raw_syscalls:sys_enter|NR 29 (e, 2400, 0)".into()
            )
        );
        assert_eq!(
            of("perf-exec  1847    30.969810:        768       cycles:u:  ff sym (k)"),
            ("perf-exec".into(), None, 1847, None, 30_969_810_000, Some(768), "cycles:u|ff sym (k)".into())
        );
        // Without a time; with flags; without a name; a name like a head; a thread that is exiting.
        assert_eq!(
            of("a b  1/2 [003]  9 cycles: ff"),
            ("a b".into(), Some(1), 2, Some(3), NO_TIME, Some(9), "cycles|ff".into())
        );
        assert_eq!(of("sh  7 [001] d..2.  1.000001: sched:sched_switch: x").3, Some(1));
        assert_eq!(of("   525/525   [000]  5858.274419844:   10 page-faults:     7f").0, "");
        assert_eq!(of("[002] 1.000001: x  5 [000]  2.000002: 1 cycles:").0, "[002] 1.000001: x");
        assert_eq!(of(":-1    -1/-1    [000]  2.000002: sched:sched_switch: x").2, -1);
    }

    #[test]
    fn heads_without_time_and_cpu() {
        let bare =
            |comm: &str, pid, tid, period, what: &str| (comm.into(), pid, tid, None, NO_TIME, period, what.into());
        // As perf prints -F comm,tid,event; with a pid; with a period; without a name; with an address on the line.
        assert_eq!(of("sh   474 page-faults: "), bare("sh", None, 474, None, "page-faults|"));
        assert_eq!(of("sh   474/475   cycles:u: "), bare("sh", Some(474), 475, None, "cycles:u|"));
        assert_eq!(of("sh   474         50 page-faults: "), bare("sh", None, 474, Some(50), "page-faults|"));
        assert_eq!(of("sh   474/474         50 cycles: "), bare("sh", Some(474), 474, Some(50), "cycles|"));
        assert_eq!(of("pool 3   474 cycles: "), bare("pool 3", None, 474, None, "cycles|"));
        assert_eq!(of("a\u{a0}b   474 cycles: "), bare("a\u{a0}b", None, 474, None, "cycles|"));
        assert_eq!(of("a\u{3000}\u{a0} 474   50 cycles: "), bare("a\u{3000}\u{a0} 474", None, 50, None, "cycles|"));
        assert_eq!(of("  474 page-faults: "), bare("", None, 474, None, "page-faults|"));
        assert_eq!(of("sh 474 cycles:   7f f+0x1 (/x)"), bare("sh", None, 474, None, "cycles|7f f+0x1 (/x)"));
        // Without an event, only with a thread, a CPU or a time.
        assert_eq!(of("Web Content   474 "), bare("Web Content", None, 474, None, "|"));
        assert_eq!(of("sh   474 [003] ").3, Some(3));
        assert_eq!(of("sh   474  5856.576759: ").4, 5_856_576_759_000);
        for line in ["sh 474 page-faults: ", "sh 474", "sh 474 [003] "] {
            assert!(parse(line).unwrap().is_vague(), "{line}");
        }
        assert!(!parse("sh 474 [003] cycles:").unwrap().is_vague());
    }

    #[test]
    fn events_of_tracepoints() {
        assert_eq!(tracepoint("sched:sched_switch"), Some(("sched", "sched_switch")));
        for event in ["cycles:u", "cycles", "cpu/cycles/:k", ":x"] {
            assert_eq!(tracepoint(event), None, "{event}");
        }
    }

    #[test]
    fn times_of_other_digits() {
        for (time, ns) in [("1.5:", 1_500_000_000), ("1.0001:", 1_000_100_000), ("1.123:", 1_123_000_000)] {
            assert_eq!(of(&format!("a 1 [000] {time} 1 cycles:")).4, ns);
        }
        assert!(parse("a 1 [000] 1.0123456789: 1 cycles:").is_none_or(|head| head.is_vague()));
    }

    #[test]
    fn records_and_other_lines() {
        assert_eq!(of("perf 5 [000] 1.000001: PERF_RECORD_LOST lost 31").6, "PERF_RECORD_LOST lost 31");
        for line in [
            "",
            "# comment",
            "\tffffceb076d823b8 generic_exec_single+0xd4 ([kernel.kallsyms])",
            "  <idle>-0     [000]  1.000001: sched_switch: prev_comm=x",
            "hello 1.000001: world",
            "a 1 [000] 1.000001: 1 cycles",
            "  ffffffff81000010 ns::f+0x10 (/x)",
            "  main.c:12",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
