//! Explains why something cannot be written: the reason, the file system, and what to do.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use crate::read::read_bytes;
use crate::size::show_bytes;

/// With more free space than this a disk is not full, whatever the system reports.
const PLENTY_BYTES: u64 = 64 * 1024 * 1024;

/// Size limit for the table of mounts.
const MAX_MOUNT_TABLE: u64 = 16 * 1024 * 1024;

/// Why something cannot be written, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFailure {
    /// A clause: "the disk is full: 0 bytes of 1 MiB are free on the file system at /mnt".
    pub why: String,
    /// A sentence.
    pub advice: String,
}

/// The file system of a path, or of the directory in which it would be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    pub mounted_at: PathBuf,
    /// Bytes available to us.
    pub free: u64,
    /// Size in bytes.
    pub total: u64,
    pub is_read_only: bool,
    /// Number of files that can still be created; `None` if the file system does not count them.
    pub free_files: Option<u64>,
}

impl Disk {
    /// `None` if the system does not report it.
    pub fn of(path: &Path) -> Option<Self> {
        let target = existing(path)?.canonicalize().ok()?;
        let stats = statvfs(&target).ok()?;
        // Many file systems reserve a part for root.
        let is_root = rustix::process::geteuid().is_root();
        let (blocks_for_us, files_for_us) =
            if is_root { (stats.f_bfree, stats.f_ffree) } else { (stats.f_bavail, stats.f_favail) };
        Some(Self {
            mounted_at: mount_point(&target),
            free: blocks_for_us.saturating_mul(stats.f_frsize),
            total: stats.f_blocks.saturating_mul(stats.f_frsize),
            is_read_only: stats.f_flag.contains(StatVfsMountFlags::RDONLY),
            // Some file systems do not count inodes: both numbers are zero.
            free_files: (stats.f_files > 0).then_some(files_for_us),
        })
    }

    pub fn is_out_of_files(&self) -> bool {
        self.free_files == Some(0)
    }

    /// "956 KiB of 1 MiB are free on the file system at /mnt".
    pub fn describe(&self) -> String {
        format!(
            "{} of {} are free on the file system at {}",
            show_bytes(self.free),
            show_bytes(self.total),
            self.mounted_at.display()
        )
    }
}

impl WriteFailure {
    /// Explains an error from writing at `path`.
    pub fn of(path: &Path, error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull => Self::full(path),
            ErrorKind::QuotaExceeded => Self::new(
                format!("your disk quota is used up{}", at(path)),
                "Remove some of your files there, or have the quota raised.".to_owned(),
            ),
            ErrorKind::ReadOnlyFilesystem => Self::read_only(path),
            ErrorKind::PermissionDenied => Self::denied(path),
            ErrorKind::FileTooLarge => Self::new(
                "a limit on the size of files applies".to_owned(),
                "Raise it: `ulimit -f unlimited`.".to_owned(),
            ),
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => Self::new(
                "a part of its path is a file, not a directory".to_owned(),
                "Move that file away.".to_owned(),
            ),
            _ => Self::new(bare(error), "Check the disk that it is on.".to_owned()),
        }
    }

    pub fn full(path: &Path) -> Self {
        let disk = Disk::of(path);
        if disk.as_ref().is_some_and(|disk| disk.is_out_of_files() && disk.free > 0) {
            let why = format!("no more files can be created{}: all inodes are used", at(path));
            return Self::new(why, "Remove unneeded files there.".to_owned());
        }
        if let Some(disk) = disk.as_ref().filter(|disk| disk.free > PLENTY_BYTES) {
            let why = format!("the system reports that no space is left, although {}", disk.describe());
            return Self::new(why, "Check whether a quota or a limit applies there.".to_owned());
        }
        let what = match &disk {
            Some(disk) if disk.free > 0 => "there is not enough space",
            Some(_) | None => "the disk is full",
        };
        let space = disk.map(|disk| format!(": {}", disk.describe())).unwrap_or_default();
        Self::new(format!("{what}{space}"), "Free up space there.".to_owned())
    }

    /// A failure if `bytes` and `files` do not fit on the file system of `path`; `None` if they do, or if that is unknown.
    pub fn of_space(path: &Path, bytes: u64, files: u64) -> Option<Self> {
        let disk = Disk::of(path)?;
        if disk.free == 0 || disk.is_out_of_files() {
            return Some(Self::full(path));
        }
        if disk.free < bytes {
            let why = format!("{}, and at least {} are needed", disk.describe(), show_bytes(bytes));
            return Some(Self::new(why, "Free up space there.".to_owned()));
        }
        let left = disk.free_files.filter(|left| *left < files)?;
        let why =
            format!("only {left} more files can be created{}, and at least {files} are needed", at(path));
        Some(Self::new(why, "Remove unneeded files there.".to_owned()))
    }

    /// Why `path`, or the directory in which it would be created, is not writable; `None` if it is.
    pub fn predict(path: &Path) -> Option<Self> {
        let target = existing(path)?;
        let needed = if target.is_dir() { Access::WRITE_OK | Access::EXEC_OK } else { Access::WRITE_OK };
        let error = io::Error::from(access(&target, needed).err()?);
        Some(Self::of(path, &error))
    }

    fn read_only(path: &Path) -> Self {
        let which = Disk::of(path).map(|disk| format!(" at {}", disk.mounted_at.display()));
        let why = format!("the file system{} is read-only", which.unwrap_or_default());
        Self::new(why, "Mount it writable, or use a directory elsewhere.".to_owned())
    }

    fn denied(path: &Path) -> Self {
        let target = existing(path).unwrap_or_else(|| path.to_owned());
        let owner = fs::metadata(&target).ok().map(|metadata| metadata.uid());
        let us = rustix::process::geteuid().as_raw();
        let whose = match owner {
            Some(owner) if owner != us => {
                format!(": {} belongs to user {owner}, and you are user {us}", target.display())
            }
            Some(_) | None => String::new(),
        };
        let advice = format!("Change the permissions of {}, or run autonoe as its owner.", target.display());
        Self::new(format!("permission denied{whose}"), advice)
    }

    fn new(why: String, advice: String) -> Self {
        Self { why, advice }
    }
}

