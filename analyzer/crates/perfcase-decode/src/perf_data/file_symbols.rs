//! Functions of files that a recording names itself (simpleperf).

/// The functions of one file.
#[derive(Clone, Debug, Default)]
pub struct FileSymbols {
    /// Added to an offset in the file it gives the address that the functions are by.
    distance: u64,
    /// Start, length in bytes, name; by start.
    functions: Vec<(u64, u32, Box<str>)>,
}

impl FileSymbols {
    /// `first_address` is that of the file's first segment of code, which lies at `offset_bytes` in the file.
    pub fn new(first_address: u64, offset_bytes: u64, mut functions: Vec<(u64, u32, Box<str>)>) -> FileSymbols {
        functions.sort();
        FileSymbols { distance: first_address.wrapping_sub(offset_bytes), functions }
    }

    /// The function at an offset in the file, and the distance from its start in bytes.
    pub fn find(&self, offset: u64) -> Option<(&str, u64)> {
        let address = offset.wrapping_add(self.distance);
        let after = self.functions.partition_point(|(start, ..)| *start <= address);
        let (start, length, name) = self.functions.get(after.checked_sub(1)?)?;
        (address - start < u64::from(*length)).then_some((&**name, address - start))
    }
}
