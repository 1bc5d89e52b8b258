use super::*;
use crate::elf::{COMPRESSED, DYNSYM, EXECUTED, NOBITS, NOTE, STRTAB, SYMTAB};

const HEAD: usize = 64;
const CODE: u64 = 2 | EXECUTED;

/// A file of sections: name, type, flags, link, bytes. The names of sections are in the last one, or in `shared`.
fn file(sections: &[(&str, u32, u64, u32, &[u8])], shared: Option<usize>) -> Vec<u8> {
    let mut bytes = vec![0; HEAD];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let mut strings: Vec<u8> = shared.map_or(vec![0], |index| sections[index - 1].4.to_vec());
    let places: Vec<u32> = sections
        .iter()
        .map(|section| {
            strings.extend_from_slice(section.0.as_bytes());
            strings.push(0);
            (strings.len() - section.0.len() - 1) as u32
        })
        .collect();
    let mut headers = vec![0; 64];
    let mut all: Vec<_> = sections.to_vec();
    if let Some(index) = shared {
        all[index - 1].4 = &strings;
    } else {
        all.push(("", STRTAB, 0, 0, &strings));
    }
    for (index, (_, kind, flags, link, data)) in all.iter().enumerate() {
        let mut header = [0; 64];
        header[..4].copy_from_slice(&places.get(index).copied().unwrap_or(0).to_le_bytes());
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[8..16].copy_from_slice(&flags.to_le_bytes());
        header[24..32].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(data.len() as u64).to_le_bytes());
        header[40..44].copy_from_slice(&link.to_le_bytes());
        headers.extend_from_slice(&header);
        if *kind != NOBITS {
            bytes.extend_from_slice(data);
        }
    }
    let at = bytes.len() as u64;
    bytes[40..48].copy_from_slice(&at.to_le_bytes());
    let names = shared.unwrap_or(all.len()) as u16;
    for (place, value) in [(58, 64), (60, all.len() as u16 + 1), (62, names)] {
        bytes[place..place + 2].copy_from_slice(&value.to_le_bytes());
    }
    bytes.extend_from_slice(&headers);
    bytes
}

fn symbols(of: &[(u32, u16)]) -> Vec<u8> {
    let one = |&(name, section): &(u32, u16)| {
        let mut symbol = [0; 24];
        symbol[..4].copy_from_slice(&name.to_le_bytes());
        symbol[6..8].copy_from_slice(&section.to_le_bytes());
        symbol
    };
    of.iter().flat_map(one).collect()
}

/// `charge` is the end of `acme_charge`, as linkers write it; `ledger` is data.
fn table(shared: Option<usize>) -> Vec<u8> {
    let symtab = symbols(&[(0, 0), (1, 1), (6, 1), (13, 2), (20, 1), (0, 1)]);
    let dynsym = symbols(&[(0, 0), (1, 0), (6, 0)]);
    file(
        &[
            (".text", NOBITS, CODE, 0, &[0; 16]),
            (".data", NOBITS, 3, 0, &[]),
            (".symtab", SYMTAB, 0, 4, &symtab),
            (".strtab", STRTAB, 0, 0, b"\0acme_charge\0ledger\0_ZN4acme3payEi\0"),
            (".dynsym", DYNSYM, 2, 6, &dynsym),
            (".dynstr", STRTAB, 2, 0, b"\0open\0acme_charge\0libacme.so\0"),
        ],
        shared,
    )
}

fn shown(file: &[u8]) -> Vec<(String, bool)> {
    symbol_names(file).unwrap().into_iter().map(|name| (name.shown, name.is_defined)).collect()
}

#[test]
fn names_of_code_and_of_calls_are_read() {
    let expected = [("acme_charge", true), ("charge", true), ("acme::pay", true), ("open", false)];
    let mut expected: Vec<_> = expected.map(|(name, is)| (name.to_owned(), is)).into();
    expected.push(("acme_charge".into(), false));
    assert_eq!(shown(&table(None)), expected);
    assert_eq!(shown(&table(Some(4))), expected);
}

