//! /sys/devices/system, `path = value` lines: sockets, cores, caches, frequencies, NUMA nodes. The arithmetic is lscpu's.

use std::collections::{BTreeMap, BTreeSet};

use super::{Facts, chosen, pairs};

/// The figures of all CPUs.
#[derive(Default)]
pub struct Cpus {
    packages: BTreeMap<String, String>,
    cores: BTreeMap<String, String>,
    siblings: BTreeMap<String, String>,
    caches: BTreeMap<(String, String), BTreeMap<String, String>>,
    frequencies: BTreeMap<&'static str, BTreeSet<u64>>,
    words: BTreeMap<&'static str, BTreeMap<String, usize>>,
}

impl Cpus {
    /// Reads the file.
    pub fn topology(&mut self, text: &str, facts: &mut Facts) {
        for (path, value) in pairs(text) {
            let parts: Vec<&str> = path.split('/').collect();
            match parts[..] {
                ["cpu", "online"] => {
                    facts.add("cpu.online", value, None);
                    facts.add("cpu.count", count_of_list(value).to_string(), Some("count"));
                }
                ["cpu", "offline"] => facts.add("cpu.offline", value, None),
                ["cpu", "possible"] => facts.add("cpu.possible", value, None),
                ["cpu", "smt", "active"] => facts.add("cpu.smt.active", value, None),
                [.., "caps", "slots"] => {
                    let slots = value.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
                    // 0 means unknown.
                    if let Some(slots) = slots.filter(|&slots| slots > 0) {
                        facts.add("cpu.pmu.slots", slots.to_string(), Some("count"));
                    }
                }
                ["cpu", "cpufreq", "boost"] => facts.add("cpu.frequency.boost", value, None),
                ["cpu", "intel_pstate", "no_turbo"] => facts.add("cpu.frequency.no_turbo", value, None),
                ["cpu", "cpuidle", "current_driver"] => facts.add("cpu.idle.driver", value, None),
                ["cpu", "cpuidle", "current_governor"] => facts.add("cpu.idle.governor", value, None),
                ["cpu", "vulnerabilities", name] => facts.add(format!("mitigation.{name}"), value, None),
                ["clocksource", _, "current_clocksource"] => facts.add("clocksource", value, None),
                ["cpu", cpu, "topology", file] => self.place(cpu, file, value),
                ["cpu", cpu, "cpufreq", file] => self.frequency(cpu, file, value),
                ["cpu", cpu, "cache", index, file] => {
                    let cache = self.caches.entry((cpu.to_string(), index.to_string())).or_default();
                    cache.insert(file.to_string(), value.to_string());
                }
                ["node", "online"] => {
                    facts.add("numa.online", value, None);
                    facts.add("numa.count", count_of_list(value).to_string(), Some("count"));
                }
                ["node", node, "cpulist"] => facts.add(format!("numa.{node}.cpus"), value, None),
                ["node", node, "distance"] => facts.add(format!("numa.{node}.distance"), value, None),
                ["node", node, "memory"] => {
                    if let Some(bytes) = kilobytes(value) {
                        facts.add(format!("numa.{node}.memory"), bytes.to_string(), Some("bytes"));
                    }
                }
                ["kernel", "mm", "transparent_hugepage", file] => {
                    facts.add(format!("memory.transparent_hugepage.{file}"), chosen(value), None);
                }
                _ => {}
            }
        }
    }

    fn place(&mut self, cpu: &str, file: &str, value: &str) {
        let places = match file {
            "physical_package_id" => &mut self.packages,
            "core_id" => &mut self.cores,
            "thread_siblings_list" => &mut self.siblings,
            _ => return,
        };
        places.insert(cpu.to_string(), value.to_string());
    }

    fn frequency(&mut self, _cpu: &str, file: &str, value: &str) {
        let key = match file {
            "cpuinfo_max_freq" => "cpu.frequency.hardware_max",
            "cpuinfo_min_freq" => "cpu.frequency.hardware_min",
            "scaling_max_freq" => "cpu.frequency.allowed_max",
            "scaling_min_freq" => "cpu.frequency.allowed_min",
            "base_frequency" => "cpu.frequency.base",
            "scaling_governor" => return self.word("cpu.frequency.governor", value),
            "scaling_driver" => return self.word("cpu.frequency.driver", value),
            "energy_performance_preference" => return self.word("cpu.frequency.preference", value),
            _ => return,
        };
        if let Ok(khz) = value.parse() {
            self.frequencies.entry(key).or_default().insert(khz);
        }
    }

    fn word(&mut self, key: &'static str, value: &str) {
        *self.words.entry(key).or_default().entry(value.to_string()).or_default() += 1;
    }

    /// Adds the facts that need the figures of all CPUs.
    pub fn write(&mut self, facts: &mut Facts) {
        self.write_sockets(facts);
        self.write_caches(facts);
        for (key, values) in &self.frequencies {
            // Limits of the fastest and of the slowest CPU; hybrid CPUs differ.
            let value = if key.ends_with("min") { values.first() } else { values.last() };
            facts.add(*key, value.map(u64::to_string).unwrap_or_default(), Some("khz"));
        }
        for (key, counts) in &self.words {
            let value = match counts.len() {
                1 => counts.keys().next().cloned().unwrap_or_default(),
                _ => counts.iter().map(|(word, count)| format!("{word} ({count} CPUs)")).collect::<Vec<_>>().join(", "),
            };
            facts.add(*key, value, None);
        }
    }

