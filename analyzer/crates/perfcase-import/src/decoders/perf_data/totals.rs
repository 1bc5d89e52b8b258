//! Issues with records that make no rows: their number is always reported.

use perfcase_archive::Issue;
use perfcase_decode::perf_data::record::kind;
use perfcase_decode::perf_data::recording::Recording;
use perfcase_decode::perf_data::simpleperf;

use super::sample_rows::Scratch;

/// Kinds of records without rows, and what such records say.
const COUNTED: [(u32, &str); 9] = [
    (kind::READ, "counter values of tasks that ended (perf record --stat) are not decoded"),
    (kind::AUX, "hardware trace data (AUX) arrived; hardware traces are not decoded"),
    (kind::ITRACE_START, "instruction tracing began; hardware traces are not decoded"),
    (kind::AUX_OUTPUT_HW_ID, "hardware ids of AUX output; hardware traces are not decoded"),
    (kind::AUXTRACE, "hardware trace data; hardware traces are not decoded"),
    (kind::AUXTRACE_ERROR, "errors in hardware trace data"),
    (kind::STAT, "counters of perf stat record are not decoded; import the output of perf stat -x, instead"),
    (kind::SCHEDSTAT_CPU, "schedstat of perf sched stats is not decoded"),
    (kind::SCHEDSTAT_DOMAIN, "schedstat of perf sched stats is not decoded"),
];

/// Notes the counts. `decoded` has the counts of the kernel's record types.
pub fn note(recording: &mut Recording, decoded: &Scratch) {
    for (number, &count) in decoded.counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        *recording.counts.entry(number as u32).or_default() += count;
    }
    let Recording { counts, problems, events, .. } = recording;
    if decoded.cut_chain_count > 0 {
        let message = "callchains end with the kernel: their user part was recorded apart, and lost";
        let count = decoded.cut_chain_count;
        problems.note_many("cut_callchain", 0, count, |kind| {
            Issue::warning(kind, message).hint("larger buffers (perf record -m)")
        });
    }
    if decoded.odd_chain_count > 0 {
        let message = "callchains have a marker of no known kind: what stands behind it is left out";
        problems.note_many("damaged_callchain", 0, decoded.odd_chain_count, |kind| {
            Issue::warning(kind, message).hint("perf report leaves these callchains out")
        });
    }
    if decoded.untimed_count > 0 {
        let message = "tracepoints were recorded without times: they are in `sample`, but not in the tables of their events, \
             and no thread states, system calls or requests are made of them";
        let hint = "record without --no-timestamp";
        problems.note_many("no_time", 0, decoded.untimed_count, |kind| Issue::warning(kind, message).hint(hint));
    }
    if decoded.untimed_sample_count > 0 {
        let message = "samples have no times: they are in no window of time, and a thread that got another name has the one that the \
             order of the file tells, which mixes the CPUs";
        let hint = "record without --no-timestamp";
        problems.note_many("no_time", 0, decoded.untimed_sample_count, |kind| Issue::info(kind, message).hint(hint));
    }
    if decoded.opaque_raw_count > 0 {
        let message = "samples have raw data of no known format; the raw data are left out";
        problems.note_many("raw_data", 0, decoded.opaque_raw_count, |kind| Issue::info(kind, message));
    }
    for (&index, &count) in &decoded.guest_counts {
        let name = events.get(index).and_then(|event| event.name.as_deref()).unwrap_or("?");
        let message = || {
            format!(
                "{count} samples of {name} were taken while a CPU ran a guest of KVM: they are in guest_sample, and in no \
                 profile and no share of the host"
            )
        };
        let hint = "what ran in a guest tells a recording made in it";
        problems.note_many("guest_samples", index as u64, count, |kind| Issue::info(kind, message()).hint(hint));
    }
    for (&number, &count) in counts.iter() {
        if let Some((name, is_read)) = simpleperf::record_name(number) {
            if !is_read {
                let message = || format!("{count} records of simpleperf, {name}, are not read");
                problems.note_many("not_decoded", number.into(), count, |kind| Issue::info(kind, message()));
            }
        } else if let Some((_, message)) = COUNTED.iter().find(|(counted, _)| *counted == number) {
            let name = kind::name(number).unwrap_or("?");
            let message = || format!("{count} {name} records: {message}");
            problems.note_many("not_decoded", number.into(), count, |kind| Issue::info(kind, message()));
        } else if kind::name(number).is_none() {
            let message = || format!("{count} records of type {number}, which is not known; they are left out");
            let hint = "use a newer perfcase";
            problems
                .note_many("unknown_record", number.into(), count, |kind| Issue::warning(kind, message()).hint(hint));
        }
    }
}
