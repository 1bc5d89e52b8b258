//! Flushes tables to the disk while something else is worked out.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::writer::WriteError;

/// A thread that flushes files one after the other. The caller of the import flushes all of them: then most of this is done.
pub(super) struct Flush {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), WriteError>>>,
}

impl Flush {
    /// Begins with the files that are in a folder now.
    pub(super) fn begin(folder: &Path) -> Flush {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let files: Vec<PathBuf> = files.map(|file| file.path()).collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let run = {
            let is_over = is_over.clone();
            move || {
                let mut left = files.into_iter().take_while(|_| !is_over.load(Ordering::Relaxed));
                left.try_for_each(|path| flush(&path).map_err(|source| WriteError::Io { path, source }))
            }
        };
        // Without a thread the caller flushes all.
        Flush { is_over, thread: std::thread::Builder::new().name("flush".into()).spawn(run).ok() }
    }

    /// Stops after the file that is flushed now.
    ///
    /// # Errors
    /// When the disk refused what was written: the kernel says so once, so the caller's own flush would not hear of it.
    pub(super) fn end(mut self) -> Result<(), WriteError> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Err(WriteError::Stopped)))
    }
}

/// An import that fails leaves no thread.
impl Drop for Flush {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn flush(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_flushed_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("whole"), "rows").unwrap();
        Flush::begin(folder.path()).end().unwrap();
        // A link to nothing stands for a disk that refuses.
        std::os::unix::fs::symlink("nothing", folder.path().join("broken")).unwrap();
        let mut flush = Flush::begin(folder.path());
        let result = flush.thread.take().unwrap().join().unwrap();
        assert!(matches!(result, Err(WriteError::Io { path, .. }) if path.ends_with("broken")));
    }
}
