//! Describes the machine in one line.

use std::fs;
use std::process::Command;

use jiff::Timestamp;

pub fn describe() -> String {
    let processor = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, model)| model.to_owned()))
        .unwrap_or_else(|| "unknown processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg").split(' ').take(1).collect::<String>();
    let date = Timestamp::now().strftime("%Y-%m-%d");
    format!(
        "Machine: {processor}, {cores} cores, Linux {}, temporary files on {}; load {load} before the run; {date}.",
        kernel.trim_end(),
        file_system()
    )
}

/// The type of the file system of temporary files: some timings include syncing to it.
fn file_system() -> String {
    let output = Command::new("df").arg("--output=fstype").arg(std::env::temp_dir()).output();
    let table = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    table.lines().nth(1).unwrap_or("an unknown file system").to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
