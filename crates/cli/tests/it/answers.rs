//! Answers of a form that was asked for, from the real agents on a scripted model. No command asks for such an answer by itself,
//! so the agents are opened here, in a room of bubblewrap's.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use autonoe_agents::{
    ClaudeBackend, CodexBackend, GeminiBackend, Login, ModelService, NativeBackend, NativeSettings,
    VendorSettings,
};
use autonoe_core::agent::{Backend, Instruction, SessionSpec};
use autonoe_core::clock::Clock;
use autonoe_core::event::AgentEvent;
use autonoe_core::instruction::Phase;
use autonoe_core::mode::Mode;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::{CallServer, DeliverableService};
use autonoe_model::{PriceList, Provider, Tuning};
use autonoe_policy::{PolicyOptions, path_rules_for};
use autonoe_sandbox::{Bounds, EgressRules, Key, Layer, RoomConfig, Route, Sandbox};
use autonoe_scripted::Server;
use autonoe_store::journal::JournalOptions;
use autonoe_store::{Journal, Project, StatusStore};
use autonoe_tools::ToolOptions;
use futures::StreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::codex_exec;
use super::support::{Place, always, assert_followed, model};
use super::vendors::Vendor;
use super::{claude, codex, gemini};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// One agent, and what it takes to open it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Native,
    Claude,
    Codex,
    CodexExec,
    Gemini,
}

/// What came of a session.
struct Answered {
    success: bool,
    answer: Option<Value>,
    error: Option<String>,
}

/// A schema that the service behind Codex holds a model to.
fn strict() -> Value {
    json!({
        "type": "object", "required": ["passed", "reason"], "additionalProperties": false,
        "properties": { "passed": { "type": "boolean" }, "reason": { "type": "string" } },
    })
}

/// One that it does not.
fn open() -> Value {
    json!({ "type": "object", "required": ["passed"], "properties": { "passed": { "type": "boolean" } } })
}

const FITS: &str = r#"{"passed":true,"reason":"it runs"}"#;

struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        static START: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}

/// What an agent is opened with.
struct Bench {
    place: Place,
    project: Project,
    deliverables: Arc<DeliverableService>,
    calls: PathBuf,
    _server: CallServer,
}

impl Bench {
    async fn new() -> Self {
        let place = Place::with_status(&[("A", "pending")]);
        let project = Project::open(&place.project(), &place.home().join("state")).expect("a project");
        project.check_writable().expect("writable");
        let options = JournalOptions::default();
        let file = project.journal_file();
        let (journal, _) =
            Journal::begin(&file, "run", "", Timestamp::now(), options).await.expect("a journal");
        let status = StatusStore::open(&project, Arc::clone(&journal), Arc::new(SystemClock)).await;
        let status = Arc::new(status.expect("a status"));
        let phase = Phase::Coding;
        let deliverables = Arc::new(DeliverableService::new(status, journal, phase, Box::new(|_| {})));
        let calls = place.home().join("calls.sock");
        let server = CallServer::start(&calls, Arc::clone(&deliverables)).expect("a socket");
        Self { place, project, deliverables, calls, _server: server }
    }

    fn room_config(&self, read: &[PathBuf], routes: Vec<Route>) -> RoomConfig {
        let ourselves = Path::new(env!("CARGO_BIN_EXE_autonoe"));
        let sandbox =
            Sandbox::with_layer(ourselves, Layer::Bubblewrap, OsStr::new(PATH)).expect("bubblewrap");
        let state = self.project.state_dir();
        let mut bounds = Bounds::new(self.project.root(), state.join("home"), state.join("tmp"));
        bounds.read = read.to_vec();
        let egress = Arc::new(EgressRules { routes, ..EgressRules::default() });
        RoomConfig {
            sandbox,
            bounds,
            egress,
            env: vec![("PATH".to_owned(), PATH.to_owned())],
            guarded: Arc::default(),
        }
    }

    fn vendor(&self, vendor: &Vendor, home: &str, key: Key, model: &Server) -> VendorSettings {
        let route = Route::new("service", &model.base_url(), Some(key)).expect("a route");
        let room_config = self.room_config(&[vendor.packages(), self.place.home().join("bin")], vec![route]);
        let service = ModelService {
            route: "service".to_owned(),
            base_url: Some(model.base_url()),
            key: Some("test-key-never-real".to_owned()),
        };
        VendorSettings {
            root: self.project.root().to_owned(),
            command: vec![vendor.program().display().to_string()],
            home: room_config.bounds.home.join(home),
            room_config,
            login: Login::default(),
            service: Some(service),
            env: Vec::new(),
            calls: self.calls.clone(),
            servers: BTreeMap::new(),
            prices: Arc::new(PriceList::shipped().clone()),
        }
    }

    fn native(&self, model: &Server) -> NativeSettings {
        let policy = PolicyOptions::new(Mode::Run, self.project.root());
        let provider = Provider::built_in("anthropic").expect("known");
        NativeSettings {
            root: self.project.root().to_owned(),
            providers: vec![Provider {
                base_url: Some(model.base_url()),
                api_key: Some("test-key-never-real".to_owned()),
                ..provider
            }],
            tuning: Tuning::default(),
            room_config: self.room_config(&[], Vec::new()),
            file_rules: Arc::new(move |phase| path_rules_for(phase, &policy)),
            outputs: self.project.state_dir().join("outputs"),
            tools: ToolOptions::default(),
            mcp_servers: BTreeMap::new(),
        }
    }

