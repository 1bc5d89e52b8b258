//! Functions of files that the recording itself lists (simpleperf).

/// The functions of one file.
#[derive(Clone, Debug, Default)]
pub struct FileSymbols {
    /// The difference between the addresses of the functions and offsets in the file, in bytes.
    distance: u64,
    /// Start, length in bytes and name, in the order of the starts.
    functions: Vec<(u64, u32, Box<str>)>,
}

impl FileSymbols {
    /// Makes the list. `first_address` is the address of the file's first code segment, which is at `offset_bytes` in
    /// the file.
    pub fn new(first_address: u64, offset_bytes: u64, mut functions: Vec<(u64, u32, Box<str>)>) -> FileSymbols {
        functions.sort();
        FileSymbols { distance: first_address.wrapping_sub(offset_bytes), functions }
    }

    /// Gives the function at an offset in the file, and the distance from its start, in bytes.
    pub fn find(&self, offset: u64) -> Option<(&str, u64)> {
        let address = offset.wrapping_add(self.distance);
        let after = self.functions.partition_point(|(start, ..)| *start <= address);
        let (start, length, name) = self.functions.get(after.checked_sub(1)?)?;
        (address - start < u64::from(*length)).then_some((&**name, address - start))
    }
}
