//! Sorts rows by time: millions of rows that are nearly in order.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::writer::Build;

/// Bits of a key that one pass uses.
const DIGIT_BITS: u32 = 11;

/// Gives the order of `count` rows by `time`. Equal times keep the order of the rows.
///
/// This is a radix sort of small keys. Rows move once, when the caller reads them in this order, and the span of the
/// times decides the number of passes. At most 2^32 rows.
pub(crate) fn by_time(count: usize, time: impl Fn(usize) -> i64) -> Vec<u32> {
    let least = (0..count).map(&time).min().unwrap_or(0);
    let mut keys: Vec<(u64, u32)> = (0..count).map(|row| (time(row).wrapping_sub(least) as u64, row as u32)).collect();
    if !keys.is_sorted_by_key(|(key, _)| *key) {
        let greatest = keys.iter().map(|(key, _)| *key).max().unwrap_or(0);
        let digits = (u64::BITS - greatest.leading_zeros()).div_ceil(DIGIT_BITS);
        let mut spare = vec![(0, 0); count];
        for digit in 0..digits {
            pass(&keys, &mut spare, digit * DIGIT_BITS);
            std::mem::swap(&mut keys, &mut spare);
        }
    }
    keys.into_iter().map(|(_, row)| row).collect()
}

/// The number of rows of a block.
const BLOCK_ROWS: usize = 1 << 20;

/// Makes rows in this order, block by block.
pub(crate) fn blocks<T: Send + Sync + 'static>(
    list: Vec<T>,
    order: Vec<u32>,
    rows: impl Fn(&[T], &[u32]) -> Result<RecordBatch, ArrowError> + Clone + Send + 'static,
) -> impl Iterator<Item = Build> {
    let (list, order) = (Arc::new(list), Arc::new(order));
    (0..order.len()).step_by(BLOCK_ROWS).map(move |at| -> Build {
        let (list, order, rows) = (list.clone(), order.clone(), rows.clone());
        Box::new(move || rows(&list, &order[at..order.len().min(at + BLOCK_ROWS)]))
    })
}

fn pass(from: &[(u64, u32)], to: &mut [(u64, u32)], shift: u32) {
    const DIGITS: usize = 1 << DIGIT_BITS;
    let digit = |key: u64| (key >> shift) as usize & (DIGITS - 1);
    let mut places = [0usize; DIGITS];
    for (key, _) in from {
        places[digit(*key)] += 1;
    }
    let mut place = 0;
    for count in &mut places {
        place += std::mem::replace(count, place);
    }
    for entry in from {
        let place = &mut places[digit(entry.0)];
        to[*place] = *entry;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::by_time;

    #[test]
    fn equal_times_keep_their_order() {
        let times = [5, -3, 5, i64::from(u32::MAX) * 9, -3, 0];
        assert_eq!(by_time(times.len(), |row| times[row]), [1, 4, 5, 0, 2, 3]);
        assert!(by_time(0, |_| 0).is_empty());
    }

    #[test]
    fn agrees_with_the_library_on_extreme_times() {
        let times: Vec<i64> = (0..5000i64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15u64 as i64)).collect();
        let mut expected: Vec<u32> = (0..5000).collect();
        expected.sort_by_key(|&row| times[row as usize]);
        assert_eq!(by_time(times.len(), |row| times[row]), expected);
    }
}
