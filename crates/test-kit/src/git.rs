use std::path::Path;
use std::process::Command;

use crate::PATH;

/// Calls git without anybody's settings. Returns what it printed, trimmed.
#[track_caller]
pub fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always"])
        // Maintenance in the background would be a git that works in the repository.
        .args(["-c", "maintenance.auto=false"])
        .args(args)
        .current_dir(directory)
        .env_clear()
        .envs([("PATH", PATH), ("HOME", "/nonexistent"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
