//! A project in a temporary directory, a scripted model, and the binary started hermetically.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use autonoe_scripted::{ModelScript, ScriptedServer};
use autonoe_test_kit::{PATH, TestDirectory};
pub use autonoe_test_kit::{has_bubblewrap, until};
use serde_json::Value;

/// A project in a temporary directory, with its own HOME.
pub struct CliTestProject {
    directory: TestDirectory,
    is_in_place: bool,
}

impl Deref for CliTestProject {
    type Target = TestDirectory;

    fn deref(&self) -> &TestDirectory {
        &self.directory
    }
}

impl CliTestProject {
    pub fn empty() -> Self {
        Self { directory: TestDirectory::default(), is_in_place: true }
    }

    /// For tests that show the project's path.
    pub fn below(parent: &Path) -> Self {
        Self { directory: TestDirectory::below(parent), is_in_place: true }
    }

    pub fn new() -> Self {
        let project = Self::empty();
        project.write("SPEC.md", "# Spec\n\nBuild three things: A, B and C.\n");
        project
    }

    /// A project with deliverables of the given status, such as `("A", "passed")`.
    pub fn with_status(items: &[(&str, &str)]) -> Self {
        let project = Self::new();
        let deliverables: Vec<Value> = items
            .iter()
            .map(|(id, status)| {
                serde_json::json!({
                    "id": id, "description": format!("thing {id}"), "acceptanceCriteria": ["it works"],
                    "passed": *status == "passed", "blocked": *status == "blocked",
                })
            })
            .collect();
        let status = serde_json::json!({
            "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables,
        });
        project.write(".autonoe/status.json", &format!("{status:#}\n"));
        project
    }

    /// Lets agents work in a workspace, as they do by default. Other tests use the checkout, since workspaces take time in a debug build.
    pub fn in_workspace(self) -> Self {
        Self { is_in_place: false, ..self }
    }

    /// Commits everything but Autonoe's own files to a new repository.
    pub fn in_repository(self) -> Self {
        self.git(&["init", "-q", "-b", "main", "."]);
        self.commit(&[]);
        self
    }

    pub fn statuses(&self) -> Vec<(String, &'static str)> {
        let json: Value =
            serde_json::from_str(&self.read(".autonoe/status.json")).expect("status.json is JSON");
        let items = json["deliverables"].as_array().expect("deliverables");
        let status = |item: &Value| match (item["passed"].as_bool(), item["blocked"].as_bool()) {
            (Some(true), Some(false)) => "passed",
            (Some(false), Some(true)) => "blocked",
            (Some(false), Some(false)) => "pending",
            other => panic!("impossible status {other:?}"),
        };
        items.iter().map(|item| (item["id"].as_str().expect("id").to_owned(), status(item))).collect()
    }

    /// The working tree of the workspace; `None` if there is none yet.
    pub fn workspace(&self) -> Option<PathBuf> {
        let mut projects = fs::read_dir(self.home().join(".local/state/autonoe/projects")).ok()?;
        let tree = projects.next()?.ok()?.path().join("hub/workspaces/1/tree");
        tree.exists().then_some(tree)
    }

    /// A path in the project as agents see it: in their workspace, if there is one.
    pub fn agents_path(&self, name: &str) -> PathBuf {
        self.workspace().unwrap_or_else(|| self.root()).join(name)
    }

    pub fn journal(&self) -> PathBuf {
        let projects = self.home().join(".local/state/autonoe/projects");
        let mut entries = fs::read_dir(projects).expect("state").map(|entry| entry.expect("entry").path());
        entries.next().expect("one project").join("journal.db")
    }

