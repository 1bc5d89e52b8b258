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
/// Operations: their misses, and all of them.
const CACHE_OPERATION: [(&str, &str); 3] = [("load", "loads"), ("store", "stores"), ("prefetch", "prefetches")];

/// Makes the event's name from its numbers, with the modifiers of its settings (evsel__name of
/// tools/perf/util/evsel.c).
pub fn event(attr: &Attr, features: &Features, tracing: Option<&TracingData>) -> String {
    let config = attr.config;
    let of = |table: &[&str]| table.get(config as usize).map(|name| name.to_string());
    let known = match attr.kind {
        0 => of(&HARDWARE),
        1 => of(&SOFTWARE),
        TYPE_TRACEPOINT => tracing.and_then(|tracing| tracepoint(config, tracing)),
        3 => cache(config),
        4 => Some(format!("raw {config:#x}")),
        5 => Some(format!("mem:{:#x}:{}", attr.config1, breakpoint(attr.bp_type))),
        kind => {
            let pmu = features.pmus.iter().find(|(number, _)| *number == kind);
            pmu.map(|(_, name)| format!("{name}/config={config:#x}/"))
        }
    };
    match known {
        Some(name) if attr.kind == TYPE_TRACEPOINT => name,
        Some(name) => match &*modifiers(attr) {
            "" => name,
            modifiers if name.ends_with('/') => format!("{name}{modifiers}"),
            modifiers => format!("{name}:{modifiers}"),
        },
        None => format!("{}:{config:#x}", kind(attr.kind)),
    }
}

/// Gives the modifiers, such as `u`, `k`, `ppp`, `H`: what the event counts if it does not count everything. perf
/// leaves guests out of a plain event and counts them in an event with a modifier; the letters of host and guest are
/// there where an event differs from that.
fn modifiers(attr: &Attr) -> String {
    let flags = attr.flags;
    let mut text = String::new();
    let mut add = |is_excluded: bool, letter: char| {
        if !is_excluded {
            text.push(letter);
        }
    };
    let is_part = flags.exclude_kernel() || flags.exclude_user() || flags.exclude_hv();
    if is_part {
        add(flags.exclude_kernel(), 'k');
        add(flags.exclude_user(), 'u');
        add(flags.exclude_hv(), 'h');
    }
    for _ in 0..attr.precise_ip {
        add(false, 'p');
    }
    if flags.exclude_host() || flags.exclude_guest() == (is_part || attr.precise_ip > 0) {
        add(flags.exclude_host(), 'H');
        add(flags.exclude_guest(), 'G');
    }
    text
}

/// Gives the accesses that a breakpoint waits for (HW_BREAKPOINT_R, _W and _X of hw_breakpoint.h).
fn breakpoint(bits: u32) -> String {
    let letters = [(1, 'r'), (2, 'w'), (4, 'x')].into_iter().filter(|(bit, _)| bits & bit != 0);
    letters.map(|(_, letter)| letter).collect()
}

fn cache(config: u64) -> Option<String> {
    let cache = CACHE.get((config & 0xff) as usize)?;
    let (operation, operations) = CACHE_OPERATION.get((config >> 8 & 0xff) as usize)?;
    match config >> 16 & 0xff {
        0 => Some(format!("{cache}-{operations}")),
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

/// Gives the event type in words; a PMU of the host by its number.
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

/// Gives the clock of an event's times; `perf` means the kernel's sched_clock.
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
    use crate::perf_data::attr::AttrFlags;

    #[test]
    fn numbers_become_names() {
        // perf's own flag: guests are left out.
        let flags = AttrFlags(GUEST);
        let name = |kind, config| event(&Attr { kind, config, flags, ..Attr::default() }, &Features::default(), None);
        assert_eq!(name(0, 1), "instructions");
        assert_eq!(name(1, 0), "cpu-clock");
        assert_eq!(name(1, 99), "software:0x63");
        assert_eq!(name(2, 317), "tracepoint:0x13d");
        assert_eq!(name(3, 1 << 16), "L1-dcache-load-misses");
        assert_eq!(name(3, 0x201), "L1-icache-prefetches");
        assert_eq!(name(4, 0x1a2), "raw 0x1a2");
        assert_eq!(name(9, 5), "9:0x5");
    }

    const USER: u64 = 1 << 4;
    const KERNEL: u64 = 1 << 5 | 1 << 6;
    const HOST: u64 = 1 << 19;
    const GUEST: u64 = 1 << 20;

    /// The names that perf evlist of Linux 6.1 prints of files without names.
    #[test]
    fn settings_become_modifiers() {
        for (flags, precise_ip, modifiers) in [
            (GUEST, 0, ""),
            (0, 0, ":HG"),
            (KERNEL, 0, ":u"),
            (KERNEL | GUEST, 0, ":uH"),
            (USER, 0, ":kh"),
            (0, 2, ":pp"),
            (0, 3, ":ppp"),
            (KERNEL, 1, ":up"),
            (GUEST, 2, ":ppH"),
            (HOST, 0, ":G"),
        ] {
            for (kind, config, plain) in
                [(0, 0, "cycles"), (1, 0, "cpu-clock"), (3, 0x102, "LLC-stores"), (4, 0x1a2, "raw 0x1a2")]
            {
                let attr = Attr { kind, config, flags: AttrFlags(flags), precise_ip, ..Attr::default() };
                assert_eq!(event(&attr, &Features::default(), None), format!("{plain}{modifiers}"));
            }
        }
        let mut attr = Attr { kind: 5, config1: 0x1234, bp_type: 3, flags: AttrFlags(KERNEL), ..Attr::default() };
        assert_eq!(event(&attr, &Features::default(), None), "mem:0x1234:rw:u");
        attr.kind = 9;
        let pmus = Features { pmus: vec![(9, "cpu_core".to_string())], ..Features::default() };
        assert_eq!(event(&attr, &pmus, None), "cpu_core/config=0x0/u");
        attr.kind = TYPE_TRACEPOINT;
        assert_eq!(event(&attr, &pmus, None), "tracepoint:0x0");
    }
}
