//! Kernel modules: relocatable files, whose sections the kernel lays out when it loads them (`layout_sections` of
//! kernel/module/main.c). A recording has only one address of a module: that of its first section of code.

use object::elf;
use object::{Object as _, ObjectKind, ObjectSection as _, SectionIndex};

/// The section at the address of a module.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    pub index: SectionIndex,
    pub size: u64,
}

/// Tells whether the file is laid out when it is loaded.
pub(crate) fn is(file: &object::File<'_>) -> bool {
    file.kind() == ObjectKind::Relocatable
}

/// Gives `.text`, if the kernel puts it first: before every other section of code except those of the initialization,
/// which are at another place. The linkage tables of aarch64 become code only at that time.
pub(crate) fn text(file: &object::File<'_>) -> Option<Text> {
    let is_first = |section: &object::Section<'_, '_>| {
        let name = section.name().unwrap_or_default();
        let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
        let wanted = elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0;
        let is_code = sh_flags.0 & wanted == wanted || matches!(name, ".plt" | ".text.ftrace_trampoline");
        is_code && !name.starts_with(".init")
    };
    let first = file.sections().find(is_first)?;
    (first.name() == Ok(".text")).then(|| Text { index: first.index(), size: first.size() })
}
