//! The results of `Capture::open` for good captures of every form.

use crate::common::{entry, file, gz, kinds, manifest, tar, zst};
use perfcase_archive::{ArchiveError, Capture, CaptureKind, Compression, Limits, MemberKind, Severity};

const SNAPSHOT: &[u8] = b"S 5 6 0\nF 5 3 /proc/stat\ncpu\nZ 9 0 1 3\n";
const PERF: &[u8] = b"PERFILE2 and more";

/// An archive with every way to store a member.
fn archive() -> Vec<u8> {
    let (perf, proc) = (zst(PERF), gz(SNAPSHOT));
    let stat = b"1.0,7,,cycles,9,100.00,,\n";
    let text = manifest(
        "1.0",
        &[
            ("perf/perf.data.zst", &perf),
            ("proc/snapshots.gz", &proc),
            ("pmc/perf-stat.csv", stat),
            ("ftrace/raw/header_page", b"page"),
            ("host/cpuinfo", b"x"),
            ("recorder/log", b"x"),
        ],
    );
    tar(&[
        entry("manifest.json", b'0', &text),
        entry("perf/", b'5', b""),
        entry("perf/perf.data.zst", b'0', &perf),
        entry("proc/snapshots.gz", b'0', &proc),
        entry("pmc/perf-stat.csv", b'0', stat),
        entry("ftrace/raw/header_page", b'0', b"page"),
        entry("host/cpuinfo", b'0', b"x"),
        entry("recorder/log", b'0', b"x"),
    ])
}

#[test]
fn an_archive_gives_its_members_decompressed() {
    let (_dir, path) = file("any-name", &archive());
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.kind, CaptureKind::Archive);
    assert_eq!(capture.problems, []);
    let listed: Vec<_> = capture.members.iter().map(|m| (m.path.as_str(), m.kind, m.compression)).collect();
    assert_eq!(
        listed,
        [
            ("perf/perf.data", MemberKind::PerfData, Compression::Zstd),
            ("proc/snapshots", MemberKind::ProcSnapshots, Compression::Gzip),
            ("pmc/perf-stat.csv", MemberKind::PerfStat, Compression::None),
            ("ftrace/raw/header_page", MemberKind::FtraceRaw, Compression::None),
            ("host/cpuinfo", MemberKind::HostFile, Compression::None),
            ("recorder/log", MemberKind::RecorderFile, Compression::None),
        ]
    );
    let perf = capture.member("perf/perf.data").unwrap();
    assert_eq!(perf.source.as_deref(), Some("perf"));
    let content = capture.read(perf).unwrap();
    assert_eq!(&content[..], PERF);
    assert_eq!(content.problems(), []);
    let content = capture.read(capture.member("proc/snapshots").unwrap()).unwrap();
    assert_eq!(&content[..], SNAPSHOT);
}

#[test]
fn gnu_tar_writes_archives_that_are_read() {
    let long = format!("ftrace/raw/format/{}/{}", "s".repeat(80), "e".repeat(80));
    let mut builder = tar::Builder::new(Vec::new());
    for (path, data) in [("manifest.json", manifest("1.0", &[])), (long.as_str(), b"id: 1".to_vec())] {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        builder.append_data(&mut header, path, &data[..]).unwrap();
    }
    let (_dir, path) = file("x", &builder.into_inner().unwrap());
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.problems, []);
    assert_eq!(capture.members[0].path, long);
    assert_eq!(&capture.read(&capture.members[0]).unwrap()[..], b"id: 1");
}

#[test]
fn a_compressed_archive_is_read_too() {
    let (_dir, path) = file("x.perfcase.zst", &zst(&archive()));
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.kind, CaptureKind::Archive);
    assert_eq!(capture.members.len(), 6);
}

#[test]
fn bare_recordings_are_told_by_content() {
    for (bytes, name, kind) in [
        (PERF.to_vec(), "trace.dat", MemberKind::PerfData),
        (zst(PERF), "perf.data.zst", MemberKind::PerfData),
        (gz(b"\x17\x08\x44tracing6\0"), "x.gz", MemberKind::TraceDat),
        (SNAPSHOT.to_vec(), "snapshots", MemberKind::ProcSnapshots),
        (b"# started on Sat\n\n1.0,7,,cycles,9,100.00,,\n".to_vec(), "a.csv", MemberKind::PerfStat),
    ] {
        let (_dir, path) = file(name, &bytes);
        let capture = Capture::open(&path).unwrap();
        assert_eq!(capture.kind, CaptureKind::Bare);
        assert_eq!(capture.members.len(), 1);
        assert_eq!(capture.members[0].kind, kind, "{name}");
        assert_eq!(capture.members[0].path, name.trim_end_matches(".zst").trim_end_matches(".gz"));
        assert!(!capture.read(&capture.members[0]).unwrap().is_empty());
    }
}

