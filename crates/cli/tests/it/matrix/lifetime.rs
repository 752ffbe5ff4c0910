//! Scenes about an agent's life: a crash, a conversation that is resumed, twenty sessions in a row.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::backend::{MatrixBackend, Pair};
use super::scenes::STUBBORN;
use crate::gemini;
use crate::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, coding, model, until,
};
use crate::vendors::kill_in;

pub fn crash(pair: &Pair) {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let script = format!("[[conversation]]\nplays = 1\n{STUBBORN}{}", coding("A", "passed"));
    let model = model(&pair.with_own_tool_names(&script));
    let mut command = pair.command(&project, &model, &["run"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    until("the command runs", || project.agents_path("ready.txt").exists());
    kill_in(&project, |line| pair.is_agent(line));
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("retrying").count(), 1);
    let first = run.of_type("session_ended").next().expect("a session");
    assert_eq!(first["outcome"], "execution_error", "{first}");
    assert_eq!(first["fault"]["code"], "agent_crashed", "{first}");
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

pub fn resume(pair: &Pair) {
    const FIRST: &str = "[[conversation.turn]]\ntext = \"remember the word barbarossa\"\n";
    let pass = r#"
        [[conversation.turn]]
        call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
        [[conversation.turn]]
        text = "done"
    "#;
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace().in_repository();
    pair.run(&project, &model(&always(FIRST)), &["run", "-n", "1"]).assert_ended("max_iterations", 4);
    if pair.backend == MatrixBackend::Gemini {
        gemini::backdate_sessions(&project);
    }
    let second = model(&always(&format!("{FIRST}{pass}")));
    let run = pair.run(&project, &second, &["run", "--resume"]);
    run.assert_ended("all_passed", 0);
    let request = second.requests()[0].request.to_string();
    assert!(request.contains("barbarossa"), "the first request includes the conversation");
    let texts: Vec<_> = run.of_type("text").filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(texts, ["done"], "earlier texts are not reported again");
    if pair.backend == MatrixBackend::Codex {
        assert_eq!(run.of_type("usage").count(), second.requests().len(), "no usage is counted twice");
        assert!(run.of_type("usage").all(|event| event["cost_usd"].is_f64()), "its price is known");
    }
    assert_script_followed(&second);
}

/// The session after which everything is loaded; memory at the end is compared with memory then.
const WARM: usize = 5;
/// In kB.
const MAX_GROWTH: u64 = 8 * 1024;

/// They leave no process and no temporary file, and memory does not grow.
pub fn many_sessions(pair: &Pair) {
    // Programs that run in Node.js take seconds to start.
    let sessions = match pair.backend {
        MatrixBackend::Native | MatrixBackend::Codex => 20,
        MatrixBackend::Claude | MatrixBackend::CodexAcp => 8,
        MatrixBackend::Gemini => 6,
    };
    let ids: Vec<String> = (1..=sessions).map(|number| format!("D{number:02}")).collect();
    let project =
        CliTestProject::with_status(&ids.iter().map(|id| (id.as_str(), "pending")).collect::<Vec<_>>());
    let script: String = ids.iter().map(|id| coding(id, "passed")).collect();
    let model = model(&pair.with_own_tool_names(&script));
    let temp = project.home().join("temp");
    fs::create_dir_all(&temp).expect("directory");
    let mut command = pair.command(&project, &model, &["run"]);
    let mut child =
        command.env("TMPDIR", &temp).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let mut sizes = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        if line.expect("read").contains("\"type\":\"session_ended\"") {
            sizes.push(resident(child.id()));
        }
    }
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    assert_eq!(sizes.len(), sessions);
    // The process may end right after the last session.
    let last = sizes.iter().rev().find_map(|size| *size).expect("it was looked at");
    let warm = sizes[WARM - 1].expect("it still ran");
    assert!(sizes[..sessions - 1].iter().all(Option::is_some), "{sizes:?}");
    assert!(last <= warm + MAX_GROWTH, "{sizes:?}");
    assert_no_processes_left(&project);
    let left: Vec<_> =
        fs::read_dir(&temp).expect("directory").map(|entry| entry.expect("entry").path()).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
    assert_script_followed(&model);
}

/// The resident memory of a process in kB; `None` once it has ended.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number"))
}
