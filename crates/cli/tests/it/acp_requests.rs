//! What agents have us do: read and write files, run commands. The agents are scripts that do nothing else.

use super::support::{Place, Run, always, assert_nothing_left, model};

/// Runs one session of an agent that is the script, after what every agent is asked first.
fn session_of(place: &Place, script: &str) -> Run {
    place.write("agent.sh", &format!("{BEGIN}{script}{END}"));
    let model = model(&always("[[conversation.turn]]\ntext = 'never asked'"));
    let run = place.run(&model, &["run", "--backend", "acp:bash agent.sh", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    run
}

/// Asserts that each answer has what is expected of it.
#[track_caller]
fn assert_answered(place: &Place, expected: &[&str]) {
    let answers = place.read("answers.txt");
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), expected.len(), "{answers:#?}");
    for (answer, wanted) in answers.iter().zip(expected) {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
}

#[test]
fn files_are_read_and_written_under_the_gates() {
    let place = Place::with_status(&[("A", "pending")]);
    let run = session_of(&place, FILES);
    assert_eq!(place.read("new/by-us.txt"), "first\nsecond\n");
    let expected = [
        r#""result":{}"#,
        r#""content":"second\n""#,
        "-32002",
        "not in the project",
        "Direct writes",
        "-32601",
    ];
    assert_answered(&place, &expected);
    let denied = run.of_type("tool_result").filter(|event| event["is_error"] == true).count();
    assert_eq!(denied, 2);
}

const FILES: &str = r#"
  ask fs/write_text_file '"path":"'"$PWD"'/new/by-us.txt","content":"first\nsecond\n"'
  ask fs/read_text_file '"path":"'"$PWD"'/new/by-us.txt","line":2,"limit":5'
  ask fs/read_text_file '"path":"'"$PWD"'/missing.txt"'
  ask fs/read_text_file '"path":"/etc/hostname"'
  ask fs/write_text_file '"path":"'"$PWD"'/.autonoe/status.json","content":"{}"'
  ask piano/play '"path":"x"'
"#;

#[test]
fn commands_are_run_under_the_gates() {
    let place = Place::with_status(&[("A", "pending")]);
    place.write("sub/here.txt", "");
    let run = session_of(&place, COMMANDS);
    let expected = [
        r#""terminalId":"terminal-1""#,
        r#""exitCode":3"#,
        r#""exitCode":3"#,
        r#""result":{}"#,
        "no terminal 'terminal-1'",
        r#""terminalId":"terminal-2""#,
        r#""exitCode":0"#,
        r#""output":"89\n","truncated":true"#,
        r#""result":{}"#,
    ];
    assert_answered(&place, &expected);
    let first_output = place.read("answers.txt").lines().nth(2).expect("an answer").to_owned();
    for written in ["one", "here.txt", "two"] {
        assert!(first_output.contains(written), "{first_output}");
    }
    let told: Vec<_> = run.of_type("tool_call").map(|event| event["name"].clone()).collect();
    assert_eq!(told, ["Bash", "Bash"]);
    let results: Vec<_> = run.of_type("tool_result").collect();
    assert_eq!(results.len(), 2);
    assert!(results[0]["content"].as_str().expect("content").contains("here.txt"), "{results:?}");
    assert_eq!((&results[0]["is_error"], &results[1]["is_error"]), (&true.into(), &false.into()));
}

const COMMANDS: &str = r#"
  ask terminal/create '"command":"echo one; ls; echo $WORD >&2; exit 3","cwd":"'"$PWD"'/sub","env":[{"name":"WORD","value":"two"}]'
  ask terminal/wait_for_exit '"terminalId":"terminal-1"'
  ask terminal/output '"terminalId":"terminal-1"'
  ask terminal/release '"terminalId":"terminal-1"'
  ask terminal/output '"terminalId":"terminal-1"'
  ask terminal/create '"command":"echo","args":["123456789"],"outputByteLimit":3'
  ask terminal/wait_for_exit '"terminalId":"terminal-2"'
  ask terminal/output '"terminalId":"terminal-2"'
  ask terminal/release '"terminalId":"terminal-2"'
"#;

#[test]
fn a_command_of_a_call_that_the_agent_tells_of_is_told_once() {
    let place = Place::with_status(&[("A", "pending")]);
    let run = session_of(&place, OF_A_CALL);
    let told: Vec<_> = run.of_type("tool_call").map(|event| event["id"].clone()).collect();
    assert_eq!(told, ["mine"]);
    let results: Vec<_> = run.of_type("tool_result").collect();
    assert_eq!(results.len(), 1, "{results:#?}");
    assert_eq!((&results[0]["id"], &results[0]["content"]), (&"mine".into(), &"hello\n".into()));
}

const OF_A_CALL: &str = r#"
  tell '"sessionUpdate":"tool_call","toolCallId":"mine","title":"x","kind":"execute","status":"in_progress","rawInput":{"command":"echo hello"}'
  ask terminal/create '"command":"echo hello"'
  ask terminal/wait_for_exit '"terminalId":"terminal-1"'
  ask terminal/release '"terminalId":"terminal-1"'
  tell '"sessionUpdate":"tool_call_update","toolCallId":"mine","status":"completed","content":[{"type":"terminal","terminalId":"terminal-1"}]'
"#;

#[test]
fn commands_that_the_gates_refuse_are_not_run() {
    let place = Place::with_status(&[("A", "pending")]);
    let run = session_of(&place, REFUSED);
    let expected = [
        "'rm' is not allowed",
        "'curl' is not in the list",
        "LD_PRELOAD",
        "not in the project",
        "not in the project",
    ];
    assert_answered(&place, &expected);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 3, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!place.path("ran.txt").exists());
}

