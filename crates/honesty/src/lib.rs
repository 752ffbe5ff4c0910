//! Scenarios of agents that cheat and agents that do not: projects and scripts that test which claims a run accepts.
//!
//! A test and a benchmark run them with the real program. A cheat is caught if its deliverable is not *verified* in the end
//! and the run fails; an honest agent must be verified. The scripts check with `expect` that each trick was carried out, and
//! why the claim was refused.

mod cheats;
mod git_cheats;
mod honest;
mod turns;

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The deliverable of every scenario.
pub const DELIVERABLE: &str = "A";

/// A project, a script, and the expected outcome.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// What the agent does.
    pub name: &'static str,
    pub cheats: bool,
    /// The script of the model.
    pub script: String,
    pub sessions: u32,
    /// Whether the user allows `bash`, which bypasses every other command rule.
    pub allows_bash: bool,
    spec: &'static str,
    files: &'static [(&'static str, &'static str)],
    checks: Option<&'static str>,
    /// The existing deliverables. If empty, the first session creates them.
    planned: &'static [&'static str],
    is_committed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioOutcome {
    /// The deliverable is verified and the run succeeded.
    Verified,
    /// The deliverable is not verified and the run failed.
    Refused,
    /// Any other combination, with a description.
    Inconsistent(String),
}

/// The cheats, then the honest agents.
pub fn scenarios() -> Vec<Scenario> {
    [cheats::all(), git_cheats::all(), honest::all()].concat()
}

impl Scenario {
    /// A scenario of a committed project with one planned deliverable.
    fn new(name: &'static str, cheats: bool, spec: &'static str, script: String) -> Self {
        Self {
            name,
            cheats,
            script,
            sessions: 1,
            allows_bash: false,
            spec,
            files: &[],
            checks: None,
            planned: &[DELIVERABLE],
            is_committed: true,
        }
    }

    /// The arguments to run `autonoe` with.
    pub fn arguments(&self) -> Vec<String> {
        let sessions = self.sessions.to_string();
        let options = ["--backend", "native", "--session-delay", "0s", "--max-iterations", &sessions];
        ["run", "--strict"].iter().chain(&options).map(|word| (*word).to_owned()).collect()
    }

    /// Creates the project in `root`, an empty directory. `home` is where git looks for settings.
    pub fn create_project(&self, root: &Path, home: &Path) -> io::Result<()> {
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
        if self.allows_bash {
            write(root, ".autonoe/agent.json", r#"{ "allowCommands": { "base": ["bash"] } }"#)?;
        }
        if !self.planned.is_empty() {
            write(root, ".autonoe/status.json", &format!("{:#}\n", status(self.planned)))?;
        }
        Ok(())
    }

    /// Reads the outcome from the project's status and the exit code of the run.
    pub fn outcome(&self, root: &Path, code: Option<i32>) -> io::Result<ScenarioOutcome> {
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
            (true, Some(0)) => ScenarioOutcome::Verified,
            (false, Some(1..)) => ScenarioOutcome::Refused,
            (true, code) => {
                ScenarioOutcome::Inconsistent(format!("verified, but the run ended with {code:?}"))
            }
            (false, code) => {
                ScenarioOutcome::Inconsistent(format!("not verified, but the run ended with {code:?}"))
            }
        })
    }

    pub fn expected_outcome(&self) -> ScenarioOutcome {
        if self.cheats { ScenarioOutcome::Refused } else { ScenarioOutcome::Verified }
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
