//! Build IDs, which say whether two files are the same build.

use object::{Object as _, ObjectSection as _};

/// A build ID. Older records of perf pad it to 20 bytes with zeros, so two build IDs that differ only in zeros at the
/// end are equal.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BuildId(Box<[u8]>);

/// The longest accepted build ID, in bytes: those of GNU ld have 16 or 20 bytes, others at most 64.
const MOST_BYTES: usize = 64;

impl BuildId {
    /// Makes a build ID; `None` for no bytes and for zeros only, which perf writes where it knows no build ID.
    pub fn new(bytes: &[u8]) -> Option<BuildId> {
        let length = bytes.iter().rposition(|&byte| byte != 0)? + 1;
        (length <= MOST_BYTES).then(|| BuildId(bytes[..length].into()))
    }

    /// Reads hexadecimal digits; `None` where they are no build ID.
    pub fn from_hex(text: &[u8]) -> Option<BuildId> {
        if text.is_empty() || !text.len().is_multiple_of(2) || text.len() > 2 * MOST_BYTES {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let bytes =
            text.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect::<Option<Vec<u8>>>()?;
        BuildId::new(&bytes)
    }

    /// Gives hexadecimal digits for each length in use: files are named by the whole build ID, and this type has lost
    /// the zeros at its end.
    pub(crate) fn hex_forms(&self) -> Vec<String> {
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut forms = vec![hex.clone()];
        for bytes in [8, 16, 20].into_iter().filter(|&bytes| bytes > self.0.len()) {
            forms.push(format!("{hex:0<width$}", width = 2 * bytes));
        }
        forms
    }
}

/// Gives the build ID in the notes of a file; `None` where it has none.
pub fn of_file(bytes: &[u8]) -> Option<BuildId> {
    let file = object::File::parse(bytes).ok()?;
    if let Ok(Some(id)) = file.build_id() {
        return BuildId::new(id);
    }
    // The library does not find every note (for example in a section of another type).
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
