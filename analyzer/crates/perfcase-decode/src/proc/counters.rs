//! Files of named numbers: /proc/vmstat, net/snmp, net/netstat, net/sockstat, pressure/*.

use super::text::{lines, named, number};

/// `name value` lines.
pub fn parse_vmstat(text: &[u8]) -> Vec<(&str, i64)> {
    lines(text)
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            Some((words.next()?, number(&mut words)?))
        })
        .collect()
}

/// (protocol, name, value).
pub type Counter<'a> = (&'a str, &'a str, i64);

/// Pairs of lines, names above values: net/snmp and net/netstat. A pair of different lengths was cut and is left out.
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
            counters.extend(pairs.filter_map(|(name, value)| Some((protocol, name, value.parse().ok()?))));
        }
    }
    counters
}

/// `TCP: inuse 1 orphan 2`: net/sockstat and net/sockstat6.
pub fn parse_sockstat(text: &[u8]) -> Vec<Counter<'_>> {
    let mut counters = Vec::new();
    for (protocol, rest) in lines(text).filter_map(named) {
        let mut words = rest.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            counters.extend(value.parse().ok().map(|value| (protocol, name, value)));
        }
    }
    counters
}

/// A line of a pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure<'a> {
    /// `some` or `full`.
    pub kind: &'a str,
    /// Shares of the last 10, 60 and 300 s, 0 to 1.
    pub averages: [Option<f64>; 3],
    /// Since boot.
    pub total_ns: Option<i64>,
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
        assert_eq!(parse_vmstat(b"nr_free_pages 7\npgfault 99\nx\ny z\n"), [("nr_free_pages", 7), ("pgfault", 99)]);
    }

    #[test]
    fn names_above_values() {
        let text = b"Tcp: MaxConn InSegs\nTcp: -1 5\nUdp: A B\nUdp: 1\nTcpExt: X\nIpExt: Y\nIpExt: 3\n";
        assert_eq!(parse_pairs(text), [("Tcp", "MaxConn", -1), ("Tcp", "InSegs", 5), ("IpExt", "Y", 3)]);
    }

    #[test]
    fn sockstat() {
        let text = b"sockets: used 9\nTCP: inuse 1 orphan 2 mem\n";
        assert_eq!(parse_sockstat(text), [("sockets", "used", 9), ("TCP", "inuse", 1), ("TCP", "orphan", 2)]);
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
}
