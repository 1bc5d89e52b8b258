//! What `perf stat` prints for people: `1,234,567  cycles  # 1.0 GHz  (66.50%)`, once or at an interval (`-I`), for all
//! or each CPU, core, socket, thread. Numbers may have the separators of any locale.

use super::reading::{Line, Reading, Scope, Status, seconds_to_ns};

/// The units that perf prints before an event's name.
const UNITS: [&str; 15] =
    ["msec", "ns", "us", "ms", "Joules", "Watts", "KiB", "MiB", "GiB", "KB", "MB", "GB", "Bytes", "bytes", "C"];

/// Tells whether a file has this form, by its first bytes.
pub fn is_text(head: &str) -> bool {
    head.contains("Performance counter stats for") || head.lines().any(is_interval_header)
}

/// Tells whether a line is `#           time             counts unit events`, which is above intervals.
pub fn is_interval_header(line: &str) -> bool {
    let mut words = line.split_whitespace().filter(|word| *word != "#");
    line.starts_with('#') && words.next() == Some("time") && line.contains("counts") && line.ends_with("events")
}

/// A line of this form.
#[derive(Debug, PartialEq)]
pub enum Text {
    /// A line that the other forms have too.
    Line(Line),
    /// The heading of a new run.
    Heading,
    /// The length of the run, in ns.
    Elapsed(i64),
    /// The beginning of an advice of perf, which ends before the next blank line.
    Advice,
}

/// Reads a line.
pub fn parse(line: &str) -> Text {
    let nothing = Text::Line(Line::Nothing);
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return nothing;
    }
    if trimmed.starts_with("Performance counter stats for") {
        return Text::Heading;
    }
    if trimmed.starts_with("Some events weren't counted") {
        return Text::Advice;
    }
    let (left, has_metric) = match trimmed.find(" #") {
        Some(at) => (trimmed[..at].trim_end(), true),
        None => (trimmed, false),
    };
    let running = trailing_percent(trimmed);
    let words = words(left);
    let Some(at) = (0..words.len()).find(|&i| value(words[i], true).is_some()) else {
        // A group of metrics (TopdownL1) has no count.
        return if has_metric { nothing } else { Text::Line(Line::Unknown) };
    };
    // With -r: `0.0460 +- 0.0012 seconds time elapsed`.
    if let Some(seconds) = words.iter().position(|word| *word == "seconds").filter(|&i| i == at + 1 || i == at + 3) {
        return match words.get(seconds + 1..) {
            Some(["time", "elapsed", ..]) => match words[at].replace(',', ".").parse::<f64>() {
                Ok(seconds) if (0.0..9e9).contains(&seconds) => Text::Elapsed((seconds * 1e9).round() as i64),
                _ => Text::Line(Line::Unknown),
            },
            Some(["user" | "sys", ..]) => nothing,
            _ => Text::Line(Line::Unknown),
        };
    }
    match reading(&words, running) {
        Some(reading) => Text::Line(Line::Reading(reading)),
        // `CPU0   0.50  insn per cycle`: a further metric.
        None if has_metric => nothing,
        None => Text::Line(Line::Unknown),
    }
}

