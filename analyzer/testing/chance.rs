//! Numbers and damage by chance, the same in every run.

/// A sequence of numbers.
pub struct Chance(u64);

impl Chance {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The next number, which is less than `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }

    /// A damaged copy of a text: cut, or with other bytes, or with lines that are doubled, joined, or have a huge number.
    pub fn damaged(&mut self, text: &[u8]) -> Vec<u8> {
        const MARKS: &[u8] = b" \t\n:=/-.,()[]\\0x\xff\0";
        let mut lines: Vec<Vec<u8>> = text.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        for _ in 0..1 + self.below(6) {
            let (at, other) = (self.below(lines.len()), self.below(lines.len()));
            let column = self.below(lines[at].len());
            match self.below(6) {
                0 => lines[at].truncate(column),
                1 => lines[at] = lines[other].clone(),
                2 => lines[at] = [&lines[at][..], b" ", &lines[other][..]].concat(),
                3 => drop(lines[at].splice(column..column, *b"99999999999999999999")),
                4 if column < lines[at].len() => lines[at][column] = MARKS[self.below(MARKS.len())],
                _ if column < lines[at].len() => lines[at][column] = self.below(256) as u8,
                _ => {}
            }
        }
        let mut bytes = lines.join(&b'\n');
        if self.below(4) == 0 {
            bytes.truncate(self.below(bytes.len()));
        }
        bytes
    }
}
