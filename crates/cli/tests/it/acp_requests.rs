//! Requests that ACP agents send us: read and write files, run commands. The agents are shell scripts.

use super::support::{CliTestProject, RunOutput, always, assert_no_processes_left, model};

/// Runs one session of an agent that answers the handshake and then runs the script.
fn session_of(project: &CliTestProject, script: &str) -> RunOutput {
    project.write("agent.sh", &format!("{BEGIN}{script}{END}"));
    let model = model(&always("[[conversation.turn]]\ntext = 'never sent'"));
    let run = project.run(&model, &["run", "--backend", "acp:bash agent.sh", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    run
}

#[track_caller]
fn assert_answered(project: &CliTestProject, expected: &[&str]) {
    let answers = project.read("answers.txt");
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), expected.len(), "{answers:#?}");
    for (answer, wanted) in answers.iter().zip(expected) {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
}

/// This agent offers no level of thinking, which is said once.
#[test]
fn thinking_without_effect_is_reported() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("agent.sh", &format!("{BEGIN}{END}"));
    let model = model(&always("[[conversation.turn]]\ntext = 'never sent'"));
    let args = ["run", "--backend", "acp:bash agent.sh", "-n", "2", "--thinking", "1024"];
    let run = project.run(&model, &args);
    run.assert_ended("max_iterations", 4);
    let warned = run.of_type("trouble").filter(|event| {
        event["message"]
            .as_str()
            .is_some_and(|message| message.contains("--thinking has no effect with 'acp'"))
    });
    assert_eq!(warned.count(), 1, "{:#?}", run.events);
    assert!(run.stderr.contains("if the agent offers such a setting"), "{}", run.stderr);
}

#[test]
fn file_requests_go_through_the_gates() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = session_of(&project, FILES);
    assert_eq!(project.read("new/by-us.txt"), "first\nsecond\n");
    let expected = [
        r#""result":{}"#,
        r#""content":"second\n""#,
        "-32002",
        "not in the project",
        "Direct writes",
        "-32601",
    ];
    assert_answered(&project, &expected);
    let denied = run.of_type("tool_result").filter(|event| event["is_error"] == true).count();
    assert_eq!(denied, 2);
}

const FILES: &str = r#"
  call fs/write_text_file '"path":"'"$PWD"'/new/by-us.txt","content":"first\nsecond\n"'
  call fs/read_text_file '"path":"'"$PWD"'/new/by-us.txt","line":2,"limit":5'
  call fs/read_text_file '"path":"'"$PWD"'/missing.txt"'
  call fs/read_text_file '"path":"/etc/hostname"'
  call fs/write_text_file '"path":"'"$PWD"'/.autonoe/status.json","content":"{}"'
  call piano/play '"path":"x"'
"#;

#[test]
fn command_requests_go_through_the_gates() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("sub/here.txt", "");
    let run = session_of(&project, COMMANDS);
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
    assert_answered(&project, &expected);
    let first_output = project.read("answers.txt").lines().nth(2).expect("an answer").to_owned();
    for written in ["one", "here.txt", "two"] {
        assert!(first_output.contains(written), "{first_output}");
    }
    let calls: Vec<_> = run.of_type("tool_call").map(|event| event["name"].clone()).collect();
    assert_eq!(calls, ["Bash", "Bash"]);
    let results: Vec<_> = run.of_type("tool_result").collect();
    assert_eq!(results.len(), 2);
    assert!(results[0]["content"].as_str().expect("content").contains("here.txt"), "{results:?}");
    assert_eq!((&results[0]["is_error"], &results[1]["is_error"]), (&true.into(), &false.into()));
}

const COMMANDS: &str = r#"
  call terminal/create '"command":"echo one; ls; echo $WORD >&2; exit 3","cwd":"'"$PWD"'/sub","env":[{"name":"WORD","value":"two"}]'
  call terminal/wait_for_exit '"terminalId":"terminal-1"'
  call terminal/output '"terminalId":"terminal-1"'
  call terminal/release '"terminalId":"terminal-1"'
  call terminal/output '"terminalId":"terminal-1"'
  call terminal/create '"command":"echo","args":["123456789"],"outputByteLimit":3'
  call terminal/wait_for_exit '"terminalId":"terminal-2"'
  call terminal/output '"terminalId":"terminal-2"'
  call terminal/release '"terminalId":"terminal-2"'
