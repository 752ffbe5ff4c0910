//! A process by its id: whether it runs, and how it is ended. A number may be given to another process later, so it is resolved once.

use std::time::Duration;

use rustix::process::{Pid, Signal};

/// A process that may be anyone's child.
#[derive(Debug)]
pub(crate) struct ProcessRef {
    #[cfg(target_os = "linux")]
    descriptor: Option<std::os::fd::OwnedFd>,
    #[cfg(not(target_os = "linux"))]
    pid: Option<Pid>,
}

#[cfg(target_os = "linux")]
impl ProcessRef {
    pub(crate) fn find(pid: u32) -> Self {
        use rustix::process::{PidfdFlags, pidfd_open};
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Self { descriptor: pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) }
    }

    /// Waits up to `limit` for its end; whether it has ended. The descriptor is readable then.
    pub(crate) fn has_ended(&self, limit: Duration) -> bool {
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

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(descriptor) = &self.descriptor {
            // Ignored: it has ended meanwhile.
            let _ = rustix::process::pidfd_send_signal(descriptor, signal);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl ProcessRef {
    pub(crate) fn find(pid: u32) -> Self {
        Self { pid: i32::try_from(pid).ok().and_then(Pid::from_raw) }
    }

    pub(crate) fn has_ended(&self, limit: Duration) -> bool {
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

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            // Ignored: it has ended meanwhile.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}
