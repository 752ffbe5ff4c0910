//! A project in a temporary directory with a home of its own, and `autonoe` in it with nothing of ours.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use autonoe_scripted::{Script, Server};
use autonoe_store::Project;
use serde_json::json;
use tempfile::TempDir;

use crate::Result;

/// A project and a home; gone when this is dropped.
pub struct Place {
    directory: TempDir,
}

impl Place {
    /// A project with nothing in it.
    pub fn empty() -> Result<Self> {
        let place = Self { directory: tempfile::Builder::new().prefix("autonoe-bench-").tempdir()? };
        fs::create_dir_all(place.home())?;
        fs::create_dir_all(place.root())?;
        Ok(place)
    }

    /// A project with a SPEC.md and nothing else.
    pub fn new() -> Result<Self> {
        let place = Self::empty()?;
        fs::create_dir_all(place.root().join(".autonoe"))?;
        fs::write(
            place.root().join("SPEC.md"),
            "# A benchmark\n\nEverything it asks for is in the script.\n",
        )?;
        Ok(place)
    }

    /// A project whose deliverables `D-001`, `D-002`, … are pending.
    pub fn with_deliverables(count: usize) -> Result<Self> {
        let place = Self::new()?;
        place.ask_for(count)?;
        Ok(place)
    }

    /// Makes deliverables pending, whatever came of them before.
    pub fn ask_for(&self, count: usize) -> Result {
        let deliverables: Vec<_> = (1..=count)
            .map(|number| {
                let criteria = ["It can be seen to work.", "It says what is wrong with its input."];
                json!({ "id": id(number), "description": format!("Feature {number} of the benchmark"),
                        "acceptanceCriteria": criteria, "passed": false, "blocked": false })
            })
            .collect();
        let status =
            json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables });
        fs::write(self.root().join(".autonoe/status.json"), serde_json::to_string_pretty(&status)?)?;
        Ok(())
    }

    /// The project's directory.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    /// The project as the store sees it, with the state where `autonoe` looks for it.
    pub fn project(&self) -> Result<Project> {
        Ok(Project::open(&self.root(), &self.home().join(".local/state/autonoe"))?)
    }

    /// A program in the project, with an empty environment but for the path and the home, and nothing to say.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root()).env_clear().env("HOME", self.home());
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// `autonoe run` without pauses, our own agent on the given model.
    pub fn run(&self, autonoe: &Path, model: &Server) -> Command {
        let mut command = self.asking(autonoe, model);
        command.args(["run", "--backend", "native", "--session-delay", "0s"]);
        command
    }

    /// `autonoe` where it finds the given model, without arguments.
    pub fn asking(&self, autonoe: &Path, model: &Server) -> Command {
        let mut command = self.command(autonoe);
        command.env("ANTHROPIC_API_KEY", "test-key").env("ANTHROPIC_BASE_URL", model.base_url());
        command
    }

    /// The same with the agent of another vendor, whose program is found under its usual name.
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

    /// Another agent in the project, told of a proxy that leads nowhere; its temporary files are gone with ours.
    pub fn offline(&self, program: &Path) -> Result<Command> {
        let temporary = self.directory.path().join("tmp");
        fs::create_dir_all(&temporary)?;
        let mut command = self.command(program);
        command.env("TMPDIR", temporary).env("TERM", "dumb").env("LANG", "C.UTF-8");
        for proxy in ["HTTPS_PROXY", "HTTP_PROXY"] {
            command.env(proxy, NOWHERE);
        }
        command.env("NO_PROXY", "127.0.0.1,localhost");
        Ok(command)
    }

    /// The home of what runs here.
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }
}

/// A proxy that nobody is: the discard port of this machine.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The id of a deliverable.
pub fn id(number: usize) -> String {
    format!("D-{number:03}")
}

/// A model that follows `script`, in this process.
pub fn serve(script: &str) -> Result<Server> {
    Ok(Server::start(Script::parse(script)?)?)
}

/// Makes sure that a run ended as it should and that the model was asked what its script expects.
pub fn went_well(status: ExitStatus, expected: i32, model: &Server) -> Result {
    let problems = model.problems();
    if status.code() == Some(expected) && problems.is_empty() {
        return Ok(());
    }
    let problems = problems.join("; ");
    Err(format!("`autonoe run` ended with {status} instead of code {expected}; the model says: {problems:?}")
        .into())
}
