//! Events as text, by libtraceevent: the library that perf and trace-cmd print with.
//!
//! libtraceevent is LGPL. It is loaded with dlopen when it is needed, so any build of it with the same interface takes
//! its place: `libtraceevent.so.1` of the system, or the file that `PERFCASE_LIBTRACEEVENT` names.
//!
//! It crashes on some damaged formats and hangs on some damaged records, so only a child process calls it:
//! [`child`] is that process, [`client`] the side that feeds it and outlives it. [`trace_text`] and [`perf_text`] make
//! the lines of `trace-cmd report` and `perf script` of what it answers.

pub mod capture_text;
pub mod child;
pub mod client;
#[cfg(test)]
mod client_tests;
mod ffi;
mod graph;
pub mod output;
pub mod perf_text;
mod printer;
mod protocol;
#[cfg(test)]
mod tests;
pub mod trace_text;

/// Environment variable with the path of the library to load.
pub const LIBRARY_VARIABLE: &str = "PERFCASE_LIBTRACEEVENT";
