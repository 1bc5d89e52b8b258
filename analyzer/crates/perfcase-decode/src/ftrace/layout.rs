//! How the kernel lays out a ring-buffer page: the texts `events/header_page` and `events/header_event`.

use crate::format::parse_field_line;

/// The smallest and the largest size of a page, in bytes. Sub-buffers may be larger than the machine's page (kernel
/// 6.8).
const PAGE_SIZES_BYTES: std::ops::RangeInclusive<usize> = 1024..=16 << 20;

/// Sizes and offsets of a ring-buffer page, in bytes from the page's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLayout {
    /// The whole page.
    pub page_size: usize,
    /// The place of the commit word. The 64-bit time stamp is before it, at 0.
    pub commit_offset: usize,
    /// 4 or 8: the kernel's word size.
    pub commit_size: usize,
    /// The place of the first event.
    pub data_offset: usize,
    /// Byte order of everything in the page.
    pub big_endian: bool,
}

impl PageLayout {
    /// Gives the usual layout, where the kernel's text is missing: time stamp, commit word, data.
    pub fn standard(page_size: usize, word_size: usize, big_endian: bool) -> PageLayout {
        let commit_size = if word_size == 4 { 4 } else { 8 };
        PageLayout { page_size, commit_offset: 8, commit_size, data_offset: 8 + commit_size, big_endian }
    }

    /// Reads `header_page`. The page ends where its data end. `None` where a field is missing or contradicts the
    /// others.
    pub fn parse(header_page: &str, big_endian: bool) -> Option<PageLayout> {
        let (mut timestamp, mut commit, mut data) = (None, None, None);
        for field in header_page.lines().filter_map(parse_field_line) {
            match field.name.as_str() {
                "timestamp" => timestamp = Some(field),
                "commit" => commit = Some(field),
                "data" => data = Some(field),
                _ => {}
            }
        }
        let (timestamp, commit, data) = (timestamp?, commit?, data?);
        let layout = PageLayout {
            page_size: data.offset as usize + data.size as usize,
            commit_offset: commit.offset as usize,
            commit_size: commit.size as usize,
            data_offset: data.offset as usize,
            big_endian,
        };
        let sound = timestamp.offset == 0
            && timestamp.size == 8
            && matches!(layout.commit_size, 4 | 8)
            && layout.commit_offset >= 8
            && layout.data_offset >= layout.commit_offset + layout.commit_size
            && layout.data_offset < layout.page_size
            && layout.page_size.is_multiple_of(512)
            && PAGE_SIZES_BYTES.contains(&layout.page_size);
        sound.then_some(layout)
    }

    /// Gives the same layout for pages of another size, which a trace.dat has for each buffer.
    pub fn with_page_size(self, page_size: usize) -> Option<PageLayout> {
        (PAGE_SIZES_BYTES.contains(&page_size) && page_size > self.data_offset)
            .then_some(PageLayout { page_size, ..self })
    }
}

/// Tells whether `header_event` describes the event header that [`super::page`] reads. Every kernel since 2.6.30 has
/// it: 5 bits of type, 27 bits of time, types 29 (padding), 30 (time extend), 31 (time stamp), data lengths up to 28
/// words.
pub fn event_header_is_known(header_event: &str) -> bool {
    let number_after = |key: &str, separator: &str| {
        let line = header_event.lines().find(|l| l.trim_start().starts_with(key))?;
        let (_, value) = line.split_once(separator)?;
        value.trim().split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
    };
    number_after("type_len", ":") == Some(5)
        && number_after("time_delta", ":") == Some(27)
        && number_after("padding", "==") == Some(29)
        && number_after("time_extend", "==") == Some(30)
        && matches!(number_after("time_stamp", "=="), None | Some(31))
        && matches!(number_after("data max type_len", "=="), None | Some(28))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    #[test]
    fn header_page() {
        let layout = PageLayout::parse(HEADER_PAGE, false).unwrap();
        assert_eq!(layout, PageLayout::standard(4096, 8, false));
        let narrow = HEADER_PAGE.replace("size:8;\tsigned:1", "size:4;\tsigned:1").replace("offset:16", "offset:12");
        let narrow = narrow.replace("size:4080", "size:4084");
        assert_eq!(PageLayout::parse(&narrow, true).unwrap(), PageLayout::standard(4096, 4, true));
        assert_eq!(PageLayout::parse(&HEADER_PAGE.replace("4080", "65520"), false).unwrap().page_size, 65536);
        for bad in ["data", "commit", "timestamp"] {
            assert_eq!(PageLayout::parse(&HEADER_PAGE.replace(bad, "x"), false), None);
        }
        assert_eq!(PageLayout::parse(&HEADER_PAGE.replace("4080", "4294967295"), false), None);
        assert_eq!(PageLayout::parse(&HEADER_PAGE.replace("offset:16", "offset:9"), false), None);
    }

    #[test]
    fn header_event() {
        let text = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
            \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
        assert!(event_header_is_known(text));
        assert!(event_header_is_known(&text.replace("\ttime_stamp : type == 31\n", "")));
        assert!(!event_header_is_known(&text.replace("27", "28")));
        assert!(!event_header_is_known(""));
    }
}
