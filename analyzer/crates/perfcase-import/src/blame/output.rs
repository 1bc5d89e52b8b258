//! The rows of `blame`.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::calls::{CallName, CallNames};
use super::follow::Due;
use super::history::{Call, NONE, Piece};
use super::work::{Stretch, Work};
use crate::columns::take_rows;
use crate::order;
use crate::tables::{self, BlameRow, BlameTable, Table as _};
use crate::writer::{WriteError, Writer};

/// The rows that are made at once: 6 MB.
const BATCH: usize = 65_536;

/// Rows that are found, on their way to [`Output`].
#[derive(Default)]
pub(super) struct Found(Vec<Row>);

#[derive(Clone, Copy)]
struct Row {
    due: Due,
    utid: u32,
    name: u32,
    work: Work,
    work_count: u32,
    call: CallName,
    descriptor: u32,
    stack: u32,
    waker: u32,
}

impl Found {
    /// Adds a part of a piece of a thread's time, and what this part is due to.
    pub(super) fn push(&mut self, utid: u32, piece: &Piece, part: &Stretch, call: &Call, waker: u32, due: &Due) {
        let Call { name: call, descriptor, .. } = *call;
        let (name, stack) = (piece.name, piece.stack);
        let Stretch { work, count: work_count, .. } = *part;
        self.0.push(Row { due: *due, utid, name, work, work_count, call, descriptor, stack, waker });
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    pub(super) fn dues_of(&self, utid: u32) -> impl Iterator<Item = Due> {
        self.0.iter().filter(move |row| row.utid == utid).map(|row| row.due)
    }
}

/// Rows on their way to the file.
pub(super) struct Output {
    rows: Vec<Row>,
    writer: Writer,
    error: Option<WriteError>,
    devices: Arc<[Box<str>]>,
}

impl Output {
    pub(super) fn start(folder: &Path, devices: Vec<Box<str>>) -> Output {
        Output { rows: Vec::new(), writer: Writer::start(folder, 0), error: None, devices: devices.into() }
    }

    /// Adds rows, and hands all to the writer when they are many.
    pub(super) fn add(&mut self, found: Found, names: &Arc<CallNames>) {
        self.rows.extend(found.0);
        if self.rows.len() >= BATCH {
            self.flush(names);
        }
    }

    /// Hands the rows to the writer, whose thread puts them in the order of time.
    fn flush(&mut self, names: &Arc<CallNames>) {
        let rows = take_rows(&mut self.rows);
        let (names, devices) = (names.clone(), self.devices.clone());
        if let Err(error) = self.writer.write("blame", Box::new(move || batch(rows, &names, &devices))) {
            self.error.get_or_insert(error);
        }
    }

    /// Writes what is left. Gives the number of rows.
    pub(super) fn finish(mut self, names: &Arc<CallNames>) -> Result<u64, WriteError> {
        self.flush(names);
        let counts = self.writer.finish()?;
        self.error.map_or_else(|| Ok(counts.get("blame").copied().unwrap_or(0)), Err)
    }
}

fn batch(rows: Vec<Row>, names: &CallNames, devices: &[Box<str>]) -> Result<RecordBatch, ArrowError> {
    let order = order::by_time(rows.len(), |row| rows[row].due.start);
    let known = |number: u32| (number != NONE).then_some(number);
    let mut table = BlameTable::with_capacity(rows.len());
    for &row in &order {
        let Row { due, utid, name, work, work_count, call, descriptor, stack, waker } = rows[row as usize];
        table.push(BlameRow {
            ts_ns: due.start,
            duration_ns: due.end.saturating_sub(due.start),
            utid,
            name_id: known(name),
            work: work.name(),
            work_count,
            call: names.name(call),
            descriptor_id: known(descriptor),
            stack_id: known(stack),
            waker_utid: known(waker),
            cause: due.cause.name(),
            on_utid: known(due.utid),
            on_name_id: known(due.name),
            on_call: names.name(due.call),
            on_descriptor_id: known(due.descriptor),
            on_stack_id: known(due.stack),
            on_cpu: known(due.cpu),
            device: devices.get(due.device as usize).map(|name| name.as_bytes()),
            depth: due.depth,
        });
    }
    drop(rows);
    tables::batch("blame", table.take())
}
