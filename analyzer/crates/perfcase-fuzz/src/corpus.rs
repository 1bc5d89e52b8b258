//! The inputs that a target is tried with first: `corpus/TARGET.tar.zst`, small ones that reach each part of it, and
//! `regressions/TARGET/`, those that once brought it down.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Where a target's corpus is.
pub fn archive(target: &str) -> PathBuf {
    folder("corpus").join(format!("{target}.tar.zst"))
}

/// The inputs of a target's corpus, with their names.
pub fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = archive(target);
    let file = fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).unwrap());
    let read = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (name, bytes)
    };
    archive.entries().unwrap().map(read).collect()
}

/// The inputs that once brought a target down.
pub fn regressions(target: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(files) = fs::read_dir(folder("regressions").join(target)) else { return Vec::new() };
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| (file.display().to_string(), fs::read(file).unwrap())).collect()
}

/// Writes a corpus of the files in a folder, in an order that gives equal files equal archives.
pub fn pack(target: &str, folder: &Path) {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut tar = tar::Builder::new(zstd::Encoder::new(fs::File::create(archive(target)).unwrap(), 19).unwrap());
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, file.file_name().unwrap(), &bytes[..]).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
}

/// Writes each input of a target's corpus to a folder, as libFuzzer reads them.
pub fn unpack(target: &str, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for (name, bytes) in inputs(target).into_iter().chain(regressions(target)) {
        fs::write(folder.join(Path::new(&name).file_name().unwrap()), bytes).unwrap();
    }
}
