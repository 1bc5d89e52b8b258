//! Decompression within bounds. The bytes before a damage are kept.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;

use memmap2::{Advice, Mmap};

use crate::budget::Budget;
use crate::content::Backing;
use crate::kind::Compression;

/// Output up to this size in bytes stays in memory. Larger output goes to an unlinked file and is mapped.
const IN_MEMORY_BYTES: usize = 1 << 20;
/// Mappings up to this size in bytes are read in at once: they are read from end to end anyway, and fit into any
/// machine's memory.
const PREFAULT_BYTES: usize = 1 << 30;
/// The largest accepted zstd window (2^27 bytes, zstd's own default): the header decides how much memory it takes.
pub(crate) const WINDOW_LOG_MAX: u32 = 27;

/// The output of a compressed stream.
pub(crate) struct Output {
    pub bytes: Backing,
    pub len: u64,
    pub end: End,
}

/// How a stream ended.
pub(crate) enum End {
    Complete,
    /// The stream reached the bound, and had more.
    Limit,
    /// All members together reached their bound, and the stream had more.
    SumLimit,
    /// The stream needs a larger window than is accepted: more memory than its bound.
    Window,
    /// The stream is damaged or cut; why.
    Damaged(String),
}

/// Decompresses `stored` to at most `bytes_max` bytes, and to no more than `budget` has. Errors are those of
/// the temporary file.
pub(crate) fn decompress(
    stored: &[u8],
    compression: Compression,
    bytes_max: u64,
    budget: &Budget,
) -> io::Result<Output> {
    let mut reader = match reader(stored, compression) {
        Ok(reader) => reader,
        Err(error) => return Ok(damaged_at_start(error.to_string())),
    };
    let mut sink = Sink::Memory(Vec::new());
    let mut buffer = vec![0u8; 256 << 10];
    let mut len = 0u64;
    let end = loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break End::Complete,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if is_of_window(&error) => break End::Window,
            Err(error) => break End::Damaged(error.to_string()),
        };
        let wanted = (count as u64).min(bytes_max - len);
        let granted = budget.take(wanted);
        // No more than the buffer has.
        sink.write(&buffer[..granted as usize])?;
        len += granted;
        if granted < wanted {
            break End::SumLimit;
        }
        if wanted < count as u64 {
            break End::Limit;
        }
    };
    Ok(Output { bytes: sink.finish()?, len, end })
}

/// Gives the first decompressed bytes, for sniffing; fewer or none where the stream is damaged.
pub(crate) fn head(stored: &[u8], compression: Compression, count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    if let Ok(reader) = reader(stored, compression) {
        // After an error the bytes before it are there, and no others are needed.
        let _ = reader.take(count as u64).read_to_end(&mut out);
    }
    out
}

/// Tells whether a zstd stream needs a larger window than is accepted.
pub(crate) fn needs_large_window(stored: &[u8]) -> bool {
    reader(stored, Compression::Zstd)
        .is_ok_and(|mut reader| reader.read(&mut [0; 1]).is_err_and(|error| is_of_window(&error)))
}

/// Tells whether zstd refused the window of a frame. Its error has only words, which a test holds.
fn is_of_window(error: &io::Error) -> bool {
    error.to_string().contains("requires too much memory")
}

fn damaged_at_start(why: String) -> Output {
    Output { bytes: Backing::Owned(Arc::new(Vec::new())), len: 0, end: End::Damaged(why) }
}

fn reader<'a>(stored: &'a [u8], compression: Compression) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match compression {
        Compression::None => Box::new(stored),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(stored)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(stored)?;
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
    })
}

enum Sink {
    Memory(Vec<u8>),
    File(File),
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Sink::Memory(held) = self {
            if held.len() + bytes.len() <= IN_MEMORY_BYTES {
                held.extend_from_slice(bytes);
                return Ok(());
            }
            let mut file = tempfile::tempfile()?;
            file.write_all(held)?;
            *self = Sink::File(file);
        }
        match self {
            Sink::File(file) => file.write_all(bytes),
            Sink::Memory(_) => Ok(()),
        }
    }

    fn finish(self) -> io::Result<Backing> {
        match self {
            Sink::Memory(bytes) => Ok(Backing::Owned(Arc::new(bytes))),
            Sink::File(file) => Ok(Backing::Mapped(Arc::new(map(&file)?))),
        }
    }
}

/// Maps a file read-only.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is read-only and is never given out as mutable. If another process truncates the file while
    // it is mapped, SIGBUS ends this process; `Content` documents that.
    let map = unsafe { Mmap::map(file) }?;
    if map.len() <= PREFAULT_BYTES {
        // One call instead of a page fault for every 64 KiB. Kernels before 5.14 cannot do that, and fault as usual.
        let _ = map.advise(Advice::PopulateRead);
    }
    Ok(map)
}

