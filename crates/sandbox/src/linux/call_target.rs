//! The file that a system call means, as its caller names it.

use std::ffi::CString;

/// The file that a call means.
#[derive(Debug)]
pub(crate) enum CallTarget {
    /// A descriptor of the caller, or its working directory (`AT_FDCWD`).
    Descriptor(i32),
    /// A path, from a descriptor of the caller or its working directory if it is relative.
    Path { directory: i32, path: CString, last_link: LastLink },
}

/// What a path means that ends with a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Followed,
    Itself,
}
