#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;

use super::{ModelScript, ScriptError};
use crate::reply::{DeliveryFault, FaultTiming, ScriptFault, ServiceErrorKind, StopReason};

fn parse(text: &str) -> ModelScript {
    ModelScript::parse(text).unwrap()
}

fn parse_error(text: &str) -> String {
    let message = ModelScript::parse(text).unwrap_err().to_string();
    assert!(!message.contains('\n'), "more than one line: {message}");
    message
}

/// A conversation with one turn, which starts on line 3.
fn turn(keys: &str) -> String {
    format!("[[conversation]]\nname = \"only\"\n[[conversation.turn]]\n{keys}\n")
}

#[test]
fn reads_every_key() {
    let script = parse(
        r#"
        [[conversation]]
        when = ["alpha", "beta"]
        plays = 2
          [[conversation.turn]]
          expect = "gamma"
          thinking = "Hm."
          text = "Reading."
          call = [{ tool = "Read", input = { path = "a", lines = [1, 2], opts = { deep = true, on = 2024-05-01 } } }, { tool = "List" }, { tool = "Raw", input = "{" }]
          usage = { input = 5, cache_write = 7 }
          stop = "max_tokens"
        "#,
    );
    let conversation = &script.conversations[0];
    assert_eq!(conversation.name, "conversation 1");
    assert_eq!(conversation.when, ["alpha", "beta"]);
    assert_eq!(conversation.plays, Some(2));
    let reply = conversation.turns[0].reply.as_ref().unwrap();
    assert_eq!(reply.expect, ["gamma"]);
    assert_eq!(reply.thinking.as_deref(), Some("Hm."));
    assert_eq!(reply.text.as_deref(), Some("Reading."));
    assert_eq!(reply.calls[0].tool, "Read");
    assert_eq!(
        reply.calls[0].input,
        json!({ "path": "a", "lines": [1, 2], "opts": { "deep": true, "on": "2024-05-01" } })
    );
    assert_eq!(reply.calls[1].input, json!({}));
    assert_eq!(reply.calls[2].input, json!("{"));
    assert_eq!((reply.usage.input, reply.usage.output, reply.usage.cache_write), (Some(5), None, Some(7)));
    assert_eq!(reply.stop, StopReason::MaxTokens);
}

#[test]
fn stop_defaults_by_whether_there_are_calls() {
    let script = parse(
        "[[conversation]]\n[[conversation.turn]]\ntext = 'a'\ncall = [{ tool = 'Read' }]\n[[conversation.turn]]\ntext = 'b'",
    );
    let stops: Vec<StopReason> =
        script.conversations[0].turns.iter().map(|turn| turn.reply.as_ref().unwrap().stop).collect();
    assert_eq!(stops, [StopReason::ToolUse, StopReason::EndTurn]);
}

#[test]
fn faults_precede_the_next_reply() {
    let script = parse(
        r#"
        [[conversation]]
          [[conversation.turn]]
          fault = { kind = "cut", times = 2 }
          [[conversation.turn]]
          fault = { kind = "slow", millis = 3 }
          text = "one"
          [[conversation.turn]]
          text = "two"
          [[conversation.turn]]
          fault = { kind = "silence" }
        "#,
    );
    let turns = &script.conversations[0].turns;
    assert_eq!(turns.len(), 3);
    let served: Vec<Option<&ScriptFault>> = (0..4).map(|served| turns[0].fault_after(served)).collect();
    let cut = ScriptFault::Delivery(DeliveryFault::Cut);
    let slow = ScriptFault::Delivery(DeliveryFault::Slow(Duration::from_millis(3)));
    assert_eq!(served, [Some(&cut), Some(&cut), Some(&slow), None]);
    assert!(turns[1].faults.is_empty());
    assert!(turns[2].reply.is_none());
    assert_eq!(
        turns[2].fault_after(0),
        Some(&ScriptFault::Delivery(DeliveryFault::Silence(FaultTiming::AtOnce)))
    );
}

