//! The recorder's list of object files, to rows of `symbol_object`.

use perfcase_archive::Issue;
use perfcase_decode::symbol_list;

use crate::session::{NO_TIME, Session, SourceId};
use crate::tables::SymbolObjectRow;

/// Writes `symbol_object`. `name` is the path of the list in the archive, for issues; `size_of` gives the size of a member.
pub fn read(session: &mut Session, source: SourceId, name: &str, text: &str, size_of: impl Fn(&str) -> Option<u64>) {
    let list = symbol_list::parse(text);
    for object in &list.objects {
        if let Some(member) = &object.member {
            session.count_record(NO_TIME, source, None);
            report_cut(session, member, object.size_bytes, size_of(member));
        }
        session.sink.tables.symbol_object.push(SymbolObjectRow {
            member: object.member.as_deref(),
            kind: object.kind.as_bytes(),
            build_id: object.build_id,
            path: &object.path,
            pid: object.pid,
            nspid: object.nspid,
            size_bytes: object.size_bytes,
            original_bytes: object.original_bytes,
            reason: object.reason,
        });
        session.row_added();
    }
    if let Some(problem) = list.problem {
        session.issue(problem.of(name));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        let message = "the list ends within a line: objects behind it have no names";
        session.issue(Issue::error("truncated", message).of(name).at(text.len() as u64));
    }
}

/// Reports an object that has less than the recorder wrote: its names look complete.
fn report_cut(session: &mut Session, member: &str, written: Option<u64>, left: Option<u64>) {
    if let (Some(written), Some(left)) = (written, left)
        && left < written
    {
        let message = format!("{left} of {written} bytes are left: functions may have no names");
        session.issue(Issue::error("truncated", message).of(member).at(left));
    }
}