/// Gives the words before the metric. `<not counted>` is one word; percentages and deviations are left out.
fn words(left: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = left.trim_start();
    while !rest.is_empty() {
        let length = match rest {
            _ if rest.starts_with("<not counted>") => "<not counted>".len(),
            _ if rest.starts_with("<not supported>") => "<not supported>".len(),
            _ if rest.starts_with("( +-") || is_percent_in_parentheses(rest) => {
                let length = rest.find(')').map_or(rest.len(), |at| at + 1);
                rest = rest[length..].trim_start();
                continue;
            }
            _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

fn is_percent_in_parentheses(text: &str) -> bool {
    text.strip_prefix('(')
        .and_then(|t| t.split_once("%)"))
        .is_some_and(|(number, _)| number.trim().parse::<f64>().is_ok())
}

/// Reads `(66.50%)` at the end of a line: the share of time in which the counter ran.
fn trailing_percent(line: &str) -> Option<f64> {
    let inner = line.strip_suffix("%)")?;
    let (_, number) = inner.rsplit_once('(')?;
    number.trim().replace(',', ".").parse().ok().filter(|p: &f64| (0.0..=100.0).contains(p))
}

/// Reads `[time] [CPU0 | S0-D0-C0 2 | comm-tid] value [unit] event [cgroup]`.
fn reading(words: &[&str], percent: Option<f64>) -> Option<Reading> {
    let at_ns = seconds_to_ns(words.first()?);
    let words = if at_ns.is_some() { &words[1..] } else { words };
    let (scope, cpu_count, words) = scope(words)?;
    let is_clock = words.get(1).is_some_and(|unit| UNITS.contains(unit));
    let (value, status) = value(words.first()?, !is_clock)?;
    let (unit, names) = match words.get(1..)? {
        [unit, names @ ..] if UNITS.contains(unit) && !names.is_empty() => (Some((*unit).to_string()), names),
        names => (None, names),
    };
    let (event, cgroup) = names.split_first()?;
    if cgroup.len() > 1 || event.starts_with(|c: char| c.is_ascii_digit() || c == '(') {
        return None;
    }
    Some(Reading {
        at_ns,
        scope,
        cpu_count,
        cgroup: cgroup.first().map(|name| (*name).to_string()),
        event: (*event).to_string(),
        unit,
        value,
        status,
        running_ns: None,
        // perf prints the share only if it is below 100 %.
        running_ratio: percent.map(|p| p / 100.0).or((status == Status::Counted).then_some(1.0)),
        elapsed_ns: None,
    })
}

fn scope<'w, 'a>(words: &'w [&'a str]) -> Option<(Scope, Option<u32>, &'w [&'a str])> {
    let first = *words.first()?;
    if let Some(cpu) = first.strip_prefix("CPU").and_then(|n| n.parse().ok()) {
        return Some((Scope::Cpu(cpu), None, &words[1..]));
    }
    if super::csv::is_topology(first) {
        let count = words.get(1)?.parse().ok()?;
        return Some((Scope::Named(first.to_string()), Some(count), &words[2..]));
    }
    if value(first, true).is_some() {
        return Some((Scope::All, None, words));
    }
    // A thread: its name may have several words; its tid is at the end of the last.
    let is_thread = |word: &str| {
        word.rsplit_once('-').is_some_and(|(_, tid)| !tid.is_empty() && tid.bytes().all(|b| b.is_ascii_digit()))
    };
    let end = (1..words.len()).find(|&i| is_thread(words[i - 1]) && value(words[i], true).is_some())?;
    Some((Scope::Named(words[..end].join(" ")), None, &words[end..]))
}

/// Reads a count, or the reason why there is none. `is_whole` says that the number has no decimals: then a point before
/// three digits separates thousands.
fn value(text: &str, is_whole: bool) -> Option<(Option<f64>, Status)> {
    match text {
        "<not counted>" => return Some((None, Status::NotCounted)),
        "<not supported>" => return Some((None, Status::NotSupported)),
        _ => {}
    }
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '\u{2019}' | '\u{a0}' | '\u{202f}')).collect();
    if !plain.starts_with(|c: char| c.is_ascii_digit())
        || !plain.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b',')
    {
        return None;
    }
    let last = plain.rfind(['.', ',']);
    let decimals = last.map(|at| plain.len() - at - 1);
    let separators = plain.matches(['.', ',']).count();
    let distinct = plain.contains('.') && plain.contains(',');
    let has_point = match decimals {
        None => false,
        // If there are two kinds of separators, the last one is the decimal point. A single kind is the decimal point
        // if it does not group thousands.
        Some(_) if distinct => true,
        Some(3) => separators == 1 && !is_whole && plain.contains('.'),
        Some(_) => separators == 1,
    };
    let (whole, fraction) = match last {
        Some(at) if has_point => (&plain[..at], &plain[at + 1..]),
        _ => (&plain[..], ""),
    };
    let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
    let number: f64 = format!("{digits}.{fraction}0").parse().ok()?;
    Some((Some(number), Status::Counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Reading {
        match parse(line) {
            Text::Line(Line::Reading(reading)) => reading,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn totals_of_a_command() {
        let r = one("          40083904      cycles                           #    1.000 GHz                    ");
        assert_eq!(
            (r.event.as_str(), r.value, r.running_ratio, r.unit),
            ("cycles", Some(40_083_904.0), Some(1.0), None)
        );
        let r = one("             40.09 msec task-clock                       #    0.871 CPUs utilized          ");
        assert_eq!((r.event.as_str(), r.value, r.unit.as_deref()), ("task-clock", Some(40.09), Some("msec")));
        assert_eq!(parse("       0.046008592 seconds time elapsed"), Text::Elapsed(46_008_592));
        assert_eq!(parse("       0.0460 +- 0.0012 seconds time elapsed  ( +-  2.61% )"), Text::Elapsed(46_000_000));
        assert_eq!(parse("       0.025268000 seconds user"), Text::Line(Line::Nothing));
        assert_eq!(parse(" Performance counter stats for 'true':"), Text::Heading);
    }

    #[test]
    fn shares_deviations_and_absence() {
        let r = one("     1,234,567      cpu_core/cycles/u         #    1.0 GHz          ( +-  0.12% )  (66.50%)");
        assert_eq!((r.event.as_str(), r.value, r.running_ratio), ("cpu_core/cycles/u", Some(1_234_567.0), Some(0.665)));
        let r = one("     2,847      page-faults        ( +-  0.12% )");
        assert_eq!((r.event.as_str(), r.value, r.running_ratio), ("page-faults", Some(2847.0), Some(1.0)));
        let r = one("   <not supported>      cycles                                              ");
        assert_eq!((r.value, r.status, r.running_ratio), (None, Status::NotSupported, None));
        let r = one("     <not counted>      LLC-loads                                  (0.00%)");
        assert_eq!((r.value, r.status, r.running_ratio), (None, Status::NotCounted, Some(0.0)));
    }

    #[test]
    fn intervals_and_scopes() {
        let r = one("     1.001758528 CPU0              3,528      context-switches      #    3.495 K/sec");
        assert_eq!((r.at_ns, r.scope, r.value), (Some(1_001_758_528), Scope::Cpu(0), Some(3528.0)));
        let r = one("S0-D0-C1           2            804,211      cycles");
        assert_eq!((r.scope, r.cpu_count, r.value), (Scope::Named("S0-D0-C1".into()), Some(2), Some(804_211.0)));
        let r = one("  Web Content-4711             1.02 msec task-clock   #  0.001 CPUs utilized");
        assert_eq!((r.scope, r.value), (Scope::Named("Web Content-4711".into()), Some(1.02)));
        let r = one("     1.000100000                 12      cs           system.slice/a.service   #  1 /sec");
        assert_eq!((r.event.as_str(), r.cgroup.as_deref()), ("cs", Some("system.slice/a.service")));
    }

    #[test]
    fn numbers_of_other_places() {
        let number = |text, whole| value(text, whole).and_then(|(value, _)| value);
        assert_eq!(number("1.234.567", true), Some(1_234_567.0));
        assert_eq!(number("1.234", true), Some(1234.0));
        assert_eq!(number("1\u{202f}234\u{202f}567", true), Some(1_234_567.0));
        assert_eq!(number("1'234", true), Some(1234.0));
        assert_eq!(number("40,09", false), Some(40.09));
        assert_eq!(number("1.340,09", false), Some(1340.09));
        assert_eq!(number("1,340.09", false), Some(1340.09));
        assert_eq!(number("12", true), Some(12.0));
        assert_eq!(number("1a", true), None);
        assert_eq!(number("-", true), None);
    }

    #[test]
    fn what_is_no_count() {
        for line in ["", "# started on Sat", "             TopdownL1                 #     17.3 %  tma_backend_bound"] {
            assert_eq!(parse(line), Text::Line(Line::Nothing), "{line}");
        }
        assert_eq!(parse("hello"), Text::Line(Line::Unknown));
        assert_eq!(parse("Some events weren't counted. Try disabling the NMI watchdog:"), Text::Advice);
        assert!(is_interval_header("#           time             counts unit events"));
        assert!(is_interval_header("#           time CPU               counts unit events"));
        assert!(!is_interval_header("# time flies"));
    }
}
