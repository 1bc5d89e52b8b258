//! The content of a capture. Opens a `.perfcase` archive, a recorder's folder or a bare recording, lists its members,
//! and gives their decompressed bytes. Nothing is decoded here.
//!
//! No input is trusted: paths are checked, sizes and compression ratios are bounded ([`Limits`]), and damage becomes an
//! [`Issue`] beside everything that can still be read.

mod budget;
mod capture;
mod check;
mod content;
mod decompress;
mod error;
mod folder;
mod issue;
mod kind;
mod limits;
mod listing;
mod manifest;
mod opening;
mod path;
mod sniff;
mod tar_walk;

pub use capture::{Capture, CaptureKind};
pub use check::{Checked, check};
pub use content::Content;
pub use error::ArchiveError;
pub use issue::{Issue, Severity};
pub use kind::{Compression, Member, MemberKind};
pub use limits::Limits;
pub use manifest::{Anchor, Clock, Host, Knob, Manifest, ManifestMember, Overhead, Recorder, Source, Target};
pub use sniff::{Sniffed, sniff};
