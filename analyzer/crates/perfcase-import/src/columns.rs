//! Column builders that Arrow does not have in the form needed here.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int32Type};
use arrow_array::{ArrayRef, DictionaryArray, ListArray, PrimitiveArray, StringArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::Field;
use hashbrown::DefaultHashBuilder;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The most values that stay in the dictionary from one batch to the next. Without this bound every batch would contain
/// all names before it, even those that rarely repeat (file names).
const MOST_KEPT: usize = 8192;

/// A dictionary column for names that repeat: comm, states, call names.
///
/// Values are bytes of the kernel. Bytes that are not UTF-8 are replaced once, when a value is new.
pub struct SymbolBuilder {
    keys: Vec<i32>,
    valid: NullBufferBuilder,
    index: HashTable<i32>,
    values: Vec<Box<[u8]>>,
    hasher: DefaultHashBuilder,
    /// Keys of some of the last short values: most rows have one of few.
    recent: [(Short, i32); RECENT],
}

impl Default for SymbolBuilder {
    fn default() -> Self {
        SymbolBuilder::with_capacity(0)
    }
}

impl SymbolBuilder {
    /// Begins without rows, with room for some.
    pub fn with_capacity(rows: usize) -> Self {
        SymbolBuilder {
            keys: Vec::with_capacity(rows),
            valid: NullBufferBuilder::new(0),
            index: HashTable::new(),
            values: Vec::new(),
            hasher: DefaultHashBuilder::default(),
            recent: [(Short::NONE, 0); RECENT],
        }
    }

    /// Adds a value.
    #[inline]
    pub fn append_value(&mut self, value: &[u8]) {
        let key = match Short::of(value) {
            None => self.key(value),
            Some(short) => {
                let place = short.place();
                if self.recent[place].0 != short {
                    self.recent[place] = (short, self.key(value));
                }
                self.recent[place].1
            }
        };
        self.keys.push(key);
        self.valid.append_non_null();
    }

    /// Adds NULL.
    #[inline]
    pub fn append_null(&mut self) {
        self.keys.push(0);
        self.valid.append_null();
    }

    /// Adds a value or NULL.
    #[inline]
    pub fn append_option(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.append_value(value),
            None => self.append_null(),
        }
    }

    fn key(&mut self, value: &[u8]) -> i32 {
        let hash = self.hasher.hash_one(value);
        let values = &self.values;
        if let Some(key) = self.index.find(hash, |&key| *values[key as usize] == *value) {
            return *key;
        }
        let key = self.values.len() as i32;
        self.values.push(value.into());
        let (values, hasher) = (&self.values, &self.hasher);
        self.index.insert_unique(hash, key, |&key| hasher.hash_one(&*values[key as usize]));
        key
    }

    /// Takes the rows since the last call, as an array.
    pub fn finish(&mut self) -> DictionaryArray<Int32Type> {
        let mut values: Vec<_> = self.values.iter().map(|v| String::from_utf8_lossy(v)).collect();
        if values.is_empty() {
            values.push("".into());
        }
        let nulls = self.valid.finish();
        let keys = PrimitiveArray::<Int32Type>::new(take_rows(&mut self.keys).into(), nulls);
        let array = DictionaryArray::new(keys, Arc::new(StringArray::from_iter_values(values)));
        if self.values.len() > MOST_KEPT {
            self.values.clear();
            self.index.clear();
            self.recent = [(Short::NONE, 0); RECENT];
        }
        array
    }
}

/// The number of values whose keys are at hand.
const RECENT: usize = 16;

/// A value of up to 32 bytes, as numbers that are compared faster than bytes. Some of the bytes may be in two of them.
#[derive(Clone, Copy, Eq, PartialEq)]
struct Short {
    words: [u64; 4],
    length: usize,
}

impl Short {
    const NONE: Short = Short { words: [0; 4], length: usize::MAX };

    #[inline]
    fn of(value: &[u8]) -> Option<Short> {
        let length = value.len();
        let wide = |part: Option<&[u8; 8]>| part.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let half = |part: Option<&[u8; 4]>| part.map_or(0, |bytes| u32::from_le_bytes(*bytes).into());
        let words = match length {
            0 => [0; 4],
            1..4 => [value[0].into(), value[length / 2].into(), value[length - 1].into(), 0],
            4..8 => [half(value.first_chunk()), half(value.last_chunk()), 0, 0],
            8..=16 => [wide(value.first_chunk()), wide(value.last_chunk()), 0, 0],
            17..=32 => {
                let (first, last) = (&value[8..], &value[..length - 8]);
                [
                    wide(value.first_chunk()),
                    wide(value.last_chunk()),
                    wide(first.first_chunk()),
                    wide(last.last_chunk()),
                ]
            }
            _ => return None,
        };
        Some(Short { words, length })
    }

