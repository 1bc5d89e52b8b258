//! Which file holds the code of a mapped object.

use std::sync::Arc;

use perfcase_archive::Content;

/// A file that holds symbols, unwind tables or both of one mapped object.
pub struct Object {
    /// Its bytes.
    pub bytes: Content,
    /// Where it was found: the capture's member, or the user's directory.
    pub origin: String,
}

/// Why there is no file for an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Missing {
    /// Neither the capture nor a directory of the user has it.
    NotInCapture,
    /// There is a file of that path, but it is another build.
    BuildIdMismatch,
}

/// All object files of one capture.
#[derive(Default)]
pub struct Objects {}

impl Objects {
    /// The file of a mapped object.
    ///
    /// # Errors
    /// [`Missing`] says why there is none.
    pub fn find(&self, _path: &[u8], _build_id: Option<&[u8]>) -> Result<Arc<Object>, Missing> {
        Err(Missing::NotInCapture)
    }
}
