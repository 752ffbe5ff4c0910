//! Misbehaving checks: each gets a clear verdict, none passes, and none leaves anything behind.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use autonoe_sandbox::RoomLimits;
use autonoe_verify::CheckVerdict;
use serde_json::json;

use super::check_runner::{check, run_check, run_checks, running_with};
use super::support::{CliTestProject, always, has_bubblewrap, model, wait_until};

const MIB: u64 = 1 << 20;

/// A `sleep` duration that is unique on this machine.
fn mark(which: u32) -> String {
    format!("{which}{:07}", std::process::id())
}

#[test]
fn a_hanging_check_is_ended_with_its_children() {
    if !has_bubblewrap() {
        return;
    }
    let (project, mark) = (CliTestProject::new(), mark(7));
    let command = format!("sleep {mark} & setsid sleep {mark} & (setsid sleep {mark} &) ; sleep {mark}");
    let result = run_check(&project, RoomLimits::default(), check(&command, json!({ "timeLimit": "1s" })));
    assert!(matches!(result.verdict, CheckVerdict::TimedOut { .. }), "{result:?}");
    assert_eq!(result.sentence(), "it was killed after its time limit of 1s");
    wait_until("all are gone", || running_with(&mark) == 0);
}

#[test]
fn a_checks_leftovers_are_gone_before_the_next_check() {
    if !has_bubblewrap() {
        return;
    }
    let (project, mark) = (CliTestProject::new(), mark(8));
    let looks = "grep -lzx '[s]leep' /proc/[0-9]*/cmdline";
    let leaves = format!("setsid nohup sleep {mark} > /dev/null 2>&1 & until {looks}; do :; done");
    let checks = [check(&leaves, json!({})), check(looks, json!({}))];
    let reproduction = run_checks(&project, &project.root(), RoomLimits::default(), &checks);
    let runs: Vec<_> = reproduction.runs.iter().map(|(_, now)| now).collect();
    assert!(runs[0].passed(), "{:?}", runs[0]);
    assert!(!runs[1].passed(), "it must not find the other check's process: {:?}", runs[1]);
    wait_until("it is gone", || running_with(&mark) == 0);
}

#[test]
fn a_fork_bomb_is_ended() {
    if !has_bubblewrap() {
        return;
    }
    let (project, mark) = (CliTestProject::new(), mark(9));
    // Bounded in case the limit does not work.
    let command = format!("for i in $(seq 1000); do sleep {mark} & done; wait");
    let limits = RoomLimits { processes: 60, ..RoomLimits::default() };
    let result = run_check(&project, limits, check(&command, json!({ "timeLimit": "60s" })));
    assert!(result.sentence().contains("more than 60 processes"), "{result:?}");
    assert!(!result.passed());
    wait_until("all are gone", || running_with(&mark) == 0);
}

#[test]
fn a_check_that_fills_the_disk_is_ended() {
    if !has_bubblewrap() {
        return;
    }
    let project = CliTestProject::new();
    let disk = rustix::fs::statvfs(project.home()).expect("a disk");
    // As if the disk had only 64 MiB to spare.
    let disk_reserve = disk.f_bavail * disk.f_frsize - 64 * MIB;
    let command = "for i in $(seq 400); do head -c 4194304 /dev/zero > $i || exit 1; sleep 0.02; done";
    let result =
        run_check(&project, RoomLimits { disk_reserve, ..RoomLimits::default() }, check(command, json!({})));
    assert!(result.sentence().contains("left on the project's disk"), "{result:?}");
    let left = fs::read_dir(project.home().join("scratch")).expect("scratch").filter_map(Result::ok);
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("checkout-"));
    assert_eq!(left.count(), 0, "its files are gone");

    let limits = RoomLimits { file_size: MIB, ..RoomLimits::default() };
    let result = run_check(&project, limits, check("head -c 3000000 /dev/zero > large", json!({})));
    assert!(matches!(result.verdict, CheckVerdict::WrongExit { .. }), "{result:?}");
}

