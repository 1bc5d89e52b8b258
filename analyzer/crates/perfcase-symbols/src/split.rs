//! Debug information outside a program's own debug file: what `dwz` shares among programs (.gnu_debugaltlink), and the
//! .dwo and .dwp files of `-gsplit-dwarf`.

use std::path::PathBuf;
use std::sync::Arc;

use addr2line::gimli;
use object::Object as _;
use perfcase_archive::Content;

use crate::debug_dir::below;
use crate::dwarf::{Dwarf, Reader};

/// The most files of split debug information of one object.
const MOST_FILES: usize = 1 << 16;

/// The places where the rest of an object's debug information may be.
#[derive(Clone, Default)]
pub struct Parts {
    /// The debug information that it shares with other programs, by the build ID that it states.
    pub shared: Option<Content>,
    /// A package with all its .dwo files. Each unit in it has the id that the program states.
    pub package: Option<Content>,
    /// Folders that may have .dwo files: below the path where the compiler put them, or directly by their names.
    pub folders: Arc<[PathBuf]>,
}

impl Parts {
    /// Tells whether no .dwo file could be found.
    pub(crate) fn has_no_split(&self) -> bool {
        self.package.is_none() && self.folders.is_empty()
    }

    /// Finds the .dwo files that a program's debug information names, with the ids that it states for them.
    pub(crate) fn files(&self, dwarf: &Dwarf<'_>) -> Vec<(u64, Content)> {
        if self.folders.is_empty() {
            return Vec::new();
        }
        let find = |name: &Name| {
            let last = name.path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
            let whole = [&name.folder[..], b"/", &name.path].concat();
            let places = [&whole[..], &name.path, &name.path[last..]];
            self.folders.iter().find_map(|folder| {
                let of_unit = |path: &&[u8]| {
                    let content = Content::map_file(&below(folder, path)?).ok()?;
                    (id_of(&content) == Some(name.id)).then_some(content)
                };
                places.iter().find_map(of_unit)
            })
        };
        dwarf.look(names).iter().filter_map(|name| Some((name.id, find(name)?))).collect()
    }
}

/// A .dwo file as the program names it.
struct Name {
    id: u64,
    folder: Vec<u8>,
    path: Vec<u8>,
}

fn names(dwarf: &gimli::Dwarf<Reader<'_>>) -> Vec<Name> {
    let mut found = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let (Some(id), Ok(Some(name))) = (unit.dwo_id, unit.dwo_name()) else { continue };
        let Ok(path) = dwarf.attr_string(&unit, name) else { continue };
        let folder = unit.comp_dir.map_or(Vec::new(), |folder| folder.slice().to_vec());
        found.push(Name { id: id.0, folder, path: path.slice().to_vec() });
        if found.len() == MOST_FILES {
            break;
        }
    }
    found
}

/// Gives the id of a .dwo file's unit.
fn id_of(content: &Content) -> Option<u64> {
    let file = object::File::parse(&content[..]).ok()?;
    Dwarf::load_split(&file)?.look(|dwarf| {
        let unit = dwarf.unit(dwarf.units().next().ok()??).ok()?;
        unit.dwo_id.map(|id| id.0)
    })
}

/// Gives the path and the build ID of the debug information that an object shares with others, as the object states
/// them.
pub(crate) fn link(content: &Content) -> Option<(Vec<u8>, Vec<u8>)> {
    let file = object::File::parse(&content[..]).ok()?;
    let (path, id) = file.gnu_debugaltlink().ok()??;
    Some((path.to_vec(), id.to_vec()))
}
