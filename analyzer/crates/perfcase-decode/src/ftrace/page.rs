//! Walks the events of one ring-buffer page.
//!
//! A page begins with a 64-bit time stamp and a commit word; its low 27 bits say how many bytes of events follow, bit 31
//! that events were lost before this page, bit 30 that their number stands behind the events. An event begins with a
//! 32-bit header: 5 bits of type or length in words, 27 bits of time since the event before it. Little-endian kernels
//! keep the type in the low bits, big-endian ones in the high bits (kernel: `include/linux/ring_buffer.h`,
//! `kernel/trace/ring_buffer.c`; times of discarded events count as in libtraceevent's kbuffer).

use super::layout::PageLayout;

const COMMIT_MASK: u64 = (1 << 27) - 1;
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const TYPE_PADDING: u32 = 29;
const TYPE_TIME_EXTEND: u32 = 30;
const TYPE_TIME_STAMP: u32 = 31;
const TIME_BITS: u32 = 27;
/// The five high bits of a time that an absolute time stamp (59 bits) does not hold.
const ABSOLUTE_HIGH_BITS: u64 = 0x1f << 59;

/// One event of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEvent {
    /// Time on the buffer's clock, in the clock's unit.
    pub ts: u64,
    /// Where the record begins in the page, in bytes.
    pub start: u32,
    /// Length of the record in bytes, rounded up to 4 by the kernel.
    pub length: u32,
}

/// Events lost before a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// How many; None where the page only says that there were some.
    pub count: Option<u64>,
}

/// A damage of a page: its place and what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageDamage {
    /// Bytes from the page's start.
    pub at: u32,
    /// What is wrong.
    pub what: &'static str,
}

/// A position in a page. Holds no reference to the page: the caller passes the same bytes each time.
#[derive(Debug, Clone, Copy)]
pub struct PageCursor {
    position: usize,
    end: usize,
    ts: u64,
    big_endian: bool,
    missed: Option<Missed>,
}

impl PageCursor {
    /// Reads the page's header. `page` may be shorter than the layout's page where the file ends early: then the events
    /// before the end are read, and [`PageCursor::next`] ends with a damage.
    pub fn open(page: &[u8], layout: &PageLayout) -> Result<PageCursor, PageDamage> {
        let short = PageDamage { at: page.len() as u32, what: "the page ends inside its header" };
        let big_endian = layout.big_endian;
        let ts = read_u64(page, 0, big_endian).ok_or(short)?;
        let commit = match layout.commit_size {
            4 => read_u32(page, layout.commit_offset, big_endian).map(u64::from),
            _ => read_u64(page, layout.commit_offset, big_endian),
        };
        let commit = commit.ok_or(short)?;
        let used = (commit & COMMIT_MASK) as usize;
        if used > layout.page_size - layout.data_offset {
            return Err(PageDamage { at: layout.commit_offset as u32, what: "more bytes in use than a page has" });
        }
        let end = layout.data_offset + used;
        let missed = (commit & MISSED_EVENTS != 0).then(|| Missed {
            count: match (commit & MISSED_STORED != 0, layout.commit_size) {
                (false, _) => None,
                (true, 4) => read_u32(page, end, big_endian).map(u64::from),
                (true, _) => read_u64(page, end, big_endian),
            },
        });
        Ok(PageCursor { position: layout.data_offset, end, ts, big_endian, missed })
    }

    /// Gives the time of the current event; before the first event, the time of the page's start.
    pub fn ts(&self) -> u64 {
        self.ts
    }

    /// Events lost before this page.
    pub fn missed(&self) -> Option<Missed> {
        self.missed
    }

    /// Gives the next event with data; `None` at the end of the page. After a damage the rest of the page is
    /// unreadable, because every length and time depends on the one before it.
    #[inline]
    pub fn next(&mut self, page: &[u8]) -> Result<Option<PageEvent>, PageDamage> {
        while self.position < self.end {
            let at = self.position;
            let header = self.word(page, at)?;
            let (kind, delta) = if self.big_endian {
                (header >> TIME_BITS, u64::from(header & ((1 << TIME_BITS) - 1)))
            } else {
                (header & 31, u64::from(header >> 5))
            };
            let (start, length) = match kind {
                TYPE_PADDING if delta == 0 => {
                    self.position = self.end;
                    return Ok(None);
                }
                TYPE_PADDING => {
                    let length = self.word(page, at + 4)?;
                    self.ts = self.ts.wrapping_add(delta);
                    self.advance(at + 4, length)?;
                    continue;
                }
                TYPE_TIME_EXTEND | TYPE_TIME_STAMP => {
                    let time = (u64::from(self.word(page, at + 4)?) << TIME_BITS) + delta;
                    self.ts = match kind {
                        TYPE_TIME_EXTEND => self.ts.wrapping_add(time),
                        _ => (self.ts & ABSOLUTE_HIGH_BITS) | time,
                    };
                    self.advance(at + 8, 0)?;
                    continue;
                }
                0 => {
                    let length = self.word(page, at + 4)?;
                    let length = length.checked_sub(4).and_then(|l| l.checked_next_multiple_of(4));
                    (at + 8, length.ok_or_else(|| self.damage(at, "an event's length is impossible"))?)
                }
                words => (at + 4, words * 4),
            };
            self.ts = self.ts.wrapping_add(delta);
            self.advance(start, length)?;
            if self.position > page.len() {
                return Err(self.damage(page.len(), "the page ends inside an event"));
            }
            return Ok(Some(PageEvent { ts: self.ts, start: start as u32, length }));
        }
        Ok(None)
    }

    #[inline]
    fn word(&mut self, page: &[u8], at: usize) -> Result<u32, PageDamage> {
        match read_u32(page, at, self.big_endian) {
            Some(word) if at + 4 <= self.end => Ok(word),
            Some(_) => Err(self.damage(at, "an event header reaches behind the bytes in use")),
            None => Err(self.damage(at, "the page ends inside an event")),
        }
    }

    #[inline]
    fn advance(&mut self, start: usize, length: u32) -> Result<(), PageDamage> {
        match start.checked_add(length as usize) {
            Some(next) if next <= self.end => {
                self.position = next;
                Ok(())
            }
            _ => Err(self.damage(start, "an event reaches behind the bytes in use")),
        }
    }

    #[cold]
    fn damage(&mut self, at: usize, what: &'static str) -> PageDamage {
        self.position = self.end;
        PageDamage { at: at as u32, what }
    }
}

#[inline]
fn read_u32(page: &[u8], at: usize, big_endian: bool) -> Option<u32> {
    let raw: [u8; 4] = page.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(if big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
}

#[inline]
fn read_u64(page: &[u8], at: usize, big_endian: bool) -> Option<u64> {
    let raw: [u8; 8] = page.get(at..at.checked_add(8)?)?.try_into().ok()?;
    Some(if big_endian { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) })
}
