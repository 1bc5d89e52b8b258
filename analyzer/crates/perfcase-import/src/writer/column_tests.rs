//! Columns come back as they were written, whatever is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Encoding;

use super::super::{QUEUE_LENGTH, Writer};
use crate::columns::SymbolBuilder;

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 16 ^ self.0 << 48
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// How many rows are NULL: none, all, many in a row, or some here and there.
fn is_null(pattern: u64, row: usize, random: &mut Random) -> bool {
    match pattern {
        0 => false,
        1 => true,
        2 => row / 3000 % 2 == 1,
        _ => random.below(pattern) == 0,
    }
}

fn numbers<T: ArrowPrimitiveType>(
    count: usize,
    pattern: u64,
    random: &mut Random,
    mut of: impl FnMut(usize, u64) -> T::Native,
) -> ArrayRef {
    let mut builder = PrimitiveBuilder::<T>::new();
    for row in 0..count {
        let value = of(row, random.next());
        builder.append_option((!is_null(pattern, row, random)).then_some(value));
    }
    Arc::new(builder.finish())
}

fn symbols(count: usize, pattern: u64, different: u64, length: usize, random: &mut Random) -> ArrayRef {
    let mut builder = SymbolBuilder::default();
    for row in 0..count {
        let text = format!("{:0length$}", random.below(different));
        builder.append_option((!is_null(pattern, row, random)).then_some(text.as_bytes()));
    }
    Arc::new(builder.finish())
}

