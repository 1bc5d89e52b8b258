//! `/tmp/perf-<pid>.map`: names that a runtime wrote for the code that it generated.

use std::collections::BTreeMap;

/// The most lines that are read: a bound for hostile input.
const MOST_LINES: usize = 1 << 23;

/// The functions of one process's generated code.
pub struct PerfMap {
    /// By start address: the size in bytes, and the name.
    functions: BTreeMap<u64, (u64, String)>,
}

impl PerfMap {
    /// Reads lines of `start size name`, with hexadecimal numbers. A name may contain spaces. If lines have the same
    /// start, the last one counts, because the runtime appends.
    pub fn parse(text: &[u8]) -> PerfMap {
        let mut functions = BTreeMap::new();
        for line in text.split(|&byte| byte == b'\n').take(MOST_LINES) {
            let mut words = line.splitn(3, |&byte| byte == b' ');
            let (Some(start), Some(size), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let (Some(start), Some(size)) = (hex(start), hex(size)) else { continue };
            let name = String::from_utf8_lossy(name.strip_suffix(b"\r").unwrap_or(name)).into_owned();
            if !name.is_empty() {
                functions.insert(start, (size, name));
            }
        }
        PerfMap { functions }
    }

    /// Finds the function that covers an address, and the distance from its start in bytes.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        // Looks a few functions back: replaced code may lie under a shorter function.
        let mut below = self.functions.range(..=address).rev().take(16);
        below.find_map(|(start, (size, name))| (address - start < *size).then_some((name.as_str(), address - start)))
    }
}

fn hex(word: &[u8]) -> Option<u64> {
    let word = std::str::from_utf8(word).ok()?;
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::PerfMap;

    #[test]
    fn names_with_spaces_and_code_that_was_replaced() {
        let text = b"7f00 10 LazyCompile:~f /a b.js:1\n0x7f20 8 py::g:/x.py\r\n7f00 20 new\nbad\n7f30 zz no\n7f40 0 empty\n7f18 4 in\n";
        let map = PerfMap::parse(text);
        assert_eq!(map.find(0x7f05), Some(("new", 5)));
        assert_eq!(map.find(0x7f1d), Some(("new", 0x1d)));
        assert_eq!(map.find(0x7f19), Some(("in", 1)));
        assert_eq!(map.find(0x7f27), Some(("py::g:/x.py", 7)));
        assert_eq!((map.find(0x7f28), map.find(0x7f40), map.find(1)), (None, None, None));
        assert_eq!(
            PerfMap::parse(b"7f00 10 LazyCompile:~f /a b.js:1").find(0x7f00),
            Some(("LazyCompile:~f /a b.js:1", 0))
        );
    }
}
