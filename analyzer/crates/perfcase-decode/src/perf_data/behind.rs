//! Frees the memory of records that were read. Records are decoded nearly in the order of the file, and a file may be
//! larger than the memory.

/// The bytes of records that may stay in memory. A file of this size stays whole: it is read twice.
const KEPT_BYTES: u64 = 384 << 20;

/// Tells the owner of a file's bytes that the bytes before an offset need not stay in memory.
pub type Release = Box<dyn Fn(usize)>;

/// The part of a file or an arena whose memory is free.
#[derive(Default)]
pub struct Behind {
    release: Option<Release>,
    /// The bytes of the records that were read since memory was freed the last time.
    read_bytes: u64,
    has_released: bool,
}

impl Behind {
    /// Begins with an unread file. Without `release` it stays in memory.
    pub fn new(release: Option<Release>) -> Behind {
        Behind { release, ..Behind::default() }
    }

    /// Begins again at the first byte.
    pub fn restart(&mut self) {
        self.read_bytes = 0;
        if std::mem::take(&mut self.has_released)
            && let Some(release) = &self.release
        {
            release(usize::MAX);
        }
    }

    /// Notes that the record of so many bytes at `offset` is read. Gives from time to time the end of the bytes that need
    /// not stay in memory. This depends on the bytes that were read and not on the place: some records at the end of a
    /// file come early.
    #[inline]
    pub fn passed(&mut self, offset: u64, bytes: u64) -> Option<u64> {
        self.read_bytes = self.read_bytes.saturating_add(bytes);
        if self.read_bytes < KEPT_BYTES / 2 {
            return None;
        }
        self.read_bytes = 0;
        // Not the few bytes at the beginning: a file that ends before there are more stays whole.
        let end = offset.checked_sub(KEPT_BYTES / 2).filter(|&end| end >= KEPT_BYTES / 4)?;
        self.has_released = true;
        Some(end)
    }

    /// Does the same for the file, and frees its memory.
    #[inline]
    pub fn pass(&mut self, offset: u64, bytes: u64) {
        if let Some(end) = self.passed(offset, bytes)
            && let Some(release) = &self.release
        {
            release(usize::try_from(end).unwrap_or(usize::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn what_lies_far_behind_is_let_go_once() {
        let ends: Rc<RefCell<Vec<u64>>> = Rc::default();
        let told = ends.clone();
        let mut behind = Behind::new(Some(Box::new(move |end| told.borrow_mut().push(end as u64))));
        for _ in 0..2 {
            // A record at the end comes first.
            behind.pass(8 << 30, 1 << 10);
            for offset in (0..8 << 30).step_by(1 << 20) {
                behind.pass(offset, 1 << 20);
                let last = ends.borrow().last().copied().unwrap_or(0);
                assert!(last <= offset && offset - last <= KEPT_BYTES, "{last} of {offset}");
            }
            assert!(ends.borrow().is_sorted() && ends.borrow().len() < 50);
            behind.restart();
            assert_eq!(ends.borrow_mut().drain(..).next_back(), Some(u64::MAX));
        }
    }
}
