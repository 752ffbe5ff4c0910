//! Attacks by a session's commands on the machine, through the real binary with a malicious model.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, has_bubblewrap,
    model, runs_and_passes, without_bubblewrap,
};

/// A project whose user allows `bash`, so that the command policy does not apply and only the kernel protects.
fn project(attack: &str) -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write(".autonoe/agent.json", r#"{"allowCommands": {"base": ["bash"]}}"#);
    project.write("attack.sh", attack);
    let trusted = project.autonoe(None).args(["trust", "--yes"]).output().expect("started");
    assert!(trusted.status.success());
    project
}

fn session(project: &CliTestProject, change: impl FnOnce(&mut Command)) -> RunOutput {
    let model = model(&runs_and_passes("bash attack.sh > result.txt 2>&1"));
    let mut command = project.command(&model, &["run"]);
    change(&mut command);
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    assert_script_followed(&model);
    run
}

#[test]
fn a_redirected_repository_is_not_opened_to_the_next_run() {
    let project = project("true");
    let other = project.home().join("other");
    let made = Command::new("git")
        .args(["init", "-q"])
        .arg(&other)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .status();
    assert!(made.expect("started").success());
    let redirect = format!("printf 'gitdir: {}/.git' > .git", other.display());
    project.write("attack.sh", &redirect);
    let _ = session(&project, |_| ());
    // Whether the room or the inspection after it prevents that, the next run must not rely on it.
    project.write(".git", &format!("gitdir: {}/.git", other.display()));
    let model = model(&always("[[conversation.turn]]\ntext = 'done'\n"));
    let run = project.run(&model, &["run"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("other/.git, outside of it"), "{}", run.stderr);
    assert!(run.stderr.contains("repository.json"), "{}", run.stderr);
}

#[test]
fn a_session_cannot_escape_the_sandbox() {
    if !has_bubblewrap() {
        return;
    }
    // Each line is an attempt that prints BROKE if it succeeds.
    let project = project(
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
    fs::create_dir_all(project.home().join(".ssh")).expect("made");
    fs::write(project.home().join(".ssh/id_ed25519"), "a private key").expect("written");
    Command::new("git").args(["init", "-q"]).current_dir(project.root()).env_clear().status().expect("git");
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let script = project.read("attack.sh");
    let known = format!(
        "REAL_HOME='{}'; STATE='{}'; MODEL_PORT={}; ORCHESTRATOR={}\n{script}",
        project.home().display(),
        project.home().join(".local/state/autonoe").display(),
        listener.local_addr().expect("address").port(),
        std::process::id(),
    );
    project.write("attack.sh", &known);
    session(&project, |_| {});
    let result = project.read("result.txt");
    assert!(result.contains("finished"), "{result}");
    assert!(!result.contains("BROKE"), "{result}");
    assert_eq!(project.statuses(), [("A".to_owned(), "passed")]);
    assert!(!project.home().join("x").exists(), "the room has its own home");
    assert!(!project.path(".claude").exists(), "the placeholder is gone");
    assert_no_processes_left(&project);
}

#[test]
fn a_refused_host_is_reported_everywhere() {
    if !has_bubblewrap() {
        return;
    }
    let project = project(
        r#"
        port=${HTTPS_PROXY##*:}
        exec 3<>/dev/tcp/127.0.0.1/$port
        printf 'CONNECT evil.example.com:443 HTTP/1.1\r\nHost: evil.example.com:443\r\n\r\n' >&3
        cat <&3
        "#,
    );
    let run = session(&project, |_| {});
    let answer = project.read("result.txt");
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("evil.example.com"), "{answer}");
    let refused: Vec<_> = run.of_type("host_refused").collect();
    assert_eq!(refused.len(), 1, "{:?}", run.events);
    assert_eq!((&refused[0]["host"], &refused[0]["port"]), (&"evil.example.com".into(), &443.into()));
    let message = refused[0]["message"].as_str().expect("text");
    assert!(message.contains("config.toml"), "it says how to allow it: {message}");
    assert!(run.stderr.contains("evil.example.com"), "{}", run.stderr);
    let shown = project.autonoe(None).args(["sessions", "show", "1.1"]).output().expect("started");
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("evil.example.com"), "it is in the journal: {shown}");
}

/// Prints the response to a request for `$TARGET` through the proxy.
const FETCH: &str = r#"
    exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}
    printf 'GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$TARGET" "$TARGET" >&3
    cat <&3
