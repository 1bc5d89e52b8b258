//! The memory and the time that a call takes on its thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

thread_local! {
    /// Bytes that this thread holds, and the most that it held: since [`of`] began to count.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// What a call took.
pub(crate) struct Cost {
    /// The most bytes that it held at once.
    pub(crate) memory_bytes: usize,
    /// Its time of the CPU.
    pub(crate) time: Duration,
}

/// Makes a call and measures it.
pub(crate) fn of(call: impl FnOnce()) -> Cost {
    HELD.set(0);
    MOST.set(0);
    let began = cpu_time();
    call();
    let time = cpu_time().saturating_sub(began);
    Cost { memory_bytes: MOST.get().max(0) as usize, time }
}

/// The time of the CPU that this thread has had: unlike the time of a clock, it is the same on a busy machine.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes only to `time`, which lives until it returns.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The system's allocator, and a count of the bytes.
struct Counting;

fn count(bytes: isize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    MOST.set(MOST.get().max(held));
}

// SAFETY: each call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise is the one that is needed.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise is the one that is needed.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise is the one that is needed.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller's promise is the one that is needed.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[cfg(test)]
mod tests {
    use super::of;
    use std::time::Duration;

    #[test]
    fn memory_is_the_most_at_once_and_time_is_of_the_cpu() {
        let cost = of(|| {
            for _ in 0..10 {
                std::hint::black_box(vec![1_u8; 1 << 20]);
            }
            std::thread::sleep(Duration::from_millis(200));
        });
        assert!((1 << 20..2 << 20).contains(&cost.memory_bytes), "{}", cost.memory_bytes);
        assert!(cost.time < Duration::from_millis(100), "{:?}", cost.time);
    }
}
