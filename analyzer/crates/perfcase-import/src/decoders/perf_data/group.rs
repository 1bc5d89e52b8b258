//! Samples that carry counter values (PERF_SAMPLE_READ): each counter's growth is a sample of its own event, as perf
//! report and perf script count them.

use hashbrown::HashMap;
use perfcase_decode::perf_data::read_format::ReadValue;

/// Counters remembered at most: a bound for hostile ids.
const MOST: usize = 1 << 20;

/// The last value of every counter.
#[derive(Default)]
pub struct LastValues {
    values: HashMap<(u64, i32), u64>,
}

impl LastValues {
    /// How much the counter grew since its last sample: the period. Inherited counters run per thread.
    pub fn period(&mut self, value: &ReadValue, thread: Option<i32>) -> Option<u64> {
        let key = (value.id?, thread.unwrap_or(0));
        if self.values.len() >= MOST && !self.values.contains_key(&key) {
            return None;
        }
        let last = self.values.insert(key, value.value).unwrap_or(0);
        Some(value.value.wrapping_sub(last))
    }
}
