//! Logins to MCP servers: one private file per server address, in the user's state directory and never in a
//! project. What is in a file is the MCP client's business.
//!
//! A login belongs to an address, not to a name: a repository that gives its own server a known name does not
//! get the tokens of another one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use autonoe_files::{ReadError, SETTINGS_LIMIT, read_text};

use crate::atomic;
use crate::hash::sha256_hex;
use crate::project::create_private;

/// Hexadecimal digits of the hash in a file name.
const HASH_DIGITS: usize = 32;

#[derive(Debug, Clone)]
pub struct LoginFiles {
    directory: PathBuf,
}

/// Held while a login is refreshed. Dropping it releases the lock.
#[derive(Debug)]
pub struct LoginLock {
    _file: File,
}

impl LoginFiles {
    pub fn new(state_home: &Path) -> Self {
        Self { directory: state_home.join("mcp-logins") }
    }

    /// Where the login for this address is, or would be.
    pub fn path(&self, url: &str) -> PathBuf {
        self.directory.join(format!("{}.json", &sha256_hex(url.as_bytes())[..HASH_DIGITS]))
    }

    /// `None` if there is no login for this address.
    pub fn read(&self, url: &str) -> Result<Option<String>, ReadError> {
        read_text(&self.path(url), SETTINGS_LIMIT)
    }

    pub fn write(&self, url: &str, content: &str) -> io::Result<()> {
        create_private(&self.directory)?;
        atomic::write_private(&self.path(url), content.as_bytes())
    }

    /// Returns whether there was a login for this address.
    pub fn remove(&self, url: &str) -> io::Result<bool> {
        match fs::remove_file(self.path(url)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// `None` while another process holds the lock. The kernel releases the lock of a process that dies.
    pub fn try_lock(&self, url: &str) -> io::Result<Option<LoginLock>> {
        create_private(&self.directory)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path(url).with_extension("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(LoginLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::LoginFiles;

    const URL: &str = "https://mcp.example.com/mcp";

    #[test]
    fn a_login_is_private_even_if_its_file_was_not() {
        let state_home = tempfile::tempdir().expect("a directory");
        let files = LoginFiles::new(state_home.path());
        assert_eq!(files.read(URL).expect("readable"), None);
        files.write(URL, "one").expect("written");
        fs::set_permissions(files.path(URL), fs::Permissions::from_mode(0o644)).expect("changed");
        files.write(URL, "two").expect("written");
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(files.path(URL)), 0o600);
        assert_eq!(mode(files.path(URL).parent().expect("a directory").to_owned()), 0o700);
        assert_eq!(files.read(URL).expect("readable").as_deref(), Some("two"));
        assert_eq!(files.read("https://mcp.example.com/").expect("readable"), None, "another address");
    }

    #[test]
    fn removing_reports_whether_there_was_a_login() {
        let state_home = tempfile::tempdir().expect("a directory");
        let files = LoginFiles::new(state_home.path());
        files.write(URL, "one").expect("written");
        assert!(files.remove(URL).expect("removed"));
        assert!(!files.remove(URL).expect("nothing to remove"));
    }

    #[test]
    fn one_login_has_one_lock() {
        let state_home = tempfile::tempdir().expect("a directory");
        let files = LoginFiles::new(state_home.path());
        let lock = files.try_lock(URL).expect("a lock").expect("free");
        assert!(files.try_lock(URL).expect("a lock").is_none());
        assert!(files.try_lock("https://other.example.com").expect("a lock").is_some());
        drop(lock);
        assert!(files.try_lock(URL).expect("a lock").is_some());
    }
}
