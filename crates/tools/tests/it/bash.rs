//! The Bash tool: its reports, its limits, and that no process survives it.
#![cfg(target_os = "linux")]

use std::path::PathBuf;

use autonoe_tools::{MAX_OUTPUT_CHARS, ToolContext, ToolErrorCode, ToolOutput};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use autonoe_test_kit::{is_running, pid_in, until};

use crate::support::ToolFixture;

/// A shell and a process in a session of its own, both ignoring SIGTERM, with their ids in `a` and `b`.
const STUBBORN: &str = r#"
    trap "" TERM
    echo $$ > a.new; mv a.new a
    setsid sh -c 'trap "" TERM; echo $$ > b.new; mv b.new b; exec sleep 300' &
    while ! test -e b; do sleep 0.01; done
"#;

async fn bash(command: &str) -> ToolOutput {
    ToolFixture::new().call("Bash", json!({"command": command})).await
}

#[tokio::test]
async fn output_is_interleaved_and_the_exit_code_is_reported() {
    for (command, text, code) in [
        ("echo 1; echo 2 >&2; echo 3", "1\n2\n3", 0),
        ("true", "(no output)", 0),
        ("echo no >&2; exit 3", "Exit code 3\nno", 3),
        ("kill -KILL $$", "Exit code 137\n(no output)", 137),
    ] {
        let output = bash(command).await;
        assert_eq!(output.output, text);
        assert_eq!((output.is_error(), &output.metadata["exit_code"]), (code != 0, &json!(code)));
    }
    let missing = bash("no-such-command").await;
    assert!(missing.is_error() && missing.output.starts_with("Exit code 127\n"));
}

#[tokio::test]
async fn it_runs_in_the_root_with_the_given_environment_and_no_input() {
    let fixture = ToolFixture::new();
    let root = fixture.dir.path().canonicalize().unwrap();
    let command = "pwd; cat; echo $0; exec env -u PWD -u SHLVL -u _";
    let expected = format!("{}\n/bin/bash\nNAMED=value\nPATH=/usr/bin:/bin", root.display());
    let text = fixture.ok("Bash", json!({"command": command})).await;
    let mut lines: Vec<_> = text.lines().collect();
    lines[2..].sort_unstable();
    assert_eq!(lines.join("\n"), expected);
}

#[tokio::test]
async fn a_command_that_starts_with_a_dash_is_not_an_option() {
    let output = bash("-x; echo after").await;
    assert!(output.output.contains("after") && output.output.contains("not found"), "{}", output.output);
}

