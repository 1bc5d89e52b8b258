//! The decoders of texts: of /proc, /sys and the host.

use perfcase_decode::host::{Host, kmsg};
use perfcase_decode::proc::socket_text::{Sockets, Text};
use perfcase_decode::proc::{
    cgroups, copies, counters, cpus, devices, fd, function_profile, meminfo, process, socket, stat, stream, thread,
};
use perfcase_decode::symbol_list;

/// A decoder: its name, a text that it reads whole, and how many items it gives of a text.
pub type Decoder = (&'static str, &'static [u8], fn(&[u8]) -> usize);

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Facts of a file, each with a value.
fn facts(name: &str, bytes: &[u8]) -> usize {
    let mut host = Host::default();
    host.file(name, &text(bytes));
    host.into_iter().inspect(|(key, (value, _))| assert!(!value.is_empty(), "{key}")).count()
}

fn sockets(kind: Text<'_>, bytes: &[u8]) -> usize {
    let mut sockets = Sockets::default();
    sockets.read(kind, &text(bytes));
    let lines = sockets.into_text();
    let found: Vec<_> = socket::parse(lines.as_bytes()).collect();
    assert!(found.iter().all(Option::is_some), "each line is one that the recorder could have written: {lines}");
    found.len()
}

/// All of them.
pub const DECODERS: &[Decoder] = &[
    (
        "symbols/objects.tsv",
        b"member\tkind\nelf/ab\telf-table\tab\t/a\\011b\\134c\t-\t-\t120\t4000\t-\n-\telf\t-\t/x\t7\t1\t-\t9\tbudget\n",
        |bytes| symbol_list::parse(&text(bytes)).objects.len(),
    ),
    ("host/kmsg", b"6,339,5140900,-;NET: a\\x0ab\n SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A03:00\n3,340,5,-;x\n", |bytes| {
        kmsg::parse(&text(bytes)).len()
    }),
    (
        "host/cpu-topology",
        b"cpu/online = 0-7\ncpu/cpu0/topology/physical_package_id = 0\ncpu/cpu0/topology/core_id = 1\n\
          cpu/cpu0/topology/thread_siblings_list = 0-1\ncpu/cpu0/cache/index0/size = 32K\ncpu/cpu0/cache/index0/level = 1\n\
          cpu/cpu0/cpufreq/cpuinfo_max_freq = 1000\nnode/node1/memory = 2 kB\n",
        |bytes| facts("cpu-topology", bytes),
    ),
    ("host/cpuinfo", b"processor\t: 0\nmodel name\t: X  Y\nflags : a b\n", |bytes| facts("cpuinfo", bytes)),
    ("host/block-queues", b"vda/size = 8\nvda/queue/scheduler = none [mq-deadline]\nloop0/size = 0\n", |bytes| {
        facts("block-queues", bytes)
    }),
    ("host/sysctl", b"net/ipv4/tcp_rmem = 1\t2\t3\nvm/x = 1\n", |bytes| facts("sysctl", bytes)),
    ("host/mounts", b"a / ext4 rw 0 0\nb /x xfs ro 0 0\n", |bytes| facts("mounts", bytes)),
    ("host/meminfo", b"MemTotal:  8 kB\nHugePages_Total: 3\n", |bytes| facts("meminfo", bytes)),
    ("host/modules", b"ext4 100 2 - Live 0x0\n", |bytes| facts("modules", bytes)),
    ("host/swaps", b"Filename Type Size Used Priority\n/s file 4 0 -2\n", |bytes| facts("swaps", bytes)),
    ("host/uname", b"Linux n 6.1.0 #1 SMP now x86_64 GNU/Linux\n", |bytes| facts("uname", bytes)),
    ("io", b"rchar: 1\nwchar: 2\nread_bytes: 5\n", |bytes| usize::from(process::parse_io(bytes).is_some())),
    ("limits", b"Limit  Soft Limit\nMax open files  10  unlimited  files\nMax nice priority 0 0\n", |bytes| {
        process::parse_limits(bytes).unwrap_or_default().len()
    }),
    ("numa_maps", b"7f00 default file=/x N0=3 N1=1 kernelpagesize_kB=4\n", |bytes| {
        process::parse_numa_maps(bytes).len()
    }),
    ("cmdline", b"sh\0-c\0a b\0", |bytes| process::parse_cmdline(bytes).iter().count()),
    ("cgroup", b"4:memory:/m:x\n0::/\n", |bytes| process::parse_cgroup(bytes).iter().count()),
    ("smaps_rollup", b"1-2 ---p 00 00:00 0 [rollup]\nRss: 8 kB\nPss: 4 kB\n", |bytes| {
        process::parse_smaps_rollup(bytes).len()
    }),
    ("fd", b"0 /dev/null\n3 socket:[77]\n4 /a\\012b\n", |bytes| fd::parse(bytes).len()),
    ("sockets", b"family=inet protocol=tcp state=ESTAB local_port=80\nfamily=unix protocol=dgram state=UNCONN\n", |bytes| {
        socket::parse(bytes).flatten().filter(|socket| socket.number::<u16>("x").is_none()).count()
    }),
    ("task/stat", b"7 (a) b) R 1 2 3 4 5 4194304 7 8 9 10 11 12 13 14 20 0 3 0 99 4096 25 1\n", |bytes| {
        thread::parse_stat(bytes).iter().inspect(|stat| assert!(thread::scheduler_comm(stat).len() <= 15)).count()
    }),
    ("task/status", b"Tgid:\t7\nUid:\t0\t1000\t0\t0\nVmHWM:\t 3 kB\n", |bytes| {
        usize::from(thread::parse_status(bytes) != thread::ThreadStatus::default())
    }),
    ("stat", b"cpu  1 2\ncpu0 1 2 3 4 5\nintr 77 1\nctxt 5\n", |bytes| stat::parse_stat(bytes).cpus.len()),
    ("loadavg", b"85.09 89.25 91.26 3/1044 4711\n", |bytes| stat::parse_loadavg(bytes).iter().count()),
    ("meminfo", b"MemTotal: 16 kB\nHugePages_Total: 3\n", |bytes| {
        usize::from(meminfo::parse(bytes).get("MemTotal").is_some())
    }),
    ("uptime", b"108.50 41.74\n", |bytes| copies::uptime(bytes).iter().count()),
    ("version", b"Linux version 6.1.0 (x)\n", |bytes| copies::release(bytes).iter().count()),
    ("vmstat", b"nr_free_pages 7\npgfault 99\n", |bytes| counters::parse_vmstat(bytes).len()),
    ("buddyinfo", b"Node 0, zone   Normal   13   4   2\n", |bytes| counters::parse_buddyinfo(bytes).len()),
    ("net/snmp", b"Tcp: MaxConn InSegs\nTcp: -1 5\n", |bytes| counters::parse_pairs(bytes).len()),
    ("net/sockstat", b"TCP: inuse 1 orphan 2\n", |bytes| counters::parse_sockstat(bytes).len()),
    ("pressure", b"some avg10=50.00 avg60=25.50 avg300=0.00 total=12\n", |bytes| counters::parse_pressure(bytes).len()),
    ("interrupts", b"  CPU0 CPU2\n  0:  121  0  IO-APIC  timer\nERR:  3\n", |bytes| {
        cpus::parse_table(bytes).iter().map(|line| line.counts.len()).sum()
    }),
    ("schedstat", b"version 15\ncpu0 0 0 0 0 0 0 83 17 33\n", |bytes| cpus::parse_schedstat(bytes).len()),
    ("diskstats", b" 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n", |bytes| devices::parse_diskstats(bytes).len()),
    ("net/dev", b"head\nhead\n eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", |bytes| {
        devices::parse_net_dev(bytes).len()
    }),
    ("cgroup file", b"8:0 rbytes=1 wbytes=2\n", |bytes| {
        let mut count = 0;
        cgroups::parse("io.stat", bytes, |_, _| count += 1);
        count
    }),
    ("function profile", b"  Function  Hit  Time\n  f    7    1.250 us   0.178 us   0.000 us\n", |bytes| {
        function_profile::parse(bytes).len()
    }),
    (
        "ss",
        b"tcp ESTAB 0 0 127.0.0.1:80 [::1]:5 users:((\"a\",pid=1,fd=2)) timer:(on,204ms,0) ino:9 skmem:(r0,rb1,d2)\n\t cubic rto:204 rtt:1.5/0.7\n\
          u_str ESTAB 0 0 /a b 12 * 13\n",
        |bytes| sockets(Text::Ss, bytes),
    ),
    (
        "net/tcp",
        b"  sl  local_address\n   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 77 1\n",
        |bytes| sockets(Text::Inet("tcp"), bytes),
    ),
    ("net/unix", b"Num RefCount\n0: 00000002 00000000 00010000 0001 01 99 /run/a b\n", |bytes| {
        sockets(Text::Unix, bytes)
    }),
    ("snapshots", b"S 10 20 0\nF 11 6 /proc/a\nx\ny 1\n\nE 12 2 /proc/b\nZ 14 0 2 6\n", |bytes| {
        let (mut at, mut count) = (0, 0);
        while let Some(step) = stream::read(bytes, at) {
            assert!(step.next > at, "it must go on");
            count += usize::from(step.frame.is_some());
            at = step.next;
        }
        count
    }),
];
