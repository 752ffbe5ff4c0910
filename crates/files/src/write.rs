//! What to say when something cannot be written: why, on which file system, and what to do.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use crate::{read_bytes, show_bytes};

/// With more than this free a disk is not full, whatever the system calls it.
const PLENTY_BYTES: u64 = 64 * 1024 * 1024;

/// The longest table of mounts that is read.
const MAX_MOUNT_TABLE: u64 = 16 * 1024 * 1024;

/// Why something cannot be written and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteTrouble {
    /// A clause: "the disk is full: 0 bytes of 1 MiB are free on the file system at /mnt".
    pub why: String,
    /// What a person can do: a sentence.
    pub advice: String,
}

/// The file system that a path is on, or would be on once it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Where it is mounted.
    pub mounted_at: PathBuf,
    /// The bytes that are free for us.
    pub free: u64,
    /// All its bytes.
    pub total: u64,
    /// Whether nobody can write to it.
    pub is_read_only: bool,
    /// Whether it holds as many files as it can.
    pub is_out_of_files: bool,
}

impl Disk {
    /// The file system at `path`; none if the system does not tell.
    pub fn of(path: &Path) -> Option<Self> {
        let place = existing(path)?.canonicalize().ok()?;
        let told = statvfs(&place).ok()?;
        Some(Self {
            mounted_at: mount_point(&place),
            free: told.f_bavail.saturating_mul(told.f_frsize),
            total: told.f_blocks.saturating_mul(told.f_frsize),
            is_read_only: told.f_flag.contains(StatVfsMountFlags::RDONLY),
            // Some file systems count no files: both numbers are zero then.
            is_out_of_files: told.f_files > 0 && told.f_favail == 0,
        })
    }

    /// "956 KiB of 1 MiB are free on the file system at /mnt".
    pub fn told(&self) -> String {
        format!(
            "{} of {} are free on the file system at {}",
            show_bytes(self.free),
            show_bytes(self.total),
            self.mounted_at.display()
        )
    }
}

impl WriteTrouble {
    /// What an error means that came of writing at `path`.
    pub fn of(path: &Path, error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull => Self::full(path),
            ErrorKind::QuotaExceeded => Self::new(
                format!("your disk quota is used up{}", at(path)),
                "Remove files of yours there, or have the quota raised.".to_owned(),
            ),
            ErrorKind::ReadOnlyFilesystem => Self::read_only(path),
            ErrorKind::PermissionDenied => Self::denied(path),
            ErrorKind::FileTooLarge => Self::new(
                "a limit on the size of files is in force".to_owned(),
                "Raise it: `ulimit -f unlimited`.".to_owned(),
            ),
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => Self::new(
                "a part of its path is a file, not a directory".to_owned(),
                "Move that file away.".to_owned(),
            ),
            _ => Self::new(bare(error), "Check the disk that it is on.".to_owned()),
        }
    }

    /// That the disk is full.
    pub fn full(path: &Path) -> Self {
        let disk = Disk::of(path);
        if disk.as_ref().is_some_and(|disk| disk.is_out_of_files && disk.free > 0) {
            let why = format!("no more files can be made{}: all its inodes are used", at(path));
            return Self::new(why, "Remove files that are not needed there.".to_owned());
        }
        if let Some(disk) = disk.as_ref().filter(|disk| disk.free > PLENTY_BYTES) {
            let why = format!("the system says that no space is left, although {}", disk.told());
            return Self::new(why, "Look whether a quota or a limit is in force there.".to_owned());
        }
        let told = disk.map(|disk| format!(": {}", disk.told())).unwrap_or_default();
        Self::new(format!("the disk is full{told}"), "Make room there.".to_owned())
    }

    /// Why `path`, or the directory in which it would be made, cannot be written; none if it can be.
    pub fn expected(path: &Path) -> Option<Self> {
        let place = existing(path)?;
        let needed = if place.is_dir() { Access::WRITE_OK | Access::EXEC_OK } else { Access::WRITE_OK };
        let error = io::Error::from(access(&place, needed).err()?);
        Some(Self::of(path, &error))
    }

    fn read_only(path: &Path) -> Self {
        let which = Disk::of(path).map(|disk| format!(" at {}", disk.mounted_at.display()));
        let why = format!("the file system{} is read-only", which.unwrap_or_default());
        Self::new(why, "Mount it writable, or use a directory elsewhere.".to_owned())
    }

    fn denied(path: &Path) -> Self {
        let place = existing(path).unwrap_or_else(|| path.to_owned());
        let owner = fs::metadata(&place).ok().map(|metadata| metadata.uid());
        let us = rustix::process::geteuid().as_raw();
        let whose = match owner {
            Some(owner) if owner != us => {
                format!(": {} belongs to user {owner}, and you are user {us}", place.display())
            }
            Some(_) | None => String::new(),
        };
        let advice = format!("Change the permissions of {}, or run autonoe as its owner.", place.display());
        Self::new(format!("permission is denied{whose}"), advice)
    }

    fn new(why: String, advice: String) -> Self {
        Self { why, advice }
    }
}

