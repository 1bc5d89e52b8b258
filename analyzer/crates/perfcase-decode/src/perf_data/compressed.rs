//! Records that contain compressed records: PERF_RECORD_COMPRESSED (81) and PERF_RECORD_COMPRESSED2 (83).
//!
//! perf compresses with one zstd stream and flushes it at every record. So the bytes of a record cannot be read without
//! those of all records before it, and a compressed record may end in the middle of a record that it contains.

use std::ops::Range;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::bytes::ByteOrder;
use super::record::{HEADER_BYTES, kind};

/// The largest payload of a COMPRESSED2 record that perf writes in one piece, in bytes: 65,535 minus 16 bytes of
/// headers.
const LARGEST_PAYLOAD: u64 = 65_519;
/// The fewest bytes of a piece of a larger payload that is not the last one.
const SMALLEST_PIECE: usize = LARGEST_PAYLOAD as usize - 4096;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The stream's state, and the bytes of the last record, which is not complete yet.
pub struct Decompressor {
    decoder: Decoder<'static>,
    /// Decompressed bytes that nobody took yet.
    pub pending: Vec<u8>,
    total_bytes: u64,
    limit_bytes: u64,
    broken: Option<Failure>,
}

/// Why decompression stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// zstd found damaged data. What follows in the same stream is lost too.
    Damaged(String),
    /// It grew beyond the limit, which is so many bytes. So does what follows in the same stream.
    TooLarge(u64),
    /// The stream broke before.
    AfterDamage,
}

impl Decompressor {
    /// Begins a stream that may have `limit_bytes` decompressed bytes in total.
    pub fn new(limit_bytes: u64) -> std::io::Result<Self> {
        let decoder = Decoder::new()?;
        Ok(Decompressor { decoder, pending: Vec::new(), total_bytes: 0, limit_bytes, broken: None })
    }

    /// Decompresses the payload of one record to the end of `pending`.
    pub fn push(&mut self, payload: &[u8]) -> Result<(), Failure> {
        if let Some(failure) = &self.broken {
            // A new frame, such as another thread's stream, can be read again.
            if !payload.starts_with(&ZSTD_MAGIC) || self.decoder.reinit().is_err() {
                let is_too_large = matches!(failure, Failure::TooLarge(_));
                return Err(if is_too_large { failure.clone() } else { Failure::AfterDamage });
            }
            self.broken = None;
            self.pending.clear();
        }
        let result = self.run(payload);
        self.broken = result.clone().err();
        result
    }

    fn run(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let mut input = InBuffer::around(payload);
        let mut chunk = [0u8; 1 << 16];
        loop {
            let mut output = OutBuffer::around(&mut chunk);
            let result = self.decoder.run(&mut input, &mut output);
            let produced = output.pos();
            if let Err(error) = result {
                return Err(Failure::Damaged(error.to_string()));
            }
            self.total_bytes += produced as u64;
            if self.total_bytes > self.limit_bytes {
                return Err(Failure::TooLarge(self.limit_bytes));
            }
            self.pending.extend_from_slice(&chunk[..produced]);
            let is_input_used = input.pos() >= payload.len();
            // When the output is full, zstd may have more.
            if is_input_used && produced < chunk.len() {
                return Ok(());
            }
        }
    }
}

/// Gives the payloads of the COMPRESSED2 record at `at`, and the true size of the record in bytes.
///
/// The header's size has 16 bits. perf 6.16 and later overflow it when the padded record is larger than that. Then the
/// size in the header is too small (0 at worst), `data_size` is right, and there is no padding. A payload above 65,519
/// bytes has several pieces, and each piece after the first has its own header and an unset `data_size`.
pub fn payloads_of_2(file: &[u8], at: usize, size: u16, order: ByteOrder) -> Option<(Vec<&[u8]>, usize)> {
    let data_bytes = order.u64(file, at + HEADER_BYTES)?;
    let start = at + HEADER_BYTES + 8;
    let end = start.checked_add(usize::try_from(data_bytes).ok()?)?;
    let body = file.get(start..end)?;
    if (end - at).next_multiple_of(8) <= usize::from(size) {
        return Some((vec![body], usize::from(size)));
    }
    if data_bytes <= LARGEST_PAYLOAD {
        return Some((vec![body], end - at));
    }
    // The headers of the pieces must lead exactly to the end, and each piece except the last is about as large as
    // possible. So the chains are short, even where many places look like a header.
    let nearly = SMALLEST_PIECE..LARGEST_PAYLOAD as usize + 1;
    // The bytes of zstd nearly never look like a header: the first place that does is right.
    let mut cuts = nearly.clone().filter(|&cut| is_piece(body, cut, order)).take(4);
    let (cut, rest) = cuts.find_map(|cut| Some((cut, chain(body, cut, &nearly, order)?)))?;
    let mut payloads = vec![&body[..cut]];
    payloads.extend(rest);
    Some((payloads, end - at))
}

