//! A safe interface to a libtraceevent handle. The library may still crash or hang: use it in [`super::child`].

use std::ffi::{CStr, CString, c_int};
use std::mem::MaybeUninit;

use super::ffi::{self, Functions, Tep, TepRecord, TraceSeq};
use super::graph::{self, GraphFields};
use hashbrown::HashMap;
use perfcase_decode::format::EventFormat;
use perfcase_decode::ftrace::events::CommonFields;

// What tep_print_event can print: strings have these names, numbers have these values.
const COMM: &CStr = c"COMM";
const INFO: &CStr = c"INFO";
const PID: c_int = 1;
const TIME: c_int = 2;
const CPU: c_int = 3;

/// How a capture was recorded, and how its events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) big_endian: bool,
    /// The size of the kernel's word, in bytes.
    pub(super) long_size: u8,
    pub(super) style: Style,
}

/// The tool whose lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Whole lines of `trace-cmd report`, with the library's plugins.
    TraceCmd,
    /// The text behind the event's name in `perf script`, which uses no plugins.
    Perf,
}

/// One event to print. If it is a call that shares a line with its return, `following` is that return.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) ts: u64,
    pub(super) cpu: u32,
    pub(super) data: &'a [u8],
    pub(super) following: Option<&'a [u8]>,
}

/// A handle, the formats it knows, and the library behind it.
pub(super) struct Printer {
    functions: Functions,
    tep: Tep,
    plugins: *mut std::ffi::c_void,
    setup: Setup,
    common: CommonFields,
    names: HashMap<u32, String>,
    graph: GraphFields,
}

impl Printer {
    pub(super) fn new(setup: Setup) -> Result<Printer, String> {
        let functions = ffi::load()?;
        // SAFETY: plain calls with a fresh handle, which is checked.
        let (tep, plugins) = unsafe {
            (functions.tep_set_loglevel)(0);
            let tep = (functions.tep_alloc)();
            if tep.is_null() {
                return Err("libtraceevent: out of memory".to_owned());
            }
            (functions.tep_set_file_bigendian)(tep, c_int::from(setup.big_endian));
            (functions.tep_set_local_bigendian)(tep, c_int::from(cfg!(target_endian = "big")));
            (functions.tep_set_long_size)(tep, c_int::from(setup.long_size));
            let plugins = match setup.style {
                Style::TraceCmd => (functions.tep_load_plugins)(tep),
                Style::Perf => std::ptr::null_mut(),
            };
            (tep, plugins)
        };
        Ok(Printer {
            functions,
            tep,
            plugins,
            setup,
            common: CommonFields::of(&[], setup.big_endian),
            names: HashMap::new(),
            graph: GraphFields::new(setup.big_endian, setup.long_size),
        })
    }

    /// Adds the format of an event, whose records can then be printed.
    pub(super) fn add_format(&mut self, system: &str, text: &str) -> Result<(), String> {
        let format = EventFormat::parse(system, text).map_err(|error| error.to_string())?;
        let c_system = c_text(system.as_bytes());
        let c_format = c_text(text.as_bytes());
        let length = c_format.as_bytes().len() as std::ffi::c_ulong;
        // SAFETY: both texts end in NUL and outlive the call; the library copies them.
        let error = unsafe { (self.functions.tep_parse_event)(self.tep, c_format.as_ptr(), length, c_system.as_ptr()) };
        self.graph.learn(&format);
        if self.names.is_empty() {
            self.common = CommonFields::of(std::slice::from_ref(&format), self.setup.big_endian);
        }
        let name = format!("{system}:{}", format.name);
        self.names.insert(format.id, format.name);
        if error != 0 {
            Err(format!("libtraceevent cannot parse the format of {name} (error {error})"))
        } else {
            Ok(())
        }
    }

    pub(super) fn add_comms(&mut self, saved_cmdlines: &[u8]) {
        let text = c_text(saved_cmdlines);
        // SAFETY: the text ends in NUL and outlives the call; the library copies it.
        unsafe { (self.functions.tep_parse_saved_cmdlines)(self.tep, text.as_ptr()) };
    }

    pub(super) fn add_kallsyms(&mut self, kallsyms: &[u8]) {
        let text = c_text(kallsyms);
        // SAFETY: as above.
        unsafe { (self.functions.tep_parse_kallsyms)(self.tep, text.as_ptr()) };
    }

    pub(super) fn add_printk_formats(&mut self, formats: &[u8]) {
        let text = c_text(formats);
        // SAFETY: as above.
        unsafe { (self.functions.tep_parse_printk_formats)(self.tep, text.as_ptr()) };
    }

