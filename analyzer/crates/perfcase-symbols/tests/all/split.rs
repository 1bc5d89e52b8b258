//! Debug information outside the program: .dwo, .dwp, and the information that dwz shares. The same program with all
//! debug information inside it gives the expected result.

use std::path::Path;
use std::sync::Arc;

use crate::support::{run, write};
use perfcase_symbols::{Name, Object, Objects, Placement, names};

const SOURCE: &str = r#"
#include <map>
#include <string>
static inline __attribute__((always_inline)) int twice(int x) { volatile int y = x; return y * 2; }
static inline __attribute__((always_inline)) int four(int x) { return twice(twice(x)); }
extern "C" __attribute__((noinline)) int plain(int x) { return four(x) + 3; }
std::map<std::string, int> numbers;
int main(int argc, char **argv) { numbers[argv[0]] = plain(argc); return four(numbers.begin()->second); }
"#;
const PATH: &str = "/opt/prog";

fn build(folder: &Path, file: &str, flags: &str) {
    run(folder, &format!("mkdir -p \"$(dirname {file})\" && g++ -O2 -Wl,--build-id=sha1 {flags} -o {file} a.cpp"));
}

fn found(dir: &Path) -> Arc<Object> {
    Objects::new(None, &[dir.to_path_buf()]).ok().unwrap().find(PATH.as_bytes(), None).unwrap()
}

/// Gives the names of every fourth byte of the code, which is the same in all programs.
fn all(object: &Object) -> Vec<Result<Name, &'static str>> {
    names(object, &Placement::File, &(0x1000..0x3000).step_by(4).collect::<Vec<_>>())
}

