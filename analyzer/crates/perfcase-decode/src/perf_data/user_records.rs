//! Records that perf itself writes among the kernel's: attributes, features, build ids, maps of ids.
//!
//! Layouts: tools/lib/perf/include/perf/event.h of the Linux source.

use perfcase_archive::Issue;

use super::attr::Attr;
use super::build_id;
use super::bytes::{Cursor, until_nul};
use super::features::{Features, number};
use super::record::{RecordHeader, kind};
use super::recording::Recording;
use super::sample::field;
use super::scan::HINT_DAMAGE;
use super::simpleperf;

/// PERF_EVENT_UPDATE__NAME.
const UPDATE_NAME: u64 = 2;

/// Reads a record that perf itself wrote. Records that perfcase does not need are only counted.
pub fn take(out: &mut Recording, header: RecordHeader, body: &[u8], offset: u64) {
    let result = match header.kind {
        kind::HEADER_ATTR => attr(out, body, offset),
        kind::BUILD_ID => build_id::parse(header.misc, body, out.order).map(|id| out.build_ids.push(id)),
        kind::HEADER_FEATURE => feature_record(out, body, offset),
        kind::EVENT_UPDATE => event_update(out, body),
        kind::ID_INDEX => id_index(out, body),
        _ => has_its_size(out, header, body).then_some(()),
    };
    if result.is_none() {
        let name = kind::name(header.kind).unwrap_or("?");
        let message = || format!("a {name} record is not as long as its fields; it is not used");
        let detail = header.kind.into();
        out.problems.note("damaged_record", detail, |kind| Issue::error(kind, message()).at(offset).hint(HINT_DAMAGE));
    }
}

/// Tells whether a record that perfcase does not need may be of its type. False means that the type of another record
/// was damaged.
fn has_its_size(out: &Recording, header: RecordHeader, body: &[u8]) -> bool {
    let counted = |bytes: u64| out.order.u64(body, 0).and_then(|count| count.checked_mul(bytes)?.checked_add(8));
    match header.kind {
        kind::FINISHED_ROUND | kind::FINISHED_INIT => body.is_empty(),
        // A thread and its name; a setting and its value.
        kind::THREAD_MAP => counted(24) == Some(body.len() as u64),
        kind::STAT_CONFIG => counted(16) == Some(body.len() as u64),
        kind::STAT_ROUND => body.len() == 16,
        _ => true,
    }
}

/// Adds an event, and a problem with its attribute.
pub fn add_event(out: &mut Recording, attr: Attr, ids: Vec<u64>, at: u64) {
    if attr.unknown_bytes > 0 {
        let message = || {
            format!(
                "an attribute of {} bytes has settings newer than this program; its samples may be read wrongly",
                attr.size_bytes
            )
        };
        out.problems
            .note("newer_attribute", 0, |kind| Issue::warning(kind, message()).at(at).hint("use a newer perfcase"));
    }
    let unknown = attr.sample_type & !field::KNOWN;
    if unknown != 0 {
        let message = || format!("samples have fields newer than this program (sample_type bits {unknown:#x})");
        out.problems.note("unknown_sample_field", unknown, |kind| {
            Issue::warning(kind, message()).at(at).hint("use a newer perfcase")
        });
    }
    out.change_events(|events| events.add(attr, ids));
}

/// Reads a header feature that has no section of its own.
pub fn feature(out: &mut Recording, number: u32, bytes: &[u8], offset: u64) {
    let order = out.order;
    if number >= simpleperf::FIRST_FEATURE {
        simpleperf::feature(out, number, bytes, offset);
    } else if number > number::LAST {
        let message = || format!("header feature {number} is not known; it is not used");
        out.problems.note("unknown_feature", number.into(), |kind| Issue::info(kind, message()).at(offset));
    } else if out.features.read(number, bytes, order).is_none() {
        let message =
            || format!("header feature {number} is shorter than its fields; it is used in part or not at all");
        out.problems.note("damaged_feature", number.into(), |kind| {
            Issue::warning(kind, message()).at(offset).hint(HINT_DAMAGE)
        });
    }
}

fn attr(out: &mut Recording, body: &[u8], offset: u64) -> Option<()> {
    let size = Attr::recorded_size(body, out.order)? as usize;
    let attr = Attr::parse(body.get(..size)?, out.order)?;
    let ids = &body[size..];
    let ids: Vec<u64> = Cursor::new(ids, out.order).u64s(ids.len() as u64 / 8)?.iter().collect();
    // `perf inject` and appended pipes repeat attributes.
    if ids.first().is_some_and(|&id| out.events.by_id(id).is_some()) {
        return Some(());
    }
    add_event(out, attr, ids, offset);
    Some(())
}

fn feature_record(out: &mut Recording, body: &[u8], offset: u64) -> Option<()> {
    let number = u32::try_from(out.order.u64(body, 0)?).ok()?;
    let bytes = body.get(8..)?;
    if number == number::BUILD_ID {
        let (list, is_whole) = build_id::parse_section(bytes, out.order);
        out.build_ids.extend(list);
        return is_whole.then_some(());
    }
    feature(out, number, bytes, offset);
    Some(())
}

fn event_update(out: &mut Recording, body: &[u8]) -> Option<()> {
    let (what, id) = (out.order.u64(body, 0)?, out.order.u64(body, 8)?);
    if what == UPDATE_NAME {
        let name = String::from_utf8_lossy(until_nul(body.get(16..)?)).into_owned();
        out.events.set_name(Some(id), usize::MAX, &name);
    }
    Some(())
}

/// Reads ids by event number, CPU and thread. Only with a single event it is known which event an id without an
/// attribute's list is of.
fn id_index(out: &mut Recording, body: &[u8]) -> Option<()> {
    let mut c = Cursor::new(body, out.order);
    let count = c.u64()?;
    let entries = c.u64s(count.checked_mul(4)?)?;
    if out.events.list().len() == 1 {
        for id in entries.iter().step_by(4) {
            out.change_events(|events| events.add_id(id, 0));
        }
    }
    Some(())
}

/// Names events by the descriptions in the features, and tracepoints without a description by their format.
pub fn name_events(out: &mut Recording) {
    let descriptions = std::mem::take(&mut out.features.event_descriptions);
    for (index, description) in descriptions.iter().enumerate() {
        out.events.set_name(description.ids.first().copied(), index, &description.name);
    }
    out.features = Features { event_descriptions: descriptions, ..std::mem::take(&mut out.features) };
}
