//! Words and numbers of the kernel's text files.

use std::borrow::Cow;
use std::str::FromStr;

/// The most lines of a file that are read.
const LINE_COUNT_MAX: usize = 1 << 18;

/// Gives the lines that are UTF-8.
#[inline]
pub fn lines(text: &[u8]) -> impl Iterator<Item = &str> {
    text.split(|&b| b == b'\n').take(LINE_COUNT_MAX).filter_map(|line| std::str::from_utf8(line).ok())
}

/// Reads the next word as a number.
#[inline]
pub fn number<'a, T: FromStr>(words: &mut impl Iterator<Item = &'a str>) -> Option<T> {
    words.next()?.parse().ok()
}

/// Splits a line at its last colon: names may contain colons (`eth0:1`).
#[inline]
pub fn named(line: &str) -> Option<(&str, &str)> {
    let at = line.rfind(':')?;
    Some((line[..at].trim(), &line[at + 1..]))
}

/// Replaces the recorder's octal escapes `\012`, `\040` and `\134` by their bytes.
pub fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\\012", "\n").replace("\\040", " ").replace("\\134", "\\"))
}