    /// The binary, in the project, with a minimal environment.
    pub fn autonoe(&self, model: Option<&ScriptedServer>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_autonoe"));
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.home())
            .env("TZ", "UTC")
            .current_dir(self.root())
            .stdin(Stdio::null());
        if let Some(model) = model {
            command
                .env("ANTHROPIC_API_KEY", "test-key-never-real")
                .env("ANTHROPIC_BASE_URL", model.base_url());
        }
        command
    }

    /// Runs a command, and acts once an agent has made the file `ready`.
    pub fn run_acting(&self, model: &ScriptedServer, args: &[&str], act: impl FnOnce()) -> RunOutput {
        let mut command = self.command(model, args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        until("an agent is ready", || self.path("ready").exists());
        act();
        RunOutput::from(child.wait_with_output().expect("ended"))
    }

    /// Runs `autonoe ARGS --json --session-delay 0s` to its end.
    pub fn run(&self, model: &ScriptedServer, args: &[&str]) -> RunOutput {
        let output = self.command(model, args).output().expect("started");
        RunOutput::from(output)
    }

    pub fn command(&self, model: &ScriptedServer, args: &[&str]) -> Command {
        let mut command = self.autonoe(Some(model));
        command.args(args).args(["--json", "--session-delay", "0s"]);
        let has_place =
            ["run", "sync", "agent", "harness"].contains(&args[0]) && !args.contains(&"--no-sandbox");
        if self.is_in_place && has_place {
            command.arg("--in-place");
        }
        if !args.contains(&"--backend") {
            // Regardless of the agents installed on this machine.
            command.args(["--backend", "native"]);
        }
        command
    }
}

pub struct RunOutput {
    pub code: Option<i32>,
    pub events: Vec<Value>,
    pub stderr: String,
}

impl From<Output> for RunOutput {
    fn from(output: Output) -> Self {
        let stdout = String::from_utf8(output.stdout).expect("UTF-8");
        let events =
            stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
        Self {
            code: output.status.code(),
            events,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl RunOutput {
    pub fn outcome(&self) -> &Value {
        let last = self.events.last().unwrap_or_else(|| panic!("no events; stderr: {}", self.stderr));
        assert_eq!(last["type"], "outcome", "the last line is the outcome");
        last
    }

    /// Asserts the outcome's name and exit code, also in the JSON.
    #[track_caller]
    pub fn assert_ended(&self, name: &str, code: i32) {
        let outcome = self.outcome();
        assert_eq!(outcome["outcome"], name, "{outcome}\n{}", self.stderr);
        assert_eq!(self.code, Some(code), "{outcome}\n{}", self.stderr);
        assert_eq!(outcome["exit_code"], code);
    }

    /// The instructions of all sessions, in order.
    pub fn sessions(&self) -> Vec<&str> {
        self.of_type("session_started").map(|event| event["instruction"].as_str().expect("name")).collect()
    }

    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }
}

/// A search path with common programs, but without bubblewrap.
pub fn without_bubblewrap(project: &CliTestProject) -> PathBuf {
    let bin = project.home().join("bin");
    fs::create_dir_all(&bin).expect("made");
    for program in [
        "bash", "sh", "cat", "ls", "git", "grep", "rm", "mv", "mkdir", "env", "seq", "sleep", "touch",
        "xargs", "head", "cut", "wc",
    ] {
        symlink(format!("/usr/bin/{program}"), bin.join(program)).expect("linked");
    }
    bin
}

pub fn model(script: &str) -> ScriptedServer {
    ScriptedServer::start(ModelScript::parse(script).expect("valid script")).expect("started")
}

/// A model that creates A, B and C and then passes the first open deliverable in each session.
pub fn builder() -> String {
    let mut script = String::from(
        r#"
        [[conversation]]
        name = "initializer"
        when = "lay the foundation"
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__create", input = { deliverables = [
            { id = "A", description = "thing A", acceptanceCriteria = ["a works"] },
            { id = "B", description = "thing B", acceptanceCriteria = ["b works"] },
            { id = "C", description = "thing C", acceptanceCriteria = ["c works"] },
          ] } }]
          [[conversation.turn]]
          text = "Created."
        "#,
    );
    for id in ["A", "B", "C"] {
        script.push_str(&coding(id, "passed"));
    }
    script
}

