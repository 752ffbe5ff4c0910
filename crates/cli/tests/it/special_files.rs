//! Pipes, devices, directories and huge files in place of regular files: no command blocks on them or reads them whole.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::{CliTestProject, always, coding, model, until};

/// What is put in place of a file, and how it is reported.
const SPECIAL: [(&str, &str); 4] = [
    ("pipe", "it is a named pipe"),
    ("device", "it is a device"),
    ("directory", "it is a directory"),
    ("large", "it is larger than"),
];

fn create_special(kind: &str, path: &Path) {
    fs::create_dir_all(path.parent().expect("parent")).expect("directory");
    match kind {
        "pipe" => mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("pipe"),
        // Not /dev/zero: if the test failed, it would use all memory of the machine.
        "device" => symlink("/dev/null", path).expect("link"),
        "directory" => fs::create_dir(path).expect("directory"),
        "large" => fs::File::create(path).expect("file").set_len(5 << 30).expect("grown"),
        other => panic!("{other}"),
    }
}

fn remove_special(kind: &str, path: &Path) {
    match kind {
        "directory" => fs::remove_dir(path).expect("removed"),
        _ => fs::remove_file(path).expect("removed"),
    }
}

fn run_to_end(project: &CliTestProject, command: &str) -> (Option<i32>, String) {
    let mut started = project.autonoe(None);
    // Nothing listens there: a command that gets this far has not noticed the file.
    started.env("ANTHROPIC_API_KEY", "test-key-never-real").env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    started.args(command.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = started.spawn().expect("started");
    // The output fits into a pipe, so it can be read afterwards.
    until(&format!("`autonoe {command}` ends"), || child.try_wait().expect("asked").is_some());
    let output = child.wait_with_output().expect("ended");
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&printed).into_owned())
}

#[test]
fn a_special_file_is_reported_without_blocking() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.git(&["init", "-q", "-b", "main", "."]);
    let config = project.home().join(".config/autonoe/config.toml");
    let agent = project.path(".autonoe/agents/a/agent.json");
    let run = "run --backend native";
    for (file, commands) in [
        (project.path("SPEC.md"), &[run, "sync --backend native", "doctor", "checks", "status"][..]),
        (project.path(".autonoe/status.json"), &[run, "doctor", "status", "verify"]),
        (project.path(".autonoe/agent.json"), &[run, "doctor", "policy check ls"]),
        (project.path(".autonoe/checks.json"), &[run, "doctor", "checks", "status"]),
        (project.path(".autonoe/coding.md"), &[run, "doctor"]),
        (project.path(".git/config"), &[run, "doctor"]),
        (config, &[run, "doctor"]),
        (agent, &["agent validate a"]),
        (project.path("cassette.json"), &["run --backend replay:cassette.json"]),
    ] {
        let name = file.file_name().and_then(|name| name.to_str()).expect("a name");
        let before = fs::read(&file).ok();
        for (kind, words) in SPECIAL {
            let _ = fs::remove_file(&file);
            create_special(kind, &file);
            for command in commands {
                let (code, printed) = run_to_end(&project, command);
                assert_ne!(code, Some(0), "{command} with {name} as {kind}: {printed}");
                let is_named =
                    printed.contains(name) && (printed.contains(words) || command.starts_with("agent"));
                assert!(is_named, "{command} with {name} as {kind}: {printed}");
            }
            remove_special(kind, &file);
        }
        if let Some(before) = before {
            fs::write(&file, before).expect("written");
        }
    }
}

#[test]
fn special_files_in_a_project_do_not_stop_a_session() {
    for (kind, _) in SPECIAL {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        for name in [".autonoe-note.md", "AGENTS.md", "CLAUDE.md", ".autonoe/skills/a/SKILL.md", ".gitignore"]
        {
            create_special(kind, &project.path(name));
        }
        let model = model(&coding("A", "passed"));
        project.run(&model, &["run", "-n", "1"]).assert_ended("all_passed", 0);
    }
}

/// A project with a check in SPEC.md that fails until the work is done.
fn with_check() -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("SPEC.md", "# Spec\n\nBuild A.\n\n```check A name=a\n$ test -f work-A.txt\n```\n");
    project
}

#[test]
fn special_ignore_files_do_not_stop_the_checks_of_a_project_without_git() {
    for (kind, _) in SPECIAL {
        let project = with_check();
        for name in [".gitignore", ".ignore", "sub/.gitignore"] {
            create_special(kind, &project.path(name));
        }
        let model = model(&coding("A", "passed"));
        let run = project.run(&model, &["run", "-n", "1"]);
        if kind == "large" {
            // It is a file of the project like any other, and too large to be copied.
            run.assert_ended("failed", 2);
            assert!(run.stderr.contains("the largest are sub/.gitignore (5 GiB)"), "{}", run.stderr);
            continue;
        }
        run.assert_ended("all_passed", 0);
        assert_eq!(run.outcome()["deliverables_verified"], 1, "{kind}: {}", run.stderr);
    }
}

#[test]
fn a_pipe_that_git_reads_is_named_by_run_and_doctor() {
    for name in [".git/index", ".git/HEAD", ".git/packed-refs", ".git/commondir", ".git/more", ".gitignore"] {
        let project = with_check();
        project.git(&["init", "-q", "-b", "main", "."]);
        project.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        project.git(&["config", "include.path", "more"]);
        let _ = fs::remove_file(project.path(name));
        create_special("pipe", &project.path(name));
        for command in ["run --backend native", "doctor"] {
            let start = Instant::now();
            let (code, printed) = run_to_end(&project, command);
            assert_eq!(code, Some(2), "{command} with {name}: {printed}");
            let path = project.path(name).display().to_string();
            assert!(
                printed.contains(&path) && printed.contains("it is a named pipe"),
                "{command}: {printed}"
            );
            assert!(
                start.elapsed() < Duration::from_secs(15),
                "{command} with {name} took {:?}",
                start.elapsed()
            );
        }
    }
}

