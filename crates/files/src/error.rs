//! Why a file cannot be read, in words that fit after its name.

use std::fmt;
use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;

use crate::show_bytes;

/// Why a file cannot be read: a clause such as "it is a directory, not a regular file".
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is something else than a regular file.
    #[error("it is a {0}, not a regular file")]
    NotRegular(Kind),
    /// It has more than `limit` bytes.
    #[error("it is larger than {}, the most that is read of such a file", show_bytes(*limit))]
    TooLarge {
        /// How many bytes it may have.
        limit: u64,
    },
    /// It holds bytes that are not UTF-8.
    #[error(
        "it is not UTF-8 text: the first wrong byte is at offset {offset} (line {line}, column {column})"
    )]
    NotUtf8 {
        /// How many bytes come before the first wrong one.
        offset: usize,
        /// The line that it is on, counted from 1.
        line: usize,
        /// The character of that line, counted from 1.
        column: usize,
    },
    /// The system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl ReadError {
    /// What a person can do about it: a sentence about "it", the file.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NotRegular(_) => "Put a regular file in its place.",
            Self::TooLarge { .. } => "Make it smaller.",
            Self::NotUtf8 { .. } => "Save it as UTF-8.",
            Self::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "Change its permissions so that you can read it."
            }
            Self::Io(_) => "Check the file and the disk that it is on.",
        }
    }

    /// That these bytes, up to `offset`, are text and what follows is not.
    pub(crate) fn not_utf8(bytes: &[u8], offset: usize) -> Self {
        let before = &bytes[..offset];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Self::NotUtf8 { offset, line, column }
    }
}

/// What something is that is not a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A FIFO.
    NamedPipe,
    /// A Unix socket.
    Socket,
    /// A device, such as `/dev/zero` or a disk.
    Device,
    /// A link that is not followed.
    Link,
    /// Anything else that a system may have.
    Unknown,
}

impl Kind {
    pub(crate) fn of(kind: FileType) -> Self {
        if kind.is_dir() {
            Self::Directory
        } else if kind.is_fifo() {
            Self::NamedPipe
        } else if kind.is_socket() {
            Self::Socket
        } else if kind.is_char_device() || kind.is_block_device() {
            Self::Device
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Unknown
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "directory",
            Self::NamedPipe => "named pipe",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Link => "symbolic link",
            Self::Unknown => "special file",
        })
    }
}
