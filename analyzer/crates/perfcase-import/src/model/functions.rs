//! The functions that were sampled, with their code, as rows.

use std::collections::BTreeMap;

use perfcase_symbols::code::Code;

use crate::tables::{FunctionCodeRow, FunctionLineRow, Tables};

/// The most bytes of code of one capture.
const MOST_BYTES: usize = 256 << 20;

/// The functions of a capture, by their object and address.
#[derive(Default)]
pub(crate) struct Functions(pub(crate) BTreeMap<(u32, u64), Code>);

impl Functions {
    /// Adds a function of an object. What is known of it stays where the new one does not say more.
    pub(crate) fn add(&mut self, dso: u32, code: Code) {
        let key = (dso, code.address);
        let Some(known) = self.0.get_mut(&key) else {
            self.0.insert(key, code);
            return;
        };
        let (new, old) = (code, std::mem::replace(known, Code::none()));
        let lines = if new.lines.is_empty() { old.lines.clone() } else { new.lines.clone() };
        let with_code = if new.bytes.is_ok() || old.bytes.is_err() { new } else { old };
        *known = Code { lines, ..with_code };
    }

    /// Writes `function_code` and `function_line`.
    pub(crate) fn write(&self, tables: &mut Tables) {
        let mut room = MOST_BYTES;
        for (&(dso_id, address), function) in &self.0 {
            let mut code = function.bytes.as_deref();
            let reason = "more code than a capture may have".to_string();
            if code.is_ok_and(|bytes| bytes.len() > room) {
                code = Err(&reason);
            }
            room -= code.map_or(0, <[u8]>::len);
            tables.function_code.push(FunctionCodeRow {
                dso_id,
                address,
                symbol: &function.symbol,
                size_bytes: function.size_bytes,
                machine: &function.machine,
                code: code.ok(),
                missing_reason: code.err().map(String::as_str),
            });
            for line in &function.lines {
                tables.function_line.push(FunctionLineRow {
                    dso_id,
                    function_address: address,
                    address: line.address,
                    source_file: line.file.as_deref(),
                    source_line: line.line,
                });
            }
        }
    }
}