#[test]
fn other_names_take_their_place_and_nothing_is_left_of_the_old_ones() {
    for shared in [None, Some(4)] {
        let file = table(shared);
        for long in ["", "-and-much-longer-than-what-was-there-before"] {
            let pairs = [
                ("acme_charge", "k3x9q2m1zz7"),
                ("charge", "w8d3e1"),
                ("_ZN4acme3payEi", "p0q1r2s3t"),
                ("open", "open"),
            ];
            let names = pairs.map(|(from, to)| (from.as_bytes().to_vec(), format!("{to}{long}").into_bytes()));
            let made = renamed(&file, &names.into()).unwrap();
            let expected =
                [("k3x9q2m1zz7", true), ("w8d3e1", true), ("p0q1r2s3t", true), ("open", false), ("k3x9q2m1zz7", false)];
            assert_eq!(shown(&made), expected.map(|(name, is)| (format!("{name}{long}"), is)));
            for gone in ["acme", "charge", "ledger", "_ZN", "libacme"] {
                assert!(!made.windows(gone.len()).any(|bytes| bytes == gone.as_bytes()), "{gone}");
            }
            let (elf, before) = (Elf::open(&made).unwrap(), Elf::open(&file).unwrap());
            assert_eq!(elf.sections.len(), before.sections.len());
            assert!(elf.sections.iter().zip(&before.sections).all(|(a, b)| elf.name(a) == before.name(b)));
            assert_eq!(long.is_empty(), made.len() == file.len());
        }
    }
}

#[test]
fn programs_and_packed_names_are_left_alone() {
    let strings: &[u8] = b"\0f\0";
    let symtab = symbols(&[(0, 0), (1, 1)]);
    for (name, kind, flags) in
        [(".text", 1, CODE), (".acme", 1, 2), (".debug_str", 1, 0), (".rodata", 1, 2), (".note", NOTE, COMPRESSED)]
    {
        let sections = [
            (name, kind, flags, 0, &[1u8; 8][..]),
            (".symtab", SYMTAB, 0, 3, &symtab[..]),
            (".strtab", STRTAB, 0, 0, strings),
        ];
        assert_eq!(symbol_names(&file(&sections, None)), None, "{name}");
        assert_eq!(renamed(&file(&sections, None), &HashMap::new()), None, "{name}");
    }
    assert_eq!(symbol_names(b"\x7fELF"), None);
    assert_eq!(symbol_names(b""), None);
}

fn no_trace(made: &[u8], of: &[&str]) {
    for gone in of {
        assert!(!made.windows(gone.len()).any(|bytes| bytes == gone.as_bytes()), "{gone}");
    }
}

fn renames(pairs: &[(&str, &str)]) -> HashMap<Vec<u8>, Vec<u8>> {
    pairs.iter().map(|(from, to)| (from.as_bytes().to_vec(), to.as_bytes().to_vec())).collect()
}

#[test]
fn names_in_the_packed_file_are_replaced_too() {
    let packed = xz::pack(&table(None));
    let symtab = symbols(&[(0, 0), (1, 1)]);
    let of = |packed: &[u8]| {
        file(
            &[
                (".text", NOBITS, CODE, 0, &[0; 16]),
                (".symtab", SYMTAB, 0, 3, &symtab),
                (".strtab", STRTAB, 0, 0, b"\0outer_ledger\0"),
                (".gnu_debugdata", 1, 0, 0, packed),
            ],
            None,
        )
    };
    let file = of(&packed);
    assert!(
        shown(&file).contains(&("acme::pay".into(), true)) && shown(&file).contains(&("outer_ledger".into(), true))
    );
    let made = renamed(&file, &renames(&[("outer_ledger", "qz"), ("acme_charge", "k3x"), ("open", "open")])).unwrap();
    assert_eq!(
        shown(&made),
        [("qz", true), ("k3x", true), ("open", false), ("k3x", false)].map(|(a, b)| (a.to_owned(), b))
    );
    // It is stored as it is, so the bytes show everything.
    no_trace(&made, &["acme", "charge", "ledger", "_ZN"]);
    // What cannot be unpacked, has another one in it, or is there twice may hold anything.
    let twice = file_with_two(&packed);
    for bad in [of(b"\xfd7zXZ\0 no"), of(&xz::pack(b"no ELF")), of(&xz::pack(&file)), twice] {
        assert!(symbol_names(&bad).is_none() && renamed(&bad, &HashMap::new()).is_none());
    }
}

fn file_with_two(packed: &[u8]) -> Vec<u8> {
    file(&[(".gnu_debugdata", 1, 0, 0, packed), (".gnu_debugdata", 1, 0, 0, packed)], None)
}

