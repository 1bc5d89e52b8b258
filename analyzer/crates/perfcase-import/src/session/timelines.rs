//! Makes rows of timelines: in blocks while events come in, and at the end from the chosen sources.

use super::Session;
use crate::timeline;

impl Session {
    /// Writes final rows in blocks while events come in, if only one source can have them.
    pub(crate) fn stream_timelines(&mut self, least: usize) {
        let start = self.start_ns();
        let failed = self.timelines.put_aside(&self.sink.folder);
        failed.into_iter().for_each(|error| self.sink.fail(error));
        if let Some(source) = self.timelines.only_sched
            && let Some(build) = self.timelines.of(source).sched.settled(start, least)
        {
            self.sink.write_later("thread_state", build);
        }
        if let Some(source) = self.timelines.only_syscall
            && self.timelines.awaited.is_empty()
        {
            let names = self.timelines.names();
            if let Some(build) = self.timelines.of(source).syscalls.settled(start, least, names) {
                self.sink.write_later("syscall", build);
            }
        }
    }

    /// Writes `thread_state` with the CPUs' levels, `syscall` and `block_io` from the chosen sources.
    pub(crate) fn write_timelines(&mut self) {
        let chosen = self.timelines.chosen(&self.model.events.view());
        let start = self.start_ns();
        let end = self.last_ts_ns().saturating_add(start);
        let names = self.timelines.names();
        if let Some(source) = chosen.sched {
            match self.timelines.take_states(source, (start, end), &self.model.threads) {
                Ok((states, levels)) => {
                    states.for_each(|build| self.sink.write_later("thread_state", build));
                    levels.for_each(|(table, build)| self.sink.write_later(table, build));
                }
                Err(error) => self.sink.fail(error),
            }
        }
        if let Some(source) = chosen.syscall {
            let mut syscalls = std::mem::take(&mut self.timelines.of(source).syscalls);
            syscalls.settle_open();
            if names.has_compat() {
                self.report_unknown_widths(&syscalls);
            }
            timeline::write_definitions(&names, &mut self.sink.tables);
            for build in syscalls.into_blocks(start, names) {
                self.sink.write_later("syscall", build);
            }
        }
        if let Some(source) = chosen.block {
            let block = std::mem::take(&mut self.timelines.of(source).block);
            for request in block.settled() {
                request.write(start, &mut self.sink.tables);
                self.row_added();
            }
        }
    }
}

#[cfg(test)]
#[path = "timelines_tests.rs"]
mod tests;
