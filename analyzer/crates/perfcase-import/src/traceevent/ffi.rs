//! The functions of libtraceevent that perfcase uses. They are found at run time. Names and structures are those of
//! `traceevent/event-parse.h` of libtraceevent 1.7. The library's soname keeps this interface stable.

use std::ffi::{c_char, c_int, c_long, c_longlong, c_ulong, c_ulonglong, c_void};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::LIBRARY_VARIABLE;

const SONAME: &str = "libtraceevent.so.1";

/// `struct tep_record`: one event in the form that the library takes.
#[repr(C)]
pub(super) struct TepRecord {
    pub(super) ts: c_ulonglong,
    pub(super) offset: c_ulonglong,
    pub(super) missed_events: c_longlong,
    pub(super) record_size: c_int,
    pub(super) size: c_int,
    pub(super) data: *mut c_void,
    pub(super) cpu: c_int,
    pub(super) ref_count: c_int,
    pub(super) locked: c_int,
    pub(super) private: *mut c_void,
}

/// `struct trace_seq`: a growing text.
#[repr(C)]
pub(super) struct TraceSeq {
    pub(super) buffer: *mut c_char,
    pub(super) buffer_size: u32,
    pub(super) len: u32,
    pub(super) read_position: u32,
    /// 0 as long as nothing failed.
    pub(super) state: c_int,
}

/// `struct tep_format_field`.
#[cfg(test)]
#[repr(C)]
pub(super) struct TepField {
    pub(super) next: *mut TepField,
    pub(super) event: *mut c_void,
    pub(super) c_type: *mut c_char,
    pub(super) name: *mut c_char,
    pub(super) alias: *mut c_char,
    pub(super) offset: c_int,
    pub(super) size: c_int,
    pub(super) array_length: u32,
    pub(super) element_size: u32,
    pub(super) flags: c_ulong,
}

/// The beginning of `struct tep_event`. Nothing else of it is read.
#[cfg(test)]
#[repr(C)]
pub(super) struct TepEvent {
    pub(super) tep: *mut c_void,
    pub(super) name: *mut c_char,
    pub(super) id: c_int,
    pub(super) flags: c_int,
    pub(super) common_count: c_int,
    pub(super) field_count: c_int,
    pub(super) common_fields: *mut TepField,
    pub(super) fields: *mut TepField,
}

pub(super) type Tep = *mut c_void;

macro_rules! functions {
    ($($(#[$attribute:meta])* $name:ident: $kind:ty;)*) => {
        /// The loaded library.
        pub(super) struct Functions {
            $($(#[$attribute])* pub(super) $name: $kind,)*
            _library: Library,
        }

        impl Functions {
            fn find(library: Library) -> Result<Functions, libloading::Error> {
                // SAFETY: each name is paired with its prototype from event-parse.h or trace-seq.h, and the pointers
                // live no longer than the library beside them.
                unsafe {
                    Ok(Functions {
                        $($(#[$attribute])* $name: *library.get::<$kind>(stringify!($name).as_bytes())?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    tep_alloc: unsafe extern "C" fn() -> Tep;
    tep_free: unsafe extern "C" fn(Tep);
    tep_set_file_bigendian: unsafe extern "C" fn(Tep, c_int);
    tep_set_local_bigendian: unsafe extern "C" fn(Tep, c_int);
    tep_set_long_size: unsafe extern "C" fn(Tep, c_int);
    tep_set_loglevel: unsafe extern "C" fn(c_int);
    tep_load_plugins: unsafe extern "C" fn(Tep) -> *mut c_void;
    tep_unload_plugins: unsafe extern "C" fn(*mut c_void, Tep);
    tep_parse_event: unsafe extern "C" fn(Tep, *const c_char, c_ulong, *const c_char) -> c_int;
    tep_parse_saved_cmdlines: unsafe extern "C" fn(Tep, *const c_char) -> c_int;
    tep_parse_kallsyms: unsafe extern "C" fn(Tep, *const c_char) -> c_int;
    tep_parse_printk_formats: unsafe extern "C" fn(Tep, *const c_char) -> c_int;
    #[cfg(test)] tep_find_event: unsafe extern "C" fn(Tep, c_int) -> *mut TepEvent;
    tep_find_function: unsafe extern "C" fn(Tep, c_ulonglong) -> *const c_char;
    tep_print_event: unsafe extern "C" fn(Tep, *mut TraceSeq, *mut TepRecord, *const c_char, ...);
    trace_seq_init: unsafe extern "C" fn(*mut TraceSeq);
    trace_seq_destroy: unsafe extern "C" fn(*mut TraceSeq);
}

const _: () = assert!(size_of::<c_long>() == size_of::<usize>());

/// Loads the library. An error says which file was tried and what to install.
pub(super) fn load() -> Result<Functions, String> {
    let named = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty());
    let path = named.unwrap_or_else(|| SONAME.into());
    // Global, because the plugins that the library loads find its functions in that way.
    // SAFETY: the library's initialisers do nothing that harms this process.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
    library.and_then(Functions::find).map_err(|error| {
        format!(
            "{}: {error}; install libtraceevent (Debian: apt-get install libtraceevent1 libtraceevent1-plugin)",
            path.to_string_lossy()
        )
    })
}
