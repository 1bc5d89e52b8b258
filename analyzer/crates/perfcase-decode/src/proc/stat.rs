//! /proc/stat and /proc/loadavg. Fields: proc_stat(5), proc_loadavg(5).

/// CPU time by mode since boot, in ticks of `clock_ticks_per_s`. Fields that an old kernel lacks are `None`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CpuTicks {
    /// The CPU.
    pub cpu: u32,
    /// user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice.
    pub modes: [Option<u64>; 10],
}

/// The figures of /proc/stat.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Stat {
    /// An entry for each CPU that is online.
    pub cpus: Vec<CpuTicks>,
    /// Interrupts served since boot.
    pub interrupt_count: Option<u64>,
    /// Context switches since boot.
    pub context_switch_count: Option<u64>,
    /// Processes and threads created since boot.
    pub fork_count: Option<u64>,
    /// Threads that run or wait for a CPU.
    pub running_count: Option<u64>,
    /// Threads that wait for input or output.
    pub blocked_count: Option<u64>,
    /// Soft interrupts served since boot.
    pub softirq_count: Option<u64>,
    /// The number of unknown lines.
    pub unknown_lines: u64,
}

/// The most CPUs that are read.
const CPU_COUNT_MAX: usize = 65_536;

/// Reads /proc/stat.
pub fn parse_stat(text: &[u8]) -> Stat {
    let mut stat = Stat::default();
    for line in text.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        let Ok(line) = std::str::from_utf8(line) else {
            stat.unknown_lines += 1;
            continue;
        };
        let mut words = line.split_ascii_whitespace();
        let (name, rest) = (words.next().unwrap_or_default(), words);
        let mut first = rest.clone().map_while(|word| word.parse::<u64>().ok());
        match name {
            "cpu" | "btime" => {}
            "intr" => stat.interrupt_count = first.next(),
            "ctxt" => stat.context_switch_count = first.next(),
            "processes" => stat.fork_count = first.next(),
            "procs_running" => stat.running_count = first.next(),
            "procs_blocked" => stat.blocked_count = first.next(),
            "softirq" => stat.softirq_count = first.next(),
            _ => match name.strip_prefix("cpu").and_then(|number| number.parse().ok()) {
                Some(cpu) if stat.cpus.len() < CPU_COUNT_MAX => stat.cpus.push(cpu_ticks(cpu, rest)),
                _ => stat.unknown_lines += 1,
            },
        }
    }
    stat
}

fn cpu_ticks<'a>(cpu: u32, mut words: impl Iterator<Item = &'a str>) -> CpuTicks {
    let mut modes = [None; 10];
    for mode in &mut modes {
        *mode = words.next().and_then(|word| word.parse().ok());
    }
    CpuTicks { cpu, modes }
}

/// The figures of /proc/loadavg.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadAverage {
    /// The load over 1, 5 and 15 minutes.
    pub loads: [f64; 3],
    /// Threads that run or wait for a CPU.
    pub runnable_count: u32,
    /// The number of all threads.
    pub thread_count: u32,
    /// The newest pid.
    pub last_pid: Option<i32>,
}

/// Reads /proc/loadavg.
pub fn parse_loadavg(text: &[u8]) -> Option<LoadAverage> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut load = || words.next()?.parse().ok().filter(|load: &f64| load.is_finite() && *load >= 0.0);
    let loads = [load()?, load()?, load()?];
    let (runnable, threads) = words.next()?.split_once('/')?;
    Some(LoadAverage {
        loads,
        runnable_count: runnable.parse().ok()?,
        thread_count: threads.parse().ok()?,
        last_pid: words.next().and_then(|word| word.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_of_a_new_and_of_an_old_kernel() {
        let stat = parse_stat(
            b"cpu  30 0 3 4 5 6 7 8 9 10\ncpu0 10 0 1 2 3 4 5 6 7 8\ncpu12 1 2 3 4\nintr 77 1 0 0\nctxt 5\nbtime 9\n\
              processes 6\nprocs_running 2\nprocs_blocked 1\nsoftirq 40 1 2\nnew_thing 1\n",
        );
        assert_eq!(stat.cpus.len(), 2);
        assert_eq!(stat.cpus[0].modes, [10, 0, 1, 2, 3, 4, 5, 6, 7, 8].map(Some));
        assert_eq!(stat.cpus[1].cpu, 12);
        assert_eq!(stat.cpus[1].modes[3..5], [Some(4), None]);
        assert_eq!((stat.interrupt_count, stat.context_switch_count), (Some(77), Some(5)));
        assert_eq!((stat.running_count, stat.blocked_count, stat.unknown_lines), (Some(2), Some(1), 1));
        assert_eq!(parse_stat(b"").cpus.len(), 0);
        assert_eq!(parse_stat(b"cpu0 99999999999999999999 x").cpus[0].modes, [None; 10]);
    }

    #[test]
    fn loadavg() {
        let load = parse_loadavg(b"85.09 89.25 91.26 3/1044 4711\n").unwrap();
        assert_eq!(load.loads, [85.09, 89.25, 91.26]);
        assert_eq!((load.runnable_count, load.thread_count, load.last_pid), (3, 1044, Some(4711)));
        for bad in ["", "1 2", "1 2 3 4", "1 2 nan 3/4 5", "1 2 -3 3/4 5"] {
            assert_eq!(parse_loadavg(bad.as_bytes()), None, "{bad}");
        }
    }
}
