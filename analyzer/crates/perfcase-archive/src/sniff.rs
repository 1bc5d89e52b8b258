//! Says what some bytes are, by their content. Names are never trusted: people rename recordings.

use serde::Serialize;

/// The format of a file by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sniffed {
    /// zstd frames (RFC 8878).
    Zstd,
    /// gzip members (RFC 1952).
    Gzip,
    /// A POSIX ustar or GNU tar.
    Tar,
    /// perf.data, either byte order, file or pipe mode.
    PerfData,
    /// trace-cmd's trace.dat.
    TraceDat,
    /// `perf stat` output: CSV, JSON or text.
    PerfStat,
    /// `perf script` text.
    PerfScript,
    /// perfcase's stream of /proc snapshots.
    ProcSnapshots,
    /// A copy of /proc/stat: the files beside it are copies of /proc too.
    ProcStat,
    /// Anything else.
    Unknown,
}

/// The number of first bytes that [`sniff`] needs.
pub(crate) const HEAD_BYTES: usize = 4096;

/// The most lines above the counters of `perf stat` that are read.
const BANNER_LINES: usize = 40;

/// Gives the format of a file by `head`, its first bytes.
pub fn sniff(head: &[u8]) -> Sniffed {
    // Magic numbers: RFC 8878 section 3.1.1 (and skippable frames), RFC 1952 section 2.3.1,
    // linux/tools/perf/Documentation/perf.data-file-format.txt, trace-cmd.dat.v6(5).
    if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Sniffed::Zstd;
    }
    if head.starts_with(&[0x1f, 0x8b, 8]) {
        return Sniffed::Gzip;
    }
    if head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP") {
        return Sniffed::PerfData;
    }
    if head.starts_with(b"\x17\x08\x44tracing") {
        return Sniffed::TraceDat;
    }
    if head.len() >= 512 && crate::tar_walk::is_header(&head[..512]) {
        return Sniffed::Tar;
    }
    sniff_text(head)
}

fn sniff_text(head: &[u8]) -> Sniffed {
    let head = &head[..head.len().min(HEAD_BYTES)];
    if is_snapshot_line(first_line(head)) {
        return Sniffed::ProcSnapshots;
    }
    if is_perf_stat_text(head) {
        return Sniffed::PerfStat;
    }
    if is_proc_stat_line(first_line(head)) {
        return Sniffed::ProcStat;
    }
    let started = head.starts_with(b"# started on ");
    let mut lines = head.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"));
    let (line, next) = (lines.next(), lines.next());
    match line.map(<[u8]>::trim_ascii) {
        Some(line) if is_perf_stat_line(line) => Sniffed::PerfStat,
        Some(line) if is_perf_script_line(line) => Sniffed::PerfScript,
        Some(line) if is_bare_sample(line) && next.is_some_and(is_frame) => Sniffed::PerfScript,
        Some(line) if is_bare_sample_with_address(line) => Sniffed::PerfScript,
        // Below a banner, or below the command that was typed.
        Some(_) if head.split(|&b| b == b'\n').take(BANNER_LINES).any(|line| is_perf_stat_line(line.trim_ascii())) => {
            Sniffed::PerfStat
        }
        // The header is longer than `head`.
        None if head.starts_with(b"# ========\n# captured on") => Sniffed::PerfScript,
        // A run of `perf stat` that was killed before its first interval.
        None if started => Sniffed::PerfStat,
        _ => Sniffed::Unknown,
    }
}

fn first_line(head: &[u8]) -> &[u8] {
    head.split(|&b| b == b'\n').next().unwrap_or_default()
}

/// `S <monotonic_ns> <realtime_ns> <seq>`.
fn is_snapshot_line(line: &[u8]) -> bool {
    let mut words = line.split(|&b| b == b' ');
    words.next() == Some(b"S") && words.by_ref().take(3).filter(|w| is_number(w)).count() == 3 && words.next().is_none()
}

/// `cpu  1 2 3 4 …`: four figures since Linux 2.4.
fn is_proc_stat_line(line: &[u8]) -> bool {
    let Some(figures) = line.strip_prefix(b"cpu  ") else { return false };
    figures.split(|&b| b == b' ').count() >= 4 && figures.split(|&b| b == b' ').all(is_number)
}

fn is_number(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_digit)
}

