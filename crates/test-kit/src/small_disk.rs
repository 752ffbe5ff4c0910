//! A disk that is soon full.

use std::path::PathBuf;
use std::process::Command;

/// A small file system mounted over a directory, unmounted on drop.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `size` is as `mount` has it, such as `512k`. `None`, with a notice, if mounting is not allowed.
    pub fn at(directory: PathBuf, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(&directory).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: file systems cannot be mounted here");
            return None;
        }
        Some(Self(directory))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
