//! What a session's commands try against the machine, end to end: through the real binary, with a model that means harm.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use super::support::{
    Place, Run, always, assert_followed, assert_nothing_left, has_bubblewrap, model, without_bubblewrap,
};

/// A project whose owner trusts `sh`, so that the command policy is out of the way and only the kernel holds.
fn place(attack: &str) -> Place {
    let place = Place::with_status(&[("A", "pending")]);
    place.write(".autonoe/agent.json", r#"{"allowCommands": {"base": ["bash"]}}"#);
    place.write("attack.sh", attack);
    let trusted = place.autonoe(None).args(["trust", "--yes"]).output().expect("started");
    assert!(trusted.status.success());
    place
}

/// A session that runs the attack and then says that all is well.
fn session(place: &Place, change: impl FnOnce(&mut Command)) -> Run {
    let model = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "bash attack.sh > result.txt 2>&1" } }]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    let mut command = place.command(&model, &["run"]);
    change(&mut command);
    let run = Run::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_followed(&model);
    run
}

#[test]
fn a_session_does_not_get_out() {
    if !has_bubblewrap() {
        return;
    }
    // Each line is an attempt; those that succeed say so.
    let place = place(
        r#"
        try() { if eval "$1" 2>/dev/null; then echo "BROKE: $1"; else echo "held: $1"; fi; }
        try 'cat "$REAL_HOME/.ssh/id_ed25519"'
        try 'ls "$REAL_HOME/.ssh"'
        try 'grep -l never-real /proc/*/environ'
        try 'env | grep never-real'
        try 'echo x > /etc/autonoe-test'
        echo x > "$REAL_HOME/x"
        try 'echo x > .autonoe/status.json'
        try 'rm -rf .autonoe'
        try 'mv .autonoe aside'
        try 'echo x > .git/hooks/pre-commit'
        try 'mv .git aside'
        try 'mkdir .claude/x'
        try 'echo x > /dev/tcp/127.0.0.1/$MODEL_PORT'
        try 'kill -9 $ORCHESTRATOR'
        try 'unshare -Ur true'
        try 'ls $STATE/journal.db'
        echo finished
        "#,
    );
    fs::create_dir_all(place.home().join(".ssh")).expect("made");
    fs::write(place.home().join(".ssh/id_ed25519"), "a private key").expect("written");
    Command::new("git").args(["init", "-q"]).current_dir(place.project()).env_clear().status().expect("git");
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let script = place.read("attack.sh");
    let known = format!(
        "REAL_HOME='{}'; STATE='{}'; MODEL_PORT={}; ORCHESTRATOR={}\n{script}",
        place.home().display(),
        place.home().join(".local/state/autonoe").display(),
        listener.local_addr().expect("address").port(),
        std::process::id(),
    );
    place.write("attack.sh", &known);
    session(&place, |_| {});
    let result = place.read("result.txt");
    assert!(result.contains("finished"), "{result}");
    assert!(!result.contains("BROKE"), "{result}");
    assert_eq!(place.statuses(), [("A".to_owned(), "passed")]);
    assert!(!place.home().join("x").exists(), "what looks like home is not");
    assert!(!place.path(".claude").exists(), "what stood in for it is gone");
    assert_nothing_left(&place);
}

#[test]
fn a_refused_host_is_told_to_everybody() {
    if !has_bubblewrap() {
        return;
    }
    let place = place(
        r#"
        port=${HTTPS_PROXY##*:}
        exec 3<>/dev/tcp/127.0.0.1/$port
        printf 'CONNECT evil.example.com:443 HTTP/1.1\r\nHost: evil.example.com:443\r\n\r\n' >&3
        cat <&3
        "#,
    );
    let run = session(&place, |_| {});
    let answer = place.read("result.txt");
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("evil.example.com"), "{answer}");
    let refused: Vec<_> = run.of_type("host_refused").collect();
    assert_eq!(refused.len(), 1, "{:?}", run.events);
    assert_eq!((&refused[0]["host"], &refused[0]["port"]), (&"evil.example.com".into(), &443.into()));
    let message = refused[0]["message"].as_str().expect("text");
    assert!(message.contains("config.toml"), "it says how to allow it: {message}");
    assert!(run.stderr.contains("evil.example.com"), "{}", run.stderr);
    let shown = place.autonoe(None).args(["sessions", "show", "1.1"]).output().expect("started");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("evil.example.com"), "the journal has it: {shown}");
}

