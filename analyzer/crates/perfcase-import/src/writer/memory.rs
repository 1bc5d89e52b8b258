//! Settings for the memory of an import.
//!
//! Only glibc's allocator has these settings. With another allocator nothing here does anything.

/// The settings of an import, until it is dropped: then freed memory goes back to the kernel, for the answers that the same
/// process works out next.
///
/// An import allocates and frees batches of a megabyte or two hundreds of times, and the kernel clears every page that it gives
/// again: this would take a tenth of the time. So what is freed stays in the process, in one arena for all threads: one thread
/// makes the rows that another frees, and of several arenas each grows to what its threads need at most. The few blocks that
/// are larger come from the kernel and go back to it: each of them would leave a hole that nothing else fills.
pub(crate) struct OfImport(());

impl OfImport {
    pub(crate) fn begin() -> OfImport {
        glibc::keep(LARGE_BYTES, 1 << 30);
        OfImport(())
    }
}

impl Drop for OfImport {
    fn drop(&mut self) {
        glibc::keep(LARGE_BYTES, LARGE_BYTES);
        give_back();
    }
}

/// The size of a block that is not kept.
const LARGE_BYTES: i32 = 8 << 20;

/// Gives freed memory to the kernel. The steps of an import need blocks of other sizes than the step before: what that has
/// left is in pieces.
pub(crate) fn give_back() {
    glibc::trim();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    // Parameters and their numbers: mallopt(3), malloc.h.
    const M_TRIM_THRESHOLD: i32 = -1;
    const M_MMAP_THRESHOLD: i32 = -3;
    const M_ARENA_MAX: i32 = -8;

    unsafe extern "C" {
        fn mallopt(parameter: i32, value: i32) -> i32;
        fn malloc_trim(pad: usize) -> i32;
    }

    /// Keeps blocks of less than `large` bytes when they are freed, and at most `at_end` bytes of them at the end of the heap.
    pub(super) fn keep(large: i32, at_end: i32) {
        // SAFETY: mallopt takes two integers and may be called at any time.
        unsafe {
            mallopt(M_MMAP_THRESHOLD, large);
            mallopt(M_TRIM_THRESHOLD, at_end);
            mallopt(M_ARENA_MAX, 1);
        }
    }

    pub(super) fn trim() {
        // SAFETY: malloc_trim takes an integer and may be called at any time.
        unsafe {
            malloc_trim(0);
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
    pub(super) fn keep(_: i32, _: i32) {}

    pub(super) fn trim() {}
}
