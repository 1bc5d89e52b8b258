//! Lines of `perf stat -x`. Fields as in perf-stat(1), CSV FORMAT:
//! `[time,] [cpu, core, … [, CPUs added up],] value, unit, event, [cgroup,] [deviation,] time run, share run, …`.

use super::reading::{Line, Reading, Scope, running_ratio, seconds_to_ns, value};

/// The separators that people give to `-x`, in the order in which they are tried.
pub const SEPARATORS: [char; 6] = [',', ';', '\t', '|', ':', ' '];

/// Reads a line.
pub fn parse(line: &str, separator: char) -> Line {
    let line = line.trim_end();
    if line.trim_start().is_empty() || line.trim_start().starts_with('#') {
        return Line::Nothing;
    }
    let fields = fields(line, separator);
    if fields[0] == "summary" {
        return Line::Summary;
    }
    let at_ns = seconds_to_ns(fields[0]);
    let rest = if at_ns.is_some() { &fields[1..] } else { &fields[..] };
    let Some((scope, cpu_count, rest)) = scope(rest) else { return Line::Unknown };
    // A counter with several metrics has a line for each further one, without a value.
    if rest[0].is_empty() && rest.len() >= 3 && rest[1].is_empty() && rest[2].is_empty() {
        return Line::Nothing;
    }
    match counter(rest) {
        Some(reading) => Line::Reading(Reading { at_ns, scope, cpu_count, ..reading }),
        None => Line::Unknown,
    }
}

/// Splits the fields. Spaces that pad a time, or are in the reason for a missing value, do not separate fields.
fn fields(line: &str, separator: char) -> Vec<&str> {
    if separator != ' ' {
        return line.split(separator).map(str::trim).collect();
    }
    let mut fields = Vec::new();
    let mut rest = line.trim_start();
    loop {
        let reason = ["<not counted>", "<not supported>"].iter().find(|reason| rest.starts_with(**reason));
        let length = reason.map(|reason| reason.len()).or_else(|| rest.find(' ')).unwrap_or(rest.len());
        fields.push(&rest[..length]);
        match rest[length..].strip_prefix(' ') {
            Some(behind) => rest = behind,
            None => return fields,
        }
    }
}

/// Takes the scope of the value from the fields.
fn scope<'f, 'a>(fields: &'f [&'a str]) -> Option<(Scope, Option<u32>, &'f [&'a str])> {
    let first = *fields.first()?;
    if first.is_empty() || value(first).is_some() {
        return Some((Scope::All, None, fields));
    }
    if let Some(cpu) = first.strip_prefix("CPU").and_then(|n| n.parse().ok()) {
        return (fields.len() > 1).then(|| (Scope::Cpu(cpu), None, &fields[1..]));
    }
    let named = Scope::Named(first.to_string());
    if is_topology(first) {
        let count = fields.get(1)?.parse().ok()?;
        return (fields.len() > 2).then(|| (named, Some(count), &fields[2..]));
    }
    (fields.len() > 1).then(|| (named, None, &fields[1..]))
}

