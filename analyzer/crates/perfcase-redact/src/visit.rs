//! What is in an event: each place is visited twice. First its value is collected, then it is replaced by one of the same length.

use std::collections::{HashMap, HashSet};

use perfcase_decode::perf_data::bytes::{ByteOrder, until_nul};
use perfcase_symbols::unwind::Mark;

/// The name of a field: its table and its column.
pub type Key = (String, String);

/// Addresses of the kernel are from the first to below the second: below them are programs, above them are the vsyscall page, errors
/// and marks of callchains.
const KERNEL: std::ops::Range<u64> = 0xffff_0000_0000_0000..0xffff_ffff_ff00_0000;

/// How often something was removed, because nothing can stand for it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Samples whose copy of a stack or of registers is zeros now.
    pub memory: u64,
    /// Events without a format: their bytes are zeros now.
    pub unknown: u64,
    /// Callchain entries and other addresses of the kernel that were moved.
    pub moved: u64,
}

/// What stands for the values.
#[derive(Debug, Default)]
pub struct Changes {
    /// By the number of the field: value, and what stands for it.
    pub texts: Vec<HashMap<Vec<u8>, Vec<u8>>>,
    /// The bytes of addresses.
    pub addresses: HashMap<Vec<u8>, Vec<u8>>,
    /// Added to each address of the kernel.
    pub shift: u64,
}

/// Collects the values of events, and replaces them when it has [`Changes`].
#[derive(Debug, Default)]
pub struct Visitor {
    keys: Vec<Key>,
    numbers: HashMap<Key, usize>,
    /// The values of each field.
    pub texts: Vec<HashSet<Vec<u8>>>,
    /// The bytes of addresses.
    pub addresses: HashSet<Vec<u8>>,
    /// What is replaced; `None` while values are collected.
    pub changes: Option<Changes>,
    /// What was removed.
    pub removed: Removed,
    /// What was found in copies of stacks.
    pub unwound: Unwound,
}

/// By the bytes of a file and the place of a copy of a stack in it: its user frames, and how they end.
pub type Unwound = HashMap<(usize, usize), (Vec<u64>, Mark)>;

impl Visitor {
    /// Gives the number of a field.
    pub fn number(&mut self, table: &str, column: &str) -> usize {
        let key = (table.to_owned(), column.to_owned());
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let number = self.keys.len();
        self.keys.push(key.clone());
        self.numbers.insert(key, number);
        self.texts.push(HashSet::new());
        number
    }

    /// Gives the fields by their numbers.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Visits a text. Behind its NUL may be what the memory held before.
    pub fn text(&mut self, number: usize, place: &mut [u8]) {
        let length = until_nul(place).len();
        let (text, rest) = place.split_at_mut(length);
        self.bytes(number, text);
        if self.changes.is_some() {
            rest.fill(0);
        }
    }

    /// Visits bytes of a field.
    pub fn bytes(&mut self, number: usize, place: &mut [u8]) {
        match &self.changes {
            None if !self.texts[number].contains(&*place) => drop(self.texts[number].insert(place.to_vec())),
            None => {}
            Some(changes) => replace(changes.texts.get(number).and_then(|of| of.get(&*place)), place),
        }
    }

    /// Visits the bytes of an IP or MAC address.
    pub fn address(&mut self, place: &mut [u8]) {
        match &self.changes {
            None => drop(self.addresses.insert(place.to_vec())),
            Some(changes) => replace(changes.addresses.get(&*place), place),
        }
    }

    /// Moves each word that is an address of the kernel.
    pub fn words(&mut self, place: &mut [u8], order: ByteOrder) {
        let Some(changes) = &self.changes else { return };
        for word in place.chunks_exact_mut(8) {
            let Some(value) = order.u64(word, 0).filter(|value| KERNEL.contains(value)) else { continue };
            let moved = value.wrapping_add(changes.shift);
            word.copy_from_slice(&match order {
                ByteOrder::Little => moved.to_le_bytes(),
                ByteOrder::Big => moved.to_be_bytes(),
            });
            self.removed.moved += 1;
        }
    }

    /// Makes zeros of bytes that nothing can stand for. Tells whether it did.
    pub fn erase(&mut self, place: &mut [u8]) -> bool {
        let is_some = self.changes.is_some() && place.iter().any(|&byte| byte != 0);
        if is_some {
            place.fill(0);
        }
        is_some
    }
}

fn replace(made: Option<&Vec<u8>>, place: &mut [u8]) {
    if let Some(made) = made.filter(|made| made.len() == place.len()) {
        place.copy_from_slice(made);
    }
}
