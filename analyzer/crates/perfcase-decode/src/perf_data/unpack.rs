//! Compressed records: their content joins the index as if it were in the file.

use perfcase_archive::Issue;

use super::compressed::{Decompressor, Failure};
use super::record::{HEADER_BYTES, kind};
use super::recording::header_at;
use super::scan::{HINT_DAMAGE, Scanner};
use super::user_records;

/// The most decompressed bytes: this many times the file's size, and at least the second figure.
const GROWTH_LIMIT: u64 = 200;
const GROWTH_FREE_BYTES: u64 = 256 << 20;
/// What to do about records beyond it.
const HINT_TOO_LARGE: &str =
    "nothing is damaged: the records before are kept; for the others record again without -z, or a shorter time";

impl Scanner<'_> {
    pub(super) fn decompress(&mut self, payload: &[u8], offset: u64) {
        if self.stream.is_none() {
            let limit = (self.file.len() as u64).saturating_mul(GROWTH_LIMIT).max(GROWTH_FREE_BYTES);
            self.stream = Decompressor::new(limit).ok();
        }
        let Some(mut stream) = self.stream.take() else { return };
        let result = stream.push(payload);
        self.take_decompressed(&mut stream, offset);
        if let Err(failure) = result {
            let (kind, message, hint) = match failure {
                Failure::Damaged(error) => ("damaged_compression", format!("zstd: {error}"), HINT_DAMAGE),
                Failure::TooLarge(bytes) => {
                    let whole = self.file.len();
                    let what = format!("they decompress to more than {bytes} bytes, the bound for a file of {whole}");
                    ("compression_limit", what, HINT_TOO_LARGE)
                }
                Failure::AfterDamage => {
                    ("lost_compressed", "compressed records after the damage".to_string(), HINT_DAMAGE)
                }
            };
            let message = || format!("compressed records cannot be read: {message}");
            self.out.problems.note(kind, 0, |kind| Issue::error(kind, message()).at(offset).hint(hint));
        }
        self.stream = Some(stream);
    }

    /// Adds the complete records among the decompressed bytes to the index, and keeps the beginning of the last one for
    /// later.
    fn take_decompressed(&mut self, stream: &mut Decompressor, offset: u64) {
        let base = self.out.arena.len();
        let bytes = std::mem::take(&mut stream.pending);
        let mut at = 0;
        while let Some(header) = header_at(&bytes, at, self.out.order) {
            let size = usize::from(header.size);
            if size < HEADER_BYTES {
                self.damaged("damaged_record", offset, || {
                    format!("no record in decompressed data; {} bytes of it are lost", bytes.len() - at)
                });
                break;
            }
            let Some(body) = bytes.get(at + HEADER_BYTES..at + size) else { break };
            if header.kind < kind::FIRST_USER && kind::name(header.kind).is_some() {
                self.kernel_record(header, body, base + at as u64, true);
            } else {
                *self.out.counts.entry(header.kind).or_default() += 1;
                user_records::take(&mut self.out, header, body, offset);
            }
            at += size;
        }
        if at > 0 {
            self.out.arena_origins.push((base, offset));
        }
        self.keep(&bytes[..at]);
        let is_damaged = header_at(&bytes, at, self.out.order).is_some_and(|h| usize::from(h.size) < HEADER_BYTES);
        stream.pending = bytes;
        stream.pending.drain(..at);
        if is_damaged {
            stream.pending.clear();
        }
    }

    /// Ends the stream, at the end of its file or of a file of the directory.
    pub(super) fn finish_stream(&mut self) {
        let Some(stream) = self.stream.take().filter(|stream| !stream.pending.is_empty()) else { return };
        let left = stream.pending.len();
        self.cut("truncated_record", self.file.len() as u64, || {
            format!("the last compressed record ends inside a record: {left} bytes of it are left")
        });
    }
}
