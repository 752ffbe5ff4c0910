//! Files that are none: pipes, devices, directories, endless ones. No command waits for them or reads them to their end.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::{Place, coding, model, wait_until};

/// What is put where a file should be, and what is said of it.
const STRANGE: [(&str, &str); 4] = [
    ("pipe", "it is a named pipe"),
    ("device", "it is a device"),
    ("directory", "it is a directory"),
    ("large", "it is larger than"),
];

fn put(kind: &str, path: &Path) {
    fs::create_dir_all(path.parent().expect("parent")).expect("directory");
    match kind {
        "pipe" => mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("pipe"),
        // It ends when it should not: /dev/zero would take all memory of the machine that the test fails on.
        "device" => symlink("/dev/null", path).expect("link"),
        "directory" => fs::create_dir(path).expect("directory"),
        "large" => fs::File::create(path).expect("file").set_len(5 << 30).expect("grown"),
        other => panic!("{other}"),
    }
}

fn remove(kind: &str, path: &Path) {
    match kind {
        "directory" => fs::remove_dir(path).expect("removed"),
        _ => fs::remove_file(path).expect("removed"),
    }
}

/// What a command says, which must end by itself.
fn told(place: &Place, command: &str) -> (Option<i32>, String) {
    let mut started = place.autonoe(None);
    // Nobody is there: what gets that far has not noticed.
    started.env("ANTHROPIC_API_KEY", "test-key-never-real").env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    started.args(command.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = started.spawn().expect("started");
    // What it says fits into a pipe, so that it can be read afterwards.
    wait_until(&format!("`autonoe {command}` ends"), || child.try_wait().expect("asked").is_some());
    let output = child.wait_with_output().expect("ended");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn whatever_stands_in_place_of_a_file_is_named_and_not_waited_for() {
    let place = Place::with_status(&[("A", "pending")]);
    place.git(&["init", "-q", "-b", "main", "."]);
    let config = place.home().join(".config/autonoe/config.toml");
    let agent = place.path(".autonoe/agents/a/agent.json");
    let run = "run --backend native";
    for (file, commands) in [
        (place.path("SPEC.md"), &[run, "sync --backend native", "doctor", "checks", "status"][..]),
        (place.path(".autonoe/status.json"), &[run, "doctor", "status", "verify"]),
        (place.path(".autonoe/agent.json"), &[run, "doctor", "policy check ls"]),
        (place.path(".autonoe/checks.json"), &[run, "doctor", "checks", "status"]),
        (place.path(".autonoe/oracles.json"), &[run, "doctor", "checks"]),
        (place.path(".autonoe/coding.md"), &[run, "doctor"]),
        (place.path(".git/config"), &[run, "doctor"]),
        (config, &[run, "doctor"]),
        (agent, &["agent validate a"]),
        (place.path("cassette.json"), &["run --backend replay:cassette.json"]),
    ] {
        let name = file.file_name().and_then(|name| name.to_str()).expect("a name");
        let before = fs::read(&file).ok();
        for (kind, words) in STRANGE {
            let _ = fs::remove_file(&file);
            put(kind, &file);
            for command in commands {
                let (code, said) = told(&place, command);
                assert_ne!(code, Some(0), "{command} with {name} as {kind}: {said}");
                let is_named = said.contains(name) && (said.contains(words) || command.starts_with("agent"));
                assert!(is_named, "{command} with {name} as {kind}: {said}");
            }
            remove(kind, &file);
        }
        if let Some(before) = before {
            fs::write(&file, before).expect("written");
        }
    }
}

#[test]
fn what_agents_leave_and_projects_bring_may_be_anything_and_a_session_goes_on() {
    for (kind, _) in STRANGE {
        let place = Place::with_status(&[("A", "pending")]);
        for name in [".autonoe-note.md", "AGENTS.md", "CLAUDE.md", ".autonoe/skills/a/SKILL.md", ".gitignore"]
        {
            put(kind, &place.path(name));
        }
        let model = model(&coding("A", "passed"));
        place.run(&model, &["run", "-n", "1"]).assert_ended("all_passed", 0);
    }
}
