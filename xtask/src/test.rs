//! `cargo xtask test`: all checks that must pass before a change is shared, on a bare machine.
//!
//! A step is a command; the first failure ends the run. Optional tools such as rustfmt and nextest are used if they are
//! installed; required programs are installed first.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::hermetic::TemporaryHome;
use crate::memory_directory::MemoryDirectory;
use crate::result::Result;
use crate::workspace::{cargo, has_cargo_command};
use crate::{docs, npm};

/// Programs that the tests or the build start, with their Debian packages.
const REQUIRED: [(&str, &str); 3] = [("git", "git"), ("bash", "bash"), ("cc", "gcc")];

/// Tests that run shell commands in a real sandbox are skipped without it.
const SANDBOX: [(&str, &str); 1] = [("bwrap", "bubblewrap")];

/// Tests that talk to public MCP servers, to other agents and to a browser are skipped without these.
const NODE: [(&str, &str); 3] = [("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")];

/// Tests of what CI services run are skipped without these.
const SCRIPTS: [(&str, &str); 1] = [("jq", "jq")];

/// Everything that is optional is linted and tested too: the benchmarks, the release, and what only a release can do.
const WITH_ALL_FEATURES: &str = "--features=xtask/bench,xtask/dist,autonoe/full";

const LINTS: [&str; 7] =
    ["clippy", "--workspace", "--all-targets", WITH_ALL_FEATURES, "--", "-D", "warnings"];

/// Everything must be done within 20 minutes. Where the tests alone take longer than this, there is no time for another build.
const TIME_FOR_LINTS: Duration = Duration::from_secs(16 * 60);

pub fn all() -> Result {
    let start = Instant::now();
    let home = TemporaryHome::new()?;
    step("prerequisites", "programs and crates for the other steps", prerequisites)?;
    optional("fmt", "format", "rustfmt", &home, &["fmt", "--all", "--check"])?;
    tests(&home)?;
    // With the features of the tests, so that nothing is built again.
    cargo_step("doc tests", &home, &["test", "--workspace", "--doc", WITH_ALL_FEATURES])?;
    step("documents", "cargo xtask docs --check", docs::check_after_tests)?;
    match start.elapsed() < TIME_FOR_LINTS {
        true => optional("clippy", "lints", "clippy", &home, &LINTS)?,
        false => println!("== lints: left out on this slow machine; `cargo {}` runs them", LINTS.join(" ")),
    }
    println!("== all steps passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

pub fn fast() -> Result {
    tests(&TemporaryHome::new()?)
}

fn tests(home: &TemporaryHome) -> Result {
    let workspace = ["--workspace", "--no-fail-fast", WITH_ALL_FEATURES];
    if has_cargo_command("nextest") {
        // Many tests wait for timers and other programs more than they compute.
        let threads = available_parallelism().map_or(2, NonZero::get) * 2;
        let threads = format!("--test-threads={threads}");
        return cargo_step("tests", home, &[&["nextest", "run", &threads], &workspace[..]].concat());
    }
    println!("== cargo-nextest is not installed; using cargo's own runner, which is slower");
    // All targets except the doc tests, which have their own step.
    cargo_step(
        "tests",
        home,
        &[&["test"], &workspace[..], &["--lib", "--bins", "--tests", "--examples"]].concat(),
    )
}

fn optional(command: &str, name: &str, component: &str, home: &TemporaryHome, arguments: &[&str]) -> Result {
    if has_cargo_command(command) {
        return cargo_step(name, home, arguments);
    }
    println!("== {name}: skipped, {component} is not installed (rustup component add {component})");
    Ok(())
}

fn cargo_step(name: &str, home: &TemporaryHome, arguments: &[&str]) -> Result {
    let shown = format!("cargo {}", arguments.join(" "));
    step(name, &shown, || {
        let mut command = cargo();
        command.args(arguments);
        let memory = MemoryDirectory::new();
        if let Some(memory) = &memory {
            command = memory.around(&command);
        }
        let status = home.isolate(&mut command).envs(npm::variable()).status()?;
        if status.success() { Ok(()) } else { Err(format!("`{shown}` failed ({status}).").into()) }
    })
}

fn step(name: &str, shown: &str, run: impl FnOnce() -> Result) -> Result {
    println!("== {name}: {shown}");
    io::stdout().flush()?;
    let start = Instant::now();
    let result = run();
    let seconds = start.elapsed().as_secs_f64();
    match result {
        Ok(()) => {
            println!("== {name}: ok in {seconds:.1} s");
            Ok(())
        }
        Err(error) => Err(format!("== {name}: FAILED after {seconds:.1} s. {error}").into()),
    }
}

/// Programs first, then crates: the later steps need neither the network nor the user's settings.
fn prerequisites() -> Result {
    install_missing(&REQUIRED)?;
    let node = install_missing(&NODE).and_then(|()| npm::install());
    for optional in [install_missing(&SANDBOX), install_missing(&SCRIPTS), node] {
        if let Err(error) = optional {
            println!("== prerequisites: some tests will be skipped. {error}");
        }
    }
    let status = cargo().args(["fetch", "--quiet"]).status()?;
    if status.success() {
        Ok(())
    } else {
        Err("The crates in Cargo.lock could not be fetched; see above.".into())
    }
}

fn install_missing(programs: &[(&str, &'static str)]) -> Result {
    let missing = packages_of_missing(programs);
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

fn packages_of_missing(programs: &[(&str, &'static str)]) -> Vec<&'static str> {
    let missing = programs.iter().filter(|(program, _)| !is_installed(program));
    missing.map(|(_, package)| *package).collect()
}

fn install(packages: &[&str]) -> Result {
    let names = packages.join(" ");
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root || !is_installed("apt-get") {
        return Err(format!("Install {names} with your system's package manager, then start again.").into());
    }
    println!("== prerequisites: apt-get install {names}");
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(arguments).args(packages.iter().filter(|_| arguments.contains(&"install")));
        apt.env("DEBIAN_FRONTEND", "noninteractive").status().is_ok_and(|status| status.success())
    };
    // The update may fail: the installation can succeed with an old index.
    apt(&["update", "-qq"]);
    if apt(&["install", "-y", "-qq", "--no-install-recommends"]) {
        Ok(())
    } else {
        Err(format!("apt-get could not install {names}. Install them by hand, then start again.").into())
    }
}

fn is_installed(program: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|directory| directory.join(program).is_file()))
}
