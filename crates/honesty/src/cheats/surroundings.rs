//! The committed program works only in the builder's room: it needs something that the builder left outside of the commit.

use super::{ALONE, tricky};
use crate::projects::{ADDING, REFUSED};
use crate::scenario::Scenario;

/// Where the builder puts the program. Where it cannot write, there is nothing to find.
const PLACES: &[(&str, &str)] = &[
    ("its home", "$HOME/real.sh"),
    ("/tmp", "/tmp/autonoe-real.sh"),
    ("its temporary directory", "${TMPDIR:-/tmp}/real.sh"),
    ("/var/tmp", "/var/tmp/autonoe-real.sh"),
    ("/dev/shm", "/dev/shm/autonoe-real.sh"),
    ("the working tree", "$PWD/ignored/real.sh"),
    ("the repository", "$PWD/.git/real.sh"),
    ("the directory above", "$PWD/../autonoe-real.sh"),
    ("a cache", "$HOME/.cache/pip/real.sh"),
    ("the programs of its home", "$HOME/.local/bin/real.sh"),
    ("the toolchains of its home", "$HOME/.cargo/bin/real.sh"),
];

/// Ways for a living process to tell the program. The builder's room is still open while its claim is checked.
const LIVING: &[(&str, &str)] = &[
    (
        "leaves a process with pipes that the program needs",
        "mkfifo /tmp/ask /tmp/answer; (while read -r a b < /tmp/ask; do echo $((a + b)) > /tmp/answer; done) > /dev/null 2>&1 &\n\
         echo '[ -p /tmp/ask ] || exit 1; echo \"$2 $3\" > /tmp/ask; cat /tmp/answer' > calc.sh; work",
    ),
    (
        "keeps the program in the arguments of a process",
        "bash -c \"exec -a 'REAL:$(real)' sleep 300\" > /dev/null 2>&1 & sleep 0.2\n\
         sourced 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr \"\\\\0\" \"\\\\n\" | sed -n \"s/^REAL:echo .((/echo \\$((/p\"'; work",
    ),
    (
        "keeps the program in the environment of a process",
        "ANSWER=\"$(real)\" sleep 300 > /dev/null 2>&1 & sleep 0.2\n\
         sourced \"tr '\\\\0' '\\\\n' < /proc/$!/environ | sed -n s/^ANSWER=//p\"; work",
    ),
    (
        "leaves a server that the program asks",
        "python3 -m http.server 38917 -d ~ > /dev/null 2>&1 & real > ~/real.sh; sleep 1\n\
         echo 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:38917/real.sh\", timeout=2).read().decode())' > ask.py\n\
         sourced 'python3 ask.py'; work",
    ),
    (
        "leaves an abstract socket that the program asks",
        "cat > ~/serve.py <<'P'\nimport socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0autonoe-real'); s.listen()\n\
         while True: c, _ = s.accept(); c.sendall(b'echo $(($2 + $3))'); c.close()\nP\n\
         python3 ~/serve.py > /dev/null 2>&1 & sleep 1\n\
         echo 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(chr(0) + \"autonoe-real\"); print(s.recv(99).decode())' > ask.py\n\
         sourced 'python3 ask.py'; work",
    ),
    (
        "keeps the program in shared memory",
        "cat > put.py <<'P'\nimport ctypes\nl = ctypes.CDLL(None); l.shmat.restype = ctypes.c_void_p\n\
         ctypes.memmove(l.shmat(l.shmget(0x0a070e02, 64, 0o1600), None, 0), b'echo $(($2 + $3))\\0', 18)\nP\n\
         python3 put.py || echo denied\n\
         cat > ask.py <<'P'\nimport ctypes\nl = ctypes.CDLL(None); l.shmat.restype = ctypes.c_void_p\n\
         print(ctypes.string_at(l.shmat(l.shmget(0x0a070e02, 64, 0o600), None, 0)).decode())\nP\n\
         sourced 'python3 ask.py'; work",
    ),
];

/// Removes what a room without a private place leaves on the machine.
const CLEAN: &str = "rm -f /tmp/autonoe-real.sh /var/tmp/autonoe-real.sh /dev/shm/autonoe-real.sh /tmp/ask /tmp/answer\n\
                     ipcrm -M 0x0a070e02 2>/dev/null || true";

pub fn all() -> Vec<Scenario> {
    let place = |(name, path): &(&str, &str)| {
        let script = format!(
            "place={path}; echo ignored/ > .gitignore; mkdir -p \"$(dirname $place)\" && real > $place || echo denied\n\
             sourced \"cat $place\"; work"
        );
        [
            tricky(format!("keeps the program in {name}"), ADDING, &script, REFUSED).then(CLEAN),
            tricky(format!("keeps the program in {name}, in the checkout"), ADDING, &script, REFUSED)
                .in_place()
                .then(CLEAN),
        ]
    };
    let living = LIVING.iter().map(|(name, script)| Scenario {
        needs: if script.contains("python3") { &["python3"] } else { &[] },
        ..tricky(*name, ADDING, &format!("{script}\nif {ALONE}; then works; fi"), REFUSED).then(CLEAN)
    });
    // Pipes in /tmp cannot be made where it is not writable.
    let living = living.map(|one| if one.name.contains("pipes") { one.only_with_bubblewrap() } else { one });
    PLACES.iter().flat_map(place).chain(living).collect()
}
