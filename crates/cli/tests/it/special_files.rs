//! Pipes, devices, directories and huge files in place of regular files: no command blocks on them or reads them whole.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::{CliTestProject, coding, model, until};

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
        (project.path(".autonoe/oracles.json"), &[run, "doctor", "checks"]),
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
