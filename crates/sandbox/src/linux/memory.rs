//! Counts the processes that the kernel has killed because memory ran out.

use std::fs;

/// The number of out-of-memory kills in our control group plus those on the whole machine.
pub(crate) fn oom_kills() -> u64 {
    of_our_group().unwrap_or_default() + count(&read("/proc/vmstat")).unwrap_or_default()
}

/// The count of our control group, in cgroup version 1 or 2.
fn of_our_group() -> Option<u64> {
    let groups = read("/proc/self/cgroup");
    let file = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        match (fields.next()?, fields.next()?.trim_end_matches('/')) {
            ("memory", path) => Some(format!("/sys/fs/cgroup/memory{path}/memory.oom_control")),
            ("", path) => Some(format!("/sys/fs/cgroup{path}/memory.events"))
                .filter(|file| fs::exists(file).unwrap_or_default()),
            _ => None,
        }
    })?;
    count(&read(&file))
}

/// The line `oom_kill 3`.
fn count(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Reads a kernel file, which is short and never blocks.
fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_count_is_found_among_others() {
        assert_eq!(super::count("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), Some(3));
        assert_eq!(super::count("low 0\nhigh 0\nmax 12\noom 5\noom_kill 4\noom_group_kill 0\n"), Some(4));
        assert_eq!(super::count(""), None);
    }
}