/// A line of counters: JSON with a counter value, or separated fields with a count among the first ones
/// (`1.0017,CPU0,1009328716,,cycles,…`) or the reason why there is none.
fn is_perf_stat_line(line: &[u8]) -> bool {
    if line.starts_with(b"{") {
        return find(line, b"\"counter-value\"") || find(line, b"\"metric-value\"");
    }
    [b',', b';', b'\t', b'|', b':', b' '].into_iter().any(|separator| {
        let fields: Vec<&[u8]> = line.split(|&b| b == separator).map(<[u8]>::trim_ascii).take(24).collect();
        // After value, unit and event: the time for which the counter ran in ns, and its share with two digits.
        let has_times = fields.windows(2).skip(3).any(|pair| is_number(pair[0]) && is_percent(pair[1]));
        // Words are separated by spaces in any text: then the figure must come first.
        let most = if separator == b' ' { 1 } else { 4 };
        has_times && fields.iter().take(most).any(|field| is_count(field))
    })
}

/// The text that `perf stat` prints for people. The output of the command may be above it.
fn is_perf_stat_text(head: &[u8]) -> bool {
    let is_interval_header = |line: &[u8]| {
        let line = line.strip_prefix(b"#").unwrap_or_default().trim_ascii();
        line.starts_with(b"time ") && find(line, b" counts ") && line.ends_with(b"events")
    };
    head.split(|&b| b == b'\n').any(|line| {
        line.trim_ascii_start().starts_with(b"Performance counter stats for ")
            || is_interval_header(line.trim_ascii_end())
    })
}

fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(24).collect()
}

/// `[003]`
fn is_cpu(word: &[u8]) -> bool {
    word.strip_prefix(b"[").and_then(|w| w.strip_suffix(b"]")).is_some_and(is_number)
}

/// `1836`, `1836/1840`, `-1/-1`
fn is_id(word: &[u8]) -> bool {
    word.split(|&b| b == b'/').all(|id| is_number(id.strip_prefix(b"-").unwrap_or(id)))
}

/// `18.441431:`
fn is_time(word: &[u8]) -> bool {
    let word = word.strip_suffix(b":").unwrap_or_default();
    let at = word.iter().position(|&b| b == b'.').unwrap_or(word.len());
    let fraction = word.get(at + 1..).unwrap_or_default();
    is_number(&word[..at]) && is_number(fraction) && fraction.len() <= 9
}

/// `cycles:u:`
fn is_event(word: &[u8]) -> bool {
    word.len() > 1 && word.ends_with(b":") && !word[0].is_ascii_digit()
}

/// The first line of a sample without the fields that identify it: `comm tid [period] event:`,
/// `comm tid [cpu] seconds.fraction:`.
fn is_bare_sample(line: &[u8]) -> bool {
    let words = words(line);
    let last = words.last().copied().unwrap_or_default();
    let ids = words.iter().take(words.len().saturating_sub(1)).any(|word| is_id(word));
    if is_event(last) || is_time(last) || is_cpu(last) { ids } else { words.len() > 1 && is_id(last) }
}

/// `comm tid [period] event: address symbol (object)`
fn is_bare_sample_with_address(line: &[u8]) -> bool {
    let words = words(line);
    let event = words.iter().position(|word| is_event(word)).unwrap_or(0);
    let address = words.get(event + 1).copied().unwrap_or_default();
    event > 0 && is_id(words[event - 1]) && is_address(address) && line.ends_with(b")")
}

/// A line of a callchain: an address, and what is there.
fn is_frame(line: &[u8]) -> bool {
    line.starts_with(b"\t") && words(line).len() > 1 && words(line).first().is_some_and(|word| is_address(word))
}

fn is_address(word: &[u8]) -> bool {
    matches!(word.len(), 1..=16) && word.iter().all(u8::is_ascii_hexdigit)
}

/// The first line of a sample as `perf script` prints it: `comm tid [cpu] seconds.fraction: [period] event:`.
fn is_perf_script_line(line: &[u8]) -> bool {
    let words = words(line);
    (1..words.len()).any(|i| {
        let id = if is_cpu(words[i - 1]) { i.checked_sub(2) } else { Some(i - 1) };
        let event = words.get(i + 1).map(|word| if is_number(word) { words.get(i + 2) } else { Some(word) });
        is_time(words[i])
            && id.is_some_and(|id| is_id(words[id]))
            && event.flatten().is_some_and(|word| word.ends_with(b":") || word.starts_with(b"PERF_RECORD_"))
    })
}

fn is_percent(field: &[u8]) -> bool {
    let (whole, rest) = field.split_at(field.len().saturating_sub(3));
    is_number(whole) && rest[0] == b'.' && is_number(&rest[1..])
}

