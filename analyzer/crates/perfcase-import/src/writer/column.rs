//! A column of numbers, truths or symbols: nearly all columns.
//!
//! It makes the same pages as Parquet's own writer, but works on arrays where that works on values. Symbols already have a
//! dictionary in each batch: only its values are looked up, and not those of all rows.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::dictionary::{Numbers, Symbols};
use super::encoding::{put_bits, put_differences, put_keys, put_levels, put_plain};

/// The rows of a page.
const PAGE_ROWS: usize = 1 << 14;
/// The number of threads in a group up to which their filter is exact enough, and how exact. It decides the size of the filter.
const GROUP_THREADS: u64 = 1024;
const FILTER_MISSES: f64 = 0.05;

/// What a thread needs to compress pages.
pub(super) struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    /// The page before it is compressed.
    page: Vec<u8>,
    keys: Vec<u16>,
}

impl Compressor {
    pub(super) fn new() -> std::io::Result<Compressor> {
        let zstd = zstd::bulk::Compressor::new(ZstdLevel::default().compression_level())?;
        Ok(Compressor { zstd, page: Vec::new(), keys: Vec::new() })
    }
}

/// The values that wait for their page, without NULL.
enum Values {
    /// Numbers of up to 32 bits.
    Narrow(Vec<u32>, Numbers),
    /// Numbers of up to 32 bits that rise.
    Rising(Vec<i32>),
    Wide(Vec<i64>),
    Truths(BooleanBufferBuilder),
    Symbols(Vec<u32>, Symbols),
}

/// The symbols of columns that have few, by the name of the column. `None`: there are too many.
pub(super) type Words = BTreeMap<String, Option<BTreeSet<Vec<u8>>>>;

/// The most symbols of a column that the end of a file lists, and the most bytes of one.
const MOST_WORDS: usize = 256;
const MOST_WORD_BYTES: usize = 40;

/// A column of a group of rows.
pub(super) struct Column {
    description: ColumnDescPtr,
    values: Values,
    /// Which rows of the page are not NULL, if some are.
    valid: Option<BooleanBufferBuilder>,
    page_rows: usize,
    is_compressed: bool,
    /// Whether readers get a filter of the values.
    is_filtered: bool,
    /// The least and the greatest value so far, where readers get them.
    bounds: Option<(i64, i64)>,
    /// The pages before, and their size before they were compressed.
    pages: Vec<u8>,
    plain_bytes: usize,
    encodings: Vec<Encoding>,
    rows: usize,
    null_count: u64,
}

impl Column {
    /// Begins a column; `None` for one of another type.
    pub(super) fn begin(field: &Field, description: &ColumnDescPtr) -> Option<Column> {
        let name = field.name().as_str();
        let has_bounds = matches!(name, "ts_ns" | "sample_id");
        let values = match field.data_type() {
            DataType::Int64 | DataType::UInt64 => Values::Wide(Vec::new()),
            of if of.is_integer() && has_bounds => Values::Rising(Vec::new()),
            of if of.is_integer() => Values::Narrow(Vec::new(), Numbers::default()),
            DataType::Boolean => Values::Truths(BooleanBufferBuilder::new(0)),
            DataType::Dictionary(key, value) if (&**key, &**value) == (&DataType::Int32, &DataType::Utf8) => {
                Values::Symbols(Vec::new(), Symbols::default())
            }
            _ => return None,
        };
        Some(Column {
            is_compressed: !(matches!(values, Values::Wide(_)) && name.ends_with("_ns")),
            description: description.clone(),
            values,
            valid: None,
            page_rows: 0,
            is_filtered: name == "utid",
            bounds: has_bounds.then_some((i64::MAX, i64::MIN)),
            pages: Vec::new(),
            plain_bytes: 0,
            encodings: vec![Encoding::RLE],
            rows: 0,
            null_count: 0,
        })
    }

