//! The host's files in an archive, below `host/`: [`Host`] makes facts of them, [`kmsg`] reads the kernel's log.

mod cpus;
mod facts;
pub mod kmsg;

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;

/// The most facts of one capture. A host has some hundred.
const MOST_FACTS: usize = 20_000;

/// A fact's value as text, and its unit where the value is a number: `bytes`, `khz` or `count`.
pub type Fact = (String, Option<&'static str>);

/// Facts by their keys. The first value of a key stays.
#[derive(Default)]
struct Facts(BTreeMap<String, Fact>);

impl Facts {
    fn add(&mut self, key: impl Into<String>, value: impl Into<String>, unit: Option<&'static str>) {
        let value = value.into();
        if !value.is_empty() && self.0.len() < MOST_FACTS {
            self.0.entry(key.into()).or_insert((value, unit));
        }
    }
}

/// What the host's files say.
#[derive(Default)]
pub struct Host {
    facts: Facts,
    cpus: cpus::Cpus,
}

impl Host {
    /// Reads a file by its name below `host/`. A file without facts changes nothing.
    pub fn file(&mut self, name: &str, text: &str) {
        match name {
            "cpu-topology" => self.cpus.topology(text, &mut self.facts),
            "clock" => facts::clock(text, &mut self.facts),
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

    /// Adds a fact that is not from a file. What a file says of the same key stays.
    pub fn add(&mut self, key: &str, value: String, unit: Option<&'static str>) {
        self.cpus.write(&mut self.facts);
        self.facts.add(key, value, unit);
    }
}

/// The facts in the order of their keys.
impl IntoIterator for Host {
    type Item = (String, Fact);
    type IntoIter = IntoIter<String, Fact>;

    fn into_iter(mut self) -> Self::IntoIter {
        self.cpus.write(&mut self.facts);
        self.facts.0.into_iter()
    }
}

/// `name = value` lines.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(" = ")).map(|(name, value)| (name.trim(), value.trim()))
}

/// The word in brackets, which is the chosen one of several; the whole text where there are no brackets.
fn chosen(value: &str) -> &str {
    let inside = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(value, |(word, _)| word)
}
