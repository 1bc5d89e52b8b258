//! The pages of a ring buffer: a trace.dat, or a folder of raw pages.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use perfcase_archive::Content;
use perfcase_decode::ftrace::Events;
use perfcase_decode::ftrace::compression::Compression;
use perfcase_decode::ftrace::events::CommonFields;
use perfcase_decode::ftrace::layout::PageLayout;
use perfcase_decode::ftrace::page::PageCursor;
use perfcase_decode::ftrace::stream::Segment;
use perfcase_decode::perf_data::bytes::ByteOrder;

use crate::layout::Layout;
use crate::visit::Visitor;
use crate::{Refused, damage};

const COMMIT_MASK: u64 = (1 << 27) - 1;
const MISSED_STORED: u64 = 1 << 30;

/// Visits the events of a trace.dat.
pub fn visit_file(file: &Content, out: Option<&File>, visitor: &mut Visitor) -> Result<(), Refused> {
    let events = Events::trace_dat(file.clone()).map_err(|issue| Refused::new(issue.message))?;
    visit(&events, |_| Some((file.clone(), out)), visitor)
}

/// Visits the events of a folder of raw pages: its members by their paths below `ftrace/raw/`.
pub fn visit_folder(
    members: &[(String, Content)],
    outs: &HashMap<String, File>,
    visitor: &mut Visitor,
) -> Result<(), Refused> {
    let events = Events::raw_folder(members).map_err(|issue| Refused::new(issue.message))?;
    let pages = |cpu: u32| {
        let name = format!("ftrace/raw/cpu{cpu}");
        let (path, content) = members.iter().find(|(path, _)| *path == name)?;
        Some((content.clone(), outs.get(path)))
    };
    visit(&events, pages, visitor)
}

fn visit<'a>(
    events: &Events<Content>,
    pages: impl Fn(u32) -> Option<(Content, Option<&'a File>)>,
    visitor: &mut Visitor,
) -> Result<(), Refused> {
    let capture = &events.capture;
    if capture.compression != Compression::None {
        return Err(Refused::new("it is compressed inside"));
    }
    if capture.latency_text.is_some() {
        return Err(Refused::new("it is a latency trace, of text"));
    }
    damage(&capture.damages)?;
    let order = if capture.big_endian { ByteOrder::Big } else { ByteOrder::Little };
    let (formats, errors) = capture.parse_formats();
    if let Some(error) = errors.first() {
        return Err(Refused::new(error.to_string()));
    }
    let common = CommonFields::of(&formats, capture.big_endian);
    let layouts = formats.iter().map(|format| (format.id, Layout::new(format, order, visitor))).collect();
    for buffer in &capture.buffers {
        for cpu in &buffer.cpus {
            let Some((content, out)) = pages(cpu.cpu) else { continue };
            for segment in &cpu.segments {
                let Segment::Plain(range) = segment else { return Err(Refused::new("it is compressed inside")) };
                let bytes = content.get(range.clone()).ok_or_else(|| Refused::new("it ends early"))?;
                for (number, page) in bytes.chunks(buffer.layout.page_size).enumerate() {
                    let mut made = page.to_vec();
                    Page { layout: &buffer.layout, layouts: &layouts, common: &common }.visit(&mut made, visitor)?;
                    if let Some(out) = out.filter(|_| made != page) {
                        out.write_all_at(&made, (range.start + number * buffer.layout.page_size) as u64)?;
                    }
                }
            }
        }
    }
    Ok(())
}

struct Page<'a> {
    layout: &'a PageLayout,
    layouts: &'a HashMap<u32, Layout>,
    common: &'a CommonFields,
}

impl Page<'_> {
    fn visit(&self, page: &mut [u8], visitor: &mut Visitor) -> Result<(), Refused> {
        if page.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        let mut cursor = PageCursor::open(page, self.layout).map_err(|found| Refused::new(found.what))?;
        let mut done = self.layout.data_offset;
        while let Some(event) = cursor.next(page).map_err(|found| Refused::new(found.what))? {
            let (start, end) = (event.start as usize, event.start as usize + event.length as usize);
            self.between(&mut page[done..start], visitor);
            let record = &mut page[start..end];
            match self.common.id(record).and_then(|id| self.layouts.get(&id)) {
                Some(layout) => layout.visit(record, visitor),
                None => {
                    let rest = record.len().min(8);
                    visitor.removed.unknown += u64::from(visitor.erase(&mut record[rest..]));
                }
            }
            done = end;
        }
        // Behind the last event is what the page held before.
        let end = self.end(page);
        self.between(&mut page[done.min(end)..end], visitor);
        let kept = self.kept(page, end);
        visitor.erase(&mut page[kept..]);
        Ok(())
    }

    /// Removes events that the kernel discarded: their bytes are still there.
    fn between(&self, gap: &mut [u8], visitor: &mut Visitor) {
        let order = if self.layout.big_endian { ByteOrder::Big } else { ByteOrder::Little };
        let mut at = 0;
        while let Some(header) = order.u32(gap, at) {
            let kind = if self.layout.big_endian { header >> 27 } else { header & 31 };
            let delta = if self.layout.big_endian { header & ((1 << 27) - 1) } else { header >> 5 };
            match kind {
                29 if delta != 0 => {
                    let Some(length) = order.u32(gap, at + 4) else { return };
                    let end = (at + 4).saturating_add(length as usize).min(gap.len());
                    visitor.erase(&mut gap[(at + 8).min(end)..end]);
                    at = end;
                }
                29 => {
                    visitor.erase(&mut gap[at + 4..]);
                    return;
                }
                30 | 31 => at += 8,
                // The header of the event behind the gap.
                _ => return,
            }
        }
    }

    fn commit(&self, page: &[u8]) -> u64 {
        let order = if self.layout.big_endian { ByteOrder::Big } else { ByteOrder::Little };
        let commit = match self.layout.commit_size {
            4 => order.u32(page, self.layout.commit_offset).map(u64::from),
            _ => order.u64(page, self.layout.commit_offset),
        };
        commit.unwrap_or(0)
    }

    fn end(&self, page: &[u8]) -> usize {
        (self.layout.data_offset + (self.commit(page) & COMMIT_MASK) as usize).min(page.len())
    }

    /// The number of lost events may stand behind the last event.
    fn kept(&self, page: &[u8], end: usize) -> usize {
        let is_there = self.commit(page) & MISSED_STORED != 0;
        (end + if is_there { self.layout.commit_size } else { 0 }).min(page.len())
    }
}
