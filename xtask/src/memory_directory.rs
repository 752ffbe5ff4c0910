//! Temporary files of tests in memory, where that can be had.
//!
//! The tests make and remove hundreds of thousands of small files; some file systems look through all recently removed ones for
//! each new one. The mount is private to the command and ends with it, however it ends.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::workspace::like_cargo;

/// The memory that must be available, in KiB. The tests use a twentieth of it.
const NEEDED: u64 = 2 * 1024 * 1024;

/// Mounts the directory of temporary files, then becomes the command. That is far more than the tests need: one of them copies a file for a
/// second, and the others must not find the disk full meanwhile.
const SCRIPT: &str = r#"mount -t tmpfs -o size=6g,mode=1777 autonoe-tests "$TMPDIR" && exec "$@""#;

pub struct MemoryDirectory(PathBuf);

impl MemoryDirectory {
    /// `None` without the right to mount or without the memory.
    pub fn new() -> Option<Self> {
        if available_memory()? < NEEDED {
            return None;
        }
        // Short, as the paths of sockets are limited.
        let path = std::env::temp_dir().join(format!("t{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let directory = Self(path);
        let mut probe = directory.around(&Command::new("true"));
        let status = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success()).then_some(directory)
    }

    /// The command with its temporary files in memory.
    pub fn around(&self, command: &Command) -> Command {
        let mut outer = like_cargo(Command::new("unshare"));
        outer.args(["--mount", "sh", "-c", SCRIPT, "sh"]).arg(command.get_program()).args(command.get_args());
        outer.env("TMPDIR", &self.0);
        outer
    }
}

impl Drop for MemoryDirectory {
    fn drop(&mut self) {
        // A leftover is an empty directory among the temporary files.
        let _ = fs::remove_dir(&self.0);
    }
}

fn available_memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_files_are_in_memory_and_gone_afterwards() {
        let Some(directory) = MemoryDirectory::new() else { return };
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo x > $TMPDIR/file && stat -f -c %T $TMPDIR"]);
        let output = directory.around(&shell).output().expect("started");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "tmpfs\n");
        assert!(!directory.0.join("file").exists());
    }
}
