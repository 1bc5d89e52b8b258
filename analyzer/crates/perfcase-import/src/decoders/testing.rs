//! Rows of a table as text, for the tests of decoders.

use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, StringArray};

use crate::tables::{Table, TableSpec};

/// Takes a table's rows: the named columns of each, separated by spaces; NULL is `-`.
pub(crate) fn rows(table: &mut dyn Table, columns: &str) -> Vec<String> {
    let spec = TableSpec::find(table.name()).unwrap();
    let (length, arrays) = (table.len(), table.take());
    let index = |name: &str| spec.columns.iter().position(|c| c.name == name).unwrap_or_else(|| panic!("no {name}"));
    let picked: Vec<&ArrayRef> = columns.split(' ').map(|name| &arrays[index(name)]).collect();
    (0..length).map(|row| picked.iter().map(|a| cell(a, row)).collect::<Vec<_>>().join(" ")).collect()
}

fn cell(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "-".into();
    }
    let any = array.as_any();
    if let Some(texts) = any.downcast_ref::<DictionaryArray<Int32Type>>() {
        return match texts.keys().is_null(row) {
            true => "-".into(),
            false => cell(texts.values(), texts.keys().value(row) as usize),
        };
    }
    if let Some(texts) = any.downcast_ref::<StringArray>() {
        return texts.value(row).to_string();
    }
    if let Some(flags) = any.downcast_ref::<BooleanArray>() {
        return flags.value(row).to_string();
    }
    number::<Int64Type>(array, row)
        .or_else(|| number::<UInt64Type>(array, row))
        .or_else(|| number::<UInt32Type>(array, row))
        .or_else(|| number::<Int32Type>(array, row))
        .or_else(|| number::<UInt16Type>(array, row))
        .or_else(|| number::<UInt8Type>(array, row))
        .or_else(|| number::<Int8Type>(array, row))
        .or_else(|| number::<Float64Type>(array, row))
        .unwrap_or_else(|| panic!("no text for {}", array.data_type()))
}

fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> Option<String>
where
    T::Native: std::fmt::Display,
{
    Some(array.as_any().downcast_ref::<PrimitiveArray<T>>()?.value(row).to_string())
}
