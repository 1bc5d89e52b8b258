//! Files about the whole host, to rows; [`super::rows`] reads some others itself.

use std::collections::BTreeMap;

use perfcase_decode::proc::{cgroups, counters, cpus, devices, function_profile};

use super::rows::signed;
use crate::session::Session;
use crate::tables::{
    FunctionHitRow, ProcCgroupStatRow, ProcDiskRow, ProcInterruptRow, ProcNetLinkRow, ProcPressureRow, ProcSoftirqRow,
    ProcSysctlRow,
};

// Files that a function of perfcase-decode turns into the rows of a table: the TOML file of the table names it.
include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The snapshot that the rows are of.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// When the file was read.
    pub ts_ns: i64,
    /// The snapshot's number.
    pub snapshot: u32,
    /// The source.
    pub source_id: u16,
}

/// Network links. Speed, duplex and driver are separate files, and a row has all of them.
#[derive(Debug, Default)]
pub struct Links {
    found: BTreeMap<String, Link>,
}

#[derive(Debug, Default)]
struct Link {
    ts_ns: i64,
    speed_bits_per_s: Option<i64>,
    is_full_duplex: Option<bool>,
    driver: Option<String>,
}

impl Links {
    /// Reads a file of /sys/class/net.
    fn file(&mut self, at: At, name: &str, file: &str, bytes: &[u8]) {
        let link = self.found.entry(name.to_string()).or_insert(Link { ts_ns: at.ts_ns, ..Link::default() });
        match file {
            "speed" => link.speed_bits_per_s = devices::parse_speed(bytes),
            "duplex" => link.is_full_duplex = devices::parse_duplex(bytes),
            _ => link.driver = devices::parse_driver(bytes).map(str::to_string),
        }
    }

    /// Pushes the rows at the end of a snapshot.
    pub fn push(&mut self, session: &mut Session, snapshot: u32, source_id: u16) {
        for (interface, link) in std::mem::take(&mut self.found) {
            if link.speed_bits_per_s.is_none() && link.is_full_duplex.is_none() {
                continue;
            }
            session.sink.tables.proc_net_link.push(ProcNetLinkRow {
                ts_ns: link.ts_ns,
                snapshot,
                source_id,
                interface: interface.as_bytes(),
                speed_bits_per_s: link.speed_bits_per_s,
                is_full_duplex: link.is_full_duplex,
                driver: link.driver.as_deref().map(str::as_bytes),
            });
            session.row_added();
        }
    }
}

/// Reads a file. Tells whether it was understood; `None` for a file that this module does not read.
pub fn file(session: &mut Session, links: &mut Links, at: At, path: &str, bytes: &[u8]) -> Option<bool> {
    let count = match path {
        "/proc/diskstats" => {
            // The file of a host without a disk is empty.
            disks(session, at, bytes) + usize::from(bytes.is_empty())
        }
        "/proc/interrupts" => interrupts(session, at, bytes),
        "/proc/softirqs" => softirqs(session, at, bytes),
        _ => {
            if let Some(count) = of_one_function(session, at, None, path, bytes) {
                count
            } else if let Some(resource) = counters::pressure_path(path) {
                pressure(session, at, resource, bytes)
            } else if let Some(name) = counters::sysctl_path(path) {
                settings(session, at, &name, bytes)
            } else if let Some((name, file)) = devices::link_path(path) {
                links.file(at, name, file, bytes);
                1
            } else if let Some(cpu) = function_profile::cpu_of(path) {
                // A profile without a call is only a heading.
                function_hits(session, at, cpu, bytes) + usize::from(!bytes.is_empty())
            } else {
                // A file of a control group may be empty (io.stat): then it has no figure.
                cgroup(session, at, path, bytes)? + usize::from(bytes.is_empty())
            }
        }
    };
    Some(count > 0)
}

/// Reads a file of /proc/PID/net of a process in that network namespace, as [`file`] reads the recorder's own of /proc/net.
pub fn file_of_network(session: &mut Session, at: At, inode: u64, name: &str, bytes: &[u8]) -> Option<bool> {
    of_one_function(session, at, Some(inode), &format!("/proc/net/{name}"), bytes).map(|count| count > 0)
}

/// Pushes a row for each item. Gives their number.
fn each<T>(session: &mut Session, items: Vec<T>, mut push: impl FnMut(&mut Session, T)) -> usize {
    let count = items.len();
    for item in items {
        push(session, item);
        session.row_added();
    }
    count
}

