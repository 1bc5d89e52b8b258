//! Which file is used for an object, and above all which file is not.

use std::path::Path;
use std::sync::Arc;

use crate::support::{run, write};
use perfcase_archive::Capture;
use perfcase_symbols::{Missing, Object, Objects};

const ID: [u8; 20] = [0xab; 20];
const HEX: &str = "abababababababababababababababababababab";

/// Builds `prog` and `prog.debug` with the build ID `ID`, and `other`, which is another build.
fn build(folder: &Path) {
    write(folder, "a.c", "int main(void) { return 0; }\n");
    run(folder, &format!("gcc -g -Wl,--build-id=0x{HEX} -o prog a.c && objcopy --only-keep-debug prog prog.debug"));
    run(folder, "gcc -g -Wl,--build-id=0xcd -o other a.c && gcc -Wl,--build-id=none -o bare a.c && strip prog");
}

fn given(dir: &Path) -> Objects {
    Objects::new(None, &[dir.to_path_buf()]).unwrap_or_else(|(path, why)| panic!("{}: {}", path.display(), why.message))
}

fn found(objects: &Objects, path: &str, id: Option<&[u8]>) -> Result<Arc<Object>, Missing> {
    objects.find(path.as_bytes(), id)
}

#[test]
fn every_layout_of_a_debug_directory() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let rest = &HEX[2..];
    for (place, debug) in [
        (format!(".build-id/ab/{rest}"), format!(".build-id/ab/{rest}.debug")),
        (format!(".build-id/ab/{rest}/elf"), format!(".build-id/ab/{rest}/debug")),
        (format!(".debug/.build-id/ab/{rest}/elf"), format!("usr/lib/debug/.build-id/ab/{rest}.debug")),
        (format!("{HEX}/executable"), format!("{HEX}/debuginfo")),
        ("opt/prog".to_string(), "opt/.debug/prog.debug".to_string()),
    ] {
        let dir = tempfile::tempdir_in(root.path()).unwrap();
        let put = |from: &str, to: &str| {
            run(dir.path(), &format!("mkdir -p \"$(dirname {to})\" && cp ../{from} {to}"));
        };
        if place.starts_with("opt") {
            run(root.path(), "objcopy --add-gnu-debuglink=prog.debug prog linked");
            put("linked", &place);
        } else {
            put("prog", &place);
        }
        let object = found(&given(dir.path()), "/opt/prog", Some(&ID)).expect(&place);
        assert!(object.origin.ends_with(&place), "{}", object.origin);
        assert!(object.debug.is_none(), "{place}");
        put("prog.debug", &debug);
        let object = found(&given(dir.path()), "/opt/prog", Some(&ID)).expect(&place);
        assert!(object.debug.is_some(), "{debug}");
    }
}

#[test]
fn another_build_is_never_used() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let rest = &HEX[2..];
    run(
        root.path(),
        &format!("mkdir -p d/.build-id/ab d/opt && cp other d/.build-id/ab/{rest} && cp other d/opt/prog"),
    );
    let objects = given(&root.path().join("d"));
    assert_eq!(found(&objects, "/opt/prog", Some(&ID)).err(), Some(Missing::BuildIdMismatch));
    assert_eq!(found(&objects, "/opt/none", Some(&ID)).err(), Some(Missing::NotInCapture));
    assert!(found(&objects, "/opt/prog", Some(&[0xcd])).is_ok());
    // Nothing says which build it was. Only the exact path is known, and the result says so.
    assert!(
        found(&objects, "/opt/prog", None).unwrap().origin.ends_with("(by its path: the recording has no build id)")
    );
    assert!(!found(&objects, "/opt/prog", Some(&[0xcd])).unwrap().origin.contains("by its path"));
    // A file without a build ID is not the build that has one.
    run(root.path(), "cp bare d/opt/prog");
    assert_eq!(found(&given(&root.path().join("d")), "/opt/prog", Some(&ID)).err(), Some(Missing::BuildIdMismatch));
}

#[test]
fn a_path_of_the_recording_does_not_leave_the_directory() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    run(root.path(), "mkdir -p d && ln -s ../prog d/link && ln -s / d/root && mkfifo d/fifo && cp prog d/prog");
    let objects = given(&root.path().join("d"));
    let outside = root.path().join("prog");
    for path in ["/../prog", "../prog", "/link", "/fifo", &format!("/root{}", outside.display()), "/", ""] {
        assert_eq!(found(&objects, path, None).err(), Some(Missing::NotInCapture), "{path}");
    }
    assert!(found(&objects, "/prog", None).is_ok());
}

