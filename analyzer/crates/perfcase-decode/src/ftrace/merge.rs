//! Merges the events of all CPUs by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Deref;

use super::stream::CpuStream;

/// The events of several CPUs (and buffers) in order of time. If times are equal, the earlier stream comes first, as in
/// `trace-cmd report`. A CPU keeps its own order if its clock goes backwards.
pub struct Merge<B> {
    streams: Vec<CpuStream<B>>,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<B: Deref<Target = [u8]>> Merge<B> {
    /// Begins with the earliest event of all.
    pub fn new(streams: Vec<CpuStream<B>>) -> Merge<B> {
        let heap = streams.iter().enumerate().filter_map(|(index, s)| Some(Reverse((s.ts()?, index)))).collect();
        Merge { streams, heap }
    }

    /// Gives the next event's time and stream; `None` at the end.
    #[inline]
    pub fn peek(&self) -> Option<(u64, usize)> {
        self.heap.peek().map(|Reverse(next)| *next)
    }

    /// Gives the stream of that number. Its current event is the one that [`Merge::peek`] gave.
    #[inline]
    pub fn stream(&self, index: usize) -> &CpuStream<B> {
        &self.streams[index]
    }

    /// Gives the stream of that number, to take its losses and damages. The caller must not advance it.
    #[inline]
    pub fn stream_mut(&mut self, index: usize) -> &mut CpuStream<B> {
        &mut self.streams[index]
    }

    /// Gives the number of streams.
    #[inline]
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// Goes past the next event.
    #[inline]
    pub fn advance(&mut self) {
        let Some(mut top) = self.heap.peek_mut() else {
            return;
        };
        let index = top.0.1;
        self.streams[index].advance();
        match self.streams[index].ts() {
            Some(ts) => top.0.0 = ts,
            None => drop(PeekMut::pop(top)),
        }
    }
}
