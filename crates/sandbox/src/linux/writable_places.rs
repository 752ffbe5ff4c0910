//! Decides whether a file is in one of the places that a room may write.
//!
//! Paths change while one looks at them. So a file counts only if it can be opened again from a place, following no link, and the
//! caller then works on that second descriptor.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use autonoe_files::open_within;
use rustix::fs::{Mode, OFlags, fstat, open};

use super::landlock;
use crate::bounds::Bounds;

/// How often a file is looked for: its directories may be renamed just then.
const ATTEMPTS: usize = 3;

pub(crate) struct WritablePlaces {
    places: Vec<WritablePlace>,
    /// Real paths in them that stay as they are.
    excluded: Vec<PathBuf>,
}

struct WritablePlace {
    path: PathBuf,
    opened: OwnedFd,
}

impl WritablePlaces {
    /// The places that Landlock allows to write, without the protected and hidden paths in them.
    pub(crate) fn open(bounds: &Bounds) -> Self {
        let places = landlock::writable(bounds).filter_map(WritablePlace::open).collect();
        let excluded = bounds.protected.iter().chain(&bounds.hidden).map(|path| real_path(path)).collect();
        Self { places, excluded }
    }

    /// A second descriptor for this file if it is in a writable place.
    pub(crate) fn reopen(&self, file: &OwnedFd) -> Option<OwnedFd> {
        (0..ATTEMPTS).find_map(|_| {
            let path = fs::read_link(descriptor_path(file)).ok()?;
            let reopened = self.place_of(&path)?.open_below(&path)?;
            same_file(file, &reopened).then_some(reopened)
        })
    }

    /// The innermost place around a path, unless the path is excluded in it.
    fn place_of(&self, path: &Path) -> Option<&WritablePlace> {
        let around = self.places.iter().filter(|place| path.starts_with(&place.path));
        let place = around.max_by_key(|place| place.path.as_os_str().len())?;
        let mut excluded = self.excluded.iter().filter(|excluded| excluded.starts_with(&place.path));
        (!excluded.any(|excluded| path.starts_with(excluded))).then_some(place)
    }
}

impl WritablePlace {
    /// `None` if it does not exist.
    fn open(path: &Path) -> Option<Self> {
        let opened = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Self { path: fs::read_link(descriptor_path(&opened)).ok()?, opened })
    }

    fn open_below(&self, path: &Path) -> Option<OwnedFd> {
        let below = path.strip_prefix(&self.path).ok()?;
        if below.as_os_str().is_empty() {
            return self.opened.try_clone().ok();
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A link as the last name is opened itself, as it is what the first descriptor has open.
        open_within(&self.opened, below, flags).ok()
    }
}

/// A path through which the kernel reaches the file of a descriptor, whatever its name is by now.
pub(crate) fn descriptor_path(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn same_file(one: &OwnedFd, other: &OwnedFd) -> bool {
    let identity = |file: &OwnedFd| fstat(file).map(|stat| (stat.st_dev, stat.st_ino));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// The path without links, of which the last parts may be missing.
fn real_path(path: &Path) -> PathBuf {
    let mut missing: Vec<OsString> = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            return real.iter().map(OsString::from).chain(missing.into_iter().rev()).collect();
        }
        missing.extend(ancestor.file_name().map(OsString::from));
    }
    path.to_owned()
}
