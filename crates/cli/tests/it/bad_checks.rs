//! Checks that misbehave: each gets a clear verdict, none passes, and nothing of them is left.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use autonoe_sandbox::Limits;
use autonoe_verify::Verdict;
use serde_json::json;

use super::support::{Place, always, has_bubblewrap, model, wait_until};
use super::trials::{check, running_with, tried, try_out};

const MIB: u64 = 1 << 20;

/// A length of sleep that nothing else on the machine has.
fn mark(which: u32) -> String {
    format!("{which}{:07}", std::process::id())
}

#[test]
fn one_that_hangs_is_ended_with_all_that_it_started() {
    if !has_bubblewrap() {
        return;
    }
    let (place, mark) = (Place::new(), mark(7));
    let command = format!("sleep {mark} & setsid sleep {mark} & (setsid sleep {mark} &) ; sleep {mark}");
    let trial = tried(&place, Limits::default(), check(&command, json!({ "timeLimit": "1s" })));
    assert!(matches!(trial.verdict, Verdict::TimedOut { .. }), "{trial:?}");
    assert_eq!(trial.sentence(), "it was ended after its time limit of 1s");
    wait_until("all are gone", || running_with(&mark) == 0);
}

#[test]
fn what_one_leaves_behind_is_gone_before_the_next() {
    if !has_bubblewrap() {
        return;
    }
    let (place, mark) = (Place::new(), mark(8));
    let looks = "grep -lzx '[s]leep' /proc/[0-9]*/cmdline";
    let leaves = format!("setsid nohup sleep {mark} > /dev/null 2>&1 & until {looks}; do :; done");
    let checks = [check(&leaves, json!({})), check(looks, json!({}))];
    let result = try_out(&place, &place.project(), Limits::default(), &checks);
    let trials: Vec<_> = result.trials.iter().map(|(_, now)| now).collect();
    assert!(trials[0].passed(), "{:?}", trials[0]);
    assert!(!trials[1].passed(), "it does not find the other's: {:?}", trials[1]);
    wait_until("it is gone", || running_with(&mark) == 0);
}

#[test]
fn one_that_forks_without_end_is_ended() {
    if !has_bubblewrap() {
        return;
    }
    let (place, mark) = (Place::new(), mark(9));
    // Bounded here, should nobody else bound it.
    let command = format!("for i in $(seq 1000); do sleep {mark} & done; wait");
    let limits = Limits { processes: 60, ..Limits::default() };
    let trial = tried(&place, limits, check(&command, json!({ "timeLimit": "60s" })));
    assert!(trial.sentence().contains("more than 60 processes"), "{trial:?}");
    assert!(!trial.passed());
    wait_until("all are gone", || running_with(&mark) == 0);
}

#[test]
fn one_that_fills_the_disk_is_ended() {
    if !has_bubblewrap() {
        return;
    }
    let place = Place::new();
    let disk = rustix::fs::statvfs(place.home()).expect("a disk");
    // As though the disk had 64 MiB to spare.
    let disk_reserve = disk.f_bavail * disk.f_frsize - 64 * MIB;
    let command = "for i in $(seq 400); do head -c 4194304 /dev/zero > $i || exit 1; sleep 0.02; done";
    let trial = tried(&place, Limits { disk_reserve, ..Limits::default() }, check(command, json!({})));
    assert!(trial.sentence().contains("left on the project's disk"), "{trial:?}");
    let left = fs::read_dir(place.home().join("scratch")).expect("scratch").filter_map(Result::ok);
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("checkout-"));
    assert_eq!(left.count(), 0, "what it wrote is gone");

    let limits = Limits { file_size: MIB, ..Limits::default() };
    let trial = tried(&place, limits, check("head -c 3000000 /dev/zero > large", json!({})));
    assert!(matches!(trial.verdict, Verdict::WrongExit { .. }), "{trial:?}");
}

#[test]
fn one_that_prints_without_end_is_ended_and_little_is_kept() {
    let place = Place::new();
    let trial = tried(&place, Limits::default(), check("yes | head -c 1000000000", json!({})));
    assert_eq!(trial.verdict, Verdict::TooMuchOutput, "{}", trial.sentence());
    assert!(trial.output.len() < 1_000_000, "{} bytes are kept", trial.output.len());
    assert!(trial.output_bytes < 100_000_000, "{} bytes were read", trial.output_bytes);
    assert!(trial.output.contains("bytes left out"));
}

