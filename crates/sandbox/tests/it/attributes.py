"""Changes attributes of files by every system call and every route, and prints what was not refused."""

import ctypes
import errno
import fcntl
import os
import platform
import signal
import struct
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = -100, 0x100, 0x1000
NUMBERS = {
    "x86_64": dict(chmod=90, fchmod=91, chown=92, fchown=93, lchown=94, utime=132, setxattr=188, lsetxattr=189,
                   fsetxattr=190, removexattr=197, lremovexattr=198, fremovexattr=199, utimes=235, fchownat=260,
                   futimesat=261, fchmodat=268, utimensat=280, x32_chmod=0x40000000 + 90),
    "aarch64": dict(fchmod=52, fchmodat=53, fchownat=54, fchown=55, utimensat=88, setxattr=5, lsetxattr=6,
                    fsetxattr=7, removexattr=14, lremovexattr=15, fremovexattr=16),
}[platform.machine()] | dict(fchmodat2=452, setxattrat=463, removexattrat=466, file_setattr=469)
REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)

uid, gid = os.getuid(), os.getgid()
TIMES = struct.pack("4q", 1000, 0, 1000, 0)
SECONDS = struct.pack("2q", 1000, 1000)
NAME, KEPT, VALUE = b"user.new", b"user.kept", b"1"
XATTR = struct.pack("QII", ctypes.addressof(ctypes.create_string_buffer(VALUE)), 1, 0)
FILE_ATTR = bytes(24)


def call(name, *args):
    """The error number of a call, or 0; None where the machine does not have it."""
    if name not in NUMBERS:
        return None
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *args)
    return 0 if result >= 0 else ctypes.get_errno()


def at(directory, path):
    """The calls that take a directory, a path and flags."""
    for flags in (0, AT_SYMLINK_NOFOLLOW):
        yield "fchmodat2", directory, path, 0o666, flags
        yield "fchownat", directory, path, uid, gid, flags
        yield "utimensat", directory, path, TIMES, flags
        yield "utimensat", directory, path, None, flags
        yield "setxattrat", directory, path, flags, NAME, XATTR, 16
        yield "removexattrat", directory, path, flags, KEPT
        yield "file_setattr", directory, path, FILE_ATTR, 24, flags
    yield "fchmodat", directory, path, 0o666
    yield "futimesat", directory, path, TIMES


def by_path(path):
    yield "chmod", path, 0o666
    yield "chmod", path, 0o1755
    yield "x32_chmod", path, 0o666
    yield "chown", path, uid, gid
    yield "chown", path, -1, -1
    yield "lchown", path, uid, gid
    yield "utime", path, SECONDS
    yield "utime", path, None
    yield "utimes", path, TIMES
    for prefix in ("", "l"):
        yield prefix + "setxattr", path, NAME, VALUE, 1, 0
        yield prefix + "removexattr", path, KEPT
    yield from at(AT_FDCWD, path)


def by_descriptor(fd):
    yield "fchmod", fd, 0o666
    yield "fchown", fd, uid, gid
    yield "fsetxattr", fd, NAME, VALUE, 1, 0
    yield "fremovexattr", fd, KEPT
    yield "utimensat", fd, None, TIMES, 0
    yield "utimensat", fd, None, None, 0
    yield "futimesat", fd, None, TIMES
    for flags in (AT_EMPTY_PATH, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW):
        yield "fchmodat2", fd, b"", 0o666, flags
        yield "fchownat", fd, b"", uid, gid, flags
        yield "utimensat", fd, b"", TIMES, flags
        yield "setxattrat", fd, b"", flags, NAME, XATTR, 16
        yield "file_setattr", fd, b"", FILE_ATTR, 24, flags


def follows(attempt):
    return attempt[0] not in ("lchown", "lsetxattr", "lremovexattr") and attempt[-1] != AT_SYMLINK_NOFOLLOW


