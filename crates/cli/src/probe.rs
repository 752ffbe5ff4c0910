//! Asks a vendor's program for its version: in an empty environment and a home of its own, with nothing of the user's.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::environment::Environment;

/// How long a program may take to tell its version.
const LIMIT: Duration = Duration::from_secs(15);
/// How often is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How much of what it says is read.
const MAX_BYTES: u64 = 4096;

/// A version, as three numbers.
pub type Version = [u32; 3];

/// What `program --version` says, or why that is not known.
pub fn version(program: &Path, environment: &Environment) -> Result<Version, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .arg("--version")
        .env_clear()
        .env("PATH", &environment.path)
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if start.elapsed() < LIMIT => std::thread::sleep(LOOK_EVERY),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not tell its version within {} s", LIMIT.as_secs()));
            }
        }
    }
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = stdout.take(MAX_BYTES).read_to_string(&mut said);
    }
    read(&said).ok_or_else(|| "it does not tell its version".to_owned())
}

/// The first version in a text.
fn read(text: &str) -> Option<Version> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let mut numbers = word.split('.').map(|number| number.parse().ok());
        Some([numbers.next()??, numbers.next()??, numbers.next()??])
    })
}

/// As people write it.
pub fn show([major, minor, patch]: Version) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("2.1.325 (Claude Code)\n", Some([2, 1, 325])),
            ("codex-cli 0.166.0", Some([0, 166, 0])),
            ("v0.61.0-preview.2", Some([0, 61, 0])),
            ("1.2", None),
            ("", None),
            ("command not found", None),
        ] {
            assert_eq!(read(said), version, "{said:?}");
        }
    }
}
