//! The kernel's own symbol list, as /proc/kallsyms prints it: `address type name [module]`.

/// Symbols of the recorded kernel and its modules, sorted by address.
pub struct Kallsyms {
    symbols: Vec<(u64, String)>,
}

impl Kallsyms {
    /// Parses the text of /proc/kallsyms.
    ///
    /// Only text symbols (types t, T, w, W) name code. `None` when there is none, or when every address is 0:
    /// the kernel hides addresses from readers without privilege (kptr_restrict).
    pub fn parse(text: &str) -> Option<Kallsyms> {
        let mut symbols: Vec<(u64, String)> = Vec::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            if matches!(kind, "t" | "T" | "w" | "W") && !is_marker(name) {
                symbols.push((address, name.to_string()));
            }
        }
        if symbols.iter().all(|(address, _)| *address == 0) {
            return None;
        }
        symbols.sort_by_key(|(address, _)| *address);
        // Of several names of one address the first listed stays.
        symbols.dedup_by_key(|(address, _)| *address);
        Some(Kallsyms { symbols })
    }

    /// The symbol that covers an address, and the distance from its start in bytes.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.symbols.get(after.checked_sub(1)?)?;
        Some((name, address - start))
    }
}

/// Mapping symbols of the ARM ABI ($x, $d) mark kinds of bytes, not functions.
fn is_marker(name: &str) -> bool {
    name.starts_with('$') || name.starts_with(".L")
}

#[cfg(test)]
mod tests {
    use super::Kallsyms;

    #[test]
    fn finds_the_symbol_that_covers_an_address() {
        let text = "ffff0000 T _text\nffff0100 t foo\nffff0180 d data\nffff0200 T bar\t[ext4]\nffff0210 t $x\n";
        let symbols = Kallsyms::parse(text).unwrap();
        assert_eq!(symbols.find(0xffff_0190), Some(("foo", 0x90)));
        assert_eq!(symbols.find(0xffff_0220), Some(("bar", 0x20)));
        assert_eq!(symbols.find(0x10), None);
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(Kallsyms::parse("0000000000000000 T _text\n0000000000000000 t foo\n").is_none());
    }
}