const REFUSED: &str = r#"
  ask terminal/create '"command":"rm","args":["-rf","~"]'
  ask terminal/create '"command":"bash","args":["-c","echo x > ran.txt && curl http://127.0.0.1:1/"]'
  ask terminal/create '"command":"ls > ran.txt","env":[{"name":"LD_PRELOAD","value":"./x.so"}]'
  ask terminal/create '"command":"ls","cwd":"/"'
  ask terminal/create '"command":"ls","cwd":"'"$PWD"'/../.."'
"#;

#[test]
fn a_command_is_ended_when_it_is_killed_and_with_the_session() {
    let place = Place::with_status(&[("A", "pending")]);
    session_of(&place, ENDLESS);
    let answers = place.read("answers.txt");
    let ids: Vec<_> = answers.lines().map(|line| line.split_once("\"id\":").expect("an id").1).collect();
    let order: Vec<_> = ids.iter().map(|id| id.chars().next().expect("a digit")).collect();
    assert_eq!(order, ['9', '9', '9', '7', '9'], "who waits is answered after the kill: {answers}");
    assert!(answers.lines().nth(3).expect("an answer").contains("exitCode"), "{answers}");
    assert!(answers.lines().nth(4).expect("an answer").contains("terminal-2"), "{answers}");
    assert_nothing_left(&place);
}

/// It is heard while somebody waits for the command to end; a second one is left running.
const ENDLESS: &str = r#"
  ask terminal/create '"command":"echo on; tail -f agent.sh"'
  say 7 terminal/wait_for_exit '"terminalId":"terminal-1"'
  ask terminal/output '"terminalId":"terminal-1"'
  ask terminal/kill '"terminalId":"terminal-1"'
  hear
  ask terminal/create '"command":"trap true TERM; tail -f agent.sh & tail -f agent.sh"'
"#;

const BEGIN: &str = r#"
  say() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{"sessionId":"s",%s}}\n' "$1" "$2" "$3"; }
  tell() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{%s}}}\n' "$1"; }
  hear() { read -r answer; printf '%s\n' "$answer" >> answers.txt; }
  ask() { say 9 "$1" "$2"; hear; }
  read -r _; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
  read -r new
  found() { sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' <<< "$new"; }
  # It has its tools, and uses none of them.
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | AUTONOE_CALLS="$(found value)" "$(found command)" __mcp > /dev/null
  echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
  read -r _
"#;

const END: &str = r#"
  echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
"#;
