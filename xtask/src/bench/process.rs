//! The descendants of a process and their memory, read from `/proc`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// The peak resident memory of a process or any of its descendants, in megabytes.
pub fn largest_peak_mb(root: u32) -> f64 {
    let below = children(root).into_iter().map(largest_peak_mb);
    below.chain(peak_mb(root)).fold(0.0, f64::max)
}

/// The proportional set size of all processes that run `program`, at or below `root`, in megabytes.
pub fn share_mb(root: u32, program: &fs::Metadata) -> f64 {
    let memory = fs::read_to_string(format!("/proc/{root}/smaps_rollup")).unwrap_or_default();
    let below = children(root).into_iter().filter(|child| !shares_memory(*child, &memory));
    let below: f64 = below.map(|child| share_mb(child, program)).sum();
    let runs_program = fs::metadata(format!("/proc/{root}/exe"))
        .is_ok_and(|running| (running.dev(), running.ino()) == (program.dev(), program.ino()));
    let own = if runs_program { kibibytes_in_mb(&memory, "Pss:") } else { None };
    below + own.unwrap_or_default()
}

/// Whether a process shares this memory, as it does between fork and exec: then it has none of its own.
fn shares_memory(process: u32, memory: &str) -> bool {
    let range = |memory: &str| memory.split_whitespace().next().map(str::to_owned);
    let own = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    range(&own).is_some_and(|own| Some(own) == range(memory))
}

/// The children of a process, including adopted ones, that have not been waited for.
pub fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The processor time that a process has used, without its children; `None` if it has ended.
pub fn processor_time(process: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Fields 14 and 15, in hundredths of a second. The second field may have spaces.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11..13)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(ticks * 10))
}

/// The peak resident memory of a process in megabytes; `None` if it has ended.
pub fn peak_mb(process: u32) -> Option<f64> {
    status_mb(process, "VmHWM:")
}

/// In megabytes; `None` if the process has ended.
pub fn resident_mb(process: u32) -> Option<f64> {
    status_mb(process, "VmRSS:")
}

fn status_mb(process: u32, key: &str) -> Option<f64> {
    kibibytes_in_mb(&fs::read_to_string(format!("/proc/{process}/status")).ok()?, key)
}

fn kibibytes_in_mb(text: &str, key: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Stdio};

    use super::{share_mb, shares_memory};

    #[test]
    fn a_process_with_its_own_program_has_its_own_memory() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let memory = |process: u32| fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
        // It may not have its own memory yet.
        for _ in 0..500 {
            if shares_memory(child.id(), &memory(child.id())) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(shares_memory(child.id(), &memory(child.id())));
        assert!(!shares_memory(child.id(), &memory(std::process::id())));
        let program = fs::metadata(format!("/proc/{}/exe", child.id())).unwrap();
        let share = share_mb(std::process::id(), &program);
        assert!(share > 0.0 && share < 100.0, "{share} MB");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
