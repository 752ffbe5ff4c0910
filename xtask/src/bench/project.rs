//! A project in a temporary directory with its own home, and commands that run in it isolated from the user's settings.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use autonoe_scripted::{ModelScript, ScriptedServer};
use autonoe_store::Project;
use serde_json::json;
use tempfile::TempDir;

use crate::result::Result;

/// Removed on drop.
pub struct BenchProject {
    directory: TempDir,
}

impl BenchProject {
    pub fn empty() -> Result<Self> {
        let project = Self { directory: tempfile::Builder::new().prefix("autonoe-bench-").tempdir()? };
        fs::create_dir_all(project.home())?;
        fs::create_dir_all(project.root())?;
        Ok(project)
    }

    /// A project with only a SPEC.md.
    pub fn new() -> Result<Self> {
        let project = Self::empty()?;
        fs::create_dir_all(project.root().join(".autonoe"))?;
        fs::write(
            project.root().join("SPEC.md"),
            "# A benchmark\n\nThe script of the model decides what is built.\n",
        )?;
        Ok(project)
    }

    /// A project with pending deliverables `D-001`, `D-002`, ….
    pub fn with_deliverables(count: usize) -> Result<Self> {
        let project = Self::new()?;
        project.set_pending(count)?;
        Ok(project)
    }

    /// Overwrites the status with `count` pending deliverables.
    pub fn set_pending(&self, count: usize) -> Result {
        let deliverables: Vec<_> = (1..=count)
            .map(|number| {
                let criteria = ["It works visibly.", "It reports invalid input."];
                json!({ "id": id(number), "description": format!("Feature {number} of the benchmark"),
                        "acceptanceCriteria": criteria, "passed": false, "blocked": false, "depends": [] })
            })
            .collect();
        let status =
            json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables });
        fs::write(self.root().join(".autonoe/status.json"), serde_json::to_string_pretty(&status)?)?;
        Ok(())
    }

    pub fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub fn store_project(&self) -> Result<Project> {
        Ok(Project::open(&self.root(), &self.home().join(".local/state/autonoe"))?)
    }

    /// A program in the project, with only `PATH` and `HOME` set and without input and output.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root()).env_clear().env("HOME", self.home());
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// `autonoe run` without pauses, with the native agent.
    pub fn run(&self, autonoe: &Path, model: &ScriptedServer) -> Command {
        let mut command = self.with_model(autonoe, model);
        command.args(["run", "--backend", "native", "--session-delay", "0s"]);
        command
    }

    pub fn with_model(&self, autonoe: &Path, model: &ScriptedServer) -> Command {
        let mut command = self.command(autonoe);
        command.env("ANTHROPIC_API_KEY", "test-key").env("ANTHROPIC_BASE_URL", model.base_url());
        command
    }

    /// `autonoe run` with a vendor's agent, whose program is on the path under its usual name.
    pub fn drive(&self, autonoe: &Path, name: &str, program: &Path) -> Result<Command> {
        let programs = self.directory.path().join("bin");
        fs::create_dir_all(&programs)?;
        if !programs.join(name).exists() {
            std::os::unix::fs::symlink(program, programs.join(name))?;
        }
        let mut command = self.command(autonoe);
        command.args(["run", "--backend", name, "--session-delay", "0s"]);
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()));
        Ok(command)
    }

    /// Another agent in the project, with a dead proxy. Its temporary files are removed with the project.
    pub fn offline(&self, program: &Path) -> Result<Command> {
        let temporary = self.directory.path().join("tmp");
        fs::create_dir_all(&temporary)?;
        let mut command = self.command(program);
        command.env("TMPDIR", temporary).env("TERM", "dumb").env("LANG", "C.UTF-8");
        for proxy in ["HTTPS_PROXY", "HTTP_PROXY"] {
            command.env(proxy, DEAD_PROXY);
        }
        command.env("NO_PROXY", "127.0.0.1,localhost");
        Ok(command)
    }

    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }
}

/// The discard port of this machine, where no proxy listens.
const DEAD_PROXY: &str = "http://127.0.0.1:9";

pub fn id(number: usize) -> String {
    format!("D-{number:03}")
}

pub fn serve(script: &str) -> Result<ScriptedServer> {
    Ok(ScriptedServer::start(ModelScript::parse(script)?)?)
}

/// Fails unless the run ended with the expected code and followed the model's script.
pub fn check_run(status: ExitStatus, expected: i32, model: &ScriptedServer) -> Result {
    let problems = model.problems();
    if status.code() == Some(expected) && problems.is_empty() {
        return Ok(());
    }
    let problems = problems.join("; ");
    Err(format!(
        "Expected `autonoe run` to exit with {expected}, got {status}; script problems: {problems:?}"
    )
    .into())
}