"#;

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
fn an_allowed_host_is_reachable() {
    if !has_bubblewrap() {
        return;
    }
    let (port, serving) = server();
    let project = project(&format!("TARGET=127.0.0.1:{port}{FETCH}"));
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), format!("[network]\nallow = [\"127.0.0.1:{port}\"]\n"))
        .expect("written");
    session(&project, |_| {});
    let answer = project.read("result.txt");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
    serving.join().expect("served");
}

#[test]
fn sync_has_no_network() {
    if !has_bubblewrap() {
        return;
    }
    let project = project("TARGET=npmjs.org");
    project.write("attack.sh", &format!("TARGET=npmjs.org{FETCH}"));
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
    let run = project.run(&model, &["sync", "--max-iterations", "2"]);
    assert_eq!(run.of_type("host_refused").count(), 1, "{:?}\n{}", model.problems(), run.stderr);
}

#[test]
fn hooks_of_a_new_repository_are_set_aside() {
    if !has_bubblewrap() {
        return;
    }
    let project = project(
        "git init -q . && mkdir -p .git/hooks && echo 'echo pwned' > .git/hooks/pre-commit && \
         chmod +x .git/hooks/pre-commit && echo done",
    );
    let run = session(&project, |_| {});
    assert_eq!(project.read("result.txt"), "done\n");
    assert!(!project.path(".git/hooks").exists() && project.path(".git/hooks.suspect").exists());
    assert!(
        run.of_type("trouble").any(|event| event["message"].to_string().contains("hooks")),
        "{:?}",
        run.events
    );
}

#[test]
fn hooks_in_the_project_itself_stay_the_users() {
    let attack = "echo 'echo pwned' > .githooks/pre-commit; echo 'echo pwned' > .githooks/post-commit; \
                  echo 'echo pwned' > scripts/push.sh; echo done";
    for layer in [None, Some(without_bubblewrap as fn(&CliTestProject) -> _)] {
        if layer.is_none() && !has_bubblewrap() {
            continue;
        }
        let project = project(attack);
        project.git(&["init", "-q", "."]);
        project.git(&["config", "core.hooksPath", ".githooks"]);
        project.write(".githooks/pre-commit", "make check\n");
        project.write("scripts/push.sh", "make test\n");
        std::os::unix::fs::symlink("../scripts/push.sh", project.path(".githooks/pre-push")).expect("link");
        let run = session(&project, |command| {
            if let Some(hide) = layer {
                command.env("PATH", hide(&project));
            }
        });
        assert!(project.read("result.txt").ends_with("done\n"));
        assert_eq!(project.read(".githooks/pre-commit"), "make check\n");
        assert_eq!(project.read("scripts/push.sh"), "make test\n");
        assert!(!project.path(".githooks/post-commit").exists());
        let troubles =
            run.of_type("trouble").filter(|event| event["message"].to_string().contains("reverted"));
        assert_eq!(troubles.count() > 0, layer.is_some(), "{:?}", run.events);
    }
}

#[test]
fn repositories_that_a_session_left_within_the_project_run_nothing() {
    let project = project(
        "git init -q sub && git -C sub config core.fsmonitor \"echo ran >> $PWD/ran; true\" && \
         mkdir -p sub/.git/hooks && echo 'echo ran >> ../ran' > sub/.git/hooks/post-commit && \
         chmod +x sub/.git/hooks/post-commit && echo done",
    );
    let run = session(&project, |_| {});
    assert_eq!(project.read("result.txt"), "done\n");
    project.git(&["init", "-q", "."]);
    project.git(&[
        "-C",
        "sub",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]);
    project.git(&["add", "-A"]);
    project.git(&["status"]);
    assert!(!project.path("ran").exists(), "{:?}", run.events);
    let said = run.of_type("trouble").filter(|event| event["message"].to_string().contains("sub/.git"));
    assert_eq!(said.count(), 2, "{:?}", run.events);
}

