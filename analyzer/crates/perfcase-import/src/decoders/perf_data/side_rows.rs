//! Rows of other records: switches, namespaces, cgroups, kernel text.

use perfcase_decode::perf_data::bytes::U64s;
use perfcase_decode::perf_data::record::{Record, RecordHeader, misc};
use perfcase_decode::perf_data::sample::{Trailer, ids};

use crate::session::Session;
use crate::tables::{CgroupRow, KernelTextRow, PerfSwitchRow, ThreadNamespaceRow};

/// Namespaces in the order of the record (NET_NS_INDEX and so on in perf_event.h).
const NAMESPACES: [&str; 7] = ["net", "uts", "ipc", "pid", "user", "mnt", "cgroup"];
const KSYMBOL_UNREGISTER: u16 = 1;
const BPF_LOAD: u16 = 1;

/// Writes the rows of a record, if it has some.
pub fn write(record: &Record, header: RecordHeader, clock_ns: i64, trailer: &Trailer, session: &mut Session) {
    match *record {
        Record::Switch { other } => switch(other, header, clock_ns, trailer, session),
        Record::Namespaces { pid, tid, links } => namespaces(pid, tid, links, clock_ns, session),
        Record::Cgroup { id, path } => {
            let path = String::from_utf8_lossy(path);
            session.sink.tables.cgroup.push(CgroupRow { cgroup_id: id, path: &path });
            session.row_added();
        }
        Record::Ksymbol { address, length, flags, name, .. } => {
            let change = if flags & KSYMBOL_UNREGISTER == 0 { "symbol_added" } else { "symbol_removed" };
            let name = String::from_utf8_lossy(name);
            kernel_text(session, clock_ns, change, Some(&name), Some(address), Some(length), None);
        }
        Record::Bpf { kind, id, tag } => {
            let change = if kind == BPF_LOAD { "bpf_loaded" } else { "bpf_unloaded" };
            let tag: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
            kernel_text(session, clock_ns, change, Some(&tag), None, None, Some(id));
        }
        Record::TextPoke { address, new, .. } => {
            kernel_text(session, clock_ns, "text_patched", None, Some(address), Some(new.len() as u32), None);
        }
        _ => {}
    }
}

fn switch(other: Option<(i32, i32)>, header: RecordHeader, clock_ns: i64, trailer: &Trailer, session: &mut Session) {
    let mut thread = |pid_tid: Option<(i32, i32)>| {
        let (pid, tid) = ids(pid_tid?);
        Some(session.utid(clock_ns, tid?, pid))
    };
    let (utid, other_utid) = (thread(trailer.pid_tid), thread(other));
    let ts_ns = session.ts(clock_ns);
    session.sink.tables.perf_switch.push(PerfSwitchRow {
        ts_ns,
        cpu: trailer.cpu,
        utid,
        is_out: header.misc & misc::SWITCH_OUT != 0,
        is_preempted: header.misc & misc::SWITCH_OUT_PREEMPT != 0,
        other_utid,
    });
    session.row_added();
}

fn namespaces(pid: i32, tid: i32, links: U64s, clock_ns: i64, session: &mut Session) {
    if tid < 0 {
        return;
    }
    let utid = session.utid(clock_ns, tid, (pid >= 0).then_some(pid));
    let ts_ns = session.ts(clock_ns);
    for index in 0..links.len() / 2 {
        let (Some(device), Some(inode)) = (links.get(index * 2), links.get(index * 2 + 1)) else { return };
        let number = index.to_string();
        let namespace = NAMESPACES.get(index).copied().unwrap_or(&number);
        let row = ThreadNamespaceRow { ts_ns, utid, namespace: namespace.as_bytes(), device, inode };
        session.sink.tables.thread_namespace.push(row);
        session.row_added();
    }
}

fn kernel_text(
    session: &mut Session,
    clock_ns: i64,
    change: &str,
    name: Option<&str>,
    address: Option<u64>,
    length_bytes: Option<u32>,
    bpf_program_id: Option<u32>,
) {
    let ts_ns = session.ts(clock_ns);
    session.sink.tables.kernel_text.push(KernelTextRow {
        ts_ns,
        change: change.as_bytes(),
        name,
        address,
        length_bytes,
        bpf_program_id,
    });
    session.row_added();
}
