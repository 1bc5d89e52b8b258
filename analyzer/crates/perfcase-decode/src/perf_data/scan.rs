//! Reads a file once: headers, attributes and features first, then every record.

use perfcase_archive::Issue;

use super::attr::Attr;
use super::behind::Behind;
use super::build_id;
use super::bytes::Cursor;
use super::compressed::{Decompressor, payloads_of_2};
use super::features::number;
use super::header::{self, FileSections, HeaderError, PIPE_HEADER_BYTES, Section};
use super::index::Index;
use super::record::{HEADER_BYTES, RecordHeader, kind};
use super::recording::{LATEST_NS, Recording, header_at, record_at};
use super::resync;
use super::simpleperf;
use super::tracing_data;
use super::user_records;

/// The most attributes: a bound for hostile counts.
const MOST_ATTRS: usize = 1 << 16;
const HINT_CUT: &str = "the recording or a copy of it stopped early; record again if what is missing matters";
/// What to do about damage.
pub const HINT_DAMAGE: &str = "compare the file's checksum with the original; what could be read is kept";

/// perf fills tracing data up to so many bytes.
const TRACING_ALIGN: usize = 8;

/// Reads a file once. Damage is in `Recording::problems`.
pub fn scan(file: &[u8]) -> Result<Recording, HeaderError> {
    scan_parts(file, &[])
}

/// Reads a file and the further files of its directory (`perf record --threads`), which have only records.
pub fn scan_parts(file: &[u8], parts: &[&[u8]]) -> Result<Recording, HeaderError> {
    scan_within(file, parts, &mut Behind::default())
}

/// Does the same, and frees the memory of what was read.
pub fn scan_within(file: &[u8], parts: &[&[u8]], behind: &mut Behind) -> Result<Recording, HeaderError> {
    let recording = scan_once(file, parts, behind, Index::default())?;
    if !recording.has_late_times {
        return Ok(recording);
    }
    drop(recording);
    behind.restart();
    scan_once(file, parts, behind, Index::of_all_times())
}

fn scan_once(file: &[u8], parts: &[&[u8]], behind: &mut Behind, index: Index) -> Result<Recording, HeaderError> {
    let header = header::parse(file)?;
    let mut scanner = Scanner {
        file,
        out: Recording { index, ..Recording::new(header.order, header.sections.is_none()) },
        stream: None,
        last_time: 0,
        has_early_tracing: false,
        part_base: None,
        fault: None,
        behind,
    };
    match &header.sections {
        None => scanner.walk(file, PIPE_HEADER_BYTES as usize),
        Some(sections) => scanner.file_mode(sections),
    }
    scanner.parts(parts);
    scanner.finish();
    match scanner.fault {
        Some(error) => Err(HeaderError::NoRoom(error.kind())),
        None => Ok(scanner.out),
    }
}

pub(super) struct Scanner<'a> {
    pub(super) file: &'a [u8],
    pub(super) out: Recording,
    pub(super) stream: Option<Decompressor>,
    last_time: u64,
    /// Whether the tracing data were before the first record.
    has_early_tracing: bool,
    /// The place in the arena of the directory's file that is read now.
    part_base: Option<u64>,
    /// Why records could not be kept: then nothing of the file is used.
    fault: Option<std::io::Error>,
    behind: &'a mut Behind,
}

