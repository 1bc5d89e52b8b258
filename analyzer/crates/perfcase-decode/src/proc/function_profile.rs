//! ftrace's function profile (trace_stat/functionN): calls of kernel functions on a CPU.

/// A function's line: its calls and, where the kernel measures it, the time in it.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionHits {
    /// The function's name, which the kernel cuts after 30 characters.
    pub name: String,
    /// The number of calls since the profile was switched on.
    pub hits: u64,
    /// Time in the function, in ns.
    pub total_ns: Option<i64>,
}

/// Gives the CPU of a path like /sys/kernel/tracing/trace_stat/function3.
pub fn cpu_of(path: &str) -> Option<u32> {
    path.rsplit_once("/trace_stat/function")?.1.parse().ok()
}

/// Reads the lines of the file. Headings and cut lines are left out.
pub fn parse(text: &[u8]) -> Vec<FunctionHits> {
    String::from_utf8_lossy(text).lines().filter_map(parse_line).collect()
}

/// `  name  hits    1234.567 us     12.345 us     0.123 us`, or only the first two words.
fn parse_line(line: &str) -> Option<FunctionHits> {
    let mut words = line.split_whitespace();
    let (name, hits) = (words.next()?, words.next()?.parse().ok()?);
    let total_ns = match (words.next(), words.next()) {
        (Some(time), Some("us")) => Some(nanoseconds(time)?),
        (None, _) => None,
        _ => return None,
    };
    Some(FunctionHits { name: name.to_string(), hits, total_ns })
}

/// Reads microseconds with three decimals, in ns.
fn nanoseconds(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.')?;
    if part.len() != 3 {
        return None;
    }
    whole.parse::<i64>().ok()?.checked_mul(1000)?.checked_add(part.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, hits: u64, total_ns: Option<i64>) -> FunctionHits {
        FunctionHits { name: name.to_string(), hits, total_ns }
    }

    #[test]
    fn with_and_without_times() {
        let timed = b"  Function                               Hit    Time            Avg             s^2\n\
              --------                               ---    ----            ---             ---\n\
              folio_mark_accessed                     12    1004.125 us     83.677 us       0.010 us\n\
              filemap_add_folio                        3    0.000 us        0.000 us        0.000 us    \n";
        let expected = [row("folio_mark_accessed", 12, Some(1_004_125)), row("filemap_add_folio", 3, Some(0))];
        assert_eq!(parse(timed), expected);
        let counted = b"  Function                               Hit\n  --------                               ---\n\
              mark_buffer_dirty                       7\n";
        assert_eq!(parse(counted), [row("mark_buffer_dirty", 7, None)]);
    }

    #[test]
    fn what_is_cut_or_impossible_is_left_out() {
        assert_eq!(parse(b"f\nf x\nf 1 2.3 us\nf 1 99999999999999999.000 us\nf 1 2.345\n\xff\xfe"), []);
        assert_eq!(parse(b""), []);
    }

    #[test]
    fn the_path_names_the_cpu() {
        assert_eq!(cpu_of("/sys/kernel/tracing/trace_stat/function12"), Some(12));
        assert_eq!(cpu_of("/sys/kernel/debug/tracing/trace_stat/function0"), Some(0));
        assert_eq!(cpu_of("/sys/kernel/tracing/trace_stat/branch_all"), None);
        assert_eq!(cpu_of("/trace_stat/function"), None);
    }
}
