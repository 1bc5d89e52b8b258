//! The first bytes of a perf.data: magic, byte order, places of the sections.
//!
//! Layout: `tools/perf/Documentation/perf.data-file-format.txt` of the Linux source (struct perf_header and
//! perf_pipe_file_header).

use super::bytes::{ByteOrder, Cursor};

/// Bytes of the header of pipe mode.
pub const PIPE_HEADER_BYTES: u64 = 16;
/// Bytes of the header of file mode with the feature bitmap.
const FILE_HEADER_BYTES: usize = 104;

/// A part of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}

impl Section {
    /// Gives the section's bytes; `None` where not all of them are in the file.
    pub fn of<'a>(&self, file: &'a [u8]) -> Option<&'a [u8]> {
        let start = usize::try_from(self.offset).ok()?;
        let end = start.checked_add(usize::try_from(self.size).ok()?)?;
        file.get(start..end)
    }

    /// Gives the part of the section that is in the file.
    pub fn clipped<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        let length = file.len() as u64;
        let start = self.offset.min(length);
        let end = self.offset.saturating_add(self.size).min(length);
        &file[start as usize..end as usize]
    }
}

/// What the header says.
#[derive(Clone, Debug)]
pub struct Header {
    /// Byte order of every number in the file.
    pub order: ByteOrder,
    /// The sections of file mode. `None` in pipe mode: records follow from byte `PIPE_HEADER_BYTES` on.
    pub sections: Option<FileSections>,
}