    /// Adds rows.
    pub(super) fn write(&mut self, array: &ArrayRef, compressor: &mut Compressor) -> Result<()> {
        match array.data_type() {
            DataType::Int8 => self.write_narrow::<Int8Type>(array, compressor, |value| value as u32),
            DataType::Int16 => self.write_narrow::<Int16Type>(array, compressor, |value| value as u32),
            DataType::Int32 => self.write_narrow::<Int32Type>(array, compressor, |value| value as u32),
            DataType::UInt8 => self.write_narrow::<UInt8Type>(array, compressor, u32::from),
            DataType::UInt16 => self.write_narrow::<UInt16Type>(array, compressor, u32::from),
            DataType::UInt32 => self.write_narrow::<UInt32Type>(array, compressor, |value| value),
            DataType::Int64 => self.write_wide::<Int64Type>(array, compressor, |value| value),
            DataType::UInt64 => self.write_wide::<UInt64Type>(array, compressor, |value| value as i64),
            DataType::Boolean => self.write_truths(array, compressor),
            _ => self.write_symbols(array, compressor),
        }
    }

    fn write_narrow<T: ArrowPrimitiveType>(
        &mut self,
        array: &ArrayRef,
        compressor: &mut Compressor,
        of: impl Fn(T::Native) -> u32 + Copy,
    ) -> Result<()> {
        let array = array.as_primitive_opt::<T>().ok_or_else(unexpected)?;
        self.in_pages(array.len(), array.nulls(), compressor, |values, bounds, from, count, nulls| {
            let part = array.values()[from..from + count].iter();
            match values {
                Values::Narrow(values, _) => extend(values, part.map(|value| of(*value)), nulls),
                Values::Rising(values) => {
                    let old = values.len();
                    extend(values, part.map(|value| of(*value) as i32), nulls);
                    values[old..].iter().for_each(|value| widen(bounds, i64::from(*value as u32)));
                }
                _ => {}
            }
        })
    }

    fn write_wide<T: ArrowPrimitiveType>(
        &mut self,
        array: &ArrayRef,
        compressor: &mut Compressor,
        of: impl Fn(T::Native) -> i64 + Copy,
    ) -> Result<()> {
        let array = array.as_primitive_opt::<T>().ok_or_else(unexpected)?;
        self.in_pages(array.len(), array.nulls(), compressor, |values, bounds, from, count, nulls| {
            if let Values::Wide(values) = values {
                let old = values.len();
                extend(values, array.values()[from..from + count].iter().map(|value| of(*value)), nulls);
                if bounds.is_some() {
                    values[old..].iter().for_each(|value| widen(bounds, *value));
                }
            }
        })
    }

    fn write_truths(&mut self, array: &ArrayRef, compressor: &mut Compressor) -> Result<()> {
        let array = array.as_boolean_opt().ok_or_else(unexpected)?;
        self.in_pages(array.len(), array.nulls(), compressor, |values, _, from, count, nulls| {
            if let Values::Truths(values) = values {
                let part = array.values().slice(from, count);
                match nulls {
                    None => values.append_buffer(&part),
                    Some(nulls) => nulls.valid_indices().for_each(|row| values.append(part.value(row))),
                }
            }
        })
    }

    fn write_symbols(&mut self, array: &ArrayRef, compressor: &mut Compressor) -> Result<()> {
        let array = array.as_dictionary_opt::<Int32Type>().ok_or_else(unexpected)?;
        let names = array.values().as_string_opt::<i32>().ok_or_else(unexpected)?;
        let keys = array.keys();
        // The key here of each key there, once it was looked up; it changes when a dictionary is given up.
        let mut known: Vec<u32> = Vec::new();
        let mut round = 0;
        self.in_pages(keys.len(), keys.nulls(), compressor, |values, _, from, count, nulls| {
            if let Values::Symbols(values, symbols) = values {
                if known.is_empty() || symbols.round() != round {
                    round = symbols.round();
                    known.clear();
                    known.resize(names.len(), u32::MAX);
                }
                let mut key_of = |key: i32| {
                    let known = &mut known[key as usize];
                    if *known == u32::MAX {
                        *known = symbols.key(names.value(key as usize).as_bytes());
                    }
                    *known
                };
                let part = &keys.values()[from..from + count];
                match nulls {
                    None => values.extend(part.iter().map(|key| key_of(*key))),
                    Some(nulls) => values.extend(nulls.valid_indices().map(|row| key_of(part[row]))),
                }
            }
        })
    }

