//! Recorded files of `tests/data/perf`.

use std::path::Path;

/// The bytes of a fixture, decompressed where its name ends in `.zst`.
pub fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/perf").join(name);
    let stored = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if name.ends_with(".zst") { zstd::decode_all(&stored[..]).unwrap() } else { stored }
}

/// The lines of a text fixture.
pub fn lines(name: &str) -> Vec<String> {
    String::from_utf8(bytes(name)).unwrap().lines().map(str::to_string).collect()
}
