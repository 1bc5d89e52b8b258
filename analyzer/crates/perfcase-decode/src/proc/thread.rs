//! /proc/PID/[task/TID/]{stat,status,schedstat,wchan}. Fields: proc_pid_stat(5), proc_pid_status(5), and
//! Documentation/scheduler/sched-stats.rst of the kernel.

/// A file of a thread or process, by its path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ThreadPath<'a> {
    /// The process's id.
    pub pid: i32,
    /// The thread's id; `None` for a file of the process.
    pub tid: Option<i32>,
    /// The file's name below its folder.
    pub file: &'a str,
}

/// Splits `/proc/12/task/13/stat` and `/proc/12/stat`.
pub fn parse_path(path: &str) -> Option<ThreadPath<'_>> {
    let rest = path.strip_prefix("/proc/")?;
    let (pid, rest) = rest.split_once('/')?;
    let pid = pid.parse().ok()?;
    match rest.strip_prefix("task/").and_then(|rest| rest.split_once('/')) {
        Some((tid, file)) => Some(ThreadPath { pid, tid: Some(tid.parse().ok()?), file }),
        None => Some(ThreadPath { pid, tid: None, file: rest }),
    }
}

/// What `stat` says. Times are ticks of `clock_ticks_per_s`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ThreadStat {
    /// The thread's id, or the process's.
    pub tid: i32,
    /// Its name as the kernel prints it. Threads of work queues also have the name of their work.
    pub comm: Vec<u8>,
    /// R, S, D, T, t, Z, X, I, …
    pub state: u8,
    /// The parent's process id.
    pub parent_pid: Option<i32>,
    /// PF_* bits.
    pub flags: Option<u32>,
    /// Page faults without input.
    pub minor_fault_count: Option<u64>,
    /// Page faults with input.
    pub major_fault_count: Option<u64>,
    /// Time in user mode.
    pub user_ticks: Option<u64>,
    /// Time in the kernel.
    pub system_ticks: Option<u64>,
    /// Time in user mode of children that were waited for.
    pub children_user_ticks: Option<u64>,
    /// Time in the kernel of children that were waited for.
    pub children_system_ticks: Option<u64>,
    /// The kernel's priority.
    pub priority: Option<i32>,
    /// Niceness.
    pub nice: Option<i32>,
    /// Threads of its process.
    pub thread_count: Option<u32>,
    /// The time from the boot to its start.
    pub start_ticks: Option<u64>,
    /// Address space.
    pub virtual_bytes: Option<u64>,
    /// Resident pages.
    pub resident_pages: Option<u64>,
    /// The address where its stack begins; `None` for kernel threads, and where the reader has no right to know.
    pub stack_start: Option<u64>,
    /// The CPU it ran on last.
    pub cpu: Option<u32>,
    /// Real-time priority.
    pub realtime_priority: Option<u32>,
    /// Scheduling policy.
    pub policy: Option<u32>,
    /// Time that it waited for block devices.
    pub block_delay_ticks: Option<u64>,
}

/// Reads `stat`. The name is in parentheses and may have any bytes, also parentheses and line ends: it ends at the last
/// parenthesis.
pub fn parse_stat(text: &[u8]) -> Option<ThreadStat> {
    let open = text.iter().position(|&b| b == b'(')?;
    let close = text.iter().rposition(|&b| b == b')').filter(|close| *close > open)?;
    let tid = std::str::from_utf8(&text[..open]).ok()?.trim().parse().ok()?;
    let fields: Vec<&str> = std::str::from_utf8(&text[close + 1..]).ok()?.split_ascii_whitespace().take(64).collect();
    // Numbers as in proc_pid_stat(5), where the state is (3).
    let field = |number: usize| fields.get(number - 3).copied();
    let state = field(3).filter(|state| state.len() == 1)?.as_bytes()[0];
    Some(ThreadStat {
        tid,
        comm: text[open + 1..close].to_vec(),
        state,
        parent_pid: field(4).and_then(|f| f.parse().ok()),
        flags: field(9).and_then(|f| f.parse().ok()),
        minor_fault_count: field(10).and_then(|f| f.parse().ok()),
        major_fault_count: field(12).and_then(|f| f.parse().ok()),
        user_ticks: field(14).and_then(|f| f.parse().ok()),
        system_ticks: field(15).and_then(|f| f.parse().ok()),
        children_user_ticks: field(16).and_then(|f| f.parse().ok()),
        children_system_ticks: field(17).and_then(|f| f.parse().ok()),
        priority: field(18).and_then(|f| f.parse().ok()),
        nice: field(19).and_then(|f| f.parse().ok()),
        thread_count: field(20).and_then(|f| f.parse().ok()),
        start_ticks: field(22).and_then(|f| f.parse().ok()),
        virtual_bytes: field(23).and_then(|f| f.parse().ok()),
        resident_pages: field(24).and_then(|f| f.parse().ok()),
        stack_start: field(28).and_then(|f| f.parse().ok()).filter(|&start| start > 1),
        cpu: field(39).and_then(|f| f.parse().ok()),
        realtime_priority: field(40).and_then(|f| f.parse().ok()),
        policy: field(41).and_then(|f| f.parse().ok()),
        block_delay_ticks: field(42).and_then(|f| f.parse().ok()),
    })
}

