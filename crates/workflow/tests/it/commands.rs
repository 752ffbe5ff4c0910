use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use autonoe_workflow::HostEffects;
use serde_json::json;

use autonoe_test_kit::processes_with;

use crate::host_fixture::{HostFixture, LONG};

#[tokio::test]
async fn a_command_runs_with_a_shell_in_the_project() {
    let fixture = HostFixture::new();
    fixture.file("a.txt", "hello\n");
    let outcome = fixture.host.command("cat a.txt && echo error >&2 && exit 3", LONG).await;
    assert_eq!((outcome.exit, outcome.output.as_str()), (Some(3), "hello\nerror\n"));
    assert_eq!(outcome.summary, "exit code 3");
    assert!(fixture.host.command("-x 2>/dev/null; true", LONG).await.is_success(), "a dash is not an option");
}

#[tokio::test]
async fn the_start_and_the_end_of_a_long_output_are_kept() {
    let fixture = HostFixture::new();
    let outcome =
        fixture.host.command("echo begin; head -c 1000000 /dev/zero | tr '\\0' x; echo end", LONG).await;
    assert!(outcome.output.starts_with("begin\nxxx") && outcome.output.ends_with("xxxend\n"));
    assert!(
        outcome.output.len() < 66 * 1024 && outcome.output.contains("bytes left out]"),
        "{}",
        outcome.output.len()
    );
}

#[tokio::test]
async fn a_command_over_its_time_limit_is_killed_with_its_children() {
    let fixture = HostFixture::new();
    let mark = format!("299.{}", std::process::id());
    let command = format!("setsid sleep {mark} & echo begun; wait");
    let outcome = fixture.host.command(&command, Duration::from_secs(1)).await;
    assert_eq!((outcome.exit, outcome.output.as_str()), (None, "begun\n"));
    assert_eq!(outcome.summary, "it was killed after its time limit of 1s");
    assert!(processes_with(&[&mark]).is_empty());
}

#[tokio::test]
async fn a_missing_command_is_reported() {
    let fixture = HostFixture::new();
    let outcome = fixture.host.command("no-such-program-here", LONG).await;
    assert_eq!(outcome.exit, Some(127));
    assert!(outcome.summary.contains("not found"), "{}", outcome.summary);
}

#[tokio::test]
async fn a_program_reads_json_and_only_its_standard_output_is_the_output() {
    let fixture = HostFixture::new();
    fixture.program("done", "pwd; cat; echo one >&2; echo two >&2; exit 4");
    let outcome = fixture.host.program("done", &json!({"iteration": 3}), LONG).await;
    let root = fixture.host.root.canonicalize().unwrap();
    assert_eq!(outcome.output, format!("{}\n{{\"iteration\":3}}", root.display()));
    assert_eq!((outcome.exit, outcome.summary.as_str()), (Some(4), "exit code 4; standard error: one | two"));
}

#[tokio::test]
async fn standard_error_of_a_program_is_quoted_in_part() {
    let fixture = HostFixture::new();
    fixture.program("loud", "head -c 100000 /dev/zero | tr '\\0' x >&2; echo the end >&2");
    let outcome = fixture.host.program("loud", &json!(null), LONG).await;
    assert!(outcome.is_success() && outcome.output.is_empty());
    assert!(outcome.summary.ends_with("the end") && outcome.summary.len() < 600, "{}", outcome.summary);
}

#[tokio::test]
async fn only_a_regular_executable_file_of_the_agent_is_run() {
    let fixture = HostFixture::new();
    let directory = &fixture.host.directory;
    let real = fixture.program("real", "echo ran");
    fs::create_dir(directory.join("below")).unwrap();
    fixture.program("below/deep", "echo ran");
    fs::write(directory.join("text"), "#!/bin/sh\necho ran").unwrap();
    symlink("real", directory.join("link")).unwrap();
    symlink("below", directory.join("way")).unwrap();
    symlink("/bin/true", directory.join("outside")).unwrap();
    for (program, why) in [
        ("text", "not executable"),
        ("link", "cannot be opened"),
        ("way/deep", "cannot be opened"),
        ("outside", "cannot be opened"),
        ("below", "not a regular file"),
        ("missing", "cannot be opened"),
        ("", "not the path"),
        ("../a/real", "not the path"),
        ("./real", "not the path"),
        ("/bin/true", "not the path"),
        (real.to_str().unwrap(), "not the path"),
        ("a\0b", "not the path"),
    ] {
        let outcome = fixture.host.program(program, &json!({}), LONG).await;
        assert_eq!((outcome.exit, outcome.output.as_str()), (None, ""), "{program:?}");
        assert!(
            outcome.summary.contains("could not be run") && outcome.summary.contains(why),
            "{}",
            outcome.summary
        );
    }
    assert_eq!(fixture.host.program("below/deep", &json!({}), LONG).await.output, "ran\n");
}

#[tokio::test]
async fn commands_and_programs_are_confined_by_the_sandbox() {
    let Some(fixture) = HostFixture::sandboxed() else { return };
    let outside = fixture.dir.path().join("outside");
    fs::write(&outside, "private data").unwrap();
    let outcome = fixture.host.command(&format!("echo x > kept; cat {}", outside.display()), LONG).await;
    assert!(!outcome.is_success() && !outcome.output.contains("private"), "{outcome:?}");
    assert_eq!(fs::read_to_string(fixture.host.root.join("kept")).unwrap(), "x\n");
    fixture.program("look", &format!("cat > given; cat {}", outside.display()));
    let outcome = fixture.host.program("look", &json!([1]), LONG).await;
    assert!(!outcome.is_success() && outcome.output.is_empty(), "{outcome:?}");
    assert_eq!(fs::read_to_string(fixture.host.root.join("given")).unwrap(), "[1]");
}

#[tokio::test]
async fn a_blocked_host_is_named_in_the_summary_but_not_in_the_output() {
    let Some(fixture) = HostFixture::sandboxed() else { return };
    let outcome = fixture.host.command("curl --silent --fail http://nowhere.example/; echo done", LONG).await;
    assert_eq!(outcome.output, "done\n");
    assert!(outcome.summary.contains("network access to nowhere.example was blocked"), "{}", outcome.summary);
}
