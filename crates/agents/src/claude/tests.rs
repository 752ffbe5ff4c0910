//! Recorded sessions of the real program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use autonoe_core::fault::Remedy;
use autonoe_core::outcome::SessionEnd;
use serde_json::{Value, json};

use super::message::{AssistantBlock, ClaudeMessage, ClaudeToolRequest};
use super::resume_arguments;
use super::session_result::ClaudeResult;

/// The messages of each recorded session, by the name of the recording.
fn recordings() -> BTreeMap<String, Vec<Value>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude");
    let files = fs::read_dir(directory).expect("fixtures").map(|entry| entry.expect("entry").path());
    files
        .map(|file| {
            let text = fs::read_to_string(&file).expect("read");
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            // Some recordings contain both directions.
            let messages = lines.filter(|line| line["dir"] != ">").map(|line| match line.get("msg") {
                Some(message) => message.clone(),
                None => line,
            });
            (file.file_stem().expect("name").to_string_lossy().into_owned(), messages.collect())
        })
        .collect()
}

fn messages(name: &str) -> Vec<ClaudeMessage> {
    recordings().remove(name).expect("recorded").into_iter().map(ClaudeMessage::read).collect()
}

fn ends(name: &str) -> Vec<SessionEnd> {
    let mut limit = None;
    let mut outcomes = Vec::new();
    for message in messages(name) {
        match message {
            ClaudeMessage::RateLimited(info) => limit = Some(info),
            ClaudeMessage::Result(result) => outcomes.push(result.outcome(limit.as_ref())),
            _ => {}
        }
    }
    outcomes
}

#[test]
fn no_recorded_message_is_unknown() {
    let recordings = recordings();
    assert!(recordings.len() > 30, "{}", recordings.len());
    for (name, messages) in recordings {
        for message in messages {
            let kind = message["type"].to_string();
            let read = ClaudeMessage::read(message);
            assert!(
                !matches!(read, ClaudeMessage::Unknown(_) | ClaudeMessage::UnknownRequest { .. }),
                "{name}: {kind} {read:?}"
            );
        }
    }
}

#[test]
fn an_earlier_conversation_is_resumed_in_a_copy() {
    assert_eq!(
        resume_arguments(Some(&json!({ "claude_session": "s" }))),
        ["--resume", "s", "--fork-session"]
    );
    let none = Vec::<String>::new();
    assert_eq!(
        (resume_arguments(None), resume_arguments(Some(&json!({ "codex_thread": "t" })))),
        (none.clone(), none)
    );
}

#[test]
fn an_unknown_message_is_reported_by_its_type() {
    let read = |message| ClaudeMessage::read(message);
    assert_eq!(read(json!({ "type": "dance" })), ClaudeMessage::Unknown("dance".to_owned()));
    assert_eq!(
        read(json!({ "type": "system", "subtype": "new" })),
        ClaudeMessage::Unknown("system/new".to_owned())
    );
    assert_eq!(
        read(json!({ "type": "control_request", "request_id": "7", "request": { "subtype": "sing" } })),
        ClaudeMessage::UnknownRequest { request: "7".to_owned(), what: "sing".to_owned() }
    );
}

#[test]
fn background_sub_agents_are_counted_and_commands_are_not() {
    let task = |kind: &str| json!({ "task_id": "x", "task_type": kind, "description": "d" });
    let read = |tasks: &[Value]| {
        ClaudeMessage::read(
            json!({ "type": "system", "subtype": "background_tasks_changed", "tasks": tasks }),
        )
    };
    assert_eq!(read(&[task("local_bash"), task("local_bash")]), ClaudeMessage::SubAgents { working: 0 });
    assert_eq!(read(&[task("local_bash"), task("local_agent")]), ClaudeMessage::SubAgents { working: 1 });
    assert_eq!(read(&[]), ClaudeMessage::SubAgents { working: 0 });
    let working: Vec<_> = messages("subagent")
        .into_iter()
        .filter_map(|message| match message {
            ClaudeMessage::SubAgents { working } => Some(working),
            _ => None,
        })
        .collect();
    assert_eq!(working, [1, 0], "as it was recorded");
}

