//! A process by its id: whether it runs, and how it is ended. A number may be given to another process later, so it is resolved once.

use std::time::Duration;

use rustix::process::{Pid, Signal};

/// A process that may be anyone's child.
#[derive(Debug)]
pub struct ProcessRef {
    #[cfg(target_os = "linux")]
    descriptor: Option<std::os::fd::OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    pid: Option<Pid>,
}

#[cfg(target_os = "linux")]
impl ProcessRef {
    pub fn find(pid: u32) -> Self {
        use rustix::process::{PidfdFlags, pidfd_open};
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Self { descriptor: pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) }
    }

    /// Waits up to `limit` for its end; whether it has ended. The descriptor is readable then.
    pub fn has_ended(&self, limit: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let Some(descriptor) = &self.descriptor else {
            return true;
        };
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        let mut descriptors = [PollFd::new(descriptor, PollFlags::IN)];
        poll(&mut descriptors, Some(&limit)).is_ok_and(|ready| ready > 0)
    }

    /// Readable when it has ended; `None` if it had ended before it was looked for.
    pub fn end_descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        self.descriptor.as_ref().map(AsFd::as_fd)
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(descriptor) = &self.descriptor {
            // Ignored: it has ended meanwhile.
            let _ = rustix::process::pidfd_send_signal(descriptor, signal);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl ProcessRef {
    pub fn find(pid: u32) -> Self {
        Self { pid: i32::try_from(pid).ok().and_then(Pid::from_raw) }
    }

    pub fn has_ended(&self, limit: Duration) -> bool {
        /// Between two looks.
        const INTERVAL: Duration = Duration::from_millis(50);
        let runs = || self.pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
        let end = std::time::Instant::now() + limit;
        while runs() {
            if std::time::Instant::now() >= end {
                return false;
            }
            std::thread::sleep(INTERVAL);
        }
        true
    }

    /// There is none on this system; look again after a while.
    pub fn end_descriptor(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        None
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            // Ignored: it has ended meanwhile.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// What distinguishes a process from a later one of the same number: the boot, and when it was started. Empty where the system does not
/// say, or if there is no such process.
pub fn process_identity(pid: u32) -> String {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let stat = read(format!("/proc/{pid}/stat"));
    // The name of the program, in brackets, may contain anything.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    match (fields.first(), fields.get(START_TIME)) {
        // A zombie has ended.
        (Some(&"Z"), _) | (_, None) => String::new(),
        (_, Some(start)) => format!("{}:{start}", read("/proc/sys/kernel/random/boot_id".to_owned()).trim()),
    }
}

/// Place of the start time among the fields of `/proc/PID/stat` after the name.
const START_TIME: usize = 19;

#[cfg(test)]
mod tests {
    use super::process_identity;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_an_identity_until_it_ends() {
        let mut child = std::process::Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("started");
        let (own, other) = (process_identity(std::process::id()), process_identity(child.id()));
        assert!(!own.is_empty() && !other.is_empty(), "{own} {other}");
        assert_eq!(process_identity(child.id()), other);
        let pid = child.id();
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert_ne!(process_identity(pid), other);
    }
}
