//! Columns come back as they were written, whatever is in them.

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

fn written(batches: &[RecordBatch]) -> (Vec<RecordBatch>, Vec<Vec<Encoding>>) {
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
    (reader.with_batch_size(1 << 20).build().unwrap().map(Result::unwrap).collect(), encodings)
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
    let (back, encodings) = written(batches);
    for (index, field) in batches[0].schema().fields().iter().enumerate() {
        assert!(texts(batches, index) == texts(&back, index), "{}", field.name());
    }
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
