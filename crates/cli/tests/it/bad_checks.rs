//! What the command line adds to checks: the user's permission for the network, and faults in the files of checks.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

use super::support::{CliTestProject, always, has_bubblewrap, model};

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
