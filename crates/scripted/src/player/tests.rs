#![allow(clippy::unwrap_used)]

use super::{PlannedAnswer, ScriptPlayer, side_reply};
use crate::reply::{Prompt, ScriptFault, WireUsage, signature};
use crate::script::ModelScript;

fn player(script: &str) -> ScriptPlayer {
    ScriptPlayer::new(ModelScript::parse(script).unwrap())
}

fn begin(first: &str) -> Prompt {
    Prompt {
        first: first.to_owned(),
        newest: first.to_owned(),
        tools: vec!["Read".to_owned()],
        ..Prompt::default()
    }
}

fn follow(prompt: &Prompt, answer: &PlannedAnswer, newest: &str) -> Prompt {
    let mut next = prompt.clone();
    next.assistants += 1;
    next.newest = newest.to_owned();
    next.call_ids.extend(answer.reply.calls.iter().map(|call| call.id.clone()));
    next
}

/// The conversation, play, turn and text of a reply.
fn summary(answer: &PlannedAnswer) -> (&str, usize, usize, &str) {
    assert!(answer.fault.is_none(), "a fault instead of a reply: {answer:?}");
    let position = &answer.position;
    (&position.conversation, position.play, position.turn, answer.reply.text.as_deref().unwrap())
}

const TWO: &str = r#"
    [[conversation]]
    name = "first"
    when = ["red", "blue"]
    plays = 1
      [[conversation.turn]]
      text = "one"
      call = [{ tool = "Read" }, { tool = "Read" }]
      [[conversation.turn]]
      expect = "found"
      text = "two"
    [[conversation]]
    name = "second"
      [[conversation.turn]]
      text = "uno"
      call = [{ tool = "Read" }]
      [[conversation.turn]]
      text = "due"
      [[conversation.turn]]
      text = "tre"
"#;

#[test]
fn every_when_text_must_occur_in_the_first_message_or_the_system_prompt() {
    let mut player = player(TWO);
    assert_eq!(summary(&player.next(&begin("red only")).unwrap()).0, "second");
    assert_eq!(summary(&player.next(&begin("Red and blue")).unwrap()).0, "second", "case matters");
    let mut prompt = begin("red");
    prompt.system = "paint it blue".to_owned();
    assert_eq!(summary(&player.next(&prompt).unwrap()).0, "first");
}

#[test]
fn the_next_match_is_used_when_plays_run_out() {
    let mut player = player(TWO);
    let names: Vec<String> =
        (0..3).map(|_| player.next(&begin("red blue")).unwrap().position.conversation).collect();
    assert_eq!(names, ["first", "second", "second"]);
}

#[test]
fn a_missing_conversation_is_explained() {
    let only =
        "[[conversation]]\nname = 'only'\nwhen = 'red'\nplays = 1\n[[conversation.turn]]\ntext = 'one'";
    let mut player = player(only);
    let message = player.next(&begin("green\nfields")).unwrap_err().to_string();
    assert_eq!(message, "no conversation matches a request that begins with \"green fields\"");
    player.next(&begin("red")).unwrap();
    let message = player.next(&begin("red")).unwrap_err().to_string();
    assert_eq!(message, "\"only\" has no plays left for a request that begins with \"red\"");
}

#[test]
fn call_ids_distinguish_plays_with_the_same_first_message() {
    let mut player = player(TWO);
    let prompt = begin("red blue");
    let (one, other) = (player.next(&prompt).unwrap(), player.next(&prompt).unwrap());
    assert_eq!(one.reply.calls[1].id, "toolu_1_1_2");
    assert_eq!(other.reply.calls[0].id, "toolu_2_1_1");
    assert_eq!(summary(&player.next(&follow(&prompt, &other, "")).unwrap()), ("second", 2, 2, "due"));
    assert_eq!(summary(&player.next(&follow(&prompt, &one, "found")).unwrap()), ("first", 1, 2, "two"));
}

