//! What decoders learn about the host.

use super::Session;

impl Session {
    /// Sets the recorded architecture (`uname -m`), which decides the names of system calls. The first one stays.
    pub fn set_machine(&mut self, machine: &str) {
        self.timelines.set_machine(machine);
        self.model.host.machine.get_or_insert_with(|| machine.to_string());
    }
}
