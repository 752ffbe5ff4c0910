//! What this process may use of the machine, looked at before anything begins: where a limit is too low, what would happen later has
//! nothing to do with what the user asked for.

use std::sync::{Arc, Mutex};
use std::thread::Builder;

use autonoe_core::fault::{Fault, Layer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The code of the fault that a limit is too low.
pub const TOO_LOW: &str = "resource_limit";

/// Threads and processes that a run has at once, with an agent of a vendor's among them.
const THREADS: usize = 48;
const STACK_OF_A_TRY: usize = 64 * 1024;

/// Files that a run has open at once, or that shells number; and how many it asks for where it may.
const FILES: u64 = 256;
const WANTED_FILES: u64 = 4096;

/// How large the journal may become at least, and what an agent writes.
const FILE_BYTES: u64 = 64 * MIB;

/// How much memory a run reserves, and how much of that for the calls of one thread.
const MEMORY_BYTES: u64 = 192 * MIB;
const STACK: u64 = 512 * 1024;

const MIB: u64 = 1 << 20;

/// Makes sure that a run has what it needs, or says what it has not.
pub fn check() -> Result<(), Fault> {
    for (name, resource, option, least) in [
        ("memory", Resource::As, "-v", MEMORY_BYTES),
        ("data", Resource::Data, "-d", MEMORY_BYTES),
        ("stack", Resource::Stack, "-s", STACK),
    ] {
        at_least(getrlimit(resource).current, least, |limit| {
            let (limit, least) = (shown(limit), shown(least));
            let what =
                format!("The {name} limit is {limit} (ulimit {option}); autonoe needs at least {least}.");
            (what, format!("ulimit {option} unlimited"))
        })?;
    }
    at_least(getrlimit(Resource::Fsize).current, FILE_BYTES, |limit| {
        let (limit, least) = (shown(limit), shown(FILE_BYTES));
        let what = format!("The file size limit is {limit} (ulimit -f); autonoe needs at least {least}.");
        (what, "ulimit -f unlimited".to_owned())
    })?;
    files()?;
    threads()
}

/// Raises the limit on open files as far as we may: the usual one is for programs that have a handful.
fn files() -> Result<(), Fault> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(WANTED_FILES, |maximum| maximum.min(WANTED_FILES));
    if current.is_some_and(|current| current < wanted) {
        // What is not raised is as it was.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    at_least(getrlimit(Resource::Nofile).current, FILES, |limit| {
        let what = format!("The limit on open files is {limit} (ulimit -n); autonoe needs at least {FILES}.");
        (what, "ulimit -n 1024".to_owned())
    })
}

/// Whether so many threads can be had, tried for real: several limits hold them, and others of the user's count too.
fn threads() -> Result<(), Fault> {
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock();
    let start = |_| {
        let gate = Arc::clone(&gate);
        Builder::new().stack_size(STACK_OF_A_TRY).spawn(move || drop(gate.lock()))
    };
    let mut failed = None;
    let started: Vec<_> = (0..THREADS)
        .map(start)
        .map_while(|thread| thread.map_err(|error| failed = Some(error)).ok())
        .collect();
    drop(closed);
    let had = started.len();
    started.into_iter().for_each(|thread| drop(thread.join()));
    match failed {
        None => Ok(()),
        Some(error) => {
            let what = format!("Only {had} more threads could be started ({error})");
            let why = format!("autonoe needs {THREADS}, for itself and for its agents");
            Err(too_low(format!("{what}; {why}."), "ulimit -u 4096"))
        }
    }
}

fn at_least(
    limit: Option<u64>,
    least: u64,
    words: impl FnOnce(u64) -> (String, String),
) -> Result<(), Fault> {
    match limit.filter(|limit| *limit < least) {
        None => Ok(()),
        Some(limit) => {
            let (what, remedy) = words(limit);
            Err(too_low(what, &remedy))
        }
    }
}

fn too_low(what: String, remedy: &str) -> Fault {
    Fault::lasting(Layer::Config, TOO_LOW, what)
        .hint(format!("Raise the limit of the shell that starts autonoe, e.g. with `{remedy}`, or of the container or service."))
}

fn shown(bytes: u64) -> String {
    match bytes {
        0..MIB => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
