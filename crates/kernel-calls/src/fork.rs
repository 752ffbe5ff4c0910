//! A second process that goes on from here.

use std::io;

/// Which of the two processes this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forked {
    /// The one that asked for it, and the id of the new one.
    Parent {
        child: i32,
    },
    Child,
}

/// Makes a copy of this process. Fails where it has more than one thread, of which the copy would have only this one.
pub fn fork() -> io::Result<Forked> {
    if !has_one_thread()? {
        return Err(io::Error::other("a process with several threads cannot be copied"));
    }
    // SAFETY: there is no other thread, so no lock is held and no memory half written that the copy could not finish.
    #[allow(unsafe_code)]
    let child = unsafe { libc::fork() };
    match child {
        0 => Ok(Forked::Child),
        child if child > 0 => Ok(Forked::Parent { child }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(target_os = "linux")]
fn has_one_thread() -> io::Result<bool> {
    // Its links are one for itself, one for its parent, and one for each thread.
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata("/proc/self/task")?.nlink() == 3)
}

/// The system does not say it in a file.
#[cfg(not(target_os = "linux"))]
fn has_one_thread() -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_with_threads_is_not_copied() {
        // Tests run in threads.
        let error = super::fork().expect_err("refused");
        assert!(error.to_string().contains("several threads"), "{error}");
    }
}
