//! Names of events and clocks where the file has only numbers.
//!
//! Numbers: include/uapi/linux/perf_event.h; names as `perf list` prints them.

use super::attr::{Attr, TYPE_TRACEPOINT};
use super::features::Features;
use super::tracing_data::TracingData;

const HARDWARE: [&str; 10] = [
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
];
const SOFTWARE: [&str; 12] = [
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "dummy",
    "bpf-output",
    "cgroup-switches",
];
const CACHE: [&str; 7] = ["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"];
const CACHE_OPERATION: [&str; 3] = ["load", "store", "prefetch"];

/// The event's name made of its numbers.
pub fn event(attr: &Attr, features: &Features, tracing: Option<&TracingData>) -> String {
    let config = attr.config;
    let of = |table: &[&str]| table.get(config as usize).map(|name| name.to_string());
    let known = match attr.kind {
        0 => of(&HARDWARE),
        1 => of(&SOFTWARE),
        TYPE_TRACEPOINT => tracing.and_then(|tracing| tracepoint(config, tracing)),
        3 => cache(config),
        4 => Some(format!("r{config:x}")),
        5 => Some(format!("mem:{:#x}", attr.config1)),
        kind => {
            let pmu = features.pmus.iter().find(|(number, _)| *number == kind);
            pmu.map(|(_, name)| format!("{name}/config={config:#x}/"))
        }
    };
    known.unwrap_or_else(|| format!("{}:{config:#x}", kind(attr.kind)))
}

fn cache(config: u64) -> Option<String> {
    let cache = CACHE.get((config & 0xff) as usize)?;
    let operation = CACHE_OPERATION.get((config >> 8 & 0xff) as usize)?;
    match config >> 16 & 0xff {
        0 => Some(format!("{cache}-{operation}s")),
        1 => Some(format!("{cache}-{operation}-misses")),
        _ => None,
    }
}

fn tracepoint(id: u64, tracing: &TracingData) -> Option<String> {
    tracing.formats.iter().find_map(|(system, text)| {
        let name = text.lines().find_map(|line| line.strip_prefix("name: "))?;
        let number = text.lines().find_map(|line| line.strip_prefix("ID: "))?;
        (number.trim().parse() == Ok(id)).then(|| format!("{system}:{}", name.trim()))
    })
}

/// The event type in words; a PMU of the host by its number.
pub fn kind(kind: u32) -> String {
    match kind {
        0 => "hardware".to_string(),
        1 => "software".to_string(),
        2 => "tracepoint".to_string(),
        3 => "hw_cache".to_string(),
        4 => "raw".to_string(),
        5 => "breakpoint".to_string(),
        pmu => pmu.to_string(),
    }
}

/// The clock that an event's times are of; `perf` for the kernel's sched_clock.
pub fn clock(attr: &Attr) -> &'static str {
    if !attr.flags.use_clockid() {
        return "perf";
    }
    match attr.clock_id {
        0 => "realtime",
        1 => "monotonic",
        4 => "monotonic_raw",
        7 => "boottime",
        11 => "tai",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_names() {
        let name = |kind, config| event(&Attr { kind, config, ..Attr::default() }, &Features::default(), None);
        assert_eq!(name(0, 1), "instructions");
        assert_eq!(name(1, 0), "cpu-clock");
        assert_eq!(name(1, 99), "software:0x63");
        assert_eq!(name(2, 317), "tracepoint:0x13d");
        assert_eq!(name(3, 1 << 16), "L1-dcache-load-misses");
        assert_eq!(name(4, 0x1a2), "r1a2");
        assert_eq!(name(9, 5), "9:0x5");
    }
}
