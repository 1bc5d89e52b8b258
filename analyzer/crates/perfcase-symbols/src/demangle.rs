//! Names of C++ and Rust functions as people write them: in the form that perf prints, without parameters and hashes.

use std::borrow::Cow;
use std::fmt;

/// The longest name that is written, in bytes: a mangled name of a few bytes can stand for an endless one.
const MOST_BYTES: usize = 16 << 10;

/// Gives the name as people write it. A name that is not mangled, or that cannot be read, is unchanged.
pub fn demangle(name: &str) -> Cow<'_, str> {
    let is_mangled = ["_Z", "__Z", "_R", "__R"].iter().any(|prefix| name.starts_with(prefix));
    if !is_mangled || name.len() > MOST_BYTES {
        return Cow::Borrowed(name);
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut text = Bounded(String::new());
        return match fmt::write(&mut text, format_args!("{rust:#}")) {
            Ok(()) => Cow::Owned(text.0),
            Err(_) => Cow::Borrowed(name),
        };
    }
    // A compiler's suffix for a part of a function (.cold, .part.0) does not belong to the mangled name.
    let whole = name.split_once('.').map_or(name, |(whole, _)| whole);
    cpp(whole).map_or(Cow::Borrowed(name), Cow::Owned)
}

fn cpp(name: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let mut text = Bounded(String::new());
    symbol.structured_demangle(&mut text, &options).ok()?;
    Some(as_perf_writes(without_qualifier(&text.0)))
}

/// Removes the `const` of a member function, which is behind its parameters and is removed with them. The type of a
/// conversion may also end in `const`.
fn without_qualifier(name: &str) -> &str {
    let is_conversion = name.rsplit("::").next().is_some_and(|last| last.starts_with("operator "));
    name.strip_suffix(" const").filter(|_| !is_conversion).unwrap_or(name)
}

/// Gives numbers as template arguments in the form of perf's demangler: `4u` for `(unsigned int)4`. Removes the comma
/// before an empty pack of arguments.
fn as_perf_writes(name: &str) -> String {
    const TYPES: [(&str, &str); 6] = [
        ("(unsigned int)", "u"),
        ("(unsigned long)", "ul"),
        ("(unsigned long long)", "ull"),
        ("(long)", "l"),
        ("(long long)", "ll"),
        ("(int)", ""),
    ];
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(['(', ',']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let number = |prefix: &str| {
            let tail = rest.strip_prefix(prefix)?;
            let digits = tail.strip_prefix('-').unwrap_or(tail).bytes().take_while(u8::is_ascii_digit).count();
            (digits > 0).then(|| tail.split_at(digits + usize::from(tail.starts_with('-'))))
        };
        let integer =
            TYPES.iter().find_map(|(prefix, suffix)| number(prefix).map(|(digits, tail)| (digits, *suffix, tail)));
        if let Some((digits, suffix, tail)) = integer {
            out.push_str(digits);
            out.push_str(suffix);
            rest = tail;
        } else if let Some((digits, tail)) = number("(bool)") {
            out.push_str(if digits == "0" { "false" } else { "true" });
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix(", >") {
            out.push_str(if out.ends_with('>') { " >" } else { ">" });
            rest = tail;
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out + rest
}

struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > MOST_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn as_perf_prints_them() {
        for (mangled, name) in [
            ("main", "main"),
            ("_Zfoo", "_Zfoo"),
            ("_ZN3foo3barEv", "foo::bar"),
            ("_ZN3foo3barEi.cold", "foo::bar"),
            ("_Z4plusIiET_S0_S0_", "plus<int>"),
            ("_Z4plusILj4ELm5ELin6ELb1EEvv", "plus<4u, 5ul, -6, true>"),
            ("_Z4plusIiJEEvv", "plus<int>"),
            ("_Z4plusISaIiEJEEvv", "plus<std::allocator<int> >"),
            ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"),
            ("_ZNK3foo3barEv", "foo::bar"),
            ("_ZZ4mainENKUljE0_clEj", "main::{lambda(unsigned int)#2}::operator()"),
            ("_ZZNK1A1fEvENKUlvE_clEv", "A::f() const::{lambda()#1}::operator()"),
            ("_ZN1AcvKiEv", "A::operator int const"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("foo.cold", "foo.cold"),
            // perf has no library for D either.
            ("_D3app4mainFZv", "_D3app4mainFZv"),
        ] {
            assert_eq!(demangle(mangled), name);
        }
    }

    #[test]
    fn a_name_that_never_ends_stays_as_it_is() {
        let mut bomb = String::from("_Z1fIP1AE");
        for _ in 0..40 {
            bomb = format!("_Z1fI{}E", "St4pairIS_S_E".repeat(8)) + &bomb;
        }
        assert!(demangle(&bomb).len() <= super::MOST_BYTES);
        let nested = format!("_Z{}1fv", "N1a".repeat(4000));
        assert!(!demangle(&nested).is_empty());
    }
}
