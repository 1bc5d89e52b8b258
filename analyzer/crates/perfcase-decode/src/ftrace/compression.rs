//! The compression of a trace.dat: named in its header, used for sections and for chunks of pages.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use perfcase_archive::Issue;

/// The bytes that all parts of a small file may take in memory together. A chunk of trace-cmd has 10 pages, and each
/// CPU has one chunk unpacked; kallsyms take about 20 MB.
const LEAST_ROOM_BYTES: usize = 256 << 20;
/// The further bytes for each byte of the file: pages compress to about a sixth.
const ROOM_PER_BYTE: usize = 16;

/// The memory that all parts of one file may take together: many small parts count as one large part.
#[derive(Debug, Clone)]
pub struct Room {
    left: Arc<AtomicUsize>,
    whole: usize,
}

impl Room {
    /// Gives the memory for a file of so many bytes.
    pub fn of_file(bytes: usize) -> Room {
        let whole = bytes.saturating_mul(ROOM_PER_BYTE).saturating_add(LEAST_ROOM_BYTES);
        Room { left: Arc::new(AtomicUsize::new(whole)), whole }
    }

    /// Takes bytes from the room; false where fewer are left.
    pub fn take(&self, bytes: usize) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    /// Gives bytes back to the room.
    pub fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Why a compressed part is not there, or not as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It is damaged; how.
    Damaged(String),
    /// It would take more memory than the file's parts may have together; how much that is.
    TooLarge(String),
}

impl Failure {
    /// Gives the issue for it, without a place. `part` says which part it is, if that is not clear from its place.
    pub fn issue(self, part: &str) -> Issue {
        match self {
            Failure::Damaged(what) => Issue::error("corrupt", format!("{part}{what}")),
            Failure::TooLarge(what) => Issue::error("compression_limit", format!("{part}{what}")).hint(HINT_TOO_LARGE),
        }
    }
}

const HINT_TOO_LARGE: &str =
    "if the file is whole, trace-cmd unpacks it: trace-cmd convert --compression none -i FILE -o PLAIN";

/// The compression of a file's compressed parts.
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
    /// Gives the compression by its name in the file's header; `None` for an unknown name.
    pub fn from_name(name: &str) -> Option<Compression> {
        match name {
            "none" | "" => Some(Compression::None),
            "zstd" => Some(Compression::Zstd),
            "zlib" => Some(Compression::Zlib),
            _ => None,
        }
    }

    /// Unpacks the bytes before a damage, and names the damage. Memory grows with the unpacked bytes, which are taken
    /// from `room`, and not with the `claimed` size.
    pub fn unpack(self, packed: &[u8], claimed: usize, room: &Room) -> (Vec<u8>, Option<Failure>) {
        if !room.take(claimed) {
            let what = format!("with the file's other parts more than the bound of {} bytes", room.whole);
            let claim = format!("compressed data are not read: they claim to unpack to {claimed} bytes, {what}");
            return (Vec::new(), Some(Failure::TooLarge(claim)));
        }
        let mut bytes = Vec::new();
        let result = match self {
            Compression::None => Ok(()).inspect(|()| bytes.extend_from_slice(packed)),
            Compression::Zstd => zstd::stream::read::Decoder::with_buffer(packed)
                .and_then(|reader| read_at_most(reader, claimed, &mut bytes)),
            Compression::Zlib => read_at_most(flate2::bufread::ZlibDecoder::new(packed), claimed, &mut bytes),
        };
        room.give_back(claimed.saturating_sub(bytes.len()));
        let damage = match result {
            Err(error) => {
                Some(format!("compressed data are damaged ({error}); {} bytes of {claimed} kept", bytes.len()))
            }
            Ok(()) if bytes.len() != claimed => {
                Some(format!("compressed data unpack to {} bytes, not to {claimed}", bytes.len()))
            }
            Ok(()) => None,
        };
        (bytes, damage.map(Failure::Damaged))
    }
}

/// Reads one byte more than the limit: then data that are longer than claimed are found, and the checksum at the end is
/// read.
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
            let issue = error.map(|error| error.issue("")).unwrap();
            assert!(issue.kind == "corrupt" && plain.starts_with(&kept), "{name}");
            let issue = compression.unpack(&stored, LEAST_ROOM_BYTES + 1, &room).1.unwrap().issue("section 19: ");
            assert_eq!(
                (issue.kind, issue.message.as_str()),
                (
                    "compression_limit",
                    "section 19: compressed data are not read: they claim to unpack to 268435457 bytes, with the file's other \
                     parts more than the bound of 268435456 bytes"
                ),
                "{name}"
            );
            assert!(issue.hint.is_some_and(|hint| hint.contains("trace-cmd convert")), "{name}");
            // Bytes that are not given back are lost.
            assert!(room.take(LEAST_ROOM_BYTES - plain.len() - kept.len()) && !room.take(1), "{name}");
        }
        assert_eq!(Compression::from_name("lz4"), None);
    }
}
