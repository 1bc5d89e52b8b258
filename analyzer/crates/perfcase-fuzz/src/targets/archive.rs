//! perfcase-archive.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;

use perfcase_archive::{Capture, Limits, check, sniff};

thread_local! {
    /// In memory: thousands of inputs a second are written.
    static FILE: OnceCell<PathBuf> = const { OnceCell::new() };
}

fn path() -> PathBuf {
    let make = || {
        let name = format!("perfcase-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
        let memory = PathBuf::from("/dev/shm");
        if memory.is_dir() { memory } else { std::env::temp_dir() }.join(name)
    };
    FILE.with(|file| file.get_or_init(make).clone())
}

/// An archive or another file: opened, its members read, compared with its manifest at once and while it arrives.
pub(super) fn archive(input: &[u8]) {
    let path = path();
    fs::write(&path, input).unwrap();
    let _ = sniff(input);
    let limits = Limits { ratio_free_bytes: 8 << 20, ..Limits::default() };
    if let Ok(capture) = Capture::open_within(&path, limits) {
        for member in &capture.members {
            let _ = (capture.read(member), capture.stored(member));
        }
    }
    let whole = check(&path, 0, true);
    if let Ok(Some(part)) = check(&path, 0, false) {
        assert!(part.checked_bytes <= input.len() as u64);
        assert!(matches!(whole, Ok(Some(whole)) if whole.problems.len() >= part.problems.len()));
    }
    let _ = fs::remove_file(&path);
}
