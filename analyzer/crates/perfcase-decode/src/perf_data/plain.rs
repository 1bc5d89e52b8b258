//! A perf.data whose records are compressed (`perf record -z`), written as if it had been recorded without: what stands in compressed
//! bytes cannot be replaced in place.

use std::io::{Seek, SeekFrom, Write};

use perfcase_archive::Issue;

use super::bytes::ByteOrder;
use super::compressed::{Decompressor, payloads_of_2};
use super::features::number;
use super::header::{self, FileSections, PIPE_HEADER_BYTES};
use super::record::{HEADER_BYTES, RecordHeader, kind};
use super::recording::{header_at, record_at};

use crate::plain::{Failure, limit};

/// The place in the header of the size of the records, and of the first word of the features.
const DATA_SIZE_AT: u64 = 48;
const FEATURES_AT: u64 = 72;
const ENTRY_BYTES: usize = 16;

/// A record of the file itself, which may lie in a compressed one.
pub struct Own<'a> {
    /// Its header.
    pub header: RecordHeader,
    /// The place of its header in the file.
    pub at: usize,
    /// What follows the header.
    pub body: &'a [u8],
    /// The place of the next one: some are followed by bytes that their size does not count.
    pub next: usize,
}

/// Gives the record at `at`; `None` where there is none.
pub fn own_record(file: &[u8], at: usize, order: ByteOrder) -> Option<Own<'_>> {
    let header = header_at(file, at, order)?;
    if header.kind == kind::COMPRESSED2 {
        let next = at + payloads_of_2(file, at, header.size, order)?.1;
        return Some(Own { header, at, body: file.get(at + HEADER_BYTES..next)?, next });
    }
    let (header, body) = record_at(file, at, order)?;
    let behind = match header.kind {
        kind::TRACING_DATA => order.u32(body, 0)?.into(),
        kind::AUXTRACE => order.u64(body, 0)?,
        _ => 0,
    };
    let next = (at + usize::from(header.size)).checked_add(usize::try_from(behind).ok()?)?;
    (usize::from(header.size) >= HEADER_BYTES && next <= file.len()).then_some(Own { header, at, body, next })
}

/// Gives where the records of the file are.
pub fn records_of(file: &[u8], sections: Option<&FileSections>) -> (usize, usize) {
    let Some(sections) = sections else { return (PIPE_HEADER_BYTES as usize, file.len()) };
    let length = file.len() as u64;
    let end = match sections.data.size {
        0 => length,
        size => sections.data.offset.saturating_add(size).min(length),
    };
    (sections.data.offset.min(end) as usize, end as usize)
}

/// Tells whether a perf.data has compressed records. A finished file says it in its header.
pub fn is_compressed(file: &[u8]) -> bool {
    let Ok(head) = header::parse(file) else { return false };
    if let Some(sections) = head.sections.as_ref().filter(|sections| sections.data.size != 0) {
        return sections.features.contains(&number::COMPRESSED);
    }
    let (mut at, end) = records_of(file, head.sections.as_ref());
    while let Some(found) = own_record(&file[..end], at, head.order) {
        if matches!(found.header.kind, kind::COMPRESSED | kind::COMPRESSED2) {
            return true;
        }
        at = found.next;
    }
    false
}

/// Writes a perf.data with compressed records to `out`, without compression.
pub fn write(file: &[u8], out: &mut (impl Write + Seek)) -> Result<(), Failure> {
    let Ok(head) = header::parse(file) else { return Err(damaged(0)) };
    let order = head.order;
    let (start, end) = records_of(file, head.sections.as_ref());
    if head.sections.as_ref().is_some_and(|sections| sections.data.size != 0 && sections.data.of(file).is_none()) {
        return Err(damaged(start));
    }
    out.write_all(&file[..start])?;
    let size = unpacked(&file[..end], start, order, out)?;
    let Some(sections) = &head.sections else { return Ok(()) };
    if sections.data.size == 0 {
        return Ok(());
    }
    features(file, sections, (end, size), order, out)?;
    out.seek(SeekFrom::Start(DATA_SIZE_AT))?;
    out.write_all(&word(size, order))?;
    if let Some(bits) = order.u64(file, FEATURES_AT as usize) {
        out.seek(SeekFrom::Start(FEATURES_AT))?;
        out.write_all(&word(bits & !(1 << number::COMPRESSED), order))?;
    }
    Ok(())
}

