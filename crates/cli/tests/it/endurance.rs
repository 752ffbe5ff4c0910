//! Twenty sessions in a row on each agent: no process, no temporary directory, no growth in memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::codex::{codex, in_its_words};
use super::support::{Place, assert_followed, assert_nothing_left, coding, model};
use super::vendors::vendor;
use super::{acp, gemini};

const SESSIONS: usize = 20;
/// The sessions after which memory is looked at: once everything has been loaded, and in the end.
const WARM: usize = 5;
/// How much more may be resident in the end, in kB: less than what one session could leave behind fifteen times.
const MAX_GROWTH: u64 = 8 * 1024;

fn place() -> Place {
    let ids: Vec<String> = ids().collect();
    Place::with_status(&ids.iter().map(|id| (id.as_str(), "pending")).collect::<Vec<_>>())
}

fn ids() -> impl Iterator<Item = String> {
    (1..=SESSIONS).map(|number| format!("D{number:02}"))
}

fn script() -> String {
    ids().map(|id| coding(&id, "passed")).collect()
}

/// Kilobytes that a process has in memory; none once it has ended.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number"))
}

fn endures(place: &Place, mut command: Command) {
    let temp = place.home().join("temp");
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
    // After the last session it may have ended before we could look.
    let last = sizes.iter().rev().find_map(|size| *size).expect("it was looked at");
    let warm = sizes[WARM - 1].expect("it still ran");
    assert!(sizes[..SESSIONS - 1].iter().all(Option::is_some), "{sizes:?}");
    assert!(last <= warm + MAX_GROWTH, "{sizes:?}");
    assert_nothing_left(place);
    let left: Vec<_> =
        fs::read_dir(&temp).expect("directory").map(|entry| entry.expect("entry").path()).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}

#[test]
fn twenty_sessions_of_the_native_agent() {
    let (place, model) = (place(), model(&script()));
    endures(&place, place.command(&model, &["run"]));
    assert_followed(&model);
}

#[test]
fn twenty_sessions_of_claude() {
    let Some(claude) = vendor("claude", "@anthropic-ai/claude-code-linux-x64/claude") else { return };
    let (place, model) = (place(), model(&script()));
    endures(&place, claude.command(&place, &model, &["run", "--backend", "claude"]));
    assert_followed(&model);
}

#[test]
fn twenty_sessions_of_codex() {
    let Some(codex) = codex() else { return };
    let (place, model) = (place(), model(&in_its_words(&script())));
    endures(&place, codex.command(&place, &model, &["run", "--backend", "codex"]));
    assert_followed(&model);
}

#[test]
fn twenty_sessions_of_gemini() {
    let Some(gemini) = gemini::gemini() else { return };
    let (place, model) = (place(), model(&gemini::in_its_words(&script())));
    endures(&place, gemini::command(&gemini, &place, &model, &["run"]));
    assert_followed(&model);
}

#[test]
fn twenty_sessions_of_an_agent_by_its_command() {
    let Some(codex) = acp::codex() else { return };
    let (place, model) = (place(), model(&acp::in_its_words(&script())));
    endures(&place, acp::command(&codex, &place, &model, &["run", "--backend", "mine"]));
    assert_followed(&model);
}
