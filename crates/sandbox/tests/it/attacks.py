"""Tries to leave a room by system calls that shells cannot make. Each function prints what was not refused."""

import ctypes
import errno
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import sys
import tempfile
import time

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": dict(shmget=29, shmat=30, shmctl=31, socket=41, ptrace=101, semget=64, msgget=68, msgsnd=69, msgrcv=70,
                   semop=65, semctl=66, msgctl=71, semtimedop=220, mq_open=240, mq_unlink=241, process_vm_readv=310,
                   process_vm_writev=311, kcmp=312, getpid=39, memfd_create=319, openat=257, mkdirat=258, mknodat=259),
    "aarch64": dict(shmget=194, shmat=196, shmctl=195, socket=198, ptrace=117, semget=190, msgget=186, msgsnd=189,
                    msgrcv=188, semop=193, semctl=191, msgctl=187, semtimedop=192, mq_open=180, mq_unlink=181,
                    process_vm_readv=270, process_vm_writev=271, kcmp=272, getpid=172, memfd_create=279, openat=56, mkdirat=34, mknodat=33),
}[platform.machine()] | dict(pidfd_open=434, pidfd_getfd=438)
X32 = 0x40000000
AT_SYMLINK_FOLLOW = 0x400
IPC_PRIVATE, IPC_CREAT = 0, 0o1000
PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_KILL, PTRACE_DETACH = 16, 0x4206, 8, 17


def call(number, *args):
    """The result of a call, and its error number or 0."""
    number = NUMBERS[number] if isinstance(number, str) else number
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *args)
    return result, (ctypes.get_errno() if result == -1 else 0)


def name_of(error):
    return errno.errorcode.get(error, str(error))


def x32():
    """The 32-bit ABI of x86-64, whose calls have other numbers."""
    if platform.machine() != "x86_64":
        return
    for number, args in [(NUMBERS["getpid"], ()), (NUMBERS["ptrace"], (PTRACE_SEIZE, os.getppid(), 0, 0)),
                         (NUMBERS["socket"], (17, 3, 0)), (521, (os.getppid(), 0, 0, 0, 0, 0))]:
        result, error = call(X32 + number, *args)
        if error != errno.ENOSYS:
            print("x32", number, result, name_of(error))