/// Writes the records, those in compressed ones in their place. Gives how many bytes they have.
fn unpacked(records: &[u8], start: usize, order: ByteOrder, out: &mut impl Write) -> Result<u64, Failure> {
    let mut stream = Decompressor::new(limit(records.len()))?;
    let (mut at, mut size) = (start, 0);
    while at < records.len() {
        let found = own_record(records, at, order).ok_or_else(|| damaged(at))?;
        let payloads = match found.header.kind {
            kind::COMPRESSED => vec![found.body],
            kind::COMPRESSED2 => payloads_of_2(records, at, found.header.size, order).ok_or_else(|| damaged(at))?.0,
            // Says of a stream what the bit of the header says of a file.
            kind::HEADER_FEATURE if order.u64(found.body, 0) == Some(number::COMPRESSED.into()) => Vec::new(),
            _ => {
                out.write_all(&records[at..found.next])?;
                size += (found.next - at) as u64;
                Vec::new()
            }
        };
        for payload in payloads {
            stream.push(payload).map_err(|_| damaged(at))?;
            let whole = whole(&stream.pending, order).ok_or_else(|| damaged(at))?;
            out.write_all(&stream.pending[..whole])?;
            size += whole as u64;
            stream.pending.drain(..whole);
        }
        at = found.next;
    }
    if stream.pending.is_empty() { Ok(size) } else { Err(damaged(at)) }
}

/// Gives how many bytes of `bytes` are whole records: the rest of the last one is in the next compressed record.
fn whole(bytes: &[u8], order: ByteOrder) -> Option<usize> {
    let mut at = 0;
    while let Some(header) = header_at(bytes, at, order) {
        let next = at + usize::from(header.size);
        if next > bytes.len() {
            break;
        }
        if next < at + HEADER_BYTES {
            return None;
        }
        at = next;
    }
    Some(at)
}

/// Writes what follows the records: the list of the features' sections, and these. The records ended at `end`, and have `size` bytes now.
fn features(
    file: &[u8],
    sections: &FileSections,
    (end, size): (usize, u64),
    order: ByteOrder,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let begin = sections.data.offset.saturating_add(size);
    let is_kept = |feature: &u32| *feature != number::COMPRESSED;
    let kept = sections.features.iter().filter(|feature| is_kept(feature)).count();
    let lists = [end + sections.features.len() * ENTRY_BYTES, begin as usize + kept * ENTRY_BYTES];
    for (index, _) in sections.features.iter().enumerate().filter(|(_, feature)| is_kept(feature)) {
        let at = end + index * ENTRY_BYTES;
        let entry = order.u64(file, at).zip(order.u64(file, at + 8));
        let moved = |offset: u64| offset.checked_sub(lists[0] as u64)?.checked_add(lists[1] as u64);
        let (offset, size) =
            entry.and_then(|(offset, size)| Some((moved(offset)?, size))).ok_or_else(|| damaged(at))?;
        out.write_all(&word(offset, order))?;
        out.write_all(&word(size, order))?;
    }
    out.write_all(file.get(lists[0]..).unwrap_or_default())?;
    Ok(())
}

fn damaged(at: usize) -> Failure {
    Issue::error("damaged_compression", "its compressed records are damaged").at(at as u64).into()
}

fn word(value: u64, order: ByteOrder) -> [u8; 8] {
    match order {
        ByteOrder::Little => value.to_le_bytes(),
        ByteOrder::Big => value.to_be_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn records_that_are_not_in_the_file_are_damage() {
        for (offset, size) in [(u64::MAX - 7, 8), (u64::MAX - 7, 64), (104, 8), (104, u64::MAX)] {
            let words = [104, 144, 104, 0, offset, size, 0, 0, 1 << number::COMPRESSED, 0, 0, 0];
            let file = [&b"PERFILE2"[..], &words.map(u64::to_le_bytes).concat()].concat();
            assert!(is_compressed(&file));
            let written = write(&file, &mut Cursor::new(Vec::new()));
            assert!(matches!(written, Err(Failure::Input(_))), "{offset} {size}");
        }
    }
}
