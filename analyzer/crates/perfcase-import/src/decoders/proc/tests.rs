//! Whole streams through the decoder.

use perfcase_archive::Content;

use super::*;
use crate::decoders::testing::rows;
use crate::session::SourceInfo;
use crate::source::run;

fn file(clock_ns: i64, path: &str, text: &str) -> String {
    format!("F {clock_ns} {} {path}\n{text}\n", text.len())
}

fn import(stream: &str) -> (Session, Vec<&'static str>) {
    let directory = tempfile::tempdir().unwrap();
    let mut session = Session::new(directory.path(), Some(1_000));
    session.model.host.page_size_bytes = Some(4096);
    let source = session.source(SourceInfo { name: "proc".into(), ..SourceInfo::default() });
    let content = Content::from_bytes(stream.as_bytes());
    let mut sources =
        vec![open(content, &mut session, source, Options { clock_ticks_per_s: Some(250), ..Options::default() })];
    run(&mut sources, &mut session, &mut |_, _| true);
    let kinds = session.model.issues.list().iter().map(|issue| issue.kind).collect();
    (session, kinds)
}

const STAT: &str = "7 (a) b) R 1 2 3 4 5 4194304 7 8 9 10 5 6 13 14 20 0 3 0 99 4096 25 1 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 \
                    0 0 3 0 0\n";

#[test]
fn a_snapshot_becomes_rows() {
    let stream = [
        "S 1500 9 4\n".to_string(),
        file(1600, "/proc/stat", "cpu  1 2 3\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 25 0 0 50\nctxt 77\nprocs_running 2\n"),
        file(1700, "/proc/loadavg", "0.50 1.00 2.25 3/44 55\n"),
        file(1800, "/proc/meminfo", "MemTotal: 8 kB\nHugePages_Total: 2\nNovelty: 1 kB\n"),
        file(1900, "/proc/6/task/7/stat", STAT),
        file(1950, "/proc/6/task/7/status", "Uid:\t0 1000\nVmSwap: 1 kB\nnonvoluntary_ctxt_switches:\t9\n"),
        file(1960, "/proc/6/task/7/schedstat", "70 80 90\n"),
        "E 1970 2 /proc/6/task/8/stat\nE 1980 13 /proc/6/task/8/stack\n".to_string(),
        file(1985, "/proc/vmstat", "pgfault 1\n"),
        file(1990, "/proc/slabinfo", "x 1\n"),
        "Z 2000 4 7 0\n".to_string(),
    ];
    let (mut session, issues) = import(&stream.concat());
    assert_eq!(
        rows(&mut session.sink.tables.proc_cpu, "ts_ns snapshot cpu user_ns idle_ns iowait_ns guest_nice_ns"),
        ["600 4 0 4000000 16000000 20000000 40000000", "600 4 1 100000000 200000000 - -"]
    );
    assert_eq!(
        rows(&mut session.sink.tables.proc_system, "ts_ns context_switch_count running_count blocked_count"),
        ["600 77 2 -"]
    );
    assert_eq!(
        rows(&mut session.sink.tables.proc_load, "ts_ns load_1min load_5min load_15min runnable_count thread_count"),
        ["700 0.5 1 2.25 3 44"]
    );
    assert_eq!(
        rows(&mut session.sink.tables.proc_memory, "ts_ns mem_total_bytes mem_free_bytes huge_pages_total_count"),
        ["800 8192 - 2"]
    );
    assert_eq!(rows(&mut session.sink.tables.proc_vmstat, "ts_ns snapshot name value"), ["985 4 pgfault 1"]);
    let columns = "ts_ns tid pid comm state user_ns system_ns on_cpu_ns run_queue_ns run_count \
                   voluntary_switch_count involuntary_switch_count block_delay_ns cpu user_id resident_bytes \
                   swap_bytes start_boottime_ns";
    assert_eq!(
        rows(&mut session.sink.tables.proc_thread, columns),
        ["900 7 6 a) b R 20000000 24000000 70 80 90 - 9 12000000 1 1000 102400 1024 396000000"]
    );
    assert_eq!(issues, ["unreadable_file", "other_files", "vanished_thread", "unknown_line"]);
}