/// The figures of `status` that `stat` does not have.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ThreadStatus {
    /// The process's id.
    pub pid: Option<i32>,
    /// The user it runs as.
    pub uid: Option<u32>,
    /// Largest resident set so far.
    pub resident_peak_bytes: Option<u64>,
    /// Resident anonymous memory.
    pub resident_anon_bytes: Option<u64>,
    /// Resident file pages.
    pub resident_file_bytes: Option<u64>,
    /// Resident shared memory.
    pub resident_shmem_bytes: Option<u64>,
    /// Swapped out.
    pub swap_bytes: Option<u64>,
    /// How often it gave up the CPU.
    pub voluntary_switch_count: Option<u64>,
    /// How often the kernel took the CPU from it.
    pub involuntary_switch_count: Option<u64>,
}

/// Reads `status`.
pub fn parse_status(text: &[u8]) -> ThreadStatus {
    let mut status = ThreadStatus::default();
    for line in text.split(|&b| b == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let Some((key, value)) = line.split_once(':') else { continue };
        let mut words = value.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.parse::<u64>().ok());
        let bytes = (words.next() == Some("kB")).then(|| number.and_then(|n| n.checked_mul(1024))).flatten();
        match key {
            "Tgid" => status.pid = number.and_then(|n| i32::try_from(n).ok()),
            // The effective user is the second of four.
            "Uid" => status.uid = value.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()),
            "VmHWM" => status.resident_peak_bytes = bytes,
            "RssAnon" => status.resident_anon_bytes = bytes,
            "RssFile" => status.resident_file_bytes = bytes,
            "RssShmem" => status.resident_shmem_bytes = bytes,
            "VmSwap" => status.swap_bytes = bytes,
            "voluntary_ctxt_switches" => status.voluntary_switch_count = number,
            "nonvoluntary_ctxt_switches" => status.involuntary_switch_count = number,
            _ => {}
        }
    }
    status
}

/// Reads `schedstat`: (time on a CPU in ns, time that it waited for a CPU in ns, how often it got a CPU).
pub fn parse_schedstat(text: &[u8]) -> Option<(u64, u64, u64)> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace().map(|word| word.parse().ok());
    Some((words.next()??, words.next()??, words.next()??))
}

/// Reads `wchan`: the kernel's function that the thread waits in. The kernel writes 0 for a thread that runs, or to hide it.
pub fn parse_wchan(text: &[u8]) -> Option<&[u8]> {
    Some(text.trim_ascii()).filter(|name| !matches!(*name, b"" | b"0"))
}

