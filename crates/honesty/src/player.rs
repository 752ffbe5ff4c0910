//! Plays a scenario with the real program, in a temporary directory with a home of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use autonoe_scripted::{ModelScript, ScriptedServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::layer::{Layer, LayerKind};
use crate::scenario::{Act, DELIVERABLE, Expected, Scenario};

/// How long processes of a run may still be visible after it.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Plays a scenario. Returns what is wrong with its outcome; `None` if nothing is, or if a program is missing that it needs.
pub fn play(scenario: &Scenario, autonoe: &Path, layer: &Layer) -> io::Result<Option<String>> {
    if !scenario.needs.iter().all(|program| layer.has_program(program)) {
        return Ok(None);
    }
    // Without bubblewrap, `--strict` is refused before anything starts.
    let is_strict = scenario.is_strict && layer.kind == LayerKind::Bubblewrap;
    let stage = Stage::new(scenario, autonoe, layer)?;
    let mut problems = Vec::new();
    let mut code = None;
    let mut screens = String::new();
    for act in &scenario.acts {
        let output = match act {
            Act::User(script) => stage.user(script)?,
            Act::Run { script, sessions, options } => {
                let output = stage.play_model(script, &mut problems, |command| {
                    // Scripts are of sessions that build, also after the user has changed the specification.
                    command
                        .args(["run", "--no-sync", "--max-iterations", &sessions.to_string()])
                        .args(*options);
                    command.args(is_strict.then_some("--strict"));
                    command.args(scenario.is_in_place.then_some("--in-place"));
                })?;
                code = output.status.code();
                output
            }
            Act::Sync { script } => stage.play_model(script, &mut problems, |command| {
                command.args(["sync", "--max-iterations", "2"]);
            })?,
        };
        let screen =
            [output.stdout.as_slice(), output.stderr.as_slice()].map(String::from_utf8_lossy).concat();
        if let (Act::User(script), false) = (act, output.status.success()) {
            problems.push(format!("the user's `{script}` ended with {}:\n{screen}", output.status));
        }
        problems.extend(hidden_characters(&screen));
        screens.push_str(&screen);
    }
    problems.extend(wrong_outcome(&stage.root, code, &scenario.expected, scenario.is_strict && !is_strict)?);
    problems.extend(stage.processes_left());
    Ok((!problems.is_empty()).then(|| format!("{}\n{screens}", problems.join("\n"))))
}

struct Stage<'a> {
    autonoe: &'a Path,
    layer: &'a Layer,
    home: PathBuf,
    /// The project.
    root: PathBuf,
    directory: TempDir,
}

