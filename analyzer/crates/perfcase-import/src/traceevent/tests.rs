//! Compares our reading of event formats with that of libtraceevent, field by field. The formats are valid, so this
//! process may call the library.

use std::ffi::CStr;

use perfcase_decode::format::{EventFormat, Field, FieldKind, LocElem};
use perfcase_decode::ftrace::trace_dat;

use super::ffi::TepField;
use super::printer::{Printer, Setup, Style};
use crate::fixture::{fixture, text};

// Flags of tep_format_field, from event-parse.h.
const ARRAY: u64 = 1;
const SIGNED: u64 = 4;
const STRING: u64 = 8;
const DYNAMIC: u64 = 16;
const RELATIVE: u64 = 256;

/// What both parsers say about a field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FieldFacts {
    name: String,
    offset: u32,
    size: u32,
    is_common: bool,
    is_signed: bool,
    is_array: bool,
    is_dynamic: bool,
    is_relative: bool,
    /// libtraceevent calls every array of one-byte types a string; we call only arrays of `char` strings.
    is_bytes: bool,
    /// The size in bytes of one element, for an array of integers whose length is written as a number.
    element_size: Option<u32>,
}

impl FieldFacts {
    /// # Safety
    /// The field's texts must belong to a living handle.
    pub(super) unsafe fn of(field: &TepField, is_common: bool) -> FieldFacts {
        // SAFETY: as the caller says.
        let name = unsafe { CStr::from_ptr(field.name) }.to_str().unwrap().to_owned();
        let flag = |bit: u64| field.flags & bit != 0;
        FieldFacts {
            name,
            offset: field.offset as u32,
            size: field.size as u32,
            is_common,
            is_signed: flag(SIGNED),
            is_array: flag(ARRAY),
            is_dynamic: flag(DYNAMIC),
            is_relative: flag(RELATIVE),
            is_bytes: flag(STRING),
            element_size: (field.array_length > 0 && !flag(STRING)).then_some(field.element_size),
        }
    }

    fn ours(field: &Field) -> FieldFacts {
        let is_array = field.c_type.contains('[');
        let one_byte = ["char", "u8", "s8"].iter().any(|name| field.c_type.contains(name));
        let is_text = matches!(
            field.kind,
            FieldKind::CharArray
                | FieldKind::DataLoc { elem: LocElem::Char }
                | FieldKind::RelLoc { elem: LocElem::Char }
        );
        assert!(!is_text || one_byte, "{field:?}");
        let written = field.c_type.split(['[', ']']).nth(1).and_then(|inner| inner.parse::<u32>().ok());
        FieldFacts {
            name: field.name.clone(),
            offset: field.offset,
            size: field.size,
            is_common: field.is_common,
            is_signed: field.is_signed,
            is_array,
            is_dynamic: matches!(field.kind, FieldKind::DataLoc { .. } | FieldKind::RelLoc { .. }),
            is_relative: matches!(field.kind, FieldKind::RelLoc { .. }),
            is_bytes: is_array && one_byte,
            element_size: match field.kind {
                FieldKind::IntArray { elem_size, count } if written == Some(count) => Some(elem_size),
                _ => None,
            },
        }
    }
}

/// Compares all formats. Gives `(formats, fields, fields whose element sizes were compared)`.
fn compare(formats: &[(String, String)], what: &str) -> (usize, usize, usize) {
    let setup = Setup { big_endian: false, long_size: 8, style: Style::Perf };
    let mut printer = Printer::new(setup).expect("libtraceevent is installed where the tests run");
    let (mut fields, mut elements) = (0, 0);
    for (system, text) in formats {
        let ours = EventFormat::parse(system, text).unwrap_or_else(|e| panic!("{what}: {e}"));
        // Print formats that the library cannot parse do not matter here: the fields are read before them.
        let _ = printer.add_format(system, text);
        let theirs = printer.fields(ours.id).unwrap_or_else(|| panic!("{what}: {system}:{} is unknown", ours.name));
        let ours: Vec<FieldFacts> = ours.fields.iter().map(FieldFacts::ours).collect();
        assert_eq!(ours, theirs, "{what}: {system}: {text}");
        fields += ours.len();
        elements += ours.iter().filter(|field| field.element_size.is_some()).count();
    }
    (formats.len(), fields, elements)
}

#[test]
fn fields_are_those_of_libtraceevent_on_a_whole_kernel() {
    let bundle = text("formats-x86_64-6.18.txt");
    let split = bundle.split("### ").skip(1).map(|part| part.split_once('\n').unwrap());
    let formats: Vec<_> = split.map(|(system, text)| (system.to_owned(), text.to_owned())).collect();
    assert_eq!(compare(&formats, "bundle"), (2323, 21094, 7));
}

#[test]
fn fields_are_those_of_libtraceevent_on_the_captures() {
    for (name, expected) in [("aarch64-v6", 41), ("x86_64-v6", 41), ("aarch64-fgraph", 1338)] {
        let capture = trace_dat::parse(&fixture(&format!("ftrace/{name}.dat"))).unwrap();
        let formats: Vec<_> = capture.formats.into_iter().map(|f| (f.system, f.text)).collect();
        assert_eq!(compare(&formats, name).0, expected, "{name}");
    }
}

#[test]
fn fields_are_those_of_libtraceevent_on_this_machine() {
    // Without tracefs, or without the right to read it, there is nothing to compare here. The bundle above is always
    // there.
    let Ok(systems) = std::fs::read_dir("/sys/kernel/tracing/events") else { return };
    let mut formats = Vec::new();
    for system in systems.flatten() {
        for event in std::fs::read_dir(system.path()).into_iter().flatten().flatten() {
            if let Ok(text) = std::fs::read_to_string(event.path().join("format")) {
                formats.push((system.file_name().to_string_lossy().into_owned(), text));
            }
        }
    }
    assert_eq!(compare(&formats, "this machine").0, formats.len());
}
