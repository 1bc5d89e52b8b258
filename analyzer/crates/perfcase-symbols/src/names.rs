//! Names for the addresses of one object.

use object::{Object as _, ObjectSection as _};
use perfcase_archive::Content;

use crate::code::{self, Code};
use crate::dwarf::{Dwarf, Lines, Place};
use crate::kallsyms::Kallsyms;
use crate::objects::Object;
use crate::placement::{Layout, Placement};
use crate::symtab::{Function, Symtab};
use crate::xz;

/// The name of an address.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Name {
    /// The function, demangled.
    pub symbol: String,
    /// The distance from its start in bytes; `None` where its start is not known.
    pub offset_bytes: Option<u64>,
    /// The source of the name: symtab, dynsym, minidebuginfo, plt, dwarf, kallsyms.
    pub source: &'static str,
    /// The source file of the address.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The functions that were inlined into it here, the innermost first.
    pub inlined: Vec<Place>,
    /// There is debug information, but it is damaged or beyond the bounds: lines and inlined functions may be missing.
    pub is_incomplete: bool,
}

impl Name {
    /// Tells whether the place in the source is known too.
    pub fn has_source(&self) -> bool {
        self.file.is_some() || !self.inlined.is_empty()
    }
}

/// What [`Name::is_incomplete`] means, for people.
pub const INCOMPLETE: &str =
    "the debug information is damaged or too large to read: source lines and inlined functions are missing";

/// An address that needs a name.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct At {
    /// The address. The object's [`Placement`] says what it is.
    pub address: u64,
    /// Whether a call returns to this address. The call is in the byte before it, and may be the last of its function.
    pub is_return: bool,
}

impl From<u64> for At {
    fn from(address: u64) -> At {
        At { address, is_return: false }
    }
}

/// Functions that are return addresses on the stack and were not called: those to which handlers return (glibc, musl,
/// the kernel's vDSO), and the one to which a context of makecontext() returns.
const NOT_CALLED: [&str; 5] =
    ["__restore_rt", "__restore", "__kernel_rt_sigreturn", "__kernel_sigreturn", "__start_context"];

/// Names the addresses of an object, in their order. An error says why an address has no name.
pub fn names<A: Copy + Into<At>>(
    object: &Object,
    placement: &Placement,
    addresses: &[A],
) -> Vec<Result<Name, &'static str>> {
    names_and_code(object, placement, addresses).0
}

/// Does the same, and also gives the functions that have these addresses, with their code.
pub fn names_and_code<A: Copy + Into<At>>(
    object: &Object,
    placement: &Placement,
    addresses: &[A],
) -> (Vec<Result<Name, &'static str>>, Vec<Code>) {
    let Ok(main) = object::File::parse(&object.bytes[..]) else {
        return (listed(&object.bytes, placement, addresses), Vec::new());
    };
    let whole = object.whole.as_ref().and_then(parse);
    let debug = object.debug.as_ref().and_then(parse);
    let shared = object.parts.shared.as_ref().and_then(parse);
    let package = object.parts.package.as_ref().and_then(parse);
    let (contents, split): (Vec<_>, Vec<_>);
    let unpacked = main.section_by_name(".gnu_debugdata").and_then(|section| xz::unpack(section.data().ok()?));
    let mini = unpacked.as_ref().and_then(|bytes| object::File::parse(&bytes[..]).ok());
    let mut symtab = Symtab::default();
    symtab.add(&main, "symtab");
    if let Some(debug) = &debug {
        symtab.add(debug, "symtab");
    }
    if let Some(mini) = &mini {
        symtab.add(mini, "minidebuginfo");
    }
    let layout = Layout::of(&main, placement);
    let mut dwarf = debug.as_ref().and_then(Dwarf::load).or_else(|| Dwarf::load(&main));
    if layout.is_relocatable() {
        dwarf = None; // its addresses wait for relocation, too
    }
    if let (Some(dwarf), Some(shared)) = (&mut dwarf, &shared) {
        dwarf.add_shared(shared);
    }
    if let Some(dwarf) = dwarf.as_mut().filter(|dwarf| !object.parts.has_no_split() && dwarf.may_be_split()) {
        if let Some(package) = &package {
            dwarf.add_package(package);
        }
        contents = object.parts.files(dwarf);
        split = contents.iter().filter_map(|(id, content)| Some((*id, parse(content)?))).collect();
        for (id, file) in &split {
            dwarf.add_split(*id, file);
        }
    }
    let mut name_all = |lines: Option<&Lines<'_>>| {
        let mut name = |&at: &A| {
            let At { address, is_return } = at.into();
            let before = u64::from(is_return);
            let call = layout.virtual_address(address.wrapping_sub(before))?;
            // The kernel's callchains do not distinguish a caller from an interrupted place. If there is no function at
            // the address, the function that ends there called one that does not return.
            let place = call.wrapping_add(before);
            let is_behind =
                layout.is_kernel() && symtab.find(place).is_none() && symtab.find(place.wrapping_sub(1)).is_some();
            one(&mut symtab, lines, place, is_return || is_behind)
        };
        let named = addresses.iter().map(&mut name).collect::<Vec<_>>();
        let with_names = addresses.iter().zip(&named).filter_map(|(&at, name)| Some((at.into(), name.clone().ok()?)));
        let functions = code::functions(whole.as_ref().unwrap_or(&main), &layout, &mut symtab, lines, with_names);
        (named, functions)
    };
    match dwarf.as_ref().and_then(|dwarf| dwarf.with(|lines| name_all(Some(lines)))) {
        Some(named) => named,
        None => {
            let (mut named, functions) = name_all(None);
            named.iter_mut().flatten().for_each(|name| name.is_incomplete = dwarf.is_some());
            (named, functions)
        }
    }
}

