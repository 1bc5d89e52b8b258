//! Archives that arrive: each member is compared with its checksum once, and nothing is said about members that are
//! still to come.

use crate::common::{entry, file, header, kinds, manifest, tar, zst};
use perfcase_archive::{Checked, check};

fn look(bytes: &[u8], from: u64, is_whole: bool) -> Option<Checked> {
    let (_dir, path) = file("x.perfcase", bytes);
    check(&path, from, is_whole).unwrap()
}

fn archive() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let (small, large) = (vec![7u8; 700], vec![9u8; 90_000]);
    let text = manifest("1.1", &[("host/uname", &small), ("perf/perf.data", &large)]);
    let bytes = tar(&[
        entry("manifest.json", b'0', &text),
        entry("host/uname", b'0', &small),
        entry("perf/perf.data", b'0', &large),
    ]);
    (bytes, small, large)
}

#[test]
fn a_good_archive_has_nothing_at_any_length() {
    let (bytes, ..) = archive();
    let mut from = 0;
    for length in (0..bytes.len()).step_by(211) {
        if let Some(found) = look(&bytes[..length], from, false) {
            assert!(found.problems.is_empty(), "{length}: {:?}", found.problems);
            assert!(found.checked_bytes >= from);
            from = found.checked_bytes;
        }
    }
    let whole = look(&bytes, from, true).unwrap();
    assert!(whole.problems.is_empty(), "{:?}", whole.problems);
    assert!(look(&bytes, 0, true).unwrap().problems.is_empty());
}

#[test]
fn damage_is_found_as_soon_as_the_member_is_whole_and_only_once() {
    let (mut bytes, ..) = archive();
    let second = bytes.len() - 1024 - 90_112 - 512;
    bytes[second - 700] ^= 1;
    let found = look(&bytes[..second + 600], 0, false).unwrap();
    assert_eq!(kinds(&found.problems), ["checksum"]);
    assert!(found.problems[0].byte_offset.is_some());
    assert!(look(&bytes, found.checked_bytes, true).unwrap().problems.is_empty());
}

#[test]
fn what_is_cut_is_a_problem_when_nothing_will_follow() {
    let (bytes, ..) = archive();
    let cut = &bytes[..bytes.len() - 1024 - 90_000];
    assert!(look(cut, 0, false).unwrap().problems.is_empty());
    let kinds = kinds(&look(cut, 0, true).unwrap().problems);
    assert!(kinds.contains(&"truncated") && kinds.contains(&"checksum"), "{kinds:?}");
    let missing = tar(&[entry("manifest.json", b'0', &manifest("1.1", &[("host/uname", b"x")]))]);
    assert_eq!(crate::common::kinds(&look(&missing, 0, true).unwrap().problems), ["missing_member"]);
}

#[test]
fn a_size_that_is_no_number_is_damage() {
    for size in [&b"-5         \0"[..], b"-0000000005\0", &[0xff; 12]] {
        let mut bytes = entry("manifest.json", b'0', &manifest("1.1", &[]));
        bytes.extend(header("host/uname", b'0', size));
        bytes.resize(bytes.len() + 4096, 0);
        let found = look(&bytes, 0, true).unwrap();
        assert!(kinds(&found.problems).contains(&"damaged_header"), "{:?}", found.problems);
    }
}

#[test]
fn nobody_vouches_for_other_files() {
    let (bytes, ..) = archive();
    assert!(look(b"PERFILE2", 0, true).is_none());
    assert!(look(b"", 0, true).is_none());
    assert!(look(&zst(&bytes), 0, true).is_none());
    assert!(look(&tar(&[entry("perf/perf.data", b'0', b"PERFILE2")]), 0, true).is_none());
    let newer = tar(&[entry("manifest.json", b'0', &manifest("9.0", &[]))]);
    assert!(look(&newer, 0, true).is_none(), "its import says so");
    let damaged = tar(&[entry("manifest.json", b'0', b"{\"format\": \"perfcase\""), entry("a", b'0', b"x")]);
    assert_eq!(kinds(&look(&damaged, 0, false).unwrap().problems), ["damaged_manifest"]);
}
