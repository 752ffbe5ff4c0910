//! The functions that differ between operating systems.

#[cfg(target_os = "linux")]
pub(crate) use crate::linux::*;
#[cfg(not(target_os = "linux"))]
pub(crate) use crate::other_os::*;
