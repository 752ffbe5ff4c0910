use std::time::Duration;

use autonoe_sandbox::{BoundedCommand, Ending, Kept, MAX_OUTPUT, Ran};

use crate::support::{House, THREE_DESCENDANTS, assert_gone, three};

/// Far above what anything here needs.
const LONG: Duration = Duration::from_secs(120);
const KEPT: Kept = Kept { head: 8, tail: 8 };

fn bounded_command(house: &House, script: &str) -> BoundedCommand {
    BoundedCommand {
        launch: house.script(script),
        input: Vec::new(),
        keeps_errors_apart: false,
        time_limit: LONG,
        kept: KEPT,
    }
}

async fn run(bounded_command: BoundedCommand) -> Ran {
    bounded_command.run(|_| {}).await
}

#[tokio::test]
async fn it_tells_how_it_ended_and_what_was_printed() {
    let house = House::open().await;
    let ran = run(bounded_command(&house, "echo out; echo err >&2; exit 3")).await;
    assert_eq!((ran.ending, ran.output.text()), (Ending::Exit(3), "out\nerr\n".to_owned()));
    let ran =
        run(BoundedCommand { keeps_errors_apart: true, ..bounded_command(&house, "echo out; echo err >&2") })
            .await;
    assert_eq!((ran.output.text(), ran.errors.text()), ("out\n".to_owned(), "err\n".to_owned()));
}

#[tokio::test]
async fn only_the_beginning_and_the_end_of_an_output_are_kept_but_all_of_it_is_seen() {
    let house = House::open().await;
    let mut seen: Vec<u8> = Vec::new();
    let ran = bounded_command(&house, "printf beginning; printf %100s; printf 'the end'")
        .run(|bytes| seen.extend(bytes))
        .await;
    assert_eq!(ran.output.text(), "beginnin\n[100 bytes left out]\n the end");
    assert_eq!((ran.output.bytes(), seen.len()), (116, 116));
}

#[tokio::test]
async fn what_it_is_given_to_read_ends_there() {
    let house = House::open().await;
    let input = vec![b'a'; 1_000_000];
    let ran = run(BoundedCommand { input: input.clone(), ..bounded_command(&house, "wc -c") }).await;
    assert_eq!(ran.output.text().trim(), "1000000");
    let ran = run(BoundedCommand { input, ..bounded_command(&house, "exit 5") }).await;
    assert_eq!(ran.ending, Ending::Exit(5), "one that does not read is not at fault");
    let ran = run(bounded_command(&house, "wc -c")).await;
    assert_eq!(ran.output.text().trim(), "0");
}

#[tokio::test]
async fn what_takes_too_long_is_ended_with_all_that_it_started() {
    let house = House::open().await;
    let script = format!("echo begun; {THREE_DESCENDANTS} sleep 300");
    let waiting = BoundedCommand { time_limit: Duration::from_secs(3), ..bounded_command(&house, &script) };
    let ran = run(waiting).await;
    assert_eq!((ran.ending, ran.output.text()), (Ending::TimedOut, "begun\n".to_owned()));
    assert_gone(&three(&house.project()));
}

#[tokio::test]
async fn what_prints_without_end_is_ended() {
    let house = House::open().await;
    for script in ["yes", "yes >&2"] {
        let ran = run(BoundedCommand { keeps_errors_apart: true, ..bounded_command(&house, script) }).await;
        assert_eq!(ran.ending, Ending::TooMuchOutput, "{script}");
        assert!(ran.output.bytes().max(ran.errors.bytes()) > MAX_OUTPUT);
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let house = House::open().await;
    let launch = house.room.command("/no/such/program");
    let ran = run(BoundedCommand { launch, ..bounded_command(&house, "") }).await;
    assert!(matches!(&ran.ending, Ending::NotRun { why } if !why.is_empty()), "{:?}", ran.ending);
}