/// Tells whether a word is a scope with a number of CPUs behind it: `S0`, `S0-D1`, `S0-D0-C3`, `N1`, `S0-D0-CLS2`,
/// `S0-D0-L3-ID0`. (A thread is `comm-tid`.)
pub fn is_topology(name: &str) -> bool {
    name.split('-').all(|part| {
        let kinds = ["CLS", "ID", "S", "D", "C", "N", "L"];
        let number = kinds.iter().find_map(|kind| part.strip_prefix(kind));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Reads value, unit, event, cgroup and times.
fn counter(fields: &[&str]) -> Option<Reading> {
    let (value, status) = value(fields.first()?)?;
    let unit = *fields.get(1)?;
    // People choose the names of events and cgroups, which may contain separators. The two times after them are numbers
    // and show where the names end.
    let times = (3..fields.len().saturating_sub(1)).find(|&i| is_times(fields[i], fields[i + 1]))?;
    let mut names = &fields[2..times];
    if let Some((last, before)) = names.split_last()
        && !before.is_empty()
        && last.ends_with('%')
    {
        names = before; // deviation between runs (-r)
    }
    let (event, cgroup) = event_and_cgroup(names)?;
    let running_ns: Option<u64> = fields[times].parse().ok();
    let percent = fields[times + 1].parse().ok();
    Some(Reading {
        at_ns: None,
        scope: Scope::All,
        cpu_count: None,
        cgroup,
        event,
        unit: (!unit.is_empty()).then(|| unit.to_string()),
        value,
        status,
        running_ns,
        running_ratio: running_ratio(percent, running_ns),
        elapsed_ns: None,
    })
}

fn is_times(running: &str, percent: &str) -> bool {
    let all_digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    let percent = percent.split_once('.').is_some_and(|(whole, rest)| all_digits(whole) && all_digits(rest));
    all_digits(running) && percent
}

/// Joins an event such as `pmu/a=1,b=2/`, which was split at its commas: its slashes and braces are in pairs.
fn event_and_cgroup(names: &[&str]) -> Option<(String, Option<String>)> {
    let mut event = String::new();
    for (i, name) in names.iter().enumerate() {
        event.push_str(name);
        let is_whole =
            event.matches('/').count().is_multiple_of(2) && event.matches('{').count() == event.matches('}').count();
        if is_whole {
            let rest = names[i + 1..].join(",");
            return (!event.is_empty()).then(|| (event, (!rest.is_empty()).then_some(rest)));
        }
        event.push(',');
    }
    // The slash has no pair: the event is everything.
    let event = event.trim_end_matches(',').to_string();
    (!event.is_empty()).then_some((event, None))
}

#[cfg(test)]
mod tests {
    use super::super::reading::Status;
    use super::*;

    fn reading(line: &str) -> Reading {
        match parse(line, ',') {
            Line::Reading(reading) => reading,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn per_cpu_intervals() {
        let r = reading("     1.001758528,CPU0,1009.31,msec,task-clock,1009310784,100.00,1.009,CPUs utilized");
        assert_eq!(
            r,
            Reading {
                at_ns: Some(1_001_758_528),
                scope: Scope::Cpu(0),
                cpu_count: None,
                cgroup: None,
                event: "task-clock".into(),
                unit: Some("msec".into()),
                value: Some(1009.31),
                status: Status::Counted,
                running_ns: Some(1_009_310_784),
                running_ratio: Some(1.0),
                elapsed_ns: None,
            }
        );
    }

    #[test]
    fn aggregated_and_by_topology() {
        let r = reading("     0.200261436,107,,context-switches,407335422,66.50,262.686,/sec");
        assert_eq!((r.scope, r.value, r.running_ratio), (Scope::All, Some(107.0), Some(0.665)));
        let r = reading("     0.200261697,S0-D0-C0,1,95,,context-switches,200402126,100.00,474.059,/sec");
        assert_eq!((r.scope, r.cpu_count, r.value), (Scope::Named("S0-D0-C0".into()), Some(1), Some(95.0)));
        let r = reading("     0.2,N0,2,95,,cs,7,100.00,,".replace("0.2", "0.200000000").as_str());
        assert_eq!((r.scope, r.cpu_count, r.value), (Scope::Named("N0".into()), Some(2), Some(95.0)));
        for name in ["S0-D0-CLS2", "S0-D0-L3-ID0", "S1-C3"] {
            let r = reading(&format!("     0.200000000,{name},4,95,,cs,7,100.00,,"));
            assert_eq!((r.scope, r.cpu_count), (Scope::Named(name.into()), Some(4)), "{name}");
        }
        let r = reading("     1.000000000,perf-4711,95,,cs,7,100.00,,");
        assert_eq!((r.scope, r.cpu_count, r.value), (Scope::Named("perf-4711".into()), None, Some(95.0)));
    }

    #[test]
    fn no_value_is_not_zero() {
        let r = reading("     0.200261436,<not supported>,,cycles,0,100.00,,");
        assert_eq!((r.value, r.status, r.running_ratio), (None, Status::NotSupported, None));
        let r = reading("     0.200261436,CPU3,<not counted>,,cycles,0,0.00,,");
        assert_eq!((r.value, r.status, r.running_ratio), (None, Status::NotCounted, Some(0.0)));
        assert_eq!(reading("     0.200261436,0,,cycles,9,100.00,,").value, Some(0.0));
    }

    #[test]
    fn totals_without_intervals() {
        let r = reading("56.57,msec,task-clock,56565536,100.00,0.711,CPUs utilized");
        assert_eq!((r.at_ns, r.value, r.event.as_str()), (None, Some(56.57), "task-clock"));
        let r = reading("0.92,msec,task-clock,8.45%,920904,100.00,0.009,CPUs utilized");
        assert_eq!((r.running_ns, r.cgroup), (Some(920_904), None));
    }

    #[test]
    fn events_with_commas_and_cgroups() {
        let r = reading("1.000000000,7,,cpu/event=0xc2,umask=0x2/u,9,50.00,,");
        assert_eq!((r.event.as_str(), r.cgroup), ("cpu/event=0xc2,umask=0x2/u", None));
        let r = reading("1.000000000,82,,context-switches,/,1861,100.00,204.543,/sec");
        assert_eq!((r.event.as_str(), r.cgroup.as_deref()), ("context-switches", Some("/")));
        let r = reading("1.000000000,82,,cpu/a=1,b=2/,system.slice/x.service,1861,100.00,,");
        assert_eq!((r.event.as_str(), r.cgroup.as_deref()), ("cpu/a=1,b=2/", Some("system.slice/x.service")));
    }

    #[test]
    fn what_is_no_counter() {
        for line in ["", "   ", "# started on Sat", "     1.001758528,CPU0,,,,,,0.50,stalled cycles per insn"] {
            assert_eq!(parse(line, ','), Line::Nothing, "{line}");
        }
        assert_eq!(
            parse("         summary,602.87,msec,task-clock,602868896,100.00,1.999,CPUs utilized", ','),
            Line::Summary
        );
        for line in ["1.000000000,", "1.000000000,CPU0", "1.0,7,,cyc", "x", ",,,,,", "1.000000000,nan,,cycles,9,100.00"]
        {
            assert!(matches!(parse(line, ','), Line::Unknown | Line::Nothing), "{line}");
        }
    }
}
