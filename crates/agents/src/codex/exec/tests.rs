//! Recorded turns of the real program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use autonoe_core::fault::Remedy;
use autonoe_core::outcome::SessionEnd;
use serde_json::{Value, json};

use super::super::item::{CodexAction, CodexItemKind};
use super::line::ExecLine;

/// The lines of each recorded turn, by the name of the recording.
fn recordings() -> BTreeMap<String, Vec<ExecLine>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/codex");
    let files = fs::read_dir(directory).expect("fixtures").map(|entry| entry.expect("entry").path());
    let named = files.map(|file| (file.file_stem().expect("name").to_string_lossy().into_owned(), file));
    let exec = named.filter(|(name, _)| !name.starts_with("appserver-"));
    exec.map(|(name, file)| {
        let text = fs::read_to_string(&file).expect("read");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        (name, lines.map(|line| ExecLine::read(&line, 1)).collect())
    })
    .collect()
}

fn recorded(name: &str) -> Vec<ExecLine> {
    recordings().remove(name).expect("recorded")
}

fn end(name: &str) -> SessionEnd {
    let ends = recorded(name).into_iter().filter_map(|line| match line {
        ExecLine::TurnCompleted { end, .. } => Some(end.outcome(None)),
        _ => None,
    });
    let ends: Vec<SessionEnd> = ends.collect();
    assert_eq!(ends.len(), 1, "{name}: {ends:?}");
    ends[0].clone()
}

/// The completed actions in a recording.
fn actions(name: &str) -> Vec<CodexAction> {
    let done = recorded(name).into_iter().filter_map(|line| match line {
        ExecLine::ItemCompleted(item) => Some(item.kind),
        _ => None,
    });
    done.filter_map(|kind| match kind {
        CodexItemKind::Action(action) => Some(action),
        _ => None,
    })
    .collect()
}

#[test]
fn no_recorded_line_is_unknown() {
    let recordings = recordings();
    assert!(recordings.len() >= 18, "{}", recordings.len());
    for (name, lines) in recordings {
        assert!(
            lines.iter().any(|line| matches!(line, ExecLine::Thread(thread) if thread.len() == 36)),
            "{name}"
        );
        for line in lines {
            match &line {
                ExecLine::Unknown(_) => panic!("{name}: {line:?}"),
                ExecLine::ItemStarted(item) | ExecLine::ItemCompleted(item) => {
                    assert!(!matches!(item.kind, CodexItemKind::Unknown(_)), "{name}: {item:?}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn an_unknown_line_is_reported_by_its_type() {
    assert_eq!(
        ExecLine::read(&json!({ "type": "dance.started" }), 1),
        ExecLine::Unknown("dance.started".to_owned())
    );
    let line =
        ExecLine::read(&json!({ "type": "item.completed", "item": { "id": "i", "type": "new_step" } }), 1);
    assert!(
        matches!(&line, ExecLine::ItemCompleted(item) if item.kind == CodexItemKind::Unknown("newStep".to_owned())),
        "{line:?}"
    );
}

#[test]
fn every_turn_end_has_its_outcome() {
    for name in [
        "text",
        "tools",
        "codemode",
        "cut",
        "malformed",
        "midoverload",
        "recover",
        "schema",
        "resume",
        "mcp-ns",
    ] {
        assert_eq!(end(name), SessionEnd::Completed, "{name}");
    }
    assert!(matches!(end("usagelimit"), SessionEnd::QuotaExceeded { resets_at: Some(_), .. }));
    let outcome = end("badkey");
    let fault = outcome.fault().expect("a fault");
    assert_eq!((fault.code.as_str(), fault.remedy), ("not_logged_in", Remedy::Person));
    for (message, code) in [
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limited"),
        ("unexpected status 529 Unknown: overloaded", "overloaded"),
        ("unexpected status 404 Not Found: no such model", "unknown_model"),
        ("the status is bad", "agent_failed"),
    ] {
        let line = ExecLine::read(&json!({ "type": "turn.failed", "error": { "message": message } }), 1);
        let ExecLine::TurnCompleted { end, .. } = line else { panic!("{line:?}") };
        assert_eq!(end.outcome(None).fault().map(|fault| fault.code.as_str()), Some(code), "{message}");
    }
}

#[test]
fn retries_are_reported() {
    for (name, expected) in [("text", 0), ("cut", 1), ("midoverload", 1), ("recover", 1), ("badkey", 5)] {
        let retries = recorded(name).iter().filter(|line| matches!(line, ExecLine::Retrying(_))).count();
        assert_eq!(retries, expected, "{name}");
    }
}

#[test]
fn actions_become_calls_that_the_gates_know() {
    let tool_actions = actions("tools");
    let [command, change] = &tool_actions[..] else { panic!("{tool_actions:?}") };
    assert_eq!(command.calls[0].name, "Bash");
    assert_eq!(command.calls[0].input, json!({ "command": "echo hi-from-shell" }));
    assert_eq!((command.result.as_str(), command.is_error), ("hi-from-shell\n", false));
    assert_eq!(change.calls[0].name, "Write");
    assert_eq!(change.calls[0].input["file_path"], "/home/user/wdx/out.txt");
    let served = actions("mcp-ns");
    assert_eq!(served[0].calls[0].name, "mcp__fake__echo");
    assert_eq!(served[0].result, "echo: ping-mcp");
}

#[test]
fn ids_are_unique_across_turns() {
    let line = json!({ "type": "item.started", "item": { "id": "item_0", "type": "command_execution", "command": "ls" } });
    let ids: Vec<String> = [1, 2]
        .map(|turn| match ExecLine::read(&line, turn) {
            ExecLine::ItemStarted(item) => item.id,
            other => panic!("{other:?}"),
        })
        .to_vec();
    assert_eq!(ids, ["1/item_0", "2/item_0"]);
}

#[test]
fn token_totals_are_read() {
    let total = recorded("tools").into_iter().find_map(|line| match line {
        ExecLine::TurnCompleted { total, .. } => total,
        _ => None,
    });
    let total = total.expect("reported");
    assert_eq!((total.input_tokens, total.output_tokens), (29_849, 37));
}
