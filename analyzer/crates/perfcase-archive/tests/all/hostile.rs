//! Archives that are damaged or made to harm: everything readable is read, and the rest is a problem.

use crate::common::{entry, file, header, kinds, manifest, tar, zst};
use crate::scale::scaled;
use perfcase_archive::{ArchiveError, Capture, Limits, MemberKind, Severity};

fn open(bytes: &[u8]) -> Capture {
    let (_dir, path) = file("x.perfcase", bytes);
    Capture::open(&path).unwrap()
}

#[test]
fn unsafe_members_are_refused_one_by_one() {
    let capture = open(&tar(&[
        entry("manifest.json", b'0', &manifest("1.0", &[])),
        entry("../../etc/cron.d/x", b'0', b"PERFILE2"),
        entry("/etc/passwd", b'0', b"PERFILE2"),
        entry("perf/link", b'2', b""),
        entry("perf/hard", b'1', b""),
        entry("perf/dev", b'3', b""),
        entry("perf/fifo", b'6', b""),
        entry("perf/perf.data", b'0', b"PERFILE2 first"),
        entry("./perf//perf.data", b'0', b"PERFILE2 second"),
        entry("perf/perf.data.zst", b'0', &zst(b"PERFILE2 third")),
    ]));
    assert_eq!(
        kinds(&capture.problems),
        [
            "duplicate_member",
            "duplicate_member",
            "unsafe_member",
            "unsafe_member",
            "unsafe_member",
            "unsafe_member",
            "unsafe_path",
            "unsafe_path"
        ]
    );
    assert!(capture.problems.iter().all(|p| p.severity == Severity::Error));
    assert_eq!(capture.members.len(), 1);
    assert_eq!(&capture.read(&capture.members[0]).unwrap()[..], b"PERFILE2 first");
}

#[test]
fn every_cut_keeps_the_members_before_it() {
    let perf = zst(&[&b"PERFILE2"[..], &[7; 3000]].concat());
    let stat = b"1.0,7,,cycles,9,100.00,,\n".repeat(60);
    let text = manifest("1.0", &[("perf/perf.data.zst", &perf), ("pmc/perf-stat.csv", &stat)]);
    let first = entry("manifest.json", b'0', &text);
    let second = entry("perf/perf.data.zst", b'0', &perf);
    let whole = tar(&[first.clone(), second.clone(), entry("pmc/perf-stat.csv", b'0', &stat)]);
    let (perf_ends, stat_starts) = (first.len() + 512 + perf.len(), first.len() + second.len() + 512);
    for cut in (first.len()..whole.len() - 1024).step_by(7) {
        let capture = open(&whole[..cut]);
        let truncated: Vec<_> = capture.problems.iter().filter(|p| p.kind == "truncated").collect();
        assert_eq!(truncated.len(), 1, "cut at {cut}");
        assert_eq!(truncated[0].byte_offset, Some(cut as u64));
        if cut >= perf_ends {
            let perf = capture.read(capture.member("perf/perf.data").unwrap()).unwrap();
            assert_eq!((perf.len(), perf.problems()), (3008, &[][..]));
        }
        let kept = capture.member("pmc/perf-stat.csv").map_or(0, |m| capture.read(m).unwrap().len());
        let want = cut.saturating_sub(stat_starts).min(stat.len());
        assert_eq!(kept, want, "cut at {cut}");
    }
    let capture = open(&whole[..first.len()]);
    assert_eq!(kinds(&capture.problems), ["missing_member", "missing_member", "truncated"]);
}

#[test]
fn a_changed_member_is_reported_and_still_read() {
    let stat = b"1.0,7,,cycles,9,100.00,,\n";
    let text = manifest("1.0", &[("pmc/perf-stat.csv", stat)]);
    let changed = b"1.0,8,,cycles,9,100.00,,\n";
    let capture = open(&tar(&[entry("manifest.json", b'0', &text), entry("pmc/perf-stat.csv", b'0', changed)]));
    let content = capture.read(&capture.members[0]).unwrap();
    assert_eq!(&content[..], changed);
    assert_eq!(kinds(content.problems()), ["checksum"]);
    assert_eq!(content.problems()[0].severity, Severity::Error);
    assert_eq!(content.problems()[0].source.as_deref(), Some("pmc/perf-stat.csv"));
}

