//! Names for the addresses of one object.

use object::{Object as _, ObjectSection as _, ObjectSegment as _};
use perfcase_archive::Content;

use crate::dwarf::{Dwarf, Lines, Place};
use crate::objects::Object;
use crate::relocatable;
use crate::symtab::{Function, Symtab};
use crate::xz;

/// What an address is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Name {
    /// The function, demangled.
    pub symbol: String,
    /// Distance from its start in bytes, where its start is known.
    pub offset_bytes: Option<u64>,
    /// What told it: symtab, dynsym, minidebuginfo, plt, dwarf.
    pub source: &'static str,
    /// Source file of the address.
    pub file: Option<String>,
    /// Line.
    pub line: Option<u32>,
    /// Functions that were inlined into it here, the innermost first.
    pub inlined: Vec<Place>,
}

/// An address that wants a name.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct At {
    /// Its offset in the file; of a kernel module that from the module's address.
    pub offset: u64,
    /// It is where a call returns to: the call is in the byte before it, and may be the last of its function.
    pub is_return: bool,
}

impl From<u64> for At {
    fn from(offset: u64) -> At {
        At { offset, is_return: false }
    }
}

/// Functions that stand as return addresses on the stack and were not called: what handlers return to (glibc, musl, the
/// kernel's vDSO), and what a context of makecontext() does.
const NOT_CALLED: [&str; 5] =
    ["__restore_rt", "__restore", "__kernel_rt_sigreturn", "__kernel_sigreturn", "__start_context"];

/// Names for addresses of an object, or why there is none, in their order.
pub fn names<A: Copy + Into<At>>(object: &Object, addresses: &[A]) -> Vec<Result<Name, &'static str>> {
    let Ok(main) = object::File::parse(&object.bytes[..]) else {
        return addresses.iter().map(|_| Err("no symbol table")).collect();
    };
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
    let segments = segments(&main);
    let module = relocatable::is(&main).then(|| relocatable::text(&main));
    let mut dwarf = debug.as_ref().and_then(Dwarf::load).or_else(|| Dwarf::load(&main));
    if module.is_some() {
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
            let At { offset, is_return } = at.into();
            let before = u64::from(is_return);
            let call = match &module {
                None => virtual_address(&segments, offset.wrapping_sub(before))?,
                Some(Some(text)) if offset < text.size => offset.wrapping_sub(before),
                Some(_) => return Err("only .text of a module is placed"),
            };
            one(&mut symtab, lines, call.wrapping_add(before), is_return)
        };
        addresses.iter().map(&mut name).collect::<Vec<_>>()
    };
    match dwarf.as_ref().and_then(|dwarf| dwarf.with(|lines| name_all(Some(lines)))) {
        Some(named) => named,
        None => name_all(None),
    }
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
    let mut inlined = lines.map(|lines| lines.at(place)).unwrap_or_default();
    let outer = inlined.pop().unwrap_or_default();
    // Without a name an inlined function tells nobody anything.
    inlined.retain(|place| place.function.is_some());
    let (symbol, start, source) = match (symtab.find(place), outer.function) {
        (Some(function), _) => (function.name, Some(function.address), function.source),
        (None, Some(name)) => (name, None, "dwarf"),
        (None, None) if symtab.has_symtab => return Err("no symbol covers the address"),
        (None, None) if symtab.has_dynsym || !symtab.is_empty() => return Err("stripped"),
        (None, None) => return Err("no symbol table"),
    };
    let offset_bytes = start.map(|start| address.wrapping_sub(start));
    Ok(Name { symbol, offset_bytes, source, file: outer.file, line: outer.line, inlined })
}

/// A loaded part of a file: offset in it, size in it, address.
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
    is_code: bool,
}

fn segments(file: &object::File<'_>) -> Vec<Segment> {
    let base = file.segments().next().map_or(0, |first| first.address() & !4095);
    let is_lld = || {
        let comment = file.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
        comment.windows(4).any(|word| word == b"LLD " || word == b"mold")
    };
    let mut segments: Vec<Segment> = file
        .segments()
        .filter_map(|segment| {
            let (offset, size) = segment.file_range();
            let is_code = segment.permissions().executable();
            let (offset, size) = match size {
                // A file of debug information alone: its offsets are not the program's. GNU ld puts code at the same
                // distance from the start in the file as in memory; other linkers do not, and nothing tells the offset.
                0 if is_code && !is_lld() => (segment.address().wrapping_sub(base), segment.size()),
                _ => (offset, size),
            };
            (size > 0).then_some(Segment { offset, size, address: segment.address(), is_code })
        })
        .collect();
    segments.sort_by_key(|segment| !segment.is_code);
    segments
}

/// The address of a byte of the file, by the program headers: code first, for a page at the seam of two segments is
/// mapped by both.
fn virtual_address(segments: &[Segment], offset: u64) -> Result<u64, &'static str> {
    let exact = segments.iter().find(|s| offset.checked_sub(s.offset).is_some_and(|into| into < s.size));
    // What is mapped beyond a segment's end is the rest of its last page.
    let page = 4095u64;
    let in_page =
        || segments.iter().find(|s| offset >= s.offset & !page && offset < s.offset.saturating_add(s.size) | page);
    let segment = exact.or_else(in_page).ok_or("no symbol covers the address")?;
    Ok(offset.wrapping_sub(segment.offset).wrapping_add(segment.address))
}
