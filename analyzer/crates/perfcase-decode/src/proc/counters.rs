//! Files of named numbers: /proc/vmstat, buddyinfo, net/snmp, net/netstat, net/sockstat, pressure/*, sys/**.

use super::text::{lines, named, number};

/// A line of /proc/vmstat.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Total<'a> {
    /// What it counts.
    pub name: &'a str,
    /// Its value.
    pub value: i64,
}

/// Reads `name value` lines.
pub fn parse_vmstat(text: &[u8]) -> Vec<Total<'_>> {
    lines(text)
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            Some(Total { name: words.next()?, value: number(&mut words)? })
        })
        .collect()
}

/// Free blocks of one size in a zone of memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FreeBlocks<'a> {
    /// NUMA node.
    pub node: u32,
    /// Its name.
    pub zone: &'a str,
    /// The size of a block is 2 to the power of this, in pages.
    pub block_order: u8,
    /// The number of free blocks.
    pub block_count: i64,
}

/// Reads `Node 0, zone   Normal   13   4 …`: the number of blocks of one page, of two, of four.
pub fn parse_buddyinfo(text: &[u8]) -> Vec<FreeBlocks<'_>> {
    let mut found = Vec::new();
    for line in lines(text) {
        let Some((node, rest)) = line.strip_prefix("Node ").and_then(|rest| rest.split_once(", zone")) else {
            continue;
        };
        let mut words = rest.split_ascii_whitespace();
        let (Ok(node), Some(zone)) = (node.parse(), words.next()) else { continue };
        let counts = words.map_while(|word| word.parse().ok());
        found.extend((0..=u8::MAX).zip(counts).map(|(block_order, block_count)| FreeBlocks {
            node,
            zone,
            block_order,
            block_count,
        }));
    }
    found
}

/// A counter of a protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Counter<'a> {
    /// The protocol, as printed.
    pub protocol: &'a str,
    /// What it counts.
    pub name: &'a str,
    /// Its value.
    pub value: i64,
}

/// Reads net/snmp and net/netstat: pairs of lines, names above values. A pair of different lengths was cut and is left
/// out.
pub fn parse_pairs(text: &[u8]) -> Vec<Counter<'_>> {
    let mut counters = Vec::new();
    let mut head: Option<(&str, &str)> = None;
    for line in lines(text) {
        let Some((protocol, rest)) = line.split_once(':') else { continue };
        let names = match head.take() {
            Some((of, names)) if of == protocol => names,
            _ => {
                head = Some((protocol, rest));
                continue;
            }
        };
        let values: Vec<&str> = rest.split_ascii_whitespace().collect();
        if names.split_ascii_whitespace().count() == values.len() {
            let pairs = names.split_ascii_whitespace().zip(values);
            counters
                .extend(pairs.filter_map(|(name, value)| Some(Counter { protocol, name, value: value.parse().ok()? })));
        }
    }
    counters
}

/// Reads net/sockstat and net/sockstat6: `TCP: inuse 1 orphan 2`.
pub fn parse_sockstat(text: &[u8]) -> Vec<Counter<'_>> {
    let mut counters = Vec::new();
    for (protocol, rest) in lines(text).filter_map(named) {
        let mut words = rest.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            counters.extend(value.parse().ok().map(|value| Counter { protocol, name, value }));
        }
    }
    counters
}

/// Gives the setting that a file of /proc/sys is of, as sysctl(8) names it: fs.file-nr.
pub fn sysctl_path(path: &str) -> Option<String> {
    Some(path.strip_prefix("/proc/sys/")?.replace('/', "."))
}

/// Reads the numbers of a file of /proc/sys, with their places in it.
pub fn parse_sysctl(text: &[u8]) -> Vec<(u8, i64)> {
    let words = lines(text).flat_map(str::split_ascii_whitespace);
    (0..16).zip(words).filter_map(|(place, word)| Some((place, word.parse().ok()?))).collect()
}

/// A line of a pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure<'a> {
    /// `some` or `full`.
    pub kind: &'a str,
    /// Shares of the last 10, 60 and 300 s, 0 to 1.
    pub averages: [Option<f64>; 3],
    /// The total since boot, in ns.
    pub total_ns: Option<i64>,
}