    /// Adds rows in parts of a page.
    fn in_pages(
        &mut self,
        count: usize,
        nulls: Option<&NullBuffer>,
        compressor: &mut Compressor,
        mut add: impl FnMut(&mut Values, &mut Option<(i64, i64)>, usize, usize, Option<&NullBuffer>),
    ) -> Result<()> {
        let mut at = 0;
        while at < count {
            let part = (count - at).min(PAGE_ROWS - self.page_rows);
            let nulls = nulls.map(|nulls| nulls.slice(at, part)).filter(|nulls| nulls.null_count() > 0);
            self.note_valid(nulls.as_ref(), part)?;
            add(&mut self.values, &mut self.bounds, at, part, nulls.as_ref());
            self.page_rows += part;
            at += part;
            if self.page_rows == PAGE_ROWS {
                self.end_page(compressor)?;
            }
        }
        Ok(())
    }

    fn note_valid(&mut self, nulls: Option<&NullBuffer>, count: usize) -> Result<()> {
        match (nulls, &mut self.valid) {
            (None, None) => {}
            (None, Some(valid)) => valid.append_n(count, true),
            (Some(_), _) if self.description.max_def_level() == 0 => {
                return Err(ParquetError::General(format!("{} may not be NULL", self.description.name())));
            }
            (Some(nulls), valid) => {
                let before = self.page_rows;
                let valid = valid.get_or_insert_with(|| {
                    let mut valid = BooleanBufferBuilder::new(PAGE_ROWS);
                    valid.append_n(before, true);
                    valid
                });
                valid.append_buffer(nulls.inner());
                self.null_count += nulls.null_count() as u64;
            }
        }
        Ok(())
    }

