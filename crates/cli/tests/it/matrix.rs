//! The same few scenarios for every backend on every sandbox layer.
//!
//! Tests of a single backend are in that backend's file.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use autonoe_scripted::ScriptedServer;
use rustix::process::Signal;

use super::collector::{SpanCollector, assert_healthy};
use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, builder, coding,
    has_bubblewrap, model, signal, wait_until,
};
use super::vendors::{TestVendor, interrupted_in_a_tool, killed_in_a_tool};
use super::{acp, claude, codex, gemini};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixBackend {
    Native,
    Claude,
    Codex,
    Gemini,
    CodexAcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixLayer {
    Bubblewrap,
    Landlock,
    None,
}

const PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

pub struct Pair {
    backend: MatrixBackend,
    layer: MatrixLayer,
    vendor: Option<TestVendor>,
}

impl Pair {
    /// `None`, with a notice, if the machine lacks the agent or the layer.
    pub fn find(backend: MatrixBackend, layer: MatrixLayer) -> Option<Self> {
        if layer == MatrixLayer::Bubblewrap && !has_bubblewrap() {
            eprintln!("SKIPPED: bubblewrap is not installed");
            return None;
        }
        let vendor = match backend {
            MatrixBackend::Native => None,
            MatrixBackend::Claude => Some(claude::claude()?),
            MatrixBackend::Codex => Some(codex::codex()?),
            MatrixBackend::Gemini => Some(gemini::gemini()?),
            MatrixBackend::CodexAcp => Some(acp::codex()?),
        };
        Some(Self { backend, layer, vendor })
    }

    fn name(&self) -> &'static str {
        match self.backend {
            MatrixBackend::Native => "native",
            MatrixBackend::Claude => "claude",
            MatrixBackend::Codex => "codex",
            MatrixBackend::Gemini => "gemini",
            MatrixBackend::CodexAcp => "mine",
        }
    }

    pub fn with_own_tool_names(&self, script: &str) -> String {
        match self.backend {
            MatrixBackend::Native | MatrixBackend::Claude => script.to_owned(),
            MatrixBackend::Gemini => gemini::with_own_tool_names(script)
                .replace("run_in_background = true", "is_background = true"),
            MatrixBackend::Codex | MatrixBackend::CodexAcp => with_codex_tool_names(script),
        }
    }

    fn command(&self, project: &CliTestProject, model: &ScriptedServer) -> Command {
        let args = ["run", "--backend", self.name()];
        let mut command = match (&self.vendor, self.backend) {
            (None, _) => project.command(model, &args),
            (Some(gemini), MatrixBackend::Gemini) => gemini::command(gemini, project, model, &["run"]),
            (Some(codex), MatrixBackend::CodexAcp) => acp::command(codex, project, model, &args),
            (Some(vendor), _) => vendor.command(project, model, &args),
        };
        match self.layer {
            MatrixLayer::Bubblewrap => {}
            MatrixLayer::Landlock => {
                let own = self.vendor.iter().map(|vendor| vendor.offer(project));
                let path = std::env::join_paths(own.chain([without_bubblewrap(project)])).expect("a path");
                command.env("PATH", path);
            }
            MatrixLayer::None => {
                // Codex refuses to keep its sandbox helpers below the temporary directory, where this project is.
                let temporary = project.home().join("tmp");
                fs::create_dir_all(&temporary).expect("directory");
                command.arg("--no-sandbox").env("TMPDIR", temporary);
            }
        }
        command
    }

    pub fn run(&self, project: &CliTestProject, model: &ScriptedServer) -> RunOutput {
        RunOutput::from(self.command(project, model).output().expect("started"))
    }

    /// Whether its events show single model calls, not only prompts.
    fn shows_model_calls(&self) -> bool {
        match self.backend {
            MatrixBackend::Native | MatrixBackend::Claude | MatrixBackend::Codex => true,
            MatrixBackend::Gemini | MatrixBackend::CodexAcp => false,
        }
    }

    #[track_caller]
    pub fn assert_layer(&self, run: &RunOutput) {
        let (landlock, none) =
            (run.stderr.contains("uses Landlock"), run.stderr.contains("the sandbox is disabled"));
        let used = match (landlock, none) {
            (false, false) => MatrixLayer::Bubblewrap,
            (true, false) => MatrixLayer::Landlock,
            (_, true) => MatrixLayer::None,
        };
        assert_eq!(used, self.layer, "{}", run.stderr);
    }
}

/// With Codex's option to leave a command running.
pub fn with_codex_tool_names(script: &str) -> String {
    acp::with_own_tool_names(script).replace("run_in_background = true", "yield_time_ms = 250")
}

