//! What is killed: `run` with every agent, `sync`, and a declarative agent. Each does the same however often it is begun anew,
//! and commits often.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use autonoe_scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::bench::agents::{self, BenchVendor};
use crate::bench::project::{BenchProject, id};
use crate::result::Result;

/// Deliverables, or steps, of each job.
const COUNT: usize = 3;

/// Commits of one session.
const COMMITS: usize = 8;

/// One kind of run.
pub struct Job {
    /// What it is called.
    pub name: &'static str,
    /// Its part of all kills.
    pub share: usize,
    /// What is typed at first, and after it was stopped.
    pub commands: [&'static [&'static str]; 2],
    kind: Kind,
    vendor: Option<(BenchVendor, PathBuf)>,
}

#[derive(Clone, Copy)]
enum Kind {
    Run,
    Sync,
    Agent,
}

/// All jobs; the agents of other vendors are installed first.
pub fn jobs() -> Result<Vec<Job>> {
    let run: [&[&str]; 2] = [&["run"], &["run"]];
    let in_place: [&[&str]; 2] = [&["run", "--in-place"], &["run", "--in-place"]];
    let sync: [&[&str]; 2] = [&["sync"], &["sync"]];
    let agent: [&[&str]; 2] = [&["agent", "run", "worker"], &["agent", "run", "worker", "--resume"]];
    let own = |name, share, commands, kind| Job { name, share, commands, kind, vendor: None };
    let mut jobs = vec![
        own("run, native", 40, run, Kind::Run),
        own("run in place, native", 20, in_place, Kind::Run),
        own("sync, native", 10, sync, Kind::Sync),
        own("agent run, native", 10, agent, Kind::Agent),
    ];
    for (name, share, vendor) in [
        ("run, claude", 12, agents::CLAUDE),
        ("run, codex", 12, agents::CODEX),
        ("run, gemini", 5, agents::GEMINI),
    ] {
        let program = vendor.install()?;
        jobs.push(Job { name, share, commands: run, kind: Kind::Run, vendor: Some((vendor, program)) });
    }
    Ok(jobs)
}

impl Job {
    /// A project in which it has not been begun.
    pub fn lay_out(&self) -> Result<BenchProject> {
        let place = match self.kind {
            Kind::Run => BenchProject::with_deliverables(COUNT)?,
            Kind::Sync | Kind::Agent => BenchProject::new()?,
        };
        if matches!(self.kind, Kind::Agent) {
            write_agent(&place)?;
        }
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "Nobody"],
            &["config", "user.email", "nobody@localhost"],
            &["add", "SPEC.md"],
            &["commit", "-q", "-m", "Begin"],
        ] {
            let status = place.command("git".as_ref()).args(arguments).status()?;
            if !status.success() {
                return Err(format!("git {} failed.", arguments.join(" ")).into());
            }
        }
        Ok(place)
    }

    /// What the model says, in the words of the agent.
    pub fn script(&self) -> String {
        let script = match self.kind {
            Kind::Run => (1..=COUNT).map(|number| coding(&id(number))).collect(),
            Kind::Sync => {
                SYNC.to_owned() + &(1..=COUNT).map(|number| verifying(&id(number))).collect::<String>()
            }
            Kind::Agent => STEPS.map(|(step, _)| stepping(step)).concat(),
        };
        match &self.vendor {
            Some((vendor, _)) => vendor.translate(&script),
            None => script,
        }
    }

    /// `autonoe`, told where its model is, and the directory with the agent's program.
    pub fn command(
        &self,
        place: &BenchProject,
        autonoe: &std::path::Path,
        model: &ScriptedServer,
    ) -> Result<(Command, PathBuf)> {
        let programs = place.home().join("bin");
        fs::create_dir_all(&programs)?;
        let mut command = place.command(autonoe);
        match &self.vendor {
            Some((vendor, program)) => {
                let link = programs.join(vendor.name);
                if !link.exists() {
                    std::os::unix::fs::symlink(program, link)?;
                }
                vendor.use_model(&mut command, model);
            }
            None => {
                command.env("ANTHROPIC_API_KEY", "test-key").env("ANTHROPIC_BASE_URL", model.base_url());
            }
        }
        Ok((command, programs))
    }

    /// The name of its agent.
    pub fn backend(&self) -> &'static str {
        self.vendor.as_ref().map_or("native", |(vendor, _)| vendor.name)
    }
}

