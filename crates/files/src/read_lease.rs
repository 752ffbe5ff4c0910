//! Reading a file that nobody writes meanwhile, not even a program that has had it mapped since before.

use std::fs::File;

use thiserror::Error;

/// A file that nobody has open or mapped for writing. Who opens it for writing waits until this is dropped, for some seconds.
#[derive(Debug)]
pub struct ReadLease(#[cfg_attr(not(target_os = "linux"), allow(dead_code))] File);

#[derive(Debug, Error)]
pub enum LeaseError {
    #[error("another program has it open or mapped for writing")]
    HasWriter,
    #[error("this file system cannot tell whether another program writes it ({0})")]
    Unsupported(String),
}

#[cfg(target_os = "linux")]
impl ReadLease {
    /// `file` must be open for reading only.
    pub fn take(file: File) -> Result<Self, LeaseError> {
        use std::{io::ErrorKind, os::fd::AsFd};
        match autonoe_kernel_calls::lease::take_read_lease(file.as_fd()) {
            Ok(()) => Ok(Self(file)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(LeaseError::HasWriter),
            Err(error) => Err(LeaseError::Unsupported(error.to_string())),
        }
    }

    /// Whether nobody has tried to write the file since the lease was taken.
    pub fn holds(&self) -> bool {
        use std::os::fd::AsFd;
        autonoe_kernel_calls::lease::has_read_lease(self.0.as_fd())
    }
}

#[cfg(not(target_os = "linux"))]
impl ReadLease {
    pub fn take(_: File) -> Result<Self, LeaseError> {
        Err(LeaseError::Unsupported("only Linux has leases".to_owned()))
    }

    pub fn holds(&self) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::os::unix::fs::OpenOptionsExt;

    use super::{LeaseError, ReadLease};

    #[test]
    fn a_writer_prevents_a_lease_and_ends_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("script");
        fs::write(&path, "exit 0").unwrap();
        let writer = OpenOptions::new().write(true).open(&path).unwrap();
        let refused = ReadLease::take(File::open(&path).unwrap());
        assert!(matches!(refused, Err(LeaseError::HasWriter)), "{refused:?}");
        drop(writer);
        let lease = ReadLease::take(File::open(&path).unwrap()).unwrap();
        let second = ReadLease::take(File::open(&path).unwrap()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "exit 0");
        assert!(lease.holds() && second.holds(), "readers are not writers");
        let without_waiting = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let writer = OpenOptions::new().write(true).custom_flags(without_waiting).open(&path);
        assert!(writer.is_err(), "a writer waits");
        assert!(!lease.holds() && !second.holds());
        drop((lease, second));
        fs::write(&path, "exit 1").unwrap();
    }
}