/// What a request for `url` through the proxy gives.
const FETCH: &str = r#"
    exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}
    printf 'GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$TARGET" "$TARGET" >&3
    cat <&3
"#;

/// A server that answers one request.
fn server() -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("address").port();
    let serving = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("accepted");
        let mut request = [0; 1024];
        let _ = client.read(&mut request);
        let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    });
    (port, serving)
}

#[test]
fn a_host_that_the_user_allowed_is_reached() {
    if !has_bubblewrap() {
        return;
    }
    let (port, serving) = server();
    let place = place(&format!("TARGET=127.0.0.1:{port}{FETCH}"));
    let config = place.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), format!("[network]\nallow = [\"127.0.0.1:{port}\"]\n"))
        .expect("written");
    session(&place, |_| {});
    let answer = place.read("result.txt");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
    serving.join().expect("served");
}

#[test]
fn sync_has_no_network_at_all() {
    if !has_bubblewrap() {
        return;
    }
    let place = place("TARGET=npmjs.org");
    place.write("attack.sh", &format!("TARGET=npmjs.org{FETCH}"));
    let model = model(
        r#"
        [[conversation]]
        when = "in line with the specification"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "bash attack.sh" } }]
          [[conversation.turn]]
          expect = ["HTTP/1.1 403", "no network"]
          call = [{ tool = "mcp__autonoe__verify", input = { deliverableId = "A" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    );
    let run = place.run(&model, &["sync", "--max-iterations", "2"]);
    assert_eq!(run.of_type("host_refused").count(), 1, "{:?}\n{}", model.problems(), run.stderr);
}

#[test]
fn a_new_repository_leaves_no_hook_behind() {
    if !has_bubblewrap() {
        return;
    }
    let place = place(
        "git init -q . && mkdir -p .git/hooks && echo 'echo pwned' > .git/hooks/pre-commit && \
         chmod +x .git/hooks/pre-commit && echo done",
    );
    let run = session(&place, |_| {});
    assert_eq!(place.read("result.txt"), "done\n");
    assert!(!place.path(".git/hooks").exists() && place.path(".git/hooks.suspect").exists());
    assert!(
        run.of_type("trouble").any(|event| event["message"].to_string().contains("hooks")),
        "{:?}",
        run.events
    );
}

#[test]
fn a_server_in_the_background_serves_the_next_command_and_ends_with_the_session() {
    if !has_bubblewrap() || !Path::new("/usr/bin/python3").exists() {
        return;
    }
    let place = place("");
    place.write("page.txt", "served");
    let model = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "python3 -m http.server 8765 > server.log 2>&1 &" } }]
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "for i in 1 2 3 4 5 6 7 8 9; do bash attack.sh && exit; sleep 1; done" } }]
          [[conversation.turn]]
          expect = "served"
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    place.write(
        "attack.sh",
        "exec 3<>/dev/tcp/127.0.0.1/8765 || exit 1; printf 'GET /page.txt HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3\n",
    );
    place.run(&model, &["run"]).assert_ended("all_passed", 0);
    assert_followed(&model);
    assert_nothing_left(&place);
}

#[test]
fn without_bubblewrap_landlock_holds_and_the_run_says_what_it_does_not_hold() {
    let place = place(
        r#"
        try() { if eval "$1" 2>/dev/null; then echo "BROKE: $1"; else echo "held: $1"; fi; }
        try 'cat "$REAL_HOME/.ssh/id"'
        try 'echo x > "$REAL_HOME/x"'
        try 'grep -l never-real /proc/*/environ'
        try 'echo x > /dev/tcp/127.0.0.1/$PORT'
        echo mine > mine.txt && cat mine.txt && echo finished
        "#,
    );
    fs::create_dir_all(place.home().join(".ssh")).expect("made");
    fs::write(place.home().join(".ssh/id"), "a private key").expect("written");
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("address").port();
    let attack = place.read("attack.sh");
    place.write("attack.sh", &format!("REAL_HOME='{}' PORT={port}\n{attack}", place.home().display()));
    let bin = without_bubblewrap(&place);
    let run = session(&place, |command| {
        command.env("PATH", bin);
    });
    let result = place.read("result.txt");
    assert!(result.contains("finished") && !result.contains("BROKE"), "{result}");
    assert!(run.stderr.contains("Landlock holds the sandbox"), "{}", run.stderr);
    assert_nothing_left(&place);
}