#[test]
fn a_background_server_serves_the_next_command_and_ends_with_the_session() {
    if !has_bubblewrap() || !Path::new("/usr/bin/python3").exists() {
        return;
    }
    let project = project("");
    project.write("page.txt", "served");
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
    project.write(
        "attack.sh",
        "exec 3<>/dev/tcp/127.0.0.1/8765 || exit 1; printf 'GET /page.txt HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3\n",
    );
    project.run(&model, &["run"]).assert_ended("all_passed", 0);
    assert_script_followed(&model);
    assert_no_processes_left(&project);
}

#[test]
fn without_bubblewrap_landlock_protects_and_the_run_warns() {
    let project = project(
        r#"
        try() { if eval "$1" 2>/dev/null; then echo "BROKE: $1"; else echo "held: $1"; fi; }
        try 'cat "$REAL_HOME/.ssh/id"'
        try 'echo x > "$REAL_HOME/x"'
        try 'grep -l never-real /proc/*/environ'
        try 'echo x > /dev/tcp/127.0.0.1/$PORT'
        echo mine > mine.txt && cat mine.txt && echo finished
        "#,
    );
    fs::create_dir_all(project.home().join(".ssh")).expect("made");
    fs::write(project.home().join(".ssh/id"), "a private key").expect("written");
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("address").port();
    let attack = project.read("attack.sh");
    project.write("attack.sh", &format!("REAL_HOME='{}' PORT={port}\n{attack}", project.home().display()));
    let bin = without_bubblewrap(&project);
    let run = session(&project, |command| {
        command.env("PATH", bin);
    });
    let result = project.read("result.txt");
    assert!(result.contains("finished") && !result.contains("BROKE"), "{result}");
    assert!(run.stderr.contains("the sandbox uses Landlock"), "{}", run.stderr);
    assert_no_processes_left(&project);
}

/// The binary is in every room, as its first process and its supervisors.
#[test]
fn autonoe_mcp_from_inside_changes_no_deliverable() {
    let ours = env!("CARGO_BIN_EXE_autonoe");
    for is_landlock in [false, true] {
        if !is_landlock && !has_bubblewrap() {
            continue;
        }
        let project = project(&format!(
            r#"
            PATH=$PATH:/usr/bin:/bin
            call() {{
                printf '%s\n' '{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"x","version":"1"}}}}}}' \
                    '{{"jsonrpc":"2.0","method":"notifications/initialized"}}' \
                    '{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"set_status","arguments":{{"deliverableId":"A","status":"passed"}}}}}}' |
                    timeout 20 "$@"
                echo "exit code $?"
            }}
            binary=/run/autonoe; test -x $binary || binary='{ours}'
            for phase in coding verify; do
                call $binary mcp --phase $phase
                call env XDG_STATE_HOME="$PWD/state" $binary mcp --phase $phase
                call env XDG_STATE_HOME="$TMPDIR" HOME="$TMPDIR" $binary mcp --phase $phase --project-dir .
            done
            echo finished
            "#,
        ));
        let run = session(&project, |command| {
            if is_landlock {
                command.env("PATH", without_bubblewrap(&project));
            }
        });
        let result = project.read("result.txt");
        assert!(result.contains("finished"), "{result}\n{}", run.stderr);
        // No call is answered, not even with an error.
        assert!(!result.contains("\"id\":2") && !result.contains("exit code 0"), "{result}");
    }
}

