//! A perf.data written by hand, of either byte order: for what no machine at hand records.

use perfcase_decode::perf_data::bytes::ByteOrder;

/// Bytes of one byte order.
pub struct Bytes {
    /// What was written.
    pub bytes: Vec<u8>,
    order: ByteOrder,
}

impl Bytes {
    pub fn new(order: ByteOrder) -> Bytes {
        Bytes { bytes: Vec::new(), order }
    }

    pub fn u8s(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    pub fn u16(self, value: u16) -> Self {
        let bytes = if self.order == ByteOrder::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.u8s(&bytes)
    }

    pub fn u32(self, value: u32) -> Self {
        let bytes = if self.order == ByteOrder::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.u8s(&bytes)
    }

    pub fn u64(self, value: u64) -> Self {
        let bytes = if self.order == ByteOrder::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.u8s(&bytes)
    }

    pub fn u64s(self, values: &[u64]) -> Self {
        values.iter().fold(self, |bytes, &value| bytes.u64(value))
    }
}

/// What an attribute of 128 bytes says; everything else is 0.
#[derive(Clone, Copy, Default)]
pub struct Attr {
    pub sample_type: u64,
    pub read_format: u64,
    pub sample_id_all: bool,
    pub branch_sample_type: u64,
    pub regs_user: u64,
    pub regs_intr: u64,
    pub id: u64,
    /// The id of a tracepoint's format; 0: a clock of software.
    pub tracepoint: u64,
}

/// A recording in file mode: `records` are type, misc and body.
pub fn file(order: ByteOrder, attrs: &[Attr], records: &[(u32, u16, Vec<u8>)]) -> Vec<u8> {
    let new = || Bytes::new(order);
    let ids_at = 104 + attrs.len() as u64 * 144;
    let data_at = ids_at + attrs.len() as u64 * 8;
    let mut data = new();
    for (kind, misc, body) in records {
        data = data.u32(*kind).u16(*misc).u16(body.len() as u16 + 8).u8s(body);
    }
    let magic = if order == ByteOrder::Big { b"2ELIFREP" } else { b"PERFILE2" };
    let mut out = new().u8s(magic).u64s(&[104, 144, 104, attrs.len() as u64 * 144]);
    out = out.u64s(&[data_at, data.bytes.len() as u64, 0, 0, 0, 0, 0, 0]);
    for (index, attr) in attrs.iter().enumerate() {
        let flag = u64::from(attr.sample_id_all) << 18;
        let flags = if order == ByteOrder::Big { flag.reverse_bits() } else { flag };
        let kind = if attr.tracepoint == 0 { 1 } else { 2 };
        out = out.u32(kind).u32(128).u64s(&[attr.tracepoint, 1000, attr.sample_type, attr.read_format, flags]);
        out = out.u64s(&[0, 0, 0, attr.branch_sample_type, attr.regs_user, 0, attr.regs_intr, 0, 0, 0]);
        out = out.u64s(&[ids_at + index as u64 * 8, 8]);
    }
    for attr in attrs {
        out = out.u64(attr.id);
    }
    out.u8s(&data.bytes).bytes
}
