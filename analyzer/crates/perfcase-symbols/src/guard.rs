//! A reader of debug information. It stops before the stack is used up, and before it has read the same bytes too
//! often.
//!
//! addr2line calls itself once for each level of inlined functions, and a small file can have any number of levels. Any
//! number of functions can share one list of ranges or one string, which is read for each of them. Information beyond
//! the bounds counts as damaged, like information that ends early.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use addr2line::gimli::{self, Reader, ReaderOffsetId, Result, RunTimeEndian};

/// The stack for one look-up, in bytes. Threads have 2 MiB. 60 levels, more than any compiler makes, take about 50 KiB.
const MOST_STACK_BYTES: usize = 512 << 10;
/// The bound of reads for each byte, on average. To name every address of libpython or of a Go server reads half of the
/// bytes once.
const MOST_READS: u64 = 16;
/// The bytes that may always be read, even if an object is small.
const LEAST_READ_BYTES: u64 = 16 << 20;

/// The stack and the bytes that look-ups in one object may use.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// The lowest address that the stack may reach. Stacks grow downwards on every machine that Linux runs on.
    floor: AtomicUsize,
    /// The bytes that may still be read.
    left: AtomicU64,
}

impl Guard {
    /// Begins look-ups from here on the stack, in sections of so many bytes.
    pub(crate) fn start(&self, section_bytes: u64) {
        self.floor.store(stack_address().saturating_sub(MOST_STACK_BYTES), Relaxed);
        self.left.store(section_bytes.saturating_mul(MOST_READS).saturating_add(LEAST_READ_BYTES), Relaxed);
    }

    #[inline]
    fn read(&self, count: usize) -> Result<()> {
        // Only one thread reads. The numbers are atomic because gimli shares its readers in an Arc.
        let left = self.left.load(Relaxed).checked_sub(count as u64).ok_or(gimli::Error::TooManyIterations)?;
        self.left.store(left, Relaxed);
        Ok(())
    }
}

#[inline(always)]
fn stack_address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// The bytes of a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guarded<'s> {
    bytes: gimli::EndianSlice<'s, RunTimeEndian>,
    guard: &'s Guard,
}

impl<'s> Guarded<'s> {
    pub(crate) fn new(bytes: &'s [u8], endian: RunTimeEndian, guard: &'s Guard) -> Guarded<'s> {
        Guarded { bytes: gimli::EndianSlice::new(bytes, endian), guard }
    }
}

impl Reader for Guarded<'_> {
    type Endian = RunTimeEndian;
    type Offset = usize;

    /// Each entry begins with a number of this kind, so every deeper level comes here.
    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        if stack_address() < self.guard.floor.load(Relaxed) {
            return Err(gimli::Error::TooManyIterations);
        }
        self.guard.read(1)?;
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
        let found = Reader::find(&self.bytes, byte)?;
        self.guard.read(found)?;
        Ok(found)
    }

    #[inline]
    fn skip(&mut self, len: usize) -> Result<()> {
        self.bytes.skip(len)
    }

    #[inline]
    fn split(&mut self, len: usize) -> Result<Self> {
        Ok(Guarded { bytes: self.bytes.split(len)?, guard: self.guard })
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
        self.guard.read(buffer.len())?;
        Reader::read_slice(&mut self.bytes, buffer)
    }

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.guard.read(1)?;
        self.bytes.read_u8()
    }
}