"#;

#[test]
fn a_command_of_a_reported_call_is_reported_once() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = session_of(&project, OF_A_CALL);
    let calls: Vec<_> = run.of_type("tool_call").map(|event| event["id"].clone()).collect();
    assert_eq!(calls, ["mine"]);
    let results: Vec<_> = run.of_type("tool_result").collect();
    assert_eq!(results.len(), 1, "{results:#?}");
    assert_eq!((&results[0]["id"], &results[0]["content"]), (&"mine".into(), &"hello\n".into()));
}

const OF_A_CALL: &str = r#"
  notify '"sessionUpdate":"tool_call","toolCallId":"mine","title":"x","kind":"execute","status":"in_progress","rawInput":{"command":"echo hello"}'
  call terminal/create '"command":"echo hello"'
  call terminal/wait_for_exit '"terminalId":"terminal-1"'
  call terminal/release '"terminalId":"terminal-1"'
  notify '"sessionUpdate":"tool_call_update","toolCallId":"mine","status":"completed","content":[{"type":"terminal","terminalId":"terminal-1"}]'
"#;

#[test]
fn refused_commands_are_not_run() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let run = session_of(&project, REFUSED);
    let expected = [
        "'rm' is not allowed",
        "'wget' is not in the list",
        "LD_PRELOAD",
        "not in the project",
        "not in the project",
    ];
    assert_answered(&project, &expected);
    let denied = run.of_type("tool_result").filter(|event| event["denied_by"].is_string()).count();
    assert_eq!(denied, 3, "{:#?}", run.of_type("tool_result").collect::<Vec<_>>());
    assert!(!project.path("ran.txt").exists());
}

const REFUSED: &str = r#"
  call terminal/create '"command":"rm","args":["-rf","~"]'
  call terminal/create '"command":"bash","args":["-c","echo x > ran.txt && wget http://127.0.0.1:1/"]'
  call terminal/create '"command":"ls > ran.txt","env":[{"name":"LD_PRELOAD","value":"./x.so"}]'
  call terminal/create '"command":"ls","cwd":"/"'
  call terminal/create '"command":"ls","cwd":"'"$PWD"'/../.."'
"#;

#[test]
fn a_command_ends_when_killed_and_with_the_session() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    session_of(&project, ENDLESS);
    let answers = project.read("answers.txt");
    let ids: Vec<_> = answers.lines().map(|line| line.split_once("\"id\":").expect("an id").1).collect();
    let order: Vec<_> = ids.iter().map(|id| id.chars().next().expect("a digit")).collect();
    assert_eq!(order, ['9', '9', '9', '7', '9'], "the waiting request is answered after the kill: {answers}");
    assert!(answers.lines().nth(3).expect("an answer").contains("exitCode"), "{answers}");
    assert!(answers.lines().nth(4).expect("an answer").contains("terminal-2"), "{answers}");
    assert_no_processes_left(&project);
}

/// Sends requests while another one waits for the command to end; leaves a second command running.
const ENDLESS: &str = r#"
  call terminal/create '"command":"echo on; tail -f agent.sh"'
  request 7 terminal/wait_for_exit '"terminalId":"terminal-1"'
  call terminal/output '"terminalId":"terminal-1"'
  call terminal/kill '"terminalId":"terminal-1"'
  receive
  call terminal/create '"command":"trap true TERM; tail -f agent.sh & tail -f agent.sh"'
"#;

const BEGIN: &str = r#"
  request() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{"sessionId":"s",%s}}\n' "$1" "$2" "$3"; }
  notify() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{%s}}}\n' "$1"; }
  receive() { read -r answer; printf '%s\n' "$answer" >> answers.txt; }
  call() { request 9 "$1" "$2"; receive; }
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
