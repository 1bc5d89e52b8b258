//! One folder for each input format.