#[test]
fn a_process_becomes_rows() {
    let stat = STAT.replacen("7 (a) b)", "6 (main)", 1);
    let stream = [
        "S 1500 9 0\n".to_string(),
        file(1600, "/proc/6/stat", &stat),
        file(1610, "/proc/6/io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"),
        file(1620, "/proc/6/cmdline", "a\0b c\0"),
        file(1630, "/proc/6/cgroup", "0::/x\n"),
        file(1640, "/proc/6/limits", "Limit  Soft Limit\nMax open files  10  unlimited  files\n"),
        file(1650, "/proc/6/smaps_rollup", "1-2 ---p 00 00:00 0 [rollup]\nRss: 8 kB\nPss: 4 kB\nPss_Anon: 2 kB\n"),
        file(1655, "/proc/6/ns/net", "net:[99]"),
        file(1660, "/proc/6/fd", "0 /dev/null\n3 socket:[77]\n4 socket:[77]\n"),
        file(1700, "/proc/6/task/6/stat", &stat),
        file(1710, "/proc/6/task/6/io", "rchar: 10\n"),
        file(1720, "/proc/6/task/6/wchan", "do_wait"),
        file(1730, "/proc/6/task/7/stat", STAT),
        file(1740, "/proc/6/task/7/wchan", "0"),
        file(
            1800,
            "/perfcase/netns/99/sockets",
            "family=inet protocol=tcp state=ESTAB local_address=::1 local_port=80 inode=77 rtt_ns=5000 lost_count=1\n\
             family=unix protocol=stream state=LISTEN local_address=@a\\040b inode=0\n",
        ),
        "Z 2000 0 7 0\n".to_string(),
        "S 2500 9 1\n".to_string(),
        file(2620, "/proc/6/cmdline", "a\0b c\0"),
        file(2630, "/proc/6/cgroup", "0::/x\n"),
        file(2640, "/proc/6/limits", "Limit  Soft Limit\nMax open files  20  unlimited  files\n"),
        file(2650, "/proc/6/ns/net", "net:[99]"),
        "Z 3000 1 3 0\n".to_string(),
    ];
    let (mut session, issues) = import(&stream.concat());
    let columns = "ts_ns snapshot pid comm parent_pid user_ns children_user_ns read_char_bytes write_bytes \
                   cancelled_write_bytes mapped_resident_bytes pss_bytes pss_file_bytes fd_count";
    assert_eq!(
        rows(&mut session.sink.tables.proc_process, columns),
        ["600 0 6 main 1 20000000 52000000 1 6 - 8192 4096 - 3"]
    );
    // Unchanged values make no second row.
    assert_eq!(
        rows(&mut session.sink.tables.proc_command, "ts_ns pid command_line cgroup netns_inode"),
        ["600 6 a b c /x 99"]
    );
    assert_eq!(
        rows(&mut session.sink.tables.proc_limit, "ts_ns pid name soft hard unit"),
        ["600 6 Max open files 10 - files", "1620 6 Max open files 20 - files"]
    );
    assert_eq!(
        rows(&mut session.sink.tables.proc_fd, "pid fd kind inode target"),
        ["6 0 device - /dev/null", "6 3 socket 77 socket:[77]", "6 4 socket 77 socket:[77]"]
    );
    assert_eq!(
        rows(
            &mut session.sink.tables.proc_socket,
            "netns_inode state local_address local_port inode pid fd rtt_ns lost_count"
        ),
        ["99 ESTAB ::1 80 77 6 3 5000 1", "99 ESTAB ::1 80 77 6 4 5000 1", "99 LISTEN @a b - - - - - -"]
    );
    assert_eq!(
        rows(&mut session.sink.tables.proc_thread, "pid tid read_char_bytes write_bytes wait_channel"),
        ["6 6 10 - do_wait", "6 7 - - -"]
    );
    assert_eq!(issues, [""; 0]);
}

