//! Rows that wait in a file.

use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write as _};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

/// The most rows in memory before they move to a file: 4 to 10 MiB.
pub(crate) const BLOCK: usize = 1 << 17;

/// The rows that are written or read at once: their bytes fit into the caches of a CPU.
const PIECE: usize = 1 << 11;

/// A row that can wait in a file.
pub(super) trait Stored: Sized {
    /// Its size there, in bytes.
    const BYTES: usize;

    fn put(&self, bytes: &mut [u8]);

    /// Reads what `put` wrote; `None` where the bytes are others.
    fn of(bytes: &[u8]) -> Option<Self>;
}

/// Rows that wait in a file, because only the end shows what becomes of them. The file has no name, and is gone when
/// this process ends.
pub(super) struct Aside<T> {
    file: Option<File>,
    /// The number of rows in each block.
    counts: Vec<usize>,
    kind: PhantomData<T>,
}

impl<T> Default for Aside<T> {
    fn default() -> Self {
        Aside { file: None, counts: Vec::new(), kind: PhantomData }
    }
}

impl<T: Stored> Aside<T> {
    /// Adds a block. The first block makes the file in `folder`.
    pub(super) fn push(&mut self, folder: &Path, rows: &[T]) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(folder)?),
        };
        let mut bytes = vec![0; rows.len().min(PIECE) * T::BYTES];
        for piece in rows.chunks(PIECE) {
            let bytes = &mut bytes[..piece.len() * T::BYTES];
            bytes.chunks_exact_mut(T::BYTES).zip(piece).for_each(|(place, row)| row.put(place));
            file.write_all(bytes)?;
        }
        self.counts.push(rows.len());
        Ok(())
    }

    /// Gives the blocks, in the order in which they came.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Result<Vec<T>>> {
        self.places().map(|(at, count)| block(self.file.as_ref(), at, count))
    }

    /// Gives the same blocks, for the last time.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Result<Vec<T>>> {
        self.into_reads().map(|read| read())
    }

    /// Gives what reads the same blocks, on any thread.
    pub(super) fn into_reads(mut self) -> impl Iterator<Item = impl FnOnce() -> Result<Vec<T>> + Send + use<T>> {
        let file = self.file.take().map(Arc::new);
        let places: Vec<(u64, usize)> = self.places().collect();
        places.into_iter().map(move |(at, count)| {
            let file = file.clone();
            move || block(file.as_deref(), at, count)
        })
    }

    /// Gives the place of each block in the file, and its number of rows.
    fn places(&self) -> impl Iterator<Item = (u64, usize)> {
        self.counts.iter().scan(0, |end, &count| {
            let at = *end;
            *end += (count * T::BYTES) as u64;
            Some((at, count))
        })
    }
}

fn block<T: Stored>(file: Option<&File>, mut at: u64, count: usize) -> Result<Vec<T>> {
    let damaged = || Error::new(ErrorKind::InvalidData, "rows that were put aside are damaged");
    let mut rows = Vec::with_capacity(count);
    let mut bytes = vec![0; count.min(PIECE) * T::BYTES];
    while rows.len() < count {
        let bytes = &mut bytes[..(count - rows.len()).min(PIECE) * T::BYTES];
        file.map_or(Ok(()), |file| file.read_exact_at(bytes, at))?;
        at += bytes.len() as u64;
        for row in bytes.chunks_exact(T::BYTES) {
            rows.push(T::of(row).ok_or_else(damaged)?);
        }
    }
    Ok(rows)
}
