//! Pages made by hand, for cases that no recording of these tests has: both byte orders, both word sizes, every type of
//! event, and damage at random places.

use super::compression::{Compression, Room};
use super::layout::PageLayout;
use super::page::{Missed, PageCursor, PageDamage, PageEvent};
use super::stream::{CpuStream, Loss, Segment};
use crate::scale::scaled;

/// Writes one page.
struct Page {
    bytes: Vec<u8>,
    layout: PageLayout,
}

impl Page {
    fn new(layout: PageLayout, ts: u64) -> Page {
        let mut page = Page { bytes: Vec::new(), layout };
        page.put64(ts);
        page.bytes.resize(layout.data_offset, 0);
        page
    }

    fn put32(&mut self, value: u32) {
        self.bytes.extend(if self.layout.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn put64(&mut self, value: u64) {
        self.bytes.extend(if self.layout.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn header(&mut self, kind: u32, delta: u32) {
        self.put32(if self.layout.big_endian { kind << 27 | delta } else { kind | delta << 5 });
    }

    /// An event of `words` words; its bytes are its number.
    fn event(&mut self, words: u32, delta: u32, fill: u8) {
        self.header(words, delta);
        self.bytes.extend(std::iter::repeat_n(fill, words as usize * 4));
    }

    fn long_event(&mut self, length: u32, delta: u32, fill: u8) {
        self.header(0, delta);
        self.put32(length + 4);
        self.bytes.extend(std::iter::repeat_n(fill, length.next_multiple_of(4) as usize));
    }

    fn timed(&mut self, kind: u32, time: u64) {
        self.header(kind, (time & ((1 << 27) - 1)) as u32);
        self.put32((time >> 27) as u32);
    }

    fn discarded(&mut self, delta: u32, length: u32) {
        self.header(29, delta);
        self.put32(length);
        self.bytes.extend(std::iter::repeat_n(0xee, length as usize - 4));
    }

    /// Sets the commit word, with the number of missed events behind the data where given.
    fn close(mut self, flags: u64, stored: Option<u64>) -> Vec<u8> {
        let commit = (self.bytes.len() - self.layout.data_offset) as u64 | flags;
        if let Some(count) = stored {
            match self.layout.commit_size {
                4 => self.put32(count as u32),
                _ => self.put64(count),
            }
        }
        let end = self.bytes.len();
        match self.layout.commit_size {
            4 => self.put32(commit as u32),
            _ => self.put64(commit),
        }
        let word = self.bytes.split_off(end);
        self.bytes[self.layout.commit_offset..self.layout.data_offset].copy_from_slice(&word);
        self.bytes.resize(self.layout.page_size, 0);
        self.bytes
    }
}

fn layouts() -> Vec<PageLayout> {
    let kinds = [(4, false), (8, false), (4, true), (8, true)];
    kinds.iter().map(|(word, big_endian)| PageLayout::standard(4096, *word, *big_endian)).collect()
}

fn events(page: &[u8], layout: &PageLayout) -> (Vec<PageEvent>, Option<PageDamage>) {
    let mut cursor = PageCursor::open(page, layout).unwrap();
    let mut found = Vec::new();
    loop {
        match cursor.next(page) {
            Ok(Some(event)) => found.push(event),
            Ok(None) => return (found, None),
            Err(damage) => return (found, Some(damage)),
        }
    }
}

#[test]
fn every_type_of_event_in_both_byte_orders_and_words() {
    for layout in layouts() {
        let start = 0xf800_0000_0000_1000;
        let mut page = Page::new(layout, start);
        page.event(1, 0, 1);
        page.event(28, 100, 2);
        page.timed(30, 1 << 30);
        page.long_event(113, 5, 3);
        page.discarded(7, 20);
        page.event(2, 1, 4);
        page.timed(31, (1 << 40) + 9);
        page.event(2, 1, 5);
        page.header(29, 0);
        page.bytes.extend([0; 64]);
        let page = page.close(0, None);
        let (found, damage) = events(&page, &layout);
        assert_eq!(damage, None);
        let extended = start + 100 + (1 << 30) + 5;
        let rows: Vec<_> = found.iter().map(|e| (e.ts, e.length, page[e.start as usize])).collect();
        let expected = [
            (start, 4, 1),
            (start + 100, 112, 2),
            (extended, 116, 3),
            (extended + 8, 8, 4),
            // An absolute time has 59 bits; the five above come from the time before.
            (0xf800_0000_0000_0000 + (1 << 40) + 10, 8, 5),
        ];
        assert_eq!(rows, expected, "{layout:?}");
    }
}

#[test]
fn missed_events_are_told_with_or_without_their_number() {
    for layout in layouts() {
        let page = |flags: u64, stored| {
            let mut page = Page::new(layout, 50);
            page.event(2, 3, 1);
            page.close(flags, stored)
        };
        let missed = |bytes: &[u8]| PageCursor::open(bytes, &layout).unwrap().missed();
        assert_eq!(missed(&page(0, None)), None);
        assert_eq!(missed(&page(1 << 31, None)), Some(Missed { count: None }));
        let counted = page(1 << 31 | 1 << 30, Some(4242));
        assert_eq!(missed(&counted), Some(Missed { count: Some(4242) }));
        let two = [page(0, None), counted].concat();
        let whole = Segment::Plain(0..two.len());
        let mut stream = CpuStream::new(3, &two[..], vec![whole], (Compression::None, Room::of_file(0)), layout);
        assert!(!stream.has_news());
        stream.advance();
        assert_eq!(stream.take_losses(), [Loss { ts: 50, count: Some(4242) }]);
        stream.advance();
        assert_eq!((stream.ts(), stream.event_count(), stream.take_damages()), (None, 2, vec![]));
    }
}

#[test]
fn damage_says_where_and_later_pages_are_read() {
    let layout = PageLayout::standard(4096, 8, false);
    let good = |ts| {
        let mut page = Page::new(layout, ts);
        page.event(2, 1, 7);
        page.event(2, 1, 7);
        page.close(0, None)
    };
    let mut beyond = good(1000);
    // The second event claims 28 words where two are in use.
    beyond[16 + 12] = 28 | 1 << 5;
    let mut long = good(2000);
    long[8..12].copy_from_slice(&5000_u32.to_le_bytes());
    let file = [good(0), beyond, long, good(3000)].concat();
    let mut stream = CpuStream::new(
        0,
        &file[..],
        vec![Segment::Plain(0..file.len())],
        (Compression::None, Room::of_file(0)),
        layout,
    );
    let mut times = Vec::new();
    while let Some(ts) = stream.ts() {
        times.push(ts);
        stream.advance();
    }
    assert_eq!(times, [1, 2, 1001, 3001, 3002]);
    let damages: Vec<_> = stream.take_damages().into_iter().map(|d| (d.byte_offset.unwrap(), d.kind)).collect();
    assert_eq!(damages, [(4096 + 16 + 12 + 4, "corrupt"), (2 * 4096 + 8, "corrupt")]);
    let mut cut =
        CpuStream::new(0, &file[..30], vec![Segment::Plain(0..30)], (Compression::None, Room::of_file(0)), layout);
    assert_eq!(cut.ts(), Some(1));
    cut.advance();
    assert_eq!(cut.ts(), None);
    assert_eq!(
        cut.take_damages().iter().map(|d| (d.byte_offset, d.kind)).collect::<Vec<_>>(),
        [(Some(28), "truncated")]
    );
}

#[test]
fn a_clock_that_goes_back_is_told_once_a_page() {
    let layout = PageLayout::standard(4096, 8, false);
    let page = |ts| {
        let mut page = Page::new(layout, ts);
        page.event(2, 1, 7);
        page.event(2, 0, 7);
        page.close(0, None)
    };
    let file = [page(3000), page(1000), page(1000), page(500)].concat();
    let whole = Segment::Plain(0..file.len());
    let mut stream = CpuStream::new(0, &file[..], vec![whole], (Compression::None, Room::of_file(0)), layout);
    let mut told = Vec::new();
    while let Some(ts) = stream.ts() {
        told.extend(stream.take_damages().into_iter().map(|damage| (ts, damage.kind, damage.byte_offset)));
        stream.advance();
    }
    let place = |page: u64| Some(page * 4096 + 16 + 4);
    assert_eq!(told, [(1001, "clock_goes_back", place(1)), (501, "clock_goes_back", place(3))]);
    assert_eq!(stream.event_count(), 8);
}

#[test]
fn random_pages_never_panic() {
    let mut state = 0x0123_4567_89ab_cdef_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut found = 0;
    for round in 0..scaled(40_000) {
        let layout = layouts()[round % 4];
        let mut page: Vec<u8> = (0..4096).map(|_| random() as u8).collect();
        // A valid commit word: otherwise only the header would be read.
        let commit = random() % 4090;
        let word = if layout.big_endian { (commit as u32).to_be_bytes() } else { (commit as u32).to_le_bytes() };
        page[8..16].fill(0);
        let low = if layout.big_endian && layout.commit_size == 8 { 12 } else { 8 };
        page[low..low + 4].copy_from_slice(&word);
        page.truncate(random() as usize % 4097);
        if PageCursor::open(&page, &layout).is_ok() {
            let (events, _) = events(&page, &layout);
            assert!(events.iter().all(|e| (e.start + e.length) as usize <= page.len()));
            found += events.len();
        }
    }
    assert!(found > 10_000, "{found}");
}
