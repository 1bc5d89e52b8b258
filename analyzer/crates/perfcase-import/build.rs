//! Turns `schema/tables/**/*.toml`, the one source of truth of every table, into typed Rust: a row struct and a builder
//! for each table, a static description of all tables, and the code that reads the files whose content is a table's
//! rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct TableToml {
    description: String,
    grain: String,
    /// Columns that the rows are sorted by.
    #[serde(default)]
    order: Vec<String>,
    /// The columns that a decoder fills by name from an event's format, instead of a fixed row.
    #[serde(default)]
    tracepoint: bool,
    file: Option<FileToml>,
    // How a window cuts the table and what a diff counts in it (schema/tables/README.md). Only the readers of the
    // tables use it.
    #[serde(rename = "window")]
    _window: String,
    #[serde(rename = "derived")]
    _derived: Option<String>,
    #[serde(rename = "ended")]
    _ended: Option<String>,
    #[serde(default, rename = "named")]
    _named: Vec<String>,
    #[serde(default, rename = "made_of")]
    _made_of: Vec<String>,
    #[serde(default, rename = "events")]
    _events: Vec<BTreeMap<String, String>>,
    column: Vec<ColumnToml>,
}

/// The files whose content is the table's rows.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FileToml {
    paths: Vec<String>,
    /// A function of `perfcase_decode::proc` that gives a value for each row. Its fields have the names of the columns.
    rows: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnToml {
    name: String,
    r#type: String,
    #[serde(default)]
    unit: Option<String>,
    #[serde(default)]
    nullable: bool,
    #[serde(rename = "in_window")]
    _in_window: Option<String>,
    // Whether the column says what every column of its name is (schema/tables/README.md): those need no description.
    #[serde(default, rename = "key")]
    _key: bool,
    description: Option<String>,
}

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../../schema/tables");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut tables = BTreeMap::new();
    collect(&root, &mut tables);
    let mut out = String::new();
    for (name, table) in &tables {
        assert!(!table.description.is_empty() && !table.grain.is_empty(), "{name}: description and grain");
        if !table.tracepoint {
            row_struct(&mut out, name, table);
            builder(&mut out, name, table);
        }
    }
    specs(&mut out, &tables);
    all_tables(&mut out, &tables);
    let folder = PathBuf::from(env::var("OUT_DIR").unwrap());
    fs::write(folder.join("tables.rs"), out).unwrap();
    fs::write(folder.join("files.rs"), files(&tables)).unwrap();
}

fn collect(directory: &Path, tables: &mut BTreeMap<String, TableToml>) {
    println!("cargo::rerun-if-changed={}", directory.display());
    for entry in fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, tables);
        } else if path.extension().is_some_and(|e| e == "toml") {
            println!("cargo::rerun-if-changed={}", path.display());
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            let text = fs::read_to_string(&path).unwrap();
            let table = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert!(tables.insert(name.clone(), table).is_none(), "two tables are named {name}");
        }
    }
}

/// (type of the row's field, builder, whether the field borrows)
fn rust_types(name: &str) -> (&'static str, &'static str, bool) {
    match name {
        "i8" => ("i8", "Numbers<Int8Type>", false),
        "i16" => ("i16", "Numbers<Int16Type>", false),
        "i32" => ("i32", "Numbers<Int32Type>", false),
        "i64" => ("i64", "Numbers<Int64Type>", false),
        "u8" => ("u8", "Numbers<UInt8Type>", false),
        "u16" => ("u16", "Numbers<UInt16Type>", false),
        "u32" => ("u32", "Numbers<UInt32Type>", false),
        "u64" => ("u64", "Numbers<UInt64Type>", false),
        "f64" => ("f64", "Numbers<Float64Type>", false),
        "bool" => ("bool", "BooleanBuilder", false),
        "text" => ("&'a str", "StringBuilder", true),
        "symbol" => ("&'a [u8]", "SymbolBuilder", true),
        "bytes" => ("&'a [u8]", "BinaryBuilder", true),
        "list<u32>" => ("&'a [u32]", "ListOf<UInt32Type>", true),
        "list<u64>" => ("&'a [u64]", "ListOf<UInt64Type>", true),
        "list<i64>" => ("&'a [i64]", "ListOf<Int64Type>", true),
        other => panic!("unknown column type {other}"),
    }
}

