//! /proc/meminfo (proc_meminfo(5)): amounts in kB, and a few counts.

/// The figures of /proc/meminfo, by their names; amounts in bytes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MemInfo {
    entries: Vec<(Box<str>, u64)>,
}

/// The most lines that are read: there are about 60.
const LINE_COUNT_MAX: usize = 1024;

impl MemInfo {
    /// Gives the figure of that name.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.entries.iter().find(|(key, _)| **key == *name).map(|(_, value)| *value)
    }

    /// Gives the names that `known` does not have.
    pub fn unknown<'a>(&'a self, known: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.entries.iter().map(|(key, _)| &**key).filter(|key| !known.contains(key))
    }

    /// Tells whether no line was understood.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Reads /proc/meminfo.
pub fn parse(text: &[u8]) -> MemInfo {
    let mut entries = Vec::new();
    for line in text.split(|&b| b == b'\n').take(LINE_COUNT_MAX) {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let Some((key, value)) = line.split_once(':') else { continue };
        let mut words = value.split_ascii_whitespace();
        let Some(number) = words.next().and_then(|word| word.parse::<u64>().ok()) else { continue };
        let amount = match words.next() {
            Some("kB") => number.checked_mul(1024),
            _ => Some(number),
        };
        entries.extend(amount.map(|amount| (Box::from(key), amount)));
    }
    MemInfo { entries }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_bytes_and_counts_are_not() {
        let info = parse(b"MemTotal:       16 kB\nHugePages_Total:       3\nActive(anon):  1 kB\nBroken: x kB\nMem");
        assert_eq!(info.get("MemTotal"), Some(16_384));
        assert_eq!(info.get("HugePages_Total"), Some(3));
        assert_eq!(info.get("Broken"), None);
        assert_eq!(info.unknown(&["MemTotal", "HugePages_Total"]).collect::<Vec<_>>(), ["Active(anon)"]);
    }
}
