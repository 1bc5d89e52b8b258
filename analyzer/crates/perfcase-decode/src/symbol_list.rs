//! `symbols/objects.tsv`: the object files that the recorder bundled, and those that it left out (schema/README.md, "symbols").

use std::str::FromStr;

use perfcase_archive::Issue;

/// The most lines that are read. A host maps some thousand objects.
const MOST_LINES: usize = 200_000;

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// Its path in the archive; `None` where it was not bundled.
    pub member: Option<String>,
    /// What it is, in the recorder's words: `elf`, `perf-map`, ….
    pub kind: &'a str,
    /// Its GNU build id, in hexadecimal digits.
    pub build_id: Option<&'a str>,
    /// Its path as perf names it.
    pub path: String,
    /// The process that it belongs to; `None` where processes share it.
    pub pid: Option<i32>,
    /// The number of this process in its innermost PID namespace.
    pub nspid: Option<i32>,
    /// Its size in the archive.
    pub size_bytes: Option<u64>,
    /// Its size on the host.
    pub original_bytes: Option<u64>,
    /// Why it was not bundled.
    pub reason: Option<&'a str>,
}

/// All lines, and the problem with those that are damaged.
#[derive(Debug)]
pub struct SymbolList<'a> {
    /// The lines in the file's order.
    pub objects: Vec<Object<'a>>,
    /// The issue with the damaged lines.
    pub problem: Option<Issue>,
}

/// Reads the list. Its first line names the columns.
pub fn parse(text: &str) -> SymbolList<'_> {
    let (mut objects, mut damaged) = (Vec::new(), 0);
    for (number, line) in text.lines().skip(1).enumerate() {
        match object(line).filter(|_| number < MOST_LINES) {
            Some(object) => objects.push(object),
            None => damaged += 1,
        }
    }
    let problem = (damaged > 0).then(|| {
        let message = format!("{damaged} lines of the list of object files are no such lines");
        Issue::warning("damaged_line", message).count(damaged)
    });
    SymbolList { objects, problem }
}

fn object(line: &str) -> Option<Object<'_>> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    let (member, kind, build_id, path) = (next()?, next()?, next()?, next()?);
    let (pid, nspid, size_bytes, original_bytes, reason) = (next()?, next()?, next()?, next()?, next()?);
    Some(Object {
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

fn number<T: FromStr>(field: &str) -> Result<Option<T>, T::Err> {
    known(field).map(str::parse).transpose()
}

/// Replaces `\011`, `\012` and `\134` by the bytes that they stand for.
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
    fn a_line_names_a_bundled_object_or_the_reason_why_it_was_not() {
        let kept = object("elf/ab\telf-table\tab\t/usr/lib/a\\011b\\134c\t-\t-\t120\t4000\t-").unwrap();
        assert_eq!((kept.member.as_deref(), kept.build_id), (Some("symbols/elf/ab"), Some("ab")));
        assert_eq!((kept.path.as_str(), kept.pid, kept.reason), ("/usr/lib/a\tb\\c", None, None));
        assert_eq!((kept.size_bytes, kept.original_bytes), (Some(120), Some(4000)));
        let missed = object("-\tperf-map\t-\t/tmp/perf-1.map\t77\t1\t-\t9\tbudget").unwrap();
        assert_eq!((missed.member, missed.size_bytes, missed.reason), (None, None, Some("budget")));
        assert_eq!((missed.pid, missed.nspid), (Some(77), Some(1)));
    }

    #[test]
    fn damaged_lines_are_counted() {
        let damaged = ["", "elf/ab\telf", "-\telf\t-\t/x\tmany\t-\t-\t-\t-", "-\telf\t-\t/x\t-\t-\t-1\t-\t-"];
        for line in damaged {
            assert_eq!(object(line), None, "{line:?}");
        }
        let text = format!("member\tkind\n{}\n-\telf\t-\t/x\t-\t-\t-\t-\t-\n", damaged.join("\n"));
        let list = parse(&text);
        assert_eq!((list.objects.len(), list.problem.map(|problem| problem.count)), (1, Some(4)));
        assert!(parse("").problem.is_none());
    }

    #[test]
    fn a_backslash_before_digits_stays() {
        assert_eq!(unescape("/a\\134012"), "/a\\012");
    }
}
