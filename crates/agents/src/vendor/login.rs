//! The user's login, copied into the agent's own settings for a session and copied back if it was renewed.
//!
//! Any client may renew its tokens, which invalidates the old ones. A renewed login that stayed in the copy
//! would log the user out.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use autonoe_files::{SETTINGS_LIMIT, UntrustedDir, Visibility, read_bytes};
use serde_json::Value;

/// The files in which a vendor keeps the user's login.
#[derive(Debug, Clone, Default)]
pub struct VendorLogin {
    /// The user's directory that contains them; `None` if there is no login to copy.
    pub directory: Option<PathBuf>,
    /// File names in that directory.
    pub files: &'static [&'static str],
}

#[derive(Debug)]
pub(crate) struct BorrowedLogin {
    /// The agent's own directory, where the copies are. The agent can put anything in their place.
    copies: UntrustedDir,
    files: Vec<BorrowedFile>,
}

#[derive(Debug)]
struct BorrowedFile {
    original: PathBuf,
    name: &'static str,
    before: Vec<u8>,
}

impl VendorLogin {
    /// Copies the existing files into `copies`; a copy without an original is removed.
    pub(crate) fn borrow(&self, copies: UntrustedDir) -> io::Result<BorrowedLogin> {
        let mut files = Vec::new();
        for name in self.files {
            let found = self.directory.as_ref().map(|directory| directory.join(name));
            let found = found.and_then(|original| Some((read(&original)?, original)));
            match found {
                Some((before, original)) => {
                    copies.replace(OsStr::new(name), &before, Visibility::OwnerOnly)?;
                    files.push(BorrowedFile { original, name, before });
                }
                None => copies.remove(OsStr::new(name))?,
            }
        }
        Ok(BorrowedLogin { copies, files })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("The renewed login could not be saved to {}: {error}.", path.display())]
pub(crate) struct LoginNotSaved {
    path: PathBuf,
    error: io::Error,
}

impl BorrowedLogin {
    /// Copies renewed files back, unless the user's own have changed meanwhile.
    pub(crate) fn give_back(self) -> Result<(), LoginNotSaved> {
        for BorrowedFile { original, name, before } in self.files {
            let Ok(Some(now)) = self.copies.read(OsStr::new(name), SETTINGS_LIMIT) else { continue };
            let untouched = read(&original).is_some_and(|original| original == before);
            if now != before && untouched && is_renewal(&before, &now) {
                write(&original, &now).map_err(|error| LoginNotSaved { path: original, error })?;
            }
        }
        Ok(())
    }
}

/// Reads a login file of the user.
fn read(path: &Path) -> Option<Vec<u8>> {
    read_bytes(path, SETTINGS_LIMIT).ok().flatten()
}

/// A renewed login has the same keys and types with other values. Anything else is not copied back.
fn is_renewal(before: &[u8], now: &[u8]) -> bool {
    let read = |content| serde_json::from_slice::<Value>(content).ok().filter(Value::is_object);
    matches!((read(before), read(now)), (Some(before), Some(now)) if has_shape_of(&before, &now))
}

fn has_shape_of(before: &Value, now: &Value) -> bool {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            before.len() == now.len()
                && before
                    .iter()
                    .all(|(key, before)| now.get(key).is_some_and(|now| has_shape_of(before, now)))
        }
        (before, now) => std::mem::discriminant(before) == std::mem::discriminant(now),
    }
}

