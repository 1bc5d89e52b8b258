//! Keeps decompressed records until they are decoded in the order of time: in memory while they are few, else in a
//! temporary file without a name that is mapped into memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use memmap2::{Mmap, UncheckedAdvice};

/// Bytes kept in memory before the arena becomes a file.
const MEMORY_BYTES: usize = 32 << 20;

/// Bytes that first grow and are then read in any order.
pub struct Arena {
    store: Store,
    length: u64,
}

enum Store {
    Memory(Vec<u8>),
    Writing(BufWriter<File>),
    Mapped(Mmap),
}

impl Default for Arena {
    fn default() -> Self {
        Arena { store: Store::Memory(Vec::new()), length: 0 }
    }
}

impl Arena {
    /// Gives the number of bytes.
    #[inline]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Tells whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends bytes. Fails when the disk for temporary files is full.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Store::Memory(held) = &mut self.store
            && held.len() + bytes.len() > MEMORY_BYTES
        {
            let mut file = BufWriter::with_capacity(1 << 20, tempfile::tempfile()?);
            file.write_all(held)?;
            self.store = Store::Writing(file);
        }
        match &mut self.store {
            Store::Memory(held) => held.extend_from_slice(bytes),
            Store::Writing(file) => file.write_all(bytes)?,
            Store::Mapped(_) => return Err(io::Error::other("the arena is closed")),
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Ends the appending: from now on `bytes` gives everything.
    pub fn close(&mut self) -> io::Result<()> {
        if let Store::Writing(file) = &mut self.store {
            file.flush()?;
            // SAFETY: the file has no name and nobody else has it open, so nothing changes it under the mapping.
            let map = unsafe { Mmap::map(file.get_ref())? };
            self.store = Store::Mapped(map);
        }
        Ok(())
    }

    /// Frees the memory of the bytes before `end`, which are not needed soon. They can still be read.
    pub fn release(&self, end: u64) {
        if let Store::Mapped(map) = &self.store {
            let length = usize::try_from(end).unwrap_or(usize::MAX).min(map.len());
            // SAFETY: the mapping is of a file and only read, so dropped pages come back from the file unchanged.
            let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, 0, length) };
        }
    }

    /// Gives all bytes; none while the arena is written to a file.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.store {
            Store::Memory(held) => held,
            Store::Mapped(map) => map,
            Store::Writing(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_read_back() {
        for chunks in [3usize, 40] {
            let mut arena = Arena::default();
            for number in 0..chunks {
                arena.append(&vec![number as u8; 1 << 20]).unwrap();
            }
            arena.close().unwrap();
            arena.release(u64::MAX);
            assert_eq!(arena.len(), (chunks as u64) << 20);
            assert_eq!(arena.bytes()[(chunks - 1) << 20], (chunks - 1) as u8);
        }
    }
}
