//! Frees the memory of records that were read. Records are decoded nearly in the order of the file, and a file may be
//! larger than the memory.

/// The bytes before the current record that may stay in memory.
const KEPT_BYTES: u64 = 64 << 20;

/// Tells the owner of a file's bytes that the bytes before an offset need not stay in memory.
pub type Release = Box<dyn Fn(usize)>;

/// The part of a file or an arena whose memory is free.
#[derive(Default)]
pub struct Behind {
    release: Option<Release>,
    released_bytes: u64,
}

impl Behind {
    /// Begins with an unread file. Without `release` it stays in memory.
    pub fn new(release: Option<Release>) -> Behind {
        Behind { release, released_bytes: 0 }
    }

    /// Begins again at the first byte.
    pub fn restart(&mut self) {
        self.released_bytes = 0;
    }

    /// Notes that the record at `offset` is read. Gives from time to time the end of the bytes that need not stay in
    /// memory.
    #[inline]
    pub fn passed(&mut self, offset: u64) -> Option<u64> {
        if offset <= self.released_bytes + KEPT_BYTES {
            return None;
        }
        self.released_bytes = offset;
        Some(offset - KEPT_BYTES / 2)
    }

    /// Does the same for the file, and frees its memory.
    #[inline]
    pub fn pass(&mut self, offset: u64) {
        if let Some(end) = self.passed(offset)
            && let Some(release) = &self.release
        {
            release(end as usize);
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
            for offset in (0..1 << 30).step_by(1 << 20) {
                behind.pass(offset);
                let last = ends.borrow().last().copied().unwrap_or(0);
                assert!(last <= offset && offset - last <= 2 * KEPT_BYTES, "{last} of {offset}");
            }
            assert!(ends.borrow().is_sorted() && ends.borrow().len() < 20);
            ends.borrow_mut().clear();
            behind.restart();
        }
    }
}