#[test]
fn a_folder_is_read_like_the_archive() {
    let dir = tempfile::tempdir().unwrap();
    let perf = zst(PERF);
    for (path, bytes) in [
        ("manifest.json", manifest("1.0", &[("perf/perf.data.zst", &perf), ("proc/snapshots", SNAPSHOT)])),
        ("perf/perf.data.zst", perf),
        ("proc/snapshots", SNAPSHOT.to_vec()),
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    std::fs::create_dir(dir.path().join(".state")).unwrap();
    std::fs::write(dir.path().join(".state/perf.data"), PERF).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("perf/passwd")).unwrap();
    let capture = Capture::open(dir.path()).unwrap();
    assert_eq!(capture.kind, CaptureKind::Folder);
    assert!(capture.manifest.is_some());
    assert_eq!(kinds(&capture.problems), ["links"]);
    assert_eq!(capture.problems[0].message, "perf/passwd is a link: it is not followed");
    assert_eq!(capture.problems[0].severity, Severity::Warning);
    for link in ["12/exe", "12/fd/0", "12/ns/net"] {
        let link = dir.path().join("copy").join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", link).unwrap();
    }
    let again = Capture::open(dir.path()).unwrap();
    let told: Vec<_> = again.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(told, ["4 links are not followed: perf/passwd and others"]);
    std::fs::remove_file(dir.path().join("perf/passwd")).unwrap();
    let again = Capture::open(dir.path()).unwrap();
    assert_eq!(again.problems[0].severity, Severity::Info, "links that /proc has itself");
    let paths: Vec<_> = capture.members.iter().map(|m| m.path.as_str()).collect();
    assert_eq!(paths, ["perf/perf.data", "proc/snapshots"]);
    assert_eq!(&capture.read(&capture.members[0]).unwrap()[..], PERF);
}

#[test]
fn a_folder_that_was_decompressed_by_hand_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let text = manifest("1.0", &[("perf.data.zst", &zst(PERF)), ("b.zst", b"x")]);
    std::fs::write(dir.path().join("manifest.json"), text).unwrap();
    std::fs::write(dir.path().join("perf.data"), PERF).unwrap();
    let capture = Capture::open(dir.path()).unwrap();
    assert_eq!(kinds(&capture.problems), ["missing_member"]);
    assert_eq!(capture.problems[0].source.as_deref(), Some("b"));
    let perf = &capture.members[0];
    assert_eq!((perf.path.as_str(), perf.source.as_deref()), ("perf.data", Some("perf")));
    let content = capture.read(perf).unwrap();
    assert_eq!((&content[..], content.problems()), (PERF, &[][..]));
}

#[test]
fn a_compressed_manifest_is_read_and_bounded() {
    let text = manifest("1.0", &[]);
    let (_dir, path) = file("x", &tar(&[entry("manifest.json.zst", b'0', &zst(&text))]));
    let capture = Capture::open(&path).unwrap();
    assert_eq!((capture.problems, capture.manifest.unwrap().format_version.as_str()), (vec![], "1.0"));
    let limits = Limits { manifest_bytes_max: 10, ..Limits::default() };
    let capture = Capture::open_within(&path, limits).unwrap();
    assert_eq!((kinds(&capture.problems), capture.manifest), (vec!["damaged_manifest"], None));
}

#[test]
fn an_empty_recording_is_a_warning_and_other_empty_files_are_not() {
    let (_dir, path) = file(
        "x",
        &tar(&[
            entry("manifest.json", b'0', &manifest("1.0", &[])),
            entry("perf/perf.data", b'0', b""),
            entry("recorder/log", b'0', b""),
            entry("ftrace/raw/cpu0", b'0', b""),
            entry("notes", b'0', b""),
        ]),
    );
    let capture = Capture::open(&path).unwrap();
    assert_eq!(kinds(&capture.problems), ["empty_member", "unknown_member"]);
    assert_eq!(capture.problems[0].source.as_deref(), Some("perf/perf.data"));
    assert!(capture.problems[1].message.ends_with(": notes"), "{}", capture.problems[1].message);
    assert_eq!(&capture.read(&capture.members[1]).unwrap()[..], b"");
}

#[test]
fn what_the_manifest_does_not_list_is_reported_unless_it_is_unfinished() {
    let added = entry("host/added", b'0', b"x");
    let stat = b"1.0,7,,cycles,9,100.00,,\n";
    let listed = manifest("1.0", &[("pmc/perf-stat.csv", stat)]);
    let (_dir, path) = file(
        "x",
        &tar(&[entry("manifest.json", b'0', &listed), entry("pmc/perf-stat.csv", b'0', stat), added.clone()]),
    );
    let capture = Capture::open(&path).unwrap();
    assert_eq!(kinds(&capture.problems), ["unlisted_member"]);
    assert!(capture.problems[0].message.ends_with(": host/added"));
    let unfinished =
        br#"{"format":"perfcase","format_version":"1.0","recorder":{"stopped_by":"unfinished"},"members":[]}"#;
    let (_dir, path) = file("x", &tar(&[entry("manifest.json", b'0', unfinished), added]));
    let capture = Capture::open(&path).unwrap();
    assert_eq!(capture.problems, []);
    assert_eq!(capture.manifest.unwrap().recorder.stopped_by.as_deref(), Some("unfinished"));
}

#[test]
fn what_is_no_capture_says_what_it_is() {
    for (name, bytes, want) in [
        ("f", &b""[..], "the file is empty"),
        ("f", b"\x7fELF....", "an ELF file"),
        ("f", b"plain text\n", "its first bytes are those of no format perfcase reads"),
        ("data.0", b"records\n", "a part of a folder that perf record --threads wrote: give the folder"),
        ("data.01", b"records\n", "its first bytes are those of no format perfcase reads"),
        ("data.4294967294", b"records\n", "its first bytes are those of no format perfcase reads"),
    ] {
        let (_dir, path) = file(name, bytes);
        let error = Capture::open(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: not a capture: {want}", path.display()));
        assert_eq!(error.kind(), "not_a_capture");
    }
    let error = Capture::open(std::path::Path::new("/nonexistent")).unwrap_err();
    assert_eq!(error.kind(), "not_found");
    assert!(matches!(error, ArchiveError::Io { .. }));
}
