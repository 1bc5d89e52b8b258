//! Many values replaced, or found, in one pass over the bytes.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use aho_corasick::{AhoCorasick, BuildError};
use perfcase_archive::Content;

/// A value, and what stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The bytes to find.
    pub from: Vec<u8>,
    /// The bytes that replace them.
    pub to: Vec<u8>,
    /// Whether the value counts only as a word of its own: `guest` is none in `xen_guest_init`.
    pub is_word: bool,
}

/// Values that are found together.
#[derive(Debug)]
pub struct Substitution {
    pairs: Vec<Pair>,
    automaton: AhoCorasick,
    longest: usize,
}

impl Substitution {
    /// Prepares the search. Empty values are never found.
    pub fn new(pairs: Vec<Pair>) -> Result<Substitution, BuildError> {
        let pairs: Vec<Pair> = pairs.into_iter().filter(|pair| !pair.from.is_empty()).collect();
        let automaton = AhoCorasick::new(pairs.iter().map(|pair| &pair.from))?;
        let longest = pairs.iter().map(|pair| pair.from.len()).max().unwrap_or(0);
        Ok(Substitution { pairs, automaton, longest })
    }

    /// Replaces the values: the one that begins first, and of those the longest.
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        // A vector takes everything.
        let _ = self.write(bytes, &mut out);
        out
    }

    /// Replaces the values in a file. Not all of it is in memory.
    pub fn apply_file(&self, path: &Path) -> io::Result<()> {
        let content = Content::map_file(path)?;
        if self.find(&content).is_none() {
            return Ok(());
        }
        let made = crate::hidden(path);
        let mut out = BufWriter::new(File::create(&made)?);
        self.write(&content, &mut out)?;
        out.flush()?;
        fs::rename(&made, path)
    }

    /// Gives the first of these values that stands in the bytes, and where.
    pub fn find(&self, bytes: &[u8]) -> Option<(&Pair, usize)> {
        self.places(bytes).next().map(|(start, _, index)| (&self.pairs[index], start))
    }

    /// Does so in a file.
    pub fn find_file(&self, path: &Path) -> io::Result<Option<(&Pair, usize)>> {
        Ok(self.find(&Content::map_file(path)?))
    }

    fn write(&self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        // Places come by their ends. One that begins earlier may still come while a longer value can end later.
        let mut waiting: VecDeque<(usize, usize, usize)> = VecDeque::new();
        let mut done = 0;
        for place @ (_, end, _) in self.places(bytes) {
            let at = waiting.partition_point(|other| (other.0, usize::MAX - other.1) < (place.0, usize::MAX - place.1));
            waiting.insert(at, place);
            while let Some(&first) = waiting.front().filter(|first| first.0 + self.longest < end) {
                waiting.pop_front();
                done = self.put(bytes, done, first, out)?;
            }
        }
        for place in waiting {
            done = self.put(bytes, done, place, out)?;
        }
        out.write_all(&bytes[done..])
    }

    fn put(
        &self,
        bytes: &[u8],
        done: usize,
        (start, end, index): (usize, usize, usize),
        out: &mut impl Write,
    ) -> io::Result<usize> {
        if start < done {
            return Ok(done);
        }
        out.write_all(&bytes[done..start])?;
        out.write_all(&self.pairs[index].to)?;
        Ok(end)
    }

    fn places<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
        let all = self.automaton.find_overlapping_iter(bytes);
        all.map(|found| (found.start(), found.end(), found.pattern().as_usize()))
            .filter(|&(start, end, index)| !self.pairs[index].is_word || is_word(bytes, start, end))
    }
}

/// Whether no letter, digit or underscore stands beside a place.
fn is_word(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_letter = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    !(is_letter(end) || start > 0 && is_letter(start - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str, bool)]) -> Substitution {
        let pair = |&(from, to, is_word): &(&str, &str, bool)| Pair { from: from.into(), to: to.into(), is_word };
        Substitution::new(pairs.iter().map(pair).collect()).unwrap()
    }

    #[test]
    fn the_longest_value_wins_and_words_stand_alone() {
        let all =
            of(&[("/home/bob", "/home/x1y", false), ("/home/bob/a", "/home/x1y/z", false), ("guest", "h7k2m", true)]);
        let text = b"/home/bob/a /home/bob guest xen_guest_init guest-init \xffguest\0";
        assert_eq!(all.apply(text), b"/home/x1y/z /home/x1y h7k2m xen_guest_init h7k2m-init \xffh7k2m\0");
        assert_eq!(all.find(b"xen_guest_init"), None);
    }

    #[test]
    fn a_longer_value_that_is_no_word_hides_no_shorter_one() {
        let all = of(&[("ab cd", "AB CD", true), ("ab", "xy", true)]);
        assert_eq!(all.apply(b"ab cdef"), b"xy cdef");
    }

    #[test]
    fn found_is_what_apply_would_replace() {
        let all = of(&[("s3cr.t*[", "aaaaaaaa", false)]);
        let (pair, at) = all.find(b"\x00\x01-p=s3cr.t*[x").unwrap();
        assert_eq!((pair.to.as_slice(), at), (&b"aaaaaaaa"[..], 5));
        assert!(all.find(&all.apply(b"\x00\x01-p=s3cr.t*[x")).is_none());
    }
}