#[test]
fn every_result_has_its_outcome() {
    for name in ["text", "tools", "hook-blocked", "recover", "cut", "midoverload", "mcp-stdio", "schema"] {
        assert_eq!(ends(name).last(), Some(&SessionEnd::Completed), "{name}");
    }
    assert_eq!(ends("maxturns"), [SessionEnd::MaxTurns]);
    assert!(matches!(ends("maxbudget")[..], [SessionEnd::BudgetExceeded { .. }]));
    let [SessionEnd::QuotaExceeded { message, resets_at: Some(resets_at) }] = &ends("usagelimit-oauth")[..]
    else {
        panic!("{:?}", ends("usagelimit-oauth"));
    };
    assert!(message.contains("5-hour limit"), "{message}");
    assert_eq!(resets_at.as_second(), 1_794_711_600);
}

#[test]
fn errors_are_classified_by_remedy() {
    for (name, code, remedy) in [
        ("badkey", "not_logged_in", Remedy::Person),
        ("usagelimit-apikey", "rate_limited", Remedy::Wait),
        ("resume-missing", "agent_failed", Remedy::Retry),
    ] {
        let [SessionEnd::ExecutionError { fault }] = &ends(name)[..] else {
            panic!("{name}: {:?}", ends(name))
        };
        assert_eq!((fault.code.as_str(), fault.remedy), (code, remedy), "{name}");
    }
    for (status, code) in
        [(529, "overloaded"), (500, "service_failed"), (404, "unknown_model"), (403, "not_logged_in")]
    {
        let message =
            json!({ "is_error": true, "subtype": "success", "api_error_status": status, "result": "x" });
        let outcome = ClaudeResult::read(&message).outcome(None);
        assert!(
            matches!(&outcome, SessionEnd::ExecutionError { fault } if fault.code == code),
            "{outcome:?}"
        );
    }
}

#[test]
fn an_answer_is_structured_or_text() {
    let answer = |name: &str| {
        let ended = messages(name).into_iter().find_map(|message| match message {
            ClaudeMessage::Result(result) => Some(result.answer),
            _ => None,
        });
        ended.expect("an end")
    };
    assert_eq!(answer("schema"), r#"{"answer":"42"}"#);
    assert!(answer("text").contains("The answer is 42"), "{}", answer("text"));
    let message =
        json!({ "is_error": true, "subtype": "error_max_structured_output_retries", "errors": ["x"] });
    let outcome = ClaudeResult::read(&message).outcome(None);
    assert_eq!(outcome.fault().map(|fault| fault.code.as_str()), Some("answer_not_valid"));
}

#[test]
fn is_error_decides_and_defaults_to_failure() {
    for message in [json!({ "subtype": "success", "is_error": true }), json!({ "subtype": "success" })] {
        assert!(
            matches!(ClaudeResult::read(&message).outcome(None), SessionEnd::ExecutionError { .. }),
            "{message}"
        );
    }
}

#[test]
fn calls_requests_and_results_have_the_same_id() {
    let messages = messages("ctl-hookcb");
    let requested = messages.iter().find_map(|message| match message {
        ClaudeMessage::ToolRequest { request: ClaudeToolRequest::Hook { call, cwd }, .. } => {
            Some((call, cwd))
        }
        _ => None,
    });
    let (requested, cwd) = requested.expect("a hook request");
    assert_eq!(cwd.as_deref(), Some("/home/user/wd"));
    let called = messages.iter().find_map(|message| match message {
        ClaudeMessage::Assistant { blocks, .. } => blocks.iter().find_map(|block| match block {
            AssistantBlock::Call(call) => Some(call),
            AssistantBlock::Text(_) | AssistantBlock::Thought(_) => None,
        }),
        _ => None,
    });
    assert_eq!(called, Some(requested));
    let result = messages.iter().find_map(|message| match message {
        ClaudeMessage::ToolResults(results) => results.first(),
        _ => None,
    });
    let result = result.expect("an answer");
    assert_eq!((result.id.as_str(), result.is_error), (requested.id.as_str(), true));
    assert!(result.content.contains("denied by hook callback"), "{}", result.content);
}
