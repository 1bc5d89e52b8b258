//! The different values of a column of a group of rows.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The most different numbers. More of them make their rows no smaller.
const MOST_NUMBERS: usize = 1 << 13;
/// The bytes of all different symbols from which on they stand in the rows.
const MOST_BYTES: usize = 1 << 20;

/// The key of no number.
const NONE: u32 = u32::MAX;

/// Different numbers.
#[derive(Default)]
pub(super) struct Numbers {
    list: Vec<u32>,
    /// Keys by a hash of their numbers, at the first free place from there on. At most half of the places are taken.
    places: Vec<u32>,
    hasher: DefaultHashBuilder,
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

    /// Gives the keys of numbers. False when there are too many different ones: then, and from then on, they stand in the rows.
    pub(super) fn keys(&mut self, numbers: &[u32], keys: &mut Vec<u32>) -> bool {
        keys.clear();
        if self.is_given_up {
            return false;
        }
        let mut last = (NONE, NONE);
        for &number in numbers {
            if last.0 != number || last.1 == NONE {
                last = (number, self.key(number));
            }
            keys.push(last.1);
        }
        self.is_given_up = self.list.len() > MOST_NUMBERS;
        if self.is_given_up {
            self.list.truncate(self.used);
            self.places = Vec::new();
        }
        self.used = self.list.len();
        !self.is_given_up
    }

    #[inline]
    fn key(&mut self, number: u32) -> u32 {
        let mask = self.places.len().wrapping_sub(1);
        let mut place = self.hasher.hash_one(number) as usize & mask;
        while let Some(&key) = self.places.get(place) {
            match self.list.get(key as usize) {
                Some(&known) if known == number => return key,
                Some(_) => place = (place + 1) & mask,
                None => break,
            }
        }
        self.add(number, place)
    }

    #[cold]
    fn add(&mut self, number: u32, place: usize) -> u32 {
        let key = self.list.len() as u32;
        self.list.push(number);
        if self.list.len() * 2 <= self.places.len() {
            self.places[place] = key;
            return key;
        }
        let mask = (self.list.len() * 4).next_power_of_two() - 1;
        self.places.clear();
        self.places.resize(mask + 1, NONE);
        for (key, number) in (0..).zip(&self.list) {
            let mut place = self.hasher.hash_one(*number) as usize & mask;
            while self.places[place] != NONE {
                place = (place + 1) & mask;
            }
            self.places[place] = key;
        }
        key
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
