//! `fuzz-corpus list`, `fuzz-corpus unpack TARGET FOLDER`, `fuzz-corpus pack TARGET FOLDER`.

use std::path::Path;

use perfcase_fuzz::{TARGETS, corpus};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        ["unpack", target, folder] => corpus::unpack(target, Path::new(folder)),
        ["pack", target, folder] => corpus::pack(target, Path::new(folder)),
        _ => panic!("list, unpack TARGET FOLDER, or pack TARGET FOLDER"),
    }
}