#[tokio::test]
async fn text_that_is_not_utf8_is_replaced() {
    assert_eq!(bash(r"printf 'a\xffb'").await.output, "a\u{fffd}b");
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle() {
    let fixture = ToolFixture::new();
    let command = "echo begin; head -c 10000000 /dev/zero | tr '\\0' x; echo; seq 1000; echo end";
    let output = fixture.call("Bash", json!({"command": command})).await;
    assert!(!output.is_error());
    assert!(output.output.starts_with("begin\nxxx") && output.output.ends_with("1000\nend"));
    let chars = output.output.chars().count();
    assert!((MAX_OUTPUT_CHARS..MAX_OUTPUT_CHARS + 300).contains(&chars), "{chars}");
    let path = output.metadata["saved_at"].as_str().unwrap();
    assert!(
        output
            .output
            .contains(&format!(" more characters, saved at {path}: continue with Read and offset=2 …"))
    );
    // The complete output can be read from the file.
    let saved = std::fs::read_to_string(path).unwrap();
    assert_eq!(saved.len(), 6 + 10_000_001 + 3893 + 4);
    let rest = fixture.ok("Read", json!({"file_path": path, "offset": 1002})).await;
    assert_eq!(rest, "  1002\t1000\n  1003\tend\n");
}

#[tokio::test]
async fn a_cut_never_splits_a_character() {
    let output = bash("yes äöü🦀 | head -c 1000003").await;
    assert!(output.output.contains("more lines, saved at"));
    // Only the very end of the stream is incomplete.
    assert!(!output.output.trim_end_matches('\u{fffd}').contains('\u{fffd}'));
}

#[tokio::test]
async fn background_processes_live_until_the_session_ends_and_do_not_block() {
    let fixture = ToolFixture::new();
    let command = format!("{STUBBORN} echo done");
    assert_eq!(fixture.ok("Bash", json!({"command": command})).await, "done");
    let left = pid_in(&fixture.path("b"));
    assert!(
        fixture
            .ok("Bash", json!({"command": format!("kill -0 {left} && echo there")}))
            .await
            .contains("there")
    );
    fixture.session_sandbox.close().await;
    assert!(!is_running(left));
}

#[tokio::test]
async fn a_background_server_can_keep_writing() {
    let fixture = ToolFixture::new();
    let server = "(while :; do echo noise || exit; echo $$ >> alive; sleep 0.02; done) & echo started";
    assert!(fixture.ok("Bash", json!({"command": server})).await.contains("started"));
    let lines = || std::fs::read_to_string(fixture.path("alive")).unwrap_or_default().lines().count();
    let before = lines();
    until("it has kept writing", || lines() > before + 20);
}

#[tokio::test]
async fn a_timeout_kills_everything_and_keeps_the_output() {
    let fixture = ToolFixture::new();
    let command = format!("{STUBBORN} echo so far; sleep 300");
    let args = json!({"command": command, "timeout": 1000});
    let error = fixture.fails("Bash", args, ToolErrorCode::Timeout).await;
    assert!(error.starts_with("Timed out after 1 s. "), "{error}");
    assert!(error.ends_with("so far"), "{error}");
    for name in ["a", "b"] {
        assert!(!is_running(pid_in(&fixture.path(name))));
    }
}

#[tokio::test]
async fn cancelling_kills_everything() {
    let fixture = ToolFixture::new();
    let cancel = CancellationToken::new();
    let (tool, cx) = (fixture.tool("Bash"), ToolContext::new(cancel.clone()));
    let command = format!("{STUBBORN} sleep 300");
    let call = tokio::spawn(async move { tool.call(json!({"command": command}), &cx).await });
    let (a, b) = (fixture.path("a"), fixture.path("b"));
    let pids = tokio::task::spawn_blocking(move || [pid_in(&a), pid_in(&b)]).await.unwrap();
    cancel.cancel();
    let output = call.await.unwrap();
    assert!(output.is_error() && output.output.starts_with("Cancelled. "), "{}", output.output);
    assert!(pids.iter().all(|&pid| !is_running(pid)));
}

#[tokio::test]
async fn dropping_a_call_kills_everything() {
    let fixture = ToolFixture::new();
    let tool = fixture.tool("Bash");
    let command = format!("{STUBBORN} sleep 300");
    let call = tokio::spawn(async move { tool.call(json!({"command": command}), &Default::default()).await });
    let (a, b) = (fixture.path("a"), fixture.path("b"));
    let pids = tokio::task::spawn_blocking(move || [pid_in(&a), pid_in(&b)]).await.unwrap();
    call.abort();
    let gone = move || until("all are gone", || !pids.iter().any(|&p| is_running(p)));
    tokio::task::spawn_blocking(gone).await.unwrap();
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_awaited() {
    let output = bash("echo early; exec >&- 2>&-; sleep 0.2; exit 4").await;
    assert_eq!((output.is_error(), output.output.as_str()), (true, "Exit code 4\nearly"));
}

#[tokio::test]
async fn the_error_names_a_missing_supervisor() {
    let fixture = ToolFixture::with_supervisor(PathBuf::from("/no/such/supervisor"));
    let error = fixture.error("Bash", json!({"command": "true"})).await;
    assert!(error.contains("/no/such/supervisor"), "{error}");
}

#[tokio::test]
async fn the_directory_carries_over_to_the_next_command() {
    let fixture = ToolFixture::new();
    fixture.file("sub/deep er/file", "");
    fixture.ok("Bash", json!({"command": "cd sub"})).await;
    assert_eq!(fixture.ok("Bash", json!({"command": "ls; cd 'deep er' && exit 0"})).await, "deep er");
    assert_eq!(fixture.ok("Bash", json!({"command": "ls"})).await, "file");
    assert_eq!(fixture.workspace.cwd(), fixture.path("sub/deep er").canonicalize().unwrap());
    // A command that fails, and one that ends in a subshell.
    fixture.error("Bash", json!({"command": "cd .. && false"})).await;
    let output = fixture.call("Bash", json!({"command": "(cd 'deep er'); pwd"})).await;
    assert!(output.output.ends_with("/sub"), "{}", output.output);
    assert_eq!(output.metadata["cwd"], "sub");
}

#[tokio::test]
async fn a_command_cannot_set_a_directory_outside_the_project() {
    let fixture = ToolFixture::new();
    fixture.file("sub/file", "");
    fixture.ok("Bash", json!({"command": "cd sub"})).await;
    let text = fixture.ok("Bash", json!({"command": "cd /usr && pwd"})).await;
    assert_eq!(text, "/usr\n(The next command starts in sub again: /usr is not in the project.)");
    for command in [
        "echo /usr >&198",
        "echo -n / >&198; exec true",
        "printf '/usr\\n/usr\\n' >&198",
        "pwd() { echo /usr; }; cd ..; cd sub",
        "cd ..; cd sub; printf '/usr\\n'",
        "ln -sfn /usr out; cd out",
    ] {
        fixture.ok("Bash", json!({"command": command})).await;
        assert_eq!(fixture.workspace.cwd(), fixture.path("sub").canonicalize().unwrap(), "{command}");
    }
}

#[tokio::test]
async fn a_directory_that_is_gone_or_was_replaced_falls_back_to_the_root() {
    let fixture = ToolFixture::new();
    let root = fixture.dir.path().canonicalize().unwrap();
    fixture.file("sub/file", "");
    fixture.ok("Bash", json!({"command": "cd sub"})).await;
    std::fs::rename(fixture.path("sub"), fixture.path("moved")).unwrap();
    assert_eq!(fixture.workspace.cwd(), root);
    assert_eq!(fixture.ok("Bash", json!({"command": "pwd"})).await, root.display().to_string());
    fixture.ok("Bash", json!({"command": "cd moved"})).await;
    std::fs::rename(fixture.path("moved"), fixture.path("again")).unwrap();
    std::os::unix::fs::symlink("/usr", fixture.path("moved")).unwrap();
    assert_eq!(fixture.ok("Bash", json!({"command": "pwd"})).await, root.display().to_string());
    fixture.ok("Bash", json!({"command": "cd again && rm file && rmdir ../again"})).await;
    assert_eq!(fixture.workspace.cwd(), root);
}

#[tokio::test]
async fn the_progress_report_has_the_description() {
    let fixture = ToolFixture::new();
    let titles = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let cx = ToolContext {
        progress: autonoe_tools::ProgressReporter::new({
            let titles = titles.clone();
            move |title, _| titles.lock().unwrap().push(title.to_owned())
        }),
        ..ToolContext::default()
    };
    let args = json!({"command": "true", "description": "Do nothing"});
    let output = fixture.tool("Bash").call(args, &cx).await;
    assert_eq!(
        (output.title.as_str(), titles.lock().unwrap().as_slice()),
        ("Do nothing", &["Do nothing".to_owned()][..])
    );
}

#[tokio::test]
async fn it_works_the_same_in_a_bubblewrap_room() {
    let fixture = ToolFixture::with_bubblewrap();
    fixture.file("sub/file", "");
    fixture.ok("Bash", json!({"command": "cd sub"})).await;
    assert_eq!(fixture.ok("Bash", json!({"command": "ls"})).await, "file");
    let text = fixture.ok("Bash", json!({"command": "mkdir -p /tmp/x && cd /tmp/x"})).await;
    assert!(text.contains("starts in sub again"), "{text}");
    let started =
        fixture.call("Bash", json!({"command": "ls; exec sleep 300", "run_in_background": true})).await;
    let id = started.metadata["bash_id"].as_str().unwrap();
    let mut output = String::new();
    while !output.contains("file") {
        output += &fixture.ok("BashOutput", json!({"bash_id": id})).await;
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    fixture.ok("KillShell", json!({"shell_id": id})).await;
    fixture.session_sandbox.close().await;
}
