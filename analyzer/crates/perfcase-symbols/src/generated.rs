//! Files that runtimes write about the code that they generate, where people keep them: `perf-PID.map` and
//! `jit-PID.dump` beside a recording, or in a directory of the user in the layout of the host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfcase_archive::Content;

use crate::debug_dir::{below, files_named};

/// The places of these files below a folder: in the folder itself, or in a copy of the host's /tmp.
const PLACES: [&str; 2] = ["", "tmp"];
/// The places where perf's agents write jitdumps: below them is a folder for each process.
const AGENTS: [&str; 2] = [".debug/jit", "jit"];

/// The files of one folder, by the process that wrote them.
#[derive(Default)]
pub(crate) struct Generated {
    maps: BTreeMap<i32, PathBuf>,
    dumps: BTreeMap<i32, PathBuf>,
}

impl Generated {
    /// Finds the files in a folder. A link that leads out of the folder is not followed.
    pub(crate) fn find(folder: &Path) -> Generated {
        let mut found = Generated::default();
        let agents = AGENTS.iter().flat_map(|place| files_named(&folder.join(place), ""));
        for place in PLACES.iter().map(|place| folder.join(place)).chain(agents) {
            found.take(folder, &place);
        }
        found
    }

    fn take(&mut self, folder: &Path, place: &Path) {
        for (start, end, files) in [("perf-", ".map", &mut self.maps), ("jit-", ".dump", &mut self.dumps)] {
            for file in files_named(place, start) {
                let Some(pid) = pid_of(&file, start, end) else { continue };
                let inside = file.strip_prefix(folder).ok().map(|path| path.as_os_str().as_encoded_bytes());
                if inside.and_then(|path| below(folder, path)).is_some() {
                    files.entry(pid).or_insert(file);
                }
            }
        }
    }

    /// Gives the map of a process's generated code, and its name for messages.
    pub(crate) fn map(&self, pid: i32) -> Option<(Content, String)> {
        let file = self.maps.get(&pid)?;
        Some((Content::map_file(file).ok()?, file.display().to_string()))
    }

    /// Gives the jitdumps, and the name of each for messages.
    pub(crate) fn dumps(&self) -> impl Iterator<Item = (Content, String)> + '_ {
        self.dumps.values().filter_map(|file| Some((Content::map_file(file).ok()?, file.display().to_string())))
    }
}

/// `perf-4711.map`
fn pid_of(file: &Path, start: &str, end: &str) -> Option<i32> {
    let digits = file.file_name()?.to_str()?.strip_prefix(start)?.strip_suffix(end)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_names_and_stay_in_the_folder() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "1000 10 f\n").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for place in ["tmp", ".debug/jit/java-jit-1"] {
            std::fs::create_dir_all(at(place)).unwrap();
        }
        for name in
            ["perf-7.map", "tmp/perf-8.map", "tmp/perf-7.map", "perf-x.map", "perf-.map", "perf-99999999999.map"]
        {
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::write(at(".debug/jit/java-jit-1/jit-9.dump"), "dump").unwrap();
        std::fs::create_dir(at("perf-10.map")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), at("perf-11.map")).unwrap();
        let found = Generated::find(folder.path());
        assert_eq!(found.maps.keys().copied().collect::<Vec<_>>(), [7, 8]);
        assert_eq!(&found.map(7).unwrap().0[..], b"perf-7.map", "the nearest one");
        let dumps: Vec<_> = found.dumps().map(|(content, _)| content.to_vec()).collect();
        assert_eq!(dumps, [b"dump"]);
        assert!(Generated::find(&at("nowhere")).maps.is_empty());
    }
}
