//! The user's login, borrowed for a session: copied into the agent's own settings, and given back if it was renewed.
//!
//! Tokens are renewed by anyone who uses them, and the old ones are worth nothing then. So a renewed login that stayed in the
//! copy would log the user out.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use autonoe_files::{SETTINGS_LIMIT, read_bytes};
use serde_json::Value;

/// The files in which a vendor keeps the user's login.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// The directory of the user's where they are, if there is one.
    pub directory: Option<PathBuf>,
    /// Their names.
    pub files: &'static [&'static str],
}

/// Files that were borrowed.
#[derive(Debug)]
pub(crate) struct Borrowed(Vec<File>);

#[derive(Debug)]
struct File {
    original: PathBuf,
    copy: PathBuf,
    before: Vec<u8>,
}

impl Login {
    /// Copies the files that are there into `home`, which is made if need be; a copy whose original is gone goes too.
    pub(crate) fn borrow(&self, home: &Path) -> io::Result<Borrowed> {
        make(home)?;
        let mut borrowed = Vec::new();
        for name in self.files {
            let copy = home.join(name);
            let found = self.directory.as_ref().map(|directory| directory.join(name));
            let found = found.and_then(|original| Some((read(&original)?, original)));
            match found {
                Some((before, original)) => {
                    write(&copy, &before)?;
                    borrowed.push(File { original, copy, before });
                }
                None => match fs::remove_file(&copy) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                },
            }
        }
        Ok(Borrowed(borrowed))
    }
}

impl Borrowed {
    /// Gives back what was renewed, unless the user's own was renewed as well. Says what could not be given back.
    pub(crate) fn give_back(self) -> Result<(), String> {
        for File { original, copy, before } in self.0 {
            let Some(now) = read(&copy) else { continue };
            let untouched = read(&original).is_some_and(|original| original == before);
            if now != before && untouched && is_renewal(&before, &now) {
                write(&original, &now).map_err(|error| {
                    format!("The renewed login in {} cannot be kept: {error}.", original.display())
                })?;
            }
        }
        Ok(())
    }
}

/// The content of a login. The copy is the agent's to write, so it may be anything.
fn read(path: &Path) -> Option<Vec<u8>> {
    read_bytes(path, SETTINGS_LIMIT).ok().flatten()
}

/// A renewed login has other values in the same places; anything else was written by somebody else.
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

/// Makes a directory that only the user may look into, if it is not there.
pub(super) fn make(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Writes a file that only the user may read, in one step.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
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

    use super::Login;

    fn login(directory: &std::path::Path) -> Login {
        Login { directory: Some(directory.to_owned()), files: &["auth.json"] }
    }

    #[test]
    fn a_renewed_login_is_given_back_and_a_strange_one_is_not() {
        let place = tempfile::tempdir().expect("directory");
        let (user, home) = (place.path().join("user"), place.path().join("home"));
        fs::create_dir_all(&user).expect("directory");
        fs::write(user.join("auth.json"), r#"{"token":1}"#).expect("written");
        let read = || fs::read_to_string(user.join("auth.json")).expect("read");

        let borrowed = login(&user).borrow(&home).expect("borrowed");
        fs::write(home.join("auth.json"), r#"{"token":2}"#).expect("written");
        borrowed.give_back().expect("given back");
        assert_eq!(read(), r#"{"token":2}"#);

        for strange in ["rubbish", "{}", r#"{"token":"a"}"#, r#"{"token":1,"host":"elsewhere"}"#] {
            let borrowed = login(&user).borrow(&home).expect("borrowed");
            fs::write(home.join("auth.json"), strange).expect("written");
            borrowed.give_back().expect("nothing to give back");
            assert_eq!(read(), r#"{"token":2}"#, "{strange}");
        }

        let borrowed = login(&user).borrow(&home).expect("borrowed");
        fs::write(home.join("auth.json"), r#"{"token":3}"#).expect("written");
        fs::write(user.join("auth.json"), r#"{"token":4}"#).expect("renewed by the user");
        borrowed.give_back().expect("left alone");
        assert_eq!(read(), r#"{"token":4}"#);
    }

    #[test]
    fn a_copy_that_became_a_pipe_is_not_waited_for() {
        let place = tempfile::tempdir().expect("directory");
        let (user, home) = (place.path().join("user"), place.path().join("home"));
        fs::create_dir_all(&user).expect("directory");
        fs::write(user.join("auth.json"), "{}").expect("written");
        let borrowed = login(&user).borrow(&home).expect("borrowed");
        fs::remove_file(home.join("auth.json")).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(home.join("auth.json")).status().expect("mkfifo");
        assert!(made.success());
        borrowed.give_back().expect("left alone");
        assert_eq!(fs::read_to_string(user.join("auth.json")).expect("read"), "{}");
    }

    #[test]
    fn a_user_who_logged_out_is_logged_out_here_too() {
        let place = tempfile::tempdir().expect("directory");
        let (user, home) = (place.path().join("user"), place.path().join("home"));
        fs::create_dir_all(&user).expect("directory");
        fs::write(user.join("auth.json"), "{}").expect("written");
        login(&user).borrow(&home).expect("borrowed").give_back().expect("given back");
        fs::remove_file(user.join("auth.json")).expect("removed");
        login(&user).borrow(&home).expect("borrowed");
        assert!(!home.join("auth.json").exists());
    }
}
