//! Why a file cannot be read, worded to follow the file name.

use std::fmt;
use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;

use crate::size::show_bytes;

/// A clause such as "it is a directory, not a regular file".
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("it is a {0}, not a regular file")]
    NotRegular(FileKind),
    /// More than `limit` bytes.
    #[error("it is larger than {}, the limit for such a file", show_bytes(*limit))]
    TooLarge { limit: u64 },
    #[error(
        "it is not UTF-8 text: the first invalid byte is at offset {offset} (line {line}, column {column})"
    )]
    NotUtf8 {
        /// Number of bytes before the first invalid one.
        offset: usize,
        /// Line, counted from 1.
        line: usize,
        /// Character within the line, counted from 1.
        column: usize,
    },
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl ReadError {
    /// A sentence about "it", the file.
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

    /// `bytes[..offset]` is valid UTF-8, the next byte is not.
    pub(crate) fn not_utf8(bytes: &[u8], offset: usize) -> Self {
        let before = &bytes[..offset];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Self::NotUtf8 { offset, line, column }
    }
}

/// Type of something that is not a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Directory,
    NamedPipe,
    Socket,
    /// Such as `/dev/zero` or a disk.
    Device,
    /// A link that is not followed.
    Link,
    Unknown,
}

impl FileKind {
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

impl fmt::Display for FileKind {
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
