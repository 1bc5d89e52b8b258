//! The rows of `blame`.

use std::path::Path;

use super::calls::{CallName, CallNames};
use super::follow::Due;
use super::history::{Call, NONE, Piece};
use super::work::Stretch;
use crate::order;
use crate::tables::{self, BlameRow, BlameTable, Table as _};
use crate::writer::{WriteError, Writer};

/// The rows that are made at once.
const BATCH: usize = 131_072;

#[derive(Clone, Copy)]
struct Row {
    due: Due,
    utid: u32,
    name: u32,
    part: Stretch,
    call: CallName,
    descriptor: u32,
    stack: u32,
    waker: u32,
}

/// Rows on their way to the file.
pub(super) struct Output {
    rows: Vec<Row>,
    writer: Writer,
    error: Option<WriteError>,
    devices: Vec<Box<str>>,
}

impl Output {
    pub(super) fn start(folder: &Path, devices: Vec<Box<str>>) -> Output {
        Output { rows: Vec::new(), writer: Writer::start(folder), error: None, devices }
    }

    /// Adds a part of a piece of a thread's time, and what this part is due to.
    pub(super) fn push(&mut self, utid: u32, piece: &Piece, part: &Stretch, call: &Call, waker: u32, due: &Due) {
        let Call { name: call, descriptor, .. } = *call;
        let (name, stack) = (piece.name, piece.stack);
        self.rows.push(Row { due: *due, utid, name, part: *part, call, descriptor, stack, waker });
    }

    #[cfg(test)]
    pub(super) fn dues(&self) -> Vec<Due> {
        self.rows.iter().map(|row| row.due).collect()
    }

    /// Tells whether so many rows wait that they should be written.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= BATCH
    }

    /// Hands the rows to the writer, in the order of time.
    pub(super) fn flush(&mut self, names: &CallNames) {
        let rows = std::mem::take(&mut self.rows);
        let order = order::by_time(rows.len(), |row| rows[row].due.start);
        let known = |number: u32| (number != NONE).then_some(number);
        let mut table = BlameTable::with_capacity(rows.len());
        for &row in &order {
            let Row { due, utid, name, part, call, descriptor, stack, waker } = rows[row as usize];
            table.push(BlameRow {
                ts_ns: due.start,
                duration_ns: due.end.saturating_sub(due.start),
                utid,
                name_id: known(name),
                work: part.work.name(),
                work_count: part.count,
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
                device: self.devices.get(due.device as usize).map(|name| name.as_bytes()),
                depth: due.depth,
            });
        }
        let build = Box::new(move || tables::batch("blame", table.take()));
        if let Err(error) = self.writer.write("blame", build) {
            self.error.get_or_insert(error);
        }
    }

    /// Writes what is left. Gives the number of rows.
    pub(super) fn finish(mut self, names: &CallNames) -> Result<u64, WriteError> {
        self.flush(names);
        let counts = self.writer.finish()?;
        self.error.map_or_else(|| Ok(counts.get("blame").copied().unwrap_or(0)), Err)
    }
}
