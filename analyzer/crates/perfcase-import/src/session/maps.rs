//! Mappings of records.

use super::{Mapping, Session};
use crate::model::code::NO_CODE;
use crate::model::maps::{is_anonymous, is_loader, is_memfd};
use crate::model::regions::Region;

/// Where modules are in a kernel that may have a random address (KERNEL_IMAGE_SIZE is 1 GiB); in others they begin 512 MiB lower:
/// Documentation/arch/x86/x86_64/mm.rst of Linux. Above it no kernel has code of its own.
const X86_64_MODULES: u64 = 0xffff_ffff_c000_0000;

impl Session {
    /// Adds a mapping. It replaces earlier mappings at its place.
    pub fn map(&mut self, mapping: &Mapping<'_>) {
        let Some(end) = mapping.start.checked_add(mapping.length) else { return };
        if mapping.length == 0 {
            return;
        }
        let upid = mapping.pid.map(|pid| self.model.threads.process(pid));
        let is_kernel_text = upid.is_none() && mapping.path.starts_with(b"[kernel.kallsyms]");
        let is_identity = is_anonymous(mapping.path) || is_memfd(mapping.path);
        // The generated code of each process is an object of its own.
        let owner = mapping.pid.filter(|_| is_identity);
        let name;
        // The vDSO of programs of 32 bits is another image than that of 64 bits.
        let is_wide =
            self.model.host.machine.as_deref().is_some_and(|machine| machine.contains("64") || machine == "s390x");
        let path = if mapping.path == b"[vdso]" && is_wide && end <= 1 << 32 {
            &b"[vdso32]"[..]
        } else if let (Some(pid), true) = (mapping.pid, is_anonymous(mapping.path)) {
            name = match mapping.path {
                [b'[', ..] => String::from_utf8_lossy(mapping.path).into_owned(),
                _ => format!("[JIT] tid {pid}"),
            };
            name.as_bytes()
        } else {
            mapping.path
        };
        let dso = match is_kernel_text {
            true => {
                self.model.maps.set_build_id(mapping.path, mapping.build_id);
                // perf records the kernel and its modules together.
                if self.model.host.machine.as_deref() == Some("x86_64") {
                    self.model.maps.module_space = X86_64_MODULES;
                }
                self.model.maps.kernel_dso()
            }
            false => self.model.maps.dso_of(path, mapping.build_id, owner, mapping.kind),
        };
        self.model.maps.saw_file(dso, mapping.build_id, mapping.inode);
        let known = &mut self.model.maps.dsos[dso as usize];
        match mapping.path.strip_prefix(b"[kernel.kallsyms]") {
            // The offset is the address of the symbol in the path.
            Some(b"_text") if is_kernel_text => known.load.saw("_text", mapping.page_offset),
            Some(b"_stext") if is_kernel_text => known.load.saw("_stext", mapping.page_offset),
            _ if upid.is_none() && known.kind == "module" => known.load.saw(".text", mapping.start),
            _ => {}
        }
        if is_identity {
            self.model.maps.dsos[dso as usize].kind = "anon";
        }
        if let (Some(upid), true) = (upid, mapping.path == b"[vdso]" || is_loader(mapping.path)) {
            self.set_process_compat(upid, mapping.start < 1 << 32);
        }
        let code = match mapping.is_function {
            true => self.model.maps.codes.function(mapping.start, mapping.path),
            false => NO_CODE,
        };
        let region = Region { end, page_offset: mapping.page_offset, dso, is_identity, is_data: mapping.is_data, code };
        self.model.maps.insert(upid, mapping.start, region);
    }

    /// Removes a function of the kernel: its program was unloaded.
    pub fn unmap_kernel(&mut self, start: u64, length: u64) {
        self.model.maps.next_generation += 1;
        self.model.maps.kernel.generation = self.model.maps.next_generation;
        self.model.maps.kernel.regions.carve(start, start.saturating_add(length));
    }

    /// Notes the build id of an object from a build-id table.
    pub fn build_id(&mut self, path: &[u8], build_id: &[u8]) {
        self.model.maps.set_build_id(path, Some(build_id));
    }
}
