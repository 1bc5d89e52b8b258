//! A reader over bytes that never reads past the end and says where it stopped.

use perfcase_archive::Issue;

/// Reads numbers and strings of a file in the file's byte order.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    position: usize,
    /// File offset of `data[0]`, for messages.
    base: u64,
    pub(crate) big_endian: bool,
}

impl<'a> Cursor<'a> {
    /// `base` is where `data` begins in the file; for decompressed data, where the compressed bytes begin.
    pub(crate) fn new(data: &'a [u8], base: u64, big_endian: bool) -> Cursor<'a> {
        Cursor { data, position: 0, base, big_endian }
    }

    /// Moves to `position`, counted from the start of `data`.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), Issue> {
        match usize::try_from(position) {
            Ok(position) if position <= self.data.len() => {
                self.position = position;
                Ok(())
            }
            _ => {
                let end = self.data.len();
                let message = format!("an offset points to {position}, behind the end at {end}");
                Err(Issue::error("truncated", message).at(self.base + end as u64))
            }
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Offset in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.position as u64
    }

    pub(crate) fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    pub(crate) fn bytes(&mut self, count: u64, what: &str) -> Result<&'a [u8], Issue> {
        match usize::try_from(count) {
            Ok(count) if count <= self.remaining() => {
                let bytes = &self.data[self.position..self.position + count];
                self.position += count;
                Ok(bytes)
            }
            _ => {
                let message = format!("{what} should have {count} bytes, {} are left", self.remaining());
                Err(Issue::error("truncated", message).at(self.offset()))
            }
        }
    }

    pub(crate) fn u8(&mut self, what: &str) -> Result<u8, Issue> {
        Ok(self.bytes(1, what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &str) -> Result<u16, Issue> {
        let mut raw = [0; 2];
        raw.copy_from_slice(self.bytes(2, what)?);
        Ok(if self.big_endian { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) })
    }

    pub(crate) fn u32(&mut self, what: &str) -> Result<u32, Issue> {
        let mut raw = [0; 4];
        raw.copy_from_slice(self.bytes(4, what)?);
        Ok(if self.big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    }

    pub(crate) fn u64(&mut self, what: &str) -> Result<u64, Issue> {
        let mut raw = [0; 8];
        raw.copy_from_slice(self.bytes(8, what)?);
        Ok(if self.big_endian { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) })
    }

    /// A NUL-terminated string of at most `limit` bytes.
    pub(crate) fn string(&mut self, limit: usize, what: &str) -> Result<String, Issue> {
        let window = &self.data[self.position..self.position + self.remaining().min(limit + 1)];
        let Some(length) = window.iter().position(|b| *b == 0) else {
            return Err(Issue::error("truncated", format!("{what} does not end")).at(self.offset()));
        };
        self.position += length + 1;
        Ok(String::from_utf8_lossy(&window[..length]).into_owned())
    }

    /// The exact bytes `expected`, or damage.
    pub(crate) fn expect(&mut self, expected: &[u8], what: &str) -> Result<(), Issue> {
        let at = self.offset();
        if self.bytes(expected.len() as u64, what)? == expected {
            Ok(())
        } else {
            Err(Issue::error("corrupt", format!("{what} is missing")).at(at))
        }
    }
}
