//! Build ids: what says that two files are the same build.

use object::{Object as _, ObjectSection as _};

/// A build id. perf's older records pad one to 20 bytes with zeros, so zeros at its end do not tell two apart.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BuildId(Box<[u8]>);

/// Longest one that is taken for one: GNU ld's are 16 or 20 bytes, others' at most 64.
const MOST_BYTES: usize = 64;

impl BuildId {
    /// A build id; `None` for nothing and for zeros only, which perf writes where it knows none.
    pub fn new(bytes: &[u8]) -> Option<BuildId> {
        let length = bytes.iter().rposition(|&byte| byte != 0)? + 1;
        (length <= MOST_BYTES).then(|| BuildId(bytes[..length].into()))
    }

    /// From hexadecimal digits.
    pub fn from_hex(text: &[u8]) -> Option<BuildId> {
        if text.is_empty() || !text.len().is_multiple_of(2) || text.len() > 2 * MOST_BYTES {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let bytes =
            text.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect::<Option<Vec<u8>>>()?;
        BuildId::new(&bytes)
    }

    /// Its lengths in use, as hexadecimal digits: files are named by the whole id, whose zeros at the end are gone here.
    pub(crate) fn hex_forms(&self) -> Vec<String> {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut forms = vec![hex.clone()];
        for bytes in [8, 16, 20].into_iter().filter(|&bytes| bytes > self.0.len()) {
            forms.push(format!("{hex:0<width$}", width = 2 * bytes));
        }
        forms
    }
}

/// The build id in a file's own notes.
pub fn of_file(bytes: &[u8]) -> Option<BuildId> {
    let file = object::File::parse(bytes).ok()?;
    if let Ok(Some(id)) = file.build_id() {
        return BuildId::new(id);
    }
    // Notes that the library does not reach (a section of another type, say).
    let id = file.section_by_name(".note.gnu.build-id")?.data().ok()?.get(16..)?;
    BuildId::new(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_no_difference() {
        assert_eq!(BuildId::new(&[1, 2, 0, 0]), BuildId::new(&[1, 2]));
        assert_ne!(BuildId::new(&[1, 2, 0, 3]), BuildId::new(&[1, 2]));
        assert_eq!(BuildId::new(&[0; 20]), None);
        assert_eq!(BuildId::new(&[]), None);
        assert_eq!(BuildId::from_hex(b"0aFF"), BuildId::new(&[10, 255]));
        for bad in [&b""[..], b"a", b"zz", b"-"] {
            assert_eq!(BuildId::from_hex(bad), None);
        }
        assert_eq!(BuildId::from_hex(b"ab01").unwrap().hex_forms()[..2], ["ab01", "ab01000000000000"]);
    }
}
