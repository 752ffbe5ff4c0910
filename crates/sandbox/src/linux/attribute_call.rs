//! The system calls that change a file's attributes: which file a call means, and what it changes.
//!
//! Everything is read from the caller once. What the caller does to its memory afterwards changes nothing.

use std::ffi::{CStr, CString};

use autonoe_kernel_calls::PendingSystemCall;
use libc::c_long;
use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::call_target::{CallTarget, LastLink};
use super::calling_thread::CallingThread;

/// The longest name and the largest value of an extended attribute, in bytes, as in the kernel.
const MAX_XATTR_NAME: usize = 255;
const MAX_XATTR_VALUE: usize = 65536;

/// Has this number on every machine; `libc` does not know it for all of them.
pub(crate) const FCHMODAT2: c_long = 452;

/// The calls that are handed over. The newest ones (`setxattrat` and its like) are refused as not implemented, so that programs use these.
#[rustfmt::skip]
pub(crate) const NUMBERS: &[c_long] = &[
    libc::SYS_fchmod, libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat,
    libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr,
    libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")] libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")] libc::SYS_chown,
    #[cfg(target_arch = "x86_64")] libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")] libc::SYS_utime,
    #[cfg(target_arch = "x86_64")] libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")] libc::SYS_futimesat,
];

/// One call, as the caller made it.
#[derive(Debug)]
pub(crate) struct AttributeCall {
    pub target: CallTarget,
    pub change: AttributeChange,
}

#[derive(Debug)]
pub(crate) enum AttributeChange {
    Mode(Mode),
    Owner(Option<Uid>, Option<Gid>),
    Times(Timestamps),
    SetXattr { name: CString, value: Vec<u8>, flags: XattrFlags },
    RemoveXattr { name: CString },
}

