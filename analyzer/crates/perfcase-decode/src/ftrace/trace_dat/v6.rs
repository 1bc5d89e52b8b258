//! Version 6: a fixed order, without compression; the places of the pages are at the end.

use perfcase_archive::Issue;

use super::options::{self, Collected, id};
use super::{page_layout, sections};

use crate::ftrace::capture::{Buffer, Capture, CpuData};
use crate::ftrace::cursor::Cursor;
use crate::ftrace::layout::PageLayout;
use crate::ftrace::stream::Segment;

/// The most CPUs that are read. Linux allows 8,192.
pub(super) const MAX_CPUS: u32 = 1 << 14;

pub(super) fn read(cursor: &mut Cursor, page_size: u32, capture: &mut Capture) -> Result<(), Issue> {
    sections::header_info(cursor, capture)?;
    let layout = page_layout(capture, page_size, cursor.offset());
    sections::ftrace_formats(cursor, capture)?;
    sections::event_formats(cursor, capture)?;
    sections::kallsyms(cursor, capture)?;
    sections::printk(cursor, capture)?;
    sections::cmdlines(cursor, capture)?;
    let at = cursor.offset();
    let cpu_count = cursor.u32("the number of CPUs")?;
    if cpu_count > MAX_CPUS {
        return Err(Issue::error("corrupt", format!("{cpu_count} CPUs are over the limit of {MAX_CPUS}")).at(at));
    }
    capture.cpu_count = Some(cpu_count);
    let mut collected = Collected::default();
    let mut instances = Vec::new();
    loop {
        let at = cursor.offset();
        match cursor.bytes(10, "what follows the header")? {
            b"options  \0" => read_options(cursor, capture, &mut collected, &mut instances)?,
            b"latency  \0" => {
                let rest = cursor.remaining() as u64;
                capture.latency_text = Some(cursor.bytes(rest, "a latency trace")?.to_vec());
                return Ok(());
            }
            b"flyrecord\0" => break,
            _ => {
                return Err(Issue::error("corrupt", "neither options nor pages follow the header").at(at));
            }
        }
    }
    let cpus = cpu_table(cursor, cpu_count, capture)?;
    let clock = collected.clock;
    capture.buffers.push(Buffer { name: String::new(), clock: clock.clone(), layout, cpus });
    for instance in instances {
        let outcome = read_instance(cursor, instance, &clock, layout, capture);
        capture.damages.extend(outcome.err());
    }
    Ok(())
}

/// An instance's name and the beginning of its part of the file. Newer files also have its number of CPUs.
struct Instance {
    offset: u64,
    name: String,
}

fn read_options(
    cursor: &mut Cursor,
    capture: &mut Capture,
    collected: &mut Collected,
    instances: &mut Vec<Instance>,
) -> Result<(), Issue> {
    for _ in 0..options::MAX_OPTIONS {
        let id = cursor.u16("an option's number")?;
        if id == id::DONE {
            return Ok(());
        }
        let size = cursor.u32("an option's size")?;
        let at = cursor.offset();
        let mut option = Cursor::new(cursor.bytes(u64::from(size), "an option")?, at, cursor.big_endian);
        let outcome = match id {
            id::BUFFER => read_buffer_option(&mut option).map(|instance| instances.push(instance)),
            _ => options::take(id, &mut option, capture, collected),
        };
        capture.damages.extend(outcome.err());
    }
    Err(Issue::error("corrupt", "the options do not end").at(cursor.offset()))
}

fn read_buffer_option(option: &mut Cursor) -> Result<Instance, Issue> {
    let offset = option.u64("an instance's offset")?;
    let name = option.string(255, "an instance's name")?;
    Ok(Instance { offset, name })
}

/// Reads an instance's part: `flyrecord` and a table of its CPUs.
fn read_instance(
    cursor: &mut Cursor,
    instance: Instance,
    clock: &str,
    layout: PageLayout,
    capture: &mut Capture,
) -> Result<(), Issue> {
    cursor.seek(instance.offset)?;
    cursor.expect(b"flyrecord\0", "an instance's pages")?;
    let cpus = cpu_table(cursor, capture.cpu_count.unwrap_or(0), capture)?;
    capture.buffers.push(Buffer { name: instance.name, clock: clock.to_owned(), layout, cpus });
    Ok(())
}

/// Reads the offset and size of each CPU's pages.
fn cpu_table(cursor: &mut Cursor, count: u32, capture: &mut Capture) -> Result<Vec<CpuData>, Issue> {
    let mut cpus = Vec::new();
    for cpu in 0..count {
        let at = cursor.offset();
        let offset = cursor.u64("where a CPU's pages are")?;
        let size = cursor.u64("the size of a CPU's pages")?;
        let end = cursor.position() + cursor.remaining();
        let (range, damage) = clamp(cpu, offset, size, end, at);
        capture.damages.extend(damage);
        cpus.push(CpuData { cpu, segments: vec![Segment::Plain(range)] });
    }
    Ok(cpus)
}

/// Gives the part of `offset..offset + size` that is in the file, and a damage where it is not all.
pub(super) fn clamp(cpu: u32, offset: u64, size: u64, end: usize, at: u64) -> (std::ops::Range<usize>, Option<Issue>) {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(end);
    let stop = usize::try_from(offset.saturating_add(size)).unwrap_or(usize::MAX).min(end);
    let missing = size - (stop - start) as u64;
    let damage = (missing > 0).then(|| {
        let message =
            format!("CPU {cpu}: {missing} of {size} bytes of pages at {offset} are behind the end of the file");
        Issue::error("truncated", message).at(if start < end { end as u64 } else { at })
    });
    (start..stop, damage)
}
