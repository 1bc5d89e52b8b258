//! A line of a callchain: `ffffceb076d823b8 generic_exec_single+0xd4 ([kernel.kallsyms])`.

/// A code address as perf names it.
#[derive(Debug, PartialEq)]
pub struct Frame<'a> {
    /// The address, as it was printed.
    pub address: u64,
    /// The function; `None` where perf did not know it.
    pub symbol: Option<&'a str>,
    /// Distance from its start.
    pub offset: Option<u64>,
    /// The object's path; `None` where perf did not know it. A function that was inlined has none.
    pub object: Option<&'a str>,
    /// The function was inlined into the next one.
    pub is_inlined: bool,
    /// Code of the kernel, by its object or its address.
    pub is_kernel: bool,
}

/// Reads a line of a callchain; `None` for any other line.
pub fn parse(line: &str) -> Option<Frame<'_>> {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let address = u64::from_str_radix(first, 16).ok().filter(|_| !first.starts_with('+'))?;
    let rest = rest.trim();
    let (name, place) = place(rest);
    let (symbol, offset) = match name.trim() {
        "" | "[unknown]" => (None, None),
        name => with_offset(name),
    };
    let is_inlined = place == Some("inlined");
    let object = place.filter(|name| !is_inlined && *name != "[unknown]" && !name.is_empty());
    Some(Frame { address, symbol, offset, object, is_inlined, is_kernel: is_kernel(object, address) })
}

/// Splits the printed fields of a tracepoint before the sampled address: with `-F trace,ip,sym,dso` both are on one
/// line.
pub fn split_off(text: &str) -> (&str, Option<Frame<'_>>) {
    let trimmed = text.trim_end();
    let is_place =
        trimmed.ends_with(')') && trimmed.rfind(" (").is_some_and(|at| trimmed[at + 2..].starts_with(['[', '/']));
    if !is_place {
        return (text, None);
    }
    // The last word that is an address. The symbol behind it may have several words.
    let mut end = trimmed.len();
    while let Some(at) = trimmed[..end].rfind(' ') {
        let word = trimmed[at + 1..].split(' ').next().unwrap_or("");
        let is_address = (8..=16).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit());
        if is_address && let Some(frame) = parse(&trimmed[at + 1..]) {
            return (&trimmed[..at], Some(frame));
        }
        end = at;
    }
    (text, None)
}

/// Splits `sym+0x1 (object)`. A symbol of C++ may have parentheses.
fn place(text: &str) -> (&str, Option<&str>) {
    let Some(inner) = text.strip_suffix(')') else { return (text, None) };
    if text.starts_with('(') && !text[1..].contains(" (") {
        return ("", Some(&inner[1..]));
    }
    match inner.rfind(" (") {
        Some(at) => (&inner[..at], Some(&inner[at + 2..])),
        None => (text, None),
    }
}

fn with_offset(name: &str) -> (Option<&str>, Option<u64>) {
    match name.rsplit_once("+0x") {
        Some((symbol, hex)) if !symbol.is_empty() => match u64::from_str_radix(hex, 16) {
            Ok(offset) => (Some(symbol), Some(offset)),
            Err(_) => (Some(name), None),
        },
        _ => (Some(name), None),
    }
}

fn is_kernel(object: Option<&str>, address: u64) -> bool {
    let is_high = address >> 63 == 1;
    match object {
        None => is_high,
        Some(name) if name.starts_with("[kernel") || name.starts_with("[guest.kernel") => true,
        Some("[vdso]" | "[vdso32]" | "[vsyscall]" | "[heap]" | "[stack]" | "[uprobes]") => false,
        Some(name) if name.starts_with("[JIT]") => false,
        Some(name) if name.starts_with('[') && name.ends_with(']') => true,
        Some(name) if name.starts_with("bpf_prog_") => true,
        Some(name) => is_high || name.contains("/lib/modules/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames() {
        let f = parse("\tffffceb076d823b8 generic_exec_single+0xd4 ([kernel.kallsyms])").unwrap();
        assert_eq!((f.address, f.symbol, f.offset), (0xffff_ceb0_76d8_23b8, Some("generic_exec_single"), Some(0xd4)));
        assert_eq!((f.object, f.is_kernel, f.is_inlined), (Some("[kernel.kallsyms]"), true, false));
        let f = parse("  1ae44 [unknown] (/usr/lib/ld-linux.so.1)").unwrap();
        assert_eq!((f.symbol, f.object, f.is_kernel), (None, Some("/usr/lib/ld-linux.so.1"), false));
        let f = parse("  4011 ns::f(int (*)(char), T)+0x1f (/opt/my app)").unwrap();
        assert_eq!((f.symbol, f.offset, f.object), (Some("ns::f(int (*)(char), T)"), Some(0x1f), Some("/opt/my app")));
        let f = parse("  e1bdc poll+0x9c (inlined)").unwrap();
        assert_eq!((f.symbol, f.object, f.is_inlined), (Some("poll"), None, true));
        let f = parse("     7f29f9cb210f").unwrap();
        assert_eq!((f.address, f.symbol, f.object), (0x7f29_f9cb_210f, None, None));
        let f = parse("  ffffffffc0001000 [unknown] ([unknown])").unwrap();
        assert_eq!((f.object, f.is_kernel), (None, true));
        assert_eq!(parse("  7f (libc.so.6)").unwrap().object, Some("libc.so.6"));
        let (text, frame) = split_off(" irq=1 name=IPI ffffceb076c9bcdc [unknown] ([kernel.kallsyms])");
        assert_eq!((text, frame.map(|f| f.address)), (" irq=1 name=IPI", Some(0xffff_ceb0_76c9_bcdc)));
        for text in [" NR 29 (e, 2400, 12345678)", " a=12345678 b=(x)", " 8,0 WS () 5775360 + 2560 [0]", ""] {
            assert_eq!(split_off(text), (text, None), "{text}");
        }
        for line in ["", "  main.c:12", "zz f (x)", "perf 1836 [000] 1.0:"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
