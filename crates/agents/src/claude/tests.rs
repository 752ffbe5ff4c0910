//! Recorded sessions of the real program, and the end of each.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use autonoe_core::fault::Remedy;
use autonoe_core::outcome::SessionEnd;
use serde_json::{Value, json};

use super::ending::Ending;
use super::message::{Asked, Block, Message};
use super::taking_up;

/// What Claude Code said in each recorded session, by the name of the recording.
fn recordings() -> BTreeMap<String, Vec<Value>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude");
    let files = fs::read_dir(directory).expect("fixtures").map(|entry| entry.expect("entry").path());
    files
        .map(|file| {
            let text = fs::read_to_string(&file).expect("read");
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            // Some were recorded with both sides of the conversation.
            let said = lines.filter(|line| line["dir"] != ">").map(|line| match line.get("msg") {
                Some(message) => message.clone(),
                None => line,
            });
            (file.file_stem().expect("name").to_string_lossy().into_owned(), said.collect())
        })
        .collect()
}

fn messages(name: &str) -> Vec<Message> {
    recordings().remove(name).expect("recorded").into_iter().map(Message::read).collect()
}

fn ends(name: &str) -> Vec<SessionEnd> {
    let mut limit = None;
    let mut outcomes = Vec::new();
    for message in messages(name) {
        match message {
            Message::Limited(told) => limit = Some(told),
            Message::Ended(ending) => outcomes.push(ending.outcome(limit.as_ref())),
            _ => {}
        }
    }
    outcomes
}

#[test]
fn no_recorded_message_is_unknown() {
    let recordings = recordings();
    assert!(recordings.len() > 30, "{}", recordings.len());
    for (name, said) in recordings {
        for message in said {
            let kind = message["type"].to_string();
            let read = Message::read(message);
            assert!(
                !matches!(read, Message::Unknown(_) | Message::AsksWhatWeDoNotKnow { .. }),
                "{name}: {kind} {read:?}"
            );
        }
    }
}

#[test]
fn an_earlier_conversation_is_taken_up_in_a_copy() {
    assert_eq!(taking_up(Some(&json!({ "claude_session": "s" }))), ["--resume", "s", "--fork-session"]);
    let none = Vec::<String>::new();
    assert_eq!((taking_up(None), taking_up(Some(&json!({ "codex_thread": "t" })))), (none.clone(), none));
}

#[test]
fn an_unknown_message_is_told_by_its_name() {
    let read = |message| Message::read(message);
    assert_eq!(read(json!({ "type": "dance" })), Message::Unknown("dance".to_owned()));
    assert_eq!(
        read(json!({ "type": "system", "subtype": "new" })),
        Message::Unknown("system/new".to_owned())
    );
    assert_eq!(
        read(json!({ "type": "control_request", "request_id": "7", "request": { "subtype": "sing" } })),
        Message::AsksWhatWeDoNotKnow { request: "7".to_owned(), what: "sing".to_owned() }
    );
}

#[test]
fn sub_agents_are_waited_for_and_commands_are_not() {
    let task = |kind: &str| json!({ "task_id": "x", "task_type": kind, "description": "d" });
    let told = |tasks: &[Value]| {
        Message::read(json!({ "type": "system", "subtype": "background_tasks_changed", "tasks": tasks }))
    };
    assert_eq!(told(&[task("local_bash"), task("local_bash")]), Message::SubAgents { working: 0 });
    assert_eq!(told(&[task("local_bash"), task("local_agent")]), Message::SubAgents { working: 1 });
    assert_eq!(told(&[]), Message::SubAgents { working: 0 });
    let working: Vec<_> = messages("subagent")
        .into_iter()
        .filter_map(|message| match message {
            Message::SubAgents { working } => Some(working),
            _ => None,
        })
        .collect();
    assert_eq!(working, [1, 0], "as it was recorded");
}

#[test]
fn every_end_has_its_outcome() {
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
fn errors_are_told_apart_by_whether_a_person_must_act() {
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
        let outcome = Ending::read(&message).outcome(None);
        assert!(
            matches!(&outcome, SessionEnd::ExecutionError { fault } if fault.code == code),
            "{outcome:?}"
        );
    }
}

#[test]
fn an_answer_is_in_its_form_or_in_words() {
    let answer = |name: &str| {
        let ended = messages(name).into_iter().find_map(|message| match message {
            Message::Ended(ending) => Some(ending.answer),
            _ => None,
        });
        ended.expect("an end")
    };
    assert_eq!(answer("schema"), r#"{"answer":"42"}"#);
    assert!(answer("text").contains("The answer is 42"), "{}", answer("text"));
    let message =
        json!({ "is_error": true, "subtype": "error_max_structured_output_retries", "errors": ["x"] });
    let outcome = Ending::read(&message).outcome(None);
    assert_eq!(outcome.fault().map(|fault| fault.code.as_str()), Some("answer_not_valid"));
}

#[test]
fn is_error_is_believed_and_silence_is_no_success() {
    for message in [json!({ "subtype": "success", "is_error": true }), json!({ "subtype": "success" })] {
        assert!(
            matches!(Ending::read(&message).outcome(None), SessionEnd::ExecutionError { .. }),
            "{message}"
        );
    }
}

#[test]
fn calls_questions_and_results_belong_together() {
    let said = messages("ctl-hookcb");
    let asked = said.iter().find_map(|message| match message {
        Message::Asks { asked: Asked::Hook { call, cwd }, .. } => Some((call, cwd)),
        _ => None,
    });
    let (asked, cwd) = asked.expect("it asks");
    assert_eq!(cwd.as_deref(), Some("/home/user/wd"));
    let called = said.iter().find_map(|message| match message {
        Message::Said { blocks, .. } => blocks.iter().find_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text(_) | Block::Thought(_) => None,
        }),
        _ => None,
    });
    assert_eq!(called, Some(asked));
    let result = said.iter().find_map(|message| match message {
        Message::Results(results) => results.first(),
        _ => None,
    });
    let result = result.expect("an answer");
    assert_eq!((result.id.as_str(), result.is_error), (asked.id.as_str(), true));
    assert!(result.content.contains("denied by hook callback"), "{}", result.content);
}
