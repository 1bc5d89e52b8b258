//! Ftrace: trace.dat files of trace-cmd and folders of raw ring-buffer pages.
//!
//! | part | job |
//! |---|---|
//! | `trace_dat` | a trace.dat v6 or v7 to a [`Capture`] |
//! | `raw_folder` | the members under `ftrace/raw/` to a [`Capture`] |
//! | `layout`, `page` | the kernel's ring-buffer pages |
//! | `stream`, `merge` | one CPU's events; all CPUs' events by time |
//! | `events` | a capture opened: what it says, and its events |

pub mod capture;
pub mod compression;
mod cursor;
pub mod events;
pub mod layout;
pub mod merge;
pub mod page;
#[cfg(test)]
mod page_tests;
pub mod raw_folder;
pub mod stream;
pub mod trace_dat;

pub use capture::{Buffer, Capture, FormatText};
pub use events::Events;
