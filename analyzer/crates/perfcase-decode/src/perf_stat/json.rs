//! Lines of `perf stat -j`: a JSON object each. Keys as perf 5.19 to 6.16 write them.

use serde_json::{Map, Value};

use super::reading::{Line, Reading, Scope, Status, running_ratio, value};

/// Reads a line. `has_intervals` says that a line before had a time: then a line without a time is a total of
/// `--summary`.
pub fn parse(line: &str, has_intervals: bool) -> Line {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Line::Nothing;
    }
    let parsed = serde_json::from_str::<Map<String, Value>>(line).or_else(|_| serde_json::from_str(&without_nan(line)));
    let Ok(object) = parsed else { return Line::Unknown };
    if !object.contains_key("counter-value") {
        // A further metric of the counter before.
        let is_metric = object.contains_key("metric-value") || object.contains_key("metricgroup");
        return if is_metric { Line::Nothing } else { Line::Unknown };
    }
    match reading(&object) {
        Some(reading) if reading.at_ns.is_none() && has_intervals => Line::Summary,
        Some(reading) => Line::Reading(reading),
        None => Line::Unknown,
    }
}

fn reading(object: &Map<String, Value>) -> Option<Reading> {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let (value, status): (Option<f64>, Status) = match object.get("counter-value")? {
        Value::String(text) => value(text.trim())?,
        Value::Number(number) => (number.as_f64(), Status::Counted),
        _ => return None,
    };
    let at_ns = match object.get("interval") {
        None => None,
        Some(seconds) => Some(number(seconds).filter(|s| (0.0..9e9).contains(s)).map(|s| (s * 1e9).round() as i64)?),
    };
    let (scope, named) = scope(object);
    let running_ns = object.get("event-runtime").and_then(number).filter(|n| *n >= 0.0).map(|n| n as u64);
    let non_empty = |t: Option<&str>| t.filter(|t| !t.is_empty()).map(str::to_string);
    Some(Reading {
        at_ns,
        scope,
        cpu_count: named
            .then(|| object.get("aggregate-number").or_else(|| object.get("counters")).and_then(number))
            .flatten()
            .map(|n| n as u32),
        cgroup: non_empty(text("cgroup")),
        event: non_empty(text("event"))?,
        unit: non_empty(text("unit")),
        value,
        status,
        running_ns,
        running_ratio: running_ratio(object.get("pcnt-running").and_then(number), running_ns),
        elapsed_ns: None,
    })
}

fn scope(object: &Map<String, Value>) -> (Scope, bool) {
    if let Some(cpu) = object.get("cpu")
        && let Some(number) = number(cpu).filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 1e9)
    {
        return (Scope::Cpu(number as u32), false);
    }
    let keys = ["core", "cluster", "die", "cache", "socket", "node", "thread"];
    let found = keys.iter().find_map(|key| Some((*key, object.get(*key)?.as_str()?)));
    match found {
        Some((key, name)) => (Scope::Named(name.to_string()), key != "thread"),
        None => (Scope::All, false),
    }
}

/// Gives a number. perf writes some numbers as strings.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|n: &f64| n.is_finite()),
        _ => None,
    }
}

/// Replaces `nan` and `inf`, which perf prints for a metric that was divided by zero and JSON does not have.
fn without_nan(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(": ") {
        let (before, after) = rest.split_at(at + 2);
        out.push_str(before);
        let bare = ["-nan", "nan", "-inf", "inf"].into_iter().find(|word| after.starts_with(word));
        rest = match bare {
            Some(word) => {
                out.push_str("null");
                &after[word.len()..]
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Reading {
        match parse(line, false) {
            Line::Reading(reading) => reading,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn per_cpu_interval() {
        let r = one(
            r#"{"interval" : 0.200323558, "cpu" : "1", "counter-value" : "200.754790", "unit" : "msec", "event" : "task-clock", "event-runtime" : 200754257, "pcnt-running" : 75.00, "metric-value" : nan, "metric-unit" : "CPUs utilized"}"#,
        );
        assert_eq!(
            r,
            Reading {
                at_ns: Some(200_323_558),
                scope: Scope::Cpu(1),
                cpu_count: None,
                cgroup: None,
                event: "task-clock".into(),
                unit: Some("msec".into()),
                value: Some(200.75479),
                status: Status::Counted,
                running_ns: Some(200_754_257),
                running_ratio: Some(0.75),
                elapsed_ns: None,
            }
        );
    }

    #[test]
    fn topology_cgroup_and_reasons() {
        let r = one(
            r#"{"interval" : 0.2, "core" : "S0-D0-C1", "aggregate-number" : 2, "counter-value" : "<not supported>", "unit" : "", "event" : "cycles", "cgroup" : "/a", "event-runtime" : 0, "pcnt-running" : 100.00}"#,
        );
        assert_eq!((r.scope, r.cpu_count), (Scope::Named("S0-D0-C1".into()), Some(2)));
        assert_eq!((r.value, r.status, r.running_ratio), (None, Status::NotSupported, None));
        assert_eq!((r.cgroup.as_deref(), r.unit), (Some("/a"), None));
    }

    #[test]
    fn summaries_metrics_and_rubbish() {
        let total = r#"{"counter-value" : "7.000000", "unit" : "", "event" : "cs", "event-runtime" : 9, "pcnt-running" : 100.00}"#;
        assert!(matches!(parse(total, false), Line::Reading(Reading { at_ns: None, .. })));
        assert_eq!(parse(total, true), Line::Summary);
        assert_eq!(parse(r#"{"interval" : 1.0, "metric-value" : 0.5, "metric-unit" : "x"}"#, true), Line::Nothing);
        for line in
            ["{", "{}", r#"{"counter-value" : []}"#, r#"{"interval" : -1, "counter-value" : "1", "event" : "x"}"#]
        {
            assert_eq!(parse(line, true), Line::Unknown, "{line}");
        }
    }
}