fn inlined(names: &[Result<Name, &'static str>]) -> usize {
    names.iter().flatten().filter(|name| !name.inlined.is_empty()).count()
}

/// Packs one .dwo file of DWARF 5 (section 7.3.5), which binutils' dwp cannot pack: its sections, with the unit's
/// sections behind some other bytes, and an index that says where the unit is in them.
fn pack(folder: &Path, dwo: &str, package: &str) {
    const OTHER_BYTES: usize = 24;
    run(folder, &format!("cp {dwo} one.dwo && objcopy --dump-section .debug_info.dwo=info one.dwo"));
    let info = std::fs::read(folder.join("info")).unwrap();
    // The beginning of the unit: length, version 5, kind DW_UT_split_compile, address size, abbreviations, id.
    assert_eq!(info[4..7], [5, 0, 5]);
    let id = u64::from_le_bytes(info[12..20].try_into().unwrap());
    let sections = run(folder, "readelf -SW one.dwo");
    let size = |name: &str| {
        let line = sections.lines().find(|line| line.contains(&format!(" {name} ")))?;
        let fields: Vec<&str> = line.split(']').nth(1)?.split_whitespace().collect();
        u32::from_str_radix(fields[4], 16).ok()
    };
    let names = ["info", "", "abbrev", "line", "loclists", "str_offsets", "macro", "rnglists"];
    let parts = names.iter().zip(1u32..).filter_map(|(name, key)| Some((key, size(&format!(".debug_{name}.dwo"))?)));
    let parts: Vec<(u32, u32)> = parts.collect();
    assert!(parts.len() >= 4, "{parts:?}");
    let count = parts.len() as u32;
    // Version, columns, units, slots; then the slots' ids, and the row of each slot. The lowest bit of the id chooses
    // the slot.
    let mut index: Vec<u8> = [5, count, 1, 2].iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    let at = (id & 1) as usize;
    for slot in 0..2 {
        index.extend(if slot == at { id } else { 0 }.to_le_bytes());
    }
    for slot in 0..2 {
        index.extend(u32::from(slot == at).to_le_bytes());
    }
    let offset = |key: u32| if key == 1 { OTHER_BYTES as u32 } else { 0 };
    index.extend(parts.iter().flat_map(|(key, _)| key.to_le_bytes()));
    index.extend(parts.iter().flat_map(|(key, _)| offset(*key).to_le_bytes()));
    index.extend(parts.iter().flat_map(|(_, size)| size.to_le_bytes()));
    std::fs::write(folder.join("cu_index"), index).unwrap();
    std::fs::write(folder.join("info"), [&[0xff; OTHER_BYTES][..], &info].concat()).unwrap();
    run(
        folder,
        &format!(
            "objcopy --update-section .debug_info.dwo=info --add-section .debug_cu_index=cu_index one.dwo {package}"
        ),
    );
}

#[test]
fn dwo_and_dwp_files_tell_what_the_program_would() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a.cpp", SOURCE);
    for version in [4, 5] {
        let dir = |name: &str| root.path().join(format!("{name}{version}"));
        build(root.path(), &format!("whole{version}/opt/prog"), &format!("-gdwarf-{version}"));
        let wanted = all(&found(&dir("whole")));
        assert!(inlined(&wanted) > 5);
        build(root.path(), &format!("bare{version}/opt/prog"), &format!("-gdwarf-{version} -gsplit-dwarf"));
        assert_eq!(inlined(&all(&found(&dir("bare")))), 0, "the program alone does not know");
        // By the name of the file alone, and below the folder in which the compiler ran.
        let below = root.path().strip_prefix("/").unwrap().display();
        for (kind, place) in [("flat", String::new()), ("tree", format!("{below}/bare{version}/opt"))] {
            run(root.path(), &format!("mkdir -p {kind}{version}/opt {kind}{version}/{place}"));
            run(
                root.path(),
                &format!(
                    "cp bare{version}/opt/prog {kind}{version}/opt && cp bare{version}/opt/*.dwo {kind}{version}/{place}"
                ),
            );
            assert_eq!(all(&found(&dir(kind))), wanted, "{kind} {version}");
        }
        run(root.path(), &format!("mkdir -p packed{version}/opt && cp bare{version}/opt/prog packed{version}/opt"));
        match version {
            4 => drop(run(root.path(), "dwp -o packed4/opt/prog.dwp bare4/opt/*.dwo")),
            _ => pack(root.path(), "bare5/opt/*.dwo", "packed5/opt/prog.dwp"),
        }
        assert_eq!(all(&found(&dir("packed"))), wanted, "dwp of DWARF {version}");
        if version == 5 {
            // The index says that another unit is here.
            let mut index = std::fs::read(root.path().join("cu_index")).unwrap();
            index[16..32].iter_mut().step_by(8).for_each(|byte| *byte ^= 2);
            std::fs::write(root.path().join("cu_index"), index).unwrap();
            run(root.path(), "objcopy --update-section .debug_cu_index=cu_index packed5/opt/prog.dwp");
            assert_eq!(inlined(&all(&found(&dir("packed")))), 0);
        }
    }
    // A unit that the program does not mean is not used, even if its file has the right name.
    write(root.path(), "a.cpp", &SOURCE.replace("y * 2", "y + y"));
    build(root.path(), "other/opt/prog", "-gdwarf-5 -gsplit-dwarf");
    run(root.path(), "rm flat5/*.dwo; for f in bare5/opt/*.dwo; do cp other/opt/*.dwo flat5/$(basename $f); done");
    assert_eq!(inlined(&all(&found(&root.path().join("flat5")))), 0);
}

#[test]
fn what_dwz_shares_is_found_by_its_build_id() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a.cpp", SOURCE);
    build(root.path(), "whole/opt/prog", "-g");
    let wanted = all(&found(&root.path().join("whole")));
    build(root.path(), "shared/opt/prog", "-g");
    build(root.path(), "shared/opt/second", "-g");
    run(root.path(), "dwz -m common -M ../../.dwz/common shared/opt/prog shared/opt/second");
    let without = all(&found(&root.path().join("shared")));
    assert_ne!(without, wanted, "functions of the library's headers are in the shared part");
    run(root.path(), "mkdir -p shared/usr/lib/debug/.dwz && cp common shared/usr/lib/debug/.dwz/common");
    assert_eq!(all(&found(&root.path().join("shared"))), wanted);
    run(root.path(), "rm -r shared/usr; mkdir -p shared/.build-id");
    run(
        root.path(),
        "id=$(readelf -n common | sed -n 's/.*Build ID: //p'); first=$(echo $id | cut -c 1-2); \
         mkdir shared/.build-id/$first && cp common shared/.build-id/$first/$(echo $id | cut -c 3-).debug",
    );
    assert_eq!(all(&found(&root.path().join("shared"))), wanted);
    // Another build of it is not used.
    run(root.path(), "rm -r shared/.build-id; mkdir -p shared/.dwz; cp whole/opt/prog shared/.dwz/common");
    assert_eq!(all(&found(&root.path().join("shared"))), without);
}
