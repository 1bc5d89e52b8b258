//! What to print, and what is printed.

use std::time::Duration;

/// Which events to print, and how long the printer may take for one.
#[derive(Debug, Clone)]
pub struct PrintOptions {
    /// Only this event: `sched_switch` or `sched:sched_switch`; `None` for all events.
    pub event: Option<String>,
    /// The most events to print; `None` for no limit.
    pub limit: Option<u64>,
    /// The time for one answer of the child. After it the child is ended, and the record is reported.
    pub deadline: Duration,
}

impl Default for PrintOptions {
    fn default() -> PrintOptions {
        PrintOptions { event: None, limit: None, deadline: Duration::from_secs(20) }
    }
}

impl PrintOptions {
    pub(super) fn selects(&self, system: &str, name: &str) -> bool {
        self.event.as_deref().is_none_or(|wanted| match wanted.split_once(':') {
            Some((in_system, event)) => in_system == system && event == name,
            None => wanted == name,
        })
    }

    pub(super) fn is_reached(&self, printed: u64) -> bool {
        self.limit.is_some_and(|limit| printed >= limit)
    }
}

/// What is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Printed {
    /// A line, without its line end. It may contain line ends (a kernel stack).
    Line(String),
    /// Something could not be printed.
    Problem {
        /// The byte offset in the file; `None` where it is not known.
        offset: Option<u64>,
        /// What could not be printed, and why.
        message: String,
    },
}

/// Takes what is printed. Returns false when it wants no more.
pub type Sink<'a> = dyn FnMut(Printed) -> bool + 'a;

/// A sink, and whether it wants more.
pub(super) struct Output<'a, 'b> {
    sink: &'a mut Sink<'b>,
    pub(super) goes_on: bool,
}

impl<'a, 'b> Output<'a, 'b> {
    pub(super) fn new(sink: &'a mut Sink<'b>) -> Output<'a, 'b> {
        Output { sink, goes_on: true }
    }

    pub(super) fn put(&mut self, printed: Printed) {
        self.goes_on = self.goes_on && (self.sink)(printed);
    }

    pub(super) fn line(&mut self, line: impl Into<String>) {
        self.put(Printed::Line(line.into()));
    }

    pub(super) fn problem(&mut self, offset: Option<u64>, message: impl Into<String>) {
        self.put(Printed::Problem { offset, message: message.into() });
    }
}