#[test]
fn a_pipe_that_an_agent_makes_ends_the_run_with_its_name() {
    for name in [".git/index", "sub/.gitignore"] {
        let project = with_check();
        project.write(".autonoe/agent.json", r#"{"allowCommands": {"base": ["bash"]}}"#);
        assert!(project.autonoe(None).args(["trust", "--yes"]).output().expect("started").status.success());
        project.git(&["init", "-q", "-b", "main", "."]);
        project.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        project.write("script.sh", &format!("mkdir -p sub; rm -f {name}; mkfifo {name}"));
        let model = model(&always(
            r#"
              [[conversation.turn]]
              call = [{ tool = "Bash", input = { command = "bash script.sh" } }]
              [[conversation.turn]]
              text = "done"
            "#,
        ));
        let start = Instant::now();
        // The deliverables are rechecked at the end.
        let run = project.run(&model, &["run", "-n", "1"]);
        run.assert_ended("failed", 2);
        assert!(run.stderr.contains(name) && run.stderr.contains("it is a named pipe"), "{}", run.stderr);
        assert!(start.elapsed() < Duration::from_secs(60), "{name} took {:?}", start.elapsed());
    }
}

#[test]
fn a_lock_file_that_is_a_pipe_is_reported() {
    for name in ["turn", "lock"] {
        let project = CliTestProject::with_status(&[("A", "pending")]);
        let (_, printed) = run_to_end(&project, "status");
        assert!(printed.contains("0/1"), "{printed}");
        let model = model(&coding("A", "passed"));
        project.run(&model, &["run", "-n", "1"]).assert_ended("all_passed", 0);
        let file = project.journal().with_file_name(name);
        fs::remove_file(&file).expect("removed");
        create_special("pipe", &file);
        for command in ["run --backend native", "mcp"] {
            let (code, printed) = run_to_end(&project, command);
            assert_eq!(code, Some(1), "{command}: {printed}");
            assert!(
                printed.contains(&format!("{name} cannot be used: it is a named pipe")),
                "{command}: {printed}"
            );
        }
    }
}

#[test]
fn something_else_in_place_of_the_autonoe_directory_is_named() {
    for (kind, words) in [("pipe", "a named pipe"), ("device", "a device"), ("large", "a file")] {
        let project = CliTestProject::new();
        create_special(kind, &project.path(".autonoe"));
        for command in ["run --backend native", "doctor", "status"] {
            let (code, printed) = run_to_end(&project, command);
            assert_eq!(code, Some(2), "{command}: {printed}");
            let sentence = format!(".autonoe must be a directory, but it is {words}");
            assert!(printed.contains(&sentence) && printed.contains("Move it away"), "{command}: {printed}");
        }
    }
    let project = CliTestProject::new();
    fs::create_dir(project.home().join("elsewhere")).expect("made");
    symlink(project.home().join("elsewhere"), project.path(".autonoe")).expect("linked");
    let (code, printed) = run_to_end(&project, "status");
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains(".autonoe must be a directory, but it is a symbolic link"), "{printed}");
}

/// Agents write the home directory of their room, in which we write their git identity.
#[test]
fn what_an_agent_leaves_in_its_home_is_not_followed() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let precious = project.home().join("precious");
    fs::write(&precious, "kept").expect("written");
    let home = {
        let model = model(&coding("A", "pending"));
        project.run(&model, &["run", "-n", "1"]);
        project.journal().with_file_name("home")
    };
    for kind in ["link", "pipe"] {
        fs::remove_file(home.join(".gitconfig")).expect("removed");
        match kind {
            "link" => symlink(&precious, home.join(".gitconfig")).expect("link"),
            _ => create_special(kind, &home.join(".gitconfig")),
        }
        let (_, printed) = run_to_end(&project, "run --backend native --max-duration 1s");
        assert_eq!(fs::read_to_string(&precious).expect("there"), "kept", "{printed}");
        let written = fs::symlink_metadata(home.join(".gitconfig")).expect("there");
        assert!(written.is_file(), "{kind}");
    }
}

#[test]
fn output_files_may_be_pipes_only_if_somebody_reads_them() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&coding("A", "passed"));
    project.run(&model, &["run"]).assert_ended("all_passed", 0);
    create_special("pipe", &project.path("pipe"));
    for command in ["report -o", "sessions export -o"] {
        let (code, printed) = run_to_end(&project, &format!("{command} pipe"));
        assert_eq!(code, Some(2), "{printed}");
        assert!(
            printed.contains("pipe cannot be written: it is a named pipe that nobody reads"),
            "{printed}"
        );

        let (code, printed) = run_to_end(&project, &format!("{command} /dev/stdout"));
        assert_eq!(code, Some(0), "{printed}");
        assert!(printed.contains("thing A"), "{printed}");

        let pipe = project.path("pipe");
        let reader = std::thread::spawn(move || fs::read_to_string(pipe).expect("read"));
        until("the report is written to a pipe that is read", || {
            run_to_end(&project, &format!("{command} pipe")).0 == Some(0)
        });
        assert!(reader.join().expect("read").contains("thing A"));
    }
}
