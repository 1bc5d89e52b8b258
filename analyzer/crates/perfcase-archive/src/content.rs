//! The bytes of a member.

use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::{Mmap, UncheckedAdvice};

use crate::issue::Issue;

/// The decompressed bytes of a member. Large ones are mapped, and a clone is cheap. The file behind a mapping must not
/// be truncated while it is read (the same holds for every tool that maps files).
#[derive(Clone)]
pub struct Content {
    bytes: Backing,
    range: Range<usize>,
    problems: Arc<[Issue]>,
}

#[derive(Clone)]
pub(crate) enum Backing {
    Mapped(Arc<Mmap>),
    Owned(Arc<Vec<u8>>),
}

impl Backing {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Backing::Mapped(map) => map,
            Backing::Owned(bytes) => bytes,
        }
    }
}

impl Content {
    /// Takes bytes in memory, as the tests of decoders need them.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Content::new(Backing::Owned(Arc::new(bytes.into())))
    }

    /// Maps a regular file as it is. Only the parts that are used are read.
    ///
    /// # Errors
    /// The error of the system; `InvalidInput` for anything but a regular file (a FIFO would never end).
    pub fn map_file(path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = std::fs::File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Content::from_bytes(Vec::new()));
        }
        // SAFETY: the mapping is read-only; that a file may be truncated under it is documented above.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(Content::new(Backing::Mapped(Arc::new(map))))
    }

    pub(crate) fn new(bytes: Backing) -> Self {
        let range = 0..bytes.bytes().len();
        Content { bytes, range, problems: Arc::from([]) }
    }

    /// Gives a part of the content, which shares its bytes. The range is clamped to the existing bytes.
    pub fn slice(&self, range: Range<usize>) -> Self {
        let start = range.start.min(self.len());
        let end = range.end.clamp(start, self.len());
        Content {
            bytes: self.bytes.clone(),
            range: self.range.start + start..self.range.start + end,
            problems: self.problems.clone(),
        }
    }

    /// Says that the bytes before `end` are not needed soon, so those of a mapped file need not stay in memory. They
    /// can still be read.
    pub fn release(&self, end: usize) {
        if let Backing::Mapped(map) = &self.bytes {
            let length = end.min(self.len());
            // SAFETY: the mapping is of a file and only read, so dropped pages come back from the file unchanged.
            let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, self.range.start, length) };
        }
    }

    pub(crate) fn with_problems(mut self, problems: Vec<Issue>) -> Self {
        self.problems = problems.into();
        self
    }

    /// Gives the problems that reading it found: a checksum that differs, a stream that ends early.
    pub fn problems(&self) -> &[Issue] {
        &self.problems
    }
}

impl Deref for Content {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes.bytes()[self.range.clone()]
    }
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Content({} bytes)", self.len())
    }
}