impl AttributeCall {
    pub(crate) fn read(call: &PendingSystemCall, caller: &CallingThread) -> rustix::io::Result<Self> {
        let [a, b, c, d, e, _] = call.args;
        let here = libc::AT_FDCWD;
        let follow = |path| at(caller, here, path, LastLink::Followed);
        let itself = |path| at(caller, here, path, LastLink::Itself);
        let (target, change) = match call.number {
            libc::SYS_fchmod => (descriptor(a), mode(b)),
            libc::SYS_fchmodat => (at(caller, fd(a), b, LastLink::Followed)?, mode(c)),
            FCHMODAT2 => (at_flags(caller, fd(a), b, d)?, mode(c)),
            libc::SYS_fchown => (descriptor(a), owner(b, c)),
            libc::SYS_fchownat => (at_flags(caller, fd(a), b, e)?, owner(c, d)),
            // Without a path, the call means the descriptor.
            libc::SYS_utimensat if b == 0 && d == 0 => (given(a)?, timespecs(caller, c)?),
            libc::SYS_utimensat => (at_flags(caller, fd(a), b, d)?, timespecs(caller, c)?),
            libc::SYS_setxattr => (follow(a)?, set_xattr(caller, b, c, d, e)?),
            libc::SYS_lsetxattr => (itself(a)?, set_xattr(caller, b, c, d, e)?),
            libc::SYS_fsetxattr => (descriptor(a), set_xattr(caller, b, c, d, e)?),
            libc::SYS_removexattr => (follow(a)?, remove_xattr(caller, b)?),
            libc::SYS_lremovexattr => (itself(a)?, remove_xattr(caller, b)?),
            libc::SYS_fremovexattr => (descriptor(a), remove_xattr(caller, b)?),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chmod => (follow(a)?, mode(b)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chown => (follow(a)?, owner(b, c)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_lchown => (itself(a)?, owner(b, c)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_utime => (follow(a)?, seconds(caller, b)?),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_utimes => (follow(a)?, timevals(caller, b)?),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_futimesat if b == 0 => (given(a)?, timevals(caller, c)?),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_futimesat => (at(caller, fd(a), b, LastLink::Followed)?, timevals(caller, c)?),
            _ => return Err(Errno::NOSYS),
        };
        Ok(Self { target, change })
    }
}

/// The kernel uses the lower half of the register.
fn fd(argument: u64) -> i32 {
    argument as u32 as i32
}

/// A descriptor; `AT_FDCWD` has no meaning here, and no descriptor has this number.
fn descriptor(argument: u64) -> CallTarget {
    CallTarget::Descriptor(fd(argument).max(-1))
}

/// A descriptor where `AT_FDCWD` is a fault, not a directory.
fn given(argument: u64) -> rustix::io::Result<CallTarget> {
    if fd(argument) == libc::AT_FDCWD { Err(Errno::FAULT) } else { Ok(descriptor(argument)) }
}

fn at_flags(caller: &CallingThread, directory: i32, path: u64, flags: u64) -> rustix::io::Result<CallTarget> {
    let flags = flags as u32 as i32;
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno::INVAL);
    }
    let may_be_empty = flags & libc::AT_EMPTY_PATH != 0;
    if may_be_empty && path == 0 {
        return Ok(CallTarget::Descriptor(directory));
    }
    let no_follow = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    let last_link = if no_follow { LastLink::Itself } else { LastLink::Followed };
    match at(caller, directory, path, last_link) {
        Ok(CallTarget::Path { path, .. }) if may_be_empty && path.is_empty() => {
            Ok(CallTarget::Descriptor(directory))
        }
        target => target,
    }
}

/// An empty path is not a fault yet: it cannot be opened.
fn at(
    caller: &CallingThread,
    directory: i32,
    path: u64,
    last_link: LastLink,
) -> rustix::io::Result<CallTarget> {
    let path = caller.path(path)?;
    Ok(own_descriptor(&path, last_link).unwrap_or(CallTarget::Path { directory, path, last_link }))
}

/// The target of `/proc/self/fd/N`: for us, `self` would be another process. C libraries change the mode of a link itself this way.
fn own_descriptor(path: &CStr, last_link: LastLink) -> Option<CallTarget> {
    let path = path.to_str().ok()?;
    let number = match path {
        "/dev/stdin" => "0",
        "/dev/stdout" => "1",
        "/dev/stderr" => "2",
        _ => ["/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"]
            .iter()
            .find_map(|prefix| path.strip_prefix(prefix))?,
    };
    let (number, below) = number.split_once('/').unwrap_or((number, ""));
    let number = number.parse::<u32>().ok().and_then(|number| i32::try_from(number).ok())?;
    match (below, last_link) {
        ("", LastLink::Followed) => Some(CallTarget::Descriptor(number)),
        ("", LastLink::Itself) => None,
        (below, last_link) => {
            // A second slash must not make it an absolute path.
            let path = CString::new(format!("./{below}")).ok()?;
            Some(CallTarget::Path { directory: number, path, last_link })
        }
    }
}

fn mode(argument: u64) -> AttributeChange {
    AttributeChange::Mode(Mode::from_raw_mode(argument as u32 & 0o7777))
}

/// −1 keeps the owner or the group.
fn owner(user: u64, group: u64) -> AttributeChange {
    let id = |argument: u64| Some(argument as u32).filter(|id| *id != u32::MAX);
    AttributeChange::Owner(id(user).map(Uid::from_raw), id(group).map(Gid::from_raw))
}

fn times(access: (i64, i64), modification: (i64, i64)) -> AttributeChange {
    let time = |(tv_sec, tv_nsec)| Timespec { tv_sec, tv_nsec };
    AttributeChange::Times(Timestamps { last_access: time(access), last_modification: time(modification) })
}

/// Without times, a call means the present.
fn now() -> AttributeChange {
    times((0, libc::UTIME_NOW), (0, libc::UTIME_NOW))
}

fn timespecs(caller: &CallingThread, address: u64) -> rustix::io::Result<AttributeChange> {
    if address == 0 {
        return Ok(now());
    }
    let [access, access_ns, modification, modification_ns] = caller.integers(address)?;
    Ok(times((access, access_ns), (modification, modification_ns)))
}

#[cfg(target_arch = "x86_64")]
fn timevals(caller: &CallingThread, address: u64) -> rustix::io::Result<AttributeChange> {
    if address == 0 {
        return Ok(now());
    }
    let [access, access_us, modification, modification_us] = caller.integers(address)?;
    if [access_us, modification_us].iter().any(|us| !(0..1_000_000).contains(us)) {
        return Err(Errno::INVAL);
    }
    Ok(times((access, access_us * 1000), (modification, modification_us * 1000)))
}

#[cfg(target_arch = "x86_64")]
fn seconds(caller: &CallingThread, address: u64) -> rustix::io::Result<AttributeChange> {
    if address == 0 {
        return Ok(now());
    }
    let [access, modification] = caller.integers(address)?;
    Ok(times((access, 0), (modification, 0)))
}

fn set_xattr(
    caller: &CallingThread,
    name: u64,
    value: u64,
    size: u64,
    flags: u64,
) -> rustix::io::Result<AttributeChange> {
    let size = usize::try_from(size).ok().filter(|size| *size <= MAX_XATTR_VALUE).ok_or(Errno::TOOBIG)?;
    let flags = XattrFlags::from_bits_retain(flags as u32);
    Ok(AttributeChange::SetXattr {
        name: xattr_name(caller, name)?,
        value: caller.bytes(value, size)?,
        flags,
    })
}

fn remove_xattr(caller: &CallingThread, name: u64) -> rustix::io::Result<AttributeChange> {
    Ok(AttributeChange::RemoveXattr { name: xattr_name(caller, name)? })
}

fn xattr_name(caller: &CallingThread, address: u64) -> rustix::io::Result<CString> {
    caller.string(address, MAX_XATTR_NAME + 1)?.filter(|name| !name.is_empty()).ok_or(Errno::RANGE)
}

#[cfg(test)]
mod tests {
    use super::{CallTarget, LastLink, own_descriptor};

    #[test]
    fn paths_of_own_descriptors_mean_the_caller() {
        let target = |path: &std::ffi::CStr, last_link| own_descriptor(path, last_link);
        for path in [c"/proc/self/fd/7", c"/proc/thread-self/fd/7", c"/dev/fd/7/"] {
            assert!(matches!(target(path, LastLink::Followed), Some(CallTarget::Descriptor(7))), "{path:?}");
        }
        let below = target(c"/dev/fd/7//etc", LastLink::Itself);
        let relative = |path: &std::ffi::CStr| path == c".//etc";
        assert!(matches!(below, Some(CallTarget::Path { directory: 7, path, .. }) if relative(&path)));
        for path in [c"/proc/self/fd/../root/etc", c"/proc/self/fd/-100", c"/dev/fd", c"/etc/passwd"] {
            assert!(target(path, LastLink::Followed).is_none(), "{path:?}");
        }
        assert!(target(c"/proc/self/fd/7", LastLink::Itself).is_none(), "the link itself");
    }
}
