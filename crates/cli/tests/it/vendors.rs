//! The agents of other vendors, from the npm packages that `cargo xtask test` installs.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use autonoe_scripted::Server;
use rustix::process::{Pid, Signal, kill_process};

use super::support::{Place, Run, assert_nothing_left, processes_in, signal, wait_until};

/// A vendor's agent.
pub struct Vendor {
    name: &'static str,
    program: PathBuf,
}

/// The program `path` below `node_modules`, or none, loudly, where the packages are not installed.
pub fn vendor(name: &'static str, path: &str) -> Option<Vendor> {
    let Some(packages) = std::env::var_os("AUTONOE_TEST_NPM") else {
        assert!(std::env::var_os("CI").is_none(), "{name}: the npm packages must be there under CI");
        eprintln!("SKIPPED: {name} is not installed; `cargo xtask test` installs it");
        return None;
    };
    let program = PathBuf::from(packages).join("node_modules").join(path);
    assert!(program.exists(), "{} is missing", program.display());
    Some(Vendor { name, program })
}

impl Vendor {
    /// Its program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Puts a script on the search path in its place, which must not be there yet. `REAL` in it is the program.
    pub fn replace(&self, place: &Place, script: &str) {
        let bin = place.home().join("bin");
        std::fs::create_dir_all(&bin).expect("directory");
        let text =
            format!("#!/bin/sh\n{}\n", script.replace("REAL", &format!("'{}'", self.program.display())));
        std::fs::write(bin.join(self.name), text).expect("written");
        std::fs::set_permissions(bin.join(self.name), std::fs::Permissions::from_mode(0o755))
            .expect("executable");
    }

    /// The packages that it was installed with.
    pub fn packages(&self) -> PathBuf {
        let mut places = self.program.ancestors();
        places.find(|place| place.ends_with("node_modules")).expect("npm's packages").to_owned()
    }

    /// Runs `autonoe ARGS` with this agent on the search path, to its end.
    pub fn run(&self, place: &Place, model: &Server, args: &[&str]) -> Run {
        Run::from(self.command(place, model, args).output().expect("started"))
    }

    /// Puts the program on the search path.
    pub fn offer(&self, place: &Place) -> PathBuf {
        let bin = place.home().join("bin");
        std::fs::create_dir_all(&bin).expect("directory");
        let link = bin.join(self.name);
        if !link.exists() {
            symlink(&self.program, &link).expect("linked");
        }
        bin
    }

    /// The same, not started yet.
    pub fn command(&self, place: &Place, model: &Server, args: &[&str]) -> Command {
        let bin = self.offer(place);
        let mut command = place.command(model, args);
        command.env("OPENAI_API_KEY", "test-key-never-real").env("OPENAI_BASE_URL", model.base_url());
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
        command
    }
}

/// Interrupts a run whose agent is in the middle of a tool that has written `ready.txt`: it ends at once and leaves nothing.
#[track_caller]
pub fn interrupted_in_a_tool(place: &Place, mut command: Command) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    wait_until("the command runs", || place.path("ready.txt").exists());
    signal(&child, Signal::INT);
    Run::from(child.wait_with_output().expect("ended")).assert_ended("interrupted", 130);
    assert_nothing_left(place);
}

/// Kills autonoe itself there, once `ready` says so: nothing that it started keeps running.
#[track_caller]
pub fn killed_in_a_tool(place: &Place, mut command: Command, ready: impl Fn() -> bool) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    wait_until("the command runs", || place.path("ready.txt").exists() && ready());
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_nothing_left(place);
}

/// Kills the one process that works in the project and whose line, its id and its command, is sought.
#[track_caller]
pub fn kill_in(place: &Place, is_sought: impl Fn(&str) -> bool) {
    let all = processes_in(&place.project());
    let line = all.iter().find(|line| is_sought(line)).unwrap_or_else(|| panic!("not among {all:#?}"));
    let pid = line.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    kill_process(pid.expect("pid"), Signal::KILL).expect("killed");
}