def memory_of_others():
    """Each call that reaches into another process, by name."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    pidfd = call("pidfd_open", child, 0)[0]
    buffer = ctypes.create_string_buffer(b"x" * 8)
    iovec = struct.pack("QQ", ctypes.addressof(buffer), 8)
    tried = {
        "pidfd_getfd": call("pidfd_getfd", pidfd, 0, 0),
        "process_vm_readv": call("process_vm_readv", child, iovec, 1, iovec, 1, 0),
        "process_vm_writev": call("process_vm_writev", child, iovec, 1, iovec, 1, 0),
        "kcmp": call("kcmp", os.getpid(), child, 0, 0, 0),
        "ptrace": call("ptrace", PTRACE_SEIZE, child, 0, 0),
    }
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for name, (_, error) in tried.items():
        print(name, name_of(error) if error else "done")


def trace(pid):
    """Attaches to a process of the room and kills it that way."""
    for request in (PTRACE_SEIZE, PTRACE_ATTACH):
        _, error = call("ptrace", request, int(pid), 0, 0)
        if error:
            continue
        print("attached to", pid)
        if request == PTRACE_ATTACH:
            os.waitpid(int(pid), 0x40000000)
        call("ptrace", PTRACE_KILL, int(pid), 0, 0)
        return
    try:
        with open(f"/proc/{pid}/mem", "r+b", buffering=0):
            print("opened the memory of", pid)
    except OSError:
        pass


def priorities(pid):
    """Changes how another process runs, or all processes of the user."""
    pid = int(pid)
    numbers = {"x86_64": dict(setpriority=141, sched_setparam=142, sched_setscheduler=144, sched_setaffinity=203,
                              ioprio_set=251, migrate_pages=256, move_pages=279, sched_setattr=314),
               "aarch64": dict(setpriority=140, sched_setparam=118, sched_setscheduler=119, sched_setaffinity=122,
                               ioprio_set=30, migrate_pages=238, move_pages=239, sched_setattr=274)}[platform.machine()]
    zero, mask = struct.pack("i", 0), struct.pack("Q", 1)
    attempts = [("setpriority", 0, pid, 5), ("setpriority", 2, 0, 5), ("setpriority", 2, os.getuid(), 5),
                ("sched_setparam", pid, zero), ("sched_setscheduler", pid, 0, zero), ("sched_setaffinity", pid, 8, mask),
                ("ioprio_set", 1, pid, 2 << 13), ("ioprio_set", 3, os.getuid(), 2 << 13),
                ("migrate_pages", pid, 8, mask, mask), ("move_pages", pid, 0, None, None, None, 0),
                ("sched_setattr", pid, struct.pack("IIQiIQQQ", 48, 0, 0, 5, 0, 0, 0, 0), 0)]
    for name, *args in attempts:
        _, error = call(numbers[name], *args)
        if error != errno.EPERM:
            print(name, args[:2], name_of(error) if error else "done")
    os.nice(1)
    os.sched_setaffinity(0, os.sched_getaffinity(0))


def limits():
    """Changes the limits of its parent, as a program would those of its judge."""
    parent, kinds = os.getppid(), (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)
    for kind in kinds:
        try:
            resource.prlimit(parent, kind, (0, resource.getrlimit(kind)[1]))
            print("limited", kind)
        except PermissionError:
            pass
        resource.prlimit(parent, kind)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def leases(path):
    """Stops everybody else who opens a file, or watches what they do in a directory."""
    import fcntl
    for command, place in [(fcntl.F_SETLEASE, path), (fcntl.F_NOTIFY, os.path.dirname(path))]:
        fd = os.open(place, os.O_RDONLY)
        for value in [fcntl.F_RDLCK, fcntl.F_WRLCK]:
            try:
                fcntl.fcntl(fd, command, value)
                print("taken", command, value)
            except PermissionError:
                pass
        os.close(fd)
    # Ordinary locks of its own files work.
    with open("locked", "w") as own:
        fcntl.lockf(own, fcntl.LOCK_EX | fcntl.LOCK_NB)


def own_child_can_be_traced():
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    _, error = call("ptrace", PTRACE_SEIZE, child, 0, 0)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(name_of(error) if error else "done")


def connect(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as client:
        client.settimeout(5)
        try:
            client.connect((host, int(port)))
            print("connected to", host)
        except OSError as error:
            print(name_of(error.errno), file=sys.stderr)


def racing_connect(allowed, forbidden, port):
    """Another thread changes the address while the call is judged."""
    import threading
    address = bytearray(struct.pack("=H", socket.AF_INET) + struct.pack("!H", int(port)) + socket.inet_aton(allowed) + bytes(8))
    view = (ctypes.c_char * 16).from_buffer(address)
    done = False

    def swap():
        good, bad = socket.inet_aton(allowed), socket.inet_aton(forbidden)
        while not done:
            address[4:8] = bad
            address[4:8] = good

    thread = threading.Thread(target=swap)
    thread.start()
    end = time.monotonic() + 3
    while time.monotonic() < end:
        with socket.socket() as client:
            if libc.connect(client.fileno(), view, 16) == 0 and client.getpeername()[0] != allowed:
                print("connected to", client.getpeername())
                break
    done = True
    thread.join()


def listen():
    """Listens on all addresses, with and without bind. Prints the addresses of sockets that others could reach."""
    def report(what, server):
        address = server.getsockname()[0]
        device = server.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0")
        is_local = address.startswith("127.") or address in ("::1", "::ffff:127.0.0.1")
        if not (is_local or (address == "::" and device == b"lo")):
            print(what, "listens on", address)

    for family, addresses in ((socket.AF_INET, ("0.0.0.0", own_address())), (socket.AF_INET6, ("::",))):
        for address in addresses:
            try:
                with socket.socket(family) as server:
                    server.bind((address, 0))
                    server.listen()
                    report("bind", server)
                    for device in (b"", b"eth0\0"):
                        try:
                            server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
                            report("another device", server)
                        except OSError:
                            pass
            except OSError:
                pass
        try:
            with socket.socket(family) as server:
                server.listen()
                report("listen", server)
        except OSError:
            pass
        try:
            with socket.socket(family) as server:
                server.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
                libc.connect(server.fileno(), struct.pack("=H14x", 0), 16)
                server.listen()
                report("disconnected", server)
        except OSError:
            pass


def own_address():
    """An address of this machine that is not loopback, or 0.0.0.0."""
    try:
        with open("/proc/net/fib_trie") as table:
            lines = table.read().split("\n")
    except OSError:
        return "0.0.0.0"
    found = [lines[i - 1].split()[-1] for i, line in enumerate(lines) if "/32 host LOCAL" in line]
    return next((address for address in found if not address.startswith("127.")), "0.0.0.0")


def listen_locally():
    """A server on loopback can be started, and says where it is."""
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((address, 0))
            server.listen(5)
            assert server.getsockname()[1] != 0
    print("listens")


def own_servers():
    """Programs reach the servers that they have started, by the addresses that they expect, and not after they have ended."""
    v4, v6, mapped = (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "::ffff:127.0.0.1")
    expected = (("127.0.0.1", (v4, mapped)), ("0.0.0.0", (v4, (socket.AF_INET, "0.0.0.0"))), ("::1", (v6,)), ("::", (v4, v6, mapped)))
    for address, clients in expected:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((address, 0))
            server.listen(5)
            port = server.getsockname()[1]
            for family, host in clients:
                for timeout in (None, 5):
                    with socket.socket(family) as client:
                        client.settimeout(timeout)
                        client.connect((host, port))
                        accepted, _ = server.accept()
                        with accepted:
                            accepted.send(b"hello")
                            assert client.recv(5) == b"hello", (address, host)
        with socket.socket() as client:
            try:
                client.connect(("127.0.0.1", port))
                print("still connected to", address)
            except ConnectionRefusedError:
                pass
    print("served")


def deaf_server():
    """A server that accepts nothing does not keep other programs from working."""
    import threading
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(0)

    def knock():
        with socket.socket() as client:
            client.settimeout(None)
            try:
                client.connect(server.getsockname())
                time.sleep(60)
            except OSError:
                pass

    for _ in range(8):
        threading.Thread(target=knock, daemon=True).start()
    time.sleep(1)
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0o600)
    print("works", flush=True)
    os._exit(0)


def pending_connections():
    """More connections than a server has place for. One that waits would go to whoever listens there next."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= hard < 8000:
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (8000, hard))
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(0)
    port = server.getsockname()[1]
    clients, refused = [], 0
    while len(clients) < 6000 and refused < 3:
        client = socket.socket()
        client.settimeout(5 if refused == 0 else 0)
        try:
            client.connect(("127.0.0.1", port))
        except (TimeoutError, BlockingIOError, ConnectionError):
            refused += 1
        clients.append(client)
    if refused == 0:
        print("there was place for all of them")
    pending = [line for line in open("/proc/net/tcp") if f":{port:04X} 02 " in line]
    if pending:
        print("pending:", len(pending), "of", len(clients))


