//! Builds jitdumps of either byte order, for tests.

/// A jitdump as it grows.
pub struct File {
    pub bytes: Vec<u8>,
    is_big: bool,
}

/// The flag for times that are readings of the CPU's counter.
pub const ARCH_TIMESTAMP: u64 = 1;
/// The kind of the last record.
pub const CLOSE: u32 = 3;

impl File {
    /// The header of process 77's file.
    pub fn new(is_big: bool, flags: u64) -> File {
        let mut file = File { bytes: Vec::new(), is_big };
        for word in [0x4a69_5444, 1, 40, 62, 0, 77] {
            file.u32(word);
        }
        file.u64(5);
        file.u64(flags);
        file
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn u64(&mut self, value: u64) {
        self.bytes.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    /// Adds a record.
    pub fn record(&mut self, kind: u32, time: u64, body: &[u8]) {
        self.u32(kind);
        self.u32((16 + body.len()) as u32);
        self.u64(time);
        self.bytes.extend(body);
    }

    fn body(&self, fill: impl FnOnce(&mut File)) -> Vec<u8> {
        let mut body = File { bytes: Vec::new(), is_big: self.is_big };
        fill(&mut body);
        body.bytes
    }

    /// Adds a function.
    pub fn load(&mut self, time: u64, start: u64, size: u64, name: &str) {
        let body = self.body(|body| {
            body.u32(77);
            body.u32(77);
            for word in [start, start, size, 1] {
                body.u64(word);
            }
            body.bytes.extend(name.as_bytes());
            body.bytes.extend([0, 0xc3]);
        });
        self.record(0, time, &body);
    }

    /// Moves a function.
    pub fn moved(&mut self, time: u64, old: u64, new: u64, size: u64) {
        let body = self.body(|body| {
            body.u32(77);
            body.u32(77);
            for word in [new, old, new, size, 1] {
                body.u64(word);
            }
        });
        self.record(1, time, &body);
    }

    /// Adds the source lines of a function: address, line, file.
    pub fn lines(&mut self, time: u64, start: u64, lines: &[(u64, u32, &[u8])]) {
        let body = self.body(|body| {
            body.u64(start);
            body.u64(lines.len() as u64);
            for (address, line, file) in lines {
                body.u64(*address);
                body.u32(*line);
                body.u32(0);
                body.bytes.extend(*file);
                body.bytes.push(0);
            }
        });
        self.record(2, time, &body);
    }
}