#[test]
fn without_calls_the_latest_play_with_the_same_first_message_continues() {
    let text_only =
        "[[conversation]]\n[[conversation.turn]]\ntext = 'one'\n[[conversation.turn]]\ntext = 'two'";
    let mut player = player(text_only);
    let (red, green) = (begin("red"), begin("green"));
    let one = player.next(&red).unwrap();
    player.next(&green).unwrap();
    assert_eq!(summary(&player.next(&follow(&red, &one, "")).unwrap()), ("conversation 1", 1, 2, "two"));
}

#[test]
fn a_fresh_server_resumes_a_conversation_at_its_position() {
    let before = player(TWO).next(&begin("green")).unwrap();
    let mut prompt = follow(&begin("green"), &before, "");
    prompt.call_ids = vec!["toolu_77_1_1".to_owned(), "call_1".to_owned()];
    assert_eq!(summary(&player(TWO).next(&prompt).unwrap()), ("second", 1, 2, "due"));
}

#[test]
fn the_same_turn_can_be_requested_again() {
    let mut player = player(TWO);
    let prompt = begin("green");
    let second = follow(&prompt, &player.next(&prompt).unwrap(), "");
    assert_eq!(summary(&player.next(&second).unwrap()).3, "due");
    assert_eq!(summary(&player.next(&second).unwrap()).3, "due");
}

#[test]
fn a_request_past_the_last_turn_is_an_error() {
    let mut player = player(TWO);
    let mut prompt = begin("green");
    for _ in 0..3 {
        let answer = player.next(&prompt).unwrap();
        prompt = follow(&prompt, &answer, "");
    }
    let message = player.next(&prompt).unwrap_err().to_string();
    assert_eq!(message, "conversation \"second\" has 3 turns with a reply, but turn 4 was requested");
}

const FAULTY: &str = r#"
    [[conversation]]
    name = "faulty"
    plays = 2
      [[conversation.turn]]
      fault = { kind = "status", status = 429, times = 2 }
      [[conversation.turn]]
      fault = { kind = "cut" }
      [[conversation.turn]]
      text = "at last"
"#;

#[test]
fn faults_are_retried_in_the_same_play_and_start_over_in_the_next() {
    let mut player = player(FAULTY);
    for play in [1, 2] {
        for _ in 0..3 {
            let answer = player.next(&begin("go")).unwrap();
            assert!(answer.fault.is_some_and(|fault| !fault.delivers()));
            assert_eq!((answer.position.play, answer.position.turn), (play, 1));
        }
        assert_eq!(summary(&player.next(&begin("go")).unwrap()), ("faulty", play, 1, "at last"));
    }
    assert!(player.next(&begin("go")).unwrap_err().to_string().contains("has no plays left"));
}

#[test]
fn another_first_message_is_not_a_retry() {
    let mut player = player(FAULTY);
    let plays: Vec<usize> =
        ["go", "come", "go"].map(|first| player.next(&begin(first)).unwrap().position.play).to_vec();
    assert_eq!(plays, [1, 2, 1]);
}

#[test]
fn a_slow_reply_counts_as_a_reply() {
    let mut player = player(
        "[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'slow', millis = 1 }\ntext = 'one'",
    );
    let answer = player.next(&begin("go")).unwrap();
    assert!(answer.fault.as_ref().is_some_and(ScriptFault::delivers));
    assert_eq!(player.next(&begin("go")).unwrap().position.play, 2);
}

#[test]
fn a_conversation_with_only_faults_ends_after_them() {
    let mut player = player(
        r#"
        [[conversation]]
        name = "refused"
        plays = 1
          [[conversation.turn]]
          fault = { kind = "status", status = 401, times = 2 }
        [[conversation]]
        name = "accepted"
          [[conversation.turn]]
          text = "hello"
        "#,
    );
    let names: Vec<String> =
        (0..3).map(|_| player.next(&begin("go")).unwrap().position.conversation).collect();
    assert_eq!(names, ["refused", "refused", "accepted"]);
}

