//! A folder of raw ring-buffer pages, as the recorder's helper reads them: a file for each CPU, and the files of
//! tracefs that describe their layout (`schema/README.md` lists the members).

use std::ops::Deref;

use perfcase_archive::Issue;

use super::capture::{Buffer, Capture, CpuData, CpuStats, FormatText};
use super::layout::{PageLayout, event_header_is_known};
use super::stream::Segment;
use crate::format::MAX_TEXT_BYTES;

/// Sorts the members. The second part of the result has the bytes of each CPU of the only buffer.
pub fn parse<B: Deref<Target = [u8]> + Clone>(members: &[(String, B)]) -> Result<(Capture, Vec<B>), Issue> {
    let mut capture = Capture::empty(0, false, 8, 0);
    let mut pages: Vec<(u32, B)> = Vec::new();
    let mut clock = String::new();
    for (path, content) in members {
        let relative = path.rsplit_once("raw/").map_or(path.as_str(), |(_, rest)| rest);
        match relative.split('/').collect::<Vec<_>>()[..] {
            ["header_page"] => capture.header_page = text(content),
            ["header_event"] => check_header_event(&text(content), &mut capture),
            ["clock"] => clock = selected_clock(&text(content)),
            ["printk_formats"] => capture.printk_formats = content.to_vec(),
            ["kallsyms"] => capture.kallsyms = content.to_vec(),
            ["saved_cmdlines"] => capture.saved_cmdlines = content.to_vec(),
            ["format", system, event] => add_format(system, event, content, &mut capture),
            ["stats", cpu] => {
                if let Some(cpu) = cpu_number(cpu) {
                    capture.stats.push(CpuStats { cpu, ..CpuStats::parse(&text(content)) });
                }
            }
            [cpu] => pages.extend(cpu_number(cpu).map(|number| (number, content.clone()))),
            _ => {}
        }
    }
    pages.sort_by_key(|(cpu, _)| *cpu);
    capture.big_endian = pages.iter().find_map(|(_, content)| guess_big_endian(content)).unwrap_or(false);
    let Some(layout) = PageLayout::parse(&capture.header_page, capture.big_endian) else {
        let message = "header_page is missing or damaged: the raw pages cannot be read".to_owned();
        return Err(Issue::error("corrupt", message));
    };
    capture.long_size = layout.commit_size as u8;
    let cpus =
        pages.iter().map(|(cpu, content)| CpuData { cpu: *cpu, segments: vec![Segment::Plain(0..content.len())] });
    capture.buffers.push(Buffer { name: String::new(), clock, layout, cpus: cpus.collect() });
    capture.formats.sort_by(|a, b| a.system.cmp(&b.system));
    Ok((capture, pages.into_iter().map(|(_, content)| content).collect()))
}

fn check_header_event(header_event: &str, capture: &mut Capture) {
    if !event_header_is_known(header_event) {
        let message = "header_event describes an event header that is not known; records may be misread".to_owned();
        capture.damages.push(Issue::error("unknown_layout", message));
    }
}

fn add_format<B: Deref<Target = [u8]>>(system: &str, event: &str, content: &B, capture: &mut Capture) {
    if content.len() > MAX_TEXT_BYTES {
        let message = format!("the format of {system}:{event} is over 1 MiB and is not read");
        capture.damages.push(Issue::error("corrupt", message));
        return;
    }
    capture.formats.push(FormatText { system: system.to_owned(), text: text(content) });
}

fn text<B: Deref<Target = [u8]>>(content: &B) -> String {
    String::from_utf8_lossy(content).into_owned()
}

fn cpu_number(name: &str) -> Option<u32> {
    name.strip_prefix("cpu")?.parse().ok()
}

/// Gives the clock. The helper may store the whole `trace_clock` line or only the selected word.
fn selected_clock(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(clock, _)| clock);
    bracketed.unwrap_or(text).trim().to_owned()
}

/// Tells the byte order by the commit word. The bytes in use are few and the flags are two bits, so the word is huge if
/// it is read in the wrong order.
fn guess_big_endian(page: &[u8]) -> Option<bool> {
    let word: [u8; 4] = page.get(8..12)?.try_into().ok()?;
    let wide: [u8; 4] = page.get(12..16)?.try_into().ok()?;
    let plausible = |word: u32| word & 0x3fff_ffff <= 1 << 24;
    match (plausible(u32::from_le_bytes(word)), plausible(u32::from_be_bytes(wide))) {
        (true, false) => Some(false),
        // A big-endian commit word of 64 bits begins with zeros and has its low half in the second word.
        (_, true) if word == [0; 4] && wide != [0; 4] => Some(true),
        (false, _) if plausible(u32::from_be_bytes(word)) => Some(true),
        (true, _) => Some(false),
        _ => None,
    }
}
