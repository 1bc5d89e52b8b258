//! The bytes that all members of one capture may decompress to together: many small decompression bombs are a large
//! one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The bytes that are left before the bound. Several threads read members.
#[derive(Debug)]
pub(crate) struct Budget {
    left_bytes: AtomicU64,
    /// The bytes that each member took when it was read: to read it again takes no more.
    taken: Mutex<HashMap<String, u64>>,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Budget {
        Budget { left_bytes: AtomicU64::new(bytes), taken: Mutex::default() }
    }

    /// Takes up to `wanted` bytes. Gives the number of bytes taken.
    pub(crate) fn take(&self, wanted: u64) -> u64 {
        let take = |left: u64| Some(left.saturating_sub(wanted));
        let before = self.left_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or(0);
        before.min(wanted)
    }

    /// Gives back the bytes that an earlier reading of a member took.
    pub(crate) fn restart(&self, member: &str) {
        let bytes = self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(member).unwrap_or(0);
        self.left_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes the bytes that a reading of a member took.
    pub(crate) fn note(&self, member: &str, bytes: u64) {
        let before = self.taken.lock().unwrap_or_else(PoisonError::into_inner).insert(member.to_owned(), bytes);
        // Two threads read the member at the same time.
        self.left_bytes.fetch_add(before.unwrap_or(0), Ordering::Relaxed);
    }
}
