//! `cargo xtask test`: everything that must hold before a change is shared, on a bare machine.
//!
//! A step is a command. The first that fails ends it. What only makes the check better, such as rustfmt or nextest, is
//! used if it is installed; what the tests cannot do without is seen to first.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Instant;

use crate::hermetic::Home;
use crate::workspace::{cargo, has_cargo_command};
use crate::{Result, docs, npm};

/// Programs that tests or the build start, and the Debian package of each.
const NEEDED: [(&str, &str); 3] = [("git", "git"), ("bash", "bash"), ("cc", "gcc")];

/// Programs without which some tests are skipped, and the Debian package of each: shell commands are tried out for real
/// only where bubblewrap can shut them in.
const WANTED: [(&str, &str); 1] = [("bwrap", "bubblewrap")];

/// The same for tests that talk to public servers and to other agents, which are written for node, and to a browser.
const NODE: [(&str, &str); 3] = [("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")];

/// The benchmarks are part of what is linted and tested.
const WITH_BENCHMARKS: &str = "--features=xtask/bench";

const LINTS: [&str; 7] = ["clippy", "--workspace", "--all-targets", WITH_BENCHMARKS, "--", "-D", "warnings"];

/// Every step.
pub fn all() -> Result {
    let start = Instant::now();
    let home = Home::new()?;
    step("needs", "the programs and crates that the rest needs", needs)?;
    optional("fmt", "format", "rustfmt", &home, &["fmt", "--all", "--check"])?;
    optional("clippy", "lints", "clippy", &home, &LINTS)?;
    tests(&home)?;
    cargo_step("doc tests", &home, &["test", "--workspace", "--doc"])?;
    step("documents", "cargo xtask docs --check", docs::check)?;
    println!("== all steps passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The tests only.
pub fn fast() -> Result {
    tests(&Home::new()?)
}

fn tests(home: &Home) -> Result {
    let workspace = ["--workspace", "--no-fail-fast", WITH_BENCHMARKS];
    if has_cargo_command("nextest") {
        return cargo_step("tests", home, &[&["nextest", "run"], &workspace[..]].concat());
    }
    println!("== cargo-nextest is not installed; cargo's own runner is slower and checks the same");
    // Everything but the doc tests, which have their own step.
    cargo_step(
        "tests",
        home,
        &[&["test"], &workspace[..], &["--lib", "--bins", "--tests", "--examples"]].concat(),
    )
}

/// Runs a cargo command that a component brings, or says that it is skipped.
fn optional(command: &str, name: &str, component: &str, home: &Home, arguments: &[&str]) -> Result {
    if has_cargo_command(command) {
        return cargo_step(name, home, arguments);
    }
    println!("== {name}: skipped, {component} is not installed (rustup component add {component})");
    Ok(())
}

fn cargo_step(name: &str, home: &Home, arguments: &[&str]) -> Result {
    let shown = format!("cargo {}", arguments.join(" "));
    step(name, &shown, || {
        let status = home.seclude(cargo().args(arguments)).envs(npm::variable()).status()?;
        if status.success() { Ok(()) } else { Err(format!("`{shown}` failed ({status}).").into()) }
    })
}

/// Announces a step, takes it, and says how long it took.
fn step(name: &str, shown: &str, take: impl FnOnce() -> Result) -> Result {
    println!("== {name}: {shown}");
    io::stdout().flush()?;
    let start = Instant::now();
    let result = take();
    let seconds = start.elapsed().as_secs_f64();
    match result {
        Ok(()) => {
            println!("== {name}: ok in {seconds:.1} s");
            Ok(())
        }
        Err(error) => Err(format!("== {name}: FAILED after {seconds:.1} s. {error}").into()),
    }
}

/// Makes sure of the programs, then of the crates: from there on the network and the user's settings are not needed.
fn needs() -> Result {
    want(&NEEDED)?;
    for wanted in [want(&WANTED), want(&NODE).and_then(|()| npm::install())] {
        if let Err(error) = wanted {
            println!("== needs: some tests will be skipped. {error}");
        }
    }
    let status = cargo().args(["fetch", "--quiet"]).status()?;
    if status.success() {
        Ok(())
    } else {
        Err("The crates in Cargo.lock could not be fetched; see above.".into())
    }
}

fn want(programs: &[(&str, &'static str)]) -> Result {
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
    println!("== needs: apt-get install {names}");
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(arguments).args(packages.iter().filter(|_| arguments.contains(&"install")));
        apt.env("DEBIAN_FRONTEND", "noninteractive").status().is_ok_and(|status| status.success())
    };
    // A stale index is worth a try too, so only the installation decides.
    apt(&["update", "-qq"]);
    if apt(&["install", "-y", "-qq", "--no-install-recommends"]) {
        Ok(())
    } else {
        Err(format!("apt-get could not install {names}; install them by hand, then start again.").into())
    }
}

fn is_installed(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|place| place.join(program).is_file()))
}
