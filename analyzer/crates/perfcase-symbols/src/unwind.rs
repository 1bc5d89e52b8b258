//! Callers of a sampled thread, from its registers and a copy of its stack.
