//! The host's files: the log to rows of `kernel_message`, the others to rows of `machine_fact`.

use perfcase_decode::host::{Host, kmsg};

use crate::session::Session;
use crate::tables::{KernelMessageRow, MachineFactRow};

/// Reads a file by its name below `host/`. `start_ns` is the capture's start on the host's monotonic clock.
pub fn file(session: &mut Session, host: &mut Host, name: &str, text: &str, start_ns: Option<i64>) {
    match name {
        "kmsg" => messages(session, text, start_ns),
        name => host.file(name, text),
    }
}

/// Writes `machine_fact`.
pub fn write(session: &mut Session, host: Host) {
    for (key, (value, unit)) in host {
        let row = MachineFactRow { key: &key, value: &value, unit: unit.map(str::as_bytes) };
        session.sink.tables.machine_fact.push(row);
        session.row_added();
    }
}

fn messages(session: &mut Session, text: &str, start_ns: Option<i64>) {
    for message in kmsg::parse(text) {
        session.sink.tables.kernel_message.push(KernelMessageRow {
            ts_ns: message.uptime_ns.and_then(|uptime| uptime.checked_sub(start_ns?)),
            uptime_ns: message.uptime_ns,
            sequence: message.sequence,
            level: Some(message.level().as_bytes()),
            facility: Some(message.facility().as_bytes()),
            text: &message.text,
            device: message.device.as_deref(),
        });
        session.row_added();
    }
}