/// A batch of all kinds of columns. `pattern` says how many rows are NULL, apart from those that may not.
fn batch(first: usize, count: usize, pattern: u64, random: &mut Random) -> RecordBatch {
    let truths = |random: &mut Random| {
        let mut builder = BooleanBuilder::new();
        for row in 0..count {
            let value = random.below(5) == 0;
            builder.append_option((!is_null(pattern, row, random)).then_some(value));
        }
        Arc::new(builder.finish()) as ArrayRef
    };
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("ts_ns", numbers::<Int64Type>(count, 0, random, |row, n| (first + row) as i64 * 1000 + (n % 7) as i64), false),
        (
            "sample_id",
            numbers::<UInt32Type>(count, pattern, random, |row, _| u32::MAX / 2 + (first + row) as u32),
            true,
        ),
        ("utid", numbers::<UInt32Type>(count, 0, random, |_, n| (n % 50) as u32), false),
        ("gap_ns", numbers::<Int64Type>(count, pattern, random, |_, n| n as i64), true),
        (
            "least",
            numbers::<Int64Type>(count, pattern, random, |_, n| if n % 2 == 0 { i64::MIN } else { i64::MAX }),
            true,
        ),
        ("period", numbers::<UInt64Type>(count, pattern, random, |_, n| n >> (n % 64)), true),
        ("mode", numbers::<Int8Type>(count, pattern, random, |_, n| n as i8), true),
        ("port", numbers::<UInt16Type>(count, pattern, random, |_, n| n as u16), true),
        ("few", numbers::<Int32Type>(count, pattern, random, |_, n| (n % 3) as i32 - 1), true),
        ("more", numbers::<Int32Type>(count, pattern, random, |row, n| (n % (1 + row as u64)) as i32), true),
        ("most", numbers::<UInt32Type>(count, pattern, random, |_, n| n as u32), true),
        ("same", numbers::<UInt32Type>(count, pattern, random, |_, _| 7), true),
        ("is_open", truths(random), true),
        ("state", symbols(count, pattern, 11, 1, random), true),
        ("file", symbols(count, pattern, 300, 4, random), true),
        ("path", symbols(count, pattern, 1 << 40, 60, random), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// What a file says at its end: the encodings of each column of the first group of rows, and the words of columns.
type End = (Vec<Vec<Encoding>>, BTreeMap<String, String>);

fn written(batches: &[RecordBatch]) -> (Vec<RecordBatch>, End) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(folder.path(), QUEUE_LENGTH);
    for batch in batches.iter().cloned() {
        writer.write("t", Box::new(move || Ok(batch))).unwrap();
    }
    let counts = writer.finish().unwrap();
    assert_eq!(counts["t"], batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>());
    let file = File::open(folder.path().join("t.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let columns = reader.metadata().row_group(0).columns();
    let encodings = columns.iter().map(|column| column.encodings().collect()).collect();
    let said = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let words = said.into_iter().filter_map(|entry| {
        Some((entry.key.strip_prefix("perfcase.values.")?.to_string(), entry.value.unwrap_or_default()))
    });
    let end = (encodings, words.collect());
    (reader.with_batch_size(1 << 20).build().unwrap().map(Result::unwrap).collect(), end)
}

/// Gives a column of all batches as texts.
fn texts(batches: &[RecordBatch], column: usize) -> Vec<Option<String>> {
    let mut all = Vec::new();
    for batch in batches {
        let array = batch.column(column);
        let symbols = array.as_any_dictionary_opt();
        let names: Option<&StringArray> = symbols.and_then(|symbols| symbols.values().as_any().downcast_ref());
        let keys = symbols.map(|symbols| symbols.normalized_keys());
        for row in 0..array.len() {
            let text = || match (names, &keys) {
                (Some(names), Some(keys)) => names.value(keys[row]).to_string(),
                _ => format!("{:?}", array.slice(row, 1)),
            };
            all.push(array.is_valid(row).then(text));
        }
    }
    all
}

fn agree(batches: &[RecordBatch]) -> Vec<Vec<Encoding>> {
    let (back, (encodings, mut words)) = written(batches);
    for (index, field) in batches[0].schema().fields().iter().enumerate() {
        let texts = (texts(batches, index), texts(&back, index));
        assert!(texts.0 == texts.1, "{}", field.name());
        let all: BTreeSet<String> = texts.0.into_iter().flatten().collect();
        let is_listed = batches[0].column(index).as_any_dictionary_opt().is_some()
            && all.len() <= 256
            && all.iter().all(|word| word.len() <= 40 && !word.contains('\n'));
        let lines = is_listed.then(|| all.into_iter().map(|word| word + "\n").collect());
        assert_eq!(words.remove(field.name()), lines, "{}", field.name());
    }
    assert!(words.is_empty());
    encodings
}

#[test]
fn columns_come_back_as_they_were_written() {
    let mut random = Random(1);
    for pattern in [0, 1, 2, 3, 200] {
        let mut first = 0;
        let counts = [1, 7, 300, 16_384 - 308, 5, 40_000];
        let batches = counts.map(|count| {
            first += count;
            batch(first - count, count, pattern, &mut random)
        });
        agree(&batches);
    }
}

#[test]
fn many_different_values_stand_in_the_rows() {
    let mut random = Random(2);
    let batches = [batch(0, 100_000, 0, &mut random), batch(100_000, 100_000, 3, &mut random)];
    let encodings = agree(&batches);
    let has = |name: &str, encoding| encodings[batches[0].schema().index_of(name).unwrap()].contains(&encoding);
    assert!(has("few", Encoding::RLE_DICTIONARY) && has("path", Encoding::RLE_DICTIONARY));
    assert!(!has("most", Encoding::RLE_DICTIONARY) && has("most", Encoding::PLAIN));
    assert!(has("gap_ns", Encoding::DELTA_BINARY_PACKED) && !has("gap_ns", Encoding::PLAIN));
}

#[test]
fn the_end_lists_the_words_of_columns_that_have_few() {
    let of = |words: &mut dyn Iterator<Item = Option<String>>| -> ArrayRef {
        let mut builder = SymbolBuilder::default();
        words.for_each(|word| builder.append_option(word.as_deref().map(str::as_bytes)));
        Arc::new(builder.finish())
    };
    // More rows than a group has: each group has words that the others have not.
    let count = 300_000;
    let columns: [(&str, ArrayRef, bool); 7] = [
        ("none", of(&mut (0..count).map(|_| None)), true),
        ("empty", of(&mut (0..count).map(|row| (row > 5).then(String::new))), true),
        ("last", of(&mut (0..count).map(|row| Some(if row + 1 < count { "a" } else { "b" }.to_string()))), true),
        ("as_many", of(&mut (0..count).map(|row| Some((row * 256 / count).to_string()))), true),
        ("one_more", of(&mut (0..count).map(|row| Some((row * 257 / count).to_string()))), true),
        ("long", of(&mut (0..count).map(|row| Some("x".repeat(if row + 1 < count { 40 } else { 41 })))), true),
        ("lines", of(&mut (0..count).map(|row| Some(if row == 7 { "a\nb" } else { "c" }.to_string()))), true),
    ];
    agree(&[RecordBatch::try_from_iter_with_nullable(columns).unwrap()]);
}

#[test]
fn a_column_without_null_takes_none() {
    let good = batch(0, 3, 0, &mut Random(3)).project(&[0]).unwrap();
    let bad: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![Some(1), None]));
    let bad = RecordBatch::try_from_iter_with_nullable([("ts_ns", bad, true)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(folder.path(), QUEUE_LENGTH);
    writer.write("t", Box::new(move || Ok(good))).unwrap();
    // The writer may have found the second batch before the third is queued.
    let _ = writer.write("t", Box::new(move || Ok(bad)));
    assert!(writer.finish().is_err());
}
