//! The size of the host's pages, worked out from figures in pages and in KiB, where no file states it.

/// A file, by its path on the host.
pub type File<'a> = (&'a str, &'a [u8]);

/// Gives the bytes of a page, from the free memory of the host or the resident memory of a process. The kernel reads
/// both figures at different moments, so the nearest power of two counts. `files` are of one moment.
pub fn page_size(files: &[File<'_>]) -> Option<u64> {
    of_host(files).or_else(|| of_processes(files))
}

/// Tells whether some of these files have figures in pages: those of processes do.
pub fn has_pages(files: &[File<'_>]) -> bool {
    files.iter().any(|(path, _)| {
        let process = path.strip_prefix("/proc/").and_then(|path| path.strip_suffix("/stat"));
        process.is_some_and(|process| process.starts_with(|digit: char| digit.is_ascii_digit()))
    })
}

fn of_host(files: &[File<'_>]) -> Option<u64> {
    size(kib(text(files, "/proc/meminfo")?, "MemFree:")?, number(text(files, "/proc/vmstat")?, "nr_free_pages ")?)
}

fn of_processes(files: &[File<'_>]) -> Option<u64> {
    files.iter().take(FILES_MAX).find_map(|(path, status)| {
        let folder = path.strip_suffix("/status")?;
        let stat = text(files, &format!("{folder}/stat"))?;
        // After the name, which may have any characters: rss is field 24 of all, and field 22 of these.
        let pages = stat.rsplit_once(')')?.1.split_whitespace().nth(21)?.parse().ok()?;
        size(kib(std::str::from_utf8(status).ok()?, "VmRSS:")?, pages)
    })
}

/// The most files that are searched: one of them is of a process with its own memory.
const FILES_MAX: usize = 1000;

/// Gives the nearest power of two, if it may be the size of a page. Few pages show nothing.
fn size(bytes: u64, pages: u64) -> Option<u64> {
    let near = (pages >= 16).then(|| bytes as f64 / pages as f64).filter(|size| *size >= 1.0)?.log2();
    let size = 1u64 << (near.round() as u32).min(32);
    ((near - near.round()).abs() < 0.25 && (4096..=65536).contains(&size)).then_some(size)
}

fn text<'a>(files: &[File<'a>], path: &str) -> Option<&'a str> {
    let (_, bytes) = files.iter().find(|(known, _)| *known == path)?;
    std::str::from_utf8(bytes).ok()
}

fn number(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
}

fn kib(text: &str, key: &str) -> Option<u64> {
    number(text, key)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_by_the_free_memory_or_by_a_process() {
        let host = [
            ("/proc/meminfo", &b"MemTotal: 9 kB\nMemFree:  6400100 kB\n"[..]),
            ("/proc/vmstat", b"nr_free_pages 100001\n"),
        ];
        assert_eq!(page_size(&host), Some(65536));
        let stat = format!("7 (a) b) S{} 1000 0\n", " 1".repeat(20));
        let process = [("/proc/7/stat", stat.as_bytes()), ("/proc/7/status", b"Name:\ta\nVmRSS:\t   16040 kB\n")];
        assert_eq!((page_size(&process), has_pages(&process)), (Some(16384), true));
        let neither = [("/proc/meminfo", &b"MemFree: 7 kB\n"[..]), ("/proc/7/stat", stat.as_bytes())];
        assert_eq!(page_size(&neither), None);
        let odd = [("/proc/meminfo", &b"MemFree: 600 kB\n"[..]), ("/proc/vmstat", b"nr_free_pages 100\n")];
        assert_eq!((page_size(&odd), has_pages(&odd)), (None, false), "6 KiB are no page");
    }
}