def attempts(target):
    """Every call by every route."""
    name, directory = os.path.basename(target), os.path.dirname(target)
    for link, to in (("link", target), ("directory", directory), ("links", "link")):
        if not os.path.lexists(link):
            os.symlink(to, link)
    for path in (target, os.path.relpath(target), "directory/" + name, "/proc/self/root" + target,
                 f"/proc/{os.getpid()}/root" + target, "/proc/self/cwd/" + os.path.relpath(target),
                 "/proc/thread-self/root" + target):
        yield from by_path(path.encode())
    reading, path_only = os.open(target, os.O_RDONLY), os.open(target, os.O_PATH)
    for fd in (reading, path_only, fcntl.fcntl(reading, fcntl.F_DUPFD, 2000)):
        yield from by_descriptor(fd)
        for path in (f"/proc/self/fd/{fd}", f"/proc/{os.getpid()}/fd/{fd}", f"/dev/fd/{fd}"):
            yield from filter(follows, by_path(path.encode()))
    for path in ("link", "links", os.getcwd() + "/link"):
        yield from filter(follows, by_path(path.encode()))
    parent = os.open(directory, os.O_PATH)
    yield from at(parent, name.encode())
    yield from by_path(f"/proc/self/fd/{parent}/{name}".encode())
    yield from by_descriptor(os.open(directory, os.O_RDONLY))


def outside(target, accepted=REFUSED):
    for name, *args in attempts(target):
        error = call(name, *args)
        if error is not None and error not in accepted:
            print(name, args, "was not refused:", error and errno.errorcode[error])
    fd = os.open(target, os.O_RDONLY)
    for request, size in ((0x40086602, 8), (0x401C5820, 28), (0x40806685, 128), (0x40086604, 8)):
        try:
            fcntl.ioctl(fd, request, bytes(size))
            print(hex(request), "was not refused")
        except OSError as error:
            if error.errno not in accepted:
                print(hex(request), "was not refused:", error)


def read_only(target):
    """The same on a read-only mount, where the kernel itself reports what a call cannot be made on."""
    outside(target, (*REFUSED, errno.EROFS, errno.EBADF, errno.EOPNOTSUPP))


def race(target, rounds=3000):
    """Swaps what a path, a link, a directory and a descriptor mean while they are used."""
    os.makedirs("inside", exist_ok=True)
    inside = os.path.abspath("inside/" + os.path.basename(target))
    open(inside, "w").close()
    done = threading.Event()
    files = [os.open(inside, os.O_RDONLY), os.open(target, os.O_RDONLY)]
    shared = os.dup(files[0])
    paths = [os.path.relpath(p).encode() + b"\0" for p in (inside, target)]
    memory = ctypes.create_string_buffer(max(map(len, paths)))

    def swap():
        while not done.is_set():
            for index, path in enumerate((inside, target)):
                for name, to in (("file", path), ("way", os.path.dirname(path))):
                    os.symlink(to, name + ".new")
                    os.rename(name + ".new", name)
                os.dup2(files[index], shared)
                ctypes.memmove(memory, paths[index], len(paths[index]))

    thread = threading.Thread(target=swap)
    thread.start()
    name = os.path.basename(target)
    allowed = 0
    for _ in range(rounds):
        allowed += call("fchmodat", AT_FDCWD, b"file", 0o777) == 0
        allowed += call("fchmodat", AT_FDCWD, b"way/" + name.encode(), 0o777) == 0
        allowed += call("fchmodat", AT_FDCWD, memory, 0o777) == 0
        allowed += call("fchmod", shared, 0o777) == 0
    done.set()
    thread.join()
    if allowed == 0:
        print("nothing was allowed, so there was no race")


