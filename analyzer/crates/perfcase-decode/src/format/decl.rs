//! The C declaration inside a field line, and what it says about the field's bytes.

use super::{FieldKind, LocElem};

/// The parts of a declaration: `base name[brackets]`, or `base[brackets] name` of a dynamic field.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    /// The words and asterisks before the name, without `__data_loc` and brackets.
    base: String,
    /// The text between the outermost brackets: `Some("16")`; `Some("")` for `[]`.
    brackets: Option<String>,
    dynamic: Dynamic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dynamic {
    No,
    DataLoc,
    RelLoc,
}

impl Declaration {
    /// Splits a declaration. `None` where the name or the type is missing.
    pub(super) fn parse(text: &str) -> Option<Declaration> {
        let text = text.trim();
        let (dynamic, rest) = if let Some(rest) = text.strip_prefix("__data_loc ") {
            (Dynamic::DataLoc, rest)
        } else if let Some(rest) = text.strip_prefix("__rel_loc ") {
            (Dynamic::RelLoc, rest)
        } else {
            (Dynamic::No, text)
        };
        let (before, brackets, after) = split_brackets(rest.trim());
        // `char[] name` has the name behind the brackets, `char name[16]` before them.
        let (base, name) = match identifier_at_end(after) {
            Some((_, name)) => (before.trim(), name),
            None => identifier_at_end(before)?,
        };
        if base.is_empty() {
            return None;
        }
        Some(Declaration {
            name: name.to_owned(),
            base: base.split_whitespace().collect::<Vec<_>>().join(" "),
            brackets: brackets.map(str::to_owned),
            dynamic,
        })
    }

    /// The declaration without the name.
    pub(super) fn c_type(&self) -> String {
        let prefix = match self.dynamic {
            Dynamic::No => "",
            Dynamic::DataLoc => "__data_loc ",
            Dynamic::RelLoc => "__rel_loc ",
        };
        match &self.brackets {
            Some(inner) => format!("{prefix}{}[{inner}]", self.base),
            None => format!("{prefix}{}", self.base),
        }
    }

    /// Gives what a field of `size` bytes with this declaration holds.
    pub(super) fn kind(&self, size: u32) -> FieldKind {
        match self.dynamic {
            Dynamic::DataLoc if size == 4 => FieldKind::DataLoc { elem: self.loc_elem() },
            Dynamic::RelLoc if size == 4 => FieldKind::RelLoc { elem: self.loc_elem() },
            Dynamic::DataLoc | Dynamic::RelLoc => FieldKind::Bytes,
            Dynamic::No if self.brackets.is_some() => self.array_kind(size),
            Dynamic::No if self.is_aggregate() || !is_int_size(size) => FieldKind::Bytes,
            Dynamic::No => FieldKind::Int,
        }
    }

    /// Tells whether the type is signed by its words: kernels before 2.6.32 wrote no `signed:`.
    pub(super) fn looks_signed(&self) -> bool {
        let mut words = self.base.split(' ').filter(|w| *w != "const");
        self.brackets.is_none()
            && !self.is_pointer()
            && words.next().is_some_and(|w| {
                matches!(w, "signed" | "int" | "long" | "short" | "s8" | "s16" | "s32" | "s64" | "pid_t")
            })
    }

    fn is_pointer(&self) -> bool {
        self.base.ends_with('*')
    }

    fn is_aggregate(&self) -> bool {
        !self.is_pointer() && self.base.split(' ').any(|w| w == "struct" || w == "union")
    }

    fn is_text(&self) -> bool {
        matches!(self.base.as_str(), "char" | "const char" | "signed char")
    }

    fn loc_elem(&self) -> LocElem {
        if self.is_text() {
            return LocElem::Char;
        }
        match self.named_size() {
            Some(size) if size > 1 => LocElem::Int { size },
            _ => LocElem::Bytes,
        }
    }

    fn array_kind(&self, size: u32) -> FieldKind {
        if self.is_text() {
            return FieldKind::CharArray;
        }
        if self.is_aggregate() {
            return FieldKind::Bytes;
        }
        let by_count = self.brackets.as_deref().and_then(|b| b.trim().parse::<u32>().ok());
        let elem_size = match by_count {
            Some(count) if count > 0 && size > 0 => size.is_multiple_of(count).then(|| size / count),
            _ => self.named_size(),
        };
        match elem_size {
            Some(elem_size @ (2 | 4 | 8)) if size.is_multiple_of(elem_size) => {
                FieldKind::IntArray { elem_size, count: size / elem_size }
            }
            _ => FieldKind::Bytes,
        }
    }

    /// Gives the size of the element type in bytes, by its name. `long` and pointers count as 8 until
    /// [`super::EventFormat::set_long_size`] changes it: a format text does not contain the kernel's word size.
    fn named_size(&self) -> Option<u32> {
        if self.is_pointer() {
            return Some(8);
        }
        let words: Vec<&str> = self.base.split(' ').filter(|w| *w != "const").collect();
        if words.contains(&"long") {
            return Some(8);
        }
        Some(match *words.last()? {
            "char" | "u8" | "__u8" | "s8" | "__s8" | "uint8_t" | "int8_t" | "bool" => 1,
            "short" | "u16" | "__u16" | "s16" | "__s16" | "uint16_t" | "int16_t" | "__le16" | "__be16" => 2,
            "int" | "unsigned" | "signed" | "u32" | "__u32" | "s32" | "__s32" | "uint32_t" | "int32_t" | "__le32"
            | "__be32" | "pid_t" | "dev_t" | "gfp_t" | "uint" => 4,
            "u64" | "__u64" | "s64" | "__s64" | "uint64_t" | "int64_t" | "__le64" | "__be64" | "size_t"
            | "dma_addr_t" | "phys_addr_t" | "sector_t" | "loff_t" => 8,
            _ => return None,
        })
    }
}

fn is_int_size(size: u32) -> bool {
    matches!(size, 1 | 2 | 4 | 8)
}

/// Splits a text into the parts before the first `[`, between it and the last `]`, and after that.
fn split_brackets(text: &str) -> (&str, Option<&str>, &str) {
    match (text.find('['), text.rfind(']')) {
        (Some(open), Some(close)) if open < close => (&text[..open], Some(&text[open + 1..close]), &text[close + 1..]),
        _ => (text, None, ""),
    }
}

/// Splits `text` before the identifier at its end.
fn identifier_at_end(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let start = text
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let name = &text[start..];
    (!name.is_empty()).then(|| (text[..start].trim_end(), name))
}
