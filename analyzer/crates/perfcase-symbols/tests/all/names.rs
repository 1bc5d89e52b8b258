//! Names of addresses, compared with nm and addr2line.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{run, write};
use perfcase_archive::Content;
use perfcase_symbols::{Name, Object, Objects, Parts, Placement, names};

const SOURCE: &str = r#"
#include <cstdio>
#include <string>
namespace app {
static inline __attribute__((always_inline)) int twice(int x) { volatile int y = x; return y * 2; }
static inline __attribute__((always_inline)) int four(int x) { return twice(twice(x)); }
template <typename T> __attribute__((noinline)) T work(T x) { return four(x) + 1; }
struct Box { __attribute__((noinline)) Box(int v) : value(v) {} int value; };
}
extern "C" __attribute__((noinline)) int plain(int x) { return app::four(x) + 3; }
extern "C" int __plain_alias(int) __attribute__((alias("plain")));
extern "C" int weak_alias_with_long_name(int) __attribute__((weak, alias("plain")));
int main(int argc, char **) { app::Box box(argc); return app::work(box.value) + plain(argc) + puts("x"); }
"#;

fn object(path: &Path) -> Object {
    Object {
        bytes: Content::map_file(path).unwrap(),
        origin: String::new(),
        debug: None,
        whole: None,
        parts: Parts::default(),
    }
}

fn name(object: &Object, offset: u64) -> Result<Name, &'static str> {
    names(object, &Placement::File, &[offset]).remove(0)
}

/// Gives address, size and name of the functions in code.
fn nm(folder: &Path, flags: &str, file: &str) -> Vec<(u64, u64, String)> {
    let text = run(folder, &format!("nm -S {flags} {file}"));
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (address, size, kind, name) = (words.next()?, words.next()?, words.next()?, words.next()?);
        "tTwW".contains(kind).then(|| Some((hex(address)?, hex(size)?, name.to_string())))?
    };
    text.lines().filter_map(line).collect()
}

/// Gives the offset in the file of an address of its code.
fn offset(folder: &Path, file: &str, address: u64) -> u64 {
    let text = run(folder, &format!("readelf -lW {file}"));
    let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
    let lines = text.lines().filter(|line| line.trim_start().starts_with("LOAD"));
    let mut loads = lines.map(|line| line.split_whitespace().skip(1).take(4).map(number).collect::<Vec<_>>());
    let load = loads.find(|load| (load[1]..load[1] + load[3].max(1)).contains(&address) || load.len() < 4);
    let load = load.unwrap_or_else(|| panic!("{address:x} of {file}:\n{text}"));
    address - load[1] + load[0]
}

fn build(folder: &Path) {
    write(folder, "a.cpp", SOURCE);
    run(folder, "g++ -O2 -g -o pie a.cpp && g++ -O2 -g -no-pie -o fixed a.cpp");
    run(folder, "g++ -O2 -g -Wl,-z,lazy -Wl,-z,norelro -gz=zlib -o packed a.cpp");
    run(folder, "strip -o stripped pie && objcopy --only-keep-debug pie pie.debug");
}

#[test]
fn every_function_has_nms_name() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    for file in ["pie", "fixed", "packed"] {
        let object = object(&root.path().join(file));
        let mut by_address: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        let functions = nm(root.path(), "", file);
        for (address, size, symbol) in &functions {
            by_address.entry(*address).or_default().push(symbol.clone());
            for into in [0, size - 1] {
                let found = name(&object, offset(root.path(), file, address + into)).unwrap();
                assert_eq!(found.offset_bytes, Some(into), "{file}: {symbol}");
            }
        }
        assert!(functions.len() > 5);
        let at = |symbol: &str| {
            let (address, ..) = functions.iter().find(|(.., name)| name == symbol).unwrap();
            name(&object, offset(root.path(), file, *address)).unwrap().symbol
        };
        // Global before weak, fewer underscores before more.
        assert_eq!((at("plain"), at("weak_alias_with_long_name")), ("plain".into(), "plain".into()));
        assert_eq!(at("__plain_alias"), "plain");
        assert_eq!(at("_ZN3app4workIiEET_S1_"), "app::work<int>");
        assert!(name(&object, 1 << 40).is_err());
    }
}

