//! `.gnu_debugdata`: a small ELF file that is compressed as .xz.

/// The most bytes that are unpacked: real files have a few hundred kilobytes.
const MOST_BYTES: usize = 256 << 20;
/// The most bytes for each byte of the stream, after the first few: symbols compress to about a fifth.
const MOST_RATIO: usize = 64;
const LEAST_BYTES: usize = 4 << 20;

/// Unpacks an .xz stream of LZMA2 blocks; `None` for damage, for other filters, and for a stream that would unpack to
/// too many bytes.
///
/// This function walks the container itself, because the chunks of LZMA2 say in advance how many bytes they unpack to.
pub fn unpack(stream: &[u8]) -> Option<Vec<u8>> {
    let most = stream.len().saturating_mul(MOST_RATIO).clamp(LEAST_BYTES, MOST_BYTES);
    let mut out = Vec::new();
    let check_bytes = match stream.get(..12)? {
        [0xfd, b'7', b'z', b'X', b'Z', 0, 0, check, ..] => {
            [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64].get(usize::from(*check)).copied()?
        }
        _ => return None,
    };
    let mut at = 12usize;
    // A header of size 0 is the index that follows the last block.
    while let Some(&size @ 1..) = stream.get(at) {
        let header = stream.get(at..at + (usize::from(size) + 1) * 4)?;
        if !is_plain_lzma2(header) {
            return None;
        }
        let data = stream.get(at + header.len()..)?;
        let (packed, unpacked) = chunks(data)?;
        if out.len() + unpacked > most {
            return None;
        }
        lzma_rs::lzma2_decompress(&mut &data[..packed], &mut out).ok()?;
        at += header.len() + packed.next_multiple_of(4) + check_bytes;
    }
    Some(out)
}

/// Gives an .xz stream that unpacks to these bytes: it stores them, in a block without compression.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut stream = Vec::with_capacity(bytes.len() + bytes.len() / 1024 + 128);
    // A vector takes everything.
    let _ = lzma_rs::xz_compress(&mut &bytes[..], &mut stream);
    stream
}

/// Tells whether there is only one filter, LZMA2 (id 0x21). Sizes may be stated before it.
fn is_plain_lzma2(header: &[u8]) -> bool {
    let flags = header.get(1).copied().unwrap_or(0xff);
    let mut at = 2;
    for _ in 0..(flags >> 6).count_ones() {
        while header.get(at).is_some_and(|byte| byte & 0x80 != 0) {
            at += 1;
        }
        at += 1;
    }
    flags & 3 == 0 && header.get(at) == Some(&0x21)
}

/// Gives the bytes of a block's chunks with their end mark, and the number of bytes that they unpack to.
fn chunks(data: &[u8]) -> Option<(usize, usize)> {
    let (mut at, mut unpacked) = (0usize, 0usize);
    loop {
        let number = |at: usize| Some(usize::from(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?])) + 1);
        match *data.get(at)? {
            0 => return Some((at + 1, unpacked)),
            1 | 2 => {
                let size = number(at + 1)?;
                unpacked += size;
                at += 3 + size;
            }
            control @ 0x80.. => {
                unpacked += (usize::from(control & 0x1f) << 16) + number(at + 1)?;
                at += 5 + usize::from(control >= 0xc0) + number(at + 3)?;
            }
            _ => return None,
        }
        if unpacked > MOST_BYTES || at > data.len() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_unpacks() {
        for size in [0, 1, 65_536, 65_537, 1 << 20] {
            let bytes: Vec<u8> = (0..size).map(|at: u32| (at >> 3) as u8).collect();
            assert_eq!(unpack(&pack(&bytes)).as_deref(), Some(&bytes[..]), "{size}");
        }
    }
}