/// Atomically writes a file of the user that only they can read.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("autonoe-new");
    let _ = fs::remove_file(&beside);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use autonoe_files::UntrustedDir;

    use super::VendorLogin;

    /// The agent's own directory.
    fn copies(home: &Path) -> UntrustedDir {
        fs::create_dir_all(home).expect("directory");
        UntrustedDir::open(home).expect("opened")
    }

    fn login(directory: &Path) -> VendorLogin {
        VendorLogin { directory: Some(directory.to_owned()), files: &["auth.json"] }
    }

    #[test]
    fn a_renewed_login_is_copied_back_and_a_foreign_one_is_not() {
        let directory = tempfile::tempdir().expect("directory");
        let (user, home) = (directory.path().join("user"), directory.path().join("home"));
        fs::create_dir_all(&user).expect("directory");
        fs::write(user.join("auth.json"), r#"{"token":1}"#).expect("written");
        let read = || fs::read_to_string(user.join("auth.json")).expect("read");

        let borrowed = login(&user).borrow(copies(&home)).expect("borrowed");
        fs::write(home.join("auth.json"), r#"{"token":2}"#).expect("written");
        borrowed.give_back().expect("given back");
        assert_eq!(read(), r#"{"token":2}"#);

        for foreign in ["rubbish", "{}", r#"{"token":"a"}"#, r#"{"token":1,"host":"elsewhere"}"#] {
            let borrowed = login(&user).borrow(copies(&home)).expect("borrowed");
            fs::write(home.join("auth.json"), foreign).expect("written");
            borrowed.give_back().expect("nothing to give back");
            assert_eq!(read(), r#"{"token":2}"#, "{foreign}");
        }

        let borrowed = login(&user).borrow(copies(&home)).expect("borrowed");
        fs::write(home.join("auth.json"), r#"{"token":3}"#).expect("written");
        fs::write(user.join("auth.json"), r#"{"token":4}"#).expect("renewed by the user");
        borrowed.give_back().expect("left alone");
        assert_eq!(read(), r#"{"token":4}"#);
    }

    #[test]
    fn a_copy_replaced_by_a_pipe_does_not_block() {
        let directory = tempfile::tempdir().expect("directory");
        let (user, home) = (directory.path().join("user"), directory.path().join("home"));
        fs::create_dir_all(&user).expect("directory");
        fs::write(user.join("auth.json"), "{}").expect("written");
        let borrowed = login(&user).borrow(copies(&home)).expect("borrowed");
        fs::remove_file(home.join("auth.json")).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(home.join("auth.json")).status().expect("mkfifo");
        assert!(made.success());
        borrowed.give_back().expect("left alone");
        assert_eq!(fs::read_to_string(user.join("auth.json")).expect("read"), "{}");
    }

    #[test]
    fn a_link_that_the_agent_left_leads_to_nothing_of_the_user() {
        let directory = tempfile::tempdir().expect("directory");
        let (user, home) = (directory.path().join("user"), directory.path().join("home"));
        fs::create_dir_all(&user).expect("directory");
        fs::create_dir_all(&home).expect("directory");
        fs::write(user.join("auth.json"), r#"{"token":1}"#).expect("written");
        fs::write(user.join("other.json"), r#"{"token":2}"#).expect("written");
        let link_to_other = || {
            fs::remove_file(home.join("auth.json")).unwrap_or_default();
            std::os::unix::fs::symlink(user.join("other.json"), home.join("auth.json")).expect("linked");
        };
        link_to_other();
        let borrowed = login(&user).borrow(copies(&home)).expect("borrowed");
        assert_eq!(fs::read_to_string(user.join("other.json")).expect("read"), r#"{"token":2}"#);
        link_to_other();
        borrowed.give_back().expect("left alone");
        assert_eq!(fs::read_to_string(user.join("auth.json")).expect("read"), r#"{"token":1}"#);
    }

    #[test]
    fn the_copy_is_removed_when_the_user_logs_out() {
        let directory = tempfile::tempdir().expect("directory");
        let (user, home) = (directory.path().join("user"), directory.path().join("home"));
        fs::create_dir_all(&user).expect("directory");
        fs::write(user.join("auth.json"), "{}").expect("written");
        login(&user).borrow(copies(&home)).expect("borrowed").give_back().expect("given back");
        fs::remove_file(user.join("auth.json")).expect("removed");
        login(&user).borrow(copies(&home)).expect("borrowed");
        assert!(!home.join("auth.json").exists());
    }
}
