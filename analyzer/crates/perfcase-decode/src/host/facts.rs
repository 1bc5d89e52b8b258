//! Files of /proc, /etc and /sys/block that say what the host is.

use super::cpus::kilobytes;
use super::{Facts, chosen, pairs};

/// The lines of /proc/cpuinfo that are the same for all CPUs, on any architecture, and their facts. The first CPU's
/// lines count.
const CPUINFO: &[(&str, &str)] = &[
    ("vendor_id", "cpu.vendor"),
    ("CPU implementer", "cpu.implementer"),
    ("model name", "cpu.model"),
    ("cpu", "cpu.model"),
    ("CPU part", "cpu.part"),
    ("cpu family", "cpu.family"),
    ("CPU architecture", "cpu.architecture"),
    ("model", "cpu.model_number"),
    ("CPU variant", "cpu.variant"),
    ("stepping", "cpu.stepping"),
    ("CPU revision", "cpu.revision"),
    ("microcode", "cpu.microcode"),
    ("bogomips", "cpu.bogomips"),
    ("BogoMIPS", "cpu.bogomips"),
    ("bogomips per cpu", "cpu.bogomips"),
    ("address sizes", "cpu.address_sizes"),
    ("flags", "cpu.flags"),
    ("Features", "cpu.flags"),
    ("features", "cpu.flags"),
    ("bugs", "cpu.bugs"),
];

/// Reads /proc/cpuinfo.
pub fn cpuinfo(text: &str, facts: &mut Facts) {
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if let Some((_, key)) = CPUINFO.iter().find(|(known, _)| *known == name.trim()) {
            facts.add(*key, value.trim(), None);
        }
    }
}

/// Reads `DISK/FILE = value` lines of /sys/block. A loop or RAM disk of size 0 is not in use and is left out.
pub fn block_queues(text: &str, facts: &mut Facts) {
    let is_empty =
        |(path, value): (&'_ str, &str)| (value == "0").then(|| path.strip_suffix("/size")).flatten().is_some();
    let unused: Vec<&str> =
        pairs(text).filter(|pair| is_empty(*pair)).filter_map(|(path, _)| path.split('/').next()).collect();
    for (path, value) in pairs(text) {
        let Some((disk, file)) = path.split_once('/') else { continue };
        if unused.contains(&disk) {
            continue;
        }
        let file = file.trim_start_matches("queue/");
        let scaled = |factor: u64| value.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).map(|n| n.to_string());
        let (name, value, unit) = match file {
            "size" => ("size", scaled(512), Some("bytes")),
            "read_ahead_kb" => ("read_ahead", scaled(1024), Some("bytes")),
            "max_sectors_kb" => ("max_request", scaled(1024), Some("bytes")),
            "logical_block_size" => ("logical_block_size", scaled(1), Some("bytes")),
            "nr_requests" => ("queue_depth", scaled(1), Some("count")),
            "scheduler" => ("scheduler", Some(chosen(value).to_string()), None),
            "dev" => ("device_number", Some(value.to_string()), None),
            "device/model" => ("model", Some(value.to_string()), None),
            "ro" => ("is_read_only", Some(value.to_string()), None),
            other => (other, Some(value.to_string()), None),
        };
        facts.add(format!("block.{disk}.{name}"), value.unwrap_or_default(), unit);
    }
}

/// Reads `path = value` lines of /proc/sys.
pub fn sysctl(text: &str, facts: &mut Facts) {
    for (path, value) in pairs(text) {
        let value = value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        facts.add(format!("sysctl.{}", path.replace('/', ".")), value, None);
    }
}

/// Reads `name = value` lines on the wall clock.
pub fn clock(text: &str, facts: &mut Facts) {
    for (name, value) in pairs(text) {
        facts.add(format!("clock.{name}"), value, None);
    }
}

/// Reads /proc/mounts: a fact for each folder. The last mount on a folder counts.
pub fn mounts(text: &str, facts: &mut Facts) {
    for line in text.lines().rev() {
        let words: Vec<&str> = line.split(' ').collect();
        if let [device, folder, kind, options, ..] = words[..] {
            facts.add(format!("mount.{folder}"), format!("{device} {kind} {options}"), None);
        }
    }
}

