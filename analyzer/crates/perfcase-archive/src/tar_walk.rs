//! Walks the headers of a tar over its mapped bytes. Layout: POSIX.1-1988 ustar and GNU's base-256
//! sizes, as in tar(5). Nothing is copied and nothing is unpacked.

use crate::issue::Issue;
use crate::limits::Limits;
use crate::path;

pub(crate) const BLOCK: u64 = 512;
/// The longest path in a GNU or pax long-name record, in bytes.
const LONG_NAME_BYTES_MAX: u64 = 4096;

/// A regular file in a tar.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its checked path.
    pub path: String,
    /// The offset of its bytes.
    pub offset: u64,
    /// The number of its bytes; fewer than stated in a truncated archive.
    pub len: u64,
}

/// Tells whether a block is a tar header, by its checksum. The ustar magic is not necessary, because old tars have
/// none; an octal checksum over 512 bytes does not match by chance.
pub(crate) fn is_header(block: &[u8]) -> bool {
    let Some(stated) = octal(&block[148..156]) else {
        return false;
    };
    let sum: u64 =
        block.iter().enumerate().map(|(i, &b)| u64::from(if (148..156).contains(&i) { b' ' } else { b })).sum();
    stated == sum && block[0] != 0
}

/// Walks a tar. Lists its regular files, and reports problems for the rest.
pub(crate) fn walk(bytes: &[u8], limits: &Limits) -> (Vec<Entry>, Vec<Issue>) {
    let mut walk = Walk { bytes, limits, at: 0, long_name: None, entries: Vec::new(), problems: Vec::new() };
    while walk.step() {}
    (walk.entries, walk.problems)
}

struct Walk<'a> {
    bytes: &'a [u8],
    limits: &'a Limits,
    at: u64,
    long_name: Option<Vec<u8>>,
    entries: Vec<Entry>,
    problems: Vec<Issue>,
}

impl Walk<'_> {
    /// Reads one header and its data; false at the end.
    fn step(&mut self) -> bool {
        let total = self.bytes.len() as u64;
        if self.at + BLOCK > total {
            self.cut(total);
            return false;
        }
        let block = &self.bytes[self.at as usize..(self.at + BLOCK) as usize];
        if is_zero(block) {
            return self.end();
        }
        if !is_header(block) {
            return self.resync();
        }
        if self.entries.len() + self.problems.len() >= self.limits.member_count_max {
            let message = format!("more than {} members", self.limits.member_count_max);
            self.problem("limit", format!("{message}; the rest is not read"));
            return false;
        }
        let Some(size) = number(&block[124..136]) else {
            self.problem("damaged_header", "a member's size is not a number");
            return self.resync();
        };
        self.member(block, size, total)
    }

    fn member(&mut self, block: &[u8], size: u64, total: u64) -> bool {
        let header_at = self.at;
        let offset = header_at + BLOCK;
        let len = size.min(total - offset);
        let data = offset as usize..(offset + len) as usize;
        match block[156] {
            0 | b'0' | b'7' => self.file(block, offset, len),
            b'L' => self.long_name = gnu_long_name(&self.bytes[data]),
            b'x' => self.long_name = pax_path(&self.bytes[data]),
            b'5' | b'g' => self.long_name = None,
            flag => self.refuse(block, flag),
        }
        if len < size {
            let message = format!("the archive ends {} bytes before the end of a member of {size} bytes", size - len);
            self.problems.push(
                Issue::error("truncated", message)
                    .at(total)
                    .hint("the copy or the recording was cut short: get the whole file if there is one"),
            );
            return false;
        }
        match size.checked_next_multiple_of(BLOCK).and_then(|s| s.checked_add(offset)) {
            Some(next) => self.at = next,
            None => return false,
        }
        true
    }

    fn file(&mut self, block: &[u8], offset: u64, len: u64) {
        let raw = self.long_name.take().unwrap_or_else(|| name(block));
        match path::check(&raw) {
            Ok(path) => self.entries.push(Entry { path, offset, len }),
            Err(why) => {
                let shown = String::from_utf8_lossy(&raw).escape_debug().take(200).collect::<String>();
                let message = format!("member \"{shown}\" is not read: {why}");
                self.problem("unsafe_path", message);
            }
        }
    }

    fn refuse(&mut self, block: &[u8], flag: u8) {
        let raw = self.long_name.take().unwrap_or_else(|| name(block));
        let shown = String::from_utf8_lossy(&raw).escape_debug().take(200).collect::<String>();
        let what = match flag {
            b'1' | b'2' => "a link",
            b'3' | b'4' => "a device",
            b'6' => "a FIFO",
            _ => "not a regular file",
        };
        let message = format!("member \"{shown}\" is not read: it is {what}");
        self.problem("unsafe_member", message);
    }

    fn problem(&mut self, kind: &'static str, message: impl Into<String>) {
        self.problems.push(Issue::error(kind, message).at(self.at));
    }

    /// Checks the end: an end marker, which only zeros follow, or zeros in the place of members.
    fn end(&mut self) -> bool {
        let rest = &self.bytes[self.at as usize..];
        let is_more = rest.chunks(BLOCK as usize).any(|block| !is_zero(block));
        is_more && self.resync()
    }

    /// Reports that the file ends where a header or the end marker should be.
    fn cut(&mut self, total: u64) {
        let problem = Issue::error("truncated", "the archive has no end marker: it was cut")
            .at(total)
            .hint("the copy or the recording was cut short: get the whole file if there is one");
        self.problems.push(problem);
    }

    /// Skips damage up to the next header; false where there is none.
    fn resync(&mut self) -> bool {
        let start = self.at;
        let blocks = self.bytes[start as usize..].chunks_exact(BLOCK as usize);
        let next = blocks.enumerate().skip(1).find(|(_, block)| is_header(block) && &block[257..262] == b"ustar");
        let skipped = next.map(|(i, _)| i as u64 * BLOCK);
        let message = match skipped {
            Some(bytes) => format!("{bytes} bytes are no tar header; reading goes on after them"),
            None => "the rest of the archive is no tar: it is not read".to_owned(),
        };
        self.problem("damaged_header", message);
        self.long_name = None;
        self.at = start + skipped.unwrap_or(0);
        skipped.is_some()
    }
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

