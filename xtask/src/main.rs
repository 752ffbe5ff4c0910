//! The development tasks of this repository: `cargo xtask test`, `lines`, `docs`, `bench` and `dist`.
//!
//! This file parses the arguments; each task is one file.

#[cfg(feature = "bench")]
mod bench;
mod crate_table;
#[cfg(feature = "dist")]
mod dist;
mod docs;
mod hermetic;
mod lines;
mod memory_directory;
mod npm;
mod optional_task;
mod result;
mod test;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
The development tasks of this repository.

Usage: cargo xtask <TASK>

Tasks:
  test           Check format, lints, tests, doc tests and generated documents
  test --fast    Run the tests only
  lines          Count production and test lines per crate, without blanks and comments
  docs           Write docs/cli.md and docs/man/ from the binary
  docs --check   Fail if these files are out of date, or name a command that does not exist
  bench [--build] [--binary=FILE] [NAME]...
                 Measure in release mode and print a table; --build times a clean build too, --binary measures another
                 version's program.
                 NAME is startup, memory, crowd, append, resume, session, sandbox, policy, checkout,
                 workspace, harness, honesty or size [default: all]; or fleet, harnesses, agents, which installs codex, claude and gemini to
                 compare, or kills, which kills runs of all of them at random moments
  dist [--target TARGET]... [--output DIR] [--sign KEY] [--twice]
                 Make everything that a release publishes from the last commit; KEY is a private SSH key. --twice makes it
                 again from nothing beside it and fails unless both have the same bytes.
                 TARGET is x86_64-unknown-linux-musl or aarch64-unknown-linux-musl [default: both], or on a
                 Mac x86_64-apple-darwin or aarch64-apple-darwin; DIR is target/dist by default
  dist --check [--images] [--output DIR]
                 Install each of them in fresh root file systems, start it, and say what was left out; of the images
                 only base is made, with --images all
  dist --image IMAGE [--agents NAMES] [--output DIR]
                 Make a container image without a daemon: base, node, python, go, rust, ruby, php or full; NAMES are
                 claude, codex and gemini, separated by commas, for images with npm
  dist --images [--output DIR]
                 Make all of these images";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["test"] => test::all(),
        ["test", "--fast"] => test::fast(),
        ["lines"] => lines::print(),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        [] | ["help" | "-h" | "--help", ..] | [_, "-h" | "--help", ..] => {
            println!("{USAGE}");
            Ok(())
        }
        [task @ ("bench" | "dist"), options @ ..] => optional_task::launch(task, options),
        #[cfg(feature = "dist")]
        ["dist-run", options @ ..] => dist::run(options),
        #[cfg(feature = "bench")]
        ["bench-run", options @ ..] => bench::run(options),
        _ => {
            eprintln!("Unknown task `{}`.\n\n{USAGE}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
