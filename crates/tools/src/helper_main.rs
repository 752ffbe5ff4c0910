//! What a helper process does: the part of our binary that runs in the room.

use std::ffi::OsString;
use std::io::{self, Write};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::helper_process::{FETCH_ARG, PDF_ARG};
use crate::{fetch, pdf};

/// The memory limit of a helper process.
const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// Runs a helper if the first argument of our binary asks for one, and returns the exit code. Call it before doing anything
/// else.
pub fn run_helper_process(arguments: &[OsString]) -> Option<i32> {
    let arguments: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let (role, arguments) = arguments.split_first()?;
    match *role {
        FETCH_ARG => Some(print_result(|| fetch::run(arguments))),
        PDF_ARG => Some(print_result(|| pdf::run(arguments))),
        _ => None,
    }
}

fn print_result<T: Serialize>(work: impl FnOnce() -> T) -> i32 {
    let hard = getrlimit(Resource::Data).maximum;
    let memory = hard.map_or(MAX_MEMORY_BYTES, |hard| hard.min(MAX_MEMORY_BYTES));
    // If this limit cannot be set, the room's own limit applies.
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(memory), maximum: hard });
    // Nobody reads the panic messages of a parser.
    std::panic::set_hook(Box::new(|_| {}));
    let written = serde_json::to_vec(&work()).map(|result| io::stdout().write_all(&result));
    i32::from(!matches!(written, Ok(Ok(()))))
}
