//! Recordings that perf 6.1 cannot make, built from ones that it made.

use perfcase_import::decoders::perf_data::record::kind;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The same recording with attributes of `size` bytes: grown with zeros, or cut where that loses nothing.
pub fn with_attr_size(file: &[u8], size: usize) -> Vec<u8> {
    let (stride, attrs, length) = (word(file, 16) as usize, word(file, 24) as usize, word(file, 32) as usize);
    let mut out = file.to_vec();
    let new_at = out.len();
    for at in (attrs..attrs + length).step_by(stride) {
        let old = &file[at..at + stride - 16];
        let mut attr = old.to_vec();
        assert!(attr.iter().skip(size).all(|&byte| byte == 0), "the attribute needs more than {size} bytes");
        attr.resize(size, 0);
        attr[4..8].copy_from_slice(&(size as u32).to_le_bytes());
        out.extend(attr);
        out.extend(&file[at + stride - 16..at + stride]);
    }
    // Sections may lie anywhere: the new attributes follow the file.
    let grown = out.len() - new_at;
    put(&mut out, 16, size as u64 + 16);
    put(&mut out, 24, new_at as u64);
    put(&mut out, 32, grown as u64);
    out
}

/// The same recording with COMPRESSED records as COMPRESSED2: padded to 8 bytes, with the size of the payload.
///
/// `overflow` writes the size 0 that perf 6.16 writes where the padded record is larger than 16 bits hold.
pub fn with_compressed_2(file: &[u8], overflow: bool) -> Vec<u8> {
    let (start, size) = (word(file, 40) as usize, word(file, 48) as usize);
    let mut data = Vec::new();
    let mut at = start;
    while at < start + size {
        let number = u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let length = usize::from(u16::from_le_bytes(file[at + 6..at + 8].try_into().unwrap()));
        if number == kind::COMPRESSED {
            let payload = &file[at + 8..at + length];
            let padded = (16 + payload.len()).next_multiple_of(8);
            let header_size = if overflow { 0 } else { padded as u16 };
            data.extend(kind::COMPRESSED2.to_le_bytes());
            data.extend([0, 0]);
            data.extend(header_size.to_le_bytes());
            data.extend((payload.len() as u64).to_le_bytes());
            data.extend(payload);
            if !overflow {
                data.resize(data.len().next_multiple_of(8), 0);
            }
        } else {
            data.extend(&file[at..at + length]);
        }
        at += length;
    }
    let features = word(file, 72).count_ones() as usize * 16;
    let mut out = file.to_vec();
    let new_at = out.len();
    put(&mut out, 40, new_at as u64);
    put(&mut out, 48, data.len() as u64);
    out.extend(data);
    // The table of the features follows the records.
    out.extend(&file[start + size..start + size + features]);
    out
}