/// The sections of file mode.
#[derive(Clone, Debug)]
pub struct FileSections {
    /// Bytes of one entry of `attrs`: the attribute and the section of its ids.
    pub attr_entry_bytes: u64,
    /// The attributes.
    pub attrs: Section,
    /// The records. The size is 0 if perf was killed before it wrote the size.
    pub data: Section,
    /// The features that the file has, as bit numbers in ascending order.
    pub features: Vec<u32>,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HeaderError {
    /// The file begins with another magic.
    #[error("not a perf.data: the first bytes are not PERFILE2")]
    Magic,
    /// The file is shorter than a header.
    #[error("the perf.data ends inside its header: {have} bytes of {need}")]
    Short {
        /// Bytes in the file.
        have: usize,
        /// Bytes of a header.
        need: usize,
    },
    /// The file has version 1, of 2009 to 2012.
    #[error("a perf.data of version 1 (PERFFILE, before Linux 3.3) cannot be read")]
    Version1,
    /// This machine has no room for the decompressed records of the file.
    #[error("decompressed records cannot be kept: {0}")]
    NoRoom(std::io::ErrorKind),
}

/// Reads the header of both modes and byte orders.
pub fn parse(file: &[u8]) -> Result<Header, HeaderError> {
    let order = match file.get(..8) {
        Some(b"PERFILE2") => ByteOrder::Little,
        Some(b"2ELIFREP") => ByteOrder::Big,
        Some(b"PERFFILE") => return Err(HeaderError::Version1),
        _ => return Err(HeaderError::Magic),
    };
    let short = |need| HeaderError::Short { have: file.len(), need };
    let size = order.u64(file, 8).ok_or(short(16))?;
    if size == PIPE_HEADER_BYTES {
        return Ok(Header { order, sections: None });
    }
    let sections = file_sections(file, order, size).ok_or(short(FILE_HEADER_BYTES))?;
    Ok(Header { order, sections: Some(sections) })
}

fn file_sections(file: &[u8], order: ByteOrder, header_bytes: u64) -> Option<FileSections> {
    let mut cursor = Cursor::new(file.get(16..)?, order);
    let attr_entry_bytes = cursor.u64()?;
    let mut section = || -> Option<Section> { Some(Section { offset: cursor.u64()?, size: cursor.u64()? }) };
    let attrs = section()?;
    let data = section()?;
    let _event_types = section()?;
    let mut features = Vec::new();
    // Headers older than the feature bitmap are 72 bytes.
    if header_bytes > 72 {
        let words = [cursor.u64()?, cursor.u64()?, cursor.u64()?, cursor.u64()?];
        features = feature_bits(words, order);
    }
    Some(FileSections { attr_entry_bytes, attrs, data, features })
}

/// Finds the features of a file without the list behind the records: their numbers and the offset of their list.
/// perfcase-helper also writes the list before the records, with its bitmap and `PERFCASE`.
pub fn features_before(file: &[u8], data: &Section, order: ByteOrder) -> Option<(Vec<u32>, u64)> {
    const MARK: &[u8] = b"PERFCASE";
    let end = usize::try_from(data.offset).ok()?;
    let mark_at = end.checked_sub(MARK.len())?;
    if file.get(mark_at..end)? != MARK {
        return None;
    }
    let bits_at = mark_at.checked_sub(8)?;
    let features = feature_bits([order.u64(file, bits_at)?, 0, 0, 0], order);
    let list_at = bits_at.checked_sub(features.len() * 16)?;
    Some((features, list_at as u64))
}

/// Puts the bitmap in order. It is an array of `unsigned long`: big-endian 32-bit recorders wrote the halves of each
/// u64 in reverse order. Every perf sets HOSTNAME (3), which shows the order.
fn feature_bits(mut words: [u64; 4], order: ByteOrder) -> Vec<u32> {
    const HOSTNAME: u64 = 1 << 3;
    if order == ByteOrder::Big && words[0] & HOSTNAME == 0 {
        let swapped = words.map(|word| word.rotate_left(32));
        if swapped[0] & HOSTNAME != 0 {
            words = swapped;
        }
    }
    (0..256).filter(|bit| words[(bit / 64) as usize] >> (bit % 64) & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_header(big: bool, feature_word: u64) -> Vec<u8> {
        let words = [104, 144, 104, 144, 248, 1000, 0, 0, feature_word, 0, 0, 0];
        let mut bytes = if big { b"2ELIFREP" } else { b"PERFILE2" }.to_vec();
        for word in words {
            let word: u64 = word;
            bytes.extend(if big { word.to_be_bytes() } else { word.to_le_bytes() });
        }
        bytes
    }

    #[test]
    fn both_orders_give_the_same_sections() {
        for big in [false, true] {
            let header = parse(&file_header(big, 1 << 3 | 1 << 12)).unwrap();
            let sections = header.sections.unwrap();
            assert_eq!(sections.attr_entry_bytes, 144);
            assert_eq!(sections.attrs, Section { offset: 104, size: 144 });
            assert_eq!(sections.data, Section { offset: 248, size: 1000 });
            assert_eq!(sections.features, [3, 12]);
        }
        let halves = parse(&file_header(true, (1 << 3 | 1 << 12) << 32)).unwrap();
        assert_eq!(halves.sections.unwrap().features, [3, 12]);
    }

    #[test]
    fn a_list_of_features_before_the_records() {
        let list: Vec<u8> = [500u64, 10, 510, 20, 1 << 3 | 1 << 12].into_iter().flat_map(u64::to_le_bytes).collect();
        let whole = [&[0; 24][..], &list, b"PERFCASE", &[1; 50]].concat();
        let before = |file: &[u8], offset| features_before(file, &Section { offset, size: 0 }, ByteOrder::Little);
        assert_eq!(before(&whole, 72), Some((vec![3, 12], 24)));
        assert_eq!(before(&whole, 73), None);
        assert_eq!(before(&whole, u64::MAX), None);
        for cut in [0, 7, 8, 15, 16, 40] {
            assert_eq!(before(&whole[72 - cut..], cut as u64), None, "{cut}");
        }
    }

    #[test]
    fn pipe_short_and_foreign() {
        let mut pipe = b"PERFILE2".to_vec();
        pipe.extend(16u64.to_le_bytes());
        assert!(parse(&pipe).unwrap().sections.is_none());
        assert_eq!(parse(&pipe[..12]).unwrap_err(), HeaderError::Short { have: 12, need: 16 });
        assert_eq!(parse(b"\x7fELF....").unwrap_err(), HeaderError::Magic);
        assert_eq!(parse(b"PERFFILE").unwrap_err(), HeaderError::Version1);
    }
}