impl<'a> Stage<'a> {
    fn new(scenario: &Scenario, autonoe: &'a Path, layer: &'a Layer) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("autonoe-honesty-").tempdir()?;
        let home = directory.path().join("home");
        let top = directory.path().join("project");
        let root = if scenario.part.is_empty() { top.clone() } else { top.join(scenario.part) };
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&root)?;
        let stage = Self { autonoe, layer, home, root, directory };
        stage.write("SPEC.md", scenario.spec)?;
        for (name, content) in scenario.files {
            stage.write(name, content)?;
        }
        if !stage.shell(scenario.repository).current_dir(&top).status()?.success() {
            return Err(io::Error::other(format!("{}: its repository cannot be made", scenario.name)));
        }
        if let Some(checks) = scenario.checks {
            stage.write(".autonoe/checks.json", checks)?;
        }
        if !scenario.planned.is_empty() {
            stage.write(".autonoe/status.json", &format!("{:#}\n", status(scenario.planned)))?;
        }
        if scenario.scripts().any(|script| script.contains("bash trick.sh")) {
            // Such scripts bypass every other command rule, as if the user had allowed it.
            stage.write(".autonoe/agent.json", r#"{ "allowCommands": { "base": ["bash"] } }"#)?;
            let trusted = stage.user("$AUTONOE trust --yes")?;
            if !trusted.status.success() {
                return Err(io::Error::other(String::from_utf8_lossy(&trusted.stderr).into_owned()));
            }
        }
        Ok(stage)
    }

    fn write(&self, name: &str, content: &str) -> io::Result<()> {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        fs::write(path, content)
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("PATH", &self.layer.path).env("HOME", &self.home).env("TZ", "UTC");
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = self.command("/bin/sh");
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "user@example.invalid");
        }
        command.env("AUTONOE", self.autonoe);
        command.args(["-ec", script]);
        command
    }

    fn user(&self, script: &str) -> io::Result<Output> {
        self.shell(script).output()
    }

    fn play_model(
        &self,
        script: &str,
        problems: &mut Vec<String>,
        arguments: impl FnOnce(&mut Command),
    ) -> io::Result<Output> {
        let script = ModelScript::parse(script).map_err(io::Error::other)?;
        let model = ScriptedServer::start(script).map_err(io::Error::other)?;
        let mut command = self.command(self.autonoe);
        command.env("ANTHROPIC_API_KEY", "test-key-never-real").env("ANTHROPIC_BASE_URL", model.base_url());
        arguments(&mut command);
        command.args(["--backend", "native", "--session-delay", "0s"]);
        let output = command.output()?;
        problems.extend(model.problems());
        Ok(output)
    }

    /// Processes that work in the project after everything has ended.
    fn processes_left(&self) -> Option<String> {
        let is_here = |entry: fs::DirEntry| {
            fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.directory.path()))
        };
        let are_left = || {
            fs::read_dir("/proc").is_ok_and(|mut processes| processes.any(|entry| entry.is_ok_and(is_here)))
        };
        let started = Instant::now();
        while are_left() {
            if started.elapsed() > GONE_WITHIN {
                return Some("a process of the run is left".to_owned());
            }
            thread::sleep(Duration::from_millis(50));
        }
        None
    }
}

/// What a terminal would act on, or not show.
fn hidden_characters(screen: &str) -> Option<String> {
    let is_bidi = |c: char| matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_hidden = |c: &char| (c.is_control() && !['\n', '\t'].contains(c)) || is_bidi(*c);
    let found = screen.chars().find(is_hidden)?;
    let line = screen.lines().find(|line| line.contains(found)).unwrap_or_default();
    Some(format!("the screen shows {:?} in {line:?}", found))
}

/// `is_lenient`: whether a run may succeed with what was only claimed.
fn wrong_outcome(
    root: &Path,
    code: Option<i32>,
    expected: &Expected,
    is_lenient: bool,
) -> io::Result<Option<String>> {
    // Without a plan there is no file.
    let text = fs::read_to_string(root.join(".autonoe/status.json")).unwrap_or_else(|_| "{}".to_owned());
    let status: Value = serde_json::from_str(&text)?;
    let deliverables = status["deliverables"].as_array().cloned().unwrap_or_default();
    let deliverable = deliverables.iter().find(|item| item["id"] == DELIVERABLE);
    let has_passed = deliverable.is_some_and(|item| item["passed"] == true);
    let assurance =
        deliverable.and_then(|item| item["verification"]["assurance"].as_str()).unwrap_or_default();
    let is_verified = has_passed && assurance == "verified";
    let is_right = match expected {
        Expected::Verified => is_verified && code == Some(0),
        Expected::Refused if is_lenient && assurance == "claimed" => true,
        Expected::Refused => !is_verified && code.is_some_and(|code| code != 0),
        Expected::Claimed => has_passed && assurance == "claimed" && code == Some(0),
    };
    let exit = code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
    let passed = if has_passed { "passed" } else { "not passed" };
    Ok((!is_right).then(|| format!("expected {expected:?}, got {passed} and {assurance:?} with {exit}")))
}

fn status(ids: &[&str]) -> Value {
    let deliverable = |id: &&str| {
        json!({
            "id": id, "description": format!("part {id}"), "acceptanceCriteria": ["it works"],
            "passed": false, "blocked": false,
        })
    };
    let deliverables: Vec<Value> = ids.iter().map(deliverable).collect();
    json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables })
}
