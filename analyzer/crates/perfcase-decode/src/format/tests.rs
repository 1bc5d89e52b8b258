use super::*;
use crate::scale::scaled;

const SCHED_SWITCH: &str = "name: sched_switch\nID: 316\nformat:\n\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\n\
print fmt: \"prev_comm=%s\", REC->prev_comm\n";

fn one(declaration: &str, size: u32) -> Field {
    let text = format!("name: e\nID: 1\nformat:\n\n\tfield:{declaration};\toffset:8;\tsize:{size};\tsigned:0;\n");
    EventFormat::parse("s", &text).expect("a format").fields.remove(0)
}

#[test]
fn a_whole_format() {
    let format = EventFormat::parse("sched", SCHED_SWITCH).unwrap();
    assert_eq!((format.system.as_str(), format.name.as_str(), format.id), ("sched", "sched_switch", 316));
    assert_eq!(format.print_fmt, "\"prev_comm=%s\", REC->prev_comm");
    let row = |f: &Field| (f.name.clone(), f.c_type.clone(), f.offset, f.size, f.is_signed, f.is_common, f.kind);
    let rows: Vec<_> = format.fields.iter().map(row).collect();
    let expected = [
        ("common_type", "unsigned short", 0, 2, false, true, FieldKind::Int),
        ("common_flags", "unsigned char", 2, 1, false, true, FieldKind::Int),
        ("common_preempt_count", "unsigned char", 3, 1, false, true, FieldKind::Int),
        ("common_pid", "int", 4, 4, true, true, FieldKind::Int),
        ("prev_comm", "char[16]", 8, 16, false, false, FieldKind::CharArray),
        ("prev_pid", "pid_t", 24, 4, true, false, FieldKind::Int),
        ("prev_state", "long", 32, 8, true, false, FieldKind::Int),
    ];
    assert_eq!(rows, expected.map(|(n, t, o, s, g, c, k)| (n.to_owned(), t.to_owned(), o, s, g, c, k)));
}

#[test]
fn declarations() {
    let int = |size| LocElem::Int { size };
    let array = |elem_size, count| FieldKind::IntArray { elem_size, count };
    for (declaration, size, name, c_type, kind) in [
        ("__data_loc char[] name", 4, "name", "__data_loc char[]", FieldKind::DataLoc { elem: LocElem::Char }),
        ("__rel_loc char[] name", 4, "name", "__rel_loc char[]", FieldKind::RelLoc { elem: LocElem::Char }),
        ("__data_loc u8[] buf", 4, "buf", "__data_loc u8[]", FieldKind::DataLoc { elem: LocElem::Bytes }),
        ("__data_loc u64[] a", 4, "a", "__data_loc u64[]", FieldKind::DataLoc { elem: int(8) }),
        ("__data_loc unsigned int[] a", 4, "a", "__data_loc unsigned int[]", FieldKind::DataLoc { elem: int(4) }),
        ("__data_loc cpumask_t mask", 4, "mask", "__data_loc cpumask_t", FieldKind::DataLoc { elem: LocElem::Bytes }),
        ("__data_loc char[] name", 8, "name", "__data_loc char[]", FieldKind::Bytes),
        ("unsigned long args[6]", 48, "args", "unsigned long[6]", array(8, 6)),
        ("unsigned long args[6]", 24, "args", "unsigned long[6]", array(4, 6)),
        ("char comm[16]", 16, "comm", "char[16]", FieldKind::CharArray),
        ("char comm[TASK_COMM_LEN]", 16, "comm", "char[TASK_COMM_LEN]", FieldKind::CharArray),
        ("char c[16 + 1]", 17, "c", "char[16 + 1]", FieldKind::CharArray),
        ("u32 v[MAX_V]", 12, "v", "u32[MAX_V]", array(4, 3)),
        ("u32 v[2][3]", 24, "v", "u32[2][3]", array(4, 6)),
        ("char buf[]", 0, "buf", "char[]", FieldKind::CharArray),
        ("u32 buf[]", 0, "buf", "u32[]", array(4, 0)),
        ("unsigned char addr[6]", 6, "addr", "unsigned char[6]", FieldKind::Bytes),
        ("u8 uuid[16]", 16, "uuid", "u8[16]", FieldKind::Bytes),
        ("const void* p", 8, "p", "const void*", FieldKind::Int),
        ("void *p", 8, "p", "void *", FieldKind::Int),
        ("struct mm_struct * mm", 8, "mm", "struct mm_struct *", FieldKind::Int),
        ("struct timespec ts", 16, "ts", "struct timespec", FieldKind::Bytes),
        ("struct timespec ts", 8, "ts", "struct timespec", FieldKind::Bytes),
        ("struct pair p[2]", 16, "p", "struct pair[2]", FieldKind::Bytes),
        ("const char *const * argv", 8, "argv", "const char *const *", FieldKind::Int),
        ("enum state s", 4, "s", "enum state", FieldKind::Int),
        ("bool b", 1, "b", "bool", FieldKind::Int),
        ("u24 odd", 3, "odd", "u24", FieldKind::Bytes),
    ] {
        let field = one(declaration, size);
        assert_eq!((field.name.as_str(), field.c_type.as_str(), field.kind), (name, c_type, kind), "{declaration}");
    }
}