fn function_hits(session: &mut Session, at: At, cpu: u32, bytes: &[u8]) -> usize {
    let At { ts_ns, snapshot, source_id } = at;
    each(session, function_profile::parse(bytes), |session, function| {
        session.sink.tables.function_hit.push(FunctionHitRow {
            ts_ns,
            snapshot,
            source_id,
            cpu,
            function: function.name.as_bytes(),
            hit_count: function.hits,
            total_ns: function.total_ns,
        });
    })
}

fn disks(session: &mut Session, at: At, bytes: &[u8]) -> usize {
    each(session, devices::parse_diskstats(bytes), |session, disk| {
        let f = disk.fields.map(signed);
        session.sink.tables.proc_disk.push(ProcDiskRow {
            ts_ns: at.ts_ns,
            snapshot: at.snapshot,
            source_id: at.source_id,
            device: disk.name.as_bytes(),
            major: disk.major,
            minor: disk.minor,
            read_count: f[0],
            read_merge_count: f[1],
            read_bytes: f[2],
            read_ns: f[3],
            write_count: f[4],
            write_merge_count: f[5],
            write_bytes: f[6],
            write_ns: f[7],
            in_flight_count: f[8],
            io_ns: f[9],
            weighted_io_ns: f[10],
            discard_count: f[11],
            discard_merge_count: f[12],
            discard_bytes: f[13],
            discard_ns: f[14],
            flush_count: f[15],
            flush_ns: f[16],
        });
    })
}

fn pressure(session: &mut Session, at: At, resource: &str, bytes: &[u8]) -> usize {
    each(session, counters::parse_pressure(bytes), |session, pressure| {
        let [avg10_ratio, avg60_ratio, avg300_ratio] = pressure.averages;
        session.sink.tables.proc_pressure.push(ProcPressureRow {
            ts_ns: at.ts_ns,
            snapshot: at.snapshot,
            source_id: at.source_id,
            resource: resource.as_bytes(),
            kind: pressure.kind.as_bytes(),
            avg10_ratio,
            avg60_ratio,
            avg300_ratio,
            total_ns: pressure.total_ns,
        });
    })
}

fn settings(session: &mut Session, at: At, name: &str, bytes: &[u8]) -> usize {
    let At { ts_ns, snapshot, source_id } = at;
    each(session, counters::parse_sysctl(bytes), |session, (place, value)| {
        let name = name.as_bytes();
        session.sink.tables.proc_sysctl.push(ProcSysctlRow { ts_ns, snapshot, source_id, name, place, value });
    })
}

fn interrupts(session: &mut Session, at: At, bytes: &[u8]) -> usize {
    let At { ts_ns, snapshot, source_id } = at;
    each(session, cpus::parse_table(bytes), |session, line| {
        let description = Some(line.description.as_bytes()).filter(|text| !text.is_empty());
        for (cpu, count) in line.counts {
            let irq = line.name.as_bytes();
            let row = ProcInterruptRow { ts_ns, snapshot, source_id, irq, cpu, count, description };
            session.sink.tables.proc_interrupt.push(row);
            session.row_added();
        }
    })
}

fn softirqs(session: &mut Session, at: At, bytes: &[u8]) -> usize {
    let At { ts_ns, snapshot, source_id } = at;
    each(session, cpus::parse_table(bytes), |session, line| {
        for (cpu, count) in line.counts {
            let Some(cpu) = cpu else { continue };
            let name = line.name.as_bytes();
            session.sink.tables.proc_softirq.push(ProcSoftirqRow { ts_ns, snapshot, source_id, name, cpu, count });
            session.row_added();
        }
    })
}

fn cgroup(session: &mut Session, at: At, path: &str, bytes: &[u8]) -> Option<usize> {
    let At { ts_ns, snapshot, source_id } = at;
    let found = cgroups::parse_path(path)?;
    let mut count = 0;
    cgroups::parse(found.file, bytes, |name, value| {
        let (cgroup, name) = (found.cgroup.as_bytes(), name.as_bytes());
        session.sink.tables.proc_cgroup_stat.push(ProcCgroupStatRow {
            ts_ns,
            snapshot,
            source_id,
            cgroup,
            name,
            value,
        });
        session.row_added();
        count += 1;
    });
    Some(count)
}