/// What the system says, without its number and without a path that is said already.
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

/// The path itself if it exists, else the nearest directory above it that does.
fn existing(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find(|place| place.symlink_metadata().is_ok()).map(Path::to_owned)
}

/// Where the file system is mounted that a real path is on.
fn mount_point(place: &Path) -> PathBuf {
    let table = read_bytes(Path::new("/proc/self/mountinfo"), MAX_MOUNT_TABLE).ok().flatten();
    let mounts = table.as_deref().map(mount_points).unwrap_or_default();
    let around = mounts.into_iter().filter(|mount| place.starts_with(mount));
    around.max_by_key(|mount| mount.components().count()).unwrap_or_else(|| top_of_device(place))
}

/// The fifth field of each line, with its escapes undone: `\040` is a space.
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

/// The topmost directory above a real path that is on the same device, where no table of mounts is to be had.
fn top_of_device(place: &Path) -> PathBuf {
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let ours = device(place);
    let same = place.ancestors().take_while(|path| device(path) == ours).last();
    same.unwrap_or(place).to_owned()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::{Disk, WriteTrouble, mount_points};

    #[test]
    fn mounts_are_read_with_their_escapes() {
        let table = b"29 1 254:0 / / rw - ext4 /dev/vda rw\n30 29 0:5 / /mnt/a\\040b\\134 ro shared:3 - tmpfs x rw\nbad\n";
        assert_eq!(mount_points(table), [Path::new("/"), Path::new("/mnt/a b\\")]);
    }

    #[test]
    fn each_error_has_its_own_words_and_its_own_advice() {
        let place = tempfile::tempdir().expect("directory");
        let path = place.path().join("not/there/yet");
        let disk = Disk::of(&path).expect("a disk");
        let mount = disk.mounted_at.display().to_string();
        for (number, why, advice) in [
            (rustix::io::Errno::NOSPC, "although ", "quota"),
            (rustix::io::Errno::DQUOT, "your disk quota is used up", "quota raised"),
            (rustix::io::Errno::ROFS, "is read-only", "writable"),
            (rustix::io::Errno::ACCESS, "permission is denied", "permissions of"),
            (rustix::io::Errno::FBIG, "limit on the size of files", "ulimit -f"),
            (rustix::io::Errno::IO, "Input/output error", "Check the disk"),
        ] {
            let trouble = WriteTrouble::of(&path, &io::Error::from(number));
            assert!(trouble.why.contains(why), "{trouble:?}");
            assert!(trouble.advice.contains(advice), "{trouble:?}");
            assert!(!trouble.why.contains("os error"), "{trouble:?}");
        }
        let full = WriteTrouble::full(&path).why;
        assert!(full.contains(&mount) && full.contains(" of "), "this machine has room: {full}");
    }

    #[test]
    fn what_can_be_written_is_told_before_it_is() {
        let place = tempfile::tempdir().expect("directory");
        assert_eq!(WriteTrouble::expected(&place.path().join("a/b")), None);
        // Nobody writes there, root neither.
        let trouble = WriteTrouble::expected(Path::new("/proc/sys/nothing")).expect("not writable");
        assert!(!trouble.advice.is_empty());
    }
}