#[test]
fn without_a_directory_the_machines_own_files_stay_closed() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let objects = Objects::new(None, &[]).ok().unwrap();
    let path = root.path().join("prog");
    assert_eq!(found(&objects, path.to_str().unwrap(), Some(&ID)).err(), Some(Missing::NotInCapture));
    assert_eq!(found(&objects, "/bin/sh", None).err(), Some(Missing::NotInCapture));
}

#[test]
fn files_and_archives() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let perf_archive = format!("mkdir -p p/opt/prog/{HEX} && cp prog p/opt/prog/{HEX}/elf && tar -C p -cf a.tar opt");
    run(root.path(), &format!("{perf_archive} && bzip2 -k a.tar && gzip -k a.tar && zstd -q a.tar && echo x > junk"));
    for name in ["prog", "a.tar", "a.tar.bz2", "a.tar.gz", "a.tar.zst"] {
        let objects = given(&root.path().join(name));
        assert!(found(&objects, "/opt/prog", Some(&ID)).is_ok(), "{name}");
        assert!(found(&objects, "/opt/prog", None).is_err(), "{name}");
    }
    for bad in ["junk", "nothing", "bare"] {
        assert!(Objects::new(None, &[root.path().join(bad)]).is_err(), "{bad}");
    }
}

#[test]
fn members_of_the_capture() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    run(
        root.path(),
        &format!(
            "mkdir -p c/symbols/elf && cp prog c/symbols/elf/{HEX} && cp other c/symbols/elf/ee && cp other c/symbols/elf/cd"
        ),
    );
    run(
        root.path(),
        &format!("mkdir c/symbols/debug && cp prog.debug c/symbols/debug/{HEX} && cp prog.debug c/symbols/debug/ee"),
    );
    run(root.path(), "cp bare c/symbols/elf/path-00 && printf x > c/symbols/vdso && printf 'PERFILE2' > c/perf.data");
    let lines = [
        "member\tkind\tbuild_id\tpath\tpid\tnspid\tsize_bytes\toriginal_bytes\treason".to_string(),
        format!("elf/{HEX}\telf-table\t{HEX}\t/opt/prog\t-\t-\t1\t1\t-"),
        "elf/ee\telf\tee\t/opt/liar\t-\t-\t1\t1\t-".to_string(),
        format!("debug/{HEX}\tdebug-table\t{HEX}\t/usr/lib/debug/x\t-\t-\t1\t1\t-"),
        "elf/cd\telf\tcd\t/opt/other\t-\t-\t1\t1\t-".to_string(),
        "debug/ee\tdebug-table\tcd\t/usr/lib/debug/liar\t-\t-\t1\t1\t-".to_string(),
        "elf/path-00\telf\t-\t/opt/b\\134are\t-\t-\t1\t1\t-".to_string(),
        "-\telf\t77\t/opt/huge\t-\t-\t-\t9\ttoo large: 9 bytes".to_string(),
    ];
    write(root.path(), "c/symbols/objects.tsv", &(lines.join("\n") + "\n"));
    let capture = Arc::new(Capture::open(&root.path().join("c")).unwrap());
    let objects = Objects::new(Some(capture), &[]).ok().unwrap();
    assert_eq!(found(&objects, "/opt/prog", Some(&ID)).unwrap().origin, format!("symbols/elf/{HEX}"));
    assert!(found(&objects, "/opt/prog", None).is_ok());
    // The host's debug file of the same build comes with it, and no other debug file.
    assert!(found(&objects, "/opt/prog", Some(&ID)).unwrap().debug.is_some());
    assert!(found(&objects, "/opt/other", Some(&[0xcd])).unwrap().debug.is_none());
    assert!(found(&objects, "/usr/lib/debug/x", Some(&ID)).unwrap().origin.starts_with("symbols/elf/"));
    // It is found by its build ID, whatever path it was mapped from.
    assert!(found(&objects, "/proc/7/exe", Some(&ID)).is_ok());
    assert_eq!(found(&objects, "/opt/prog", Some(&[1])).err(), Some(Missing::NotInCapture));
    assert_eq!(found(&objects, "/opt/liar", Some(&[0xee])).err(), Some(Missing::BuildIdMismatch));
    assert!(found(&objects, "/opt/b\\are", None).is_ok());
    assert_eq!(objects.left_out(b"/opt/huge", Some(&[0x77])), Some("too large: 9 bytes"));
}
