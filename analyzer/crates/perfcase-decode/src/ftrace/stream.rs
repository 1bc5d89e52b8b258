//! The events of one CPU in order, from plain pages or compressed chunks. The next event is always read already.

use std::collections::VecDeque;
use std::ops::{Deref, Range};

use perfcase_archive::Issue;

use super::compression::{Compression, Room};
use super::layout::PageLayout;
use super::page::{Missed, PageCursor, PageEvent};

/// Where some pages of a CPU are stored. A segment begins at a page's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Pages as they are, at these bytes of the file.
    Plain(Range<usize>),
    /// Compressed pages at `stored`, `unpacked` bytes when unpacked.
    Chunk {
        /// Bytes in the file.
        stored: Range<usize>,
        /// The size after unpacking, as the file says.
        unpacked: usize,
    },
}

impl Segment {
    fn file_offset(&self) -> usize {
        match self {
            Segment::Plain(range) | Segment::Chunk { stored: range, .. } => range.start,
        }
    }
}

/// Events lost at a point of a CPU's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The time of the page before which they were lost.
    pub ts: u64,
    /// The number of lost events, where it is known.
    pub count: Option<u64>,
}

/// The pages that are read now.
enum Pages {
    InFile(Range<usize>),
    Unpacked(Vec<u8>),
}

#[inline]
fn bytes_of<'a>(pages: &'a Pages, blob: &'a [u8]) -> &'a [u8] {
    match pages {
        Pages::InFile(range) => blob.get(range.clone()).unwrap_or_default(),
        Pages::Unpacked(bytes) => bytes,
    }
}

/// The events of one CPU. [`CpuStream::ts`] and [`CpuStream::record`] are of the same event until
/// [`CpuStream::advance`].
pub struct CpuStream<B> {
    /// The CPU's number.
    pub cpu: u32,
    blob: B,
    compression: Compression,
    room: Room,
    layout: PageLayout,
    segments: VecDeque<Segment>,
    pages: Pages,
    /// The place of `pages` in the file, for messages.
    file_offset: usize,
    page_start: usize,
    cursor: Option<PageCursor>,
    current: Option<PageEvent>,
    /// The time of the event before.
    ts_before: u64,
    /// This page has said that its clock goes back.
    has_said_back: bool,
    losses: Vec<Loss>,
    damages: Vec<Issue>,
    event_count: u64,
}

impl<B: Deref<Target = [u8]>> CpuStream<B> {
    /// Begins at the first event. `blob` is the whole file, which the segments point into. Unpacked pages take memory
    /// from the room while they are read.
    pub fn new(
        cpu: u32,
        blob: B,
        segments: Vec<Segment>,
        (compression, room): (Compression, Room),
        layout: PageLayout,
    ) -> CpuStream<B> {
        let mut stream = CpuStream {
            cpu,
            blob,
            compression,
            room,
            layout,
            segments: segments.into(),
            pages: Pages::InFile(0..0),
            file_offset: 0,
            page_start: 0,
            cursor: None,
            current: None,
            ts_before: 0,
            has_said_back: false,
            losses: Vec::new(),
            damages: Vec::new(),
            event_count: 0,
        };
        stream.advance();
        stream
    }

    /// Gives the time of the current event in the clock's unit; `None` at the end.
    #[inline]
    pub fn ts(&self) -> Option<u64> {
        self.current.map(|event| event.ts)
    }

    /// Gives the bytes of the current event, from `common_type` on; none at the end.
    #[inline]
    pub fn record(&self) -> &[u8] {
        let Some(event) = self.current else {
            return &[];
        };
        let start = event.start as usize;
        self.page().get(start..start + event.length as usize).unwrap_or_default()
    }

    /// Gives the offset in the file of the current event, or of its chunk where the data are compressed.
    #[inline]
    pub fn offset(&self) -> u64 {
        let within = self.page_start + self.current.map_or(0, |event| event.start as usize);
        self.in_file(within)
    }

    /// Gives the number of events so far, with the current one.
    pub fn event_count(&self) -> u64 {
        self.event_count
    }