#[test]
fn counters_of_network_namespaces() {
    let stream = [
        "S 1500 9 0\n".to_string(),
        file(1600, "/proc/net/snmp", "Tcp: A\nTcp: 1\n"),
        file(1610, "/perfcase/netns/77/snmp", "Tcp: A\nTcp: 2\n"),
        file(1620, "/perfcase/netns/77/netstat", "TcpExt: B\nTcpExt: 3\n"),
        file(1630, "/perfcase/netns/77/sockstat", "TCP: inuse 4\n"),
        file(1640, "/perfcase/netns/18446744073709551615/snmp", "Tcp: A\nTcp: 5\n"),
        // What it is of must be known, and only counters are read of a namespace.
        file(1650, "/perfcase/netns/unknown/snmp", "Tcp: A\nTcp: 6\n"),
        file(1660, "/perfcase/netns/18446744073709551616/snmp", "Tcp: A\nTcp: 7\n"),
        file(1670, "/perfcase/netns/77/../snmp", "Tcp: A\nTcp: 8\n"),
        file(1680, "/perfcase/netns/77/arp", "eth0: 1\n"),
        file(1685, "/perfcase/netns/77/dev", "h\nh\n eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"),
        file(1690, "/perfcase/netns/left_out", "namespace_count 136\nprocess_count 2\nother 7\n"),
        "Z 2000 0 11 0\n".to_string(),
    ];
    let (mut session, issues) = import(&stream.concat());
    let tables = &mut session.sink.tables;
    assert_eq!(rows(&mut tables.proc_net_dev, "ts_ns netns_inode interface tx_bytes"), ["685 77 eth0 9"]);
    let found = rows(&mut tables.proc_net_counter, "ts_ns netns_inode protocol name value");
    let namespaces = ["600 - Tcp A 1", "610 77 Tcp A 2", "620 77 TcpExt B 3", "640 18446744073709551615 Tcp A 5"];
    assert_eq!(found, namespaces);
    assert_eq!(rows(&mut tables.proc_sockstat, "netns_inode protocol name value"), ["77 TCP inuse 4"]);
    assert_eq!(issues, ["other_files", "networks_left_out", "networks_left_out"]);
}

#[test]
fn damaged_files_of_a_process_are_reported() {
    let stream = [
        "S 1500 9 0\n".to_string(),
        file(1600, "/proc/6/io", "x"),
        file(1610, "/proc/6/limits", "x"),
        file(1620, "/proc/6/fd", "x"),
        file(1630, "/perfcase/netns/99/sockets", "family=inet\n"),
        file(1635, "/proc/6/ns/net", "mnt:[99]"),
        file(1636, "/perfcase/netns/left_out", "x"),
        file(1640, "/proc/6/auxv", "x"),
        "Z 2000 0 5 0\n".to_string(),
    ];
    let (mut session, issues) = import(&stream.concat());
    assert_eq!(rows(&mut session.sink.tables.proc_socket, "inode"), [""; 0]);
    assert_eq!(issues, [["damaged_file"; 6].as_slice(), &["other_files"]].concat());
}

#[test]
fn a_reused_thread_id_is_another_thread() {
    let snapshot = |clock: i64, start: &str| {
        let stat = STAT.replace(" 99 4096", &format!(" {start} 4096"));
        format!("S {clock} 9 0\n{}Z {clock} 0 1 1\n", file(clock, "/proc/7/task/7/stat", &stat))
    };
    let stream = [snapshot(2_000, "99"), snapshot(3_000, "99"), snapshot(4_000, "150"), snapshot(5_000, "150")];
    let (mut session, issues) = import(&stream.concat());
    assert_eq!(
        rows(&mut session.sink.tables.proc_thread, "ts_ns utid tid start_boottime_ns"),
        ["1000 1 7 396000000", "2000 1 7 396000000", "3000 2 7 600000000", "4000 2 7 600000000"]
    );
    assert_eq!(issues, [""; 0]);
}

#[test]
fn a_cut_stream_keeps_the_files_before() {
    let whole = [
        "S 1500 9 0\n".to_string(),
        file(1600, "/proc/loadavg", "0.50 1.00 2.25 3/44 55\n"),
        file(1700, "/proc/stat", "cpu0 1 2 3 4\ncpu1 11 12 13 14\n"),
    ]
    .concat();
    let cut = whole.find("13 14").unwrap() + 1;
    let (mut session, issues) = import(&whole[..cut]);
    assert_eq!(rows(&mut session.sink.tables.proc_load, "load_1min"), ["0.5"]);
    // The line of CPU 1 ends in the middle of a number.
    assert_eq!(rows(&mut session.sink.tables.proc_cpu, "cpu user_ns"), ["0 4000000"]);
    assert_eq!(issues, ["truncated"]);
    let (_, issues) = import(&whole);
    assert_eq!(issues, ["truncated"]);
}

#[test]
fn damage_is_skipped_and_reported() {
    let stream = ["S 1500 9 0\n", "garbage\n", &file(1600, "/proc/loadavg", "0.5\n"), "Z 1700 0 1 4\n"].concat();
    let (mut session, issues) = import(&stream);
    assert_eq!(rows(&mut session.sink.tables.proc_load, "load_1min"), [""; 0]);
    assert_eq!(issues, ["damaged", "damaged_file"]);
}