#[test]
fn a_damaged_header_is_skipped() {
    let mut bytes = tar(&[
        entry("manifest.json", b'0', &manifest("1.0", &[])),
        entry("a", b'0', b"PERFILE2 a"),
        entry("b", b'0', b"PERFILE2 b"),
    ]);
    let at = 1024;
    bytes[at + 3] ^= 0x40;
    let capture = open(&bytes);
    assert_eq!(kinds(&capture.problems), ["damaged_header"]);
    assert_eq!(capture.problems[0].byte_offset, Some(at as u64));
    assert_eq!(capture.members.len(), 1);
    assert_eq!(capture.members[0].path, "b");
}

#[test]
fn zeros_do_not_hide_the_members_behind_them() {
    let (first, second) = (entry("a", b'0', b"PERFILE2 a"), entry("b", b'0', b"PERFILE2 b"));
    for zeros in [512, 1024, 10_240] {
        let capture = open(&tar(&[first.clone(), vec![0; zeros], second.clone()]));
        assert_eq!(kinds(&capture.problems), ["damaged_header", "no_manifest"]);
        let damaged = capture.problems.iter().find(|problem| problem.kind == "damaged_header").unwrap();
        assert_eq!(damaged.byte_offset, Some(first.len() as u64));
        assert_eq!(capture.members.iter().map(|member| &*member.path).collect::<Vec<_>>(), ["a", "b"]);
    }
    // The end marker may be longer, because tar pads its records. Other bytes behind it are reported.
    let padded = [tar(std::slice::from_ref(&first)), vec![0; 9000]].concat();
    assert_eq!(kinds(&open(&padded).problems), ["no_manifest"]);
    assert_eq!(kinds(&open(&[padded, b"more".to_vec()].concat()).problems), ["damaged_header", "no_manifest"]);
}

#[test]
fn many_small_bombs_are_one() {
    let bomb = zst(&[&b"PERFILE2"[..], &vec![0; 1 << 20]].concat());
    let dir = tempfile::tempdir().unwrap();
    for number in 0..20 {
        std::fs::write(dir.path().join(format!("{number:02}.zst")), &bomb).unwrap();
    }
    let limits = Limits { ratio_max: 10, ratio_free_bytes: 5 << 20, ..Limits::default() };
    let capture = Capture::open_within(dir.path(), limits).unwrap();
    let read = |member| capture.read(member).unwrap();
    let contents: Vec<_> = capture.members.iter().map(read).collect();
    assert_eq!(contents.iter().map(|content| content.len()).sum::<usize>(), 5 << 20);
    assert_eq!(contents.iter().filter(|content| kinds(content.problems()) == ["limit"]).count(), 16);
    // To read a member again takes no more.
    assert_eq!(capture.members.iter().map(|member| read(member).len()).max(), Some(8 + (1 << 20)));
}

