//! The thread that waits for an answer to its system call: its memory, its descriptors and its working directory.
//!
//! All of it may be another thread's by the time it is read, unless the call is still pending afterwards.

use std::cell::OnceCell;
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{CWD, Mode, OFlags, open, openat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::call_target::{CallTarget, LastLink};

/// The longest path, in bytes, with its final zero.
const MAX_PATH: usize = 4096;
/// Memory is read up to a multiple of this many bytes, so that a string at the end of a mapping can be read.
const PAGE: u64 = 4096;

pub(crate) struct CallingThread {
    thread: u32,
    memory: OnceCell<File>,
}

impl CallingThread {
    pub(crate) fn new(thread: u32) -> Self {
        Self { thread, memory: OnceCell::new() }
    }

    /// The path at this address.
    pub(crate) fn path(&self, address: u64) -> rustix::io::Result<CString> {
        self.string(address, MAX_PATH)?.ok_or(Errno::NAMETOOLONG)
    }

    /// The string at this address; `None` if it has more than `limit` bytes with its final zero.
    pub(crate) fn string(&self, address: u64, limit: usize) -> rustix::io::Result<Option<CString>> {
        let mut text = Vec::new();
        while text.len() < limit {
            let next = address.checked_add(text.len() as u64).ok_or(Errno::FAULT)?;
            let length = ((PAGE - next % PAGE) as usize).min(limit - text.len());
            text.extend(self.bytes(next, length)?);
            if let Ok(found) = CStr::from_bytes_until_nul(&text) {
                return Ok(Some(found.to_owned()));
            }
        }
        Ok(None)
    }

    /// Consecutive 64-bit integers at this address.
    pub(crate) fn integers<const N: usize>(&self, address: u64) -> rustix::io::Result<[i64; N]> {
        let bytes = self.bytes(address, N * size_of::<i64>())?;
        let (chunks, _) = bytes.as_chunks();
        Ok(std::array::from_fn(|index| i64::from_ne_bytes(chunks[index])))
    }

    pub(crate) fn bytes(&self, address: u64, length: usize) -> rustix::io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        if length > 0 {
            self.memory()?.read_exact_at(&mut bytes, address).map_err(|_| Errno::FAULT)?;
        }
        Ok(bytes)
    }

    fn memory(&self) -> rustix::io::Result<&File> {
        if self.memory.get().is_none() {
            let path = format!("/proc/{}/mem", self.thread);
            let file =
                open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|_| Errno::PERM)?;
            let _ = self.memory.set(file.into());
        }
        self.memory.get().ok_or(Errno::PERM)
    }

    /// Opens what the call means, without any access to its content.
    pub(crate) fn open(&self, target: &CallTarget) -> rustix::io::Result<OwnedFd> {
        match target {
            CallTarget::Descriptor(libc::AT_FDCWD) => self.entry("cwd"),
            CallTarget::Descriptor(number) => self.descriptor(*number),
            CallTarget::Path { path, last_link, .. } if path.to_bytes().starts_with(b"/") => {
                open_path(CWD, &self.without_self(path), *last_link)
            }
            CallTarget::Path { directory, path, last_link } => {
                let directory = self.open(&CallTarget::Descriptor(*directory))?;
                open_path(directory.as_fd(), path, *last_link)
            }
        }
    }

    /// A copy of a descriptor of the caller, which works for sockets too.
    pub(crate) fn duplicate(&self, number: i32) -> rustix::io::Result<OwnedFd> {
        let process = pidfd_open(self.process().ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
        pidfd_getfd(process, number, PidfdGetfdFlags::empty())
    }

    /// The process that the thread belongs to.
    fn process(&self) -> Option<Pid> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.thread)).ok()?;
        let id = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
        Pid::from_raw(id.trim().parse().ok()?)
    }

    /// The path with the caller's own number for `/proc/self`, which for us is another process.
    fn without_self(&self, path: &CStr) -> CString {
        let mut parts = [&b"/proc/self/"[..], b"/proc/thread-self/"].into_iter();
        let below = parts.find_map(|own| path.to_bytes().strip_prefix(own));
        let replaced = below.map(|below| [format!("/proc/{}/", self.thread).as_bytes(), below].concat());
        replaced.and_then(|path| CString::new(path).ok()).unwrap_or_else(|| path.to_owned())
    }

    fn descriptor(&self, number: i32) -> rustix::io::Result<OwnedFd> {
        match self.entry(&format!("fd/{number}")) {
            Err(Errno::NOENT) => Err(Errno::BADF),
            opened => opened,
        }
    }

    fn entry(&self, name: &str) -> rustix::io::Result<OwnedFd> {
        let path = format!("/proc/{}/{name}", self.thread);
        open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }
}

fn open_path(directory: BorrowedFd<'_>, path: &CStr, last_link: LastLink) -> rustix::io::Result<OwnedFd> {
    let no_follow = match last_link {
        LastLink::Followed => OFlags::empty(),
        LastLink::Itself => OFlags::NOFOLLOW,
    };
    openat(directory, path, OFlags::PATH | OFlags::CLOEXEC | no_follow, Mode::empty())
}
