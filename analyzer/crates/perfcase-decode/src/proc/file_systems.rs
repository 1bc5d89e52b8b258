//! The recorder's list of file systems (schema/README.md): how full each of them is.

use std::borrow::Cow;

use super::text::{lines, number, unescape};

/// A file system.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileSystem<'a> {
    /// Where it is mounted.
    pub mount_point: Cow<'a, str>,
    /// Its type.
    pub file_system: &'a str,
    /// What is mounted.
    pub device: Cow<'a, str>,
    /// Whether it is read-only.
    pub is_read_only: bool,
    /// Its size; 0: without a limit.
    pub total_bytes: Option<i64>,
    /// What is free.
    pub free_bytes: Option<i64>,
    /// What is free for programs without privileges.
    pub available_bytes: Option<i64>,
    /// Inodes that it can have; 0: as many as fit.
    pub inode_count: Option<i64>,
    /// Inodes that are free.
    pub free_inode_count: Option<i64>,
}

/// Reads `ext4 rw BLOCK_SIZE BLOCKS FREE AVAILABLE INODES FREE_INODES DEVICE MOUNT_POINT` lines.
pub fn parse(text: &[u8]) -> Vec<FileSystem<'_>> {
    lines(text).filter_map(file_system).collect()
}

fn file_system(line: &str) -> Option<FileSystem<'_>> {
    let mut words = line.split(' ');
    let (file_system, mode) = (words.next()?, words.next()?);
    let block_bytes: u64 = number(&mut words)?;
    let mut blocks = || number::<u64>(&mut words);
    let [total, free, available] = [blocks()?, blocks()?, blocks()?];
    let [inodes, free_inodes] = [blocks()?, blocks()?];
    let (device, mount_point) = (unescape(words.next()?), unescape(words.next()?));
    let signed = |count: u64| i64::try_from(count).ok();
    let bytes = |blocks: u64| blocks.checked_mul(block_bytes).and_then(signed);
    Some(FileSystem {
        mount_point,
        file_system,
        device,
        is_read_only: mode == "ro",
        total_bytes: bytes(total),
        free_bytes: bytes(free),
        available_bytes: bytes(available),
        inode_count: signed(inodes),
        free_inode_count: signed(free_inodes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems() {
        let text = b"ext4 rw 4096 100 40 30 50 20 /dev/sda1 /mnt/a\\040b\ntmpfs ro 4096 0 0 0 7 18446744073709551615 tmpfs /x\n\
                     xfs rw 4096 1 1 1 1\next4 rw x 1 1 1 1 1 d /m\nbtrfs rw 4096 9223372036854775807 1 1 0 0 /dev/b /b";
        let found = parse(text);
        assert_eq!(
            found[0],
            FileSystem {
                mount_point: "/mnt/a b".into(),
                file_system: "ext4",
                device: "/dev/sda1".into(),
                is_read_only: false,
                total_bytes: Some(409_600),
                free_bytes: Some(163_840),
                available_bytes: Some(122_880),
                inode_count: Some(50),
                free_inode_count: Some(20),
            }
        );
        assert_eq!((found[1].is_read_only, found[1].total_bytes, found[1].free_inode_count), (true, Some(0), None));
        assert_eq!((found[2].total_bytes, found[2].free_bytes), (None, Some(4096)));
        assert_eq!(found.len(), 3);
    }
}