    #[inline]
    fn place(&self) -> usize {
        let [a, b, ..] = self.words;
        ((a ^ b.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize % RECENT
    }
}

/// A column of numbers.
///
/// A push takes a few instructions, because the decoding thread pushes millions of rows. A byte for each row says
/// whether it is NULL, and only from the first NULL on.
pub struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    valid: Vec<bool>,
}

impl<T: ArrowPrimitiveType> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { values: Vec::new(), valid: Vec::new() }
    }
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    /// Begins without rows, with room for some.
    pub fn with_capacity(rows: usize) -> Self {
        Numbers { values: Vec::with_capacity(rows), valid: Vec::new() }
    }

    /// Adds a number.
    #[inline]
    pub fn append_value(&mut self, value: T::Native) {
        self.values.push(value);
        if !self.valid.is_empty() {
            self.valid.push(true);
        }
    }

    /// Adds NULL.
    #[inline]
    pub fn append_null(&mut self) {
        if self.valid.is_empty() {
            self.first_null();
        }
        self.values.push(T::Native::default());
        self.valid.push(false);
    }

    #[cold]
    fn first_null(&mut self) {
        self.valid.reserve(self.values.capacity());
        self.valid.resize(self.values.len(), true);
    }

    /// Adds a number or NULL.
    #[inline]
    pub fn append_option(&mut self, value: Option<T::Native>) {
        match value {
            Some(value) => self.append_value(value),
            None => self.append_null(),
        }
    }

    /// Takes the rows since the last call: numbers, and which of them are not NULL.
    pub fn take(&mut self) -> (Vec<T::Native>, Option<NullBuffer>) {
        let valid = std::mem::take(&mut self.valid);
        let nulls = (!valid.is_empty()).then(|| NullBuffer::from(valid));
        (take_rows(&mut self.values), nulls)
    }

    /// Takes the rows since the last call, as an array.
    pub fn finish(&mut self) -> PrimitiveArray<T> {
        let (values, nulls) = self.take();
        PrimitiveArray::new(values.into(), nulls)
    }
}

/// Takes the rows of a batch, and makes room for the next. The next batch may be a little larger, and to move its rows
/// when the room is full takes longer than to add them.
pub fn take_rows<T>(rows: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(rows.len() + rows.len() / 4);
    std::mem::replace(rows, next)
}

/// The largest quantity in a capture, in any unit: 73 years in ns, two exbibytes. A larger one is damage, or a counter
/// that means "no limit". It is replaced by this bound and counted, so that no sum of two quantities and no difference
/// overflows.
pub const QUANTITY_MAX: i64 = 1 << 61;

/// A number that has a bound.
pub trait Bounded {
    /// Gives the nearest number within the bound, and counts it if it is another number.
    fn bounded(self, count: &mut u64) -> Self;
}

impl Bounded for i64 {
    #[inline]
    fn bounded(self, count: &mut u64) -> i64 {
        if self.unsigned_abs() <= QUANTITY_MAX as u64 {
            return self;
        }
        *count += 1;
        if self < 0 { -QUANTITY_MAX } else { QUANTITY_MAX }
    }
}

impl Bounded for u64 {
    #[inline]
    fn bounded(self, count: &mut u64) -> u64 {
        if self <= QUANTITY_MAX as u64 {
            return self;
        }
        *count += 1;
        QUANTITY_MAX as u64
    }
}

/// A list column of one primitive type.
pub struct ListOf<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    offsets: Vec<i32>,
    valid: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Default for ListOf<T> {
    fn default() -> Self {
        ListOf { values: Vec::new(), offsets: vec![0], valid: NullBufferBuilder::new(0) }
    }
}

impl<T: ArrowPrimitiveType> ListOf<T> {
    /// Adds a list.
    #[inline]
    pub fn append_value(&mut self, list: &[T::Native]) {
        self.values.extend_from_slice(list);
        self.offsets.push(self.values.len() as i32);
        self.valid.append_non_null();
    }

    /// Adds a list, element by element, or NULL.
    pub fn append_iter_or_null(&mut self, list: Option<impl Iterator<Item = T::Native>>) {
        let Some(list) = list else { return self.append_null() };
        self.values.extend(list);
        self.offsets.push(self.values.len() as i32);
        self.valid.append_non_null();
    }

    /// Adds NULL.
    #[inline]
    pub fn append_null(&mut self) {
        self.offsets.push(self.values.len() as i32);
        self.valid.append_null();
    }

    /// Adds a list or NULL.
    #[inline]
    pub fn append_option(&mut self, list: Option<&[T::Native]>) {
        match list {
            Some(list) => self.append_value(list),
            None => self.append_null(),
        }
    }

    /// Takes the rows since the last call, as an array.
    pub fn finish(&mut self) -> ListArray {
        let values = PrimitiveArray::<T>::new(ScalarBuffer::from(std::mem::take(&mut self.values)), None);
        let offsets = OffsetBuffer::new(std::mem::replace(&mut self.offsets, vec![0]).into());
        let field = Arc::new(Field::new("item", T::DATA_TYPE, false));
        ListArray::new(field, offsets, Arc::new(values) as ArrayRef, self.valid.finish())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;

    use super::*;

    #[test]
    fn short_values_have_keys_of_their_own() {
        // Values that differ in one byte, at each place, and in their length.
        let mut values: Vec<Vec<u8>> = Vec::new();
        for length in 0..40 {
            values.push(vec![b'a'; length]);
            for place in 0..length {
                values.push(vec![b'a'; length]);
                values.last_mut().unwrap()[place] = b'b';
            }
        }
        let mut builder = SymbolBuilder::default();
        for _ in 0..2 {
            values.iter().chain(values.iter().rev()).for_each(|value| builder.append_value(value));
        }
        let array = builder.finish();
        let names: &StringArray = array.values().as_any().downcast_ref().unwrap();
        assert_eq!(names.len(), values.len());
        let rows = values.iter().chain(values.iter().rev());
        let rows = rows.clone().chain(rows).map(|value| std::str::from_utf8(value).unwrap());
        assert!(array.keys().values().iter().map(|key| names.value(*key as usize)).eq(rows));
    }
}
