//! The agents of other vendors, from the npm packages that `cargo xtask test` installs.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use autonoe_scripted::ScriptedServer;
use autonoe_test_kit::npm_package;
use rustix::process::{Pid, Signal, kill_process};

use super::support::{CliTestProject, RunOutput, assert_no_processes_left, processes_in, signal, until};

pub struct TestVendor {
    name: &'static str,
    program: PathBuf,
}

/// The program `path` below `node_modules`; `None`, with a notice, if the packages are not installed.
pub fn vendor(name: &'static str, path: &str) -> Option<TestVendor> {
    let program = npm_package(path)?;
    Some(TestVendor { name, program })
}

impl TestVendor {
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Puts a script on the search path instead of the program. `REAL` in it stands for the program.
    pub fn replace(&self, project: &CliTestProject, script: &str) {
        let bin = project.home().join("bin");
        std::fs::create_dir_all(&bin).expect("directory");
        let text =
            format!("#!/bin/sh\n{}\n", script.replace("REAL", &format!("'{}'", self.program.display())));
        std::fs::write(bin.join(self.name), text).expect("written");
        std::fs::set_permissions(bin.join(self.name), std::fs::Permissions::from_mode(0o755))
            .expect("executable");
    }

    pub fn packages(&self) -> PathBuf {
        let mut ancestors = self.program.ancestors();
        ancestors.find(|directory| directory.ends_with("node_modules")).expect("npm's packages").to_owned()
    }

    /// Runs `autonoe ARGS` with this agent on the search path.
    pub fn run(&self, project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> RunOutput {
        RunOutput::from(self.command(project, model, args).output().expect("started"))
    }

    pub fn offer(&self, project: &CliTestProject) -> PathBuf {
        let bin = project.home().join("bin");
        std::fs::create_dir_all(&bin).expect("directory");
        let link = bin.join(self.name);
        if !link.exists() {
            symlink(&self.program, &link).expect("linked");
        }
        bin
    }

    pub fn command(&self, project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> Command {
        let bin = self.offer(project);
        let mut command = project.command(model, args);
        command.env("OPENAI_API_KEY", "test-key-never-real").env("OPENAI_BASE_URL", model.base_url());
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
        command
    }
}

/// Interrupts a run while its agent runs a tool that has written `ready.txt`: it must end at once and leave no process.
#[track_caller]
pub fn interrupted_in_a_tool(project: &CliTestProject, mut command: Command) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    signal(&child, Signal::INT);
    RunOutput::from(child.wait_with_output().expect("ended")).assert_ended("interrupted", 130);
    assert_no_processes_left(project);
}

/// Kills autonoe there, once `ready` returns true: no process may keep running.
#[track_caller]
pub fn killed_in_a_tool(project: &CliTestProject, mut command: Command, ready: impl Fn() -> bool) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists() && ready());
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_no_processes_left(project);
}

/// Kills the process in the project whose line, its id and its command, matches.
#[track_caller]
pub fn kill_in(project: &CliTestProject, matches: impl Fn(&str) -> bool) {
    let all = processes_in(&project.root());
    let line = all.iter().find(|line| matches(line)).unwrap_or_else(|| panic!("not among {all:#?}"));
    let pid = line.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    kill_process(pid.expect("pid"), Signal::KILL).expect("killed");
}
