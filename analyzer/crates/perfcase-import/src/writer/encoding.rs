//! Encodings of Parquet: <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use arrow_buffer::BooleanBuffer;

/// The values of a block of differences and of a miniblock of it, which has its own width.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// Writes a number, seven bits a byte, the low ones first.
fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes a signed number, small ones in few bytes.
fn put_zigzag(out: &mut Vec<u8>, number: i64) {
    put_varint(out, (number << 1 ^ number >> 63) as u64);
}

/// Writes the low `width` bits of each number, without gaps. Bytes at the end are whole.
fn put_packed(out: &mut Vec<u8>, numbers: impl Iterator<Item = u64>, width: u32) {
    let (mut word, mut filled) = (0_u64, 0);
    for number in numbers {
        word |= number << filled;
        filled += width;
        if filled >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= u64::BITS;
            word = if filled == 0 { 0 } else { number >> (width - filled) };
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..filled.div_ceil(8) as usize]);
}

/// A number of which differences are stored.
pub(super) trait Difference: Copy + Ord {
    /// The least of all.
    const GREATEST: Self;

    /// Gives what must be added to `other`, modulo the range of the type.
    fn since(self, other: Self) -> Self;

    /// Gives how much more than `least` it is.
    fn above(self, least: Self) -> u64;

    fn to_i64(self) -> i64;
}

impl Difference for i64 {
    const GREATEST: i64 = i64::MAX;

    fn since(self, other: i64) -> i64 {
        self.wrapping_sub(other)
    }

    fn above(self, least: i64) -> u64 {
        self.wrapping_sub(least) as u64
    }

    fn to_i64(self) -> i64 {
        self
    }
}

impl Difference for i32 {
    const GREATEST: i32 = i32::MAX;

    fn since(self, other: i32) -> i32 {
        self.wrapping_sub(other)
    }

    fn above(self, least: i32) -> u64 {
        self.wrapping_sub(least) as u32 as u64
    }

    fn to_i64(self) -> i64 {
        self.into()
    }
}

/// Writes numbers as differences (DELTA_BINARY_PACKED).
pub(super) fn put_differences<T: Difference>(out: &mut Vec<u8>, numbers: &[T]) {
    put_varint(out, BLOCK as u64);
    put_varint(out, (BLOCK / MINIBLOCK) as u64);
    put_varint(out, numbers.len() as u64);
    put_zigzag(out, numbers.first().map_or(0, |first| first.to_i64()));
    let Some(after) = numbers.get(1..) else { return };
    let mut before = numbers;
    let mut differences = [T::GREATEST; BLOCK];
    for numbers in after.chunks(BLOCK) {
        let differences = &mut differences[..numbers.len()];
        for ((difference, number), before) in differences.iter_mut().zip(numbers).zip(before) {
            *difference = number.since(*before);
        }
        before = &before[numbers.len()..];
        let least = differences.iter().copied().min().unwrap_or(T::GREATEST);
        put_zigzag(out, least.to_i64());
        let widths_at = out.len();
        out.extend_from_slice(&[0; BLOCK / MINIBLOCK]);
        for (index, part) in differences.chunks(MINIBLOCK).enumerate() {
            let all = part.iter().fold(0, |all, difference| all | difference.above(least));
            let width = u64::BITS - all.leading_zeros();
            out[widths_at + index] = width as u8;
            if width > 0 {
                let end = out.len() + MINIBLOCK / 8 * width as usize;
                put_packed(out, part.iter().map(|difference| difference.above(least)), width);
                out.resize(end, 0);
            }
        }
    }
}

/// Writes a run of one number, of which the low bits count (a run of RLE).
fn put_run(out: &mut Vec<u8>, count: usize, number: u32, width: u32) {
    put_varint(out, (count as u64) << 1);
    out.extend_from_slice(&number.to_le_bytes()[..width.div_ceil(8) as usize]);
}

/// Writes the header of a run of packed numbers.
fn put_packed_header(out: &mut Vec<u8>, count: usize) {
    put_varint(out, (count.div_ceil(8) as u64) << 1 | 1);
}

/// Writes which of `count` rows are not NULL, with the length before it (the definition levels of a page).
pub(super) fn put_levels(out: &mut Vec<u8>, valid: Option<&BooleanBuffer>, count: usize) {
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    match valid {
        None => put_run(out, count, 1, 1),
        Some(valid) => {
            let edges = edges(valid);
            // A run takes two or three bytes.
            if edges * 3 < count / 8 {
                let mut at = 0;
                for (start, end) in valid.set_slices() {
                    if start > at {
                        put_run(out, start - at, 0, 1);
                    }
                    put_run(out, end - start, 1, 1);
                    at = end;
                }
                if count > at {
                    put_run(out, count - at, 0, 1);
                }
            } else {
                put_packed_header(out, count);
                put_bits(out, valid);
            }
        }
    }
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Gives how often the next bit is another.
fn edges(bits: &BooleanBuffer) -> usize {
    let (mut count, mut last) = (0, 0);
    for word in bits.bit_chunks().iter_padded() {
        count += (word ^ (word << 1 | last)).count_ones() as usize;
        last = word >> 63;
    }
    count
}

/// Writes bits, eight a byte.
pub(super) fn put_bits(out: &mut Vec<u8>, bits: &BooleanBuffer) {
    let end = out.len() + bits.len().div_ceil(8);
    for word in bits.bit_chunks().iter_padded() {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.truncate(end);
}

/// Writes numbers of whole bytes.
pub(super) fn put_plain<const BYTES: usize>(out: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = [u8; BYTES]>) {
    let at = out.len();
    out.resize(at + numbers.len() * BYTES, 0);
    out[at..].as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
}

/// Writes keys of a dictionary with so many values. A key has a whole byte, or a part of one that has no edge of another byte in
/// it: what repeats is then the same bytes, which a compressor finds.
pub(super) fn put_keys<T: Copy + Eq + Into<u32>>(out: &mut Vec<u8>, keys: &[T], values: usize) {
    let width = (usize::BITS - values.saturating_sub(1).leading_zeros()).max(1).next_power_of_two();
    out.push(width as u8);
    if let Some(first) = keys.first()
        && keys.iter().all(|key| key == first)
    {
        return put_run(out, keys.len(), (*first).into(), width);
    }
    put_packed_header(out, keys.len());
    let end = out.len() + keys.len().div_ceil(8) * width as usize;
    match width {
        1 => put_parts::<1, T>(out, keys),
        2 => put_parts::<2, T>(out, keys),
        4 => put_parts::<4, T>(out, keys),
        8 => put_plain(out, keys.iter().map(|key| [(*key).into() as u8])),
        16 => put_plain(out, keys.iter().map(|key| ((*key).into() as u16).to_le_bytes())),
        _ => put_plain(out, keys.iter().map(|key| (*key).into().to_le_bytes())),
    }
    out.resize(end, 0);
}

/// Writes keys that are parts of bytes.
fn put_parts<const WIDTH: usize, T: Copy + Into<u32>>(out: &mut Vec<u8>, keys: &[T]) {
    let (eights, rest) = keys.as_chunks::<8>();
    let word = |keys: &[T]| keys.iter().rev().fold(0_u32, |word, key| word << WIDTH | (*key).into());
    eights.iter().for_each(|keys| out.extend_from_slice(&word(keys).to_le_bytes()[..WIDTH]));
    out.extend_from_slice(&word(rest).to_le_bytes()[..(rest.len() * WIDTH).div_ceil(8)]);
}
