//! Counts memory that several processes may share. The kernel's limit for the memory of a process does not.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Every how many checks the files in memory are counted that no process has mapped.
const CHECKS_PER_FILE_COUNT: u32 = 10;

/// The size of a block in which the kernel counts the size of files, in bytes.
const BLOCK: u64 = 512;

#[derive(Debug, Default)]
pub(crate) struct SharedMemoryMonitor {
    checks: u32,
}

impl SharedMemoryMonitor {
    /// Whether one of the processes uses more than `limit` bytes of shared memory, or all of them have larger files in memory.
    pub(crate) fn exceeds(&mut self, limit: u64, processes: &[i32]) -> bool {
        self.checks = self.checks.wrapping_add(1);
        processes.iter().any(|process| mapped(*process).is_some_and(|bytes| bytes > limit))
            || (self.checks.is_multiple_of(CHECKS_PER_FILE_COUNT) && in_files(processes) > limit)
    }
}

/// The shared memory in use that a process has mapped, in bytes.
fn mapped(process: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The size of all files that are nowhere but in memory, in bytes.
fn in_files(processes: &[i32]) -> u64 {
    let mut counted = HashSet::new();
    let descriptors = processes
        .iter()
        .flat_map(|process| fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten());
    let in_memory = descriptors
        .map(|descriptor| descriptor.path())
        .filter(|path| fs::read_link(path).is_ok_and(|target| is_memfd(&target)));
    let files = in_memory.filter_map(|path| fs::metadata(path).ok());
    files.filter(|file| counted.insert((file.dev(), file.ino()))).map(|file| file.blocks() * BLOCK).sum()
}

/// Such as `/memfd:name (deleted)`.
fn is_memfd(target: &std::path::Path) -> bool {
    target.as_os_str().as_encoded_bytes().starts_with(b"/memfd:")
}