impl Scanner<'_> {
    fn file_mode(&mut self, sections: &FileSections) {
        self.attrs(sections);
        let mut data = sections.data;
        let length = self.file.len() as u64;
        let mut features = header::features_before(self.file, &data, self.out.order);
        if data.size == 0 {
            self.out.was_killed = true;
            data.size = length.saturating_sub(data.offset);
            self.note("killed_recording", 24, |kind| {
                let lacks = match &features {
                    Some(_) => "",
                    None => "; event names, event formats, build ids and facts about the host were never written",
                };
                let message = format!("the recording was killed before the file was finished: its records are read to the end of the file{lacks}");
                Issue::warning(kind, message).hint(HINT_CUT)
            });
        } else {
            let end = data.offset.saturating_add(data.size);
            if end > length {
                self.cut("truncated", length, || {
                    format!("the file ends {} bytes before the end of its records", end - length)
                });
            } else {
                features = Some((sections.features.clone(), end));
            }
        }
        if let Some((features, at)) = features {
            self.features(&features, at);
        }
        let start = data.offset.min(length) as usize;
        let end = data.offset.saturating_add(data.size).min(length) as usize;
        self.walk(&self.file[..end], start);
    }

    /// Reads the files of a directory: each has the stream of one thread. Their records are kept in the arena, as
    /// decompressed records are.
    fn parts(&mut self, parts: &[&[u8]]) {
        if self.out.features.is_directory && parts.is_empty() {
            let message = "the records are in further files of a directory (data.0, data.1, …), which are not here";
            self.note("missing_files", None, |kind| Issue::error(kind, message).hint("import the whole directory"));
        }
        for part in parts {
            self.finish_stream();
            let base = self.out.arena.len();
            self.keep(part);
            self.part_base = Some(base);
            self.out.arena_origins.push((base, 0));
            self.walk(part, 0);
            self.part_base = None;
        }
    }

    fn attrs(&mut self, sections: &FileSections) {
        let stride = sections.attr_entry_bytes as usize;
        let bytes = sections.attrs.clipped(self.file);
        // Each entry ends with the section of its ids (16 bytes); the oldest attribute has 64 bytes.
        if !(80..=1 << 16).contains(&sections.attr_entry_bytes) || bytes.len() < stride {
            self.damaged("damaged_attributes", 16, || {
                format!("the header says attributes of {stride} bytes; there are {} bytes of them", bytes.len())
            });
            return;
        }
        // Each id is once in a file: overlapping lists are damage, and could take any amount of memory.
        let mut id_bytes_left = self.file.len() as u64;
        for (index, entry) in bytes.chunks_exact(stride).take(MOST_ATTRS).enumerate() {
            let at = sections.attrs.offset + (index * stride) as u64;
            let (attr, ids) = entry.split_at(stride - 16);
            let mut c = Cursor::new(ids, self.out.order);
            let ids = Section { offset: c.u64().unwrap_or(0), size: c.u64().unwrap_or(0) };
            let Some(attr) = Attr::parse(attr, self.out.order) else {
                self.damaged("damaged_attributes", at, || {
                    format!("attribute {index} is shorter than an attribute can be; its samples cannot be read")
                });
                continue;
            };
            let Some(id_bytes) = ids.of(self.file).filter(|bytes| bytes.len() as u64 <= id_bytes_left) else {
                self.out.problems.note("damaged_attributes", 1, |kind| {
                    Issue::error(
                        kind,
                        format!("the ids of attribute {index} are beyond the end of the file, or those of others"),
                    )
                    .at(at)
                    .hint(HINT_DAMAGE)
                });
                self.add_event(attr, Vec::new(), at);
                continue;
            };
            id_bytes_left -= id_bytes.len() as u64;
            let ids = Cursor::new(id_bytes, self.out.order).u64s(ids.size / 8);
            self.add_event(attr, ids.map(|ids| ids.iter().collect()).unwrap_or_default(), at);
        }
        let left_out = (bytes.len() / stride).saturating_sub(MOST_ATTRS);
        if left_out > 0 {
            self.damaged("too_many_attributes", sections.attrs.offset, || {
                format!("{left_out} attributes beyond the limit of {MOST_ATTRS} are not used, nor are their samples")
            });
        }
    }

    fn add_event(&mut self, attr: Attr, ids: Vec<u64>, at: u64) {
        user_records::add_event(&mut self.out, attr, ids, at);
    }

    /// Reads the sections of the features, which follow the data in the order of their numbers.
    fn features(&mut self, features: &[u32], at: u64) {
        let order = self.out.order;
        for (index, &feature) in features.iter().enumerate() {
            let entry_at = at + index as u64 * 16;
            let entry = usize::try_from(entry_at).ok().and_then(|at| {
                Some(Section { offset: order.u64(self.file, at)?, size: order.u64(self.file, at.checked_add(8)?)? })
            });
            let Some(bytes) = entry.and_then(|section| section.of(self.file)) else {
                self.cut("truncated_feature", entry_at, || {
                    format!("the section of header feature {feature} is beyond the end of the file")
                });
                continue;
            };
            let offset = entry.map_or(0, |section| section.offset);
            self.feature(feature, bytes, offset);
        }
    }

    fn feature(&mut self, feature: u32, bytes: &[u8], offset: u64) {
        let out = &mut self.out;
        match feature {
            number::TRACING_DATA => self.tracing_data(bytes, offset),
            number::BUILD_ID => {
                let (list, is_whole) = build_id::parse_section(bytes, out.order);
                out.build_ids.extend(list);
                if !is_whole {
                    self.damaged("damaged_feature", offset, || {
                        "the table of build ids is damaged; those before the damage are used".to_string()
                    });
                }
            }
            _ => user_records::feature(out, feature, bytes, offset),
        }
    }

    fn tracing_data(&mut self, bytes: &[u8], offset: u64) {
        match tracing_data::parse(bytes) {
            Some(data) => {
                if let Some(part) = data.cut_in {
                    self.damaged("damaged_tracing_data", offset, || {
                        format!("the tracing data end inside their {part}; events without a format keep raw bytes only")
                    });
                }
                self.out.tracing = Some(data);
            }
            // perf inject ends there, after the 16 bytes of their record.
            None if bytes.is_empty() => self.note("missing_tracing_data", offset, |kind| {
                let message =
                    "the stream ends where the tracing data should begin: no perf inject reads tracepoints from a pipe";
                Issue::error(kind, message)
                    .hint("record into a file: perf record -o FILE, then perf inject -i FILE -o OUT")
            }),
            None => self.damaged("damaged_tracing_data", offset, || {
                "the tracing data are not what perf writes; tracepoints cannot be decoded".to_string()
            }),
        }
    }

    /// Notes a problem at a place of the file, once for each place.
    fn note(&mut self, kind: &'static str, at: impl Into<Option<u64>>, make: impl FnOnce(&'static str) -> Issue) {
        let at = at.into();
        self.out.problems.note(kind, at.unwrap_or(0), |kind| make(kind).at(at));
    }

    /// Does the same for bytes that perf does not write.
    pub(super) fn damaged(&mut self, kind: &'static str, at: u64, message: impl FnOnce() -> String) {
        self.note(kind, at, |kind| Issue::error(kind, message()).hint(HINT_DAMAGE));
    }

    /// Does the same for missing bytes.
    pub(super) fn cut(&mut self, kind: &'static str, at: u64, message: impl FnOnce() -> String) {
        self.note(kind, at, |kind| Issue::error(kind, message()).hint(HINT_CUT));
    }

    /// Reads the records from `at` to the end.
    fn walk(&mut self, file: &[u8], mut at: usize) {
        let end = file.len();
        let mut last = at;
        while at < end {
            if let Some(next) = self.step(file, at) {
                last = at;
                at = next;
                if self.part_base.is_none() {
                    self.behind.pass(at as u64, (at - last) as u64);
                }
            } else if let Some(next) = self.early_tracing_data(file, at).or_else(|| self.recover(file, last, at)) {
                last = next;
                at = next;
            } else {
                break;
            }
        }
    }

    /// Reads the record at `at` and gives the place of the next one; `None` where there is no record.
    fn step(&mut self, file: &[u8], at: usize) -> Option<usize> {
        let header = header_at(file, at, self.out.order)?;
        if header.kind == kind::COMPRESSED2 {
            let (payloads, size) = payloads_of_2(file, at, header.size, self.out.order)?;
            *self.out.counts.entry(header.kind).or_default() += 1;
            for payload in payloads {
                self.decompress(payload, at as u64);
            }
            return Some(at + size);
        }
        if let (true, Some(size)) = (self.out.simpleperf.is_some(), simpleperf::size_of(header)) {
            let body = file.get(at + HEADER_BYTES..at.checked_add(size)?)?;
            *self.out.counts.entry(header.kind).or_default() += 1;
            if simpleperf::record(&mut self.out, header.kind, body).is_none() {
                self.note("damaged_record", at as u64, |kind| {
                    Issue::warning(kind, "a record of simpleperf is shorter than its fields; it is not used")
                        .hint(HINT_DAMAGE)
                });
            }
            return Some(at + size);
        }
        let (header, body) = record_at(file, at, self.out.order)?;
        super::recording::fetch_ahead(file, at, header.size.into());
        let mut next = at + usize::from(header.size);
        if header.kind < kind::FIRST_USER && kind::name(header.kind).is_some() {
            // The kernel pads its records to 8 bytes: another size is damage.
            if header.size % 8 != 0 {
                return None;
            }
            let (offset, is_in_arena) = (self.part_base.unwrap_or(0) + at as u64, self.part_base.is_some());
            self.kernel_record(header, body, offset, is_in_arena);
            return Some(next);
        }
        if kind::name(header.kind).is_none() && !resync::is_plausible_after_unknown(file, next, self.out.order) {
            return None;
        }
        *self.out.counts.entry(header.kind).or_default() += 1;
        match header.kind {
            kind::COMPRESSED => self.decompress(body, at as u64),
            // They were before the first record.
            kind::TRACING_DATA if self.has_early_tracing && !file[next..].starts_with(tracing_data::MAGIC) => (),
            kind::TRACING_DATA => {
                let size = self.out.order.u32(body, 0)? as usize;
                let available = &file[next..file.len().min(next.saturating_add(size))];
                self.tracing_data(available, next as u64);
                next = next.saturating_add(size);
            }
            kind::AUXTRACE => {
                let size = usize::try_from(self.out.order.u64(body, 0)?).ok()?;
                next = next.checked_add(size).filter(|&next| next <= file.len())?;
            }
            _ => user_records::take(&mut self.out, header, body, at as u64),
        }
        Some(next)
    }

    /// Reads tracing data that are not behind their record: `perf inject -i FILE -o -` writes them before the first one, and no perf reads
    /// the file. `None` where there are none.
    #[cold]
    fn early_tracing_data(&mut self, file: &[u8], at: usize) -> Option<usize> {
        let rest = &file[at..];
        if self.has_early_tracing || self.out.counts.contains_key(&kind::TRACING_DATA) {
            return None;
        }
        let size = tracing_data::parse(rest)?.size_bytes.next_multiple_of(TRACING_ALIGN).min(rest.len());
        self.has_early_tracing = true;
        self.tracing_data(&rest[..size], at as u64);
        Some(at + size)
    }

    #[inline]
    pub(super) fn kernel_record(&mut self, header: RecordHeader, body: &[u8], offset: u64, is_in_arena: bool) {
        let own = self.out.events.time(header, body);
        if own.is_some_and(|time| time >= LATEST_NS) {
            return self.bad_time(offset, is_in_arena);
        }
        // Without a time a record keeps its place among those around it.
        let time = own.unwrap_or(self.last_time);
        if time != 0 {
            self.last_time = time;
        }
        self.out.add((time, own.is_some()), (offset, is_in_arena), header.size);
        if header.kind == kind::CALLCHAIN_DEFERRED {
            self.deferred_callchain(header, body);
        }
    }

    #[cold]
    fn deferred_callchain(&mut self, header: RecordHeader, body: &[u8]) {
        let events = &self.out.events;
        let event = events.of_record(header, body).and_then(|event| events.get(event));
        let tid = event.and_then(|event| event.plan.trailer(body).pid_tid).map_or(-1, |(_, tid)| tid);
        if let (Some(cookie), Some(entry)) = (self.out.order.u64(body, 0), self.out.index.last()) {
            self.out.deferred.add(tid, cookie, entry);
        }
    }

    #[cold]
    fn bad_time(&mut self, offset: u64, is_in_arena: bool) {
        let at = (!is_in_arena).then_some(offset);
        let message = "records have impossible times; they are left out";
        self.out.problems.note("damaged_time", 0, |kind| Issue::error(kind, message).at(at).hint(HINT_DAMAGE));
    }

    /// Gives the next record after something at `at` that is no record. The damage may be in the record before it, at
    /// `last`: then its wrong size led past good records.
    fn recover(&mut self, file: &[u8], last: usize, at: usize) -> Option<usize> {
        let order = self.out.order;
        if let Some(next) = resync::next_record(&file[..at], last + HEADER_BYTES, order) {
            self.out.drop_last(last as u64);
            self.damaged("damaged_record", last as u64, || {
                format!("the size of a record is damaged; it is left out, with up to {} bytes after it", next - last)
            });
            return Some(next);
        }
        let next = resync::next_record(file, at + 1, order);
        let (offset, left) = (at as u64, file.len() - at);
        let header = header_at(file, at, order);
        let is_cut = header.is_none_or(|h| usize::from(h.size) > left || h.kind == kind::AUXTRACE);
        match next {
            Some(next) => self.damaged("damaged_record", offset, || {
                format!("there is no record here; {} bytes were skipped up to the next one", next - at)
            }),
            None if is_cut => {
                self.cut("truncated_record", offset, || format!("the last record is cut: {left} bytes of it are left"))
            }
            None => self.damaged("damaged_record", offset, || {
                format!("there is no record here and none after it; the last {left} bytes are lost")
            }),
        }
        next
    }

    /// Keeps records until they are decoded.
    pub(super) fn keep(&mut self, records: &[u8]) {
        if self.fault.is_none() {
            self.fault = self.out.arena.append(records).err();
        }
    }

    fn finish(&mut self) {
        self.finish_stream();
        let closed = self.out.arena.close();
        self.fault = self.fault.take().or(closed.err());
        user_records::name_events(&mut self.out);
    }
}
