//! Reading imported tables back.

use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// One table, all of it.
pub struct Table {
    /// Its rows.
    pub batches: Vec<RecordBatch>,
}

impl Table {
    /// Reads `<folder>/<name>.parquet`.
    pub fn read(folder: &Path, name: &str) -> Table {
        let file = File::open(folder.join(format!("{name}.parquet"))).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().with_batch_size(1 << 20).build().unwrap();
        Table { batches: reader.map(Result::unwrap).collect() }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn cell(&self, column: &str, mut row: usize) -> Option<(ArrayRef, usize)> {
        for batch in &self.batches {
            if row < batch.num_rows() {
                let array = batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}"));
                return (!array.is_null(row)).then(|| (array.clone(), row));
            }
            row -= batch.num_rows();
        }
        panic!("no row {row}");
    }

    /// An unsigned number.
    pub fn u64(&self, column: &str, row: usize) -> Option<u64> {
        let (array, row) = self.cell(column, row)?;
        use arrow_schema::DataType::*;
        Some(match array.data_type() {
            UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
            UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
            UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
            UInt64 => array.as_primitive::<UInt64Type>().value(row),
            other => panic!("{column} is {other}"),
        })
    }

    /// A signed number.
    pub fn i64(&self, column: &str, row: usize) -> Option<i64> {
        let (array, row) = self.cell(column, row)?;
        use arrow_schema::DataType::*;
        Some(match array.data_type() {
            Int32 => array.as_primitive::<Int32Type>().value(row).into(),
            Int64 => array.as_primitive::<Int64Type>().value(row),
            other => panic!("{column} is {other}"),
        })
    }

    /// A text, dictionary or not.
    pub fn text(&self, column: &str, row: usize) -> Option<String> {
        let (array, row) = self.cell(column, row)?;
        use arrow_schema::DataType::*;
        Some(match array.data_type() {
            Utf8 => array.as_string::<i32>().value(row).to_string(),
            _ => {
                let dictionary = array.as_any_dictionary();
                let key = dictionary.normalized_keys()[row];
                dictionary.values().as_string::<i32>().value(key).to_string()
            }
        })
    }

    /// A list of u32.
    pub fn list(&self, column: &str, row: usize) -> Vec<u32> {
        let Some((array, row)) = self.cell(column, row) else { return Vec::new() };
        array.as_list::<i32>().value(row).as_primitive::<UInt32Type>().values().to_vec()
    }
}
