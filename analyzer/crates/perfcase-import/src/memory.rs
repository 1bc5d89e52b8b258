//! Settings for the memory of an import.

/// Keeps freed memory in the process. An import allocates and frees batches of a few megabytes hundreds of times, and
/// the kernel clears every page that it gives again: this would take a tenth of the time.
///
/// Only glibc's allocator has these settings. With another allocator this does nothing.
pub(crate) fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // Parameters and their numbers: mallopt(3), malloc.h.
        const M_TRIM_THRESHOLD: i32 = -1;
        const M_MMAP_THRESHOLD: i32 = -3;
        const BYTES: i32 = 1 << 30;
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        // SAFETY: mallopt takes two integers and may be called at any time.
        unsafe {
            mallopt(M_MMAP_THRESHOLD, BYTES);
            mallopt(M_TRIM_THRESHOLD, BYTES);
        }
    }
}
