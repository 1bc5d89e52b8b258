//! The places where the kernel and its modules were loaded, and the kind of their addresses.

use perfcase_symbols::Placement;

/// The place where a part of the kernel was loaded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Load {
    #[default]
    Unknown,
    /// The part, and its address.
    At(&'static str, u64),
    /// It was loaded at several places, one after the other.
    Several,
}

impl Load {
    pub(crate) fn saw(&mut self, symbol: &'static str, address: u64) {
        *self = match *self {
            Load::Unknown => Load::At(symbol, address),
            known if known == Load::At(symbol, address) => known,
            _ => Load::Several,
        };
    }

    /// Gives the place, if there is only one.
    pub(crate) fn at(self) -> Option<(&'static str, u64)> {
        match self {
            Load::At(symbol, address) => Some((symbol, address)),
            Load::Unknown | Load::Several => None,
        }
    }
}

/// Gives the kind of an object's addresses, by the columns of `dso`.
pub(crate) fn placement(
    kind: &str,
    has_build_id: bool,
    load_symbol: Option<&str>,
    load_address: Option<u64>,
) -> Option<Placement> {
    match (kind, load_symbol.zip(load_address)) {
        ("user" | "vdso", _) => Some(Placement::File),
        ("module", Some((_, text))) if has_build_id => Some(Placement::Module { text }),
        ("kernel", Some((symbol, address))) if has_build_id => {
            Some(Placement::Kernel { symbol: symbol.to_string(), address })
        }
        _ => None,
    }
}