/// A coding conversation for when `id` is the first open deliverable: one real command, then its status.
pub fn coding(id: &str, status: &str) -> String {
    let reason = if status == "blocked" { r#", reason = "no key; Ann has it""# } else { "" };
    format!(
        r#"
        [[conversation]]
        name = "coding {id}"
        when = ["one deliverable", "Open, in order of priority:\n- `{id}`"]
          [[conversation.turn]]
          text = "I build {id}."
          call = [
            {{ tool = "Bash", input = {{ command = "echo built >> work-{id}.txt" }} }},
            {{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "{status}"{reason} }} }},
          ]
          [[conversation.turn]]
          expect = "marked as {status}"
          text = "{id} is {status}."
        "#
    )
}

/// A session that commits a file with the name of its task, as the check of the task asks for, and claims the task.
pub fn builds(id: &str, phrases: &[&str]) -> String {
    task_session(id, phrases, "", "")
}

/// The same after a command, such as `touch ready; `, and with further turns.
pub fn builds_with(id: &str, before: &str, turns: &str) -> String {
    task_session(id, &[], before, turns)
}

fn task_session(id: &str, phrases: &[&str], before: &str, turns: &str) -> String {
    let task = format!("the task `{id}`");
    let when: Vec<&str> = std::iter::once(task.as_str()).chain(phrases.iter().copied()).collect();
    format!(
        r#"
        [[conversation]]
        name = "task {id}"
        when = {when:?}
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = "{before}echo done > {id}.txt && git add {id}.txt && git commit -qm {id}" }} }}]
          {turns}
          [[conversation.turn]]
          call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }}]
          [[conversation.turn]]
          expect = "marked as passed"
          text = "I made {id}.txt."
        "#
    )
}

/// A script whose only conversation matches any prompt.
pub fn always(turns: &str) -> String {
    format!("[[conversation]]\n{turns}")
}

/// A session whose first command is `command`, and which then claims A until `end`.
pub fn claims_after(command: &str, end: &str) -> String {
    always(&format!(
        r#"
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = "{command}" }} }}]
          [[conversation.turn]]
          call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "A", status = "passed" }} }}]
          {end}
        "#
    ))
}

/// A model that runs a command in every session and then passes A.
pub fn runs_and_passes(command: &str) -> String {
    claims_after(command, "[[conversation.turn]]\ntext = 'done'")
}

#[track_caller]
pub fn assert_script_followed(model: &ScriptedServer) {
    assert_eq!(model.problems(), Vec::<String>::new());
}

/// Processes whose working directory is at or below `directory`, each as its id and command line.
pub fn processes_in(directory: &Path) -> Vec<String> {
    let directory = directory.canonicalize().expect("exists");
    let entries = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    entries
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&directory)))
        .map(|entry| {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            format!(
                "{} {}",
                entry.file_name().to_string_lossy(),
                String::from_utf8_lossy(&command).replace('\0', " ")
            )
        })
        .collect()
}

#[track_caller]
pub fn assert_no_processes_left(project: &CliTestProject) {
    until("processes of the project are gone", || processes_in(&project.root()).is_empty());
}

pub fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("pid")).expect("pid");
    rustix::process::kill_process(pid, signal).expect("signal sent");
}

/// Builds A, says that it waits, and does so until `go` exists; then builds B.
pub fn two_sessions() -> ScriptedServer {
    let first = r#"
    [[conversation]]
    name = "coding A"
    when = ["one deliverable", "Open, in order of priority:\n- `A`"]
      [[conversation.turn]]
      text = "I wait."
      call = [{ tool = "Bash", input = { command = "touch waiting; while [ ! -f go ]; do sleep 0.05; done" } }]
      [[conversation.turn]]
      call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
      [[conversation.turn]]
      text = "A is passed."
    "#;
    model(&[first, &coding("B", "passed")].concat())
}