/// The system's message, without its number and without a path.
fn bare(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => {
            let text = io::Error::from_raw_os_error(number).to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
        None => error.to_string(),
    }
}

fn at(path: &Path) -> String {
    Disk::of(path)
        .map(|disk| format!(" on the file system at {}", disk.mounted_at.display()))
        .unwrap_or_default()
}

/// The path itself if it exists, otherwise the nearest existing directory above it.
fn existing(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find(|path| path.symlink_metadata().is_ok()).map(Path::to_owned)
}

/// Mount point of the file system of a real path.
fn mount_point(path: &Path) -> PathBuf {
    let table = read_bytes(Path::new("/proc/self/mountinfo"), MAX_MOUNT_TABLE).ok().flatten();
    let mounts = table.as_deref().map(mount_points).unwrap_or_default();
    let around = mounts.into_iter().filter(|mount| path.starts_with(mount));
    around.max_by_key(|mount| mount.components().count()).unwrap_or_else(|| top_of_device(path))
}

/// The fifth field of each line, unescaped: `\040` is a space.
fn mount_points(table: &[u8]) -> Vec<PathBuf> {
    let lines = table.split(|byte| *byte == b'\n');
    let fields = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    fields.map(|field| PathBuf::from(OsString::from_vec(unescaped(field)))).collect()
}

fn unescaped(mut field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    while let Some((first, rest)) = field.split_first() {
        let octal =
            rest.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                field = &rest[3..];
            }
            None => {
                plain.push(*first);
                field = rest;
            }
        }
    }
    plain
}

/// The topmost directory above a real path on the same device, for systems without a table of mounts.
fn top_of_device(path: &Path) -> PathBuf {
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let ours = device(path);
    let same = path.ancestors().take_while(|above| device(above) == ours).last();
    same.unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::{Disk, WriteFailure, mount_points};

    #[test]
    fn mounts_are_read_with_their_escapes() {
        let table = b"29 1 254:0 / / rw - ext4 /dev/vda rw\n30 29 0:5 / /mnt/a\\040b\\134 ro shared:3 - tmpfs x rw\nbad\n";
        assert_eq!(mount_points(table), [Path::new("/"), Path::new("/mnt/a b\\")]);
    }

    #[test]
    fn each_error_has_its_own_message_and_advice() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("not/there/yet");
        let disk = Disk::of(&path).expect("a disk");
        let mount = disk.mounted_at.display().to_string();
        for (number, why, advice) in [
            (rustix::io::Errno::NOSPC, "although ", "quota"),
            (rustix::io::Errno::DQUOT, "your disk quota is used up", "quota raised"),
            (rustix::io::Errno::ROFS, "is read-only", "writable"),
            (rustix::io::Errno::ACCESS, "permission denied", "permissions of"),
            (rustix::io::Errno::FBIG, "limit on the size of files", "ulimit -f"),
            (rustix::io::Errno::IO, "Input/output error", "Check the disk"),
        ] {
            let failure = WriteFailure::of(&path, &io::Error::from(number));
            assert!(failure.why.contains(why), "{failure:?}");
            assert!(failure.advice.contains(advice), "{failure:?}");
            assert!(!failure.why.contains("os error"), "{failure:?}");
        }
        let full = WriteFailure::full(&path).why;
        assert!(full.contains(&mount) && full.contains(" of "), "this machine has free space: {full}");
    }

    #[test]
    fn writability_is_predicted_before_writing() {
        let directory = tempfile::tempdir().expect("directory");
        assert_eq!(WriteFailure::predict(&directory.path().join("a/b")), None);
        // Not writable, not even by root.
        let failure = WriteFailure::predict(Path::new("/proc/sys/nothing")).expect("not writable");
        assert!(!failure.advice.is_empty());
    }
}
