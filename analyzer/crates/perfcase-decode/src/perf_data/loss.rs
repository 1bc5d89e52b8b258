//! Adds up lost records without counting a loss twice.
//!
//! A full ring buffer shows in LOST records (all records, once there is room again) and, from perf 6.1 on, in
//! LOST_SAMPLES records without a time that perf writes at the end from each event's own counter: both count the same
//! loss, and each may miss a part. LOST_SAMPLES records with a time are from the kernel: samples that the hardware
//! dropped.

use perfcase_archive::Issue;

use super::problem::Problems;
use super::record::{Record, RecordHeader};

/// misc of LOST_SAMPLES: a BPF filter dropped them on purpose (6.16).
const LOST_BY_FILTER: u16 = 1 << 15;
const HINT: &str = "larger buffers (perf record -m), fewer events or a lower frequency";
const HINT_THROTTLED: &str = "a lower frequency, or a higher kernel.perf_event_max_sample_rate";

/// The sums, each with the place of its first record.
#[derive(Debug, Default)]
pub struct Losses {
    records: Sum,
    samples_at_end: Sum,
    samples_of_hardware: Sum,
    filtered: Sum,
    throttles: Sum,
}

#[derive(Debug, Default)]
struct Sum {
    count: u64,
    first_at: Option<u64>,
}

impl Sum {
    fn add(&mut self, count: u64, at: u64) {
        if count > 0 {
            self.count = self.count.saturating_add(count);
            self.first_at.get_or_insert(at);
        }
    }
}

impl Losses {
    /// Adds a record of a loss. Other records are ignored.
    pub fn take(&mut self, record: &Record, header: RecordHeader, has_time: bool, at: u64) {
        match *record {
            Record::Lost { lost, .. } => self.records.add(lost, at),
            Record::LostSamples { lost } if header.misc & LOST_BY_FILTER != 0 => self.filtered.add(lost, at),
            Record::LostSamples { lost } if has_time => self.samples_of_hardware.add(lost, at),
            Record::LostSamples { lost } => self.samples_at_end.add(lost, at),
            Record::Throttle { .. } => self.throttles.add(1, at),
            _ => {}
        }
    }

    /// Gives the number of all lost records.
    pub fn total(&self) -> u64 {
        self.records.count.max(self.samples_at_end.count).saturating_add(self.samples_of_hardware.count)
    }

    /// Notes the losses.
    pub fn note(&self, problems: &mut Problems) {
        let full = format!(
            "perf's ring buffers were full: LOST records tell of {} lost records, the events' own counters of {} lost \
             samples; figures are too small",
            self.records.count, self.samples_at_end.count
        );
        let ring = Sum {
            count: self.records.count.max(self.samples_at_end.count),
            first_at: self.records.first_at.or(self.samples_at_end.first_at),
        };
        let dropped = "samples were dropped by the hardware or the kernel before they reached the ring buffer";
        let filtered = "a filter of the recording dropped samples on purpose";
        let throttled = "the kernel stopped sampling until the next tick because it was too frequent";
        for (sum, issue) in [
            (&ring, Issue::warning("lost_events", full).hint(HINT)),
            (&self.samples_of_hardware, Issue::warning("lost_samples", dropped).hint(HINT)),
            (&self.filtered, Issue::info("filtered_samples", filtered)),
            (&self.throttles, Issue::info("throttled", throttled).hint(HINT_THROTTLED)),
        ] {
            if sum.count > 0 {
                problems.note_many(issue.kind, 0, sum.count, |_| issue.at(sum.first_at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::kind;
    use super::*;

    #[test]
    fn one_loss_told_twice_counts_once() {
        let header = RecordHeader { kind: kind::LOST_SAMPLES, misc: 0, size: 0 };
        let mut losses = Losses::default();
        losses.take(&Record::Lost { id: 1, lost: 70 }, header, true, 400);
        losses.take(&Record::LostSamples { lost: 60 }, header, false, 500);
        losses.take(&Record::LostSamples { lost: 20 }, header, false, 600);
        assert_eq!(losses.total(), 80);
        losses.take(&Record::LostSamples { lost: 5 }, header, true, 700);
        let filter = RecordHeader { misc: LOST_BY_FILTER, ..header };
        losses.take(&Record::LostSamples { lost: 9 }, filter, true, 800);
        assert_eq!(losses.total(), 85);
        let mut problems = Problems::default();
        losses.note(&mut problems);
        let rows: Vec<_> = problems.list().iter().map(|p| (p.kind, p.count, p.byte_offset)).collect();
        let want = [("lost_events", 80, Some(400)), ("lost_samples", 5, Some(700)), ("filtered_samples", 9, Some(800))];
        assert_eq!(rows, want);
    }
}