    /// Gives the name of the function at or around an address; `None` where it is unknown.
    pub(super) fn function(&self, address: u64) -> Option<String> {
        // SAFETY: the answer is null or a string of the library that lives until the next call.
        unsafe {
            let name = (self.functions.tep_find_function)(self.tep, address);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// Gives the record's text: a line of `trace-cmd report`, or the last part of a line of `perf script`.
    pub(super) fn print(&mut self, record: Record) -> Result<String, String> {
        // If a record is too short, the library reads fields behind its end: zeros are there.
        let mut padded = Vec::with_capacity(record.data.len() + 4096);
        padded.extend_from_slice(record.data);
        padded.resize(record.data.len() + 4096, 0);
        let mut tep_record = TepRecord {
            ts: record.ts,
            offset: 0,
            missed_events: 0,
            record_size: record.data.len() as c_int,
            size: record.data.len() as c_int,
            data: padded.as_mut_ptr().cast(),
            cpu: record.cpu as c_int,
            ref_count: 1,
            locked: 1,
            private: std::ptr::null_mut(),
        };
        let mut text = Text::new(&self.functions);
        let print = self.functions.tep_print_event;
        let id = self.common.id(record.data).unwrap_or(u32::MAX);
        // SAFETY: handle, text and record are valid; each format has the arguments that tep_print_event(3) asks for.
        unsafe {
            if self.setup.style == Style::TraceCmd {
                let head = c"%16s-%-5d [%03d]".as_ptr();
                print(self.tep, &mut text.seq, &mut tep_record, head, COMM.as_ptr(), PID, CPU);
                print(self.tep, &mut text.seq, &mut tep_record, c" %6.1000d:".as_ptr(), TIME);
            }
        }
        let head = text.take()?;
        let name = self.names.get(&id).map_or("(NULL)", String::as_str);
        let info = match graph::text(&self.graph, id, &record, &|address| self.function(address)) {
            Some(info) if self.setup.style == Style::TraceCmd => info,
            _ => {
                let mut text = Text::new(&self.functions);
                // SAFETY: as above.
                unsafe { print(self.tep, &mut text.seq, &mut tep_record, c"%s".as_ptr(), INFO.as_ptr()) };
                text.take()?
            }
        };
        let info = info.strip_suffix('\n').unwrap_or(&info);
        Ok(match self.setup.style {
            // trace-cmd pads names that are shorter than 20 characters.
            Style::TraceCmd => format!("{head} {:<22}{info}", format!("{name}: ")),
            Style::Perf => info.to_owned(),
        })
    }

    /// Gives the fields of an event as the library reads them, for the test that compares them with ours.
    #[cfg(test)]
    pub(super) fn fields(&self, id: u32) -> Option<Vec<super::tests::FieldFacts>> {
        // SAFETY: the event and its lists belong to the handle and end in null.
        unsafe {
            let event = (self.functions.tep_find_event)(self.tep, id as c_int).as_ref()?;
            let mut facts = Vec::new();
            for (first, is_common) in [(event.common_fields, true), (event.fields, false)] {
                let mut next = first;
                while let Some(field) = next.as_ref() {
                    facts.push(super::tests::FieldFacts::of(field, is_common));
                    next = field.next;
                }
            }
            Some(facts)
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        // SAFETY: handle and plugins are this printer's own and are not used again.
        unsafe {
            if !self.plugins.is_null() {
                (self.functions.tep_unload_plugins)(self.plugins, self.tep);
            }
            (self.functions.tep_free)(self.tep);
        }
    }
}

/// A `trace_seq` that is freed at the end.
struct Text<'a> {
    seq: TraceSeq,
    functions: &'a Functions,
}

impl<'a> Text<'a> {
    fn new(functions: &'a Functions) -> Text<'a> {
        let mut seq = MaybeUninit::uninit();
        // SAFETY: trace_seq_init sets every field.
        let seq = unsafe {
            (functions.trace_seq_init)(seq.as_mut_ptr());
            seq.assume_init()
        };
        Text { seq, functions }
    }

    fn take(self) -> Result<String, String> {
        if self.seq.state != 0 || self.seq.buffer.is_null() {
            return Err("libtraceevent could not make the text".to_owned());
        }
        // SAFETY: the buffer holds `len` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.seq.buffer.cast::<u8>(), self.seq.len as usize) };
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, not used again.
        unsafe { (self.functions.trace_seq_destroy)(&mut self.seq) };
    }
}

/// Gives the bytes up to the first NUL, and a NUL.
fn c_text(bytes: &[u8]) -> CString {
    CString::new(bytes.split(|b| *b == 0).next().unwrap_or_default()).unwrap_or_default()
}