    fn end_page(&mut self, compressor: &mut Compressor) -> Result<()> {
        let count = take(&mut self.page_rows);
        if count == 0 {
            return Ok(());
        }
        let Compressor { zstd, page, keys } = compressor;
        page.clear();
        if self.description.max_def_level() > 0 {
            put_levels(page, self.valid.take().map(BooleanBufferBuilder::build).as_ref(), count);
        }
        let encoding = match &mut self.values {
            Values::Narrow(values, numbers) => {
                // Readers want a dictionary where a page says that it has keys.
                let encoding = if !values.is_empty() && numbers.keys(values, keys) {
                    put_keys(page, keys, numbers.list().len());
                    Encoding::RLE_DICTIONARY
                } else {
                    put_plain(page, values.iter().map(|value| value.to_le_bytes()));
                    Encoding::PLAIN
                };
                values.clear();
                encoding
            }
            Values::Rising(values) => {
                put_differences(page, values);
                values.clear();
                Encoding::DELTA_BINARY_PACKED
            }
            Values::Wide(values) => {
                put_differences(page, values);
                values.clear();
                Encoding::DELTA_BINARY_PACKED
            }
            Values::Truths(values) => {
                put_bits(page, &values.finish());
                Encoding::PLAIN
            }
            Values::Symbols(values, symbols) => {
                let encoding = if !values.is_empty() && symbols.are_kept() {
                    put_keys(page, values, symbols.len());
                    Encoding::RLE_DICTIONARY
                } else {
                    values.iter().for_each(|key| symbols.put_plain(page, *key));
                    Encoding::PLAIN
                };
                values.clear();
                symbols.end_page();
                encoding
            }
        };
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
        let page = stored(page, self.is_compressed.then_some(zstd), |buf| Page::DataPage {
            buf,
            num_values: count as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        self.plain_bytes += write_page(&mut self.pages, page)?;
        self.rows += count;
        Ok(())
    }

    /// Adds its symbols to those of other groups of rows, unless they are many.
    pub(super) fn add_words(&self, words: &mut Words) {
        let Values::Symbols(_, symbols) = &self.values else { return };
        let entry = words.entry(self.description.name().to_string()).or_insert_with(|| Some(BTreeSet::new()));
        let Some(all) = symbols.all() else { return *entry = None };
        for symbol in all {
            let Some(known) = entry else { return };
            if !known.contains(symbol) {
                known.insert(symbol.to_vec());
            }
            if known.len() > MOST_WORDS || symbol.len() > MOST_WORD_BYTES {
                *entry = None;
            }
        }
    }

    /// Ends the column. Gives its bytes, and what the file's end says about them.
    pub(super) fn end(mut self, compressor: &mut Compressor) -> Result<(Bytes, ColumnCloseResult)> {
        self.end_page(compressor)?;
        let mut chunk = Vec::new();
        let of_numbers;
        let (dictionary, count) = match &self.values {
            Values::Narrow(_, numbers) => {
                of_numbers = numbers.page();
                (&of_numbers[..], numbers.list().len())
            }
            Values::Symbols(_, symbols) => symbols.page(),
            _ => (&[][..], 0),
        };
        if count > 0 {
            let page = stored(dictionary, Some(&mut compressor.zstd), |buf| Page::DictionaryPage {
                buf,
                num_values: count as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            })?;
            self.plain_bytes += write_page(&mut chunk, page)?;
            self.encodings.push(Encoding::PLAIN);
        }
        let pages_at = chunk.len() as i64;
        chunk.append(&mut self.pages);
        let compression =
            if self.is_compressed { Compression::ZSTD(ZstdLevel::default()) } else { Compression::UNCOMPRESSED };
        let mut about = ColumnChunkMetaData::builder(self.description.clone())
            .set_compression(compression)
            .set_encodings(self.encodings)
            .set_num_values(self.rows as i64)
            .set_total_compressed_size(chunk.len() as i64)
            .set_total_uncompressed_size(self.plain_bytes as i64)
            .set_data_page_offset(pages_at)
            .set_dictionary_page_offset((pages_at > 0).then_some(0));
        if let Some((least, greatest)) = self.bounds.filter(|(least, greatest)| least <= greatest) {
            let nulls = Some(self.null_count);
            about = about.set_statistics(match self.values {
                Values::Rising(_) => Statistics::int32(Some(least as i32), Some(greatest as i32), None, nulls, false),
                _ => Statistics::int64(Some(least), Some(greatest), None, nulls, false),
            });
        }
        let bloom_filter = match &self.values {
            Values::Narrow(_, numbers) if self.is_filtered && !numbers.is_given_up() => Some(filter(numbers)?),
            _ => None,
        };
        let close = ColumnCloseResult {
            bytes_written: chunk.len() as u64,
            rows_written: self.rows as u64,
            metadata: about.build()?,
            bloom_filter,
            column_index: None,
            offset_index: None,
        };
        Ok((chunk.into(), close))
    }
}

fn unexpected() -> ParquetError {
    ParquetError::General("a batch has a column of another type than the batches before".into())
}

/// Adds the values that are not NULL.
fn extend<T: Copy + Default>(values: &mut Vec<T>, part: impl ExactSizeIterator<Item = T>, nulls: Option<&NullBuffer>) {
    let Some(nulls) = nulls else { return values.extend(part) };
    let mut at = values.len();
    values.resize(at + part.len(), T::default());
    for (value, is_valid) in part.zip(nulls.iter()) {
        values[at] = value;
        at += usize::from(is_valid);
    }
    values.truncate(at);
}

fn widen(bounds: &mut Option<(i64, i64)>, value: i64) {
    if let Some((least, greatest)) = bounds {
        *least = value.min(*least);
        *greatest = value.max(*greatest);
    }
}

/// Makes a page of bytes, which it compresses if it is given what does that.
fn stored(
    bytes: &[u8],
    zstd: Option<&mut zstd::bulk::Compressor<'_>>,
    page: impl FnOnce(Bytes) -> Page,
) -> Result<CompressedPage> {
    let stored = match zstd {
        Some(zstd) => zstd.compress(bytes)?,
        None => bytes.to_vec(),
    };
    Ok(CompressedPage::new(page(stored.into()), bytes.len()))
}

/// Adds a page with its header. Gives the bytes that it would have if it were not compressed.
fn write_page(pages: &mut Vec<u8>, page: CompressedPage) -> Result<usize> {
    let mut sink = TrackedWrite::new(pages);
    let mut writer = SerializedPageWriter::new(&mut sink);
    let written = writer.write_page(page)?;
    writer.close()?;
    Ok(written.uncompressed_size)
}

/// Gives a filter of the numbers of a column.
fn filter(numbers: &Numbers) -> Result<Sbbf> {
    let mut filter = Sbbf::new_with_ndv_fpp(GROUP_THREADS, FILTER_MISSES)?;
    numbers.list().iter().for_each(|number| filter.insert(&(*number as i32)));
    filter.fold_to_target_fpp(FILTER_MISSES);
    Ok(filter)
}

#[cfg(test)]
#[path = "column_tests.rs"]
mod tests;