    fn write_sockets(&self, facts: &mut Facts) {
        if self.packages.is_empty() {
            return;
        }
        let core = |cpu: &String| (self.packages.get(cpu).cloned(), self.cores.get(cpu).cloned());
        let sockets: BTreeSet<&String> = self.packages.values().collect();
        let cores: BTreeSet<_> = self.packages.keys().map(core).collect();
        let first = sockets.first().map(|first| (*first).clone());
        let in_first = cores.iter().filter(|(package, _)| *package == first).count();
        let mut threads: BTreeMap<_, usize> = BTreeMap::new();
        for cpu in self.packages.keys() {
            *threads.entry(core(cpu)).or_default() += 1;
        }
        let counted = threads.values().copied().max().unwrap_or(1);
        let listed = self.siblings.values().map(|list| count_of_list(list)).max();
        let number = |facts: &mut Facts, key: &str, value: usize| facts.add(key, value.to_string(), Some("count"));
        number(facts, "cpu.sockets", sockets.len());
        number(facts, "cpu.cores_per_socket", in_first);
        number(facts, "cpu.threads_per_core", listed.unwrap_or(counted));
    }

    /// A cache that CPUs share counts once; levels add up over the host, as lscpu has it.
    fn write_caches(&self, facts: &mut Facts) {
        let mut seen = BTreeSet::new();
        let mut totals: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for ((cpu, _), cache) in &self.caches {
            let text = |key: &str| cache.get(key).map(String::as_str).unwrap_or_default();
            let Some(bytes) = size(text("size")) else { continue };
            let kind = match text("type") {
                "Data" => "d",
                "Instruction" => "i",
                _ => "",
            };
            let name = format!("l{}{kind}", text("level"));
            let shared = Some(text("shared_cpu_list")).filter(|list| !list.is_empty()).unwrap_or(cpu);
            if seen.insert((name.clone(), shared.to_string())) {
                let total = totals.entry(name).or_default();
                *total = (total.0.saturating_add(bytes), total.1 + 1);
            }
        }
        for (name, (bytes, count)) in totals {
            facts.add(format!("cache.{name}.size"), bytes.to_string(), Some("bytes"));
            facts.add(format!("cache.{name}.count"), count.to_string(), Some("count"));
        }
    }
}

/// Gives the number of CPUs in a list such as `0-3,8`.
pub fn count_of_list(list: &str) -> usize {
    let parts = list.split(',').filter(|part| !part.trim().is_empty());
    parts
        .map(|part| match part.split_once('-') {
            Some((first, last)) => match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
                (Ok(first), Ok(last)) => last.saturating_sub(first).saturating_add(1),
                _ => 0,
            },
            None => 1,
        })
        .fold(0, usize::saturating_add)
}

/// Reads `48K`, `2M` or a number of bytes.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => text.strip_suffix('M').map_or((text, 1), |number| (number, 1 << 20)),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Reads `12 kB`, in bytes.
pub fn kilobytes(value: &str) -> Option<u64> {
    value.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Vec<String> {
        let (mut cpus, mut facts) = (Cpus::default(), Facts::default());
        cpus.topology(text, &mut facts);
        cpus.write(&mut facts);
        facts.0.iter().map(|(key, (value, unit))| format!("{key} {value} {}", unit.unwrap_or("-"))).collect()
    }

    #[test]
    fn slots_of_an_arm_cpu() {
        let path = "/sys/bus/event_source/devices/armv8_pmuv3_0/caps/slots";
        assert_eq!(facts(&format!("{path} = 0x00000005")), ["cpu.pmu.slots 5 count"]);
        assert!(facts(&format!("{path} = 0x00000000\n{path} = 5\n{path} = 0x1ffffffff")).is_empty());
    }

    #[test]
    fn two_sockets_of_two_cores_with_two_threads() {
        let mut text = "cpu/online = 0-7\ncpu/offline = \nnode/online = 0,1\nnode/node1/memory = 2 kB\n".to_string();
        for cpu in 0..8 {
            text += &format!(
                "cpu/cpu{cpu}/topology/physical_package_id = {}\ncpu/cpu{cpu}/topology/core_id = {}\n\
                 cpu/cpu{cpu}/cache/index0/level = 1\ncpu/cpu{cpu}/cache/index0/type = Data\n\
                 cpu/cpu{cpu}/cache/index0/size = 32K\ncpu/cpu{cpu}/cache/index0/shared_cpu_list = {}\n\
                 cpu/cpu{cpu}/cpufreq/scaling_governor = {}\ncpu/cpu{cpu}/cpufreq/cpuinfo_max_freq = {}\n",
                cpu / 4,
                cpu % 2,
                cpu / 2,
                if cpu == 0 { "powersave" } else { "performance" },
                1000 + cpu
            );
        }
        assert_eq!(
            facts(&text),
            [
                "cache.l1d.count 4 count",
                "cache.l1d.size 131072 bytes",
                "cpu.cores_per_socket 2 count",
                "cpu.count 8 count",
                "cpu.frequency.governor performance (7 CPUs), powersave (1 CPUs) -",
                "cpu.frequency.hardware_max 1007 khz",
                "cpu.online 0-7 -",
                "cpu.sockets 2 count",
                "cpu.threads_per_core 2 count",
                "numa.count 2 count",
                "numa.node1.memory 2048 bytes",
                "numa.online 0,1 -",
            ]
        );
    }

    #[test]
    fn odd_lines_are_survived() {
        assert_eq!(facts("cpu/cpu0/cache/index0/size = K\ncpu/x\n = \ncpu/online = 5-2,-,9-\n").len(), 2);
        assert_eq!(size("99999999999999999999K"), None);
        assert_eq!(size("3M"), Some(3 << 20));
    }
}
