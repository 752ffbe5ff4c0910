//! A file of the project that hooks run, as the user has approved it, and whether it still is that file where agents work.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use autonoe_files::{ReadLease, open_regular};

/// The kernel's clock for the times of files advances at least this often.
const CLOCK_TICK: Duration = Duration::from_millis(11);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedFile {
    /// Where agents have it, without links. No agent may write there.
    pub path: PathBuf,
    /// Where hooks look for it below the root of agents; links are not resolved.
    pub named: PathBuf,
    content: Arc<[u8]>,
}

/// What the way to a file consisted of at one moment. A program that replaces a part of it, and puts it back later, changes the times at
/// which the parts were last changed, which no program can set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity(Vec<PartIdentity>);

#[derive(Debug, PartialEq, Eq)]
struct PartIdentity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl ApprovedFile {
    /// Reads the user's own file, `users`.
    pub fn read(users: &Path, path: PathBuf, named: PathBuf) -> io::Result<Self> {
        Ok(Self { path, named, content: fs::read(users)?.into() })
    }

    /// The same file for agents that work elsewhere.
    pub fn moved(&self, to: impl Fn(&Path) -> PathBuf) -> Self {
        Self { path: to(&self.path), named: to(&self.named), content: Arc::clone(&self.content) }
    }

    /// What leads to the file now, below `root`, or why it is not the file that the user has approved.
    pub(crate) fn identify(&self, at: &Path, root: &Path) -> Result<FileIdentity, String> {
        self.compare(at, root, |_| Ok(())).map(|(identity, ())| identity)
    }

    /// The same, and nobody can write the file as long as the lease holds.
    pub(crate) fn lease(&self, at: &Path, root: &Path) -> Result<(FileIdentity, ReadLease), String> {
        let take = |file: &File| {
            let own = file.try_clone().map_err(|error| format!("it cannot be read: {error}"))?;
            ReadLease::take(own).map_err(|error| error.to_string())
        };
        self.compare(at, root, take)
    }

    fn is_at(&self, at: &Path) -> io::Result<bool> {
        let [there, own] = [at.metadata()?, self.path.metadata()?];
        Ok((there.dev(), there.ino()) == (own.dev(), own.ino()))
    }

    /// `before_reading` gets the opened file.
    fn compare<T>(
        &self,
        at: &Path,
        root: &Path,
        before_reading: impl FnOnce(&File) -> Result<T, String>,
    ) -> Result<(FileIdentity, T), String> {
        let identity = || -> io::Result<FileIdentity> {
            // Agents can change nothing outside of it.
            let below = at.ancestors().take_while(|part| part.starts_with(root) && *part != root);
            let parts = below.map(|part| part.symlink_metadata().map(PartIdentity::from));
            let mut parts = parts.collect::<io::Result<Vec<_>>>()?;
            parts.push(at.metadata()?.into());
            Ok(FileIdentity(parts))
        };
        let missing = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "it is not there".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        let mut before = identity().map_err(missing)?;
        if before.is_fresh() {
            thread::sleep(CLOCK_TICK);
            before = identity().map_err(missing)?;
        }
        if before.is_fresh() {
            return Err("it is being changed".to_owned());
        }
        // A copy elsewhere could be changed when it has been compared.
        if !self.is_at(at).map_err(missing)? {
            return Err("another file is in its place".to_owned());
        }
        let file = open_regular(at).map_err(|error| format!("it cannot be read: {error}"))?;
        let file = file.ok_or("it is not there")?;
        let lease = before_reading(&file)?;
        let mut content = Vec::with_capacity(self.content.len());
        let limit = self.content.len() as u64 + 1;
        file.take(limit).read_to_end(&mut content).map_err(missing)?;
        if content != *self.content {
            return Err("it has another content".to_owned());
        }
        if identity().map_err(missing)? != before {
            return Err("it is being changed".to_owned());
        }
        Ok((before, lease))
    }
}

impl FileIdentity {
    /// Whether a part was changed so recently that a change now would have the same time.
    fn is_fresh(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let oldest = now.saturating_sub(CLOCK_TICK);
        let oldest = (oldest.as_secs() as i64, i64::from(oldest.subsec_nanos()));
        self.0.iter().any(|part| part.changed >= oldest)
    }
}

impl From<Metadata> for PartIdentity {
    fn from(metadata: Metadata) -> Self {
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Self { device: metadata.dev(), inode: metadata.ino(), changed }
    }
}
