//! A perf.data whose records are compressed (`perf record -z`), written as if it had been recorded without: what stands in compressed
//! bytes cannot be replaced in place.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use perfcase_decode::perf_data::bytes::ByteOrder;
use perfcase_decode::perf_data::compressed::{Decompressor, payloads_of_2};
use perfcase_decode::perf_data::features::number;
use perfcase_decode::perf_data::header::{self, FileSections, PIPE_HEADER_BYTES};
use perfcase_decode::perf_data::record::{HEADER_BYTES, RecordHeader, kind};
use perfcase_decode::perf_data::recording::{header_at, record_at};

use crate::Refused;

/// The most decompressed bytes: this many times the file's size, and at least the second figure.
const GROWTH_LIMIT: u64 = 200;
const GROWTH_FREE_BYTES: u64 = 256 << 20;
/// The place in the header of the size of the records, and of the first word of the features.
const DATA_SIZE_AT: usize = 48;
const FEATURES_AT: usize = 72;
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

/// Writes a perf.data with compressed records to `to`, without compression. Tells whether it did: one without them needs no copy.
pub fn write(file: &[u8], to: &Path) -> Result<bool, Refused> {
    let Ok(head) = header::parse(file) else { return Ok(false) };
    let order = head.order;
    let (start, end) = records_of(file, head.sections.as_ref());
    let records = &file[..end];
    // A finished file says it.
    let says = |sections: &FileSections| sections.data.size == 0 || sections.features.contains(&number::COMPRESSED);
    if !head.sections.as_ref().is_none_or(says) {
        return Ok(false);
    }
    let is_compressed = |at| {
        let found = own_record(records, at, order)?;
        Some((matches!(found.header.kind, kind::COMPRESSED | kind::COMPRESSED2), found.next))
    };
    let mut at = start;
    loop {
        match is_compressed(at) {
            Some((false, next)) => at = next,
            Some((true, _)) => break,
            None => return Ok(false),
        }
    }
    let mut out = BufWriter::new(File::create(to)?);
    out.write_all(&file[..start])?;
    let size = unpacked(records, start, order, &mut out)?;
    if let Some(sections) = &head.sections {
        features(file, sections, (end, size), order, &mut out)?;
    }
    let out = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    if let Some(sections) = &head.sections {
        use std::os::unix::fs::FileExt;
        if sections.data.size != 0 {
            out.write_all_at(&word(size, order), DATA_SIZE_AT as u64)?;
        }
        if let Some(bits) = order.u64(file, FEATURES_AT).filter(|_| sections.features.contains(&number::COMPRESSED)) {
            out.write_all_at(&word(bits & !(1 << number::COMPRESSED), order), FEATURES_AT as u64)?;
        }
    }
    Ok(true)
}

/// Writes the records, those in compressed ones in their place. Gives how many bytes they have.
fn unpacked(records: &[u8], start: usize, order: ByteOrder, out: &mut impl Write) -> Result<u64, Refused> {
    let limit = (records.len() as u64).saturating_mul(GROWTH_LIMIT).max(GROWTH_FREE_BYTES);
    let mut stream = Decompressor::new(limit)?;
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
) -> Result<(), Refused> {
    if sections.data.size == 0 {
        return Ok(());
    }
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

fn damaged(at: usize) -> Refused {
    Refused::new(format!("its compressed records are damaged, near byte {at}"))
}

fn word(value: u64, order: ByteOrder) -> [u8; 8] {
    match order {
        ByteOrder::Little => value.to_le_bytes(),
        ByteOrder::Big => value.to_be_bytes(),
    }
}
