//! Recorded turns of the real program, and the end of each.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use autonoe_core::fault::Remedy;
use autonoe_core::outcome::SessionEnd;
use serde_json::{Value, json};

use super::super::item::{Deed, Kind};
use super::line::Line;

/// What `codex exec` said in each recorded turn, by the name of the recording.
fn recordings() -> BTreeMap<String, Vec<Line>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/codex");
    let files = fs::read_dir(directory).expect("fixtures").map(|entry| entry.expect("entry").path());
    let named = files.map(|file| (file.file_stem().expect("name").to_string_lossy().into_owned(), file));
    let exec = named.filter(|(name, _)| !name.starts_with("appserver-"));
    exec.map(|(name, file)| {
        let text = fs::read_to_string(&file).expect("read");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        (name, lines.map(|line| Line::read(&line, 1)).collect())
    })
    .collect()
}

fn recorded(name: &str) -> Vec<Line> {
    recordings().remove(name).expect("recorded")
}

fn end(name: &str) -> SessionEnd {
    let ends = recorded(name).into_iter().filter_map(|line| match line {
        Line::Ended { ending, .. } => Some(ending.outcome(None)),
        _ => None,
    });
    let ends: Vec<SessionEnd> = ends.collect();
    assert_eq!(ends.len(), 1, "{name}: {ends:?}");
    ends[0].clone()
}

/// What was done in a recording, as it was told in the end.
fn deeds(name: &str) -> Vec<Deed> {
    let done = recorded(name).into_iter().filter_map(|line| match line {
        Line::Done(item) => Some(item.kind),
        _ => None,
    });
    done.filter_map(|kind| match kind {
        Kind::Did(deed) => Some(deed),
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
            lines.iter().any(|line| matches!(line, Line::Thread(thread) if thread.len() == 36)),
            "{name}"
        );
        for line in lines {
            match &line {
                Line::Unknown(_) => panic!("{name}: {line:?}"),
                Line::Begun(item) | Line::Done(item) => {
                    assert!(!matches!(item.kind, Kind::Unknown(_)), "{name}: {item:?}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn an_unknown_line_is_told_by_its_name() {
    assert_eq!(Line::read(&json!({ "type": "dance.started" }), 1), Line::Unknown("dance.started".to_owned()));
    let line = Line::read(&json!({ "type": "item.completed", "item": { "id": "i", "type": "new_step" } }), 1);
    assert!(
        matches!(&line, Line::Done(item) if item.kind == Kind::Unknown("newStep".to_owned())),
        "{line:?}"
    );
}

#[test]
fn every_end_has_its_outcome() {
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
    for (words, code) in [
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limited"),
        ("unexpected status 529 Unknown: overloaded", "overloaded"),
        ("unexpected status 404 Not Found: no such model", "unknown_model"),
        ("the status is bad", "agent_failed"),
    ] {
        let line = Line::read(&json!({ "type": "turn.failed", "error": { "message": words } }), 1);
        let Line::Ended { ending, .. } = line else { panic!("{line:?}") };
        assert_eq!(ending.outcome(None).fault().map(|fault| fault.code.as_str()), Some(code), "{words}");
    }
}

#[test]
fn further_tries_are_told() {
    for (name, expected) in [("text", 0), ("cut", 1), ("midoverload", 1), ("recover", 1), ("badkey", 5)] {
        let tries = recorded(name).iter().filter(|line| matches!(line, Line::Retries(_))).count();
        assert_eq!(tries, expected, "{name}");
    }
}

#[test]
fn calls_are_those_that_the_gates_know() {
    let deeds_of_tools = deeds("tools");
    let [command, change] = &deeds_of_tools[..] else { panic!("{deeds_of_tools:?}") };
    assert_eq!(command.calls[0].name, "Bash");
    assert_eq!(command.calls[0].input, json!({ "command": "echo hi-from-shell" }));
    assert_eq!((command.result.as_str(), command.is_error), ("hi-from-shell\n", false));
    assert_eq!(change.calls[0].name, "Write");
    assert_eq!(change.calls[0].input["file_path"], "/home/user/wdx/out.txt");
    let served = deeds("mcp-ns");
    assert_eq!(served[0].calls[0].name, "mcp__fake__echo");
    assert_eq!(served[0].result, "echo: ping-mcp");
}

#[test]
fn an_id_of_another_turn_is_another_id() {
    let line = json!({ "type": "item.started", "item": { "id": "item_0", "type": "command_execution", "command": "ls" } });
    let ids: Vec<String> = [1, 2]
        .map(|turn| match Line::read(&line, turn) {
            Line::Begun(item) => item.id,
            other => panic!("{other:?}"),
        })
        .to_vec();
    assert_eq!(ids, ["1/item_0", "2/item_0"]);
}

#[test]
fn tokens_of_a_conversation_are_read() {
    let total = recorded("tools").into_iter().find_map(|line| match line {
        Line::Ended { total, .. } => total,
        _ => None,
    });
    let total = total.expect("told");
    assert_eq!((total.input_tokens, total.output_tokens), (29_849, 37));
}
