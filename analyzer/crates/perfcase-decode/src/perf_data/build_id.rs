//! Build ids of files that samples hit (HEADER_BUILD_ID, PERF_RECORD_HEADER_BUILD_ID).

use super::bytes::{ByteOrder, Cursor, until_nul};

/// The bit of `misc` of an entry that has the size of its id (5.10 and later).
const MISC_SIZE: u16 = 1 << 15;

/// One file's build id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildId {
    /// Path, or a name such as `[kernel.kallsyms]`.
    pub path: Vec<u8>,
    /// The id.
    pub bytes: Vec<u8>,
    /// The CPU mode: 1 kernel, 2 user.
    pub cpu_mode: u16,
}

/// Reads the body of an entry.
pub fn parse(misc: u16, body: &[u8], order: ByteOrder) -> Option<BuildId> {
    let mut c = Cursor::new(body, order);
    c.u32()?;
    let field = c.take(24)?;
    let size = if misc & MISC_SIZE != 0 { usize::from(field[20]).min(20) } else { 20 };
    let path = until_nul(c.rest()).to_vec();
    Some(BuildId { path, bytes: field[..size].to_vec(), cpu_mode: misc & 7 })
}

/// Reads the feature section, which has entries with record headers. The flag tells whether it is complete.
pub fn parse_section(section: &[u8], order: ByteOrder) -> (Vec<BuildId>, bool) {
    let mut list = Vec::new();
    let mut at = 0;
    while at < section.len() {
        let (Some(misc), Some(size)) = (order.u16(section, at + 4), order.u16(section, at + 6)) else {
            return (list, false);
        };
        let entry = section.get(at + 8..at + usize::from(size));
        match entry.and_then(|body| parse(misc, body, order)) {
            Some(build_id) => list.push(build_id),
            None => return (list, false),
        }
        at += usize::from(size);
    }
    (list, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_with_a_size_and_a_cut_one() {
        let mut section = vec![0u8; 4];
        section.extend((MISC_SIZE | 2).to_be_bytes());
        section.extend(48u16.to_be_bytes());
        section.extend(u32::MAX.to_be_bytes());
        section.extend([0xcd; 20]);
        section.extend([16, 0, 0, 0]);
        section.extend(b"/bin/sh\0\0\0\0\0");
        let whole = BuildId { path: b"/bin/sh".to_vec(), bytes: vec![0xcd; 16], cpu_mode: 2 };
        assert_eq!(parse_section(&section, ByteOrder::Big), (vec![whole.clone()], true));
        section.extend([0; 7]);
        assert_eq!(parse_section(&section, ByteOrder::Big), (vec![whole], false));
    }
}
