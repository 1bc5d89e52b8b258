//! A reader of debug information that stops before the stack is used up.
//!
//! addr2line calls itself once for each level of inlined functions, and a small file can have any number of levels. A
//! function that is nested deeper than the stack allows is damaged, like one that ends early.

use std::borrow::Cow;

use addr2line::gimli::{self, Reader, ReaderOffsetId, Result, RunTimeEndian};

/// Stack for one look-up. Threads have 2 MiB; 60 levels, more than any compiler makes, take some 50 KiB.
const MOST_STACK_BYTES: usize = 512 << 10;

/// The lowest address that the stack may reach: stacks grow downwards on every machine that Linux runs on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Floor(usize);

impl Floor {
    /// That of a look-up that is made from here.
    pub(crate) fn from_here() -> Floor {
        Floor(stack_address().saturating_sub(MOST_STACK_BYTES))
    }
}

#[inline(always)]
fn stack_address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// Bytes of a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guarded<'s> {
    bytes: gimli::EndianSlice<'s, RunTimeEndian>,
    floor: Floor,
}

impl<'s> Guarded<'s> {
    pub(crate) fn new(bytes: &'s [u8], endian: RunTimeEndian, floor: Floor) -> Guarded<'s> {
        Guarded { bytes: gimli::EndianSlice::new(bytes, endian), floor }
    }
}

impl Reader for Guarded<'_> {
    type Endian = RunTimeEndian;
    type Offset = usize;

    /// Each entry begins with a number of this kind: who reads one level deeper comes here.
    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        if stack_address() < self.floor.0 {
            return Err(gimli::Error::TooManyIterations);
        }
        self.bytes.read_uleb128()
    }

    #[inline]
    fn endian(&self) -> RunTimeEndian {
        self.bytes.endian()
    }

    #[inline]
    fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[inline]
    fn empty(&mut self) {
        self.bytes.empty();
    }

    #[inline]
    fn truncate(&mut self, len: usize) -> Result<()> {
        self.bytes.truncate(len)
    }

    #[inline]
    fn offset_from(&self, base: &Self) -> usize {
        self.bytes.offset_from(base.bytes)
    }

    #[inline]
    fn offset_id(&self) -> ReaderOffsetId {
        self.bytes.offset_id()
    }

    #[inline]
    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.bytes.lookup_offset_id(id)
    }

    #[inline]
    fn find(&self, byte: u8) -> Result<usize> {
        Reader::find(&self.bytes, byte)
    }

    #[inline]
    fn skip(&mut self, len: usize) -> Result<()> {
        self.bytes.skip(len)
    }

    #[inline]
    fn split(&mut self, len: usize) -> Result<Self> {
        Ok(Guarded { bytes: self.bytes.split(len)?, floor: self.floor })
    }

    #[inline]
    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        self.bytes.to_slice()
    }

    #[inline]
    fn to_string(&self) -> Result<Cow<'_, str>> {
        Reader::to_string(&self.bytes)
    }

    #[inline]
    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        Reader::to_string_lossy(&self.bytes)
    }

    #[inline]
    fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        Reader::read_slice(&mut self.bytes, buffer)
    }

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.bytes.read_u8()
    }
}
