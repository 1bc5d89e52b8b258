//! The recorder's list of object files, to rows of `symbol_object`.

use perfcase_decode::symbol_list;

use crate::session::{NO_TIME, Session, SourceId};
use crate::tables::SymbolObjectRow;

/// Writes `symbol_object`. `name` is the path of the list in the archive, for issues.
pub fn read(session: &mut Session, source: SourceId, name: &str, text: &str) {
    let list = symbol_list::parse(text);
    for object in &list.objects {
        if object.member.is_some() {
            session.count_record(NO_TIME, source, None);
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
}