    /// Takes the losses found since the last call. Each is before the current event or before an earlier one.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.losses)
    }

    /// Tells whether [`CpuStream::take_losses`] or [`CpuStream::take_damages`] has something.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.losses.is_empty() || !self.damages.is_empty()
    }

    /// Takes the damages found since the last call.
    pub fn take_damages(&mut self) -> Vec<Issue> {
        std::mem::take(&mut self.damages)
    }

    /// Goes to the next event.
    #[inline]
    pub fn advance(&mut self) {
        loop {
            if let Some(cursor) = &mut self.cursor {
                let rest = bytes_of(&self.pages, &self.blob).get(self.page_start..).unwrap_or_default();
                match cursor.next(&rest[..rest.len().min(self.layout.page_size)]) {
                    Ok(Some(event)) => {
                        self.current = Some(event);
                        self.event_count += 1;
                        if event.ts < self.ts_before {
                            self.report_going_back(event.ts);
                        }
                        self.ts_before = event.ts;
                        return;
                    }
                    Ok(None) => {}
                    Err(damage) => self.report(damage.at as usize, damage.what),
                }
                self.cursor = None;
                self.page_start += self.layout.page_size;
            }
            self.current = None;
            if !self.open_page() && !self.open_segment() {
                return;
            }
        }
    }

    /// Opens the page at `page_start`. False at the segment's end.
    fn open_page(&mut self) -> bool {
        while self.page_start < self.pages_bytes().len() {
            match PageCursor::open(self.page(), &self.layout) {
                Ok(cursor) => {
                    if let Some(Missed { count }) = cursor.missed() {
                        self.losses.push(Loss { ts: cursor.ts(), count });
                    }
                    self.cursor = Some(cursor);
                    self.has_said_back = false;
                    return true;
                }
                Err(damage) => self.report(damage.at as usize, damage.what),
            }
            self.page_start += self.layout.page_size;
        }
        false
    }

    /// Goes to the pages of the next segment. False when there is none.
    fn open_segment(&mut self) -> bool {
        let Some(segment) = self.segments.pop_front() else {
            return false;
        };
        self.page_start = 0;
        self.file_offset = segment.file_offset();
        if let Pages::Unpacked(bytes) = std::mem::replace(&mut self.pages, Pages::InFile(0..0)) {
            self.room.give_back(bytes.len());
        }
        self.pages = match segment {
            Segment::Plain(range) => Pages::InFile(range),
            Segment::Chunk { stored, unpacked } => {
                let packed = self.blob.get(stored).unwrap_or_default();
                let (bytes, error) = self.compression.unpack(packed, unpacked, &self.room);
                if let Some(error) = error {
                    self.damages.push(error.issue("").at(self.file_offset as u64));
                }
                Pages::Unpacked(bytes)
            }
        };
        true
    }

    #[inline]
    fn pages_bytes(&self) -> &[u8] {
        bytes_of(&self.pages, &self.blob)
    }

    /// Gives the current page. It is shorter than the layout says where the data end early.
    #[inline]
    fn page(&self) -> &[u8] {
        let rest = self.pages_bytes().get(self.page_start..).unwrap_or_default();
        &rest[..rest.len().min(self.layout.page_size)]
    }

    fn in_file(&self, within: usize) -> u64 {
        match &self.pages {
            Pages::InFile(_) => (self.file_offset + within) as u64,
            Pages::Unpacked(_) => self.file_offset as u64,
        }
    }

    /// Tells, once a page, that the current event is earlier than the one before.
    #[cold]
    fn report_going_back(&mut self, ts: u64) {
        if std::mem::replace(&mut self.has_said_back, true) {
            return;
        }
        let message = format!(
            "CPU {}: the clock goes back here, from {} to {ts}: events keep the order of the file",
            self.cpu, self.ts_before
        );
        let hint =
            "times around this place are doubtful; was the trace clock changed, or is it one that is not steady?";
        self.damages.push(Issue::warning("clock_goes_back", message).at(self.offset()).hint(hint));
    }

    #[cold]
    fn report(&mut self, at_in_page: usize, what: &str) {
        let offset = self.in_file(self.page_start + at_in_page);
        let kind = if what.starts_with("the page ends") { "truncated" } else { "corrupt" };
        let message = format!("CPU {}: {what}; the rest of this page is skipped", self.cpu);
        self.damages.push(Issue::error(kind, message).at(offset));
    }
}
