//! An archive taken apart into a folder, and a folder packed as an archive (`schema/README.md`, Container).

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use perfcase_archive::{ArchiveError, Capture, Issue};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Members below this size in bytes are not compressed: a header's padding takes as much.
const SMALL_BYTES: u64 = 1024;
const ZSTD_LEVEL: i32 = 6;

/// A member to be packed.
#[derive(Debug, Clone)]
pub struct Packed {
    /// Its path, without the suffix of a compression.
    pub path: String,
    /// The name of its source.
    pub source: Option<String>,
}

/// Writes the decompressed bytes of each member below `folder`. Gives what is wrong with the archive and its members.
///
/// The archive reader accepts no path that could leave the folder.
pub fn unpack(capture: &Capture, folder: &Path) -> Result<Vec<Issue>, ArchiveError> {
    let mut problems = capture.problems.clone();
    for member in &capture.members {
        let content = capture.read(member)?;
        problems.extend(content.problems().iter().cloned());
        let path = folder.join(&member.path);
        write(&path, &content).map_err(|error| ArchiveError::Io { path, action: "write", error })?;
    }
    Ok(problems)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, bytes)
}

/// Packs members of `folder`, in the order of the archive that they come from: it was from small to large. `manifest` gets its `members`, and stands first.
pub fn pack(folder: &Path, members: &[Packed], mut manifest: Value, out: &Path) -> io::Result<()> {
    let stored_folder = folder.join(".stored");
    fs::create_dir_all(&stored_folder)?;
    let mut stored = Vec::new();
    for (number, member) in members.iter().enumerate() {
        let to = stored_folder.join(number.to_string());
        let (compression, size_bytes) = store(&folder.join(&member.path), &to)?;
        let (stored_bytes, sha256) = hash(&to)?;
        let suffix = if compression == "zstd" { ".zst" } else { "" };
        let path = format!("{}{suffix}", member.path);
        let listed = json!({
            "path": path, "source": member.source, "compression": compression,
            "size_bytes": size_bytes, "stored_bytes": stored_bytes, "sha256": sha256,
        });
        stored.push((stored_bytes, path, to, listed));
    }
    manifest["members"] = stored.iter().map(|(_, _, _, listed)| listed.clone()).collect();
    let text = serde_json::to_vec(&manifest)?;
    let mut archive = tar::Builder::new(BufWriter::new(File::create(out)?));
    append(&mut archive, "manifest.json", text.len() as u64, &text[..])?;
    for (bytes, path, from, _) in &stored {
        append(&mut archive, path, *bytes, File::open(from)?)?;
    }
    let file = archive.into_inner()?.into_inner()?;
    file.sync_all()
}

/// Copies a file, compressed where that is smaller.
fn store(from: &Path, to: &Path) -> io::Result<(&'static str, u64)> {
    let size_bytes = fs::metadata(from)?.len();
    if size_bytes >= SMALL_BYTES {
        let mut out = BufWriter::new(File::create(to)?);
        zstd::stream::copy_encode(BufReader::new(File::open(from)?), &mut out, ZSTD_LEVEL)?;
        out.flush()?;
        if fs::metadata(to)?.len() < size_bytes {
            return Ok(("zstd", size_bytes));
        }
    }
    fs::copy(from, to)?;
    Ok(("none", size_bytes))
}

fn hash(path: &Path) -> io::Result<(u64, String)> {
    let (mut file, mut sum, mut bytes) = (File::open(path)?, Sha256::new(), 0);
    let mut buffer = vec![0; 256 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            let hex = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok((bytes, hex));
        }
        sum.update(&buffer[..count]);
        bytes += count as u64;
    }
}

fn append(archive: &mut tar::Builder<impl Write>, path: &str, bytes: u64, data: impl Read) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_path(path)?;
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append(&header, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.perfcase");
        let large = "line\n".repeat(1000);
        for (path, text) in [("host/uname", "Linux h 6.1\n"), ("host/kmsg", large.as_str())] {
            write(&folder.path().join(path), text.as_bytes()).unwrap();
        }
        let members = ["host/kmsg", "host/uname"].map(|path| Packed { path: path.into(), source: Some("host".into()) });
        let manifest = json!({"format": "perfcase", "format_version": "1.1"});
        pack(folder.path(), &members, manifest, &out).unwrap();
        let capture = Capture::open(&out).unwrap();
        assert_eq!(capture.members.len(), 2);
        let again = folder.path().join("again");
        assert!(unpack(&capture, &again).unwrap().is_empty());
        assert_eq!(fs::read_to_string(again.join("host/kmsg")).unwrap(), large);
        assert_eq!(fs::read_to_string(again.join("host/uname")).unwrap(), "Linux h 6.1\n");
    }
}