#[test]
fn one_whose_command_is_not_there_says_so() {
    let place = Place::new();
    let trial = tried(&place, Limits::default(), check("no-such-program --all", json!({})));
    assert_eq!(trial.sentence(), "its command was not found (exit code 127 instead of 0)");
    let trial = tried(&place, Limits::default(), check("sh missing.sh", json!({ "exit": 0 })));
    assert!(!trial.passed() && trial.output.contains("missing.sh"), "{trial:?}");
}

/// What a request through the proxy of a room gives.
const FETCH: &str = r#"exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' $TARGET $TARGET >&3 && cat <&3"#;

#[test]
fn one_that_needs_the_network_has_it_only_if_it_says_so_and_the_user_allows_it() {
    if !has_bubblewrap() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("address").port();
    let serving = std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("accepted");
            let mut request = [0; 1024];
            let _ = client.read(&mut request);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
            let _ = client.write_all(answer);
        }
    });
    let command = format!("TARGET=127.0.0.1:{port}; {FETCH}");
    let place = Place::with_status(&[("A", "pending")]);
    let check = |name: &str, network: bool| json!({ "name": name, "deliverable": "A", "run": command, "output": ["hello"], "network": network });
    let checks = json!({ "checks": [check("silent", false), check("open", true)] });
    place.write(".autonoe/checks.json", &checks.to_string());
    let config = place.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    let network = format!("[network]\nallow = [\"127.0.0.1:{port}\"]\n");
    let seen = |settings: &str| {
        fs::write(config.join("config.toml"), settings).expect("written");
        let turns = r#"
            [[conversation.turn]]
            call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
            [[conversation.turn]]
            expect = "CHECKS_FAILED"
            text = "done""#;
        let model = model(&always(turns));
        let run = place.run(&model, &["run", "-n", "1"]);
        assert_eq!(model.problems(), Vec::<String>::new());
        let claims = run.of_type("checked").filter(|event| event["purpose"] == "claim");
        let claims = claims.map(|event| (event["passed"] == true, event["message"].to_string()));
        claims.collect::<Vec<_>>()
    };
    let without = seen(&network);
    assert_eq!(without.iter().filter(|(passed, _)| *passed).count(), 0, "{without:?}");
    assert!(without[1].1.contains("which you have not allowed"), "{without:?}");
    let with = seen(&format!("{network}[checks]\nnetwork = true\n"));
    assert!(!with[0].0, "one that does not say so has none: {with:?}");
    assert!(with[1].0, "{with:?}");
    drop(serving);
}

#[test]
fn one_that_was_never_run_has_not_been_seen_to_fail() {
    if !has_bubblewrap() {
        return;
    }
    let place = Place::with_status(&[("A", "pending")]);
    place.write("SPEC.md", "# Spec\n\n```check A name=idle network\n$ true\n```\n");
    let turns = r#"
        [[conversation.turn]]
        call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
        [[conversation.turn]]
        text = "done""#;
    let run = place.run(&model(&always(turns)), &["run", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    assert!(run.stderr.contains("until it was run it does not count"), "{}", run.stderr);
    let config = place.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), "[checks]\nnetwork = true\n").expect("written");
    let run = place.run(&model(&always(turns)), &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(
        run.outcome()["deliverables_claimed"],
        1,
        "it passes at once and proves nothing: {}",
        run.stderr
    );
}

#[test]
fn checks_that_cannot_be_read_stop_the_run_and_are_named() {
    for (file, content, words) in [
        (
            "SPEC.md",
            "# Calc\n\n```check A\nno command\n```\n",
            &["SPEC.md, line 4", "begins with a command"][..],
        ),
        ("SPEC.md", "# Calc\n\n```check A time=soon\n$ true\n```\n", &["SPEC.md, line 3", "soon"]),
        ("SPEC.md", "# Calc\n\n```check A\n$ true\n", &["SPEC.md, line 3", "never closed"]),
        (
            ".autonoe/checks.json",
            "{ \"checks\": [{ \"name\": \"a\" }] }",
            &["checks.json", "missing field `run`"],
        ),
        (".autonoe/checks.json", "not JSON", &["checks.json"]),
    ] {
        let place = Place::with_status(&[("A", "pending")]);
        place.write(file, content);
        let model = model(&always("[[conversation.turn]]\ntext = \"never asked\"\n"));
        let output = place.command(&model, &["run"]).output().expect("started");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        for word in words {
            assert!(stderr.contains(word), "{word} is missing: {stderr}");
        }
        assert!(model.requests().is_empty());
        assert_eq!(place.statuses(), [("A".to_owned(), "pending")]);
    }
}
