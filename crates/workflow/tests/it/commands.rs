use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use autonoe_workflow::HostEffects;
use serde_json::json;

use crate::support::{Bench, LONG, is_running};

#[tokio::test]
async fn a_command_runs_with_a_shell_in_the_project() {
    let bench = Bench::new();
    bench.file("a.txt", "hello\n");
    let end = bench.machine.command("cat a.txt && echo said >&2 && exit 3", LONG).await;
    assert_eq!((end.exit, end.output.as_str()), (Some(3), "hello\nsaid\n"));
    assert_eq!(end.sentence, "exit code 3");
    assert!(
        bench.machine.command("-x 2>/dev/null; true", LONG).await.is_success(),
        "a dash is not an option"
    );
}

#[tokio::test]
async fn of_a_long_output_the_beginning_and_the_end_are_kept() {
    let bench = Bench::new();
    let end =
        bench.machine.command("echo begin; head -c 1000000 /dev/zero | tr '\\0' x; echo end", LONG).await;
    assert!(end.output.starts_with("begin\nxxx") && end.output.ends_with("xxxend\n"));
    assert!(end.output.len() < 66 * 1024 && end.output.contains("bytes left out]"), "{}", end.output.len());
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_what_it_started() {
    let bench = Bench::new();
    let mark = format!("299.{}", std::process::id());
    let command = format!("setsid sleep {mark} & echo begun; wait");
    let end = bench.machine.command(&command, Duration::from_secs(1)).await;
    assert_eq!((end.exit, end.output.as_str()), (None, "begun\n"));
    assert_eq!(end.sentence, "it was ended after its time limit of 1s");
    assert!(!is_running(&mark));
}

#[tokio::test]
async fn a_command_that_is_not_there_is_told() {
    let bench = Bench::new();
    let end = bench.machine.command("no-such-program-here", LONG).await;
    assert_eq!(end.exit, Some(127));
    assert!(end.sentence.contains("not found"), "{}", end.sentence);
}

#[tokio::test]
async fn a_program_reads_json_and_only_its_standard_output_is_the_output() {
    let bench = Bench::new();
    bench.program("done", "pwd; cat; echo one >&2; echo two >&2; exit 4");
    let end = bench.machine.program("done", &json!({"iteration": 3}), LONG).await;
    let root = bench.machine.root.canonicalize().unwrap();
    assert_eq!(end.output, format!("{}\n{{\"iteration\":3}}", root.display()));
    assert_eq!((end.exit, end.sentence.as_str()), (Some(4), "exit code 4; it said: one | two"));
}

#[tokio::test]
async fn what_a_program_says_is_told_in_part() {
    let bench = Bench::new();
    bench.program("loud", "head -c 100000 /dev/zero | tr '\\0' x >&2; echo the end >&2");
    let end = bench.machine.program("loud", &json!(null), LONG).await;
    assert!(end.is_success() && end.output.is_empty());
    assert!(end.sentence.ends_with("the end") && end.sentence.len() < 600, "{}", end.sentence);
}

#[tokio::test]
async fn only_an_ordinary_executable_file_of_the_agent_is_run() {
    let bench = Bench::new();
    let directory = &bench.machine.directory;
    let real = bench.program("real", "echo ran");
    fs::create_dir(directory.join("below")).unwrap();
    bench.program("below/deep", "echo ran");
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
        let end = bench.machine.program(program, &json!({}), LONG).await;
        assert_eq!((end.exit, end.output.as_str()), (None, ""), "{program:?}");
        assert!(end.sentence.contains("could not be run") && end.sentence.contains(why), "{}", end.sentence);
    }
    assert_eq!(bench.machine.program("below/deep", &json!({}), LONG).await.output, "ran\n");
}

#[tokio::test]
async fn commands_and_programs_are_held_by_the_sandbox() {
    let Some(bench) = Bench::held() else { return };
    let outside = bench.dir.path().join("outside");
    fs::write(&outside, "nobody's business").unwrap();
    let end = bench.machine.command(&format!("echo x > kept; cat {}", outside.display()), LONG).await;
    assert!(!end.is_success() && !end.output.contains("business"), "{end:?}");
    assert_eq!(fs::read_to_string(bench.machine.root.join("kept")).unwrap(), "x\n");
    bench.program("look", &format!("cat > given; cat {}", outside.display()));
    let end = bench.machine.program("look", &json!([1]), LONG).await;
    assert!(!end.is_success() && end.output.is_empty(), "{end:?}");
    assert_eq!(fs::read_to_string(bench.machine.root.join("given")).unwrap(), "[1]");
}

#[tokio::test]
async fn a_host_that_a_command_could_not_reach_is_named_but_not_in_its_output() {
    let Some(bench) = Bench::held() else { return };
    let end = bench.machine.command("curl --silent --fail http://nowhere.example/; echo done", LONG).await;
    assert_eq!(end.output, "done\n");
    assert!(end.sentence.contains("no way out to nowhere.example"), "{}", end.sentence);
}
