//! What copies of /proc tell of their host: which boot they are of.

use super::proc_folder::Files;

/// The times that two readings of `btime` of one boot may differ by, in s: the kernel works it out at every reading
/// from the wall clock, which is corrected.
const BTIME_APART_S: i64 = 5;

/// Which boot of which host a copy is of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Boot {
    /// `btime` of /proc/stat: when it was, in s since 1970-01-01 UTC.
    pub time_s: Option<i64>,
    /// /proc/sys/kernel/random/boot_id.
    id: Option<String>,
    hostname: Option<String>,
}

impl Boot {
    pub(super) fn of(files: &Files) -> Boot {
        let word = |path| text(files, path).and_then(|text| text.split_whitespace().next()).map(str::to_string);
        let line = text(files, "/proc/stat").and_then(|text| text.lines().find_map(|line| line.strip_prefix("btime ")));
        Boot {
            time_s: line
                .and_then(|seconds| seconds.trim().parse().ok())
                .filter(|seconds| (0..1 << 40).contains(seconds)),
            id: word("/proc/sys/kernel/random/boot_id"),
            hostname: word("/proc/sys/kernel/hostname"),
        }
    }

    /// Whether both may be one boot: what one of them does not tell, does not part them.
    pub(super) fn is_same(&self, other: &Boot) -> bool {
        if let (Some(a), Some(b)) = (&self.id, &other.id) {
            return a == b;
        }
        let is_other_host = matches!((&self.hostname, &other.hostname), (Some(a), Some(b)) if a != b);
        let is_other_time = self.after(other).is_some_and(|ns| ns.abs() > BTIME_APART_S * 1_000_000_000);
        !is_other_host && !is_other_time
    }

    /// How long after the other it was, in ns.
    pub(super) fn after(&self, other: &Boot) -> Option<i64> {
        (self.time_s? - other.time_s?).checked_mul(1_000_000_000)
    }
}

fn text<'a>(files: &'a Files, path: &str) -> Option<&'a str> {
    let (_, content) = files.iter().find(|(known, _)| known == path)?;
    std::str::from_utf8(content).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfcase_archive::Content;

    fn files(texts: &[(&str, &str)]) -> Vec<(String, Content)> {
        texts.iter().map(|(path, text)| (path.to_string(), Content::from_bytes(text.as_bytes().to_vec()))).collect()
    }

    #[test]
    fn one_boot_or_two() {
        let boot = |btime: &str, id: Option<&str>| {
            let stat = format!("cpu  1 2\nbtime {btime}\n");
            let mut texts = vec![("/proc/stat", stat.as_str())];
            texts.extend(id.map(|id| ("/proc/sys/kernel/random/boot_id", id)));
            Boot::of(&files(&texts))
        };
        assert!(boot("1000", None).is_same(&boot("1001", None)), "the wall clock was corrected");
        assert!(!boot("1000", None).is_same(&boot("1100", None)));
        assert!(boot("1000", Some("a")).is_same(&boot("1100", Some("a"))), "the wall clock was set");
        assert!(!boot("1000", Some("a")).is_same(&boot("1000", Some("b"))));
        assert!(boot("x", None).is_same(&boot("1000", None)), "unknown is no difference");
        assert_eq!(boot("1100", None).after(&boot("1000", None)), Some(100_000_000_000));
    }
}
