//! The compression of a trace.dat: named in its header, used for sections and for chunks of pages.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that the parts of a small file may take in memory, all together. trace-cmd's chunks are 10 pages, of which each
/// CPU has one unpacked; kallsyms are some 20 MB.
const LEAST_ROOM_BYTES: usize = 256 << 20;
/// Bytes more for each byte of the file: pages compress to a sixth or so.
const ROOM_PER_BYTE: usize = 16;

/// The memory that what is read of one file may take: the sum counts, for a part may be small and many.
#[derive(Debug, Clone)]
pub struct Room(Arc<AtomicUsize>);

impl Room {
    /// What a file of so many bytes may take.
    pub fn of_file(bytes: usize) -> Room {
        Room(Arc::new(AtomicUsize::new(bytes.saturating_mul(ROOM_PER_BYTE).saturating_add(LEAST_ROOM_BYTES))))
    }

    /// Takes so many bytes; false where there are fewer left.
    pub fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    /// Gives bytes back that are free again.
    pub fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// How the compressed parts of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Zstandard frames.
    Zstd,
    /// zlib streams (RFC 1950).
    Zlib,
}

impl Compression {
    /// The name as the file's header gives it; None for one that is not known.
    pub fn from_name(name: &str) -> Option<Compression> {
        match name {
            "none" | "" => Some(Compression::None),
            "zstd" => Some(Compression::Zstd),
            "zlib" => Some(Compression::Zlib),
            _ => None,
        }
    }

    /// Unpacks what it can: the bytes before the damage, and what the damage is. Memory grows with what comes out, not
    /// with what `claimed` says. What comes out is taken from `room`.
    pub fn unpack(self, packed: &[u8], claimed: usize, room: &Room) -> (Vec<u8>, Option<String>) {
        if !room.take(claimed) {
            let what = "together with the file's other parts over the limit of memory";
            return (Vec::new(), Some(format!("compressed data claim to unpack to {claimed} bytes: {what}")));
        }
        let mut bytes = Vec::new();
        let result = match self {
            Compression::None => Ok(()).inspect(|()| bytes.extend_from_slice(packed)),
            Compression::Zstd => zstd::stream::read::Decoder::with_buffer(packed)
                .and_then(|reader| read_at_most(reader, claimed, &mut bytes)),
            Compression::Zlib => read_at_most(flate2::bufread::ZlibDecoder::new(packed), claimed, &mut bytes),
        };
        room.give_back(claimed.saturating_sub(bytes.len()));
        let error = match result {
            Err(error) => {
                Some(format!("compressed data are damaged ({error}); {} bytes of {claimed} kept", bytes.len()))
            }
            Ok(()) if bytes.len() != claimed => {
                Some(format!("compressed data unpack to {} bytes, not to {claimed}", bytes.len()))
            }
            Ok(()) => None,
        };
        (bytes, error)
    }
}

/// One byte more than the limit, so that data that are longer than claimed show, and a checksum at the end is read.
fn read_at_most(reader: impl Read, limit: usize, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    reader.take(limit as u64 + 1).read_to_end(bytes).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(compression: Compression, plain: &[u8]) -> Vec<u8> {
        match compression {
            Compression::None => plain.to_vec(),
            Compression::Zstd => zstd::encode_all(plain, 3).unwrap(),
            Compression::Zlib => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(plain).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    #[test]
    fn each_kind_unpacks_and_says_when_it_cannot() {
        let plain: Vec<u8> = (0..40_960_u32).map(|i| (i % 251) as u8).collect();
        for name in ["none", "zstd", "zlib"] {
            let compression = Compression::from_name(name).unwrap();
            let stored = packed(compression, &plain);
            let room = Room::of_file(0);
            assert_eq!(compression.unpack(&stored, plain.len(), &room), (plain.clone(), None), "{name}");
            let (kept, error) = compression.unpack(&stored[..stored.len() - 1], plain.len(), &room);
            assert!(error.is_some() && plain.starts_with(&kept), "{name}");
            assert!(compression.unpack(&stored, LEAST_ROOM_BYTES + 1, &room).1.is_some(), "{name}");
            // What is not given back is gone.
            assert!(room.take(LEAST_ROOM_BYTES - plain.len() - kept.len()) && !room.take(1), "{name}");
        }
        assert_eq!(Compression::from_name("lz4"), None);
    }
}
