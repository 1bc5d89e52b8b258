//! Output of `perf stat`, CSV (`-x`), JSON (`-j`) or text for people: [`reader`] reads a file, the others a line.

pub mod csv;
pub mod json;
pub mod reader;
pub mod reading;
pub mod text;

pub use reading::{Line, Reading, Scope, Status};

/// Reads a line in the form that the file has.
pub fn parse_line(line: &str, separator: &mut Option<char>, has_intervals: bool) -> Line {
    if line.trim_start().starts_with('{') {
        return json::parse(line, has_intervals);
    }
    if let Some(separator) = *separator {
        return match csv::parse(line, separator) {
            // The empty fields of a line with a further metric.
            Line::Unknown if separator == ' ' && line.starts_with("   ") => Line::Nothing,
            parsed => parsed,
        };
    }
    for candidate in csv::SEPARATORS {
        match csv::parse(line, candidate) {
            Line::Unknown => {}
            Line::Nothing => return Line::Nothing,
            known => {
                *separator = Some(candidate);
                return known;
            }
        }
    }
    Line::Unknown
}
