//! Commands with limits on time and output.

use std::time::Duration;

use autonoe_sandbox::{BoundedCommand, CommandEnd, CommandResult, MAX_OUTPUT, OutputLimits};

use autonoe_test_kit::assert_gone;

use crate::support::{THREE_DESCENDANTS, TestRoom, three};

/// Far above what any test here needs.
const LONG: Duration = Duration::from_secs(120);
const OUTPUT_LIMITS: OutputLimits = OutputLimits { head: 8, tail: 8 };

fn bounded_command(test_room: &TestRoom, script: &str) -> BoundedCommand {
    BoundedCommand {
        launch: test_room.script(script),
        input: Vec::new(),
        separate_stderr: false,
        time_limit: LONG,
        output_limits: OUTPUT_LIMITS,
    }
}

async fn run(bounded_command: BoundedCommand) -> CommandResult {
    bounded_command.run(|_| {}).await
}

#[tokio::test]
async fn the_result_has_the_exit_code_and_the_output() {
    let test_room = TestRoom::open().await;
    let ran = run(bounded_command(&test_room, "echo out; echo err >&2; exit 3")).await;
    assert_eq!((ran.ending, ran.output.text()), (CommandEnd::Exit(3), "out\nerr\n".to_owned()));
    let ran = run(BoundedCommand {
        separate_stderr: true,
        ..bounded_command(&test_room, "echo out; echo err >&2")
    })
    .await;
    assert_eq!((ran.output.text(), ran.stderr.text()), ("out\n".to_owned(), "err\n".to_owned()));
}

#[tokio::test]
async fn only_the_start_and_the_end_of_the_output_are_kept_but_all_of_it_is_passed_on() {
    let test_room = TestRoom::open().await;
    let mut passed_on: Vec<u8> = Vec::new();
    let ran = bounded_command(&test_room, "printf beginning; printf %100s; printf 'the end'")
        .run(|bytes| passed_on.extend(bytes))
        .await;
    assert_eq!(ran.output.text(), "beginnin\n[100 bytes left out]\n the end");
    assert_eq!((ran.output.bytes(), passed_on.len()), (116, 116));
}

#[tokio::test]
async fn the_input_is_complete_and_then_closed() {
    let test_room = TestRoom::open().await;
    let input = vec![b'a'; 1_000_000];
    let ran = run(BoundedCommand { input: input.clone(), ..bounded_command(&test_room, "wc -c") }).await;
    assert_eq!(ran.output.text().trim(), "1000000");
    let ran = run(BoundedCommand { input, ..bounded_command(&test_room, "exit 5") }).await;
    assert_eq!(ran.ending, CommandEnd::Exit(5), "a program need not read its input");
    let ran = run(bounded_command(&test_room, "wc -c")).await;
    assert_eq!(ran.output.text().trim(), "0");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_with_its_descendants() {
    let test_room = TestRoom::open().await;
    let script = format!("echo begun; {THREE_DESCENDANTS} sleep 300");
    let waiting =
        BoundedCommand { time_limit: Duration::from_secs(3), ..bounded_command(&test_room, &script) };
    let ran = run(waiting).await;
    assert_eq!((ran.ending, ran.output.text()), (CommandEnd::TimedOut, "begun\n".to_owned()));
    assert_gone(&three(&test_room.project()));
}

#[tokio::test]
async fn a_command_that_prints_too_much_is_killed() {
    let test_room = TestRoom::open().await;
    for script in ["yes", "yes >&2"] {
        let ran = run(BoundedCommand { separate_stderr: true, ..bounded_command(&test_room, script) }).await;
        assert_eq!(ran.ending, CommandEnd::TooMuchOutput, "{script}");
        assert!(ran.output.bytes().max(ran.stderr.bytes()) > MAX_OUTPUT);
    }
}

#[tokio::test]
async fn a_command_that_cannot_start_reports_why() {
    let test_room = TestRoom::open().await;
    let launch = test_room.room.command("/no/such/program");
    let ran = run(BoundedCommand { launch, ..bounded_command(&test_room, "") }).await;
    assert!(matches!(&ran.ending, CommandEnd::NotRun { why } if !why.is_empty()), "{:?}", ran.ending);
}
