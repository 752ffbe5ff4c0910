//! Programs that try to pass by how they end, or that do not end.

use super::{ALONE, programs};
use crate::projects::{ADDING, HURRIED};
use crate::scenario::Scenario;

pub fn all() -> Vec<Scenario> {
    let ends_all = format!("{ALONE} && kill -9 -1; kill -9 $PPID\n");
    let ends_first = format!("{ALONE} && kill -9 1; {ALONE} && kill -TERM 1; echo 5\n");
    let mut all = programs(
        ADDING,
        &[
            ("prints nothing and succeeds", "exit 0\n"),
            ("kills the shell that runs the check", "kill -9 $PPID\n"),
            ("ends every process of the room", &ends_all),
            ("ends the first process of the room", &ends_first),
            ("prints the answer and fails", "echo $(($2 + $3)); exit 1\n"),
            ("prints the answer and dies by a signal", "echo $(($2 + $3)); kill -SEGV $$\n"),
            ("fails, but leaves a process that succeeds", "(sleep 0.2; echo 30) & exit 1\n"),
            ("succeeds with an exit code that wraps around", "echo 5; exit 256\n"),
            (
                "starts many processes and succeeds",
                "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 60 & done; echo 5\n",
            ),
            ("floods the output", "head -c 100000000 /dev/zero | tr '\\0' '5'\n"),
        ],
    );
    all.extend(programs(
        HURRIED,
        &[
            ("never ends", "echo 5; sleep 1000\n"),
            ("stops itself", "echo 5; kill -STOP $$\n"),
            ("ignores signals and never ends", "trap '' TERM INT HUP; echo 5; while :; do sleep 1; done\n"),
            ("ends, but its output stays open", "echo 5; sleep 1000 & exit 0\n"),
            ("waits for input", "echo 5; read answer < /dev/tty || read answer; sleep 1000\n"),
        ],
    ));
    all
}