/// Does the same with a copy of the kernel's symbol list, which may be from another boot of that kernel.
fn listed<A: Copy + Into<At>>(bytes: &[u8], placement: &Placement, addresses: &[A]) -> Vec<Result<Name, &'static str>> {
    let list = std::str::from_utf8(bytes).ok().and_then(Kallsyms::parse);
    let Placement::Kernel { symbol, address } = placement else {
        return addresses.iter().map(|_| Err("no symbol table")).collect();
    };
    let shift = list.as_ref().and_then(|list| Some(list.anchor(symbol)?.wrapping_sub(*address)));
    let name = |&at: &A| {
        let At { address, .. } = at.into();
        let (list, shift) = list.as_ref().zip(shift).ok_or("no symbol table")?;
        let found = list.find_in_kernel(address.wrapping_add(shift)).ok_or("not in kallsyms")?;
        Ok(Name { symbol: found.0.to_string(), offset_bytes: Some(found.1), source: "kallsyms", ..Name::default() })
    };
    addresses.iter().map(name).collect()
}

fn parse(content: &Content) -> Option<object::File<'_>> {
    object::File::parse(&content[..]).ok()
}

fn one(
    symtab: &mut Symtab<'_>,
    lines: Option<&Lines<'_>>,
    address: u64,
    is_return: bool,
) -> Result<Name, &'static str> {
    let is_not_called = |f: Function| f.address == address && NOT_CALLED.contains(&f.name.as_str());
    let was_called = is_return && !symtab.find(address).is_some_and(is_not_called);
    let place = address.wrapping_sub(u64::from(was_called));
    let (mut inlined, is_all) = lines.map_or((Vec::new(), true), |lines| lines.at(place));
    let outer = inlined.pop().unwrap_or_default();
    // An inlined function without a name is of no use.
    inlined.retain(|place| place.function.is_some());
    let (symbol, start, source) = match (symtab.find(place), outer.function) {
        (Some(function), _) => (function.name, Some(function.address), function.source),
        (None, Some(name)) => (name, None, "dwarf"),
        (None, None) if symtab.has_symtab => return Err("no symbol covers the address"),
        (None, None) if symtab.has_dynsym || !symtab.is_empty() => return Err("stripped"),
        (None, None) => return Err("no symbol table"),
    };
    let offset_bytes = start.map(|start| address.wrapping_sub(start));
    Ok(Name { symbol, offset_bytes, source, file: outer.file, line: outer.line, inlined, is_incomplete: !is_all })
}