#[test]
fn inlined_functions_and_lines_are_addr2lines() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    run(root.path(), "objcopy --compress-debug-sections=zlib-gnu pie zdebug");
    for file in ["pie", "packed", "zdebug"] {
        let object = object(&root.path().join(file));
        // Newer binutils do not read the oldest form of compression. Compression changes no address.
        let oracle = if file == "zdebug" { "pie" } else { file };
        let mut deepest = 0;
        for (start, size, symbol) in nm(root.path(), "", file).iter().filter(|(.., name)| name.contains("work")) {
            for address in *start..start + size {
                let told = run(root.path(), &format!("addr2line -i -f -e {oracle} {address:#x}"));
                let lines: Vec<&str> = told.lines().collect();
                let found = name(&object, offset(root.path(), file, address)).unwrap();
                let mut ours: Vec<(String, String)> = Vec::new();
                for place in &found.inlined {
                    ours.push((place.function.clone().unwrap(), format!("{:?}", place.line.unwrap_or(0))));
                }
                ours.push((String::new(), format!("{:?}", found.line.unwrap_or(0))));
                let line = |text: &str| {
                    text.split(" (disc").next().unwrap().rsplit(':').next().unwrap().replace('?', "0").to_string()
                };
                let theirs: Vec<(String, String)> = lines
                    .chunks(2)
                    .enumerate()
                    .map(|(level, pair)| {
                        let outer = level == lines.len() / 2 - 1;
                        // For the innermost function addr2line prints the ELF symbol of the address, if it finds one.
                        let innermost = ours.first().filter(|_| level == 0).map(|(name, _)| name.clone());
                        let function = innermost.unwrap_or_else(|| perfcase_symbols::demangle(pair[0]).into_owned());
                        (if outer { String::new() } else { function }, line(pair[1]))
                    })
                    .collect();
                assert_eq!(ours, theirs, "{file}: {symbol} at {address:x}");
                for (function, line) in &ours {
                    let known = [("5", "twice"), ("6", "four")].into_iter().find(|(at, _)| at == line);
                    assert!(known.is_none_or(|(_, name)| name == function), "{function} at {line}");
                }
                deepest = deepest.max(found.inlined.len());
            }
        }
        assert_eq!(deepest, 2, "{file}: four and twice");
    }
}

#[test]
fn what_was_stripped_and_where_it_may_be() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let functions = nm(root.path(), "", "pie");
    let (address, ..) = functions.iter().find(|(.., name)| name == "plain").unwrap();
    let offset = offset(root.path(), "pie", *address);
    let mut stripped = object(&root.path().join("stripped"));
    assert_eq!(name(&stripped, offset).err(), Some("stripped"));
    stripped.debug = Some(Content::map_file(&root.path().join("pie.debug")).unwrap());
    let found = name(&stripped, offset).unwrap();
    assert_eq!((found.symbol.as_str(), found.source), ("plain", "symtab"));
    assert!(found.line.is_some());
    // Only the debug file, as debuginfod gives it.
    assert_eq!(name(&object(&root.path().join("pie.debug")), offset).unwrap().symbol, "plain");
    run(
        root.path(),
        "nm -D stripped --format=posix --defined-only | cut -d' ' -f1 | sort > dyn; \
        nm pie --format=posix --defined-only | awk '$2 ~ /[Tt]/ {print $1}' | sort > all; comm -13 dyn all > keep; \
        objcopy --only-keep-debug pie mini.debug && objcopy -S --remove-section .gdb_index --remove-section .comment \
        --keep-symbols=keep mini.debug mini && xz -k mini && objcopy --add-section .gnu_debugdata=mini.xz stripped withmini",
    );
    let found = name(&object(&root.path().join("withmini")), offset).unwrap();
    assert_eq!((found.symbol.as_str(), found.source), ("plain", "minidebuginfo"));
}

#[test]
fn entries_of_the_linkage_table() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let text = run(root.path(), "objdump -d -j .plt packed");
    let line = text.lines().find(|line| line.ends_with("<puts@plt>:")).unwrap();
    let address = u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap();
    let found = name(&object(&root.path().join("packed")), offset(root.path(), "packed", address + 6)).unwrap();
    assert_eq!((found.symbol.as_str(), found.offset_bytes, found.source), ("puts@plt", Some(6), "plt"));
}

