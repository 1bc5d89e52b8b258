//! Makes rows of timelines: in blocks while events come in, and at the end from the chosen sources.

use perfcase_archive::Issue;

use super::{Session, SourceId};
use crate::sink::BATCH_ROWS;
use crate::timeline;
use crate::timeline::syscalls::Syscalls;

impl Session {
    /// Writes final rows in blocks while events come in, if only one source can have them; what has to wait moves to files.
    pub(crate) fn stream_timelines(&mut self, least: usize) {
        let start = self.start_ns();
        let failed = self.timelines.put_aside(&self.sink.folder, least);
        failed.into_iter().for_each(|error| self.sink.fail(error));
        if let Some(source) = self.timelines.only_sched
            && let Some(build) = self.timelines.of(source).sched.settled(start, least)
        {
            self.sink.write_later("thread_state", build);
        }
    }

    /// Writes `thread_state` with the CPUs' levels, `syscall` and `block_io` from the chosen sources.
    pub(crate) fn write_timelines(&mut self) {
        let chosen = self.timelines.chosen(&self.model.events.view());
        let start = self.start_ns();
        let end = self.last_ts_ns().saturating_add(start);
        let names = self.timelines.names();
        if let Some(source) = chosen.sched {
            self.report_bounded(source);
            let events = self.model.events.view();
            let kind = events.kind(source);
            match self.timelines.take_states(source, (start, end), &self.model.threads, kind) {
                Ok((states, levels)) => {
                    states.for_each(|build| self.sink.write_later("thread_state", build));
                    levels.for_each(|(table, build)| self.sink.write_later(table, build));
                }
                Err(error) => self.sink.fail(error),
            }
        }
        let mut syscalls = chosen.syscall.map(|source| std::mem::take(&mut self.timelines.of(source).syscalls));
        if let Some(syscalls) = &mut syscalls {
            syscalls.settle_open();
            if names.has_compat() {
                self.report_unknown_widths(syscalls);
            }
            timeline::write_definitions(&names, &mut self.sink.tables);
        }
        let until = chosen.syscall.and_then(|source| self.model.events.sources.get(source as usize)?.until(start));
        self.write_descriptors(syscalls, until.unwrap_or_else(|| self.last_ts_ns()));
        if let Some(source) = chosen.block {
            let block = std::mem::take(&mut self.timelines.of(source).block);
            if block.cut_count > 0 {
                let message = "so many requests to disks overlap that not all are known to be part of one";
                self.issue(Issue::warning("disk_requests_not_followed", message).count(block.cut_count));
            }
            for request in block.settled() {
                request.write(start, &mut self.sink.tables);
                self.row_added();
            }
        }
    }

    /// Reports what the timeline of a source leaves out.
    fn report_bounded(&mut self, source: SourceId) {
        let refused_count = self.timelines.of(source).sched.refused_count();
        if refused_count > 0 {
            let message = "switches and moves to a CPU of a number that no host has are left out of the timeline";
            self.issue(Issue::warning("cpus_not_followed", message).count(refused_count));
        }
        let refused_count = self.timelines.sampled.bound.refused_count;
        if refused_count > 0 {
            let message = "so many callchains of waits were taken that some states have none";
            self.issue(Issue::warning("callchains_not_followed", message).count(refused_count));
        }
    }

    /// Writes `descriptor`, `socket_turn`, `request` and `syscall`. `until`: when the recording of calls ended, in ns since the start.
    fn write_descriptors(&mut self, mut syscalls: Option<Syscalls>, until: i64) {
        let start = self.start_ns();
        let (known, mut turns, is_whole) =
            self.timelines.settle_descriptors(syscalls.as_mut(), start, &self.model.threads);
        if !is_whole {
            let message = "so many descriptors were opened, closed, connected or listed that not all are followed";
            self.issue(Issue::warning("descriptors_not_followed", message));
        }
        let of = std::mem::take(&mut self.timelines.descriptors);
        for id in 0..known.history.len() {
            known.history.each_row(&of, id, |row| self.sink.tables.descriptor.push(row));
            self.row_added();
        }
        let Some(syscalls) = syscalls else { return };
        if !turns.is_empty() {
            let sink = &mut self.sink;
            let read = syscalls.each_moved(&known, |call| {
                turns.follow(call, &mut sink.tables);
                if sink.is_full() {
                    sink.flush(BATCH_ROWS / 4);
                }
            });
            read.err().into_iter().for_each(|error| self.sink.fail(error));
            syscalls.each_last(&known).for_each(|call| turns.add_last(call));
            turns.finish(until, &mut self.sink.tables);
        }
        for build in syscalls.into_blocks(known) {
            self.sink.write_later("syscall", build);
        }
    }
}

#[cfg(test)]
#[path = "timelines_tests.rs"]
mod tests;
