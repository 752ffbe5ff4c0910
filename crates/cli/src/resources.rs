//! Checks the resource limits of this process up front: a limit that is too low would cause unrelated, confusing errors later.

use std::sync::{Arc, Mutex};
use std::thread::Builder;

use autonoe_core::fault::{Fault, FaultLayer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Fault code.
pub const TOO_LOW: &str = "resource_limit";

/// Threads and processes of a run at one time, including a vendor's agent.
const THREADS: usize = 48;
const PROBE_STACK: usize = 64 * 1024;

/// Open files that a run needs at least.
const FILES: u64 = 256;
/// Open files that are requested if the hard limit allows.
const WANTED_FILES: u64 = 4096;

/// Minimum file size limit: the journal and agents' files must be able to grow.
const FILE_BYTES: u64 = 64 * MIB;

/// Address space that a run reserves.
const MEMORY_BYTES: u64 = 192 * MIB;
const STACK_BYTES: u64 = 2 * MIB;
/// Stack that is requested if the hard limit allows, as is usual.
const WANTED_STACK: u64 = 8 * MIB;

const MIB: u64 = 1 << 20;

/// Raises the soft limits of stack and data as far as the hard ones allow, for this process and its children, and fails if they stay too
/// low. The kernel ends a process that exceeds them, so nothing could be reported later.
pub fn raise_memory_limits() -> Result<(), Fault> {
    for (name, resource, option, least, wanted) in [
        ("stack", Resource::Stack, "-s", STACK_BYTES, Some(WANTED_STACK)),
        ("data", Resource::Data, "-d", MEMORY_BYTES, None),
    ] {
        let Rlimit { current, maximum } = getrlimit(resource);
        if current.is_some_and(|current| current < least) {
            let wanted = wanted.into_iter().chain(maximum).min();
            // On failure the old limit is checked below.
            let _ = setrlimit(resource, Rlimit { current: wanted, maximum });
        }
        at_least(getrlimit(resource).current, least, |limit| too_little(name, option, limit, least))?;
    }
    Ok(())
}

pub fn check() -> Result<(), Fault> {
    at_least(getrlimit(Resource::As).current, MEMORY_BYTES, |limit| {
        too_little("memory", "-v", limit, MEMORY_BYTES)
    })?;
    at_least(getrlimit(Resource::Fsize).current, FILE_BYTES, |limit| {
        let (limit, least) = (format_bytes(limit), format_bytes(FILE_BYTES));
        let what = format!("The file size limit is {limit} (ulimit -f); autonoe needs at least {least}.");
        (what, "ulimit -f unlimited".to_owned())
    })?;
    files()?;
    threads()
}

/// Raises the limit on open files: the default is for programs that open only a few.
fn files() -> Result<(), Fault> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(WANTED_FILES, |maximum| maximum.min(WANTED_FILES));
    if current.is_some_and(|current| current < wanted) {
        // On failure the old limit is checked below.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    at_least(getrlimit(Resource::Nofile).current, FILES, |limit| {
        let what = format!("The limit on open files is {limit} (ulimit -n); autonoe needs at least {FILES}.");
        (what, "ulimit -n 1024".to_owned())
    })
}

/// Starts the threads for real: several limits apply, and other processes of the user count against them too.
fn threads() -> Result<(), Fault> {
    let barrier = Arc::new(Mutex::new(()));
    let closed = barrier.lock();
    let start = |_| {
        let barrier = Arc::clone(&barrier);
        Builder::new().stack_size(PROBE_STACK).spawn(move || drop(barrier.lock()))
    };
    let mut failed = None;
    let started: Vec<_> = (0..THREADS)
        .map(start)
        .map_while(|thread| thread.map_err(|error| failed = Some(error)).ok())
        .collect();
    drop(closed);
    let count = started.len();
    started.into_iter().for_each(|thread| drop(thread.join()));
    match failed {
        None => Ok(()),
        Some(error) => {
            let what = format!("Only {count} more threads could be started ({error})");
            let why = format!("autonoe needs {THREADS}, for itself and for its agents");
            Err(too_low(format!("{what}; {why}."), "ulimit -u 4096"))
        }
    }
}

fn at_least(
    limit: Option<u64>,
    least: u64,
    describe: impl FnOnce(u64) -> (String, String),
) -> Result<(), Fault> {
    match limit.filter(|limit| *limit < least) {
        None => Ok(()),
        Some(limit) => {
            let (what, remedy) = describe(limit);
            Err(too_low(what, &remedy))
        }
    }
}

/// What is wrong, and the remedy.
fn too_little(name: &str, option: &str, limit: u64, least: u64) -> (String, String) {
    let (limit, least) = (format_bytes(limit), format_bytes(least));
    let what = format!("The {name} limit is {limit} (ulimit {option}); autonoe needs at least {least}.");
    (what, format!("ulimit {option} unlimited"))
}

fn too_low(what: String, remedy: &str) -> Fault {
    Fault::permanent(FaultLayer::Config, TOO_LOW, what)
        .hint(format!("Raise the limit of the shell that starts autonoe, e.g. with `{remedy}`, or of the container or service."))
}

fn format_bytes(bytes: u64) -> String {
    match bytes {
        0..MIB => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