fn camel(name: &str) -> String {
    name.split('_').map(|w| w[..1].to_uppercase() + &w[1..]).collect()
}

fn field(name: &str) -> String {
    if matches!(name, "type" | "ref" | "mod" | "fn" | "match" | "move" | "use" | "where") {
        format!("r#{name}")
    } else {
        name.to_string()
    }
}

fn row_struct(out: &mut String, name: &str, table: &TableToml) {
    let borrows = table.column.iter().any(|c| rust_types(&c.r#type).2);
    let life = if borrows { "<'a>" } else { "" };
    writeln!(out, "/// {}: {}\n#[derive(Clone, Copy, Debug, Default)]", camel(name), table.grain).unwrap();
    writeln!(out, "pub struct {}Row{life} {{", camel(name)).unwrap();
    for column in &table.column {
        let inner = rust_types(&column.r#type).0;
        let full = if column.nullable { format!("Option<{inner}>") } else { inner.to_string() };
        let unit = column.unit.as_deref().map(|u| format!(" [{u}]")).unwrap_or_default();
        let doc = column.description.as_deref().unwrap_or("A key.").replace('\n', " ");
        writeln!(out, "    /// {doc}{unit}\n    pub {}: {full},", field(&column.name)).unwrap();
    }
    out.push_str("}\n");
}

fn builder(out: &mut String, name: &str, table: &TableToml) {
    let camel_name = camel(name);
    let borrows = table.column.iter().any(|c| rust_types(&c.r#type).2);
    let life = if borrows { "<'_>" } else { "" };
    writeln!(out, "/// Collects rows of `{name}`.\n#[derive(Default)]\npub struct {camel_name}Table {{ len: usize, bounded_count: u64,")
        .unwrap();
    for column in &table.column {
        writeln!(out, "    {}: {},", field(&column.name), rust_types(&column.r#type).1).unwrap();
    }
    writeln!(out, "}}\nimpl {camel_name}Table {{").unwrap();
    // Columns of text and lists grow by their content.
    let has_room = |column: &&ColumnToml| {
        let builder = rust_types(&column.r#type).1;
        builder.starts_with("Numbers") || matches!(builder, "SymbolBuilder" | "BooleanBuilder")
    };
    let room = |column: &ColumnToml| {
        format!("{}: {}::with_capacity(rows), ", field(&column.name), rust_types(&column.r#type).1.replace('<', "::<"))
    };
    let room: String = table.column.iter().filter(has_room).map(room).collect();
    writeln!(out, "    /// Begins without rows, with room for some.\n    pub fn with_capacity(rows: usize) -> Self {{\n        let _ = rows;\n        Self {{ {room}..Self::default() }}\n    }}\n    /// Adds one row.\n    #[inline]\n    pub fn push(&mut self, row: {camel_name}Row{life}) {{\n        self.len += 1;").unwrap();
    for column in &table.column {
        let f = field(&column.name);
        let call = if column.nullable { "append_option" } else { "append_value" };
        // Quantities are bounded, so that values computed from them do not overflow: columns::QUANTITY_MAX.
        let is_quantity = column.unit.is_some() && matches!(column.r#type.as_str(), "i64" | "u64");
        let value = match (is_quantity, column.nullable) {
            (false, _) => format!("row.{f}"),
            (true, false) => format!("row.{f}.bounded(&mut self.bounded_count)"),
            (true, true) => format!("row.{f}.map(|value| value.bounded(&mut self.bounded_count))"),
        };
        writeln!(out, "        self.{f}.{call}({value});").unwrap();
    }
    writeln!(out, "    }}\n}}\nimpl Table for {camel_name}Table {{").unwrap();
    writeln!(out, "    fn name(&self) -> &str {{ \"{name}\" }}\n    fn len(&self) -> usize {{ self.len }}\n    fn bounded_count(&self) -> u64 {{ self.bounded_count }}").unwrap();
    writeln!(out, "    fn take(&mut self) -> Vec<ArrayRef> {{\n        self.len = 0;\n        vec![").unwrap();
    for column in &table.column {
        writeln!(out, "            Arc::new(self.{}.finish()),", field(&column.name)).unwrap();
    }
    out.push_str("        ]\n    }\n}\n");
}

fn specs(out: &mut String, tables: &BTreeMap<String, TableToml>) {
    out.push_str("/// Every table of `schema/tables`, by name.\npub static SPECS: &[TableSpec] = &[\n");
    for (name, table) in tables {
        writeln!(
            out,
            "    TableSpec {{ name: {name:?}, is_tracepoint: {}, order: &{:?}, columns: &[",
            table.tracepoint, table.order
        )
        .unwrap();
        for c in &table.column {
            rust_types(&c.r#type);
            writeln!(
                out,
                "        ColumnSpec {{ name: {:?}, kind: {:?}, nullable: {} }},",
                c.name, c.r#type, c.nullable
            )
            .unwrap();
        }
        out.push_str("    ] },\n");
    }
    out.push_str("];\n");
}

fn all_tables(out: &mut String, tables: &BTreeMap<String, TableToml>) {
    out.push_str("/// One builder for each table with a fixed row.\n#[derive(Default)]\npub struct Tables {\n");
    let fixed: Vec<&String> = tables.iter().filter(|(_, t)| !t.tracepoint).map(|(n, _)| n).collect();
    for name in &fixed {
        writeln!(out, "    /// `{name}`\n    pub {name}: {}Table,", camel(name)).unwrap();
    }
    out.push_str("}\nimpl Tables {\n    /// Visits each builder.\n    pub fn each(&mut self, mut visit: impl FnMut(&mut dyn Table)) {\n");
    for name in &fixed {
        writeln!(out, "        visit(&mut self.{name});").unwrap();
    }
    out.push_str("    }\n}\n");
}

/// Columns that say when and in which snapshot a file was read.
const AT: [&str; 3] = ["ts_ns", "snapshot", "source_id"];
/// A column that says of which network namespace a file is: its path does.
const NETWORK: &str = "netns_inode";

fn files(tables: &BTreeMap<String, TableToml>) -> String {
    let mut out = String::from(
        "/// Pushes the rows of a file that a table's `[file]` names; how many. `None` where none does.\n\
         fn of_one_function(session: &mut Session, at: At, netns_inode: Option<u64>, path: &str, bytes: &[u8]) -> Option<usize> {\n    \
         let At { ts_ns, snapshot, source_id } = at;\n    match path {\n",
    );
    for (name, table) in tables {
        let Some(file) = &table.file else { continue };
        let paths: Vec<String> = file.paths.iter().map(|path| format!("{path:?}")).collect();
        let own = table.column.iter().filter(|column| !AT.contains(&column.name.as_str()));
        let fields: Vec<String> = own
            .map(|column| match column.name.as_str() {
                NETWORK => NETWORK.to_string(),
                name => format!("{0}: row.{0}{1}", field(name), as_bytes(column)),
            })
            .collect();
        writeln!(
            out,
            "        {} => Some(each(session, perfcase_decode::proc::{}(bytes), |session, row| {{\n            \
             session.sink.tables.{name}.push(crate::tables::{}Row {{ ts_ns, snapshot, source_id, {} }});\n        }})),",
            paths.join(" | "),
            file.rows,
            camel(name),
            fields.join(", ")
        )
        .unwrap();
    }
    out + "        _ => None,\n    }\n}\n"
}

/// A symbol's text is bytes; another text may be one that was put together.
fn as_bytes(column: &ColumnToml) -> &'static str {
    match (column.r#type.as_str(), column.nullable) {
        ("symbol", false) => ".as_bytes()",
        ("symbol", true) => ".map(str::as_bytes)",
        ("text", false) => ".as_ref()",
        _ => "",
    }
}
