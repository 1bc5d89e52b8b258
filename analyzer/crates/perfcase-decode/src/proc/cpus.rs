//! Figures by CPU: /proc/interrupts, /proc/softirqs, /proc/schedstat, /proc/net/softnet_stat.

use super::text::{lines, number};

/// A line of /proc/interrupts or /proc/softirqs. Counts of 0 are left out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Line<'a> {
    /// Number or name.
    pub name: &'a str,
    /// CPU (`None`: all CPUs together) and count.
    pub counts: Vec<(Option<u32>, i64)>,
    /// The text behind the figures.
    pub description: String,
}

/// Reads a table whose head names the CPUs that are online (interrupts) or possible (softirqs).
pub fn parse_table(text: &[u8]) -> Vec<Line<'_>> {
    let mut lines = lines(text);
    let Some(cpus) = lines.next().and_then(head) else { return Vec::new() };
    lines.filter_map(|text| line(text, &cpus)).collect()
}

fn head(line: &str) -> Option<Vec<u32>> {
    line.split_ascii_whitespace().map(|word| word.strip_prefix("CPU")?.parse().ok()).collect()
}

fn line<'a>(line: &'a str, cpus: &[u32]) -> Option<Line<'a>> {
    let (name, rest) = line.split_once(':')?;
    let mut figures = Vec::new();
    let mut rest = rest.trim_ascii_start();
    while figures.len() < cpus.len() {
        let (word, more) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        let Ok(figure) = word.parse::<i64>() else { break };
        figures.push(figure);
        rest = more.trim_ascii_start();
    }
    let description = rest.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let counts = match figures.as_slice() {
        // ERR and MIS count for all CPUs together. On a host with one CPU the other lines look the same.
        [figure] if cpus.len() > 1 || matches!(name.trim(), "ERR" | "MIS") => vec![(None, *figure)],
        all if all.len() == cpus.len() => {
            cpus.iter().copied().map(Some).zip(figures).filter(|(_, n)| *n != 0).collect()
        }
        _ => return None,
    };
    Some(Line { name: name.trim(), counts, description })
}

/// A line of /proc/net/softnet_stat.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Softnet {
    /// The CPU.
    pub cpu: u32,
    /// Packets that it took from its queue.
    pub processed_count: i64,
    /// Packets that its queue had no room for.
    pub drop_count: i64,
    /// How often its turn was over and packets were left.
    pub squeeze_count: i64,
}

/// The word of a line that has the CPU's number, since Linux 5.10. Before, the lines are of the CPUs that are online, in
/// their order.
const SOFTNET_CPU: usize = 12;

/// Reads lines of hexadecimal words, one for each CPU that is online.
pub fn parse_softnet(text: &[u8]) -> Vec<Softnet> {
    let line = |(place, line): (u32, &str)| {
        let hex = |word| u32::from_str_radix(word, 16);
        let words = line.split_ascii_whitespace().map(hex).collect::<Result<Vec<u32>, _>>().ok()?;
        let &[processed, drop, squeeze, ..] = words.as_slice() else { return None };
        Some(Softnet {
            cpu: words.get(SOFTNET_CPU).copied().unwrap_or(place),
            processed_count: processed.into(),
            drop_count: drop.into(),
            squeeze_count: squeeze.into(),
        })
    };
    (0..).zip(lines(text)).filter_map(line).collect()
}

/// What /proc/schedstat says of a CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CpuSched {
    /// The CPU.
    pub cpu: u32,
    /// The time that threads ran.
    pub run_ns: i64,
    /// The time that threads waited.
    pub run_queue_ns: i64,
    /// How often a thread was put on the CPU.
    pub timeslice_count: i64,
}

/// Reads the last three of nine figures in /proc/schedstat, version 15 and later. Older versions have other figures.
pub fn parse_schedstat(text: &[u8]) -> Vec<CpuSched> {
    let mut lines = lines(text);
    let version = lines.next().and_then(|line| line.strip_prefix("version ")?.trim().parse::<u32>().ok());
    if version.is_none_or(|version| version < 15) {
        return Vec::new();
    }
    let cpu = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let mut last = words.skip(6);
        let (run_ns, run_queue_ns) = (number(&mut last)?, number(&mut last)?);
        Some(CpuSched { cpu, run_ns, run_queue_ns, timeslice_count: number(&mut last)? })
    };
    lines.filter_map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts() {
        let text = b"           CPU0       CPU2\n  0:        121          0   IO-APIC   2-edge      timer\n\
                     LOC:      22449      19737   Local timer interrupts\nERR:          3\n 25:  7\n  9:  0  0  x\n 31:  1  x\n";
        let lines = parse_table(text);
        let seen: Vec<_> = lines.iter().map(|l| (l.name, l.counts.clone(), l.description.as_str())).collect();
        assert_eq!(
            seen,
            [
                ("0", vec![(Some(0), 121)], "IO-APIC 2-edge timer"),
                ("LOC", vec![(Some(0), 22449), (Some(2), 19737)], "Local timer interrupts"),
                ("ERR", vec![(None, 3)], ""),
                ("25", vec![(None, 7)], ""),
                ("9", vec![], "x"),
                ("31", vec![(None, 1)], "x"),
            ]
        );
        let one = parse_table(b" CPU0\n  4:  5  ttyS0\nMIS: 0\n");
        assert_eq!((one[0].counts.clone(), one[1].counts.clone()), (vec![(Some(0), 5)], vec![(None, 0)]));
        assert_eq!(parse_table(b"no head\n 1: 2\n"), []);
    }

    #[test]
    fn schedstat() {
        let text = b"version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 83 17 33\ndomain0 3 0 0\ncpu7 1 2 3 4 5 6 7 8 9\ncpu8 1 2 3 4 5 6 7\n";
        let row = |cpu, run_ns, run_queue_ns, timeslice_count| CpuSched { cpu, run_ns, run_queue_ns, timeslice_count };
        assert_eq!(parse_schedstat(text), [row(0, 83, 17, 33), row(7, 7, 8, 9)]);
        assert_eq!(parse_schedstat(b"version 14\ncpu0 0 0 0 0 0 0 83 17 33\n"), []);
        assert_eq!(parse_schedstat(b""), []);
    }

    #[test]
    fn softnet() {
        let line = |cpu, processed_count, drop_count, squeeze_count| Softnet {
            cpu,
            processed_count,
            drop_count,
            squeeze_count,
        };
        let zeros = " 00000000".repeat(9);
        let new = format!("008e14f8 00000001 00000003{zeros} 00000000 0 0\nffffffff 2 7{zeros} 00000004 0 0\n");
        assert_eq!(parse_softnet(new.as_bytes()), [line(0, 0x8e14f8, 1, 3), line(4, 0xffff_ffff, 2, 7)]);
        let old = b"0000000a 00000000 00000001 00000000\n0000000b 2\nx 1 2 3\n0000000c 00000000 00000002 00000000";
        assert_eq!(parse_softnet(old), [line(0, 10, 0, 1), line(3, 12, 0, 2)]);
        assert_eq!(parse_softnet(b"\n100000000 0 0\n"), []);
    }
}
