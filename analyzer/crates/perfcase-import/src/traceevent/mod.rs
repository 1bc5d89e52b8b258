//! Events as text, by libtraceevent, the library with which perf and trace-cmd print.
//!
//! libtraceevent is LGPL. It is loaded with dlopen when it is necessary, so any build with the same interface can
//! replace it: `libtraceevent.so.1` of the system, or the file that `PERFCASE_LIBTRACEEVENT` names.
//!
//! It crashes on some damaged formats and hangs on some damaged records, so only a child process calls it. [`child`] is
//! that process. [`client`] is the side that feeds it and outlives it. [`trace_text`] and [`perf_text`] turn its
//! answers into the lines of `trace-cmd report` and `perf script`.

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

/// The environment variable with the path of the library to load.
pub const LIBRARY_VARIABLE: &str = "PERFCASE_LIBTRACEEVENT";