fn without_bubblewrap(project: &CliTestProject) -> PathBuf {
    let links = project.home().join("programs");
    if links.exists() {
        return links;
    }
    fs::create_dir_all(&links).expect("directory");
    let mut names = BTreeSet::from(["bwrap".into()]);
    for directory in PATH {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if names.insert(entry.file_name()) {
                symlink(entry.path(), links.join(entry.file_name())).expect("linked");
            }
        }
    }
    links
}

fn main_job(backend: MatrixBackend, layer: MatrixLayer) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let project = CliTestProject::new();
    let model = model(&pair.with_own_tool_names(&builder()));
    let collector = SpanCollector::start();
    let mut command = pair.command(&project, &model);
    collector.watch(&mut command);
    let run = RunOutput::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    pair.assert_layer(&run);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    assert!(run.of_type("session_started").all(|event| event["backend"] == pair.name()));
    let statuses = project.statuses();
    assert!(statuses.iter().all(|(_, status)| *status == "passed"), "{statuses:?}");
    assert_eq!(project.read("work-A.txt"), "built\n");
    assert!(run.of_type("tool_result").all(|event| event["is_error"] == false));
    let names: Vec<_> = run.of_type("tool_call").filter_map(|event| event["name"].as_str()).collect();
    assert_eq!(names[..3], ["mcp__autonoe__create", "Bash", "mcp__autonoe__set_status"]);
    assert_eq!(run.of_type("trouble").collect::<Vec<_>>(), Vec::<&serde_json::Value>::new());
    assert_no_processes_left(&project);
    assert_script_followed(&model);
    assert_healthy(&collector.spans(), 4);
    if pair.shows_model_calls() {
        let calls = collector.spans().iter().filter(|span| span.kind() == "chat").count();
        assert_eq!(calls, model.requests().len());
    }
}

fn interrupt(backend: MatrixBackend, layer: MatrixLayer) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&pair.with_own_tool_names(&always(STUBBORN)));
    let collector = SpanCollector::start();
    let mut command = pair.command(&project, &model);
    collector.watch(&mut command);
    interrupted_in_a_tool(&project, command);
    let spans = collector.spans();
    let cut_off = spans.iter().filter(|span| span.error() == Some("cut_off"));
    let cut_off: Vec<_> = cut_off.map(|span| span.kind()).collect();
    match backend {
        MatrixBackend::Native | MatrixBackend::Claude => assert_eq!(cut_off, ["execute_tool"], "{spans:?}"),
        // Their model calls end after the tools in them.
        MatrixBackend::Codex | MatrixBackend::Gemini | MatrixBackend::CodexAcp => {
            assert!(cut_off.contains(&"chat"), "{spans:?}")
        }
    }
}

fn kill(backend: MatrixBackend, layer: MatrixLayer) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&pair.with_own_tool_names(&[acp::WAITING_ONCE, &coding("A", "passed")].concat()));
    killed_in_a_tool(&project, pair.command(&project, &model), || true);
    pair.run(&project, &model).assert_ended("all_passed", 0);
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

fn background(backend: MatrixBackend, layer: MatrixLayer) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&pair.with_own_tool_names(&always(LEAVES_COMMANDS)));
    let run = pair.run(&project, &model);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("session_ended").next().expect("a session")["outcome"], "completed");
    assert_no_processes_left(&project);
    assert_script_followed(&model);
}

/// An agent that starts without our tools is a fault, before the first model request if possible.
fn without_tools(backend: MatrixBackend, layer: MatrixLayer, script: &str, requests: usize) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let Some(vendor) = &pair.vendor else { return };
    let project = CliTestProject::new();
    vendor.replace(&project, script);
    let model = model(&always("[[conversation.turn]]\ntext = 'I have nothing to work with.'"));
    let mut command = pair.command(&project, &model);
    let config = project.home().join(".config/autonoe/config.toml");
    fs::create_dir_all(config.parent().expect("parent")).expect("directory");
    let readable = format!("read = ['{}']", vendor.packages().display());
    let written = fs::read_to_string(&config).unwrap_or_else(|_| "[sandbox]\n".to_owned());
    fs::write(&config, written.replace("[sandbox]", &format!("[sandbox]\n{readable}"))).expect("written");
    let run = RunOutput::from(command.args(["--max-retries", "0"]).output().expect("started"));
    run.assert_ended("max_retries_exceeded", 6);
    let fault = &run.outcome()["fault"];
    assert_eq!(fault["code"], "tools_missing", "{fault}");
    let message = fault["message"].as_str().expect("a message");
    assert!(message.contains("no deliverable tools") && message.contains("`autonoe`"), "{message}");
    assert_eq!(model.requests().len(), requests, "{message}");
    assert_no_processes_left(&project);
}

