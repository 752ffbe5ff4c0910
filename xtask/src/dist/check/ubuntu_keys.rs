//! The keys with which Ubuntu signs its packages, for machines that have none: from Ubuntu's own package, whose bytes are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::trial::run;
use crate::result::Result;

/// Where Debian's and Ubuntu's package ubuntu-keyring has them.
const INSTALLED: &str = "usr/share/keyrings/ubuntu-archive-keyring.gpg";

const PACKAGE: &str = "pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb";
const SHA256: &str = "0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f";

/// The file with the keys, made below `directory` if this machine has none.
pub fn file(mirror: &str, directory: &Path) -> Result<PathBuf> {
    let installed = Path::new("/").join(INSTALLED);
    let unpacked = directory.join("ubuntu-keyring");
    let own = unpacked.join(INSTALLED);
    if installed.exists() {
        return Ok(installed);
    }
    if !own.exists() {
        fs::create_dir_all(directory)?;
        let package = directory.join("ubuntu-keyring.deb");
        run(Command::new("curl")
            .args(["-fsS", "--output"])
            .arg(&package)
            .arg(format!("{mirror}/{PACKAGE}")))?;
        let found: String =
            Sha256::digest(fs::read(&package)?).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != SHA256 {
            return Err(format!("{PACKAGE} has the checksum {found}, expected {SHA256}.").into());
        }
        run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unpacked))?;
    }
    Ok(own)
}
