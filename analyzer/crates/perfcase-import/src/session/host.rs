//! What decoders learn of the host.

use super::Session;

impl Session {
    /// Sets the recorded architecture (`uname -m`), which names the system calls; a first word stays.
    pub fn set_machine(&mut self, machine: &str) {
        self.timelines.set_machine(machine);
        self.model.host.machine.get_or_insert_with(|| machine.to_string());
    }
}
