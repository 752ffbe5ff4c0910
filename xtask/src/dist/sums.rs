//! SHA256SUMS, in the format of `sha256sum --check`.

use sha2::{Digest, Sha256};

use super::output::ReleaseFile;

pub const FILE: &str = "SHA256SUMS";

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn list(files: Vec<ReleaseFile>) -> String {
    files.iter().map(|file| format!("{}  {}\n", file.sha256, file.name)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Stdio};

    use super::super::output::ReleaseFile;
    use super::{FILE, list, sha256};

    #[test]
    fn sha256sum_accepts_the_list_and_refuses_a_changed_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = ReleaseFile { name: "autonoe.tar.gz".to_owned(), sha256: sha256(b"content") };
        fs::write(directory.path().join(FILE), list(vec![file])).unwrap();
        let is_accepted = |content: &str| {
            fs::write(directory.path().join("autonoe.tar.gz"), content).unwrap();
            let mut check = Command::new("sha256sum");
            check.args(["--check", "--strict", FILE]).current_dir(directory.path());
            check.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
        };
        assert!(is_accepted("content"));
        assert!(!is_accepted("contents"));
    }
}
