//! Text files about the host, kept once: its log to `kernel_message`, the others to `machine_fact`.

mod cpus;
mod facts;
mod kmsg;

use std::collections::BTreeMap;

use crate::session::Session;
use crate::tables::{KernelMessageRow, MachineFactRow};

/// What the host's files say.
#[derive(Default)]
pub struct Host {
    facts: Facts,
    cpus: cpus::Cpus,
}

/// Facts by their keys, with a unit where the value is a number.
#[derive(Default)]
struct Facts(BTreeMap<String, (String, Option<&'static str>)>);

/// Facts that are kept of one capture: a host has some hundred.
const MOST_FACTS: usize = 20_000;

impl Facts {
    fn add(&mut self, key: impl Into<String>, value: impl Into<String>, unit: Option<&'static str>) {
        let value = value.into();
        if !value.is_empty() && self.0.len() < MOST_FACTS {
            self.0.entry(key.into()).or_insert((value, unit));
        }
    }
}

impl Host {
    /// Takes in a file by its name below `host/`. `start_ns`: the capture's start on the host's monotonic clock.
    pub fn file(&mut self, session: &mut Session, name: &str, text: &str, start_ns: Option<i64>) {
        match name {
            "kmsg" => messages(session, text, start_ns),
            "cpu-topology" => self.cpus.topology(text, &mut self.facts),
            "cpuinfo" => facts::cpuinfo(text, &mut self.facts),
            "block-queues" => facts::block_queues(text, &mut self.facts),
            "sysctl" => facts::sysctl(text, &mut self.facts),
            "mounts" => facts::mounts(text, &mut self.facts),
            "meminfo" => facts::meminfo(text, &mut self.facts),
            "modules" => facts::modules(text, &mut self.facts),
            "swaps" => facts::swaps(text, &mut self.facts),
            "cmdline" => self.facts.add("kernel.cmdline", text.trim(), None),
            "version" => self.facts.add("kernel.version", text.trim(), None),
            "uname" => facts::uname(text, &mut self.facts),
            "os-release" => facts::os_release(text, &mut self.facts),
            _ => {}
        }
    }

    /// Adds a fact that no file told of.
    pub fn add(&mut self, key: &str, value: String, unit: Option<&'static str>) {
        self.cpus.write(&mut self.facts);
        self.facts.add(key, value, unit);
    }

    /// Writes what was found.
    pub fn write(mut self, session: &mut Session) {
        self.cpus.write(&mut self.facts);
        for (key, (value, unit)) in &self.facts.0 {
            session.sink.tables.machine_fact.push(MachineFactRow { key, value, unit: unit.map(str::as_bytes) });
            session.row_added();
        }
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

/// `name = value` lines.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(" = ")).map(|(name, value)| (name.trim(), value.trim()))
}

/// The word in brackets: what is chosen among several.
fn chosen(value: &str) -> &str {
    let inside = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(value, |(word, _)| word)
}
