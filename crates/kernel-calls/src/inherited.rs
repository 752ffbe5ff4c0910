//! Descriptors that this process was started with, beyond its standard streams.

/// The first descriptor after the standard streams.
const FIRST: libc::c_int = 3;

/// The most descriptors that are looked at one by one, as many as Linux allows a process by default.
const MOST: libc::c_int = 1 << 20;

/// Programs that this process starts do not get them: a program that has a directory of the machine open can leave any room through it. Some
/// programs leave them open in what they start, such as `flock` its lock. Here they stay open, so that such a lock is held.
pub fn keep_from_programs() {
    #[cfg(target_os = "linux")]
    if close_on_exec_from(FIRST) {
        return;
    }
    for descriptor in FIRST..limit() {
        // SAFETY: the call takes numbers, and sets a flag. A number that is not a descriptor is an error without effect.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Whether the kernel knows this call and its flag, as it does since Linux 5.11.
#[cfg(target_os = "linux")]
fn close_on_exec_from(first: libc::c_int) -> bool {
    let flags = libc::CLOSE_RANGE_CLOEXEC as libc::c_uint;
    // SAFETY: the call takes numbers, and sets a flag of the descriptors.
    #[allow(unsafe_code)]
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first as libc::c_uint, libc::c_uint::MAX, flags) };
    result == 0
}

/// No descriptor has this number or a higher one, unless the limit was lowered meanwhile.
fn limit() -> libc::c_int {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes the two numbers of the structure.
    #[allow(unsafe_code)]
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    match result {
        0 => libc::c_int::try_from(limit.rlim_max).unwrap_or(MOST).min(MOST),
        _ => MOST,
    }
}
