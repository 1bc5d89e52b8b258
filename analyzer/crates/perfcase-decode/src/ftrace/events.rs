//! A capture opened for reading: its descriptions and all its events in the order of time.

use std::ops::Deref;

use perfcase_archive::Issue;

use super::capture::{Buffer, Capture};
use super::merge::Merge;
use super::stream::CpuStream;

use super::{raw_folder, trace_dat};

/// An opened capture.
pub struct Events<B> {
    /// What the capture says about itself.
    pub capture: Capture,
    /// The events.
    pub merge: Merge<B>,
    /// The index in `capture.buffers` of the buffer of each stream of `merge`.
    buffers: Vec<usize>,
}

impl<B: Deref<Target = [u8]> + Clone> Events<B> {
    /// Opens a trace.dat.
    pub fn trace_dat(file: B) -> Result<Events<B>, Issue> {
        let capture = trace_dat::parse(&file)?;
        let blobs = capture.buffers.iter().map(|buffer| vec![file.clone(); buffer.cpus.len()]).collect();
        Ok(Events::new(capture, blobs))
    }

    /// Opens a folder of raw pages: its members by their paths below `ftrace/raw/`.
    pub fn raw_folder(members: &[(String, B)]) -> Result<Events<B>, Issue> {
        let (capture, blobs) = raw_folder::parse(members)?;
        Ok(Events::new(capture, vec![blobs]))
    }

    /// Opens a capture. `blobs` has the bytes of each CPU of each buffer, which the segments point into.
    fn new(capture: Capture, blobs: Vec<Vec<B>>) -> Events<B> {
        let (mut streams, mut buffers) = (Vec::new(), Vec::new());
        for (index, (buffer, blobs)) in capture.buffers.iter().zip(blobs).enumerate() {
            for (cpu, blob) in buffer.cpus.iter().zip(blobs) {
                let segments = cpu.segments.clone();
                streams.push(CpuStream::new(
                    cpu.cpu,
                    blob,
                    segments,
                    (capture.compression, capture.room.clone()),
                    buffer.layout,
                ));
                buffers.push(index);
            }
        }
        Events { capture, merge: Merge::new(streams), buffers }
    }

    /// Gives the buffer that a stream of [`Events::merge`] belongs to.
    pub fn buffer(&self, stream: usize) -> &Buffer {
        &self.capture.buffers[self.buffers[stream]]
    }
}

/// The places in every record of the event's number and its thread: `common_type` and `common_pid`, which are the same
/// in all formats.
#[derive(Debug, Clone, Copy)]
pub struct CommonFields {
    type_offset: usize,
    type_size: usize,
    pid_offset: usize,
    big_endian: bool,
}

impl CommonFields {
    /// Finds the places by the formats; without a format they are those of every kernel since 2.6.30.
    pub fn of(formats: &[crate::format::EventFormat], big_endian: bool) -> CommonFields {
        let find =
            |name: &str| formats.iter().find_map(|f| f.field(name)).map(|f| (f.offset as usize, f.size as usize));
        let (type_offset, type_size) = find("common_type").unwrap_or((0, 2));
        let (pid_offset, _) = find("common_pid").filter(|(_, size)| *size == 4).unwrap_or((4, 4));
        CommonFields { type_offset, type_size, pid_offset, big_endian }
    }

    /// Gives the event's number.
    #[inline]
    pub fn id(&self, record: &[u8]) -> Option<u32> {
        if self.type_size == 4 {
            return self.word(record, self.type_offset);
        }
        let raw: [u8; 2] = record.get(self.type_offset..self.type_offset + 2)?.try_into().ok()?;
        Some(u32::from(if self.big_endian { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) }))
    }

    /// Gives the thread that ran.
    #[inline]
    pub fn pid(&self, record: &[u8]) -> Option<i32> {
        self.word(record, self.pid_offset).map(|word| word as i32)
    }

    #[inline]
    fn word(&self, record: &[u8], at: usize) -> Option<u32> {
        let raw: [u8; 4] = record.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    }
}