fn is_count(field: &[u8]) -> bool {
    field == b"<not counted>"
        || field == b"<not supported>"
        || std::str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok())
}

fn find(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|w| w == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_told_by_its_first_bytes() {
        for (head, want) in [
            (&b"PERFILE2\x68"[..], Sniffed::PerfData),
            (b"2ELIFREP", Sniffed::PerfData),
            (b"\x17\x08\x44tracing7\0", Sniffed::TraceDat),
            (b"\x28\xb5\x2f\xfd", Sniffed::Zstd),
            (b"\x1f\x8b\x08\0", Sniffed::Gzip),
            (b"S 1 2 3\nF 1 0 /proc/stat\n", Sniffed::ProcSnapshots),
            (b"S 1 2 x\n", Sniffed::Unknown),
            (b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1", Sniffed::ProcStat),
            (b"cpu  1 2 3\n", Sniffed::Unknown),
            (b"cpu  1 2 x 4\n", Sniffed::Unknown),
            (b"cpu  is a word\n", Sniffed::Unknown),
            (b"# started on Sat\n\n  1.0,CPU0,7,,cycles,9,100.00,,\n", Sniffed::PerfStat),
            (b"1.0;7;;cycles;9;100.00;;\n", Sniffed::PerfStat),
            (b"1.0,<not supported>,,cycles,0,0.00,,\n", Sniffed::PerfStat),
            (b"{\"interval\" : 1.0, \"counter-value\" : \"1\"}\n", Sniffed::PerfStat),
            (b"# started on Sat Nov 21\n", Sniffed::PerfStat),
            (b"0.59 msec task-clock 587750 100.00 0.650 CPUs utilized\n", Sniffed::PerfStat),
            (b"     0.1001 CPU0 82  cs 100240843 100.00 818.037 /sec\n", Sniffed::PerfStat),
            (b"$ perf stat -x, true\nhost: web-1\n\n0.59,msec,task-clock,587750,100.00,,\n", Sniffed::PerfStat),
            (b"a b c 1 2 3.00\nnothing else\n", Sniffed::Unknown),
            (b"hello, world\n", Sniffed::Unknown),
            (b"1.0,2,name,4,5,6,7\n", Sniffed::Unknown),
            (b"a,b,c,d,1,2.00,3\n", Sniffed::Unknown),
            (b"56.57,msec,task-clock,56565536,100.00,0.711,CPUs utilized\n", Sniffed::PerfStat),
            (b"make: done\n\n Performance counter stats for 'make':\n", Sniffed::PerfStat),
            (b"#           time CPU             counts unit events\n", Sniffed::PerfStat),
            (b"perf  1836 [000]    18.441431:          1   cycles: \n\tff f+0x1 (x)\n", Sniffed::PerfScript),
            (b"# ========\n# captured on    : Sat\n# arch : x\n# ========\n#\na b  12/13  1.000000001: sched:sched_switch: x\n", Sniffed::PerfScript),
            (b"# ========\n# captured on    : Sat\n", Sniffed::PerfScript),
            (b"perf 1 [000] 18.441431: PERF_RECORD_LOST lost 3\n", Sniffed::PerfScript),
            (b"java 12/13 [001] 18.4414: cycles:\n", Sniffed::PerfScript),
            (b"sh   474 page-faults: \n\t 3df30 f (inlined)\n", Sniffed::PerfScript),
            (b"sh   474         50 cycles: \n\t 3df30 f\n", Sniffed::PerfScript),
            (b"sh   474 \n\t 3df30 f (/x)\n", Sniffed::PerfScript),
            (b"sh   474 [003] \n\t 3df30 f (/x)\n", Sniffed::PerfScript),
            (b"sh   474 1.000001: \n\t 3df30 f (/x)\n", Sniffed::PerfScript),
            (b"\n\nsh   474 cycles: \n\n\t 3df30 f (/x)\n", Sniffed::PerfScript),
            (b"sh   474 cycles:  3df30 f+0x1 (/x)\n", Sniffed::PerfScript),
            (b"sh   474 cycles: \n\n", Sniffed::Unknown),
            (b"error 474 lines: \n\tnone of them\n", Sniffed::Unknown),
            (b"error 474 lines: (see above)\n", Sniffed::Unknown),
            (b"  <idle>-0     [000]  18.441431: sched_switch: prev_comm=x\n", Sniffed::Unknown),
            (b"", Sniffed::Unknown),
        ] {
            assert_eq!(sniff(head), want, "{:?}", String::from_utf8_lossy(head));
        }
    }
}