/// Gives `prefix/name` of a header.
fn name(block: &[u8]) -> Vec<u8> {
    let is_posix = &block[257..263] == b"ustar\0";
    let mut full = Vec::new();
    let prefix = text(&block[345..500]);
    if is_posix && !prefix.is_empty() {
        full.extend_from_slice(prefix);
        full.push(b'/');
    }
    full.extend_from_slice(text(&block[..100]));
    full
}

fn text(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    &field[..end]
}

fn gnu_long_name(data: &[u8]) -> Option<Vec<u8>> {
    (data.len() as u64 <= LONG_NAME_BYTES_MAX).then(|| text(data).to_vec())
}

/// Gives `path` of a pax header: records of `<length> <key>=<value>\n`.
fn pax_path(mut data: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    while let Some(space) = data.iter().take(20).position(|&b| b == b' ') {
        let length: usize = std::str::from_utf8(&data[..space]).ok()?.parse().ok()?;
        let record = data.get(space + 1..length)?.strip_suffix(b"\n")?;
        if let Some(path) = record.strip_prefix(b"path=") {
            found = (path.len() as u64 <= LONG_NAME_BYTES_MAX).then(|| path.to_vec());
        }
        data = &data[length..];
    }
    found
}

/// Reads an octal field, which NUL or space ends.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii_start();
    let end = digits.iter().position(|b| !(b'0'..=b'7').contains(b)).unwrap_or(digits.len());
    let rest = &digits[end..];
    if end == 0 || !rest.iter().all(|&b| b == 0 || b == b' ') {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(&digits[..end]).ok()?, 8).ok()
}

/// Reads an octal or base-256 field.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] != 0x80 {
        return octal(field);
    }
    let (high, low) = field[1..].split_at(field.len() - 9);
    if high.iter().any(|&b| b != 0) {
        return None;
    }
    Some(u64::from_be_bytes(low.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_octal_or_base_256() {
        assert_eq!(number(b"00000000017\0"), Some(15));
        assert_eq!(number(b"         17 "), Some(15));
        assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1]), Some((3 << 32) + 1));
        assert_eq!(number(&[0x80, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]), None);
        assert_eq!(number(&[0xff; 12]), None);
        assert_eq!(number(b"99999999999\0"), None);
        assert_eq!(number(&[0; 12]), None);
    }

    #[test]
    fn pax_records_are_bounded_by_their_data() {
        assert_eq!(pax_path(b"12 path=a/b\n").as_deref(), Some(&b"a/b"[..]));
        assert_eq!(pax_path(b"99999999999999999999 path=a\n"), None);
        assert_eq!(pax_path(b"0 path=a\n"), None);
        assert_eq!(pax_path(b"3 path=a\n"), None);
    }
}
