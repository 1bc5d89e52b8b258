//! Decides which member paths are accepted.

/// The longest accepted path, in bytes.
const PATH_BYTES_MAX: usize = 1024;

/// Normalizes a member's path (`./a/b` becomes `a/b`), or says why it is refused. Members are never unpacked to disk
/// under these names. Paths that could leave a folder are refused nevertheless, because reports, tables and other tools
/// repeat them.
pub(crate) fn check(raw: &[u8]) -> Result<String, &'static str> {
    let text = std::str::from_utf8(raw).map_err(|_| "its path is not UTF-8")?;
    if text.len() > PATH_BYTES_MAX {
        return Err("its path is too long");
    }
    if text.starts_with('/') {
        return Err("its path is absolute");
    }
    if text.chars().any(|c| c.is_control() || c == '\\') {
        return Err("its path has control characters or backslashes");
    }
    let mut parts = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err("its path leaves the archive (..)"),
            _ => parts.push(part),
        }
    }
    if parts.is_empty() {
        return Err("its path is empty");
    }
    Ok(parts.join("/"))
}

/// Gives the path without the suffix of its compression.
pub(crate) fn without_suffix(path: &str) -> &str {
    for suffix in [".zst", ".gz"] {
        if let Some(stem) = path.strip_suffix(suffix)
            && !stem.is_empty()
            && !stem.ends_with('/')
        {
            return stem;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_archive_are_refused() {
        assert_eq!(check(b"./perf/perf.data").as_deref(), Ok("perf/perf.data"));
        for bad in [
            &b"/etc/passwd"[..],
            b"../x",
            b"a/../../x",
            b"a/..",
            b"..",
            b"",
            b"./",
            b"a\\..\\b",
            b"a\nb",
            b"a\0b",
            b"\xff\xfe",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert!(check(&[b'a'; 2000]).is_err());
    }

    #[test]
    fn only_a_known_suffix_is_cut() {
        assert_eq!(without_suffix("perf/perf.data.zst"), "perf/perf.data");
        assert_eq!(without_suffix("a.gz"), "a");
        assert_eq!(without_suffix("a/.gz"), "a/.gz");
        assert_eq!(without_suffix("a.xz"), "a.xz");
    }
}
