#![allow(clippy::unwrap_used)]

use super::{Cue, Stage, side_reply};
use crate::reply::{Fault, Prompt, Usage, signature};
use crate::script::Script;

fn stage(script: &str) -> Stage {
    Stage::new(Script::parse(script).unwrap())
}

/// A request that begins a conversation.
fn begin(first: &str) -> Prompt {
    Prompt {
        first: first.to_owned(),
        newest: first.to_owned(),
        tools: vec!["Read".to_owned()],
        ..Prompt::default()
    }
}

/// The request that follows a reply, with or without tool calls.
fn follow(prompt: &Prompt, cue: &Cue, newest: &str) -> Prompt {
    let mut next = prompt.clone();
    next.assistants += 1;
    next.newest = newest.to_owned();
    next.call_ids.extend(cue.reply.calls.iter().map(|call| call.id.clone()));
    next
}

fn said(cue: &Cue) -> (&str, usize, usize, &str) {
    assert!(cue.fault.is_none(), "a fault instead of a reply: {cue:?}");
    (&cue.place.conversation, cue.place.play, cue.place.turn, cue.reply.text.as_deref().unwrap())
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
fn when_must_occur_in_full_in_the_first_message_or_the_system_prompt() {
    let mut stage = stage(TWO);
    assert_eq!(said(&stage.next(&begin("red only")).unwrap()).0, "second");
    assert_eq!(said(&stage.next(&begin("Red and blue")).unwrap()).0, "second", "case matters");
    let mut prompt = begin("red");
    prompt.system = "paint it blue".to_owned();
    assert_eq!(said(&stage.next(&prompt).unwrap()).0, "first");
}

#[test]
fn used_up_plays_leave_the_next_match() {
    let mut stage = stage(TWO);
    let names: Vec<String> =
        (0..3).map(|_| stage.next(&begin("red blue")).unwrap().place.conversation).collect();
    assert_eq!(names, ["first", "second", "second"]);
}

#[test]
fn says_why_there_is_no_conversation() {
    let only =
        "[[conversation]]\nname = 'only'\nwhen = 'red'\nplays = 1\n[[conversation.turn]]\ntext = 'one'";
    let mut stage = stage(only);
    let sentence = stage.next(&begin("green\nfields")).unwrap_err();
    assert_eq!(sentence, "no conversation matches a request that begins \"green fields\"");
    stage.next(&begin("red")).unwrap();
    let sentence = stage.next(&begin("red")).unwrap_err();
    assert_eq!(sentence, "no plays left of \"only\" for a request that begins \"red\"");
}

#[test]
fn equal_first_messages_are_told_apart_by_their_calls() {
    let mut stage = stage(TWO);
    let prompt = begin("red blue");
    let (one, other) = (stage.next(&prompt).unwrap(), stage.next(&prompt).unwrap());
    assert_eq!(one.reply.calls[1].id, "toolu_1_1_2");
    assert_eq!(other.reply.calls[0].id, "toolu_2_1_1");
    assert_eq!(said(&stage.next(&follow(&prompt, &other, "")).unwrap()), ("second", 2, 2, "due"));
    assert_eq!(said(&stage.next(&follow(&prompt, &one, "found")).unwrap()), ("first", 1, 2, "two"));
}

#[test]
fn without_calls_the_latest_play_of_the_first_message_goes_on() {
    let text_only =
        "[[conversation]]\n[[conversation.turn]]\ntext = 'one'\n[[conversation.turn]]\ntext = 'two'";
    let mut stage = stage(text_only);
    let (red, green) = (begin("red"), begin("green"));
    let one = stage.next(&red).unwrap();
    stage.next(&green).unwrap();
    assert_eq!(said(&stage.next(&follow(&red, &one, "")).unwrap()), ("conversation 1", 1, 2, "two"));
}

#[test]
fn a_conversation_resumed_on_a_fresh_server_goes_on_where_it_was() {
    let before = stage(TWO).next(&begin("green")).unwrap();
    let mut prompt = follow(&begin("green"), &before, "");
    prompt.call_ids = vec!["toolu_77_1_1".to_owned(), "call_1".to_owned()];
    assert_eq!(said(&stage(TWO).next(&prompt).unwrap()), ("second", 1, 2, "due"));
}

#[test]
fn the_same_turn_can_be_asked_for_again() {
    let mut stage = stage(TWO);
    let prompt = begin("green");
    let second = follow(&prompt, &stage.next(&prompt).unwrap(), "");
    assert_eq!(said(&stage.next(&second).unwrap()).3, "due");
    assert_eq!(said(&stage.next(&second).unwrap()).3, "due");
}

#[test]
fn an_exhausted_conversation_says_so() {
    let mut stage = stage(TWO);
    let mut prompt = begin("green");
    for _ in 0..3 {
        let cue = stage.next(&prompt).unwrap();
        prompt = follow(&prompt, &cue, "");
    }
    let sentence = stage.next(&prompt).unwrap_err();
    assert_eq!(sentence, "conversation \"second\" has 3 turns with a reply, and turn 4 was asked for");
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
    let mut stage = stage(FAULTY);
    for play in [1, 2] {
        for _ in 0..3 {
            let cue = stage.next(&begin("go")).unwrap();
            assert!(cue.fault.is_some_and(|fault| !fault.delivers()));
            assert_eq!((cue.place.play, cue.place.turn), (play, 1));
        }
        assert_eq!(said(&stage.next(&begin("go")).unwrap()), ("faulty", play, 1, "at last"));
    }
    assert!(stage.next(&begin("go")).unwrap_err().starts_with("no plays left"));
}

#[test]
fn another_first_message_is_no_retry() {
    let mut stage = stage(FAULTY);
    let plays: Vec<usize> =
        ["go", "come", "go"].map(|first| stage.next(&begin(first)).unwrap().place.play).to_vec();
    assert_eq!(plays, [1, 2, 1]);
}

#[test]
fn a_slow_reply_is_a_reply() {
    let mut stage =
        stage("[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'slow', millis = 1 }\ntext = 'one'");
    let cue = stage.next(&begin("go")).unwrap();
    assert!(cue.fault.as_ref().is_some_and(Fault::delivers));
    assert_eq!(stage.next(&begin("go")).unwrap().place.play, 2);
}

#[test]
fn a_conversation_of_faults_alone_is_over_when_they_are() {
    let mut stage = stage(
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
    let names: Vec<String> = (0..3).map(|_| stage.next(&begin("go")).unwrap().place.conversation).collect();
    assert_eq!(names, ["refused", "refused", "accepted"]);
}

#[test]
fn an_unmet_expectation_is_told_and_answered() {
    let mut stage = stage(TWO);
    let prompt = begin("red blue");
    let one = stage.next(&prompt).unwrap();
    let met = stage.next(&follow(&prompt, &one, "it was found")).unwrap();
    assert!(met.unmet.is_empty());
    let missed = stage.next(&follow(&prompt, &one, "nothing")).unwrap();
    assert_eq!(missed.unmet, ["expected \"found\" in what begins \"nothing\""]);
    assert_eq!(said(&missed).3, "two");
}

#[test]
fn expectations_wait_until_the_reply() {
    let mut stage = stage(
        "[[conversation]]\n[[conversation.turn]]\nfault = { kind = 'cut' }\nexpect = 'x'\ntext = 'one'",
    );
    assert!(stage.next(&begin("go")).unwrap().unmet.is_empty());
    assert_eq!(stage.next(&begin("go")).unwrap().unmet.len(), 1);
}

#[test]
fn usage_is_given_or_estimated() {
    let mut stage = stage(
        "[[conversation]]\n[[conversation.turn]]\ntext = '12345678'\nusage = { cache_read = 9 }\n[[conversation.turn]]\ntext = 'b'\nusage = { input = 1, output = 2, cache_read = 3, cache_write = 4 }",
    );
    let mut prompt = begin("go");
    prompt.bytes = 400;
    let one = stage.next(&prompt).unwrap();
    assert_eq!(one.reply.usage, Usage { input: 100, output: 2, cache_read: 9, cache_write: 0, reasoning: 0 });
    let two = stage.next(&follow(&prompt, &one, "")).unwrap();
    assert_eq!(two.reply.usage, Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, reasoning: 0 });
    assert!(side_reply(&prompt).usage.output > 0);
}

#[test]
fn reasoning_is_a_part_of_the_output() {
    let reasoning = |usage: &str| {
        let script =
            format!("[[conversation]]\n[[conversation.turn]]\nthinking = '12345678'\ntext = 'b'\n{usage}");
        stage(&script).next(&begin("go")).unwrap().reply.usage.reasoning
    };
    assert_eq!(reasoning(""), 2);
    assert_eq!(reasoning("usage = { output = 1 }"), 1);
    assert_eq!(reasoning("usage = { output = 9, reasoning = 0 }"), 0);
}

#[test]
fn signed_thinking_must_come_back_with_the_results_of_its_calls() {
    let script = "[[conversation]]\n[[conversation.turn]]\nthinking = 'a'\ncall = [{ tool = 'Read' }]\n[[conversation.turn]]\nthinking = 'b'\ntext = 'two'\n[[conversation.turn]]\ntext = 'three'";
    let mut stage = stage(script);
    let mut prompt = Prompt { signed: true, ..begin("go") };
    let one = stage.next(&prompt).unwrap();
    assert_eq!(one.reply.thinking.as_ref().unwrap().signature, Some(signature("a")));
    prompt = follow(&prompt, &one, "");
    let lost = stage.next(&prompt).unwrap();
    assert_eq!(lost.unmet, ["the thinking of turn 1 did not come back as it was signed"]);
    prompt.signatures = vec![signature("a")];
    let kept = stage.next(&prompt).unwrap();
    assert!(kept.unmet.is_empty());
    prompt = follow(&prompt, &kept, "");
    assert!(stage.next(&prompt).unwrap().unmet.is_empty(), "nothing was called in turn 2");

    let unsigned = follow(&begin("go"), &one, "");
    assert!(stage.next(&unsigned).unwrap().unmet.is_empty(), "nothing was signed for this client");
}

#[test]
fn tools_of_servers_are_called_as_they_are_offered() {
    let script = "[[conversation]]\n[[conversation.turn]]\ncall = [{ tool = 'mcp__a_b__c_d' }, { tool = 'mcp__a_b__e' }]";
    let mut prompt = begin("go");
    prompt.tools = vec!["mcp_a_b_c_d".to_owned()];
    let cue = stage(script).next(&prompt).unwrap();
    let called: Vec<_> = cue.reply.calls.iter().map(|call| call.tool.as_str()).collect();
    assert_eq!(called, ["mcp_a_b_c_d", "mcp__a_b__e"]);
}