def foreign_server(port):
    """Somebody outside listens on this port, and lets others of the same user listen there too."""
    for host in ("127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0"):
        connect(host, port)
    for address in ("127.0.0.1", "127.0.0.2", "::"):
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
            for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
                server.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                server.bind((address, int(port)))
                server.listen(5)
                print("listens too, at", address)
            except OSError:
                continue
            connect("127.0.0.1", port)


def own_unix_servers():
    """Unix sockets between programs of the room, at relative and absolute paths and behind a link."""
    import multiprocessing
    home = os.path.realpath(tempfile.mkdtemp())
    os.symlink(os.path.join(home, "absolute"), "linked")
    for path, client_path in (("relative", "relative"), (os.path.join(home, "absolute"), "linked")):
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            with socket.socket(socket.AF_UNIX, kind) as server:
                server.bind(path)
                os.chmod(path, 0o600)
                server.listen(1)
                assert server.getsockname() == path, server.getsockname()
                for timeout in (None, 5):
                    with socket.socket(socket.AF_UNIX, kind) as client:
                        client.settimeout(timeout)
                        client.connect(client_path)
                        accepted, _ = server.accept()
                        with accepted:
                            accepted.send(b"hello")
                            assert client.recv(5) == b"hello", path
            os.unlink(path)
    with multiprocessing.Manager() as manager:
        assert list(manager.list([1, 2])) == [1, 2]
    print("served")


