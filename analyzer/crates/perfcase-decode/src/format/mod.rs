//! Event formats: the text of `events/<system>/<event>/format`, as the kernel's tracefs gives it and as perf.data and
//! trace.dat store it. This module reads the layout of the fields and keeps the print format as text.
//!
//! The syntax of a field line, with the tabs the kernel writes between the parts:
//! `field:<declaration>; offset:<bytes>; size:<bytes>; signed:<0|1>;`
//! where the declaration is C (`char comm[16]`, `void * ptr`) except that the two dynamic forms put the brackets on the
//! type: `__data_loc char[] name`, `__rel_loc u32[] values` (kernel: `Documentation/trace/events.rst`).

mod decl;
pub mod state_bits;
#[cfg(test)]
mod tests;

use decl::Declaration;

/// The longest format text that is read, in bytes. The longest of a 6.18 kernel has 14 KB.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// The most fields that an event may have.
pub const MAX_FIELDS: usize = 1024;

/// The layout of one event's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFormat {
    /// The subsystem, e.g. `sched`.
    pub system: String,
    /// The event's own name, e.g. `sched_switch`.
    pub name: String,
    /// The number that `common_type` holds in this event's records.
    pub id: u32,
    /// The fields in the order of the text, the common ones first.
    pub fields: Vec<Field>,
    /// The text behind `print fmt:`, without the line end; empty where there is none.
    pub print_fmt: String,
}

/// One field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The field's name, without brackets.
    pub name: String,
    /// The declaration without the name: `unsigned long[6]`, `__data_loc char[]`, `const char *`.
    pub c_type: String,
    /// Offset from the start of the record, in bytes.
    pub offset: u32,
    /// Size in the record, in bytes. 0 marks a flexible array (`char buf[]`): it reaches to the end of the record.
    pub size: u32,
    /// Whether the integer (or each element) is signed.
    pub is_signed: bool,
    /// Whether this is one of the fields that every event of the kernel begins with (`common_pid`, …).
    pub is_common: bool,
    /// What the bytes hold.
    pub kind: FieldKind,
}

/// What the bytes of a field hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// One integer, boolean, enumerator or pointer of 1, 2, 4 or 8 bytes.
    Int,
    /// An array of integers in the record. `count` is 0 for a flexible array.
    IntArray {
        /// Bytes of one element: 1, 2, 4 or 8.
        elem_size: u32,
        /// The number of elements. With 0 they go on to the end of the record.
        count: u32,
    },
    /// A string in the record. It ends at the first NUL or at the field's end.
    CharArray,
    /// The place of data that follow the fixed part, in 32 bits: length << 16 | offset from the start of the record.
    DataLoc {
        /// The elements of the data.
        elem: LocElem,
    },
    /// The place of data that follow the fixed part, in 32 bits: length << 16 | offset from the end of this field.
    RelLoc {
        /// The elements of the data.
        elem: LocElem,
    },
    /// Anything else: structures, MAC addresses, odd sizes.
    Bytes,
}

/// The elements of the data of a dynamic field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocElem {
    /// Characters of a string. It usually ends with a NUL, which its length includes.
    Char,
    /// Integers.
    Int {
        /// Bytes of one integer: 1, 2, 4 or 8.
        size: u32,
    },
    /// Bytes without further structure.
    Bytes,
}

/// Why a format text cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// There is no `name:` line.
    #[error("event format without a name")]
    NoName,
    /// There is no `ID:` line with a number.
    #[error("format of event {name} without an ID")]
    NoId {
        /// The event's name.
        name: String,
    },
    /// A field line without a name, an offset or a size.
    #[error("format of event {name}: line {line} is no field: {text:?}")]
    BadField {
        /// The event's name.
        name: String,
        /// Line number, from 1.
        line: usize,
        /// The line's first characters.
        text: String,
    },
    /// The text or its number of fields exceeds the limit.
    #[error("event format too large: {what}")]
    TooLarge {
        /// The limit.
        what: &'static str,
    },
}