/// Gives the resource of a path like /proc/pressure/memory.
pub fn pressure_path(path: &str) -> Option<&str> {
    path.strip_prefix("/proc/pressure/")
}

/// Reads `some avg10=0.12 avg60=0.00 avg300=0.00 total=345`: percent and µs.
pub fn parse_pressure(text: &[u8]) -> Vec<Pressure<'_>> {
    let line = |line| {
        let mut words = str::split_ascii_whitespace(line);
        let mut pressure = Pressure { kind: words.next()?, ..Pressure::default() };
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            let share = || value.parse::<f64>().ok().filter(|share| share.is_finite()).map(|share| share / 100.0);
            match key {
                "avg10" => pressure.averages[0] = share(),
                "avg60" => pressure.averages[1] = share(),
                "avg300" => pressure.averages[2] = share(),
                "total" => pressure.total_ns = value.parse().ok().and_then(|us: i64| us.checked_mul(1_000)),
                _ => {}
            }
        }
        pressure.total_ns.map(|_| pressure)
    };
    lines(text).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vmstat() {
        let total = |name, value| Total { name, value };
        assert_eq!(
            parse_vmstat(b"nr_free_pages 7\npgfault 99\nx\ny z\n"),
            [total("nr_free_pages", 7), total("pgfault", 99)]
        );
    }

    #[test]
    fn buddyinfo() {
        let text = b"Node 0, zone      DMA      1      0 \nNode 12, zone   Normal      7\nNode 1, zone\nNode x, zone A 1\nNode 3, zone B 2 y 3\n";
        let blocks = |node, zone, block_order, block_count| FreeBlocks { node, zone, block_order, block_count };
        assert_eq!(
            parse_buddyinfo(text),
            [blocks(0, "DMA", 0, 1), blocks(0, "DMA", 1, 0), blocks(12, "Normal", 0, 7), blocks(3, "B", 0, 2)]
        );
        let long = format!("Node 0, zone A{}\n", " 1".repeat(300));
        assert_eq!(parse_buddyinfo(long.as_bytes()).len(), 256);
    }

    fn counter<'a>(protocol: &'a str, name: &'a str, value: i64) -> Counter<'a> {
        Counter { protocol, name, value }
    }

    #[test]
    fn names_above_values() {
        let text = b"Tcp: MaxConn InSegs\nTcp: -1 5\nUdp: A B\nUdp: 1\nTcpExt: X\nIpExt: Y\nIpExt: 3\n";
        let found = [counter("Tcp", "MaxConn", -1), counter("Tcp", "InSegs", 5), counter("IpExt", "Y", 3)];
        assert_eq!(parse_pairs(text), found);
    }

    #[test]
    fn sockstat() {
        let text = b"sockets: used 9\nTCP: inuse 1 orphan 2 mem\n";
        let found = [counter("sockets", "used", 9), counter("TCP", "inuse", 1), counter("TCP", "orphan", 2)];
        assert_eq!(parse_sockstat(text), found);
    }

    #[test]
    fn pressure() {
        let found =
            parse_pressure(b"some avg10=50.00 avg60=25.50 avg300=0.00 total=12\nfull avg10=nan total=0\ncut avg");
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            Pressure { kind: "some", averages: [Some(0.5), Some(0.255), Some(0.0)], total_ns: Some(12_000) }
        );
        assert_eq!(found[1], Pressure { kind: "full", averages: [None; 3], total_ns: Some(0) });
    }

    #[test]
    fn sysctl() {
        assert_eq!(sysctl_path("/proc/sys/fs/file-nr").as_deref(), Some("fs.file-nr"));
        assert_eq!(sysctl_path("/proc/sysvipc/sem"), None);
        assert_eq!(parse_sysctl(b"937\t0\tx\t2466190\n5"), [(0, 937), (1, 0), (3, 2_466_190), (4, 5)]);
        assert_eq!(parse_sysctl("1 ".repeat(99).as_bytes()).len(), 16);
    }
}