#[test]
fn no_snapshot_is_an_issue() {
    assert_eq!(import("").1, ["no_records"]);
}

#[test]
fn files_about_the_host_become_rows() {
    let disk = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
    let net = "head\nhead\n eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
    let files = [
        ("/proc/diskstats", disk),
        ("/proc/net/dev", net),
        ("/sys/class/net/eth0/duplex", "full\n"),
        ("/sys/class/net/eth0/speed", "100\n"),
        ("/sys/class/net/eth0/device/uevent", "DRIVER=ixgbe\n"),
        ("/sys/class/net/eth1/device/uevent", "DRIVER=ixgbe\n"),
        ("/sys/class/net/lo/speed", "-1\n"),
        ("/proc/net/snmp", "Tcp: A\nTcp: -1\n"),
        ("/proc/net/netstat", "IpExt: B\nIpExt: 2\n"),
        ("/proc/net/sockstat", "TCP: mem 3\n"),
        ("/proc/net/softnet_stat", "0000000a 00000001 00000002 00000000\n"),
        ("/proc/sys/fs/file-nr", "937\t0\t2466190\n"),
        ("/perfcase/file_systems", "ext4 rw 4096 10 4 3 50 20 /dev/sda1 /mnt/a\\040b\n"),
        ("/perfcase/file_systems/left_out", "foreign_count 2\nsurplus_count 0\nsilent_count 1\n"),
        ("/proc/pressure/io", "full avg10=1.00 avg60=2.00 avg300=4.00 total=5\n"),
        ("/proc/interrupts", "  CPU0 CPU1\n  9: 0 7 PCI  x\nERR: 1\n"),
        ("/proc/softirqs", "  CPU0 CPU1\n  RCU: 6 0\n"),
        ("/proc/schedstat", "version 15\ncpu1 0 0 0 0 0 0 1 2 3\n"),
        ("/sys/fs/cgroup/a/memory.max", "max\n"),
        (
            "/sys/kernel/tracing/trace_stat/function1",
            "  Function  Hit  Time\n  f    7    1.250 us   0.178 us   0.000 us\n",
        ),
    ];
    let stream: String = files.iter().map(|(path, text)| file(1_600, path, text)).collect();
    let stream = format!("S 1500 9 4\n{stream}Z 2000 4 20 0\n");
    let (mut session, issues) = import(&stream);
    let tables = &mut session.sink.tables;
    let columns = "ts_ns snapshot device major minor read_count read_bytes write_ns in_flight_count io_ns flush_ns";
    assert_eq!(rows(&mut tables.proc_disk, columns), ["600 4 sda 8 0 1 1536 8000000 9 10000000 -"]);
    assert_eq!(
        rows(&mut tables.proc_net_dev, "interface rx_bytes rx_multicast_count tx_compressed_count"),
        ["eth0 1 8 16"]
    );
    let found = rows(&mut tables.proc_net_link, "interface speed_bits_per_s is_full_duplex driver");
    assert_eq!(found, ["eth0 100000000 true ixgbe"]);
    assert_eq!(rows(&mut tables.proc_net_counter, "protocol name value"), ["Tcp A -1", "IpExt B 2"]);
    assert_eq!(rows(&mut tables.proc_sockstat, "protocol name value"), ["TCP mem 3"]);
    let columns = "resource kind avg10_ratio avg60_ratio avg300_ratio total_ns";
    assert_eq!(rows(&mut tables.proc_pressure, columns), ["io full 0.01 0.02 0.04 5000"]);
    assert_eq!(rows(&mut tables.proc_interrupt, "irq cpu count description"), ["9 1 7 PCI x", "ERR - 1 -"]);
    assert_eq!(rows(&mut tables.proc_softirq, "name cpu count"), ["RCU 0 6"]);
    assert_eq!(rows(&mut tables.proc_cpu_sched, "cpu run_ns run_queue_ns timeslice_count"), ["1 1 2 3"]);
    assert_eq!(rows(&mut tables.proc_cgroup_stat, "cgroup name value"), ["/a memory.max -"]);
    assert_eq!(rows(&mut tables.function_hit, "snapshot cpu function hit_count total_ns"), ["4 1 f 7 1250"]);
    assert_eq!(rows(&mut tables.proc_softnet, "cpu processed_count drop_count squeeze_count"), ["0 10 1 2"]);
    let found = rows(&mut tables.proc_sysctl, "name place value");
    assert_eq!(found, ["fs.file-nr 0 937", "fs.file-nr 1 0", "fs.file-nr 2 2466190"]);
    let columns = "mount_point file_system is_read_only total_bytes available_bytes free_inode_count";
    assert_eq!(rows(&mut tables.proc_file_system, columns), ["/mnt/a b ext4 false 40960 12288 20"]);
    assert_eq!(issues, ["file_systems_left_out"; 2]);
}

