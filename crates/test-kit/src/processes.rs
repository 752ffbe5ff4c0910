use std::fs;
use std::path::Path;

use crate::until;

/// Waits for a file with a process id in it.
#[track_caller]
pub fn pid_in(file: &Path) -> i32 {
    let mut pid = None;
    until(&format!("{} contains a process id", file.display()), || {
        pid = fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    pid.expect("just read")
}

/// Whether the process exists and is not a zombie.
pub fn is_running(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        !matches!(state, Some('Z' | 'X'))
    })
}

#[track_caller]
pub fn assert_gone(pids: &[i32]) {
    for &pid in pids {
        until(&format!("process {pid} is gone"), || !is_running(pid));
    }
}

/// The processes of the machine whose command line contains all of these. Arguments are separated by `\0`, so that
/// `sleep\0300` is a program and not the text of a script. Process ids inside a room are different ones.
pub fn processes_with(words: &[&str]) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let found = processes.filter(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        words.iter().all(|word| line.contains(word))
    });
    found.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}
