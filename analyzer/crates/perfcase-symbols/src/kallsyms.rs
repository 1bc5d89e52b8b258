//! The kernel's own symbol list, as /proc/kallsyms prints it: `address type name [module]`.

/// Symbols of the recorded kernel and its modules, sorted by address.
///
/// If an address has several names, the first one counts. The kernel lists weak names, names of the linker script and
/// names with more underscores later (scripts/kallsyms.c), and it prints the first one itself, in traces and in its
/// log. perf 6.1 has its own rule (`choose_best_symbol`), but it gives a length only to the last name, so that the last
/// one remains.
pub struct Kallsyms {
    symbols: Vec<Symbol>,
    /// The addresses of the symbols by which recordings place the kernel.
    anchors: Vec<(&'static str, u64)>,
}

/// Symbols whose address in memory a recording of perf states. They show where the kernel was loaded.
pub(crate) const ANCHORS: [&str; 2] = ["_text", "_stext"];

struct Symbol {
    start: u64,
    name: String,
    is_module: bool,
}

/// Gives the end of a symbol that no other follows, as perf does: the last symbol of the kernel, and of the modules.
fn end_of_last(start: u64) -> u64 {
    (start | 4095).saturating_add(4097)
}

impl Kallsyms {
    /// Parses the text of /proc/kallsyms.
    ///
    /// Only text symbols (types t, T, w, W) name code. `None` when there is none, or when every address is 0: the
    /// kernel hides addresses from readers without privilege (kptr_restrict).
    pub fn parse(text: &str) -> Option<Kallsyms> {
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut anchors = Vec::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let Ok(start) = u64::from_str_radix(address, 16) else { continue };
            if let Some(anchor) = ANCHORS.into_iter().find(|anchor| *anchor == name && anchors.len() < ANCHORS.len()) {
                anchors.push((anchor, start));
            }
            if matches!(kind, "t" | "T" | "w" | "W") && !is_marker(name) {
                symbols.push(Symbol { start, name: name.to_string(), is_module: words.next().is_some() });
            }
        }
        if symbols.iter().all(|symbol| symbol.start == 0) {
            return None;
        }
        symbols.sort_by_key(|symbol| symbol.start);
        symbols.dedup_by_key(|symbol| symbol.start);
        Some(Kallsyms { symbols, anchors })
    }

    /// Gives the address of `_text` or `_stext`; `None` where the list does not have it.
    pub(crate) fn anchor(&self, name: &str) -> Option<u64> {
        self.anchors.iter().find(|(anchor, _)| *anchor == name).map(|(_, address)| *address)
    }

    /// Finds the kernel's own symbol that covers an address, without the symbols of modules.
    pub(crate) fn find_in_kernel(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let is_module = self.symbols.get(after.checked_sub(1)?)?.is_module;
        if is_module { None } else { self.find(address) }
    }

    /// Finds the symbol that covers an address, and the distance from its start in bytes.
    pub fn find(&self, address: u64) -> Option<(&str, u64)> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        let is_last = self.symbols.get(after).is_none_or(|next| next.is_module != symbol.is_module);
        let is_covered = !is_last || address < end_of_last(symbol.start);
        is_covered.then(|| (&*symbol.name, address - symbol.start))
    }
}

/// Tells whether this is a mapping symbol of the ARM ABI ($x, $d), which marks kinds of bytes and no functions.
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
    fn the_first_listed_of_several_names() {
        let text = "ffff0000 t common_return\nffff0000 T a_longer_global_name\nffff0000 W weak\nffff0100 t __one\n\
                    ffff0100 T one\nffff0200 D data\nffff0200 t behind_data\n";
        let symbols = Kallsyms::parse(text).unwrap();
        assert_eq!(symbols.find(0xffff_0004), Some(("common_return", 4)));
        assert_eq!(symbols.find(0xffff_0100), Some(("__one", 0)));
        assert_eq!(symbols.find(0xffff_0200), Some(("behind_data", 0)));
    }

    #[test]
    fn what_nothing_follows_ends_with_its_pages() {
        let text = "ffff0000 T _text\nffff0100 t last\nffffc000 t first [ext4]\nffffc100 t other [xfs]\n";
        let symbols = Kallsyms::parse(text).unwrap();
        assert_eq!(symbols.find(0xffff_1fff), Some(("last", 0x1eff)));
        assert_eq!(symbols.find(0xffff_2000), None, "between the kernel and its modules");
        assert_eq!(symbols.find(0xffff_c0ff), Some(("first", 0xff)));
        assert_eq!(symbols.find(0xffff_dfff), Some(("other", 0x1eff)));
        assert_eq!(symbols.find(0xffff_e000), None, "behind all modules");
        let at_the_end = Kallsyms::parse("fffffffffffffff0 T last\n").unwrap();
        assert_eq!(at_the_end.find(u64::MAX - 1), Some(("last", 14)));
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(Kallsyms::parse("0000000000000000 T _text\n0000000000000000 t foo\n").is_none());
    }
}