/// Commits that end with the same files, however often they are begun anew.
fn commits(name: &str) -> String {
    let numbers: Vec<String> = (1..=COMMITS).map(|number| number.to_string()).collect();
    format!(
        "for i in {}; do echo {name}-$i > {name}.txt; git add {name}.txt; git commit -q --allow-empty -m {name}-$i; done",
        numbers.join(" ")
    )
}

fn coding(id: &str) -> String {
    let commits = commits(id);
    format!(
        r#"
[[conversation]]
when = ["one deliverable", "Open, in order of priority:\n- `{id}`"]
  [[conversation.turn]]
  call = [{{ tool = "Bash", input = {{ command = "{commits}" }} }}]
  [[conversation.turn]]
  call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }}]
  [[conversation.turn]]
  text = "Done."
"#
    )
}

const SYNC: &str = r#"
[[conversation]]
when = "in line with the specification"
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__create", input = { deliverables = [
    { id = "D-001", description = "one", acceptanceCriteria = ["works"] },
    { id = "D-002", description = "two", acceptanceCriteria = ["works"] },
    { id = "D-003", description = "three", acceptanceCriteria = ["works"] },
  ] } }]
  [[conversation.turn]]
  text = "In line."
"#;

fn verifying(id: &str) -> String {
    format!(
        r#"
[[conversation]]
when = ["what is really true", "Not verified yet, in order of priority:\n- `{id}`"]
  [[conversation.turn]]
  call = [
    {{ tool = "Bash", input = {{ command = "git status --short; git log --oneline" }} }},
    {{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }},
    {{ tool = "mcp__autonoe__verify", input = {{ deliverableId = "{id}" }} }},
  ]
  [[conversation.turn]]
  text = "It holds."
"#
    )
}

/// The steps and what each prompt says.
const STEPS: [(&str, &str); COUNT] =
    [("work", "Do the first."), ("look", "Do the second."), ("after", "Do the third.")];

fn stepping(step: &str) -> String {
    let commits = commits(step);
    let prompt = STEPS.iter().find(|(name, _)| *name == step).map_or("", |(_, prompt)| prompt);
    format!(
        r#"
[[conversation]]
when = "{prompt}"
  [[conversation.turn]]
  call = [{{ tool = "Bash", input = {{ command = "{commits}" }} }}]
  [[conversation.turn]]
  text = "Done."
"#
    )
}

fn write_agent(place: &BenchProject) -> Result {
    let directory = place.root().join(".autonoe/agents/worker");
    fs::create_dir_all(directory.join("prompts"))?;
    let agent = json!({ "version": "1.0.0", "name": "worker", "description": "Works." });
    let mut steps = serde_json::Map::new();
    for (index, (step, prompt)) in STEPS.iter().enumerate() {
        let file = format!("{step}.md");
        fs::write(directory.join("prompts").join(&file), prompt)?;
        let mut entry = json!({ "prompt": file });
        if let Some((next, _)) = STEPS.get(index + 1) {
            entry["next"] = Value::from(*next);
        }
        steps.insert((*step).to_owned(), entry);
    }
    let steps = json!({ "version": "1.0.0", "entryStep": STEPS[0].0, "steps": steps });
    fs::write(directory.join("agent.json"), agent.to_string())?;
    fs::write(directory.join("steps.json"), steps.to_string())?;
    Ok(())
}
