//! Bash: what it reports, its bounds, and that nothing survives it.
#![cfg(target_os = "linux")]

use std::path::PathBuf;

use autonoe_tools::{MAX_OUTPUT_CHARS, ToolContext, ToolErrorCode, ToolOutput};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, is_running, pid_in};

/// Leaves a stubborn shell and a process in a session of its own, with their ids in `a` and `b`.
const STUBBORN: &str = r#"
    trap "" TERM
    echo $$ > a.new; mv a.new a
    setsid sh -c 'trap "" TERM; echo $$ > b.new; mv b.new b; exec sleep 300' &
    while ! test -e b; do sleep 0.01; done
"#;

async fn bash(command: &str) -> ToolOutput {
    Bench::new().call("Bash", json!({"command": command})).await
}

#[tokio::test]
async fn output_is_interleaved_and_the_exit_code_told() {
    for (command, said, code) in [
        ("echo 1; echo 2 >&2; echo 3", "1\n2\n3", 0),
        ("true", "(no output)", 0),
        ("echo no >&2; exit 3", "Exit code 3\nno", 3),
        ("kill -KILL $$", "Exit code 137\n(no output)", 137),
    ] {
        let output = bash(command).await;
        assert_eq!(output.output, said);
        assert_eq!((output.is_error(), &output.metadata["exit_code"]), (code != 0, &json!(code)));
    }
    let missing = bash("no-such-command").await;
    assert!(missing.is_error() && missing.output.starts_with("Exit code 127\n"));
}

#[tokio::test]
async fn it_runs_in_the_root_with_the_named_environment_and_no_input() {
    let bench = Bench::new();
    let root = bench.dir.path().canonicalize().unwrap();
    let said = bench.ok("Bash", json!({"command": "pwd; cat; echo $0; exec env -u PWD -u SHLVL -u _"}));
    let expected = format!("{}\n/bin/bash\nNAMED=value\nPATH=/usr/bin:/bin", root.display());
    let said = said.await;
    let mut lines: Vec<_> = said.lines().collect();
    lines[2..].sort_unstable();
    assert_eq!(lines.join("\n"), expected);
}

#[tokio::test]
async fn a_command_that_begins_with_a_dash_is_no_option() {
    let output = bash("-x; echo after").await;
    assert!(output.output.contains("after") && output.output.contains("not found"), "{}", output.output);
}

#[tokio::test]
async fn text_that_is_not_utf8_is_replaced() {
    assert_eq!(bash(r"printf 'a\xffb'").await.output, "a\u{fffd}b");
}

#[tokio::test]
async fn much_output_is_cut_in_its_middle() {
    let bench = Bench::new();
    let command = "echo begin; head -c 10000000 /dev/zero | tr '\\0' x; echo; seq 1000; echo end";
    let output = bench.call("Bash", json!({"command": command})).await;
    assert!(!output.is_error());
    assert!(output.output.starts_with("begin\nxxx") && output.output.ends_with("1000\nend"));
    let chars = output.output.chars().count();
    assert!((MAX_OUTPUT_CHARS..MAX_OUTPUT_CHARS + 300).contains(&chars), "{chars}");
    let path = output.metadata["saved_at"].as_str().unwrap();
    assert!(output.output.contains(&format!(" more characters, saved at {path}: Read on with offset=2 …")));
    // All of it can be read on.
    let saved = std::fs::read_to_string(path).unwrap();
    assert_eq!(saved.len(), 6 + 10_000_001 + 3893 + 4);
    let rest = bench.ok("Read", json!({"file_path": path, "offset": 1002})).await;
    assert_eq!(rest, "  1002\t1000\n  1003\tend\n");
}

#[tokio::test]
async fn a_cut_never_splits_a_character() {
    let output = bash("yes äöü🦀 | head -c 1000003").await;
    assert!(output.output.contains("more lines, saved at"));
    // Only the very end of the stream is torn.
    assert!(!output.output.trim_end_matches('\u{fffd}').contains('\u{fffd}'));
}

