//! Bounds for hostile input. What a bound keeps out is counted, so that an issue of the import can say it.

/// Room for so many things of a kind.
#[derive(Debug)]
pub(crate) struct Bound {
    room: usize,
    /// What came when there was no room.
    pub(crate) refused_count: u64,
}

impl Bound {
    pub(crate) const fn of(room: usize) -> Bound {
        Bound { room, refused_count: 0 }
    }

    /// Takes room for one more; false if there is none.
    #[inline]
    pub(crate) fn admits(&mut self) -> bool {
        let Some(left) = self.room.checked_sub(1) else {
            self.refused_count += 1;
            return false;
        };
        self.room = left;
        true
    }
}
