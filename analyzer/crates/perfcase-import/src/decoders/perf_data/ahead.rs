//! The order of a file's records, which a thread of its own finds: it reads each record's header and time ahead of the thread
//! that decodes the records.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use perfcase_decode::perf_data::index::{Entry, InTimeOrder};
use perfcase_decode::perf_data::recording::Recording;

/// Records that are handed over at once.
const BATCH: usize = 4096;
/// The most batches that wait. The bytes of their records stay in the CPU's caches.
const BATCHES: usize = 2;

/// A recording and its bytes.
pub(super) struct Held<C> {
    pub content: C,
    pub recording: Recording,
}

/// The records in the order of time.
pub(super) struct Ahead {
    batch: Vec<Entry>,
    at: usize,
    more: Option<(Receiver<Vec<Entry>>, JoinHandle<()>)>,
    /// The rest, where it is not for another thread to find.
    here: Option<InTimeOrder>,
}

impl Ahead {
    /// Starts the thread, unless there are few records or the system allows no thread.
    pub(super) fn start<C>(held: &Arc<Held<C>>, order: InTimeOrder, count: usize) -> Ahead
    where
        C: Deref<Target = [u8]> + Send + Sync + 'static,
    {
        let mut ahead = Ahead { batch: Vec::new(), at: 0, more: None, here: None };
        if count > BATCH {
            let (sender, receiver) = sync_channel(BATCHES);
            // The order goes to the thread when it is there: it stays here if it cannot be.
            let (give, take) = sync_channel::<InTimeOrder>(1);
            let of = held.clone();
            let work = move || {
                let Ok(mut order) = take.recv() else { return };
                loop {
                    let batch = next(&mut order, &of);
                    if batch.is_empty() || sender.send(batch).is_err() {
                        return;
                    }
                }
            };
            if let Ok(thread) = std::thread::Builder::new().name("order".into()).spawn(work) {
                ahead.more = Some((receiver, thread));
                ahead.here = give.send(order).err().map(|unsent| unsent.0);
            } else {
                ahead.here = Some(order);
            }
        } else {
            ahead.here = Some(order);
        }
        ahead.fill(held);
        ahead
    }

    /// Gives the next record; `None` at the end.
    #[inline]
    pub(super) fn peek(&self) -> Option<Entry> {
        self.batch.get(self.at).copied()
    }

    /// Gives the next record and goes on to the one after it.
    #[inline]
    pub(super) fn next<C: Deref<Target = [u8]>>(&mut self, held: &Held<C>) -> Option<Entry> {
        let entry = self.peek()?;
        self.at += 1;
        if self.at == self.batch.len() {
            self.fill(held);
        }
        Some(entry)
    }

    #[cold]
    fn fill<C: Deref<Target = [u8]>>(&mut self, held: &Held<C>) {
        self.at = 0;
        self.batch = match (&self.more, &mut self.here) {
            (Some((receiver, _)), _) => receiver.recv().unwrap_or_default(),
            (None, Some(order)) => next(order, held),
            (None, None) => Vec::new(),
        };
        if self.batch.is_empty()
            && let Some((_, thread)) = self.more.take()
            && let Err(panic) = thread.join()
        {
            // The records behind it would be missing without a word.
            std::panic::resume_unwind(panic);
        }
    }
}

fn next<C: Deref<Target = [u8]>>(order: &mut InTimeOrder, held: &Held<C>) -> Vec<Entry> {
    let mut batch = Vec::with_capacity(BATCH);
    batch.extend(std::iter::from_fn(|| order.next(&held.recording, &held.content)).take(BATCH));
    batch
}