/// Maps a file. An empty file cannot be mapped: its content is no bytes in memory.
pub(crate) fn map_or_empty(file: &File) -> io::Result<Backing> {
    if file.metadata()?.len() == 0 {
        return Ok(Backing::Owned(Arc::new(Vec::new())));
    }
    Ok(Backing::Mapped(Arc::new(map(file)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::describe;

    fn noise(len: usize) -> Vec<u8> {
        let mut x = 1u32;
        (0..len)
            .map(|_| {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (x >> 24) as u8
            })
            .collect()
    }

    #[test]
    fn large_output_is_mapped_and_whole() {
        let plain = noise(3 << 20);
        let stored = zstd::encode_all(&plain[..], 1).unwrap();
        let out = decompress(&stored, Compression::Zstd, 1 << 30, &Budget::new(1 << 30)).unwrap();
        assert!(matches!(out.end, End::Complete));
        assert!(matches!(out.bytes, Backing::Mapped(_)));
        assert_eq!(out.bytes.bytes(), &plain[..]);
    }

    #[test]
    fn a_bomb_stops_at_the_bound() {
        let stored = zstd::encode_all(&vec![0u8; 8 << 20][..], 1).unwrap();
        assert!(stored.len() < 4096);
        let out = decompress(&stored, Compression::Zstd, 1 << 20, &Budget::new(1 << 30)).unwrap();
        assert!(matches!(out.end, End::Limit));
        assert_eq!(out.len, 1 << 20);
    }

    #[test]
    fn many_bombs_stop_at_the_bound_of_all() {
        let stored = zstd::encode_all(&vec![0u8; 8 << 20][..], 1).unwrap();
        let budget = Budget::new(10 << 20);
        let mut sum = 0;
        for (number, end) in ["whole", "cut", "nothing"].into_iter().enumerate() {
            let member = number.to_string();
            budget.restart(&member);
            let out = decompress(&stored, Compression::Zstd, 1 << 30, &budget).unwrap();
            budget.note(&member, out.len);
            sum += out.len;
            assert_eq!(matches!(out.end, End::SumLimit), end != "whole");
        }
        assert_eq!(sum, 10 << 20);
        // The bytes that were read before may be read again.
        budget.restart("0");
        assert_eq!(decompress(&stored, Compression::Zstd, 1 << 30, &budget).unwrap().len, 8 << 20);
    }

    #[test]
    fn a_window_beyond_the_bound_is_no_damage() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(WINDOW_LOG_MAX + 1).unwrap();
        encoder.write_all(&noise(1 << 20)).unwrap();
        let stored = encoder.finish().unwrap();
        let out = decompress(&stored, Compression::Zstd, 1 << 30, &Budget::new(1 << 30)).unwrap();
        assert!(matches!(out.end, End::Window));
        assert_eq!(out.len, 0);
        assert!(needs_large_window(&stored));
        assert!(describe(&stored).contains("zstd -d --long=31"));
        assert!(!needs_large_window(&zstd::encode_all(&noise(100)[..], 1).unwrap()));
    }

    #[test]
    fn exactly_the_bound_is_complete() {
        let stored = zstd::encode_all(&vec![0u8; 1 << 20][..], 1).unwrap();
        let out = decompress(&stored, Compression::Zstd, 1 << 20, &Budget::new(1 << 30)).unwrap();
        assert!(matches!(out.end, End::Complete));
    }

    #[test]
    fn a_cut_stream_keeps_what_came_before() {
        let plain = noise(2 << 20);
        for compression in [Compression::Zstd, Compression::Gzip] {
            let stored = match compression {
                Compression::Zstd => zstd::encode_all(&plain[..], 1).unwrap(),
                _ => {
                    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                    encoder.write_all(&plain).unwrap();
                    encoder.finish().unwrap()
                }
            };
            let out = decompress(&stored[..stored.len() / 2], compression, 1 << 30, &Budget::new(1 << 30)).unwrap();
            assert!(matches!(out.end, End::Damaged(_)), "{compression:?}");
            assert!(out.len > 512 << 10, "{compression:?} kept {}", out.len);
            assert_eq!(out.bytes.bytes(), &plain[..out.len as usize]);
        }
    }

    #[test]
    fn concatenated_frames_are_one_stream() {
        let mut stored = zstd::encode_all(&b"one "[..], 1).unwrap();
        stored.extend(zstd::encode_all(&b"two"[..], 1).unwrap());
        let out = decompress(&stored, Compression::Zstd, 100, &Budget::new(1 << 30)).unwrap();
        assert_eq!(out.bytes.bytes(), b"one two");
    }
}
