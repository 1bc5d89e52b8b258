//! The different values of a column of a group of rows.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

/// The most different numbers. More of them make their rows no smaller.
const MOST_NUMBERS: usize = 1 << 13;
/// The bytes of all different symbols from which on they stand in the rows.
const MOST_BYTES: usize = 1 << 20;

/// The key of no number.
const NONE: u16 = u16::MAX;

/// The numbers below this have their keys in a list.
const MOST_SMALL: u32 = 1 << 16;

/// Different numbers.
#[derive(Default)]
pub(super) struct Numbers {
    list: Vec<u32>,
    /// The keys of small numbers, as far as they have occurred.
    small: Vec<u16>,
    /// The keys of other numbers.
    others: HashMap<u32, u16>,
    /// The numbers that pages use.
    used: usize,
    is_given_up: bool,
}

impl Numbers {
    pub(super) fn list(&self) -> &[u32] {
        &self.list
    }

    /// Tells whether some numbers are not in the list.
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// Gives the keys of the numbers of a page. False when there are too many different ones: then, and from then on, they stand in
    /// the rows.
    pub(super) fn keys(&mut self, numbers: &[u32], keys: &mut Vec<u16>) -> bool {
        keys.clear();
        if self.is_given_up {
            return false;
        }
        for &number in numbers {
            let known = self.small.get(number as usize).copied().unwrap_or(NONE);
            keys.push(if known == NONE { self.other_key(number) } else { known });
        }
        self.is_given_up = self.list.len() > MOST_NUMBERS;
        if self.is_given_up {
            self.list.truncate(self.used);
            self.small = Vec::new();
            self.others = HashMap::new();
        }
        self.used = self.list.len();
        !self.is_given_up
    }

    fn other_key(&mut self, number: u32) -> u16 {
        let next = self.list.len() as u16;
        if number >= MOST_SMALL {
            let key = *self.others.entry(number).or_insert(next);
            if key == next {
                self.list.push(number);
            }
            return key;
        }
        if number as usize >= self.small.len() {
            self.small.resize((number as usize + 1).next_power_of_two(), NONE);
        }
        self.small[number as usize] = next;
        self.list.push(number);
        next
    }

    /// Gives the dictionary's page.
    pub(super) fn page(&self) -> Vec<u8> {
        self.list.iter().flat_map(|number| number.to_le_bytes()).collect()
    }
}

/// Different symbols.
#[derive(Default)]
pub(super) struct Symbols {
    /// Their bytes as they stand in a page, and the end of each there.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    keys: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// How many of them, and of their bytes, pages use.
    used: (usize, usize),
    /// The bytes and the number of those in the dictionary, once it was given up.
    given_up: Option<(Vec<u8>, usize)>,
    /// How often the keys have begun again.
    round: u32,
}

impl Symbols {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Gives a number that changes when all keys become invalid.
    pub(super) fn round(&self) -> u32 {
        self.round
    }

    pub(super) fn key(&mut self, symbol: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(symbol);
        let (bytes, ends) = (&self.bytes, &self.ends);
        if let Some(key) = self.keys.find(hash, |&key| of(bytes, ends, key) == symbol) {
            return *key;
        }
        let key = self.ends.len() as u32;
        self.bytes.extend_from_slice(&(symbol.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(symbol);
        self.ends.push(self.bytes.len());
        let (bytes, ends, hasher) = (&self.bytes, &self.ends, &self.hasher);
        self.keys.insert_unique(hash, key, |&key| hasher.hash_one(of(bytes, ends, key)));
        key
    }

    /// Tells whether a page has keys. When there are too many different symbols, and from then on, they stand in the rows.
    pub(super) fn are_kept(&mut self) -> bool {
        if self.given_up.is_none() && self.bytes.len() > MOST_BYTES {
            self.given_up = Some((self.bytes[..self.used.1].to_vec(), self.used.0));
        }
        self.given_up.is_none()
    }

    /// Writes a symbol as it stands in a row.
    pub(super) fn put_plain(&self, page: &mut Vec<u8>, key: u32) {
        let symbol = of(&self.bytes, &self.ends, key);
        page.extend_from_slice(&(symbol.len() as u32).to_le_bytes());
        page.extend_from_slice(symbol);
    }

    pub(super) fn end_page(&mut self) {
        self.used = (self.ends.len(), self.bytes.len());
        if self.given_up.is_some() {
            self.bytes.clear();
            self.ends.clear();
            self.keys.clear();
            self.round += 1;
        }
    }

    /// Gives all symbols; `None` once the dictionary was given up.
    pub(super) fn all(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let symbols = (0..self.ends.len() as u32).map(|key| of(&self.bytes, &self.ends, key));
        self.given_up.is_none().then_some(symbols)
    }

    /// Gives the dictionary's page, and the number of symbols there.
    pub(super) fn page(&self) -> (&[u8], usize) {
        self.given_up.as_ref().map_or((&self.bytes, self.ends.len()), |(bytes, count)| (bytes, *count))
    }
}

fn of<'a>(bytes: &'a [u8], ends: &[usize], key: u32) -> &'a [u8] {
    let key = key as usize;
    let start = if key == 0 { 0 } else { ends[key - 1] };
    &bytes[start + 4..ends[key]]
}