#[test]
fn a_word_of_four_bytes_changes_only_open_arrays_of_words() {
    let kind_after = |declaration: &str, size| {
        let mut format = EventFormat {
            system: String::new(),
            name: "e".into(),
            id: 1,
            fields: vec![one(declaration, size)],
            print_fmt: String::new(),
        };
        format.set_long_size(4);
        format.fields[0].kind
    };
    assert_eq!(kind_after("unsigned long a[]", 0), FieldKind::IntArray { elem_size: 4, count: 0 });
    assert_eq!(kind_after("__data_loc unsigned long[] a", 4), FieldKind::DataLoc { elem: LocElem::Int { size: 4 } });
    assert_eq!(kind_after("__data_loc u64[] a", 4), FieldKind::DataLoc { elem: LocElem::Int { size: 8 } });
    assert_eq!(kind_after("unsigned long long a[]", 0), FieldKind::IntArray { elem_size: 8, count: 0 });
}

#[test]
fn without_signed_the_type_decides() {
    let text = "name: e\nID: 1\n\tfield:int a;offset:0;size:4;\n\tfield special:unsigned int b;offset:4;size:4;\n";
    let format = EventFormat::parse("s", text).unwrap();
    assert_eq!(format.fields.iter().map(|f| f.is_signed).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn errors_say_where() {
    let error = |text: &str| EventFormat::parse("s", text).unwrap_err();
    assert_eq!(error("ID: 1\n"), FormatError::NoName);
    assert_eq!(error("name: e\nID: x\n"), FormatError::NoId { name: "e".into() });
    for bad in ["field:int a; offset:0;", "field:int a; offset:-1; size:4;", "field:a; offset:0; size:4;", "field:"] {
        let expected = FormatError::BadField { name: "e".into(), line: 3, text: bad.into() };
        assert_eq!(error(&format!("name: e\nID: 1\n{bad}\n")), expected);
    }
    assert_eq!(
        error("name: e\nID: 1\nfield:int a; offset:4294967295; size:4;\n"),
        FormatError::BadField { name: "e".into(), line: 3, text: "field:int a; offset:4294967295; size:4;".into() }
    );
    let many = "\tfield:int a; offset:0; size:4;\n".repeat(MAX_FIELDS + 1);
    assert!(matches!(error(&format!("name: e\nID: 1\n{many}")), FormatError::TooLarge { .. }));
    assert!(matches!(error(&"x".repeat(MAX_TEXT_BYTES + 1)), FormatError::TooLarge { .. }));
}

#[test]
fn damaged_text_never_panics() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let mut parsed = 0;
    for _ in 0..scaled(200_000) {
        let mut bytes = SCHED_SWITCH.as_bytes().to_vec();
        for _ in 0..1 + next() % 4 {
            let at = next() % bytes.len();
            bytes[at] = next() as u8;
        }
        bytes.truncate(next() % (bytes.len() + 1));
        parsed += usize::from(EventFormat::parse("s", &String::from_utf8_lossy(&bytes)).is_ok());
    }
    assert!(parsed > 1000, "the damage must leave some texts readable, or this tests nothing: {parsed}");
}