def inside(directory):
    os.chdir(directory)
    open("file", "w").close()
    os.symlink("file", "symlink")
    fd = os.open("file", os.O_RDONLY)
    try:
        os.setxattr(fd, KEPT, b"1")
    except OSError:
        print("the file system has no extended attributes")
        return
    calls = [*by_path(b"file"), *by_path(os.path.abspath("file").encode()), *by_descriptor(fd)]
    calls += filter(follows, by_path(b"symlink"))
    calls += filter(follows, by_path(f"/proc/self/fd/{fd}".encode()))
    for name, *args in calls:
        if "removexattr" in name:
            os.setxattr("file", KEPT, b"1")
        error = call(name, *args)
        if error not in (0, None, errno.ENOSYS, errno.EOPNOTSUPP):
            print(name, args, "failed:", errno.errorcode[error])
    if call("fchmodat", AT_FDCWD, b"file", 0o751) or os.stat("file").st_mode & 0o7777 != 0o751:
        print("the mode is wrong")
    os.utime("file", ns=(5_000_000_007, 6_000_000_008))
    if os.stat("file").st_mtime_ns != 6_000_000_008 or os.stat("file").st_atime_ns != 5_000_000_007:
        print("the times are wrong")
    os.utime("symlink", (7, 8), follow_symlinks=False)
    if os.lstat("symlink").st_mtime != 8 or os.stat("file").st_mtime == 8:
        print("the times of the link are wrong")
    os.chown("symlink", uid, gid, follow_symlinks=False)
    os.setxattr("file", "user.large", b"x" * 3000)
    if os.getxattr("file", "user.large") != b"x" * 3000:
        print("the attribute is wrong")
    for wrong in (b"missing", b""):
        if call("fchmodat", AT_FDCWD, wrong, 0o600) != errno.ENOENT:
            print("a missing file is not reported")
    faults = [call("fchmodat", AT_FDCWD, None, 0o600), call("fchmodat", AT_FDCWD, b"a" * 5000, 0o600), call("fchmod", 77, 0)]
    if faults != [errno.EFAULT, errno.ENAMETOOLONG, errno.EBADF]:
        print("wrong arguments are reported as", faults)
    os.unlink("file")
    for nameless in (fd, os.pipe()[0], os.memfd_create("x")):
        os.fchmod(nameless, 0o600)
        os.utime(nameless)
    # Another owner, and the bit for a group that is not one's own, are left to the privileged.
    open("file", "w").close()
    if call("fchownat", AT_FDCWD, b"file", uid + 1, gid, 0) != errno.EPERM:
        print("the owner was changed")


def signals():
    """Signals whose handlers restart calls, as most do. Others may interrupt a call until it is received."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    open("file", "w").close()
    for _ in range(5000):
        error = call("fchmodat", AT_FDCWD, b"file", 0o600)
        if error:
            print("interrupted:", errno.errorcode[error])
            break
    signal.setitimer(signal.ITIMER_REAL, 0)


def interrupted():
    """Signals whose handlers do not restart calls. A call that was interrupted must not have been carried out."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, True)
    open("file", "w").close()
    os.chmod("file", 0o600)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    mode = 0o600
    for round in range(5000):
        wanted = (0o600, 0o640)[round % 2]
        error = call("fchmodat", AT_FDCWD, b"file", wanted)
        if error not in (0, errno.EINTR):
            print("failed:", errno.errorcode[error])
            break
        mode = mode if error else wanted
        if os.stat("file").st_mode & 0o777 != mode:
            print("carried out although interrupted" if error else "not carried out")
            break
    signal.setitimer(signal.ITIMER_REAL, 0)


def listener():
    """Tries to answer the calls of programs in the room in the orchestrator's place."""
    allow = struct.pack("HBBI", 6, 0, 0, 0x7FFF0000)
    instructions = ctypes.create_string_buffer(allow)
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(instructions))
    NUMBERS["seccomp"] = {"x86_64": 317, "aarch64": 277}[platform.machine()]
    print(errno.errorcode.get(call("seccomp", 1, 8, program), "installed"))


globals()[sys.argv[1]](*sys.argv[2:])