#[tokio::test]
async fn what_is_left_in_the_background_lasts_as_long_as_the_session_and_blocks_nobody() {
    let bench = Bench::new();
    let command = format!("{STUBBORN} echo done");
    assert_eq!(bench.ok("Bash", json!({"command": command})).await, "done");
    let left = pid_in(&bench.path("b"));
    assert!(
        bench.ok("Bash", json!({"command": format!("kill -0 {left} && echo there")})).await.contains("there")
    );
    bench.session_sandbox.close().await;
    assert!(!is_running(left));
}

#[tokio::test]
async fn a_server_in_the_background_may_go_on_writing() {
    let bench = Bench::new();
    let server = "(while :; do echo noise || exit; echo $$ >> alive; sleep 0.02; done) & echo started";
    assert!(bench.ok("Bash", json!({"command": server})).await.contains("started"));
    let lines = || std::fs::read_to_string(bench.path("alive")).unwrap_or_default().lines().count();
    let before = lines();
    crate::support::until("it has gone on", || lines() > before + 20);
}

#[tokio::test]
async fn a_timeout_ends_everything_and_keeps_the_output() {
    let bench = Bench::new();
    let command = format!("{STUBBORN} echo so far; sleep 300");
    let args = json!({"command": command, "timeout": 1000});
    let error = bench.fails("Bash", args, ToolErrorCode::Timeout).await;
    assert!(error.starts_with("Timed out after 1 s. "), "{error}");
    assert!(error.ends_with("so far"), "{error}");
    for name in ["a", "b"] {
        assert!(!is_running(pid_in(&bench.path(name))));
    }
}

#[tokio::test]
async fn cancelling_ends_everything() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let (tool, cx) = (bench.tool("Bash"), ToolContext::new(cancel.clone()));
    let command = format!("{STUBBORN} sleep 300");
    let call = tokio::spawn(async move { tool.call(json!({"command": command}), &cx).await });
    let (a, b) = (bench.path("a"), bench.path("b"));
    let pids = tokio::task::spawn_blocking(move || [pid_in(&a), pid_in(&b)]).await.unwrap();
    cancel.cancel();
    let output = call.await.unwrap();
    assert!(output.is_error() && output.output.starts_with("Cancelled. "), "{}", output.output);
    assert!(pids.iter().all(|&pid| !is_running(pid)));
}

