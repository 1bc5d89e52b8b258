//! Names for a case that was imported without them: its `frame`, `stack` and `dso` are written again, and the rest
//! stays.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, BinaryArray, BooleanArray, ListArray, PrimitiveArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use perfcase_symbols::code::{Code, Line};
use perfcase_symbols::{At, INCOMPLETE, Missing, Name, Named, Objects, PerfMap, Placement, Unusable, Wanted, name_all};

use crate::model::functions::Functions;
use crate::model::load::placement;
use crate::model::maps::SEVERAL_FILES;
use crate::tables::{DsoRow, FrameRow, StackRow, Table, Tables, batch};
use crate::writer::{QUEUE_LENGTH, WriteError, Writer};

/// Rows of a batch.
const BATCH_ROWS: usize = 65_536;

/// Why a case could not be named.
#[derive(Debug, thiserror::Error)]
pub enum SymbolizeError {
    /// A place for object files cannot be used.
    #[error("{path}: {message}", message = why.message)]
    DebugDir {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        why: Unusable,
    },
    /// A table cannot be read, or another version wrote it.
    #[error("{path}: {message}")]
    Table {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The new tables cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The result of naming for an object.
#[derive(Clone, Debug, Default)]
pub struct ObjectSummary {
    /// Its short name.
    pub name: String,
    /// Its path on the recorded host.
    pub path: String,
    /// Its build id, in hexadecimal digits.
    pub build_id: Option<String>,
    /// The number of different addresses in it.
    pub frame_count: u64,
    /// The number of addresses with a name before.
    pub named_before_count: u64,
    /// The number of addresses with a name now.
    pub named_count: u64,
    /// The origin of the names.
    pub symbols: Option<String>,
    /// Why the rest has no names, or no source lines.
    pub missing_reason: Option<String>,
}

struct Dso {
    name: String,
    path: String,
    kind: String,
    build_id: Option<String>,
    load_symbol: Option<String>,
    load_address: Option<u64>,
    symbols: Option<String>,
    missing_reason: Option<String>,
}

impl Dso {
    fn placement(&self) -> Option<Placement> {
        placement(&self.kind, self.build_id.is_some(), self.load_symbol.as_deref(), self.load_address)
    }
}

#[derive(Clone, Debug, Default)]
struct Frame {
    id: u32,
    dso: Option<u32>,
    address: u64,
    is_kernel: bool,
    symbol: Option<String>,
    offset: Option<u64>,
    missing_reason: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    is_inlined: bool,
    is_return: bool,
    source: Option<String>,
}

/// An address of an object, and whether it is a return address.
type Place = (Option<u32>, u64, bool);

impl Frame {
    fn place(&self) -> Place {
        (self.dso, self.address, self.is_return)
    }

    fn at(&self) -> At {
        At { address: self.address, is_return: self.is_return }
    }
}

/// Names what the tables in `tables` leave unnamed by files below `debug_dirs`; writes `frame`, `stack` and `dso` to `out`.
///
/// # Errors
/// When a directory or a table cannot be read, or nothing can be written. The tables in `tables` are never changed.
pub fn symbolize(tables: &Path, out: &Path, debug_dirs: &[PathBuf]) -> Result<Vec<ObjectSummary>, SymbolizeError> {
    let objects = Objects::new(None, debug_dirs).map_err(|(path, why)| SymbolizeError::DebugDir { path, why })?;
    let mut dsos = read_dsos(tables)?;
    let all = read_frames(tables)?;
    let mut inlined: HashMap<Place, Vec<Frame>> = HashMap::new();
    let (of_inlined, mut frames): (Vec<Frame>, Vec<Frame>) = all.into_iter().partition(|frame| frame.is_inlined);
    let is_inlined: std::collections::HashSet<u32> = of_inlined.iter().map(|frame| frame.id).collect();
    for frame in of_inlined {
        inlined.entry(frame.place()).or_default().push(frame);
    }
    let mut summaries: Vec<ObjectSummary> = dsos
        .iter()
        .map(|dso| ObjectSummary {
            name: dso.name.clone(),
            path: dso.path.clone(),
            build_id: dso.build_id.clone(),
            ..ObjectSummary::default()
        })
        .collect();
    let placements: Vec<Option<Placement>> = dsos.iter().map(Dso::placement).collect();
    let mut of_dso: Vec<Vec<usize>> = vec![Vec::new(); dsos.len()];
    for (index, frame) in frames.iter().enumerate() {
        let Some(summary) = frame.dso.and_then(|dso| summaries.get_mut(dso as usize)) else { continue };
        summary.frame_count += 1;
        summary.named_before_count += u64::from(frame.symbol.is_some());
        // Frames of texts and of code records have names already, and their addresses are no offsets in a file.
        let is_own = matches!(frame.source.as_deref(), Some("text" | "jitdump" | "perf-map" | "bpf" | "simpleperf"));
        // A path that several files had may lead to each of them.
        let is_told = matches!(frame.missing_reason.as_deref(), Some("not named in the text" | SEVERAL_FILES));
        let dso = frame.dso.unwrap_or_default() as usize;
        if !is_own && !is_told && placements[dso].is_some() {
            of_dso[dso].push(index);
        }
    }
    let order: Vec<usize> = (0..dsos.len()).filter(|&dso| !of_dso[dso].is_empty()).collect();
    let wanted: Vec<Wanted> = order
        .iter()
        .map(|&dso| Wanted {
            path: dsos[dso].path.as_bytes().to_vec(),
            build_id: dsos[dso].build_id.as_deref().and_then(bytes_of_hex),
            placement: placements[dso].clone().unwrap_or_default(),
            addresses: of_dso[dso].iter().map(|&frame| frames[frame].at()).collect(),
        })
        .collect();
    let mut functions = read_functions(tables)?;
    for (&dso, mut named) in order.iter().zip(name_all(&objects, &wanted)) {
        named.functions.drain(..).for_each(|code| functions.add(dso as u32, code));
        apply(&mut dsos[dso], &of_dso[dso], &mut frames, &mut inlined, named);
    }
    name_generated(&objects, &mut dsos, &mut frames);
    for frame in &frames {
        if let Some(summary) = frame.dso.and_then(|dso| summaries.get_mut(dso as usize)) {
            summary.named_count += u64::from(frame.symbol.is_some());
        }
    }
    for (summary, dso) in summaries.iter_mut().zip(&dsos) {
        summary.symbols.clone_from(&dso.symbols);
        summary.missing_reason.clone_from(&dso.missing_reason);
    }
    for frame in frames.iter().filter(|frame| frame.symbol.is_none()) {
        if let Some(summary) = frame.dso.and_then(|dso| summaries.get_mut(dso as usize)) {
            summary.missing_reason = summary.missing_reason.take().or_else(|| frame.missing_reason.clone());
        }
    }
    write_functions(&functions, out)?;
    write(tables, out, &dsos, &frames, &inlined, &is_inlined)?;
    summaries.retain(|summary| summary.frame_count > 0);
    Ok(summaries)
}

/// Names generated code by the maps of the processes. Jitdumps name code by its time, which needs another import of the
/// capture.
fn name_generated(objects: &Objects, dsos: &mut [Dso], frames: &mut [Frame]) {
    for (id, dso) in dsos.iter_mut().enumerate() {
        let pid = dso.path.strip_prefix("[JIT] tid ").and_then(|pid| pid.parse().ok());
        let Some(Ok((content, from))) = pid.map(|pid| objects.perf_map(pid)) else { continue };
        let map = PerfMap::parse(&content);
        for frame in frames.iter_mut().filter(|frame| frame.dso == Some(id as u32) && frame.symbol.is_none()) {
            let is_return = u64::from(frame.is_return);
            let Some((name, offset)) = map.find(frame.address.wrapping_sub(is_return)) else { continue };
            frame.symbol = Some(name.to_string());
            frame.offset = Some(offset + is_return);
            frame.missing_reason = None;
            frame.source = Some("perf-map".to_string());
            (dso.symbols, dso.missing_reason) = (Some(from.clone()), None);
        }
    }
}

/// Takes the new names where they are better than the old ones.
fn apply(
    dso: &mut Dso,
    of_dso: &[usize],
    frames: &mut [Frame],
    inlined: &mut HashMap<Place, Vec<Frame>>,
    named: Named,
) {
    let is_incomplete = named.names.iter().flatten().any(|name| name.is_incomplete);
    let mut any = false;
    for (&index, name) in of_dso.iter().zip(named.names) {
        let frame = &mut frames[index];
        match name {
            Ok(name) => {
                any = true;
                if frame.symbol.is_none() || name.has_source() {
                    take(frame, inlined, name);
                }
            }
            // A file that is not given has nothing new.
            Err(why) if frame.symbol.is_none() && !matches!(named.object, Err(Missing::NotInCapture)) => {
                frame.missing_reason = Some(why.to_string());
            }
            Err(_) => {}
        }
    }
    match &named.object {
        Ok(object) if any => {
            dso.symbols = Some(object.origin.clone());
            dso.missing_reason = is_incomplete.then(|| INCOMPLETE.to_string());
        }
        Ok(_) if dso.symbols.is_none() => {
            dso.missing_reason = of_dso.first().and_then(|&index| frames[index].missing_reason.clone());
        }
        Err(Missing::BuildIdMismatch) if dso.symbols.is_none() => {
            dso.missing_reason = Some(Missing::BuildIdMismatch.reason().to_string());
        }
        _ => {}
    }
}

fn take(frame: &mut Frame, inlined: &mut HashMap<Place, Vec<Frame>>, name: Name) {
    frame.symbol = Some(name.symbol);
    frame.offset = name.offset_bytes;
    frame.missing_reason = None;
    frame.file = name.file;
    frame.line = name.line;
    frame.source = Some(name.source.to_string());
    let places = name.inlined.into_iter().map(|place| Frame {
        symbol: place.function,
        offset: None,
        file: place.file,
        line: place.line,
        is_inlined: true,
        source: Some("dwarf".into()),
        ..frame.clone()
    });
    inlined.insert(frame.place(), places.collect());
}

fn write(
    tables: &Path,
    out: &Path,
    dsos: &[Dso],
    frames: &[Frame],
    inlined: &HashMap<Place, Vec<Frame>>,
    was_inlined: &std::collections::HashSet<u32>,
) -> Result<(), SymbolizeError> {
    let mut rows = Tables::default();
    let mut writer = Writer::start(out, QUEUE_LENGTH);
    for (id, dso) in dsos.iter().enumerate() {
        rows.dso.push(DsoRow {
            dso_id: id as u32,
            name: &dso.name,
            path: &dso.path,
            kind: &dso.kind,
            build_id: dso.build_id.as_deref(),
            load_symbol: dso.load_symbol.as_deref(),
            load_address: dso.load_address,
            symbols: dso.symbols.as_deref(),
            missing_reason: dso.missing_reason.as_deref(),
        });
    }
    flush(&mut rows.dso, &mut writer)?;
    let mut next = frames.iter().map(|frame| frame.id + 1).max().unwrap_or(0);
    let mut ids: HashMap<u32, std::ops::Range<u32>> = HashMap::new();
    let mut added: Vec<(u32, &Frame)> = Vec::new();
    for frame in frames {
        let places = inlined.get(&frame.place()).map_or(&[][..], Vec::as_slice);
        if !places.is_empty() {
            ids.insert(frame.id, next..next + places.len() as u32);
            added.extend(places.iter().zip(next..).map(|(place, id)| (id, place)));
            next += places.len() as u32;
        }
    }
    for (id, frame) in frames.iter().map(|frame| (frame.id, frame)).chain(added) {
        rows.frame.push(FrameRow {
            frame_id: id,
            dso_id: frame.dso,
            address: frame.address,
            is_kernel: frame.is_kernel,
            symbol: frame.symbol.as_deref(),
            symbol_offset_bytes: frame.offset,
            missing_reason: frame.missing_reason.as_deref(),
            source_file: frame.file.as_deref(),
            source_line: frame.line,
            is_inlined: frame.is_inlined,
            is_return_address: frame.is_return,
            symbol_source: frame.source.as_deref(),
        });
        if rows.frame.len() >= BATCH_ROWS {
            flush(&mut rows.frame, &mut writer)?;
        }
    }
    flush(&mut rows.frame, &mut writer)?;
    let mut expanded: Vec<u32> = Vec::new();
    each(tables, "stack", |batch| {
        let (stacks, kernel) = (numbers(batch, "stack_id")?, numbers(batch, "kernel_depth")?);
        let end_reason = texts(batch, "end_reason")?;
        let lists = batch.column_by_name("frame_ids")?.as_any().downcast_ref::<ListArray>()?;
        for row in 0..batch.num_rows() {
            let list = lists.value(row);
            expanded.clear();
            let mut kernel_depth = 0;
            for (index, &frame) in
                list.as_any().downcast_ref::<PrimitiveArray<UInt32Type>>()?.values().iter().enumerate()
            {
                if !was_inlined.contains(&frame) {
                    expanded.extend(ids.get(&frame).cloned().into_iter().flatten());
                    expanded.push(frame);
                    if index < kernel.value(row) as usize {
                        kernel_depth = expanded.len() as u32;
                    }
                }
            }
            rows.stack.push(StackRow {
                stack_id: stacks.value(row),
                frame_ids: &expanded,
                depth: expanded.len() as u32,
                kernel_depth,
                end_reason: end_reason.is_valid(row).then(|| end_reason.value(row)),
            });
        }
        Some(())
    })?;
    flush(&mut rows.stack, &mut writer)?;
    writer.finish()?;
    Ok(())
}

fn write_functions(functions: &Functions, out: &Path) -> Result<(), WriteError> {
    let (mut rows, mut writer) = (Tables::default(), Writer::start(out, QUEUE_LENGTH));
    functions.write(&mut rows);
    flush(&mut rows.function_code, &mut writer)?;
    flush(&mut rows.function_line, &mut writer)?;
    writer.finish()?;
    Ok(())
}

fn flush(table: &mut dyn Table, writer: &mut Writer) -> Result<(), WriteError> {
    let (name, columns) = (table.name().to_string(), table.take());
    let of = name.clone();
    writer.write(&name, Box::new(move || batch(&of, columns)))
}

fn read_dsos(tables: &Path) -> Result<Vec<Dso>, SymbolizeError> {
    let mut dsos = Vec::new();
    each(tables, "dso", |batch| {
        let column = |name| texts(batch, name);
        let (name, path, kind) = (column("name")?, column("path")?, column("kind")?);
        let (build_id, symbols, missing) = (column("build_id")?, column("symbols")?, column("missing_reason")?);
        let (load_symbol, load_address) = (column("load_symbol")?, longs(batch, "load_address")?);
        for row in 0..batch.num_rows() {
            dsos.push(Dso {
                name: name.value(row).to_string(),
                path: path.value(row).to_string(),
                kind: kind.value(row).to_string(),
                build_id: text(build_id, row),
                load_symbol: text(load_symbol, row),
                load_address: load_address.is_valid(row).then(|| load_address.value(row)),
                symbols: text(symbols, row),
                missing_reason: text(missing, row),
            });
        }
        Some(())
    })?;
    Ok(dsos)
}

fn read_frames(tables: &Path) -> Result<Vec<Frame>, SymbolizeError> {
    let mut frames = Vec::new();
    each(tables, "frame", |batch| {
        let column = |name| texts(batch, name);
        let flag = |name| batch.column_by_name(name)?.as_any().downcast_ref::<BooleanArray>();
        let (id, dso, line) = (numbers(batch, "frame_id")?, numbers(batch, "dso_id")?, numbers(batch, "source_line")?);
        let (symbol, missing) = (column("symbol")?, column("missing_reason")?);
        let (file, source) = (column("source_file")?, column("symbol_source")?);
        let (is_kernel, is_inlined) = (flag("is_kernel")?, flag("is_inlined")?);
        let is_return = flag("is_return_address")?;
        let (address, offset) = (longs(batch, "address")?, longs(batch, "symbol_offset_bytes")?);
        for row in 0..batch.num_rows() {
            frames.push(Frame {
                id: id.value(row),
                dso: dso.is_valid(row).then(|| dso.value(row)),
                address: address.value(row),
                is_kernel: is_kernel.value(row),
                symbol: text(symbol, row),
                offset: offset.is_valid(row).then(|| offset.value(row)),
                missing_reason: text(missing, row),
                file: text(file, row),
                line: line.is_valid(row).then(|| line.value(row)),
                is_inlined: is_inlined.value(row),
                is_return: is_return.value(row),
                source: text(source, row),
            });
        }
        Some(())
    })?;
    Ok(frames)
}

fn read_functions(tables: &Path) -> Result<Functions, SymbolizeError> {
    let mut functions = Functions::default();
    each(tables, "function_code", |batch| {
        let (dso, address, size) = (numbers(batch, "dso_id")?, longs(batch, "address")?, longs(batch, "size_bytes")?);
        let (symbol, machine) = (texts(batch, "symbol")?, texts(batch, "machine")?);
        let code = batch.column_by_name("code")?.as_any().downcast_ref::<BinaryArray>()?;
        let missing = texts(batch, "missing_reason")?;
        for row in 0..batch.num_rows() {
            let bytes = code.is_valid(row).then(|| code.value(row).to_vec());
            let function = Code {
                address: address.value(row),
                symbol: symbol.value(row).to_string(),
                size_bytes: size.value(row),
                machine: machine.value(row).to_string(),
                bytes: bytes.ok_or_else(|| text(missing, row).unwrap_or_default()),
                lines: Vec::new(),
            };
            functions.add(dso.value(row), function);
        }
        Some(())
    })?;
    each(tables, "function_line", |batch| {
        let (dso, function, address) =
            (numbers(batch, "dso_id")?, longs(batch, "function_address")?, longs(batch, "address")?);
        let (file, line) = (texts(batch, "source_file")?, numbers(batch, "source_line")?);
        for row in 0..batch.num_rows() {
            let Some(known) = functions.0.get_mut(&(dso.value(row), function.value(row))) else { continue };
            let line = line.is_valid(row).then(|| line.value(row));
            known.lines.push(Line { address: address.value(row), file: text(file, row), line });
        }
        Some(())
    })?;
    Ok(functions)
}

/// Reads a table; `take` says `None` when a column is missing or of another type.
fn each(tables: &Path, name: &str, mut take: impl FnMut(&RecordBatch) -> Option<()>) -> Result<(), SymbolizeError> {
    let path = tables.join(format!("{name}.parquet"));
    let failed = |message: String| SymbolizeError::Table { path: path.clone(), message };
    let file = File::open(&path).map_err(|error| failed(error.to_string()))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
    for batch in reader.map_err(|error| failed(error.to_string()))? {
        let batch = batch.map_err(|error| failed(error.to_string()))?;
        take(&batch).ok_or_else(|| failed("its columns are not those of this version".into()))?;
    }
    Ok(())
}

fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a StringArray> {
    batch.column_by_name(name)?.as_any().downcast_ref()
}

fn text(column: &StringArray, row: usize) -> Option<String> {
    column.is_valid(row).then(|| column.value(row).to_string())
}

fn longs<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a UInt64Array> {
    batch.column_by_name(name)?.as_any().downcast_ref()
}

fn numbers<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a UInt32Array> {
    batch.column_by_name(name)?.as_any().downcast_ref()
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
