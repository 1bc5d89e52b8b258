//! Reads integers of both byte orders from untrusted bytes. Every access is checked.

use std::fmt;

/// The byte order of the machine that recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first (x86, arm64).
    Little,
    /// Most significant byte first (s390x, some powerpc).
    Big,
}

impl ByteOrder {
    /// Gives the u16 at `at`; `None` when it does not fit.
    #[inline]
    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(match self {
            ByteOrder::Little => u16::from_le_bytes(raw),
            ByteOrder::Big => u16::from_be_bytes(raw),
        })
    }

    /// Gives the u32 at `at`; `None` when it does not fit.
    #[inline]
    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self {
            ByteOrder::Little => u32::from_le_bytes(raw),
            ByteOrder::Big => u32::from_be_bytes(raw),
        })
    }

    /// Gives the u64 at `at`; `None` when it does not fit.
    #[inline]
    pub fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let raw: [u8; 8] = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
        Some(match self {
            ByteOrder::Little => u64::from_le_bytes(raw),
            ByteOrder::Big => u64::from_be_bytes(raw),
        })
    }
}

/// A position in bytes that moves as fields are read. Every read past the end is `None`.
#[derive(Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    order: ByteOrder,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    #[inline]
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Cursor { bytes, at: 0, order }
    }

    /// Gives the number of bytes read so far.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Gives the byte order of the reads.
    #[inline]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Sets the byte order of the following reads.
    #[inline]
    pub fn set_order(&mut self, order: ByteOrder) {
        self.order = order;
    }

    /// Gives the number of bytes that are not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    /// Reads the next byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        let value = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(value)
    }

    /// Reads the next two bytes as a number.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        let value = self.order.u16(self.bytes, self.at)?;
        self.at += 2;
        Some(value)
    }

    /// Reads the next four bytes as a number.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        let value = self.order.u32(self.bytes, self.at)?;
        self.at += 4;
        Some(value)
    }

    /// Reads the next four bytes as a signed number.
    #[inline]
    pub fn i32(&mut self) -> Option<i32> {
        Some(self.u32()? as i32)
    }

    /// Reads the next eight bytes as a number.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        let value = self.order.u64(self.bytes, self.at)?;
        self.at += 8;
        Some(value)
    }

    /// Reads the next `length` bytes. The length may come from the input.
    #[inline]
    pub fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let end = self.at.checked_add(length)?;
        let slice = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(slice)
    }

    /// Reads the next `count` numbers of eight bytes, without a copy.
    #[inline]
    pub fn u64s(&mut self, count: u64) -> Option<U64s<'a>> {
        let bytes = self.take(count.checked_mul(8)?)?;
        Some(U64s::new(bytes, self.order))
    }

    /// Reads a text up to a NUL, the NUL, and what pads them to a multiple of 8 bytes. Without a NUL it reads
    /// everything.
    #[inline]
    pub fn padded_string(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let text = until_nul(rest);
        self.at = (self.at + text.len() + 1).next_multiple_of(8).min(self.bytes.len());
        text
    }

    /// Reads a text up to a NUL, and the NUL; `None` without a NUL.
    #[inline]
    pub fn c_string(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest();
        let end = rest.iter().position(|&byte| byte == 0)?;
        self.at += end + 1;
        Some(&rest[..end])
    }
}

/// Gives the text of a fixed field: up to the first NUL, or all of it.
#[inline]
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

/// Numbers of eight bytes in the file's bytes and byte order, without a copy.
#[derive(Clone, Copy)]
pub struct U64s<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> U64s<'a> {
    /// Takes `bytes` as numbers. A rest of less than eight bytes is left out.
    #[inline]
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        U64s { bytes, order }
    }

    /// Gives the bytes.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Gives the number of numbers.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / 8
    }

    /// Tells whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives the number at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        self.order.u64(self.bytes, index.checked_mul(8)?)
    }

    /// Replaces the content of `buffer` by the numbers.
    #[inline]
    pub fn copy_to(self, buffer: &mut Vec<u64>) {
        buffer.clear();
        let (chunks, _) = self.bytes.as_chunks::<8>();
        // The byte order is checked once, so that each loop is a plain copy.
        match self.order {
            ByteOrder::Little => buffer.extend(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk))),
            ByteOrder::Big => buffer.extend(chunks.iter().map(|chunk| u64::from_be_bytes(*chunk))),
        }
    }

    /// Gives the numbers in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = u64> + 'a {
        let order = self.order;
        self.bytes.chunks_exact(8).map(move |chunk| {
            let raw: [u8; 8] = chunk.try_into().unwrap_or_default();
            match order {
                ByteOrder::Little => u64::from_le_bytes(raw),
                ByteOrder::Big => u64::from_be_bytes(raw),
            }
        })
    }
}

impl fmt::Debug for U64s<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for U64s<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_orders_and_stops_at_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(ByteOrder::Little.u64(&bytes, 0), Some(0x0807_0605_0403_0201));
        assert_eq!(ByteOrder::Big.u32(&bytes, 5), Some(0x0607_0809));
        assert_eq!(ByteOrder::Big.u32(&bytes, 6), None);
        assert_eq!(ByteOrder::Little.u64(&bytes, usize::MAX), None);
        let mut cursor = Cursor::new(&bytes, ByteOrder::Little);
        assert_eq!(cursor.take(u64::MAX), None);
        assert_eq!(cursor.u64s(u64::MAX / 4), None);
        assert_eq!(cursor.u16(), Some(0x0201));
        assert_eq!(cursor.at(), 2);
    }
}
