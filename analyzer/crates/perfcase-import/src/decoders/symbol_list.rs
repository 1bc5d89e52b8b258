//! `symbols/objects.tsv`: which object files the recorder kept, and which not (schema/README.md, "symbols").

use perfcase_archive::Issue;

use crate::session::{NO_TIME, Session, SourceId};
use crate::tables::SymbolObjectRow;

/// Lines that are read: a host maps some thousand objects.
const MOST_LINES: usize = 200_000;

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    member: Option<String>,
    kind: &'a str,
    build_id: Option<&'a str>,
    path: String,
    pid: Option<i32>,
    nspid: Option<i32>,
    size_bytes: Option<u64>,
    original_bytes: Option<u64>,
    reason: Option<&'a str>,
}

/// Writes `symbol_object`. `name`: the member's path, for issues.
pub fn read(session: &mut Session, source: SourceId, name: &str, text: &str) {
    let mut damaged = 0;
    for (number, line) in text.lines().skip(1).enumerate() {
        let Some(line) = parse(line).filter(|_| number < MOST_LINES) else {
            damaged += 1;
            continue;
        };
        if line.member.is_some() {
            session.count_record(NO_TIME, source, None);
        }
        session.sink.tables.symbol_object.push(SymbolObjectRow {
            member: line.member.as_deref(),
            kind: line.kind.as_bytes(),
            build_id: line.build_id,
            path: &line.path,
            pid: line.pid,
            nspid: line.nspid,
            size_bytes: line.size_bytes,
            original_bytes: line.original_bytes,
            reason: line.reason,
        });
        session.row_added();
    }
    if damaged > 0 {
        let message = format!("{damaged} lines of the list of object files are no such lines");
        session.issue(Issue::warning("damaged_line", message).of(name).count(damaged));
    }
}

fn parse(line: &str) -> Option<Line<'_>> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    let (member, kind, build_id, path) = (next()?, next()?, next()?, next()?);
    let (pid, nspid, size_bytes, original_bytes, reason) = (next()?, next()?, next()?, next()?, next()?);
    Some(Line {
        member: known(member).map(|member| format!("symbols/{member}")),
        kind,
        build_id: known(build_id),
        path: unescape(path),
        pid: number(pid).ok()?,
        nspid: number(nspid).ok()?,
        size_bytes: number(size_bytes).ok()?,
        original_bytes: number(original_bytes).ok()?,
        reason: known(reason),
    })
}

fn known(field: &str) -> Option<&str> {
    Some(field).filter(|field| *field != "-")
}

fn number<T: std::str::FromStr>(field: &str) -> Result<Option<T>, T::Err> {
    known(field).map(str::parse).transpose()
}

/// `\011`, `\012` and `\134` as the bytes they stand for.
fn unescape(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let byte = [("011", '\t'), ("012", '\n'), ("134", '\\')].into_iter().find(|(code, _)| part.starts_with(code));
        text.push(byte.map_or('\\', |(_, byte)| byte));
        text.push_str(if byte.is_some() { &part[3..] } else { part });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_was_kept_or_why_not() {
        let kept = parse("elf/ab\telf-table\tab\t/usr/lib/a\\011b\\134c\t-\t-\t120\t4000\t-").unwrap();
        assert_eq!((kept.member.as_deref(), kept.build_id), (Some("symbols/elf/ab"), Some("ab")));
        assert_eq!((kept.path.as_str(), kept.pid, kept.reason), ("/usr/lib/a\tb\\c", None, None));
        assert_eq!((kept.size_bytes, kept.original_bytes), (Some(120), Some(4000)));
        let missed = parse("-\tperf-map\t-\t/tmp/perf-1.map\t77\t1\t-\t9\tbudget").unwrap();
        assert_eq!((missed.member, missed.size_bytes, missed.reason), (None, None, Some("budget")));
        assert_eq!((missed.pid, missed.nspid), (Some(77), Some(1)));
    }

    #[test]
    fn what_is_no_line_is_told() {
        for line in ["", "elf/ab\telf", "-\telf\t-\t/x\tmany\t-\t-\t-\t-", "-\telf\t-\t/x\t-\t-\t-1\t-\t-"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_backslash_before_digits_stays() {
        assert_eq!(unescape("/a\\134012"), "/a\\012");
    }
}
