//! Recorded files: those in `data/` beside this file, and those of the repository's `tests/data/captures`.

use std::path::{Path, PathBuf};

/// Recordings that other tests read too, which stand there once.
const SHARED: [(&str, &str); 7] = [
    ("ftrace/aarch64-v6.dat", "aarch64/trace-v6.dat"),
    ("ftrace/aarch64-v7-zstd.dat", "aarch64/trace-v7-zstd.dat"),
    ("ftrace/x86_64-v6.dat", "x86_64/trace-v6.dat"),
    ("perf_text/aarch64-kwork.data", "aarch64/kwork.data"),
    ("perf_text/aarch64-offcpu.data", "aarch64/offcpu.data"),
    ("perf_text/aarch64-sched.data", "aarch64/sched.data"),
    ("perf_text/x86_64-sched.data", "x86_64/sched.data"),
];

/// A file or folder of `data/`, as it is stored.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/data").join(name)
}

/// The bytes of a file of `data/`, decompressed; `name` is without `.zst`.
pub fn fixture(name: &str) -> Vec<u8> {
    if let Some((_, shared)) = SHARED.iter().find(|(own, _)| *own == name) {
        let packed = read(&data("../../../tests/data/captures").join(format!("{shared}.xz")));
        let mut bytes = Vec::new();
        lzma_rs::xz_decompress(&mut &packed[..], &mut bytes).unwrap();
        return bytes;
    }
    let packed = data(&format!("{name}.zst"));
    if packed.exists() { zstd::decode_all(&read(&packed)[..]).unwrap() } else { read(&data(name)) }
}

/// The text of a file of `data/`.
pub fn text(name: &str) -> String {
    String::from_utf8(fixture(name)).unwrap()
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