/// The filter holds for this test's own process, which is why it is run once more by itself.
#[test]
fn without_any_sandbox_the_run_refuses_and_says_what_to_do() {
    const ALONE: &str = "AUTONOE_TEST_WITHOUT_LANDLOCK";
    if std::env::var_os(ALONE).is_none() {
        let name = "sandbox::without_any_sandbox_the_run_refuses_and_says_what_to_do";
        let test = std::env::current_exe().expect("known");
        let output = Command::new(test).args([name, "--exact"]).env(ALONE, "1").output().expect("started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let rules = [(libc::SYS_landlock_create_ruleset, Vec::new())].into_iter().collect();
    let filter = seccompiler::SeccompFilter::new(
        rules,
        seccompiler::SeccompAction::Allow,
        seccompiler::SeccompAction::Errno(libc::ENOSYS as u32),
        std::env::consts::ARCH.try_into().expect("known machine"),
    );
    let program: seccompiler::BpfProgram = filter.expect("filter").try_into().expect("program");
    seccompiler::apply_filter(&program).expect("applied");

    let place = Place::with_status(&[("A", "pending")]);
    let bin = without_bubblewrap(&place);
    let model = model(&always("[[conversation.turn]]\ntext = \"never asked\"\n"));
    let output = place.command(&model, &["run"]).env("PATH", &bin).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for part in [
        "No sandbox can be built",
        "bwrap is not installed",
        "Landlock",
        "--no-sandbox",
        "Install bubblewrap",
    ] {
        assert!(stderr.contains(part), "{part} is missing: {stderr}");
    }
    let doctor = place.autonoe(None).arg("doctor").env("PATH", &bin).output().expect("started");
    assert_eq!(doctor.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("No sandbox can be built"));
}

#[test]
fn a_project_around_the_whole_home_is_warned_of_and_its_secrets_stay_hidden() {
    if !has_bubblewrap() {
        return;
    }
    let place = place("cat .ssh/id .netrc; ls .local/state/autonoe/projects/*/journal.db; echo finished");
    let home = place.project();
    fs::create_dir_all(home.join(".ssh")).expect("made");
    fs::write(home.join(".ssh/id"), "a private key").expect("written");
    fs::write(home.join(".netrc"), "a password").expect("written");
    let trusted = place.autonoe(None).env("HOME", &home).args(["trust", "--yes"]).output().expect("started");
    assert!(trusted.status.success());
    let run = session(&place, |command| {
        command.env("HOME", &home);
    });
    assert!(run.stderr.contains("the project holds your home directory"), "{}", run.stderr);
    let result = place.read("result.txt");
    assert!(result.contains("finished") && !result.contains("private key"), "{result}");
    assert!(
        !result.contains("password") && !result.lines().any(|line| line.ends_with("/journal.db")),
        "{result}"
    );
}

#[test]
fn a_repository_around_the_home_does_not_lay_it_open() {
    if !has_bubblewrap() {
        return;
    }
    let place = place("cat ../home/notes.txt; git -C . rev-parse --show-toplevel; echo finished");
    fs::write(place.home().join("notes.txt"), "nobody's business").expect("written");
    let above = place.project().parent().expect("parent").to_owned();
    Command::new("git").args(["init", "-q"]).current_dir(above).env_clear().status().expect("git");
    session(&place, |_| {});
    let result = place.read("result.txt");
    assert!(result.contains("finished") && !result.contains("nobody's business"), "{result}");
}

#[test]
fn a_wrong_host_in_the_users_configuration_is_named() {
    let place = Place::with_status(&[("A", "pending")]);
    let config = place.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), "[network]\nallow = [\"not a host\"]\n").expect("written");
    let model = model(&always("[[conversation.turn]]\ntext = \"never asked\"\n"));
    let output = place.command(&model, &["run"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("not a host"), "{stderr}");
}