/// Gives the name that the scheduler's events have of a thread: `stat` appends the work of threads of work queues
/// (PF_WQ_WORKER) after `-` or `+`, and events cut names to 15 bytes.
pub fn scheduler_comm(stat: &ThreadStat) -> &[u8] {
    const PF_WQ_WORKER: u32 = 0x20;
    let mut comm = stat.comm.as_slice();
    if stat.flags.is_some_and(|flags| flags & PF_WQ_WORKER != 0) && !comm.starts_with(b"kworker/R-") {
        let end = comm.iter().position(|b| matches!(b, b'-' | b'+')).unwrap_or(comm.len());
        comm = &comm[..end];
    }
    &comm[..comm.len().min(15)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let path = |text| parse_path(text).map(|p| (p.pid, p.tid, p.file));
        assert_eq!(path("/proc/12/task/13/stat"), Some((12, Some(13), "stat")));
        assert_eq!(path("/proc/12/status"), Some((12, None, "status")));
        assert_eq!(path("/proc/12/net/dev"), Some((12, None, "net/dev")));
        assert_eq!(path("/proc/stat"), None);
        assert_eq!(path("/proc/sys/kernel/x"), None);
    }

    #[test]
    fn a_name_may_hold_anything() {
        let tail = " S 1 2 3 4 5 4194304 7 8 9 10 11 12 13 14 20 -5 3 0 99 4096 25 18446744073709551615 1 1 0 0 0 0 0 \
                    4096 0 0 0 0 17 1 0 0 6 0 0\n";
        for name in ["bash", "a b", "(sd-pam)", "a) S (b", "a\nb", ") R 1", ""] {
            let stat = parse_stat(format!("4711 ({name}){tail}").as_bytes()).unwrap();
            assert_eq!(stat.comm, name.as_bytes());
            assert_eq!((stat.tid, stat.state, stat.parent_pid), (4711, b'S', Some(1)));
            assert_eq!((stat.minor_fault_count, stat.major_fault_count), (Some(7), Some(9)));
            assert_eq!((stat.user_ticks, stat.system_ticks), (Some(11), Some(12)));
            assert_eq!((stat.priority, stat.nice, stat.thread_count), (Some(20), Some(-5), Some(3)));
            assert_eq!((stat.start_ticks, stat.virtual_bytes), (Some(99), Some(4096)));
            assert_eq!((stat.resident_pages, stat.cpu), (Some(25), Some(1)));
            assert_eq!((stat.realtime_priority, stat.policy, stat.block_delay_ticks), (Some(0), Some(0), Some(6)));
        }
        let not_utf8 = [&b"1 (\xff\xfe)"[..], tail.as_bytes()].concat();
        assert_eq!(parse_stat(&not_utf8).unwrap().comm, b"\xff\xfe");
    }

    #[test]
    fn what_is_cut_is_unknown_and_not_zero() {
        let stat = parse_stat(b"1 (x) R 2 3").unwrap();
        assert_eq!((stat.parent_pid, stat.user_ticks, stat.cpu), (Some(2), None, None));
        for bad in [&b""[..], b"1", b"1 (x", b"1 x) R", b"(x) R 1", b")(", b"1 (x)", b"1 (x) RR 2"] {
            assert_eq!(parse_stat(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn status_and_schedstat() {
        let status = parse_status(
            b"Name:\tx\nTgid:\t7\nUid:\t0\t1000\t0\t0\nVmHWM:\t    3 kB\nRssAnon:\t 2 kB\nVmSwap:\t5\n\
              voluntary_ctxt_switches:\t8\nnonvoluntary_ctxt_switches:\t9\n\xff:\n",
        );
        let want = ThreadStatus {
            pid: Some(7),
            uid: Some(1000),
            resident_peak_bytes: Some(3072),
            resident_anon_bytes: Some(2048),
            voluntary_switch_count: Some(8),
            involuntary_switch_count: Some(9),
            ..ThreadStatus::default()
        };
        assert_eq!(status, want);
        assert_eq!(parse_schedstat(b"1 2 3\n"), Some((1, 2, 3)));
        assert_eq!(parse_schedstat(b"1 2"), None);
        assert_eq!(
            [parse_wchan(b"do_wait\n"), parse_wchan(b"0"), parse_wchan(b"")],
            [Some(&b"do_wait"[..]), None, None]
        );
    }

    #[test]
    fn workers_have_their_own_name() {
        let named = |comm: &str, flags| ThreadStat { comm: comm.into(), flags: Some(flags), ..ThreadStat::default() };
        assert_eq!(scheduler_comm(&named("kworker/0:1-events_unbound", 0x4208060)), b"kworker/0:1");
        assert_eq!(scheduler_comm(&named("kworker/u4:0+flush-8:0", 0x20)), b"kworker/u4:0");
        assert_eq!(scheduler_comm(&named("kworker/R-xfs_a", 0x20)), b"kworker/R-xfs_a");
        assert_eq!(scheduler_comm(&named("systemd-journald", 0)), b"systemd-journal");
    }
}