def abandoned_connections():
    """Programs that are killed while they wait for a Unix server keep no others from waiting."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (8000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    server = socket.socket(socket.AF_UNIX)
    server.bind("deaf")
    server.listen(1)
    early = []
    try:
        while len(early) < 6000:
            early.append(socket.socket(socket.AF_UNIX))
            early[-1].setblocking(False)
            early[-1].connect("deaf")
    except BlockingIOError:
        pass

    def wait():
        child = os.fork()
        if child == 0:
            try:
                socket.socket(socket.AF_UNIX).connect("deaf")
                os._exit(0)
            except OSError:
                os._exit(1)
        return child

    children = [wait() for _ in range(80)]
    time.sleep(1)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    time.sleep(1)
    last = wait()
    time.sleep(0.5)
    for _ in early[1:]:
        server.accept()[0].close()
    print("connected" if os.waitpid(last, 0)[1] == 0 else "refused")


def foreign_unix_server(path):
    """A server outside, also behind a link, and with a link that leads to an own server when it is looked at and to the other one later."""
    import threading
    os.symlink(path, "to_foreign")
    for name in (path, "to_foreign", "\0" + path):
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(name)
                print("reached", name)
        except OSError:
            pass
    own = socket.socket(socket.AF_UNIX)
    own.bind("own")
    own.listen(1000)
    os.symlink("own", "to_own")
    swapping = True

    def swap():
        while swapping:
            for target in ("to_foreign", "to_own"):
                os.link(target, "next", follow_symlinks=False)
                os.rename("next", "swapped")
                # The names of one file: renaming does nothing then.
                if os.path.lexists("next"):
                    os.unlink("next")

    os.link("to_own", "swapped", follow_symlinks=False)
    swapper = threading.Thread(target=swap)
    swapper.start()
    for _ in range(1000):
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect("swapped")
                if client.getpeername() != "own":
                    print("reached", client.getpeername())
            except OSError:
                pass
    swapping = False
    swapper.join()


def changed_bind():
    """An address of the internet, and a socket for it, in the place of a path that was looked at."""
    import threading
    unix = socket.socket(socket.AF_UNIX)
    path = struct.pack("=H108s", socket.AF_UNIX, b"missing/socket")
    internet = struct.pack("=H", socket.AF_INET) + struct.pack("!H", 0) + bytes(104)
    address = ctypes.create_string_buffer(path, len(path))
    number = os.dup(unix.fileno())
    attempts = [socket.socket() for _ in range(300)]
    current = [attempts[0]]
    changing = True

    def change():
        while changing:
            os.dup2(unix.fileno(), number)
            ctypes.memmove(address, path, len(path))
            os.dup2(current[0].fileno(), number)
            ctypes.memmove(address, internet, len(internet))

    changer = threading.Thread(target=change)
    changer.start()
    for current[0] in attempts:
        for _ in range(5):
            libc.bind(number, address, len(internet))
    changing = False
    changer.join()
    for attempt in attempts:
        host, port = attempt.getsockname()
        if port != 0 and not host.startswith("127."):
            print("bound to", host)
            break


def inherited():
    """Descriptors that nobody in the room has opened."""
    for number in range(3, 1024):
        try:
            print(number, os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            pass


def datagram(path):
    """Sends to a Unix datagram socket that a server outside listens on."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        for send in ("sendto", "sendmsg", "connect"):
            try:
                one, other = socket.socketpair(socket.AF_UNIX, kind)
                if send == "sendto":
                    one.sendto(b"escaped", path)
                elif send == "sendmsg":
                    one.sendmsg([b"escaped"], [], 0, path)
                else:
                    one.connect(path)
                    one.send(b"escaped")
                print(send, "reached", path)
            except OSError:
                pass


