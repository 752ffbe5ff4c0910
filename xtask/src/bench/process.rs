//! The processes below one, and the memory they take, as the kernel tells it.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// The largest resident memory that a process or any below it had so far, in megabytes.
pub fn largest_peak_mb(root: u32) -> f64 {
    let below = children(root).into_iter().map(largest_peak_mb);
    below.chain(peak_mb(root)).fold(0.0, f64::max)
}

/// The memory of all processes at or below one that run `program`, in megabytes, what they share with others counted in part.
pub fn share_mb(root: u32, program: &fs::Metadata) -> f64 {
    let below: f64 = children(root).into_iter().map(|process| share_mb(process, program)).sum();
    let is_it = fs::metadata(format!("/proc/{root}/exe"))
        .is_ok_and(|running| (running.dev(), running.ino()) == (program.dev(), program.ino()));
    let own = if is_it { value_mb(&format!("/proc/{root}/smaps_rollup"), "Pss:") } else { None };
    below + own.unwrap_or_default()
}

/// The processes that a process has started, or taken over, and that have not been waited for.
pub fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The largest resident memory that a process had so far, in megabytes; none when it has ended.
pub fn peak_mb(process: u32) -> Option<f64> {
    status_mb(process, "VmHWM:")
}

/// The resident memory of a process, in megabytes; none when it has ended.
pub fn resident_mb(process: u32) -> Option<f64> {
    status_mb(process, "VmRSS:")
}

fn status_mb(process: u32, key: &str) -> Option<f64> {
    value_mb(&format!("/proc/{process}/status"), key)
}

fn value_mb(file: &str, key: &str) -> Option<f64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}