#[test]
fn a_manifest_of_more_values_than_any_is_not_parsed() {
    let values = ["[]"; 400_000].join(",");
    let text = format!(r#"{{"format":"perfcase","format_version":"1.0","x":[{values}]}}"#);
    let capture = open(&tar(&[entry("manifest.json.zst", b'0', &zst(text.as_bytes())), entry("a", b'0', b"PERFILE2")]));
    assert!(capture.manifest.is_none());
    assert_eq!(kinds(&capture.problems), ["damaged_manifest"]);
    assert!(capture.problems[0].message.contains("more than 300000 values"));
}

#[test]
fn absurd_sizes_end_the_walk() {
    for size in [&b"77777777777\0"[..], &[0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]] {
        let mut bytes = entry("manifest.json", b'0', &manifest("1.0", &[]));
        bytes.extend(header("perf/perf.data", b'0', size));
        bytes.extend(b"PERFILE2");
        let capture = open(&bytes);
        assert_eq!(kinds(&capture.problems), ["truncated"]);
        assert_eq!(&capture.read(&capture.members[0]).unwrap()[..], b"PERFILE2");
    }
}

#[test]
fn bounds_hold() {
    let bomb = zst(&[&b"PERFILE2"[..], &vec![0; 4 << 20]].concat());
    let mut entries =
        vec![entry("manifest.json", b'0', &manifest("1.0", &[])), entry("perf/perf.data.zst", b'0', &bomb)];
    entries.extend((0..50).map(|i| entry(&format!("host/{i}"), b'0', b"x")));
    let (_dir, path) = file("x", &tar(&entries));
    let limits = Limits { member_count_max: 20, ratio_max: 10, ratio_free_bytes: 100, ..Limits::default() };
    let capture = Capture::open_within(&path, limits).unwrap();
    assert_eq!(kinds(&capture.problems), ["limit"]);
    assert_eq!(capture.members.len(), 19);
    let content = capture.read(capture.member("perf/perf.data").unwrap()).unwrap();
    assert_eq!(content.len(), 10 * bomb.len());
    assert_eq!(kinds(content.problems()), ["limit"]);
}

#[test]
fn a_newer_major_is_refused_with_file_place_and_remedy() {
    let (_dir, path) = file("x", &tar(&[entry("manifest.json", b'0', &manifest("2.0", &[]))]));
    let error = Capture::open(&path).unwrap_err();
    assert!(matches!(error, ArchiveError::UnsupportedVersion { .. }));
    assert_eq!(
        error.to_string(),
        format!("{}: manifest.json says format_version \"2.0\", this perfcase reads 1.x", path.display())
    );
    assert_eq!(error.hint(), "upgrade perfcase to a version that reads this format");
}

#[test]
fn a_newer_minor_is_read_with_what_it_has_more() {
    let capture = open(&tar(&[
        entry("manifest.json", b'0', &manifest("1.9", &[])),
        entry("future/thing", b'0', b"??"),
        entry("proc/snapshots", b'0', b"S 1 2 3\n"),
    ]));
    assert_eq!(kinds(&capture.problems), ["newer_minor", "unknown_member"]);
    assert!(capture.problems.iter().all(|p| p.severity == Severity::Info));
    assert_eq!(capture.member("future/thing").unwrap().kind, MemberKind::Unknown);
    assert_eq!(capture.member("proc/snapshots").unwrap().kind, MemberKind::ProcSnapshots);
}

#[test]
fn a_damaged_manifest_leaves_the_members_readable() {
    let capture =
        open(&tar(&[entry("manifest.json", b'0', b"{\"format\""), entry("perf/perf.data", b'0', b"PERFILE2")]));
    assert!(capture.manifest.is_none());
    assert_eq!(kinds(&capture.problems), ["damaged_manifest"]);
    assert_eq!(capture.members[0].kind, MemberKind::PerfData);
}

#[test]
fn random_damage_never_panics() {
    let perf = zst(&[&b"PERFILE2"[..], &[1; 900]].concat());
    let whole = tar(&[
        entry("manifest.json", b'0', &manifest("1.0", &[("perf/perf.data.zst", &perf)])),
        entry("perf/perf.data.zst", b'0', &perf),
        entry("host/x", b'0', &[b'y'; 600]),
    ]);
    let mut seed = 7u64;
    for _ in 0..scaled(20_000) {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (seed >> 33) as usize % bytes.len();
            bytes[at] = (seed >> 24) as u8;
        }
        let (_dir, path) = file("x", &bytes);
        if let Ok(capture) = Capture::open(&path) {
            for member in &capture.members {
                capture.read(member).unwrap();
            }
        }
    }
}
