//! Every backend on every layer of the sandbox: the same few scenes for all of them.
//!
//! What only one backend does has its tests in that backend's file.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use autonoe_scripted::Server;
use rustix::process::Signal;

use super::collector::{Collector, assert_healthy};
use super::support::{
    Place, Run, always, assert_followed, assert_nothing_left, builder, coding, has_bubblewrap, model, signal,
    wait_until,
};
use super::vendors::{Vendor, interrupted_in_a_tool, killed_in_a_tool};
use super::{acp, claude, codex, gemini};

/// Whom a scene is played with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    Native,
    Claude,
    Codex,
    Gemini,
    CodexAcp,
}

/// What holds its programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Bubblewrap,
    Landlock,
    None,
}

/// The search path of the tests.
const PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// A backend on a layer.
struct Pair {
    backend: Backend,
    layer: Layer,
    vendor: Option<Vendor>,
}

impl Pair {
    /// None, loudly, where the machine lacks the agent or the layer.
    fn find(backend: Backend, layer: Layer) -> Option<Self> {
        if layer == Layer::Bubblewrap && !has_bubblewrap() {
            eprintln!("SKIPPED: bubblewrap is not installed");
            return None;
        }
        let vendor = match backend {
            Backend::Native => None,
            Backend::Claude => Some(claude::claude()?),
            Backend::Codex => Some(codex::codex()?),
            Backend::Gemini => Some(gemini::gemini()?),
            Backend::CodexAcp => Some(acp::codex()?),
        };
        Some(Self { backend, layer, vendor })
    }

    /// The name of the backend, as `--backend` takes it.
    fn name(&self) -> &'static str {
        match self.backend {
            Backend::Native => "native",
            Backend::Claude => "claude",
            Backend::Codex => "codex",
            Backend::Gemini => "gemini",
            Backend::CodexAcp => "mine",
        }
    }

    /// A script with the backend's own names for tools.
    fn in_its_words(&self, script: &str) -> String {
        match self.backend {
            Backend::Native | Backend::Claude => script.to_owned(),
            Backend::Gemini => {
                gemini::in_its_words(script).replace("run_in_background = true", "is_background = true")
            }
            Backend::Codex | Backend::CodexAcp => in_codex_words(script),
        }
    }

    /// `autonoe run` with this backend on this layer, not started yet.
    fn command(&self, place: &Place, model: &Server) -> Command {
        let args = ["run", "--backend", self.name()];
        let mut command = match (&self.vendor, self.backend) {
            (None, _) => place.command(model, &args),
            (Some(gemini), Backend::Gemini) => gemini::command(gemini, place, model, &["run"]),
            (Some(codex), Backend::CodexAcp) => acp::command(codex, place, model, &args),
            (Some(vendor), _) => vendor.command(place, model, &args),
        };
        match self.layer {
            Layer::Bubblewrap => {}
            Layer::Landlock => {
                let own = self.vendor.iter().map(|vendor| vendor.offer(place));
                let path = std::env::join_paths(own.chain([without_bubblewrap(place)])).expect("a path");
                command.env("PATH", path);
            }
            Layer::None => {
                // Codex' own sandbox needs helpers, which it does not keep below the temporary directory; this place is there.
                let temporary = place.home().join("tmp");
                fs::create_dir_all(&temporary).expect("directory");
                command.arg("--no-sandbox").env("TMPDIR", temporary);
            }
        }
        command
    }

    fn run(&self, place: &Place, model: &Server) -> Run {
        Run::from(self.command(place, model).output().expect("started"))
    }

    /// Whether each call of the model can be told from the next, and not only one prompt.
    fn shows_model_calls(&self) -> bool {
        match self.backend {
            Backend::Native | Backend::Claude | Backend::Codex => true,
            Backend::Gemini | Backend::CodexAcp => false,
        }
    }

    /// Asserts that the run was held by this layer and no other.
    #[track_caller]
    fn assert_held(&self, run: &Run) {
        let (landlock, none) =
            (run.stderr.contains("Landlock holds"), run.stderr.contains("the sandbox is disabled"));
        let held = match (landlock, none) {
            (false, false) => Layer::Bubblewrap,
            (true, false) => Layer::Landlock,
            (_, true) => Layer::None,
        };
        assert_eq!(held, self.layer, "{}", run.stderr);
    }
}

/// A script with Codex' own names for tools, and its way to leave a command running.
pub fn in_codex_words(script: &str) -> String {
    acp::in_its_words(script).replace("run_in_background = true", "yield_time_ms = 250")
}

