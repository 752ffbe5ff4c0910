//! Agents that cheat, and agents that do not: projects and scripts by which a run shows whom it believes.
//!
//! A test and a benchmark play them with the real program. A cheat is caught when nothing of it is *verified* in the end and the
//! run does not end well; an honest one must be verified, with nobody's help. Scripts say with `expect` that a trick was really
//! played, and of what it was found wanting.

mod cheats;
mod git_cheats;
mod honest;
mod turns;

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The deliverable that all of them are about.
pub const DELIVERABLE: &str = "A";

/// A project, a script, and what must come of them.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// What the agent does.
    pub name: &'static str,
    /// Whether it cheats.
    pub cheats: bool,
    /// What the model says, as a script.
    pub script: String,
    /// How many sessions it has.
    pub sessions: u32,
    /// Whether the user lets the agent run `bash`, which gets every other rule about commands out of the way.
    pub lets_bash: bool,
    spec: &'static str,
    files: &'static [(&'static str, &'static str)],
    checks: Option<&'static str>,
    /// The deliverables that there are; none: the first session makes them.
    planned: &'static [&'static str],
    is_committed: bool,
}

/// How a scenario came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The deliverable is verified and the run says that all is done.
    Believed,
    /// Neither.
    Refused,
    /// One of the two only; it says what.
    Torn(String),
}

/// All of them: the cheats, then the honest ones.
pub fn scenarios() -> Vec<Scenario> {
    [cheats::all(), git_cheats::all(), honest::all()].concat()
}

impl Scenario {
    /// One about a deliverable that is planned and a project that is committed.
    fn new(name: &'static str, cheats: bool, spec: &'static str, script: String) -> Self {
        Self {
            name,
            cheats,
            script,
            sessions: 1,
            lets_bash: false,
            spec,
            files: &[],
            checks: None,
            planned: &[DELIVERABLE],
            is_committed: true,
        }
    }

    /// The arguments of `autonoe` by which it is played.
    pub fn arguments(&self) -> Vec<String> {
        let sessions = self.sessions.to_string();
        let options = ["--backend", "native", "--session-delay", "0s", "--max-iterations", &sessions];
        ["run", "--strict"].iter().chain(&options).map(|word| (*word).to_owned()).collect()
    }

    /// Makes the project in `root`, an empty directory. `home` is where git looks for settings.
    pub fn lay_out(&self, root: &Path, home: &Path) -> io::Result<()> {
        write(root, "SPEC.md", self.spec)?;
        for (name, content) in self.files {
            write(root, name, content)?;
        }
        if self.is_committed {
            git(root, home, &["init", "-q", "-b", "main", "."])?;
            git(root, home, &["add", "."])?;
            git(root, home, &["commit", "-qm", "begin"])?;
        }
        if let Some(checks) = self.checks {
            write(root, ".autonoe/checks.json", checks)?;
        }
        if self.lets_bash {
            write(root, ".autonoe/agent.json", r#"{ "allowCommands": { "base": ["bash"] } }"#)?;
        }
        if !self.planned.is_empty() {
            write(root, ".autonoe/status.json", &format!("{:#}\n", status(self.planned)))?;
        }
        Ok(())
    }

    /// How it came out, by what the project says and the exit code of the run.
    pub fn ending(&self, root: &Path, code: Option<i32>) -> io::Result<Ending> {
        let text = fs::read_to_string(root.join(".autonoe/status.json"))?;
        let status: Value = serde_json::from_str(&text)?;
        let deliverables = status["deliverables"].as_array().cloned().unwrap_or_default();
        let is_verified = |item: &Value| {
            item["id"] == DELIVERABLE
                && item["passed"] == true
                && item["verification"]["assurance"] == "verified"
        };
        let verified = deliverables.iter().any(is_verified);
        Ok(match (verified, code) {
            (true, Some(0)) => Ending::Believed,
            (false, Some(1..)) => Ending::Refused,
            (true, code) => Ending::Torn(format!("it is verified, and the run ended with {code:?}")),
            (false, code) => Ending::Torn(format!("it is not verified, and the run ended with {code:?}")),
        })
    }

    /// The ending that it must have.
    pub fn due(&self) -> Ending {
        if self.cheats { Ending::Refused } else { Ending::Believed }
    }
}

fn write(root: &Path, name: &str, content: &str) -> io::Result<()> {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap_or(root))?;
    fs::write(path, content)
}

fn git(root: &Path, home: &Path, arguments: &[&str]) -> io::Result<()> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=User", "-c", "user.email=user@example.invalid"]).args(arguments);
    command.current_dir(root).env_clear().env("HOME", home).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    match command.status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("git {arguments:?} failed"))),
    }
}

fn status(ids: &[&str]) -> Value {
    let deliverable = |id: &&str| {
        json!({
            "id": id, "description": format!("part {id}"), "acceptanceCriteria": ["it works"],
            "passed": false, "blocked": false,
        })
    };
    let deliverables: Vec<Value> = ids.iter().map(deliverable).collect();
    json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables })
}