#[test]
fn endless_output_is_ended_and_truncated() {
    let project = CliTestProject::new();
    let result = run_check(&project, RoomLimits::default(), check("yes | head -c 1000000000", json!({})));
    assert_eq!(result.verdict, CheckVerdict::TooMuchOutput, "{}", result.sentence());
    assert!(result.output.len() < 1_000_000, "{} bytes are kept", result.output.len());
    assert!(result.output_bytes < 100_000_000, "{} bytes were read", result.output_bytes);
    assert!(result.output.contains("bytes left out"));
}

#[test]
fn a_missing_command_is_reported() {
    let project = CliTestProject::new();
    let result = run_check(&project, RoomLimits::default(), check("no-such-program --all", json!({})));
    assert_eq!(result.sentence(), "its command was not found (expected exit 0, got 127)");
    let result = run_check(&project, RoomLimits::default(), check("sh missing.sh", json!({ "exit": 0 })));
    assert!(!result.passed() && result.output.contains("missing.sh"), "{result:?}");
}

/// Prints the response to a request through the room's proxy.
const FETCH: &str = r#"exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' $TARGET $TARGET >&3 && cat <&3"#;

#[test]
fn a_check_has_network_only_if_declared_and_allowed() {
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
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let check = |name: &str, network: bool| json!({ "name": name, "deliverable": "A", "run": command, "output": ["hello"], "network": network });
    let checks = json!({ "checks": [check("silent", false), check("open", true)] });
    project.write(".autonoe/checks.json", &checks.to_string());
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    let network = format!("[network]\nallow = [\"127.0.0.1:{port}\"]\n");
    let claims_with = |settings: &str| {
        fs::write(config.join("config.toml"), settings).expect("written");
        let turns = r#"
            [[conversation.turn]]
            call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
            [[conversation.turn]]
            expect = "CHECKS_FAILED"
            text = "done""#;
        let model = model(&always(turns));
        let run = project.run(&model, &["run", "-n", "1"]);
        assert_eq!(model.problems(), Vec::<String>::new());
        let claims = run.of_type("checked").filter(|event| event["purpose"] == "claim");
        let claims = claims.map(|event| (event["passed"] == true, event["message"].to_string()));
        claims.collect::<Vec<_>>()
    };
    let without = claims_with(&network);
    assert_eq!(without.iter().filter(|(passed, _)| *passed).count(), 0, "{without:?}");
    assert!(without[1].1.contains("which you have not allowed"), "{without:?}");
    let with = claims_with(&format!("{network}[checks]\nnetwork = true\n"));
    assert!(!with[0].0, "a check that does not declare network has none: {with:?}");
    assert!(with[1].0, "{with:?}");
    drop(serving);
}

#[test]
fn a_check_that_never_ran_does_not_count_as_failed_first() {
    if !has_bubblewrap() {
        return;
    }
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("SPEC.md", "# Spec\n\n```check A name=idle network\n$ true\n```\n");
    let turns = r#"
        [[conversation.turn]]
        call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
        [[conversation.turn]]
        text = "done""#;
    let run = project.run(&model(&always(turns)), &["run", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    assert!(run.stderr.contains("it does not count until it has run"), "{}", run.stderr);
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), "[checks]\nnetwork = true\n").expect("written");
    let run = project.run(&model(&always(turns)), &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(
        run.outcome()["deliverables_claimed"],
        1,
        "it passes at once and proves nothing: {}",
        run.stderr
    );
}

#[test]
fn invalid_checks_stop_the_run_and_are_named() {
    for (file, content, words) in [
        (
            "SPEC.md",
            "# Calc\n\n```check A\nno command\n```\n",
            &["SPEC.md, line 4", "start with a command"][..],
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
        let project = CliTestProject::with_status(&[("A", "pending")]);
        project.write(file, content);
        let model = model(&always("[[conversation.turn]]\ntext = \"never called\"\n"));
        let output = project.command(&model, &["run"]).output().expect("started");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        for word in words {
            assert!(stderr.contains(word), "{word} is missing: {stderr}");
        }
        assert!(model.requests().is_empty());
        assert_eq!(project.statuses(), [("A".to_owned(), "pending")]);
    }
}
