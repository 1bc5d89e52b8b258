//! Programs that tests build with the system's compiler.

use std::path::Path;
use std::process::Command;

/// Runs a tool in a folder. A test that cannot build its input fails.
pub fn run(folder: &Path, line: &str) -> String {
    let output = Command::new("sh").arg("-ec").arg(line).current_dir(folder).output().expect("sh");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Writes a source file.
pub fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("written");
}
