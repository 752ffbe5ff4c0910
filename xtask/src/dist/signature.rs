//! Signatures by an SSH key: `ssh-keygen` signs and verifies, and is on nearly every machine already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::result::Result;

/// What a signature is for; one made for anything else does not count. The installer names it too.
pub const NAMESPACE: &str = "autonoe-release";

/// Who signs; the installer names it too.
pub const SIGNER: &str = "releases@autonoe";

/// Writes `FILE.sig` beside the file.
pub fn sign(key: &Path, file: &Path) -> Result {
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).arg(file).stdin(Stdio::null());
    let output = keygen.output().map_err(|error| format!("ssh-keygen cannot be started: {error}."))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} cannot be signed: {}", file.display(), stderr.trim_end()).into());
    }
    println!("signed by {}: {}.sig", key.display(), file.display());
    Ok(())
}

/// The line by which ssh-keygen knows the signer, from the public key beside the private one.
pub fn allowed_signer(key: &Path) -> Result<String> {
    let mut public = key.as_os_str().to_owned();
    public.push(".pub");
    let public = PathBuf::from(public);
    let line = fs::read_to_string(&public)
        .map_err(|error| format!("The public key {} cannot be read: {error}.", public.display()))?;
    let mut words = line.split_whitespace();
    match (words.next(), words.next()) {
        (Some(kind), Some(key)) => Ok(format!("{SIGNER} namespaces=\"{NAMESPACE}\" {kind} {key}")),
        _ => Err(format!("{} is not a public key.", public.display()).into()),
    }
}

/// A key that is thrown away after the test.
#[cfg(test)]
pub fn throwaway_key(directory: &Path, name: &str) -> PathBuf {
    let key = directory.join(name);
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "throwaway", "-f"]).arg(&key);
    assert!(keygen.status().unwrap().success());
    key
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::{NAMESPACE, SIGNER, allowed_signer, sign, throwaway_key};

    fn is_signed(directory: &Path, file: &Path) -> bool {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-Y", "verify", "-n", NAMESPACE, "-I", SIGNER, "-f"]).arg(directory.join("allowed"));
        keygen.arg("-s").arg(format!("{}.sig", file.display())).stdin(File::open(file).unwrap());
        keygen.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    }

    #[test]
    fn a_signature_holds_for_its_file_and_its_key() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let (key, other) = (throwaway_key(directory, "key"), throwaway_key(directory, "other"));
        let file = directory.join("SHA256SUMS");
        fs::write(&file, "sums").unwrap();
        sign(&key, &file).unwrap();
        fs::write(directory.join("allowed"), allowed_signer(&key).unwrap()).unwrap();
        assert!(is_signed(directory, &file));
        fs::write(directory.join("allowed"), allowed_signer(&other).unwrap()).unwrap();
        assert!(!is_signed(directory, &file), "another key");
        fs::write(directory.join("allowed"), allowed_signer(&key).unwrap()).unwrap();
        fs::write(&file, "other sums").unwrap();
        assert!(!is_signed(directory, &file), "another content");
    }

    #[test]
    fn what_is_not_a_key_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key");
        fs::write(&key, "not a key").unwrap();
        fs::write(directory.path().join("key.pub"), "nonsense").unwrap();
        let file = directory.path().join("SHA256SUMS");
        fs::write(&file, "sums").unwrap();
        assert!(sign(&key, &file).unwrap_err().to_string().contains("cannot be signed"));
        assert!(allowed_signer(&key).unwrap_err().to_string().contains("is not a public key"));
    }
}