#[test]
fn an_unmet_expectation_is_reported_and_still_answered() {
    let mut player = player(TWO);
    let prompt = begin("red blue");
    let one = player.next(&prompt).unwrap();
    let met = player.next(&follow(&prompt, &one, "it was found")).unwrap();
    assert!(met.unmet.is_empty());
    let missed = player.next(&follow(&prompt, &one, "nothing")).unwrap();
    assert_eq!(missed.unmet, ["expected \"found\", got a request that begins with \"nothing\""]);
    assert_eq!(summary(&missed).3, "two");
}

#[test]
fn expectations_are_checked_with_the_reply_not_the_fault() {
    let mut player = player(
        "[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'cut' }\nexpect = 'x'\ntext = 'one'",
    );
    assert!(player.next(&begin("go")).unwrap().unmet.is_empty());
    assert_eq!(player.next(&begin("go")).unwrap().unmet.len(), 1);
}

#[test]
fn missing_usage_is_estimated() {
    let mut player = player(
        "[[conversation]]\n[[conversation.turn]]\ntext = '12345678'\nusage = { cache_read = 9 }\n[[conversation.turn]]\ntext = 'b'\nusage = { input = 1, output = 2, cache_read = 3, cache_write = 4 }",
    );
    let mut prompt = begin("go");
    prompt.bytes = 400;
    let one = player.next(&prompt).unwrap();
    assert_eq!(
        one.reply.usage,
        WireUsage { input: 100, output: 2, cache_read: 9, cache_write: 0, reasoning: 0 }
    );
    let two = player.next(&follow(&prompt, &one, "")).unwrap();
    assert_eq!(
        two.reply.usage,
        WireUsage { input: 1, output: 2, cache_read: 3, cache_write: 4, reasoning: 0 }
    );
    assert!(side_reply(&prompt).usage.output > 0);
}

#[test]
fn reasoning_is_part_of_the_output() {
    let reasoning = |usage: &str| {
        let script =
            format!("[[conversation]]\n[[conversation.turn]]\nthinking = '12345678'\ntext = 'b'\n{usage}");
        player(&script).next(&begin("go")).unwrap().reply.usage.reasoning
    };
    assert_eq!(reasoning(""), 2);
    assert_eq!(reasoning("usage = { output = 1 }"), 1);
    assert_eq!(reasoning("usage = { output = 9, reasoning = 0 }"), 0);
}

#[test]
fn signed_thinking_must_be_sent_back_with_the_results_of_its_calls() {
    let script = "[[conversation]]\n[[conversation.turn]]\nthinking = 'a'\ncall = [{ tool = 'Read' }]\n[[conversation.turn]]\nthinking = 'b'\ntext = 'two'\n[[conversation.turn]]\ntext = 'three'";
    let mut player = player(script);
    let mut prompt = Prompt { signed: true, ..begin("go") };
    let one = player.next(&prompt).unwrap();
    assert_eq!(one.reply.thinking.as_ref().unwrap().signature, Some(signature("a")));
    prompt = follow(&prompt, &one, "");
    let lost = player.next(&prompt).unwrap();
    assert_eq!(lost.unmet, ["the request lacks the signed thinking of turn 1"]);
    prompt.signatures = vec![signature("a")];
    let kept = player.next(&prompt).unwrap();
    assert!(kept.unmet.is_empty());
    prompt = follow(&prompt, &kept, "");
    assert!(player.next(&prompt).unwrap().unmet.is_empty(), "turn 2 made no calls");

    let unsigned = follow(&begin("go"), &one, "");
    assert!(player.next(&unsigned).unwrap().unmet.is_empty(), "thinking is not signed for this client");
}

#[test]
fn mcp_tools_are_called_by_their_offered_names() {
    let script = "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'mcp__a_b__c_d' }, { tool = 'mcp__a_b__e' }]";
    let mut prompt = begin("go");
    prompt.tools = vec!["mcp_a_b_c_d".to_owned()];
    let answer = player(script).next(&prompt).unwrap();
    let called: Vec<_> = answer.reply.calls.iter().map(|call| call.tool.as_str()).collect();
    assert_eq!(called, ["mcp_a_b_c_d", "mcp__a_b__e"]);
}