/// Links that an agent leaves in its home are there when the next session starts, and we write there before it does.
#[test]
fn links_in_the_private_home_lead_to_nothing_of_the_user() {
    for is_landlock in [false, true] {
        if !is_landlock && !has_bubblewrap() {
            continue;
        }
        let project = project(
            r#"
            PATH=$PATH:/usr/bin:/bin
            for name in .gitconfig .codex .claude .gemini .acp .config .cache; do rm -rf ~/$name; ln -s "$REAL_HOME/$name" ~/$name; done
            readlink ~/.gitconfig ~/.codex; echo finished
            "#,
        );
        let attack = project.read("attack.sh");
        project.write("attack.sh", &format!("REAL_HOME='{}'\n{attack}", project.home().display()));
        let users = project.home().join(".gitconfig");
        fs::write(&users, "[user]\n\tname = The User\n").expect("written");
        let bin = is_landlock.then(|| without_bubblewrap(&project));
        for _ in 0..2 {
            session(&project, |command| {
                command.envs(bin.iter().map(|bin| ("PATH", bin)));
            });
            let result = project.read("result.txt");
            assert!(result.contains("finished") && result.contains(".codex"), "{result}");
            assert_eq!(fs::read_to_string(&users).expect("read"), "[user]\n\tname = The User\n");
            let status =
                project.read(".autonoe/status.json").replace("\"passed\": true", "\"passed\": false");
            project.write(".autonoe/status.json", &status);
        }
    }
}

/// The seccomp filter applies to the test's own process, so the test starts itself again in a new process.
#[test]
fn without_any_sandbox_the_run_refuses_to_start() {
    const ALONE: &str = "AUTONOE_TEST_WITHOUT_LANDLOCK";
    if std::env::var_os(ALONE).is_none() {
        let name = "sandbox::without_any_sandbox_the_run_refuses_to_start";
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

    let project = CliTestProject::with_status(&[("A", "pending")]);
    let bin = without_bubblewrap(&project);
    let model = model(&always("[[conversation.turn]]\ntext = \"never called\"\n"));
    let output = project.command(&model, &["run"]).env("PATH", &bin).output().expect("started");
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
    let doctor = project.autonoe(None).arg("doctor").env("PATH", &bin).output().expect("started");
    assert_eq!(doctor.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("No sandbox can be built"));
}

#[test]
fn a_project_that_contains_the_home_warns_and_hides_its_secrets() {
    if !has_bubblewrap() {
        return;
    }
    let project = project("cat .ssh/id .netrc; ls .local/state/autonoe/projects/*/journal.db; echo finished");
    let home = project.root();
    fs::create_dir_all(home.join(".ssh")).expect("made");
    fs::write(home.join(".ssh/id"), "a private key").expect("written");
    fs::write(home.join(".netrc"), "a password").expect("written");
    let trusted =
        project.autonoe(None).env("HOME", &home).args(["trust", "--yes"]).output().expect("started");
    assert!(trusted.status.success());
    let run = session(&project, |command| {
        command.env("HOME", &home);
    });
    assert!(run.stderr.contains("the project contains your home directory"), "{}", run.stderr);
    let result = project.read("result.txt");
    assert!(result.contains("finished") && !result.contains("private key"), "{result}");
    assert!(
        !result.contains("password") && !result.lines().any(|line| line.ends_with("/journal.db")),
        "{result}"
    );
}

#[test]
fn a_repository_that_contains_the_home_does_not_expose_it() {
    if !has_bubblewrap() {
        return;
    }
    let project = project("cat ../home/notes.txt; git -C . rev-parse --show-toplevel; echo finished");
    fs::write(project.home().join("notes.txt"), "nobody's business").expect("written");
    let above = project.root().parent().expect("parent").to_owned();
    Command::new("git").args(["init", "-q"]).current_dir(above).env_clear().status().expect("git");
    session(&project, |_| {});
    let result = project.read("result.txt");
    assert!(result.contains("finished") && !result.contains("nobody's business"), "{result}");
}

#[test]
fn an_invalid_host_in_the_configuration_is_named() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), "[network]\nallow = [\"not a host\"]\n").expect("written");
    let model = model(&always("[[conversation.turn]]\ntext = \"never called\"\n"));
    let output = project.command(&model, &["run"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("not a host"), "{stderr}");
}
