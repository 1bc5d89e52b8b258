//! Files that distributions store compressed, such as kernel modules.

use std::io::Read as _;

use perfcase_archive::Content;

use crate::xz;

/// The most bytes that a file may unpack to.
const MOST_BYTES: u64 = 256 << 20;

/// Gives the file's bytes, unpacked if it is .gz, .xz or .zst; `None` for damage and for a file that would be too
/// large.
pub(crate) fn unpacked(content: Content) -> Option<Content> {
    let bytes = match content[..] {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => xz::unpack(&content)?,
        [0x1f, 0x8b, ..] => all(flate2::read::MultiGzDecoder::new(&content[..]))?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => all(zstd::stream::read::Decoder::with_buffer(&content[..]).ok()?)?,
        _ => return Some(content),
    };
    Some(Content::from_bytes(bytes))
}

fn all(reader: impl std::io::Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = reader.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (length as u64 <= MOST_BYTES).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_kind_and_damage() {
        let plain = b"\x7fELF and so on".repeat(100);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).unwrap();
        let mut packed = vec![gzip.finish().unwrap(), zstd::encode_all(&plain[..], 1).unwrap()];
        for bytes in &packed {
            assert_eq!(&unpacked(Content::from_bytes(bytes.clone())).unwrap()[..], plain);
        }
        assert_eq!(&unpacked(Content::from_bytes(plain.clone())).unwrap()[..], plain);
        for bytes in &mut packed {
            bytes.truncate(bytes.len() / 2);
            assert!(unpacked(Content::from_bytes(bytes.clone())).is_none());
        }
        assert!(unpacked(Content::from_bytes(&b"\xfd7zXZ\0"[..])).is_none());
    }

    #[test]
    fn what_would_be_too_large() {
        let bomb = zstd::encode_all(std::io::repeat(0).take(MOST_BYTES + 1), 1).unwrap();
        assert!(unpacked(Content::from_bytes(bomb)).is_none());
    }
}
