//! Archives written by hand, good and hostile.

use std::io::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// Writes a file of those bytes into a folder. The folder is removed with the returned guard.
pub fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

/// Makes a ustar header block and the padded data.
pub fn entry(path: &str, flag: u8, data: &[u8]) -> Vec<u8> {
    let mut block = header(path, flag, format!("{:011o}\0", data.len()).as_bytes());
    block.extend_from_slice(data);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

/// Makes a header with any size field.
pub fn header(path: &str, flag: u8, size: &[u8]) -> Vec<u8> {
    let mut block = vec![0u8; 512];
    block[..path.len()].copy_from_slice(path.as_bytes());
    block[100..108].copy_from_slice(b"0000644\0");
    block[124..124 + size.len()].copy_from_slice(size);
    block[148..156].copy_from_slice(b"        ");
    block[156] = flag;
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = block.iter().map(|&b| u32::from(b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Joins entries and adds the end marker.
pub fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = entries.concat();
    out.resize(out.len() + 1024, 0);
    out
}

/// Makes a manifest of version `version` with those stored files as members.
pub fn manifest(version: &str, members: &[(&str, &[u8])]) -> Vec<u8> {
    let members: Vec<String> = members
        .iter()
        .map(|(path, stored)| {
            let sha: String = Sha256::digest(stored).iter().map(|b| format!("{b:02x}")).collect();
            let len = stored.len();
            format!(r#"{{"path":"{path}","source":"perf","stored_bytes":{len},"sha256":"{sha}"}}"#)
        })
        .collect();
    let members = members.join(",");
    format!(r#"{{"format":"perfcase","format_version":"{version}","sources":[{{"name":"perf","kind":"perf_data"}}],"members":[{members}]}}"#)
        .into_bytes()
}

pub fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

#[allow(dead_code)] // each test file uses its share of these
pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Gives the kinds of a capture's problems, sorted.
pub fn kinds(problems: &[perfcase_archive::Issue]) -> Vec<&'static str> {
    let mut kinds: Vec<_> = problems.iter().map(|p| p.kind).collect();
    kinds.sort_unstable();
    kinds
}