#[test]
fn error_faults_have_status_headers_and_message() {
    let error = |fault: &str| {
        let script = parse(&turn(&format!("fault = {fault}")));
        match script.conversations[0].turns[0].fault_after(0) {
            Some(ScriptFault::Error(error)) => error.clone(),
            other => panic!("{other:?}"),
        }
    };
    let status =
        error(r#"{ kind = "status", status = 529, retry_after = 7, headers = { X-Limit = "rejected" } }"#);
    assert_eq!(status.error.kind, ServiceErrorKind::Status(StatusCode::from_u16(529).unwrap()));
    assert_eq!(status.error.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(status.headers["x-limit"], "rejected");
    assert_eq!((status.error.message, status.timing), (None, FaultTiming::AtOnce));

    let quota = error(r#"{ kind = "quota", retry_after_ms = 250, message = "no", midway = true }"#);
    assert_eq!(quota.error.kind, ServiceErrorKind::Quota);
    assert_eq!(quota.error.retry_after, Some(Duration::from_millis(250)));
    assert_eq!((quota.error.message.as_deref(), quota.timing), (Some("no"), FaultTiming::Midway));
    for (name, kind) in [
        ("invalid_key", ServiceErrorKind::InvalidKey),
        ("context_length", ServiceErrorKind::ContextLength),
        ("overloaded", ServiceErrorKind::Overloaded),
    ] {
        assert_eq!(error(&format!("{{ kind = '{name}' }}")).error.kind, kind);
    }
}

#[test]
fn parse_errors_name_the_line_and_the_key() {
    let cases = [
        ("", "script, line 1: a script needs at least one [[conversation]]"),
        ("[[conversation]]\nname = \"a\"\nplay = 1", "script, line 3: unknown field `play`"),
        ("[[conversation]]\nname = 'a", "script, line 2: "),
        ("[[conversation]]\nname = \"a\"", "line 1: a conversation needs at least one [[conversation.turn]]"),
        ("[[conversation]]\nplays = 0", "`plays` must be at least 1"),
        ("[[conversation]]\nplays = -1", "line 2: "),
        ("[[conversation]]\nwhen = 3", "line 2: expected a string or an array of strings"),
        (
            &turn(""),
            "line 3: a turn needs `text`, `thinking`, `call` or `fault` (conversation \"only\", turn 1)",
        ),
        (&turn("text = ''"), "`text` and `thinking` must not be empty; leave them out instead"),
        (&turn("call = [{ input = {} }]"), "line 4: missing field `tool`"),
        (&turn("call = [{ tool = '' }]"), "`tool` must name a tool"),
        (&turn("call = [{ tool = 'a', input = 3 }]"), "`input` must be a table, or a string"),
        (&turn("text = 'a'\nusage = { output = 1, reasoning = 2 }"), "`reasoning` is part of `output`"),
        (&turn("fault = { kind = 'status' }"), "a `status` fault needs `status`"),
        (&turn("fault = { kind = 'quota', status = 429 }"), "`status` is only for faults of kind `status`"),
        (&turn("fault = { kind = 'quota', millis = 3 }"), "line 4: unknown field `millis`"),
        (
            &turn("fault = { kind = 'quota', retry_after = 1, retry_after_ms = 1 }"),
            "use `retry_after` or `retry_after_ms`, not both",
        ),
        (&turn("text = 'a'\nstop = 'never'"), "line 5: unknown variant `never`"),
        (&turn("text = 'a'\nusage = { inputs = 1 }"), "line 5: unknown field `inputs`"),
        (&turn("fault = { kind = 'explode' }"), "line 4: unknown variant `explode`"),
        (&turn("fault = { kind = 'cut', millis = 3 }"), "line 4: unknown field `millis`"),
        (&turn("fault = { kind = 'cut', times = 0 }"), "line 3: `times` must be from 1 to 10000, got 0"),
        (
            &turn("fault = { kind = 'cut' }\nexpect = 'x'"),
            "`expect`, `usage` and `stop` need a turn with a reply",
        ),
        (&turn("fault = { kind = 'slow', millis = 1 }"), "a `slow` fault needs a reply"),
        (&turn("fault = { kind = 'slow', millis = 60001 }"), "`millis` must be at most 60000, got 60001"),
        (&turn("fault = { kind = 'status', status = 200 }"), "`status` must be from 400 to 599, got 200"),
        (
            &turn("fault = { kind = 'status', status = 429, headers = { 'a b' = 'c' } }"),
            "`a b` is not a valid HTTP header name",
        ),
        (
            &turn("fault = { kind = 'status', status = 429, headers = { a = \"b\\nc\" } }"),
            "the value of header `a` is not a valid HTTP header value",
        ),
        (
            &(turn("text = 'a'") + "[[conversation]]\nname = 'only'\n[[conversation.turn]]\ntext = 'b'"),
            "line 5: two conversations are named \"only\"",
        ),
    ];
    for (text, expected) in cases {
        let message = parse_error(text);
        assert!(message.contains(expected), "for {text:?}\n     got: {message}\nexpected: {expected}");
    }
}

#[test]
fn a_load_error_names_the_file() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "[[conversation]]\nnames = 'x'").unwrap();
    let message = ModelScript::load(file.path()).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("{}, line 2: unknown field `names`", file.path().display())),
        "{message}"
    );

    let missing = file.path().with_extension("missing");
    let error = ModelScript::load(&missing).unwrap_err();
    assert!(matches!(&error, ScriptError::Read { path, .. } if *path == missing), "{error}");
}
