//! The main job in a fresh system: the installed autonoe drives the real claude, whose model is a script, until a check has passed and the
//! commit has landed.

use std::fs;
use std::path::PathBuf;

use autonoe_scripted::{ModelScript, ScriptedServer};

use super::fresh_root::FreshRoot;
use super::trial::Trial;
use crate::npm;
use crate::result::Result;

const PROGRAM: &str = "@anthropic-ai/claude-code-linux-x64/claude";

const SPEC: &str = "# Greeting\n\n```check A-1\n$ sh greet.sh\nhello\n```\n";

const SCRIPT: &str = r#"
[[conversation]]
name = "planner"
when = "lay the foundation"
plays = 1
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__create", input = { deliverables = [{ id = "A-1", description = "A greeting", acceptanceCriteria = ["it greets"] }] } }]
  [[conversation.turn]]
  text = "Planned."

[[conversation]]
name = "builder"
when = "one deliverable"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "echo 'echo hello' > greet.sh && git add greet.sh && git commit -qm 'Add a greeting'" } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A-1", status = "passed" } }]
  [[conversation.turn]]
  text = "Done."
"#;

/// What a user does: a repository with a specification, then `autonoe run`.
const RUN: &str = "mkdir -p ~/job && cd ~/job && cp /SPEC.md . && git init -q -b main . \
                   && git config user.name User && git config user.email user@example.invalid \
                   && git add SPEC.md && git commit -qm Begin";

pub fn try_in(root: &FreshRoot, autonoe: &str) -> Result<Trial> {
    let program = program()?;
    if !program.is_file() {
        return Ok(Trial::LeftOut("claude is not packaged for this machine".to_owned()));
    }
    fs::create_dir_all(root.path().join("usr/local/bin"))?;
    fs::copy(program, root.path().join("usr/local/bin/claude"))?;
    fs::write(root.path().join("SPEC.md"), SPEC)?;
    let model = ScriptedServer::start(ModelScript::parse(SCRIPT)?)?;
    let key = format!("ANTHROPIC_API_KEY=never-real ANTHROPIC_BASE_URL={}", model.base_url());
    let said = root.as_user_with_network(&format!("{RUN} && {key} {autonoe} run --backend claude -n 4"))?;
    let log = root.as_user("cd ~/job && git log --format=%s && sh greet.sh")?;
    let problems = model.problems();
    match said.contains("1 verified") && log.contains("Add a greeting") && log.contains("hello") {
        true if problems.is_empty() => {
            Ok(Trial::Passed("claude has built what a check has verified, and it has landed".to_owned()))
        }
        _ => Err(format!("the run ended without it; {problems:?}:\n{said}\n{log}").into()),
    }
}

fn program() -> Result<PathBuf> {
    npm::install()?;
    Ok(npm::directory()?.join("node_modules").join(PROGRAM))
}