#[test]
fn other_machines() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "b.c", "int inner(int x) { return x + 1; }\nint _start(void) { return inner(2); }\n");
    run(root.path(), "aarch64-linux-gnu-gcc -nostdlib -static -o arm b.c");
    let functions = nm(root.path(), "", "arm");
    let (address, ..) = functions.iter().find(|(.., name)| name == "inner").unwrap();
    assert_eq!(name(&object(&root.path().join("arm")), offset(root.path(), "arm", *address)).unwrap().symbol, "inner");
}

/// Makes pseudo-random numbers: the same bytes each time.
fn noise(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[test]
fn any_bytes_are_survived() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    let mut seed = 7;
    for file in ["pie", "packed", "pie.debug"] {
        let whole = std::fs::read(root.path().join(file)).unwrap();
        let addresses: Vec<u64> = (0x1000..0x1400).step_by(16).collect();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..1 + noise(&mut seed) % 40 {
                let at = noise(&mut seed) as usize % bytes.len();
                bytes[at] = noise(&mut seed) as u8;
            }
            bytes.truncate(bytes.len() - (noise(&mut seed) as usize % 3) * (bytes.len() / 5));
            let object = Object {
                bytes: Content::from_bytes(bytes),
                origin: String::new(),
                debug: None,
                whole: None,
                parts: Parts::default(),
            };
            assert_eq!(names(&object, &Placement::File, &addresses).len(), addresses.len());
        }
    }
}

#[test]
fn a_bomb_in_the_debug_data_is_not_unpacked() {
    let root = tempfile::tempdir().unwrap();
    build(root.path());
    run(
        root.path(),
        "head -c 300000000 /dev/zero | xz -1 > bomb.xz && objcopy --add-section .gnu_debugdata=bomb.xz stripped bomb",
    );
    let started = std::time::Instant::now();
    assert_eq!(name(&object(&root.path().join("bomb")), 0x1100).err(), Some("stripped"));
    assert!(started.elapsed().as_secs() < 5);
}

/// Builds a function whose debug information says that so many functions are inlined in it, each in the one before.
fn nested(folder: &Path, levels: usize) -> Object {
    let entry = ".uleb128 3\n.string \"inner\"\n.quad f\n.quad 16\n";
    let (entries, ends) = (entry.repeat(levels), ".uleb128 0\n".repeat(levels));
    let text = format!(
        ".text\n.globl f\n.type f,@function\nf: .skip 16, 0x90\n.size f, 16\n\
        .section .debug_abbrev,\"\",@progbits\n\
        .uleb128 1, 0x11\n.byte 1\n.uleb128 0x11, 1, 0x12, 7, 0, 0\n\
        .uleb128 2, 0x2e\n.byte 1\n.uleb128 3, 8, 0x11, 1, 0x12, 7, 0, 0\n\
        .uleb128 3, 0x1d\n.byte 1\n.uleb128 3, 8, 0x11, 1, 0x12, 7, 0, 0\n.uleb128 0\n\
        .section .debug_info,\"\",@progbits\n\
        .long end - start\nstart: .short 4\n.long 0\n.byte 8\n\
        .uleb128 1\n.quad f, 16\n.uleb128 2\n.string \"f\"\n.quad f, 16\n{entries}{ends}.uleb128 0, 0\nend:\n"
    );
    write(folder, "nested.s", &text);
    run(folder, "as -o nested.o nested.s && ld -e f -o nested nested.o");
    object(&folder.join("nested"))
}

#[test]
fn inlined_functions_without_end_do_not_use_up_the_stack() {
    let root = tempfile::tempdir().unwrap();
    for (levels, told) in [(60, 60), (5_000, 0), (200_000, 0)] {
        let object = nested(root.path(), levels);
        let (address, ..) = nm(root.path(), "", "nested").remove(0);
        let found = name(&object, offset(root.path(), "nested", address)).unwrap();
        assert_eq!((found.symbol.as_str(), found.inlined.len()), ("f", told), "{levels} levels");
        assert_eq!(found.is_incomplete, told == 0, "{levels} levels");
    }
}