#[test]
fn nothing_hides_in_other_text() {
    let symtab = symbols(&[(0, 0), (1, 1), (900, 1), (u32::MAX, 1), (6, 1), (2, 0xfff1), (3, 0xffff)]);
    let long = b"secret_".repeat(20);
    let sections: &[(&str, u32, u64, u32, &[u8])] = &[
        (".text.secret", NOBITS, CODE, 0, &[0; 16]),
        (".symtab", SYMTAB, 0, 3, &symtab),
        // The last one has no end.
        (".strtab", STRTAB, 0, 0, b"\0xfoo\0x\0secret_open"),
        (".stabstr", STRTAB, 0, 0, b"\0secret_stab\0"),
        (".note.secret", NOTE, 0, 0, b"secret_note"),
        (".note.gnu.build-id", NOTE, 0, 0, b"\x04\0\0\0GNU"),
        (".note.gnu.build-id", NOTE, 0, 0, &long),
        (".gnu_debuglink", 1, 0, 0, b"secret.debug\0"),
        (".gnu_debugaltlink", 1, 0, 0, b"secret.alt\0"),
        (".interp", 1, 2, 0, b"/lib64/ld.so\0"),
    ];
    let mut file = file(sections, None);
    file.extend_from_slice(b"secret_gap");
    let made = renamed(&file, &renames(&[("xfoo", "abcd"), ("x", "x"), ("foo", "foo")])).unwrap();
    assert_eq!(shown(&made), [("abcd", true), ("x", true)].map(|(a, b)| (a.to_owned(), b)));
    no_trace(&made, &["secret", "foo"]);
    for kept in ["/lib64/ld.so", "\x04\0\0\0GNU", ".note.gnu.build-id"] {
        assert!(made.windows(kept.len()).any(|bytes| bytes == kept.as_bytes()), "{kept}");
    }
}

#[test]
fn strings_that_end_in_one_another_and_sections_that_lie_have_no_old_name_left() {
    // "foo" is the end of "secret_foo": one string for two symbols.
    let symtab = symbols(&[(1, 1), (8, 1)]);
    let sections: &[(&str, u32, u64, u32, &[u8])] = &[
        (".text", NOBITS, CODE, 0, &[0; 16]),
        (".symtab", SYMTAB, 0, 3, &symtab),
        (".strtab", STRTAB, 0, 0, b"\0secret_foo\0"),
        (".rela.plt", 4, 2, 0, b"12345678"),
    ];
    let plain = file(sections, None);
    let names = renames(&[("secret_foo", "k1k2k3k4k5"), ("foo", "zzz")]);
    assert_eq!(
        shown(&renamed(&plain, &names).unwrap()),
        [("k1k2k3k4k5", true), ("zzz", true)].map(|(a, b)| (a.to_owned(), b))
    );
    // The relocations, the symbols and the header of a section are said to lie where the strings are, and where nothing is.
    let at = |section: usize| u64::from_le_bytes(plain[40..48].try_into().unwrap()) as usize + 64 * section;
    let strings = plain[at(3) + 24..at(3) + 32].to_vec();
    for section in [2, 4, 5] {
        let mut lies = plain.clone();
        lies[at(section) + 24..at(section) + 32].copy_from_slice(&strings);
        if let Some(made) = renamed(&lies, &names) {
            no_trace(&made, &["secret", "foo"]);
        }
        for value in [u64::MAX, 1 << 63, plain.len() as u64 - 4] {
            let mut lies = plain.clone();
            lies[at(section) + 24..at(section) + 32].copy_from_slice(&value.to_le_bytes());
            assert_eq!(renamed(&lies, &names), None);
        }
    }
    // Strings of another type, or of no section: nobody knows which bytes are names.
    for link in [0u32, 4, 77] {
        let mut lies = plain.clone();
        lies[at(2) + 40..at(2) + 44].copy_from_slice(&link.to_le_bytes());
        assert_eq!((symbol_names(&lies), some_names(&lies)), (None, Vec::new()), "{link}");
    }
}

#[test]
fn names_of_a_whole_program_are_read_where_nothing_is_replaced() {
    let found = some_names(&std::fs::read("/proc/self/exe").unwrap());
    assert!(found.iter().any(|name| name.is_defined && name.shown == "main"));
    assert_eq!(symbol_names(&std::fs::read("/proc/self/exe").unwrap()), None);
}

#[test]
fn damaged_files_crash_nothing() {
    let file = table(None);
    let mut state = 7u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for _ in 0..4000 {
        let mut bytes = file.clone();
        for _ in 0..4 {
            let at = random(bytes.len());
            bytes[at] = [0, 1, 0x7f, 0xff, random(256) as u8][random(5)];
        }
        bytes.truncate(if random(3) == 0 { random(bytes.len()) } else { bytes.len() });
        let names = symbol_names(&bytes);
        let made = renamed(&bytes, &HashMap::from([(b"charge".to_vec(), b"w8d3e1".to_vec())]));
        assert!(names.is_some() || made.is_none());
    }
}