/// Reads the sizes in /proc/meminfo that do not change.
pub fn meminfo(text: &str, facts: &mut Facts) {
    for (name, key) in [
        ("MemTotal", "memory.total"),
        ("SwapTotal", "swap.total"),
        ("HugePages_Total", "memory.huge_pages"),
        ("Hugepagesize", "memory.huge_page_size"),
    ] {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let Some(value) = found.map(str::trim) else { continue };
        match kilobytes(value) {
            Some(bytes) => facts.add(key, bytes.to_string(), Some("bytes")),
            None => facts.add(key, value, Some("count")),
        }
    }
}

/// Reads the names and sizes in /proc/modules.
pub fn modules(text: &str, facts: &mut Facts) {
    for line in text.lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(size)) = (words.next(), words.next()) {
            facts.add(format!("module.{name}"), size, Some("bytes"));
        }
    }
}

/// Reads /proc/swaps: a heading, then name, type, size, used and priority.
pub fn swaps(text: &str, facts: &mut Facts) {
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [name, kind, size, _, priority] = words[..] {
            let bytes = size.parse::<u64>().ok().and_then(|kb| kb.checked_mul(1024)).unwrap_or(0);
            facts.add(format!("swap.{name}"), format!("{kind} {bytes} bytes priority {priority}"), None);
        }
    }
}

/// Reads the output of `uname -a`: system, node name and release are the first words, the machine is near the end.
pub fn uname(text: &str, facts: &mut Facts) {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if let [_, node, release, ..] = words[..] {
        facts.add("host.name", node, None);
        facts.add("kernel.release", release, None);
    }
    let machine = words.iter().rev().take(4).find(|word| !matches!(**word, "GNU/Linux" | "unknown" | "Linux"));
    facts.add("kernel.machine", machine.copied().unwrap_or_default(), None);
}

/// Reads /etc/os-release.
pub fn os_release(text: &str, facts: &mut Facts) {
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    facts.add("host.os", name.unwrap_or_default().trim_matches('"'), None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_facts() {
        let mut facts = Facts::default();
        cpuinfo("processor\t: 0\nmodel\t\t: 167\nmodel name\t: X  Y\n\nprocessor\t: 1\nmodel\t: 9\n", &mut facts);
        block_queues(
            "vda/queue/scheduler = none [mq-deadline]\nvda/size = 8\nloop0/size = 0\nloop0/ro = 0\nvda/queue/read_ahead_kb = 128\nx\n",
            &mut facts,
        );
        clock("is_synchronized = no\nx\n", &mut facts);
        sysctl("net/ipv4/tcp_rmem = 1\t2\t3\nvm/x = \n", &mut facts);
        mounts("a / ext4 rw 0 0\nb / xfs ro 0 0\nshort\n", &mut facts);
        meminfo("MemTotal:  8 kB\nHugePages_Total: 3\n", &mut facts);
        modules("ext4 100 2 - Live 0x0\n", &mut facts);
        swaps("Filename Type Size Used Priority\n/s file 4 0 -2\n", &mut facts);
        uname("Linux n 6.1.0 #1 SMP now x86_64 GNU/Linux\n", &mut facts);
        os_release("ID=x\nPRETTY_NAME=\"X 1\"\n", &mut facts);
        let found: Vec<String> =
            facts.0.iter().map(|(key, (value, unit))| format!("{key}={value}|{}", unit.unwrap_or("-"))).collect();
        assert_eq!(
            found,
            [
                "block.vda.read_ahead=131072|bytes",
                "block.vda.scheduler=mq-deadline|-",
                "block.vda.size=4096|bytes",
                "clock.is_synchronized=no|-",
                "cpu.model=X  Y|-",
                "cpu.model_number=167|-",
                "host.name=n|-",
                "host.os=X 1|-",
                "kernel.machine=x86_64|-",
                "kernel.release=6.1.0|-",
                "memory.huge_pages=3|count",
                "memory.total=8192|bytes",
                "module.ext4=100|bytes",
                "mount./=b xfs ro|-",
                "swap./s=file 4096 bytes priority -2|-",
                "sysctl.net.ipv4.tcp_rmem=1 2 3|-",
            ]
        );
    }
}
