//! Records that were counted but make no rows, as issues: nothing is left out in silence.

use super::record::kind;
use super::recording::Recording;
use crate::session::Severity;

/// Kinds without rows of their own, and what they would tell.
const COUNTED: [(u32, &str); 9] = [
    (kind::AUX, "hardware trace data (AUX) arrived; hardware traces are not decoded"),
    (kind::ITRACE_START, "instruction tracing began; hardware traces are not decoded"),
    (kind::AUX_OUTPUT_HW_ID, "hardware ids of AUX output; hardware traces are not decoded"),
    (kind::AUXTRACE, "hardware trace data; hardware traces are not decoded"),
    (kind::AUXTRACE_ERROR, "errors in hardware trace data"),
    (kind::CALLCHAIN_DEFERRED, "user callchains that were recorded apart from their samples are not joined to them"),
    (kind::STAT, "counters of perf stat record are not decoded; import the output of perf stat -x, instead"),
    (kind::SCHEDSTAT_CPU, "schedstat of perf sched stats is not decoded"),
    (kind::SCHEDSTAT_DOMAIN, "schedstat of perf sched stats is not decoded"),
];

/// Notes the counts; `kernel` has those of the kernel's record types.
pub fn note(recording: &mut Recording, kernel: &[u64]) {
    for (number, &count) in kernel.iter().enumerate().filter(|&(_, &count)| count > 0) {
        *recording.counts.entry(number as u32).or_default() += count;
    }
    let Recording { counts, problems, .. } = recording;
    for (&number, &count) in counts.iter() {
        if let Some((_, message)) = COUNTED.iter().find(|(counted, _)| *counted == number) {
            let name = kind::name(number).unwrap_or("?");
            let message = || format!("{count} {name} records: {message}");
            problems.note_many(Severity::Info, "not_decoded", number.into(), None, count, message, None);
        } else if kind::name(number).is_none() {
            let message = || format!("{count} records of type {number}, which is not known; they are left out");
            let hint = Some("use a newer perfcase");
            problems.note_many(Severity::Warning, "unknown_record", number.into(), None, count, message, hint);
        }
    }
}