/// A directory with every program of the search path but bubblewrap.
fn without_bubblewrap(place: &Place) -> PathBuf {
    let links = place.home().join("programs");
    if links.exists() {
        return links;
    }
    fs::create_dir_all(&links).expect("directory");
    let mut seen = BTreeSet::from(["bwrap".into()]);
    for directory in PATH {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if seen.insert(entry.file_name()) {
                symlink(entry.path(), links.join(entry.file_name())).expect("linked");
            }
        }
    }
    links
}

/// From the specification to the last deliverable.
fn main_job(backend: Backend, layer: Layer) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let place = Place::new();
    let model = model(&pair.in_its_words(&builder()));
    let collector = Collector::start();
    let mut command = pair.command(&place, &model);
    collector.watch(&mut command);
    let run = Run::from(command.output().expect("started"));
    run.assert_ended("all_passed", 0);
    pair.assert_held(&run);
    assert_eq!(run.sessions(), ["initializer", "coding", "coding", "coding"]);
    assert!(run.of_type("session_started").all(|event| event["backend"] == pair.name()));
    let statuses = place.statuses();
    assert!(statuses.iter().all(|(_, status)| *status == "passed"), "{statuses:?}");
    assert_eq!(place.read("work-A.txt"), "built\n");
    assert!(run.of_type("tool_result").all(|event| event["is_error"] == false));
    let names: Vec<_> = run.of_type("tool_call").filter_map(|event| event["name"].as_str()).collect();
    assert_eq!(names[..3], ["mcp__autonoe__create", "Bash", "mcp__autonoe__set_status"]);
    assert_eq!(run.of_type("trouble").collect::<Vec<_>>(), Vec::<&serde_json::Value>::new());
    assert_nothing_left(&place);
    assert_followed(&model);
    assert_healthy(&collector.spans(), 4);
    if pair.shows_model_calls() {
        let calls = collector.spans().iter().filter(|span| span.kind() == "chat").count();
        assert_eq!(calls, model.requests().len());
    }
}

/// Interrupted in the middle of a command that ignores signals.
fn interrupt(backend: Backend, layer: Layer) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&pair.in_its_words(&always(STUBBORN)));
    let collector = Collector::start();
    let mut command = pair.command(&place, &model);
    collector.watch(&mut command);
    interrupted_in_a_tool(&place, command);
    let spans = collector.spans();
    let cut_off = spans.iter().filter(|span| span.error() == Some("cut_off"));
    let cut_off: Vec<_> = cut_off.map(|span| span.kind()).collect();
    match backend {
        Backend::Native | Backend::Claude => assert_eq!(cut_off, ["execute_tool"], "{spans:?}"),
        // Their calls of the model end when the tools in them have.
        Backend::Codex | Backend::Gemini | Backend::CodexAcp => {
            assert!(cut_off.contains(&"chat"), "{spans:?}")
        }
    }
}

/// Killed in the middle of a command; the next run finishes.
fn kill(backend: Backend, layer: Layer) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&pair.in_its_words(&[acp::WAITING_ONCE, &coding("A", "passed")].concat()));
    killed_in_a_tool(&place, pair.command(&place, &model), || true);
    pair.run(&place, &model).assert_ended("all_passed", 0);
    assert_nothing_left(&place);
    assert_followed(&model);
}

/// Commands that are left in the background, in both ways, do not hold the end of the session up.
fn background(backend: Backend, layer: Layer) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&pair.in_its_words(&always(LEAVES_COMMANDS)));
    let run = pair.run(&place, &model);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("session_ended").next().expect("a session")["outcome"], "completed");
    assert_nothing_left(&place);
    assert_followed(&model);
}

/// An agent that comes without our tools is a fault that says so, and no money is spent on it where that can be known before.
fn without_tools(backend: Backend, layer: Layer, script: &str, asked: usize) {
    let Some(pair) = Pair::find(backend, layer) else { return };
    let Some(vendor) = &pair.vendor else { return };
    let place = Place::new();
    vendor.replace(&place, script);
    let model = model(&always("[[conversation.turn]]\ntext = 'I have nothing to work with.'"));
    let mut command = pair.command(&place, &model);
    let config = place.home().join(".config/autonoe/config.toml");
    fs::create_dir_all(config.parent().expect("parent")).expect("directory");
    let readable = format!("read = ['{}']", vendor.packages().display());
    let written = fs::read_to_string(&config).unwrap_or_else(|_| "[sandbox]\n".to_owned());
    fs::write(&config, written.replace("[sandbox]", &format!("[sandbox]\n{readable}"))).expect("written");
    let run = Run::from(command.args(["--max-retries", "0"]).output().expect("started"));
    run.assert_ended("max_retries_exceeded", 6);
    let fault = &run.outcome()["fault"];
    assert_eq!(fault["code"], "tools_missing", "{fault}");
    let message = fault["message"].as_str().expect("a message");
    assert!(message.contains("no deliverable tools") && message.contains("`autonoe`"), "{message}");
    assert_eq!(model.requests().len(), asked, "{message}");
    assert_nothing_left(&place);
}

