//! Rows of the rarer fields of a sample's text.

use perfcase_decode::perf_script::details::{Details, Place, Registers};

use crate::session::Session;
use crate::tables::{BranchRow, SampleDetailRow};

/// Pushes the same rows as for a perf.data.
pub fn push(session: &mut Session, sample_id: u32, details: &Details) {
    let mut frame_of =
        |(address, object): &Place| session.named_frame(object.as_deref(), *address, *address >> 63 == 1, None, None);
    let branches: Vec<_> = details.branches.iter().map(|b| (b, frame_of(&b.from), frame_of(&b.to))).collect();
    for (position, (branch, from_frame_id, to_frame_id)) in branches.into_iter().enumerate() {
        session.sink.tables.branch.push(BranchRow {
            sample_id,
            position: position as u16,
            from_address: branch.from.0,
            to_address: branch.to.0,
            from_frame_id,
            to_frame_id,
            flags: branch.flags,
        });
        session.row_added();
    }
    let data = details.data.as_ref().filter(|(address, _)| *address != 0);
    let physical_address = details.physical_address;
    if data.is_none()
        && details.interrupt.is_none()
        && details.user.is_none()
        && details.data_src.or(details.weight).or(physical_address).is_none()
    {
        return;
    }
    let data_dso_id = data.and_then(|(address, object)| match object {
        Some(path) if *address >> 63 == 0 => Some(session.model.maps.named(path)),
        _ => None,
    });

    session.sink.tables.sample_detail.push(SampleDetailRow {
        sample_id,
        data_address: data.map(|(address, _)| *address),
        data_dso_id,
        physical_address,
        data_src: details.data_src,
        weight: details.weight,
        weight2: None,
        weight3: None,
        transaction: None,
        cgroup_id: None,
        data_page_size_bytes: None,
        code_page_size_bytes: None,
        stream_id: None,
        user_regs_abi: details.user.as_ref().map(|registers| registers.abi),
        user_regs: values(&details.user),
        intr_regs: values(&details.interrupt),
        user_stack: None,
        aux_bytes: None,
    });
    session.row_added();
}

fn values(registers: &Option<Registers>) -> Option<&[u64]> {
    registers.as_ref().map(|registers| &registers.values[..])
}