impl EventFormat {
    /// Reads the text of one `format` file. `system` is not part of the text.
    ///
    /// Unknown lines and unknown attributes of a field are skipped; a field line without its place in the record is an
    /// error, because rows decoded without it would look complete.
    pub fn parse(system: &str, text: &str) -> Result<EventFormat, FormatError> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(FormatError::TooLarge { what: "text over 1 MiB" });
        }
        let (head, print_fmt) = split_print_fmt(text);
        let mut name = None;
        let mut id = None;
        let mut fields = Vec::new();
        let mut in_common = true;
        for (index, raw) in head.lines().enumerate() {
            let line = raw.trim();
            if let Some(rest) = line.strip_prefix("name:") {
                name.get_or_insert_with(|| rest.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix("ID:") {
                id = id.or(rest.trim().parse::<u32>().ok());
            } else if line.is_empty() {
                in_common &= fields.is_empty();
            } else if let Some(rest) = after_field_keyword(line) {
                if fields.len() == MAX_FIELDS {
                    return Err(FormatError::TooLarge { what: "over 1024 fields" });
                }
                let field = parse_field(rest, in_common).ok_or_else(|| FormatError::BadField {
                    name: name.clone().unwrap_or_default(),
                    line: index + 1,
                    text: line.chars().take(120).collect(),
                })?;
                fields.push(field);
            }
        }
        let name = name.filter(|n| !n.is_empty()).ok_or(FormatError::NoName)?;
        let id = id.ok_or_else(|| FormatError::NoId { name: name.clone() })?;
        Ok(EventFormat { system: system.to_owned(), name, id, fields, print_fmt: print_fmt.to_owned() })
    }

    /// Sets the kernel's word size in bytes, which the text does not contain. It matters only on 32-bit kernels, for
    /// arrays of `long` and of pointers that have no fixed length.
    pub fn set_long_size(&mut self, long_size_bytes: u32) {
        if long_size_bytes != 4 {
            return;
        }
        for field in self.fields.iter_mut().filter(|f| is_word_array(&f.c_type)) {
            match &mut field.kind {
                FieldKind::IntArray { elem_size, count: 0 } => *elem_size = 4,
                FieldKind::DataLoc { elem: LocElem::Int { size } } => *size = 4,
                FieldKind::RelLoc { elem: LocElem::Int { size } } => *size = 4,
                _ => {}
            }
        }
    }

    /// Gives the field of that name: the first, where a kernel gave two fields the same name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

fn is_word_array(c_type: &str) -> bool {
    let base = c_type.split('[').next().unwrap_or_default().trim_end();
    base.ends_with('*') || (base.contains("long") && !base.contains("long long"))
}

/// Reads a line `field: …` outside of an event's format, as in `events/header_page`.
pub(crate) fn parse_field_line(line: &str) -> Option<Field> {
    parse_field(after_field_keyword(line.trim())?, false)
}

/// Splits a text before `print fmt:`, which is the last part and may have several lines.
fn split_print_fmt(text: &str) -> (&str, &str) {
    match text.find("print fmt:") {
        Some(at) => (&text[..at], text[at + "print fmt:".len()..].trim()),
        None => (text, ""),
    }
}

/// Gives what follows `field:` or, in kernels before 2.6.33, `field special:`.
fn after_field_keyword(line: &str) -> Option<&str> {
    line.strip_prefix("field:").or_else(|| line.strip_prefix("field special:"))
}

/// Reads what follows the keyword of a field line. `None` where the name, the offset or the size is missing.
fn parse_field(rest: &str, in_common: bool) -> Option<Field> {
    let mut parts = rest.split(';').map(str::trim);
    let declaration = Declaration::parse(parts.next()?)?;
    let (mut offset, mut size, mut signed) = (None, None, None);
    for part in parts {
        let Some((key, value)) = part.split_once(':') else {
            continue;
        };
        match key.trim() {
            "offset" => offset = value.trim().parse::<u32>().ok(),
            "size" => size = value.trim().parse::<u32>().ok(),
            "signed" => signed = value.trim().parse::<u32>().ok().map(|v| v != 0),
            _ => {}
        }
    }
    let (offset, size) = (offset?, size?);
    // The end of every field must be a number: later code adds offset and size without a check.
    offset.checked_add(size)?;
    Some(Field {
        kind: declaration.kind(size),
        is_signed: signed.unwrap_or_else(|| declaration.looks_signed()),
        is_common: in_common && declaration.name.starts_with("common_"),
        c_type: declaration.c_type(),
        name: declaration.name,
        offset,
        size,
    })
}