#[test]
fn claude_without_our_tools_fails() {
    let script = r#"echo '{"mcpServers":{}}' > "$CLAUDE_CONFIG_DIR/autonoe-servers.json"
        sed -u 's/"sdkMcpServers":\["autonoe"\]/"sdkMcpServers":[]/' | REAL "$@""#;
    without_tools(MatrixBackend::Claude, MatrixLayer::Bubblewrap, script, 1);
}

#[test]
fn codex_without_our_tools_fails() {
    let script = r#"sed -i 's/__mcp/__nobody/' "$CODEX_HOME/config.toml"; exec REAL "$@""#;
    without_tools(MatrixBackend::Codex, MatrixLayer::Landlock, script, 0);
}

#[test]
fn gemini_without_our_tools_fails() {
    let script = r#"sed -u 's/"__mcp"/"__nobody"/' | REAL "$@""#;
    without_tools(MatrixBackend::Gemini, MatrixLayer::Landlock, script, 0);
}

#[test]
fn an_acp_agent_without_our_tools_fails() {
    let script = r#"sed -u 's/"__mcp"/"__nobody"/' | REAL "$@""#;
    without_tools(MatrixBackend::CodexAcp, MatrixLayer::None, script, 1);
}

fn interrupted_call(backend: MatrixBackend) {
    let Some(pair) = Pair::find(backend, MatrixLayer::Landlock) else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\nfault = { kind = 'silence', times = 99 }"));
    let collector = SpanCollector::start();
    let mut command = pair.command(&project, &model);
    collector.watch(&mut command);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    wait_until("the model was called", || !model.requests().is_empty());
    signal(&child, Signal::INT);
    RunOutput::from(child.wait_with_output().expect("ended")).assert_ended("interrupted", 130);
    let spans = collector.spans();
    let calls: Vec<_> = spans.iter().filter(|span| span.kind() == "chat").map(|span| span.error()).collect();
    assert_eq!(calls, [Some("cut_off")], "{spans:?}");
}

#[test]
fn an_interrupted_call_of_the_native_agent_is_cut_off() {
    interrupted_call(MatrixBackend::Native);
}

#[test]
fn an_interrupted_call_of_claude_is_cut_off() {
    interrupted_call(MatrixBackend::Claude);
}

#[test]
fn an_interrupted_call_of_codex_is_cut_off() {
    interrupted_call(MatrixBackend::Codex);
}

#[test]
fn an_interrupted_call_of_gemini_is_cut_off() {
    interrupted_call(MatrixBackend::Gemini);
}

const STUBBORN: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "trap '' TERM INT; (trap '' TERM; sleep 300) & echo ready > ready.txt; sleep 300; sleep 300" } }]
  [[conversation.turn]]
  text = "x"
"#;

pub const LEAVES_COMMANDS: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "tail -f SPEC.md > one.txt & echo left" } }]
  [[conversation.turn]]
  expect = "left"
  call = [{ tool = "Bash", input = { command = "tail -f SPEC.md", run_in_background = true } }]
  [[conversation.turn]]
  call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
  [[conversation.turn]]
  text = "done"
"#;

macro_rules! scenarios {
    ($backend:ident, $layer:ident) => {
        use super::super::{MatrixBackend, MatrixLayer};
        #[test]
        fn main_job() {
            super::super::main_job(MatrixBackend::$backend, MatrixLayer::$layer);
        }
        #[test]
        fn interrupt() {
            super::super::interrupt(MatrixBackend::$backend, MatrixLayer::$layer);
        }
        #[test]
        fn kill() {
            super::super::kill(MatrixBackend::$backend, MatrixLayer::$layer);
        }
        #[test]
        fn background() {
            super::super::background(MatrixBackend::$backend, MatrixLayer::$layer);
        }
    };
}

macro_rules! on_every_layer {
    ($module:ident, $backend:ident) => {
        mod $module {
            mod bubblewrap {
                scenarios!($backend, Bubblewrap);
            }
            mod landlock {
                scenarios!($backend, Landlock);
            }
            mod none {
                scenarios!($backend, None);
            }
        }
    };
}

on_every_layer!(native, Native);
on_every_layer!(claude_code, Claude);
on_every_layer!(codex_app_server, Codex);
on_every_layer!(gemini_cli, Gemini);
on_every_layer!(codex_acp, CodexAcp);
