//! Rows of what a sample's text has beside its address.

use perfcase_decode::perf_script::details::{Details, Place, Registers};

use super::source::PerfScript;
use crate::session::Session;
use crate::tables::{BranchRow, SampleDetailRow};

impl PerfScript {
    /// The rows of the rarer fields, as the perf.data has them.
    pub(super) fn details(&mut self, session: &mut Session, sample_id: u32, mut details: Details) {
        let mut frame_of = |(address, object): &Place| {
            session.named_frame(object.as_deref(), *address, *address >> 63 == 1, None, None)
        };
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
        let second = (details.registers.len() > 1).then(|| details.registers.pop()).flatten();
        let first = details.registers.pop();
        // One kind has no name in the text: the header says which was recorded, else it is the user's, as dwarf stacks need.
        let (intr, user) = match (first, second, self.records_registers) {
            (first, Some(user), _) => (first, Some(user)),
            (Some(_), None, (true, true)) => {
                self.unclear_registers += 1;
                (None, None)
            }
            (first, None, (true, false)) => (first, None),
            (first, None, _) => (None, first),
        };
        let data = details.data.filter(|&(address, _)| address != 0);
        let physical_address = details.physical_address;
        if data.is_none()
            && intr.is_none()
            && user.is_none()
            && details.data_src.or(details.weight).or(physical_address).is_none()
        {
            return;
        }
        let data_dso_id = data.as_ref().and_then(|(address, object)| match object {
            Some(path) if *address >> 63 == 0 => Some(session.model.maps.named(path)),
            _ => None,
        });
        let values = |registers: &Option<Registers>| registers.as_ref().map(|registers| registers.values.clone());
        session.sink.tables.sample_detail.push(SampleDetailRow {
            sample_id,
            data_address: data.as_ref().map(|&(address, _)| address),
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
            user_regs_abi: user.as_ref().map(|registers| registers.abi),
            user_regs: values(&user).as_deref(),
            intr_regs: values(&intr).as_deref(),
            user_stack: None,
            aux_bytes: None,
        });
        session.row_added();
    }
}