#[test]
fn claude_without_its_tools() {
    let script = r#"echo '{"mcpServers":{}}' > "$CLAUDE_CONFIG_DIR/autonoe-servers.json"
        sed -u 's/"sdkMcpServers":\["autonoe"\]/"sdkMcpServers":[]/' | REAL "$@""#;
    without_tools(Backend::Claude, Layer::Bubblewrap, script, 1);
}

#[test]
fn codex_without_its_tools() {
    let script = r#"sed -i 's/__mcp/__nobody/' "$CODEX_HOME/config.toml"; exec REAL "$@""#;
    without_tools(Backend::Codex, Layer::Landlock, script, 0);
}

#[test]
fn gemini_without_its_tools() {
    let script = r#"sed -u 's/"__mcp"/"__nobody"/' | REAL "$@""#;
    without_tools(Backend::Gemini, Layer::Landlock, script, 0);
}

#[test]
fn an_agent_by_its_command_without_its_tools() {
    let script = r#"sed -u 's/"__mcp"/"__nobody"/' | REAL "$@""#;
    without_tools(Backend::CodexAcp, Layer::None, script, 1);
}

/// Interrupted while the model says nothing: the call of the model is cut off, and says so.
fn interrupted_call(backend: Backend) {
    let Some(pair) = Pair::find(backend, Layer::Landlock) else { return };
    let place = Place::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\nfault = { kind = 'silence', times = 99 }"));
    let collector = Collector::start();
    let mut command = pair.command(&place, &model);
    collector.watch(&mut command);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    wait_until("the model was asked", || !model.requests().is_empty());
    signal(&child, Signal::INT);
    Run::from(child.wait_with_output().expect("ended")).assert_ended("interrupted", 130);
    let spans = collector.spans();
    let calls: Vec<_> = spans.iter().filter(|span| span.kind() == "chat").map(|span| span.error()).collect();
    assert_eq!(calls, [Some("cut_off")], "{spans:?}");
}

#[test]
fn an_interrupted_call_of_the_native_agent_is_cut_off() {
    interrupted_call(Backend::Native);
}

#[test]
fn an_interrupted_call_of_claude_is_cut_off() {
    interrupted_call(Backend::Claude);
}

#[test]
fn an_interrupted_call_of_codex_is_cut_off() {
    interrupted_call(Backend::Codex);
}

#[test]
fn an_interrupted_call_of_gemini_is_cut_off() {
    interrupted_call(Backend::Gemini);
}

const STUBBORN: &str = r#"
  [[conversation.turn]]
  call = [{ tool = "Bash", input = { command = "trap '' TERM INT; (trap '' TERM; sleep 300) & echo ready > ready.txt; sleep 300; sleep 300" } }]
  [[conversation.turn]]
  text = "x"
"#;

/// Neither command ends by itself.
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

macro_rules! scenes {
    ($backend:ident, $layer:ident) => {
        use super::super::{Backend, Layer};
        #[test]
        fn main_job() {
            super::super::main_job(Backend::$backend, Layer::$layer);
        }
        #[test]
        fn interrupt() {
            super::super::interrupt(Backend::$backend, Layer::$layer);
        }
        #[test]
        fn kill() {
            super::super::kill(Backend::$backend, Layer::$layer);
        }
        #[test]
        fn background() {
            super::super::background(Backend::$backend, Layer::$layer);
        }
    };
}

/// A test for each scene, so that they run side by side and each is told by its name.
macro_rules! on_every_layer {
    ($module:ident, $backend:ident) => {
        mod $module {
            mod bubblewrap {
                scenes!($backend, Bubblewrap);
            }
            mod landlock {
                scenes!($backend, Landlock);
            }
            mod none {
                scenes!($backend, None);
            }
        }
    };
}

on_every_layer!(native, Native);
on_every_layer!(claude_code, Claude);
on_every_layer!(codex_app_server, Codex);
on_every_layer!(gemini_cli, Gemini);
on_every_layer!(codex_acp, CodexAcp);
