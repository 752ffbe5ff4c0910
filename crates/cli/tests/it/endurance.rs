//! Twenty sessions in a row with each agent leave no process and no temporary file, and memory does not grow.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::codex::{codex, with_own_tool_names};
use super::support::{CliTestProject, assert_no_processes_left, assert_script_followed, coding, model};
use super::vendors::vendor;
use super::{acp, gemini};

const SESSIONS: usize = 20;
/// The session after which everything is loaded; memory at the end is compared with memory then.
const WARM: usize = 5;
/// In kB.
const MAX_GROWTH: u64 = 8 * 1024;

fn project() -> CliTestProject {
    let ids: Vec<String> = ids().collect();
    CliTestProject::with_status(&ids.iter().map(|id| (id.as_str(), "pending")).collect::<Vec<_>>())
}

fn ids() -> impl Iterator<Item = String> {
    (1..=SESSIONS).map(|number| format!("D{number:02}"))
}

fn script() -> String {
    ids().map(|id| coding(&id, "passed")).collect()
}

/// The resident memory of a process in kB; `None` once it has ended.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number"))
}

fn assert_endures(project: &CliTestProject, mut command: Command) {
    let temp = project.home().join("temp");
    fs::create_dir_all(&temp).expect("directory");
    let mut child =
        command.env("TMPDIR", &temp).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let mut sizes = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        if line.expect("read").contains("\"type\":\"session_ended\"") {
            sizes.push(resident(child.id()));
        }
    }
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    assert_eq!(sizes.len(), SESSIONS);
    // The process may end right after the last session.
    let last = sizes.iter().rev().find_map(|size| *size).expect("it was looked at");
    let warm = sizes[WARM - 1].expect("it still ran");
    assert!(sizes[..SESSIONS - 1].iter().all(Option::is_some), "{sizes:?}");
    assert!(last <= warm + MAX_GROWTH, "{sizes:?}");
    assert_no_processes_left(project);
    let left: Vec<_> =
        fs::read_dir(&temp).expect("directory").map(|entry| entry.expect("entry").path()).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}

#[test]
fn twenty_sessions_of_the_native_agent() {
    let (project, model) = (project(), model(&script()));
    assert_endures(&project, project.command(&model, &["run"]));
    assert_script_followed(&model);
}

#[test]
fn twenty_sessions_of_claude() {
    let Some(claude) = vendor("claude", "@anthropic-ai/claude-code-linux-x64/claude") else { return };
    let (project, model) = (project(), model(&script()));
    assert_endures(&project, claude.command(&project, &model, &["run", "--backend", "claude"]));
    assert_script_followed(&model);
}

#[test]
fn twenty_sessions_of_codex() {
    let Some(codex) = codex() else { return };
    let (project, model) = (project(), model(&with_own_tool_names(&script())));
    assert_endures(&project, codex.command(&project, &model, &["run", "--backend", "codex"]));
    assert_script_followed(&model);
}

#[test]
fn twenty_sessions_of_gemini() {
    let Some(gemini) = gemini::gemini() else { return };
    let (project, model) = (project(), model(&gemini::with_own_tool_names(&script())));
    assert_endures(&project, gemini::command(&gemini, &project, &model, &["run"]));
    assert_script_followed(&model);
}

#[test]
fn twenty_sessions_of_an_acp_agent() {
    let Some(codex) = acp::codex() else { return };
    let (project, model) = (project(), model(&acp::with_own_tool_names(&script())));
    assert_endures(&project, acp::command(&codex, &project, &model, &["run", "--backend", "mine"]));
    assert_script_followed(&model);
}
