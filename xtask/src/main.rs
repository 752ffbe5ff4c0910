//! The chores of this repository: `cargo xtask test`, `docs` and `bench`.
//!
//! This file reads what was typed; each chore is a file.

mod bench;
mod docs;
mod hermetic;
mod lines;
mod npm;
mod test;
mod workspace;

use std::error::Error;
use std::process::ExitCode;

/// What a chore returns; the error is a sentence for the person who started it.
type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "\
The chores of this repository.

Usage: cargo xtask <CHORE>

Chores:
  test           Check format, lints, tests, doc tests and generated documents
  test --fast    Run the tests only
  lines          Count production and test lines per crate, without blanks and comments
  docs           Write docs/cli.md and docs/man/ from the binary
  docs --check   Fail if they are not what the binary says
  bench [--build] [NAME]...
                 Measure in release mode and print a table; --build times a clean build too.
                 NAME is startup, memory, crowd, append, resume, session, sandbox, policy, checkout,
                 honesty or size [default: all]; or agents, which installs codex, claude and gemini to compare, or kills,
                 which stops runs of all of them at random moments";

fn main() -> ExitCode {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = typed.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test::all(),
        ["test", "--fast"] => test::fast(),
        ["lines"] => lines::print(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["bench", options @ ..] => bench::launch(options),
        #[cfg(feature = "bench")]
        ["bench-run", options @ ..] => bench::run(options),
        [] | ["help" | "-h" | "--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("There is no chore `{}`.\n\n{USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