/// Builds so many functions. All have the same list of so many ranges, or the same name of so many letters.
fn shared(folder: &Path, functions: usize, ranges: usize, letters: usize) -> Object {
    let list = ".byte 6\n.quad f, f + 16\n".repeat(ranges);
    let name = "x".repeat(letters);
    let entries: String = (0..functions).map(|_| ".uleb128 2\n.long name\n.long list\n").collect();
    let text = format!(
        ".text\n.globl f\n.type f,@function\nf: .skip 16, 0x90\n.size f, 16\n\
        .section .debug_abbrev,\"\",@progbits\n\
        .uleb128 1, 0x11\n.byte 1\n.uleb128 0x11, 1, 0x12, 7, 0, 0\n\
        .uleb128 2, 0x2e\n.byte 0\n.uleb128 3, 14, 0x55, 23, 0, 0\n.uleb128 0\n\
        .section .debug_str,\"MS\",@progbits,1\nname: .string \"{name}\"\n\
        .section .debug_rnglists,\"\",@progbits\n.long after - before\nbefore: .short 5\n.byte 8, 0\n.long 0\n\
        list: {list}.byte 0\nafter:\n\
        .section .debug_info,\"\",@progbits\n\
        .long end - start\nstart: .short 5\n.byte 1, 8\n.long 0\n\
        .uleb128 1\n.quad f, 16\n{entries}.uleb128 0\nend:\n"
    );
    write(folder, "shared.s", &text);
    run(folder, "as -o shared.o shared.s && ld -e f -o shared shared.o");
    object(&folder.join("shared"))
}

#[test]
fn what_functions_share_is_not_read_for_each_of_them() {
    let root = tempfile::tempdir().unwrap();
    for (functions, ranges, letters, is_incomplete) in [(100, 10, 10, false), (20_000, 20_000, 10, true)] {
        let object = shared(root.path(), functions, ranges, letters);
        let (address, ..) = nm(root.path(), "", "shared").remove(0);
        let started = std::time::Instant::now();
        let found = name(&object, offset(root.path(), "shared", address)).unwrap();
        assert_eq!((found.symbol.as_str(), found.is_incomplete), ("f", is_incomplete), "{functions} of {ranges}");
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}

#[test]
fn compressed_sections_have_room_together() {
    let root = tempfile::tempdir().unwrap();
    nested(root.path(), 2);
    for (megabytes, is_incomplete) in [(1, false), (100, true)] {
        let line = format!(".section .debug_line,\"\",@progbits\n.zero {megabytes} << 20\n");
        write(root.path(), "line.s", &line);
        run(
            root.path(),
            "as -o line.o line.s && ld -e f -o whole nested.o line.o && \
            objcopy --compress-debug-sections=zlib whole packed",
        );
        let packed = object(&root.path().join("packed"));
        assert!(packed.bytes.len() < 300_000, "{} bytes", packed.bytes.len());
        let (address, ..) = nm(root.path(), "", "packed").remove(0);
        let found = name(&packed, offset(root.path(), "packed", address)).unwrap();
        assert_eq!((found.symbol.as_str(), found.inlined.len(), found.is_incomplete), ("f", 2, is_incomplete));
    }
}

#[test]
fn one_address_may_have_any_number_of_names() {
    let root = tempfile::tempdir().unwrap();
    let aliases: String = (0..20_000).map(|n| format!(".globl _ZN1a1b{n:05}Ev\n_ZN1a1b{n:05}Ev:\n")).collect();
    write(root.path(), "many.s", &format!(".text\n{aliases}.skip 32768, 0x90\n"));
    run(root.path(), "as -o many.o many.s && ld -e _ZN1a1b00000Ev -o many many.o");
    let object = object(&root.path().join("many"));
    let start = offset(root.path(), "many", nm_address(root.path(), "many"));
    let addresses: Vec<u64> = (start..start + 20_000).collect();
    let started = std::time::Instant::now();
    let named = names(&object, &Placement::File, &addresses);
    assert!(named.iter().all(|name| name.is_ok()));
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// Gives the address of the first symbol of a file.
fn nm_address(folder: &Path, file: &str) -> u64 {
    u64::from_str_radix(run(folder, &format!("nm {file}")).split_whitespace().next().unwrap(), 16).unwrap()
}

#[test]
fn nothing_given_nothing_named() {
    let wanted = perfcase_symbols::Wanted {
        path: b"/bin/sh".to_vec(),
        build_id: None,
        addresses: vec![1.into(), 2.into()],
        placement: Placement::File,
    };
    let named = perfcase_symbols::name_all(&Objects::default(), &[wanted]);
    assert_eq!(named[0].names, [Err("file not in capture"), Err("file not in capture")]);
}
