//! The tracing data that perf copies from tracefs: event formats, kallsyms, printk formats, thread names.
//!
//! Layout: tools/perf/util/trace-event-info.c (writer) of the Linux source: magic, version, byte order, size of long,
//! page size, header_page, header_event, ftrace formats, formats by system, kallsyms, printk formats, saved_cmdlines.

use super::bytes::{ByteOrder, Cursor};

/// What they begin with.
pub const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// The most formats and systems: a bound for hostile counts (a current host has 2,400 events in 130 systems).
const MOST_ENTRIES: u32 = 1 << 16;

/// What perf copied from tracefs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracingData {
    /// `0.6` and the like.
    pub version: String,
    /// Byte order of the recorded kernel.
    pub order: ByteOrder,
    /// Bytes of a `long` of the recorded kernel: 4 or 8.
    pub long_bytes: u8,
    /// Bytes of a page of the recorded kernel.
    pub page_bytes: u32,
    /// Text of events/header_page.
    pub header_page: String,
    /// Text of events/header_event.
    pub header_event: String,
    /// System and text of each event's format. The events of tracers have the system `ftrace`.
    pub formats: Vec<(String, String)>,
    /// Text of /proc/kallsyms, empty where perf did not copy it.
    pub kallsyms: Vec<u8>,
    /// Text of printk_formats.
    pub printk_formats: Vec<u8>,
    /// Text of saved_cmdlines.
    pub saved_cmdlines: Vec<u8>,
    /// The name of the part in which the data end, if they end early.
    pub cut_in: Option<&'static str>,
    /// How many bytes they are.
    pub size_bytes: usize,
}

/// Reads tracing data, up to a cut. `None` for other data.
pub fn parse(bytes: &[u8]) -> Option<TracingData> {
    let mut c = Cursor::new(bytes, ByteOrder::Little);
    if c.take(MAGIC.len() as u64)? != MAGIC {
        return None;
    }
    let version = text(c.c_string()?);
    let order = if c.u8()? == 0 { ByteOrder::Little } else { ByteOrder::Big };
    c.set_order(order);
    let mut data = TracingData {
        version,
        order,
        long_bytes: c.u8()?,
        page_bytes: c.u32()?,
        header_page: String::new(),
        header_event: String::new(),
        formats: Vec::new(),
        kallsyms: Vec::new(),
        printk_formats: Vec::new(),
        saved_cmdlines: Vec::new(),
        cut_in: None,
        size_bytes: 0,
    };
    data.cut_in = data.read_parts(&mut c).err();
    data.size_bytes = bytes.len() - c.rest().len();
    Some(data)
}

impl TracingData {
    fn read_parts(&mut self, c: &mut Cursor) -> Result<(), &'static str> {
        self.header_page = named(c, b"header_page").ok_or("header_page")?;
        self.header_event = named(c, b"header_event").ok_or("header_event")?;
        formats(c, "ftrace", &mut self.formats).ok_or("ftrace event formats")?;
        let systems = c.u32().ok_or("event formats")?;
        for _ in 0..systems.min(MOST_ENTRIES) {
            let system = text(c.c_string().ok_or("event formats")?);
            formats(c, &system, &mut self.formats).ok_or("event formats")?;
        }
        self.kallsyms = sized_u32(c).ok_or("kallsyms")?;
        self.printk_formats = sized_u32(c).ok_or("printk formats")?;
        if self.has_cmdlines() {
            let size = c.u64().ok_or("saved_cmdlines")?;
            self.saved_cmdlines = c.take(size).ok_or("saved_cmdlines")?.to_vec();
        }
        Ok(())
    }

    /// Tells whether the data have thread names, which came with version 0.6.
    fn has_cmdlines(&self) -> bool {
        let mut numbers = self.version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (0, 6)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn named(c: &mut Cursor, name: &[u8]) -> Option<String> {
    if c.c_string()? != name {
        return None;
    }
    let size = c.u64()?;
    c.take(size).map(text)
}

fn formats(c: &mut Cursor, system: &str, list: &mut Vec<(String, String)>) -> Option<()> {
    for _ in 0..c.u32()?.min(MOST_ENTRIES) {
        let size = c.u64()?;
        list.push((system.to_string(), text(c.take(size)?)));
    }
    Some(())
}

fn sized_u32(c: &mut Cursor) -> Option<Vec<u8>> {
    let size = c.u32()?;
    c.take(size.into()).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(order: ByteOrder) -> Vec<u8> {
        let word = |value: u64| match order {
            ByteOrder::Little => value.to_le_bytes().to_vec(),
            ByteOrder::Big => value.to_be_bytes().to_vec(),
        };
        let half = |value: u32| match order {
            ByteOrder::Little => value.to_le_bytes().to_vec(),
            ByteOrder::Big => value.to_be_bytes().to_vec(),
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend(b"0.6\0");
        bytes.push(u8::from(order == ByteOrder::Big));
        bytes.push(4);
        bytes.extend(half(4096));
        for (name, content) in [("header_page\0", "page"), ("header_event\0", "event")] {
            bytes.extend(name.as_bytes());
            bytes.extend(word(content.len() as u64));
            bytes.extend(content.as_bytes());
        }
        bytes.extend(half(0));
        bytes.extend(half(1));
        bytes.extend(b"sched\0");
        bytes.extend(half(1));
        bytes.extend(word(4));
        bytes.extend(b"name");
        bytes.extend(half(0));
        bytes.extend(half(3));
        bytes.extend(b"0 x");
        bytes.extend(word(4));
        bytes.extend(b"1 sh");
        bytes
    }

    #[test]
    fn both_orders_whole_and_cut() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes = build(order);
            let data = parse(&bytes).unwrap();
            assert_eq!((data.order, data.long_bytes, data.page_bytes), (order, 4, 4096));
            assert_eq!(data.formats, [("sched".to_string(), "name".to_string())]);
            assert_eq!(data.printk_formats, b"0 x");
            assert_eq!(data.saved_cmdlines, b"1 sh");
            assert_eq!(data.cut_in, None);
            let cut = parse(&bytes[..bytes.len() - 1]).unwrap();
            assert_eq!(cut.cut_in, Some("saved_cmdlines"));
            assert_eq!(cut.formats.len(), 1);
            for length in 0..bytes.len() {
                parse(&bytes[..length]);
            }
        }
        assert_eq!(parse(b"something else"), None);
    }
}