    /// The agent and its model's name; none where it is not installed.
    fn open(&self, who: Who, model: &Server) -> Option<(Box<dyn Backend>, &'static str)> {
        let deliverables = Arc::clone(&self.deliverables);
        let bearer = || Key::bearer("test-key-never-real").expect("a key");
        let header = |name| Key::header(name, "test-key-never-real").expect("a key");
        Some(match who {
            Who::Native => {
                let backend = NativeBackend::new(self.native(model), deliverables).expect("an agent");
                (Box::new(backend), "claude-sonnet-4-5")
            }
            Who::Claude => {
                let settings = self.vendor(&claude::claude()?, ".claude", header("x-api-key"), model);
                (Box::new(ClaudeBackend::new(settings, deliverables)), "claude-sonnet-4-5")
            }
            Who::Codex => {
                let settings = self.vendor(&codex::program()?, ".codex", bearer(), model);
                (Box::new(CodexBackend::new(settings, deliverables)), "gpt-5.5")
            }
            Who::CodexExec => {
                let codex = codex::program()?;
                let mut settings = self.vendor(&codex, ".codex", bearer(), model);
                let script = codex_exec::without_app_server(&self.place, &codex);
                settings.command = vec![script.display().to_string()];
                (Box::new(CodexBackend::new(settings, deliverables)), "gpt-5.5")
            }
            Who::Gemini => {
                let settings = self.vendor(&gemini::gemini()?, ".gemini", header("x-goog-api-key"), model);
                (Box::new(GeminiBackend::new(settings, deliverables)), "gemini-2.5-pro")
            }
        })
    }
}

/// Asks an agent for an answer of a form, on this script; none where it is not installed.
async fn asked(who: Who, schema: Value, script: &str) -> Option<(Answered, Server)> {
    let bench = Bench::new().await;
    let model = model(&always(script));
    let (backend, name) = bench.open(who, &model)?;
    // Nothing is allowed: to answer needs no permission.
    let spec = SessionSpec {
        phase: Phase::Step,
        model: name.to_owned(),
        thinking: None,
        history: None,
        answer: Some(schema),
        gates: Vec::new(),
        stop: CancellationToken::new(),
    };
    let mut agent = backend.open(spec).await.expect("opened");
    let instruction = Instruction::briefed(Phase::Step, "Judge whether A is done.".to_owned(), None);
    let events: Vec<AgentEvent> = agent.query(instruction).collect().await;
    agent.dispose().await;
    let answer = events.iter().rev().find_map(|event| match event {
        AgentEvent::Answer { value } => Some(value.clone()),
        _ => None,
    });
    let Some(AgentEvent::End { outcome }) = events.last() else { panic!("{who:?}: no end in {events:?}") };
    let error = outcome.fault().map(|fault| fault.message.clone());
    let result = Answered { success: *outcome == SessionEnd::Completed, answer, error };
    Some((result, model))
}

#[track_caller]
fn assert_answered(who: Who, result: &Answered, model: &Server) {
    assert_eq!(result.error, None, "{who:?}");
    assert_eq!(result.answer, Some(json!({ "passed": true, "reason": "it runs" })), "{who:?}");
    assert_followed(model);
}

/// It answers, is told that this does not fit, and answers in the form.
async fn is_asked_once_more(who: Who) {
    let script = format!(
        "[[conversation.turn]]\ntext = 'I think that it passed.'\n\
         [[conversation.turn]]\nexpect = 'does not have the form that was asked for'\ntext = '''\n```json\n{FITS}\n```'''\n"
    );
    let Some((result, model)) = asked(who, open(), &script).await else { return };
    assert_answered(who, &result, &model);
    assert_eq!(model.requests().len(), 2, "{who:?}");
    let first = model.requests()[0].request.to_string();
    assert!(first.contains("which fits this JSON Schema"), "{who:?} is told the form in words: {first}");
}

#[tokio::test]
async fn the_native_agent_is_asked_once_more() {
    is_asked_once_more(Who::Native).await;
}

#[tokio::test]
async fn codex_is_asked_once_more() {
    is_asked_once_more(Who::Codex).await;
}

#[tokio::test]
async fn codex_without_its_app_server_is_asked_once_more() {
    is_asked_once_more(Who::CodexExec).await;
}

#[tokio::test]
async fn gemini_is_asked_once_more() {
    is_asked_once_more(Who::Gemini).await;
}

#[tokio::test]
async fn the_service_behind_codex_holds_the_model_to_a_strict_form() {
    for who in [Who::Codex, Who::CodexExec] {
        let script = format!("[[conversation.turn]]\ntext = '{FITS}'\n");
        let Some((result, model)) = asked(who, strict(), &script).await else { return };
        assert_answered(who, &result, &model);
        let request = model.requests()[0].request.clone();
        assert_eq!(request["text"]["format"]["schema"], strict(), "{who:?}: {request}");
        assert!(!request.to_string().contains("which fits this JSON Schema"), "{who:?}");
    }
}

#[tokio::test]
async fn claude_answers_with_its_own_tool() {
    let script = "[[conversation.turn]]\n\
         call = [{ tool = 'StructuredOutput', input = { passed = true, reason = 'it runs' } }]\n";
    let Some((result, model)) = asked(Who::Claude, strict(), script).await else { return };
    assert_answered(Who::Claude, &result, &model);
}

#[tokio::test]
async fn who_never_answers_in_the_form_has_failed() {
    for who in [Who::Native, Who::Claude, Who::Codex] {
        let script = "[[conversation.turn]]\ntext = 'It passed.'\n".repeat(30);
        let Some((result, _)) = asked(who, strict(), &script).await else { continue };
        assert_eq!((result.success, result.answer), (false, None), "{who:?}");
        let error = result.error.unwrap_or_default();
        assert!(error.contains("does not have the form that was asked for"), "{who:?}: {error}");
    }
}
