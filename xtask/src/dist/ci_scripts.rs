//! Tests of the scripts in `packaging`, which CI services and containers run, and of the workflows: with stand-ins for `gh`, `git`, `bwrap`
//! and `autonoe`.

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
        self.shell(&[&root().join("packaging/ci").join(script).to_string_lossy()])
    }

    fn shell(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let programs = self.directory.path().join("programs");
        let mut command = Command::new("sh");
        command.args(arguments).current_dir(self.directory.path().join("checkout"));
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
        // `cargo xtask test` installs it where it can.
        assert!(std::env::var("CI").is_err(), "jq is not installed, so that this was not tested");
        println!("left out: jq is not installed");
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

/// GitLab joins the lines of a job in one shell, which ends with the first that fails.
fn gitlab_script() -> String {
    let job = fs::read_to_string(root().join("packaging/ci/gitlab-ci.yml")).unwrap();
    let script = job.split("  script:\n").nth(1).unwrap().split("\n  artifacts:").next().unwrap();
    let lines = script.replace("    - >\n", "    - ").replace("\n      ", " ");
    let lines: Vec<_> = lines.lines().map(|line| line.trim().strip_prefix("- ").unwrap()).collect();
    format!("set -e\n{}\n", lines.join("\n"))
}

#[test]
fn a_job_of_gitlab_reports_also_when_the_run_has_failed() {
    let autonoe = |code: u8| {
        format!(
            "case $1 in run) echo \"$* ${{ANTHROPIC_API_KEY:-}}${{AUTONOE_TOKEN:-}}\"; exit {code} ;; report) echo report >\"$5\" ;; esac"
        )
    };
    let job = |code: u8| {
        Job::new()
            .with_program("autonoe", &autonoe(code))
            .with_program("git", "echo \"git $*\"")
            .with("MAX_COST", "12")
            .with("AUTONOE_KEY", "key")
            .with("AUTONOE_TOKEN", "token")
            .with("CI_SERVER_HOST", "gitlab.example.com")
            .with("CI_PROJECT_PATH", "group/project")
            .with("CI_DEFAULT_BRANCH", "main")
    };
    let failed = job(4);
    let (code, text) = failed.shell(&["-c", &gitlab_script()]);
    assert_eq!(
        (code, text.as_str()),
        (Some(4), "run --branch from-spec --max-cost 12 --max-duration 5h key\n")
    );
    assert_eq!(failed.file("report.html"), "report\n");
    let (code, text) = job(0).shell(&["-c", &gitlab_script()]);
    let push = "git push https://autonoe:token@gitlab.example.com/group/project.git from-spec \
                -o merge_request.create -o merge_request.target=main\n";
    assert!(code == Some(0) && text.ends_with(push), "{text}");
    let (code, text) = Job::new().shell(&["-c", &gitlab_script()]);
    assert!(code == Some(2) && text.contains("Set MAX_COST, in US dollars."), "{text}");
    let file = fs::read_to_string(root().join("packaging/ci/gitlab-ci.yml")).unwrap();
    assert!(file.contains("entrypoint: [\"\"]"), "GitLab must get a shell");
}

#[test]
fn a_container_says_it_when_bubblewrap_does_not_work() {
    let start = |bwrap: &str, arguments: &[&str]| {
        let entry_point = root().join("packaging/images/entrypoint.sh").to_string_lossy().into_owned();
        let job =
            Job::new().with_program("autonoe", "echo \"autonoe $*\"; exit 3").with_program("bwrap", bwrap);
        job.shell(&[&[entry_point.as_str()], arguments].concat())
    };
    let sentence = "autonoe: bubblewrap does not work here; `autonoe doctor` says what holds.\n";
    for command in ["run", "harness", "fleet", "demo", "verify", "checks", "agent", "sync", "plan"] {
        let said = format!("autonoe {command} a b\n{sentence}");
        assert_eq!(start("exit 1", &[command, "a b"]), (Some(3), said), "{command}");
        assert_eq!(start("exit 0", &[command]), (Some(3), format!("autonoe {command}\n")));
    }
    for command in ["--help", "--version", "doctor", "completions", "man"] {
        assert_eq!(start("exit 1", &[command]), (Some(3), format!("autonoe {command}\n")));
    }
}

#[test]
fn the_action_reads_the_base_branch_and_keeps_the_token_from_the_run() {
    let action = fs::read_to_string(root().join("action.yml")).unwrap();
    let step = |name: &str| {
        let step = action.split(&format!("- name: {name}\n")).nth(1).unwrap_or_else(|| panic!("{name}"));
        step.split("\n    - name: ").next().unwrap().to_owned()
    };
    let checkout = step("The base branch");
    let reference =
        "ref: ${{ github.event.pull_request.base.ref || github.event.repository.default_branch }}\n";
    assert!(checkout.contains(reference) && checkout.contains("persist-credentials: false\n"), "{checkout}");
    for name in ["The specification", "Install", "Run"] {
        assert!(!step(name).contains("inputs.token") && !step(name).contains("github.token"), "{name}");
    }
    let order: Vec<_> = action.split("- name: ").skip(1).filter_map(|step| step.lines().next()).collect();
    assert_eq!(order[0], "Only maintainers may start a run", "{order:?}");
}

#[test]
fn the_version_has_one_source() {
    let version = super::release::Release::of_last_commit().unwrap().version;
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    assert!(
        read("action.yml").contains(&format!("description: Version of autonoe\n    default: {version}\n"))
    );
    for file in [".github/workflows/autonoe.yml", "docs/ci.md"] {
        let text = read(file);
        let used: Vec<_> = text.lines().filter(|line| line.contains("uses: autonoe/autonoe")).collect();
        assert!(
            !used.is_empty() && used.iter().all(|line| line.contains(&format!("@v{version}"))),
            "{file}: {used:?}"
        );
    }
}

/// A tag of somebody else's action can be moved to other code.
#[test]
fn actions_of_others_are_pinned_by_hash_and_jobs_end() {
    let mut count = 0;
    for entry in fs::read_dir(root().join(".github/workflows")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| line.contains("uses: ") && !line.contains("autonoe/autonoe")) {
            let reference = line.split('@').nth(1).unwrap_or_default();
            let hash = reference.split(' ').next().unwrap();
            assert!(hash.len() == 40 && hash.chars().all(|char| char.is_ascii_hexdigit()), "{line}");
            count += 1;
        }
        assert_eq!(text.matches("runs-on:").count(), text.matches("timeout-minutes:").count(), "{text}");
    }
    assert!(count >= 6, "{count}");
}

#[test]
fn the_shell_understands_every_script() {
    for directory in ["packaging", "packaging/ci", "packaging/deb", "packaging/images"] {
        for entry in fs::read_dir(root().join(directory)).unwrap() {
            let file = entry.unwrap().path();
            let Ok(text) = fs::read_to_string(&file) else { continue };
            if text.starts_with("#!/bin/sh") {
                let checked = Command::new("sh").arg("-n").arg(&file).output().unwrap();
                assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
            }
        }
    }
    // What the Dockerfile runs, as the shell of the image gets it.
    let dockerfile = fs::read_to_string(root().join("packaging/images/Dockerfile")).unwrap();
    let joined = dockerfile.replace("\\\n", " ");
    let instructions: Vec<_> =
        joined.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    for instruction in &instructions {
        let (name, rest) = instruction.split_once(' ').unwrap();
        assert!(
            ["FROM", "ARG", "COPY", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"].contains(&name),
            "{name}"
        );
        if name == "RUN" {
            let checked = Command::new("sh").args(["-n", "-c", rest]).output().unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
    }
    assert!(instructions.len() >= 9, "{instructions:?}");
}
