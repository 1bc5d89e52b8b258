//! Samples that carry counter values (PERF_SAMPLE_READ): the growth of each counter is a sample of its event, as in
//! perf report and perf script.

use hashbrown::HashMap;
use perfcase_decode::perf_data::read_format::ReadValue;

/// The most counters: a bound for hostile ids.
const MOST: usize = 1 << 20;

/// The last value of every counter.
#[derive(Default)]
pub struct LastValues {
    values: HashMap<(u64, i32), u64>,
}

impl LastValues {
    /// Gives the growth of the counter since its last sample, which is the period. Inherited counters run for each
    /// thread.
    pub fn period(&mut self, value: &ReadValue, thread: Option<i32>) -> Option<u64> {
        let key = (value.id?, thread.unwrap_or(0));
        if self.values.len() >= MOST && !self.values.contains_key(&key) {
            return None;
        }
        let last = self.values.insert(key, value.value).unwrap_or(0);
        Some(value.value.wrapping_sub(last))
    }
}