#[tokio::test]
async fn an_abandoned_call_ends_everything() {
    let bench = Bench::new();
    let tool = bench.tool("Bash");
    let command = format!("{STUBBORN} sleep 300");
    let call = tokio::spawn(async move { tool.call(json!({"command": command}), &Default::default()).await });
    let (a, b) = (bench.path("a"), bench.path("b"));
    let pids = tokio::task::spawn_blocking(move || [pid_in(&a), pid_in(&b)]).await.unwrap();
    call.abort();
    let gone = move || crate::support::until("all are gone", || !pids.iter().any(|&p| is_running(p)));
    tokio::task::spawn_blocking(gone).await.unwrap();
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_still_waited_for() {
    let output = bash("echo early; exec >&- 2>&-; sleep 0.2; exit 4").await;
    assert_eq!((output.is_error(), output.output.as_str()), (true, "Exit code 4\nearly"));
}

#[tokio::test]
async fn a_missing_supervisor_is_told() {
    let bench = Bench::with_supervisor(PathBuf::from("/no/such/supervisor"));
    let error = bench.error("Bash", json!({"command": "true"})).await;
    assert!(error.contains("/no/such/supervisor"), "{error}");
}

#[tokio::test]
async fn a_directory_holds_for_the_next_command() {
    let bench = Bench::new();
    bench.file("sub/deep er/file", "");
    bench.ok("Bash", json!({"command": "cd sub"})).await;
    assert_eq!(bench.ok("Bash", json!({"command": "ls; cd 'deep er' && exit 0"})).await, "deep er");
    assert_eq!(bench.ok("Bash", json!({"command": "ls"})).await, "file");
    assert_eq!(bench.workspace.cwd(), bench.path("sub/deep er").canonicalize().unwrap());
    // A command that fails, and one that ends in a subshell.
    bench.error("Bash", json!({"command": "cd .. && false"})).await;
    let output = bench.call("Bash", json!({"command": "(cd 'deep er'); pwd"})).await;
    assert!(output.output.ends_with("/sub"), "{}", output.output);
    assert_eq!(output.metadata["cwd"], "sub");
}

#[tokio::test]
async fn a_command_cannot_leave_the_project_or_print_itself_elsewhere() {
    let bench = Bench::new();
    bench.file("sub/file", "");
    bench.ok("Bash", json!({"command": "cd sub"})).await;
    let said = bench.ok("Bash", json!({"command": "cd /usr && pwd"})).await;
    assert_eq!(said, "/usr\n(The next command starts in sub again: /usr is not in the project.)");
    for command in [
        "echo /usr >&198",
        "echo -n / >&198; exec true",
        "printf '/usr\\n/usr\\n' >&198",
        "pwd() { echo /usr; }; cd ..; cd sub",
        "cd ..; cd sub; printf '/usr\\n'",
        "ln -sfn /usr out; cd out",
    ] {
        bench.ok("Bash", json!({"command": command})).await;
        assert_eq!(bench.workspace.cwd(), bench.path("sub").canonicalize().unwrap(), "{command}");
    }
}

#[tokio::test]
async fn a_directory_that_is_gone_or_was_swapped_is_left() {
    let bench = Bench::new();
    let root = bench.dir.path().canonicalize().unwrap();
    bench.file("sub/file", "");
    bench.ok("Bash", json!({"command": "cd sub"})).await;
    std::fs::rename(bench.path("sub"), bench.path("moved")).unwrap();
    assert_eq!(bench.workspace.cwd(), root);
    assert_eq!(bench.ok("Bash", json!({"command": "pwd"})).await, root.display().to_string());
    bench.ok("Bash", json!({"command": "cd moved"})).await;
    std::fs::rename(bench.path("moved"), bench.path("again")).unwrap();
    std::os::unix::fs::symlink("/usr", bench.path("moved")).unwrap();
    assert_eq!(bench.ok("Bash", json!({"command": "pwd"})).await, root.display().to_string());
    bench.ok("Bash", json!({"command": "cd again && rm file && rmdir ../again"})).await;
    assert_eq!(bench.workspace.cwd(), root);
}

#[tokio::test]
async fn the_calls_progress_has_its_description() {
    let bench = Bench::new();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let cx = ToolContext {
        progress: autonoe_tools::Progress::to({
            let told = told.clone();
            move |title, _| told.lock().unwrap().push(title.to_owned())
        }),
        ..ToolContext::default()
    };
    let args = json!({"command": "true", "description": "Do nothing"});
    let output = bench.tool("Bash").call(args, &cx).await;
    assert_eq!(
        (output.title.as_str(), told.lock().unwrap().as_slice()),
        ("Do nothing", &["Do nothing".to_owned()][..])
    );
}

#[tokio::test]
async fn a_room_that_holds_makes_no_difference() {
    let bench = Bench::with_bubblewrap();
    bench.file("sub/file", "");
    bench.ok("Bash", json!({"command": "cd sub"})).await;
    assert_eq!(bench.ok("Bash", json!({"command": "ls"})).await, "file");
    let said = bench.ok("Bash", json!({"command": "mkdir -p /tmp/x && cd /tmp/x"})).await;
    assert!(said.contains("starts in sub again"), "{said}");
    let begun = bench.call("Bash", json!({"command": "ls; exec sleep 300", "run_in_background": true})).await;
    let id = begun.metadata["bash_id"].as_str().unwrap();
    let mut seen = String::new();
    while !seen.contains("file") {
        seen += &bench.ok("BashOutput", json!({"bash_id": id})).await;
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    bench.ok("KillShell", json!({"shell_id": id})).await;
    bench.session_sandbox.close().await;
}