def pairs():
    """Pairs of sockets, which runtimes use to talk to their children."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        one.send(b"x")
        assert other.recv(1) == b"x"
    print("works")


def terminal(path):
    """Opens the terminal of someone else."""
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            os.close(os.open(path, flags | os.O_NOCTTY))
            print("opened", path)
        except OSError:
            pass


def own_terminal():
    """A terminal of its own, as test runners and agents open them."""
    import pty
    child, master = pty.fork()
    if child == 0:
        os.execlp("sh", "sh", "-c", "test -t 0 && test -t 1 && stty size < /dev/tty > /dev/null && echo inside")
    text = b""
    while True:
        try:
            piece = os.read(master, 1024)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.waitpid(child, 0)
    print(text.decode().strip())


def shared_memory(name):
    """Opens, reads and creates memory that programs outside share."""
    for path in (f"/dev/shm/{name}", f"/dev/shm/{name}-new"):
        try:
            fd = os.open(path, os.O_RDWR | (os.O_CREAT if path.endswith("new") else 0), 0o600)
            print("opened", path, os.read(fd, 100))
        except OSError:
            pass


def system_v(key, size):
    """System V memory, semaphores and messages of the machine, and POSIX message queues."""
    key, size = int(key), int(size)
    identifier, error = call("shmget", key, size, 0)
    if not error:
        print("shmget found", identifier)
    for name, args in {
        "shmget": (IPC_PRIVATE, 4096, IPC_CREAT | 0o600), "semget": (IPC_PRIVATE, 1, IPC_CREAT | 0o600),
        "msgget": (IPC_PRIVATE, IPC_CREAT | 0o600), "mq_open": (b"autonoe-test", os.O_CREAT | os.O_RDWR, 0o600, None),
    }.items():
        identifier, error = call(name, *args)
        if not error:
            print(name, "done")
            remove = {"shmget": ("shmctl", identifier, 0, None), "semget": ("semctl", identifier, 0, 0),
                      "msgget": ("msgctl", identifier, 0, None), "mq_open": ("mq_unlink", b"autonoe-test")}[name]
            call(*remove)
    for name, args in {"shmat": (0, None, 0), "shmctl": (0, 2, None), "semctl": (0, 0, 2), "msgctl": (0, 2, None),
                       "semop": (0, None, 0), "msgrcv": (0, None, 0, 0, 0o4000)}.items():
        _, error = call(name, *args)
        if error not in (errno.EPERM, errno.ENOSYS):
            print(name, name_of(error))


def setuid(path):
    """Sets the bit that runs a file as its owner."""
    with open(path, "w"):
        pass
    os.chmod(path, 0o755)
    attempts = [lambda: os.chmod(path, 0o4755), lambda: os.chmod(path, 0o6755)]
    fd = os.open(path, os.O_RDONLY)
    attempts.append(lambda: os.fchmod(fd, 0o4755))
    attempts.append(lambda: check(call(452, -100, path.encode(), 0o4755, 0)))
    for attempt in attempts:
        try:
            attempt()
        except OSError:
            pass
        if os.stat(path).st_mode & 0o4000:
            print("the bit was set")
            os.chmod(path, 0o755)


def set_id_files():
    """Creates files that have the bits from the start, by each call that creates files. Prints the calls that made one."""
    os.umask(0)
    where, created = b"d", os.O_CREAT | os.O_WRONLY
    os.mkdir(where)
    x86 = platform.machine() == "x86_64"
    for bits in (0o4755, 0o2755, 0o6755):
        how = struct.pack("QQQ", created, bits, 0)
        attempts = {
            "openat": lambda: call("openat", -100, b"d/f", created, bits),
            "openat without writing": lambda: call("openat", -100, b"d/f", os.O_CREAT, bits),
            "openat2": lambda: call(437, -100, b"d/f", how, len(how)),
            "mknodat": lambda: call("mknodat", -100, b"d/f", 0o100000 | bits, 0),
            "mkfifo": lambda: call("mknodat", -100, b"d/f", 0o010000 | bits, 0),
            "mkdirat": lambda: call("mkdirat", -100, b"d/f", bits),
            "O_TMPFILE": lambda: unnamed(where, bits),
            "open": lambda: call(2, b"d/f", created, bits) if x86 else None,
            "creat": lambda: call(85, b"d/f", bits) if x86 else None,
            "mknod": lambda: call(133, b"d/f", 0o100000 | bits, 0) if x86 else None,
        }
        for name, attempt in attempts.items():
            attempt()
            for path in os.listdir(where):
                path = os.path.join(where, path)
                if os.lstat(path).st_mode & 0o6000:
                    print(name, oct(bits))
                os.rmdir(path) if os.path.isdir(path) else os.remove(path)


def unnamed(directory, mode):
    """A file without a name gets one."""
    fd, error = call("openat", -100, directory, os.O_TMPFILE | os.O_WRONLY, mode)
    if not error:
        libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, os.path.join(directory, b"f"), AT_SYMLINK_FOLLOW)


def usual_files():
    """Opens and creates files as programs do; a mode that is not for a new file may be anything."""
    os.umask(0)
    for flags, mode in [(os.O_CREAT | os.O_RDWR, 0o1777), (os.O_RDWR, 0o7777), (os.O_DIRECTORY, 0o7777)]:
        result, error = call("openat", -100, b"." if flags == os.O_DIRECTORY else b"usual", flags, mode)
        if error:
            print("openat", flags, name_of(error))
    unnamed(b".", 0o755)
    if oct(os.stat("f").st_mode) != "0o100755":
        print("O_TMPFILE", oct(os.stat("f").st_mode))
    for name, number, expected in [("openat2", 437, errno.ENOSYS), ("open_tree_attr", 467, errno.EPERM)]:
        _, error = call(number, -100, b".", 0, 0, 0)
        if error != expected:
            print(name, name_of(error))


def check(result):
    if result[1]:
        raise OSError(result[1], "")


def map_shared(mebibytes):
    """Uses memory that is shared, which the limits of the kernel do not count."""
    kept = []
    for _ in range(int(mebibytes) // 16):
        piece = mmap.mmap(-1, 16 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        for offset in range(0, 16 << 20, 4096):
            piece[offset] = 1
        kept.append(piece)
    time.sleep(2)
    print("used", mebibytes)


def write_memory_files(mebibytes):
    """Files in memory that are not mapped."""
    kept = []
    for _ in range(int(mebibytes) // 16):
        fd = os.memfd_create("x")
        for _ in range(16):
            os.write(fd, bytes(1 << 20))
        kept.append(fd)
    time.sleep(3)
    print("used", mebibytes)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
