//! Debug information outside the program: .dwo, .dwp, and what dwz shares. The same program with all of it within tells
//! what to find.

mod support;

use std::path::Path;
use std::sync::Arc;

use perfcase_symbols::{Name, Object, Objects, names};
use support::{run, write};

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

/// The names of every fourth byte of the code, which is the same in all.
fn all(object: &Object) -> Vec<Result<Name, &'static str>> {
    names(object, &(0x1000..0x3000).step_by(4).collect::<Vec<_>>())
}

fn inlined(names: &[Result<Name, &'static str>]) -> usize {
    names.iter().flatten().filter(|name| !name.inlined.is_empty()).count()
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
        // By the file's name alone, and below the folder in which the compiler ran.
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
        // binutils packs no DWARF 5.
        if version == 4 {
            run(root.path(), "mkdir -p packed4/opt && cp bare4/opt/prog packed4/opt");
            run(root.path(), "dwp -o packed4/opt/prog.dwp bare4/opt/*.dwo");
            assert_eq!(all(&found(&dir("packed"))), wanted, "dwp");
        }
    }
    // A unit that the program does not mean is not taken, though its file has the name.
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
    // Another build of it is none.
    run(root.path(), "rm -r shared/.build-id; mkdir -p shared/.dwz; cp whole/opt/prog shared/.dwz/common");
    assert_eq!(all(&found(&root.path().join("shared"))), without);
}
