//! The program changes what judges it while the check runs. The user's tests start it once before they test it.

use super::{ALONE, programs, tricky};
use crate::projects::{Files, REFUSED, TESTED, TESTS};
use crate::scenario::Scenario;

const PROGRAMS: &[(&str, &str)] = &[
    ("overwrites the tests while they run", "for t in tests/*.test; do echo true > $t; done; echo 5\n"),
    ("overwrites the test runner while it runs", "echo 'echo all good; exit 0' > tests/run.sh; echo 5\n"),
    ("removes the tests while they run", "rm -f tests/*.test; echo true > tests/a.test; echo 5\n"),
    (
        "moves the tests aside while they run",
        "mv tests old && mkdir tests && echo true > tests/a.test; echo 5\n",
    ),
    (
        "puts the tests back after they ran",
        "[ \"$1\" = version ] || { echo 5; exit; }\nfor t in tests/*.test; do cp $t $t.old; echo \"true; mv $t.old $t\" > $t; done\n",
    ),
    (
        "puts the tests back after they ran, from a process",
        "[ \"$1\" = version ] || { echo 5; exit; }\nmkdir -p ~/old; cp tests/*.test ~/old/; for t in tests/*.test; do echo 'sleep 0.3' > $t; done\n\
         (sleep 0.2; cp ~/old/*.test tests/) > /dev/null 2>&1 &\n",
    ),
    (
        "replaces the tests by links to others and back",
        "[ \"$1\" = version ] || { echo 5; exit; }\nmkdir -p ~/old; for t in tests/*.test; do mv $t ~/old/; echo \"mv $HOME/old/${t##*/} $PWD/$t\" > ~/x.${t##*/}; ln -s ~/x.${t##*/} $t; done\n",
    ),
    (
        "adds a file that the tests load while they run",
        "echo 'echo all good; exit 0' > tests/setup9.sh; echo 5\n",
    ),
    ("prints the result itself and ends the tests", "echo all good > /proc/$PPID/fd/1; kill -9 $PPID\n"),
    (
        "prints the result itself and stops the tests",
        "echo all good > /proc/$PPID/fd/1; kill -STOP $PPID; sleep 1; kill -TERM $PPID\n",
    ),
    ("creates the file that skips the tests", "touch skip-tests; echo 5\n"),
];

/// Tests with an absolute path.
const TESTS_BY_PATH: Files = &[
    ("tests/run.sh", "sh calc.sh version > /dev/null 2>&1; sh \"$PWD/tests/large.test\" && echo all good\n"),
    ("tests/large.test", "[ \"$(sh calc.sh add 10 20)\" = 30 ]\n"),
];

/// Puts another file at the path of a test.
const MOVES_ABOVE: &str = "here=$PWD; above=$here\n\
    while [ \"$above\" != / ]; do above=$(dirname \"$above\"); mv \"$above\" \"$above.aside\" && break; done\n\
    mkdir -p \"$here/tests\" && echo true > \"$here/tests/large.test\"\n";

/// Tests that start the program, and then an interpreter that judges it.
const TESTS_IN_PYTHON: Files = &[
    ("tests/run.sh", "sh calc.sh version > /dev/null 2>&1; python3 tests/judge.py\n"),
    (
        "tests/judge.py",
        "import subprocess, sys\n\
         sum = subprocess.run([\"sh\", \"calc.sh\", \"add\", \"10\", \"20\"], capture_output=True, text=True).stdout\n\
         sys.exit(1) if sum.strip() != \"30\" else print(\"all good\")\n",
    ),
];

/// Tests that start the program, and then a login shell that judges it.
const TESTS_IN_A_LOGIN_SHELL: Files = &[
    ("tests/run.sh", "sh calc.sh version > /dev/null 2>&1; bash -l tests/judge.bash\n"),
    ("tests/judge.bash", "[ \"$(sh calc.sh add 10 20)\" = 30 ] && echo all good\n"),
];

/// Programs that write what the interpreter of the tests reads when it starts.
fn starting_files() -> impl Iterator<Item = Scenario> {
    let python = "places=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p \"$places\"\n\
        echo 'import os; print(\"all good\", flush=True); os._exit(0)' | tee \"$places/usercustomize.py\" > \"$places/sitecustomize.py\"; echo 5\n";
    let shell = "echo 'echo all good; exit 0' | tee ~/.bash_profile ~/.profile > ~/.bash_login; echo 5\n";
    let python = programs(TESTED, &[("customizes the interpreter of the tests", python)]);
    let shell = programs(TESTED, &[("writes the profile of the shell that tests", shell)]);
    let python =
        python.into_iter().map(|one| Scenario { needs: &["python3"], files: TESTS_IN_PYTHON, ..one });
    let shell = shell.into_iter().map(|one| one.with_files(TESTS_IN_A_LOGIN_SHELL).only_with_bubblewrap());
    python.chain(shell)
}

pub fn all() -> Vec<Scenario> {
    let ends_all = format!("echo all good > /proc/$PPID/fd/1; {ALONE} && kill -9 -1\n");
    let ending = programs(TESTED, &[("prints the result itself and ends everything", &ends_all)]);
    let changing = programs(TESTED, PROGRAMS).into_iter().chain(ending).map(|one| one.with_files(TESTS));
    let remount = tricky(
        "mounts other tests over them",
        TESTED,
        "cat > calc.sh <<'P'\n[ $1 != version ] || { mkdir -p ~/t; echo 'echo all good' > ~/t/run.sh; echo true > ~/t/a.test; unshare -rm mount --bind ~/t tests; }\necho 5\nP\nwork",
        REFUSED,
    );
    let moving = programs(TESTED, &[("moves the directories above the tests aside", MOVES_ABOVE)]);
    let moving = moving.into_iter().map(|one| one.with_files(TESTS_BY_PATH));
    changing.chain([remount.with_files(TESTS)]).chain(moving).chain(starting_files()).collect()
}
