#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;

use super::{Script, ScriptError};
use crate::reply::{Fault, Moment, Spoil, StopReason, Trouble};

fn parse(text: &str) -> Script {
    Script::parse(text).unwrap()
}

/// The sentence that a wrong script gets.
fn mistake(text: &str) -> String {
    let sentence = Script::parse(text).unwrap_err().to_string();
    assert!(!sentence.contains('\n'), "more than one line: {sentence}");
    sentence
}

/// A conversation with one turn, on line 3.
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
    let line = conversation.turns[0].line.as_ref().unwrap();
    assert_eq!(line.expect, ["gamma"]);
    assert_eq!(line.thinking.as_deref(), Some("Hm."));
    assert_eq!(line.text.as_deref(), Some("Reading."));
    assert_eq!(line.calls[0].tool, "Read");
    assert_eq!(
        line.calls[0].input,
        json!({ "path": "a", "lines": [1, 2], "opts": { "deep": true, "on": "2024-05-01" } })
    );
    assert_eq!(line.calls[1].input, json!({}));
    assert_eq!(line.calls[2].input, json!("{"));
    assert_eq!((line.usage.input, line.usage.output, line.usage.cache_write), (Some(5), None, Some(7)));
    assert_eq!(line.stop, StopReason::MaxTokens);
}

#[test]
fn stop_follows_from_the_calls() {
    let script = parse(
        "[[conversation]]\n[[conversation.turn]]\ntext = 'a'\ncall = [{ tool = 'Read' }]\n[[conversation.turn]]\ntext = 'b'",
    );
    let stops: Vec<StopReason> =
        script.conversations[0].turns.iter().map(|turn| turn.line.as_ref().unwrap().stop).collect();
    assert_eq!(stops, [StopReason::ToolUse, StopReason::EndTurn]);
}

#[test]
fn faults_stand_in_front_of_the_next_reply() {
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
    let served: Vec<Option<&Fault>> = (0..4).map(|served| turns[0].fault_after(served)).collect();
    let cut = Fault::Spoil(Spoil::Cut);
    let slow = Fault::Spoil(Spoil::Slow(Duration::from_millis(3)));
    assert_eq!(served, [Some(&cut), Some(&cut), Some(&slow), None]);
    assert!(turns[1].faults.is_empty());
    assert!(turns[2].line.is_none());
    assert_eq!(turns[2].fault_after(0), Some(&Fault::Spoil(Spoil::Silence(Moment::AtOnce))));
}

#[test]
fn error_faults_carry_what_the_response_needs() {
    let error = |fault: &str| {
        let script = parse(&turn(&format!("fault = {fault}")));
        match script.conversations[0].turns[0].fault_after(0) {
            Some(Fault::Error(error)) => error.clone(),
            other => panic!("{other:?}"),
        }
    };
    let status =
        error(r#"{ kind = "status", status = 529, retry_after = 7, headers = { X-Limit = "rejected" } }"#);
    assert_eq!(status.complaint.trouble, Trouble::Status(StatusCode::from_u16(529).unwrap()));
    assert_eq!(status.complaint.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(status.headers["x-limit"], "rejected");
    assert_eq!((status.complaint.message, status.moment), (None, Moment::AtOnce));

    let quota = error(r#"{ kind = "quota", retry_after_ms = 250, message = "no", midway = true }"#);
    assert_eq!(quota.complaint.trouble, Trouble::Quota);
    assert_eq!(quota.complaint.retry_after, Some(Duration::from_millis(250)));
    assert_eq!((quota.complaint.message.as_deref(), quota.moment), (Some("no"), Moment::Midway));
    for (kind, trouble) in [
        ("invalid_key", Trouble::InvalidKey),
        ("context_length", Trouble::ContextLength),
        ("overloaded", Trouble::Overloaded),
    ] {
        assert_eq!(error(&format!("{{ kind = '{kind}' }}")).complaint.trouble, trouble);
    }
}

#[test]
fn mistakes_name_the_line_and_the_key() {
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
        (&turn("text = ''"), "`text` and `thinking` may be left out but not empty"),
        (&turn("call = [{ input = {} }]"), "line 4: missing field `tool`"),
        (&turn("call = [{ tool = '' }]"), "`tool` must name a tool"),
        (&turn("call = [{ tool = 'a', input = 3 }]"), "`input` must be a table, or a string"),
        (&turn("text = 'a'\nusage = { output = 1, reasoning = 2 }"), "`reasoning` is a part of `output`"),
        (&turn("fault = { kind = 'status' }"), "a `status` fault needs `status`"),
        (
            &turn("fault = { kind = 'quota', status = 429 }"),
            "`status` belongs to a fault of the kind `status`",
        ),
        (&turn("fault = { kind = 'quota', millis = 3 }"), "line 4: unknown field `millis`"),
        (
            &turn("fault = { kind = 'quota', retry_after = 1, retry_after_ms = 1 }"),
            "`retry_after` and `retry_after_ms` say the same",
        ),
        (&turn("text = 'a'\nstop = 'never'"), "line 5: unknown variant `never`"),
        (&turn("text = 'a'\nusage = { inputs = 1 }"), "line 5: unknown field `inputs`"),
        (&turn("fault = { kind = 'explode' }"), "line 4: unknown variant `explode`"),
        (&turn("fault = { kind = 'cut', millis = 3 }"), "line 4: unknown field `millis`"),
        (&turn("fault = { kind = 'cut', times = 0 }"), "line 3: `times` is 0 and must be from 1 to 10000"),
        (
            &turn("fault = { kind = 'cut' }\nexpect = 'x'"),
            "`expect`, `usage` and `stop` belong to a turn that replies",
        ),
        (&turn("fault = { kind = 'slow', millis = 1 }"), "a `slow` fault needs a reply"),
        (&turn("fault = { kind = 'slow', millis = 60001 }"), "`millis` is 60001 and may be at most 60000"),
        (&turn("fault = { kind = 'status', status = 200 }"), "`status` is 200 and must be from 400 to 599"),
        (
            &turn("fault = { kind = 'status', status = 429, headers = { 'a b' = 'c' } }"),
            "`a b` is not the name of an HTTP header",
        ),
        (
            &turn("fault = { kind = 'status', status = 429, headers = { a = \"b\\nc\" } }"),
            "the value of header `a` is not allowed in HTTP",
        ),
        (
            &(turn("text = 'a'") + "[[conversation]]\nname = 'only'\n[[conversation.turn]]\ntext = 'b'"),
            "line 5: a second conversation is named \"only\"",
        ),
    ];
    for (text, expected) in cases {
        let sentence = mistake(text);
        assert!(sentence.contains(expected), "for {text:?}\n     got: {sentence}\nexpected: {expected}");
    }
}

#[test]
fn loading_names_the_file() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "[[conversation]]\nnames = 'x'").unwrap();
    let sentence = Script::load(file.path()).unwrap_err().to_string();
    assert!(
        sentence.starts_with(&format!("{}, line 2: unknown field `names`", file.path().display())),
        "{sentence}"
    );

    let missing = file.path().with_extension("missing");
    let error = Script::load(&missing).unwrap_err();
    assert!(matches!(&error, ScriptError::Read { path, .. } if *path == missing), "{error}");
}