#[test]
fn files_that_are_not_as_the_kernel_writes_them() {
    let paths = [
        "/proc/vmstat",
        "/proc/diskstats",
        "/proc/net/dev",
        "/proc/net/snmp",
        "/proc/pressure/cpu",
        "/proc/interrupts",
    ];
    let stream: String = paths.iter().map(|path| file(1_600, path, "?\n")).collect();
    let (_, issues) = import(&format!("S 1500 9 4\n{stream}Z 2000 4 6 0\n"));
    assert_eq!(issues, ["damaged_file"; 6]);
}

#[test]
fn a_thread_that_has_not_run_says_what_it_said() {
    let shot = |seq: u32, schedstat: &str, status: &str| {
        let clock = 1_000 * i64::from(seq) + 2_000;
        let mut text = format!("S {clock} 9 {seq}\n{}", file(clock, "/proc/6/task/7/stat", STAT));
        text += &file(clock, "/proc/6/task/7/schedstat", schedstat);
        if !status.is_empty() {
            text += &file(clock, "/proc/6/task/7/status", status);
            text += &file(clock, "/proc/6/task/7/wchan", "do_wait");
        }
        format!("{text}Z {clock} {seq} 2 1\n")
    };
    let status = "Uid:\t0 1000\nVmSwap: 1 kB\nvoluntary_ctxt_switches:\t5\n";
    let stream = [
        shot(0, "1 2 3", status),
        shot(1, "1 2 3", ""),
        // It ran, and its other values are unknown.
        shot(2, "9 2 4", ""),
        shot(3, "9 2 4", "voluntary_ctxt_switches:\t6\n"),
        shot(4, "9 2 4", ""),
    ];
    let (mut session, issues) = import(&stream.concat());
    assert_eq!(
        rows(
            &mut session.sink.tables.proc_thread,
            "snapshot run_count voluntary_switch_count user_id swap_bytes wait_channel"
        ),
        ["0 3 5 1000 1024 do_wait", "1 3 5 1000 - do_wait", "2 4 - - - -", "3 4 6 - - do_wait", "4 4 6 - - do_wait"]
    );
    assert_eq!(issues, [""; 0]);
}

#[test]
fn a_sleeping_thread_may_say_no_more_than_that_it_is_there() {
    let shot = |seq: u32, schedstat: &str, stat: &str| {
        let clock = 1_000 * i64::from(seq) + 2_000;
        let mut text = format!("S {clock} 9 {seq}\n{}", file(clock, "/proc/6/task/7/schedstat", schedstat));
        if !stat.is_empty() {
            text += &file(clock, "/proc/6/task/7/stat", stat);
        }
        format!("{text}Z {clock} {seq} 2 1\n")
    };
    let (sleeping, waiting) = (STAT.replacen(") R ", ") S ", 1), STAT);
    let stream = [
        shot(0, "1 2 3", &sleeping),
        shot(1, "1 2 3", ""),
        // Another thread woke it.
        shot(2, "1 2 3", waiting),
        shot(3, "1 2 3", ""),
        // It ran, and its stat is missing: the values before are out of date.
        shot(4, "9 2 4", ""),
    ];
    let (mut session, issues) = import(&stream.concat());
    let columns = "snapshot state run_count user_ns thread_count virtual_bytes resident_bytes";
    let all = rows(&mut session.sink.tables.proc_thread, columns);
    let told: Vec<String> = all.iter().map(|row| row.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(told, ["0 S 3", "1 S 3", "2 R 3", "3 R 3"]);
    // The thread's values are the same. The values of its process are not known from this thread.
    let fields = |row: usize| all[row].split(' ').skip(3).map(str::to_string).collect::<Vec<_>>();
    assert_eq!(fields(1)[0], fields(0)[0]);
    assert_ne!(fields(0)[1..], ["-", "-", "-"]);
    assert_eq!(fields(1)[1..], ["-", "-", "-"]);
    assert_eq!(issues, [""; 0]);
}
