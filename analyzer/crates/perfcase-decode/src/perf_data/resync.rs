//! Finds the next record after a damage: a place where several headers follow each other.

use super::bytes::ByteOrder;
use super::record::{HEADER_BYTES, kind};
use super::recording::header_at;

/// The number of headers that must follow each other at the place of a record.
const CHAIN: usize = 4;

/// Tells whether `count` known headers follow each other from `at` on, or fewer that end exactly at the end.
pub fn is_plausible(bytes: &[u8], at: usize, order: ByteOrder, count: usize) -> bool {
    chains(bytes, at, order, count, |number| kind::name(number).is_some())
}

/// Does the same as `is_plausible` after a record of an unknown type: newer versions of perf write several of these in
/// a row.
pub fn is_plausible_after_unknown(bytes: &[u8], at: usize, order: ByteOrder) -> bool {
    chains(bytes, at, order, 2, |number| (1..256).contains(&number))
}

fn chains(bytes: &[u8], mut at: usize, order: ByteOrder, count: usize, is_type: impl Fn(u32) -> bool) -> bool {
    for _ in 0..count {
        if at == bytes.len() {
            return true;
        }
        let Some(header) = header_at(bytes, at, order) else { return false };
        let size = usize::from(header.size);
        if !is_type(header.kind) || size < HEADER_BYTES {
            return false;
        }
        // Records of the kernel are padded to 8 bytes.
        if header.kind < kind::FIRST_USER && size % 8 != 0 {
            return false;
        }
        at += size;
    }
    at <= bytes.len()
}

/// Gives the first place at or after `from` where records continue.
pub fn next_record(bytes: &[u8], from: usize, order: ByteOrder) -> Option<usize> {
    let last = bytes.len().checked_sub(HEADER_BYTES)?;
    (from..=last).find(|&at| {
        // Types are below 256: three of the four bytes are zero, which excludes most places at once.
        let high = match order {
            ByteOrder::Little => &bytes[at + 1..at + 4],
            ByteOrder::Big => &bytes[at..at + 3],
        };
        high == [0, 0, 0] && is_plausible(bytes, at, order, CHAIN)
    })
}