fn is_piece(body: &[u8], at: usize, order: ByteOrder) -> bool {
    order.u32(body, at) == Some(kind::COMPRESSED2) && order.u16(body, at + 4) == Some(0)
}

fn chain<'b>(body: &'b [u8], mut at: usize, nearly: &Range<usize>, order: ByteOrder) -> Option<Vec<&'b [u8]>> {
    let mut pieces = Vec::new();
    while at < body.len() {
        if !is_piece(body, at, order) {
            return None;
        }
        let size = usize::from(order.u16(body, at + 6)?);
        let piece = body.get(at + 16..at + size)?;
        at += size;
        if at < body.len() && !nearly.contains(&piece.len()) {
            return None;
        }
        pieces.push(piece);
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stream_over_many_payloads_and_a_broken_one() {
        let text: Vec<u8> = (0..200_000u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
        let packed = zstd::encode_all(&text[..], 1).unwrap();
        let mut stream = Decompressor::new(1 << 30).unwrap();
        for payload in packed.chunks(999) {
            stream.push(payload).unwrap();
        }
        assert_eq!(stream.pending, text);

        let mut small = Decompressor::new(1000).unwrap();
        let (first, rest) = packed.split_at(packed.len() - 9);
        assert_eq!(small.push(first), Err(Failure::TooLarge(1000)));
        // What follows is not lost for a damage, and another stream has no more room.
        assert_eq!(small.push(rest), Err(Failure::TooLarge(1000)));
        assert_eq!(small.push(&packed), Err(Failure::TooLarge(1000)));
        let mut broken = Decompressor::new(1 << 30).unwrap();
        assert!(matches!(broken.push(b"not zstd at all"), Err(Failure::Damaged(_))));
        assert_eq!(broken.push(b"more"), Err(Failure::AfterDamage));
        broken.push(&packed).unwrap();
        assert_eq!(broken.pending, text);
    }

    fn header(size: u16, data_bytes: u64) -> Vec<u8> {
        let mut bytes = kind::COMPRESSED2.to_le_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(size.to_le_bytes());
        bytes.extend(data_bytes.to_le_bytes());
        bytes
    }

    #[test]
    fn padded_overflowing_and_chained() {
        let mut padded = header(24, 5);
        padded.extend(b"abcde\0\0\0next");
        let (payloads, size) = payloads_of_2(&padded, 0, 24, ByteOrder::Little).unwrap();
        assert_eq!((payloads, size), (vec![&b"abcde"[..]], 24));

        let mut wrapped = header(0, 65_519);
        wrapped.extend(vec![7; 65_519]);
        let (payloads, size) = payloads_of_2(&wrapped, 0, 0, ByteOrder::Little).unwrap();
        assert_eq!((payloads[0].len(), size), (65_519, 65_535));

        let mut chained = header(2728, 65_519 + 16 + 100);
        chained.extend(vec![7; 65_519]);
        chained.extend(header(116, u64::MAX));
        chained.extend(vec![8; 100]);
        let (payloads, size) = payloads_of_2(&chained, 0, 2728, ByteOrder::Little).unwrap();
        assert_eq!(payloads.iter().map(|p| p.len()).collect::<Vec<_>>(), [65_519, 100]);
        assert_eq!(size, chained.len());
        assert_eq!(payloads_of_2(&chained[..70_00], 0, 2728, ByteOrder::Little), None);
    }
}
