//! Tests of the scripts in `packaging/ci`, which the GitHub Action runs: with stand-ins for `gh` and `autonoe`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tempfile::TempDir;

use crate::workspace::root;

/// A checkout in which a script runs, and the programs that it finds first.
struct Job {
    directory: TempDir,
    environment: Vec<(String, String)>,
}

impl Job {
    fn new() -> Self {
        let job = Self { directory: tempfile::tempdir().unwrap(), environment: Vec::new() };
        for name in ["programs", "checkout"] {
            fs::create_dir(job.directory.path().join(name)).unwrap();
        }
        job
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn with_program(self, name: &str, script: &str) -> Self {
        let file = self.directory.path().join("programs").join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn with_file(self, name: &str, content: &str) -> Self {
        fs::write(self.directory.path().join("checkout").join(name), content).unwrap();
        self
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join("checkout").join(name)).unwrap()
    }

    /// The exit code and what was printed.
    fn run(&self, script: &str) -> (Option<i32>, String) {
        let programs = self.directory.path().join("programs");
        let mut command = Command::new("sh");
        command
            .arg(root().join("packaging/ci").join(script))
            .current_dir(self.directory.path().join("checkout"));
        command.env_clear().env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        let output = command.envs(self.environment.iter().cloned()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }
}

#[test]
fn only_maintainers_start_a_run() {
    let start = |actor: &str, role: &str| {
        let job = Job::new().with("ACTOR", actor).with("GITHUB_REPOSITORY", "o/r");
        job.with_program("gh", &format!("echo {role}")).run("may-start.sh")
    };
    assert_eq!(start("ada", "maintain"), (Some(0), String::new()));
    assert_eq!(start("ada", "admin"), (Some(0), String::new()));
    for (actor, role, sentence) in [
        ("eve", "write", "eve has the role write, and only maintainers may start runs."),
        ("eve", "read", "eve has the role read, and only maintainers may start runs."),
        ("helper[bot]", "admin", "helper[bot] is a bot, and only maintainers may start runs."),
    ] {
        let expected = format!("autonoe: no run was started: {sentence}\n");
        assert_eq!(start(actor, role), (Some(1), expected));
    }
    let unknown =
        Job::new().with("ACTOR", "ada").with("GITHUB_REPOSITORY", "o/r").with_program("gh", "exit 1");
    let (code, text) = unknown.run("may-start.sh");
    assert!(code == Some(1) && text.contains("cannot be found out"), "{text}");
}

#[test]
fn the_specification_is_that_of_the_base_branch_or_of_the_labelled_issue() {
    assert_eq!(Job::new().with_file("SPEC.md", "# A").run("specification.sh").0, Some(0));
    let (code, text) = Job::new().run("specification.sh");
    assert!(code == Some(1) && text.contains("there is no SPEC.md on the base branch"), "{text}");
    if Command::new("jq").arg("--version").output().is_err() {
        return;
    }
    let issue = |event: &str| {
        Job::new()
            .with("SOURCE", "issue")
            .with("GITHUB_EVENT_PATH", "event.json")
            .with_file("event.json", event)
    };
    let job = issue(r#"{"action": "labeled", "issue": {"title": "A $(touch x)", "body": "`b`\nc"}}"#);
    assert_eq!(job.run("specification.sh"), (Some(0), String::new()));
    assert_eq!(job.file("SPEC.md"), "# A $(touch x)\n\n`b`\nc\n");
    let (code, text) = issue(r#"{"action": "edited", "issue": {"title": "A"}}"#).run("specification.sh");
    assert!(code == Some(1) && text.contains("not started by a label"), "{text}");
    let (code, text) = issue("{}").with_file("SPEC.md", "# A").run("specification.sh");
    assert!(code == Some(1) && text.contains("has a SPEC.md already"), "{text}");
}

#[test]
fn a_run_in_ci_has_a_limit_a_summary_and_no_token() {
    let autonoe = "case $1 in run) echo \"$*\"; exit 4 ;; report) echo '# Report' ;; esac";
    let job = || Job::new().with_program("autonoe", autonoe).with("GITHUB_STEP_SUMMARY", "summary.md");
    let limited = job().with("MAX_COST", "12.50");
    let (code, text) = limited.run("run.sh");
    assert_eq!(code, Some(4), "the exit code of the run: {text}");
    assert_eq!(text, "run --land never --max-cost 12.50 --max-duration 5h --backend auto\n");
    assert_eq!(limited.file("summary.md"), "# Report\n");
    for (job, sentence) in [
        (job(), "max-cost is not set"),
        (job().with("MAX_COST", "many"), "max-cost must be a number of US dollars, got many."),
        (job().with("MAX_COST", "1").with("GH_TOKEN", "secret"), "GH_TOKEN is set"),
    ] {
        let (code, text) = job.run("run.sh");
        assert!(code == Some(1) && text.contains(sentence) && !text.contains("secret"), "{text}");
    }
}

#[test]
fn the_action_takes_no_input_into_its_scripts() {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    let scripts = action.split("run: ").skip(1).map(|rest| rest.split("\n    - ").next().unwrap_or(rest));
    let mut count = 0;
    for script in scripts {
        count += 1;
        assert!(!script.contains("${{"), "a value would become code: {script}");
    }
    assert_eq!(count, 5);
}
