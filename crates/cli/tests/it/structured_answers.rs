//! Answers that match a JSON Schema, from the real agents on a scripted model. No command requests such an answer on its own,
//! so the agents are opened here, in a bubblewrap room.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_agents::{
    ClaudeBackend, CodexBackend, GeminiBackend, ModelService, NativeBackend, NativeSettings, VendorLogin,
    VendorSettings,
};
use autonoe_core::agent::{Backend, Instruction, SessionSpec};
use autonoe_core::event::AgentEvent;
use autonoe_core::instruction::Phase;
use autonoe_core::mode::Mode;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::{CallServer, DeliverableService};
use autonoe_mcp::ConfiguredServers;
use autonoe_model::{PriceList, Provider, Tuning};
use autonoe_policy::{PolicyOptions, path_rules_for};
use autonoe_sandbox::{Bounds, EgressRules, Key, RoomConfig, Route, Sandbox, SandboxLayer};
use autonoe_scripted::ScriptedServer;
use autonoe_store::journal::JournalOptions;
use autonoe_store::{Project, SqliteJournal, StatusStore};
use autonoe_test_kit::{PATH, RealTimeClock};
use autonoe_tools::ToolOptions;
use futures::StreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::codex_exec;
use super::support::{CliTestProject, always, assert_script_followed, model};
use super::vendors::TestVendor;
use super::{claude, codex, gemini};

#[derive(Clone, Copy, Debug, PartialEq)]
enum AgentKind {
    Native,
    Claude,
    Codex,
    CodexExec,
    Gemini,
}

struct AnswerResult {
    success: bool,
    answer: Option<Value>,
    error: Option<String>,
}

/// A schema that meets the requirements of OpenAI's strict mode.
fn strict() -> Value {
    json!({
        "type": "object", "required": ["passed", "reason"], "additionalProperties": false,
        "properties": { "passed": { "type": "boolean" }, "reason": { "type": "string" } },
    })
}

/// A schema that does not.
fn open() -> Value {
    json!({ "type": "object", "required": ["passed"], "properties": { "passed": { "type": "boolean" } } })
}

const FITS: &str = r#"{"passed":true,"reason":"it runs"}"#;

struct AgentFixture {
    test_project: CliTestProject,
    project: Project,
    deliverables: Arc<DeliverableService>,
    calls: PathBuf,
    _server: CallServer,
}

impl AgentFixture {
    async fn new() -> Self {
        let test_project = CliTestProject::with_status(&[("A", "pending")]);
        let project =
            Project::open(&test_project.root(), &test_project.home().join("state")).expect("a path");
        project.check_writable().expect("writable");
        let options = JournalOptions::default();
        let file = project.journal_file();
        let (journal, _) =
            SqliteJournal::begin(&file, "run", "", Timestamp::now(), options).await.expect("a journal");
        let status = StatusStore::open(&project, Arc::clone(&journal), Arc::new(RealTimeClock)).await;
        let status = Arc::new(status.expect("a status"));
        let phase = Phase::Coding;
        let deliverables = Arc::new(DeliverableService::new(status, journal, phase, Box::new(|_| {})));
        let calls = test_project.home().join("calls.sock");
        let server = CallServer::start(&calls, Arc::clone(&deliverables)).expect("a socket");
        Self { test_project, project, deliverables, calls, _server: server }
    }

    fn room_config(&self, read: &[PathBuf], routes: Vec<Route>) -> RoomConfig {
        let autonoe = Path::new(env!("CARGO_BIN_EXE_autonoe"));
        let sandbox =
            Sandbox::with_layer(autonoe, SandboxLayer::Bubblewrap, OsStr::new(PATH)).expect("bubblewrap");
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
            sessions: Default::default(),
        }
    }

    fn vendor(&self, vendor: &TestVendor, home: &str, key: Key, model: &ScriptedServer) -> VendorSettings {
        let route = Route::new("service", &model.base_url(), Some(key)).expect("a route");
        let room_config =
            self.room_config(&[vendor.packages(), self.test_project.home().join("bin")], vec![route]);
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
            login: VendorLogin::default(),
            service: Some(service),
            env: Vec::new(),
            calls: self.calls.clone(),
            servers: ConfiguredServers::default(),
            prices: Arc::new(PriceList::shipped().clone()),
        }
    }

    fn native(&self, model: &ScriptedServer) -> NativeSettings {
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
            mcp_servers: ConfiguredServers::default(),
        }
    }

    /// The backend and its model's name; `None` if the agent is not installed.
    fn open(&self, kind: AgentKind, model: &ScriptedServer) -> Option<(Box<dyn Backend>, &'static str)> {
        let deliverables = Arc::clone(&self.deliverables);
        let bearer = || Key::bearer("test-key-never-real").expect("a key");
        let header = |name| Key::header(name, "test-key-never-real").expect("a key");
        Some(match kind {
            AgentKind::Native => {
                let backend = NativeBackend::new(self.native(model), deliverables).expect("an agent");
                (Box::new(backend), "claude-sonnet-4-5")
            }
            AgentKind::Claude => {
                let settings = self.vendor(&claude::claude()?, ".claude", header("x-api-key"), model);
                (Box::new(ClaudeBackend::new(settings, deliverables)), "claude-sonnet-4-5")
            }
            AgentKind::Codex => {
                let settings = self.vendor(&codex::program()?, ".codex", bearer(), model);
                (Box::new(CodexBackend::new(settings, deliverables)), "gpt-5.5")
            }
            AgentKind::CodexExec => {
                let codex = codex::program()?;
                let mut settings = self.vendor(&codex, ".codex", bearer(), model);
                let script = codex_exec::without_app_server(&self.test_project, &codex);
                settings.command = vec![script.display().to_string()];
                (Box::new(CodexBackend::new(settings, deliverables)), "gpt-5.5")
            }
            AgentKind::Gemini => {
                let settings = self.vendor(&gemini::gemini()?, ".gemini", header("x-goog-api-key"), model);
                (Box::new(GeminiBackend::new(settings, deliverables)), "gemini-2.5-pro")
            }
        })
    }
}

/// Asks an agent for an answer that matches the schema; `None` if the agent is not installed.
async fn ask(kind: AgentKind, schema: Value, script: &str) -> Option<(AnswerResult, ScriptedServer)> {
    let fixture = AgentFixture::new().await;
    let model = model(&always(script));
    let (backend, name) = fixture.open(kind, &model)?;
    // No tools are allowed: answering needs no permission.
    let spec = SessionSpec {
        phase: Phase::Step,
        model: name.to_owned(),
        thinking: None,
        history: None,
        answer_schema: Some(schema),
        directory: Default::default(),
        gates: Vec::new(),
        stop: CancellationToken::new(),
        steering: Default::default(),
    };
    let mut agent = backend.open(spec).await.expect("opened");
    let instruction = Instruction::briefed(Phase::Step, "Judge whether A is done.".to_owned(), None);
    let events: Vec<AgentEvent> = agent.query(instruction).collect().await;
    agent.dispose().await;
    let answer = events.iter().rev().find_map(|event| match event {
        AgentEvent::Answer { value } => Some(value.clone()),
        _ => None,
    });
    let Some(AgentEvent::End { outcome }) = events.last() else { panic!("{kind:?}: no end in {events:?}") };
    let error = outcome.fault().map(|fault| fault.message.clone());
    let result = AnswerResult { success: *outcome == SessionEnd::Completed, answer, error };
    Some((result, model))
}

#[track_caller]
fn assert_answered(kind: AgentKind, result: &AnswerResult, model: &ScriptedServer) {
    assert_eq!(result.error, None, "{kind:?}");
    assert_eq!(result.answer, Some(json!({ "passed": true, "reason": "it runs" })), "{kind:?}");
    assert_script_followed(model);
}

/// The first answer does not match the schema, the second does.
async fn corrects_an_answer(kind: AgentKind) {
    let script = format!(
        "[[conversation.turn]]\ntext = 'I think that it passed.'\n\
         [[conversation.turn]]\nexpect = 'does not match the requested schema'\ntext = '''\n```json\n{FITS}\n```'''\n"
    );
    let Some((result, model)) = ask(kind, open(), &script).await else { return };
    assert_answered(kind, &result, &model);
    assert_eq!(model.requests().len(), 2, "{kind:?}");
    let first = model.requests()[0].request.to_string();
    assert!(
        first.contains("which matches this JSON Schema"),
        "{kind:?} gets the schema in the prompt: {first}"
    );
}

#[tokio::test]
async fn the_native_agent_corrects_an_answer() {
    corrects_an_answer(AgentKind::Native).await;
}

#[tokio::test]
async fn codex_corrects_an_answer() {
    corrects_an_answer(AgentKind::Codex).await;
}

#[tokio::test]
async fn codex_without_its_app_server_corrects_an_answer() {
    corrects_an_answer(AgentKind::CodexExec).await;
}

#[tokio::test]
async fn gemini_corrects_an_answer() {
    corrects_an_answer(AgentKind::Gemini).await;
}

#[tokio::test]
async fn codex_passes_a_strict_schema_to_the_service() {
    for kind in [AgentKind::Codex, AgentKind::CodexExec] {
        let script = format!("[[conversation.turn]]\ntext = '{FITS}'\n");
        let Some((result, model)) = ask(kind, strict(), &script).await else { return };
        assert_answered(kind, &result, &model);
        let request = model.requests()[0].request.clone();
        assert_eq!(request["text"]["format"]["schema"], strict(), "{kind:?}: {request}");
        assert!(!request.to_string().contains("which matches this JSON Schema"), "{kind:?}");
    }
}

#[tokio::test]
async fn claude_answers_with_its_own_tool() {
    let script = "[[conversation.turn]]\n\
         call = [{ tool = 'StructuredOutput', input = { passed = true, reason = 'it runs' } }]\n";
    let Some((result, model)) = ask(AgentKind::Claude, strict(), script).await else { return };
    assert_answered(AgentKind::Claude, &result, &model);
}

#[tokio::test]
async fn an_answer_that_never_matches_fails_the_session() {
    for kind in [AgentKind::Native, AgentKind::Claude, AgentKind::Codex] {
        let script = "[[conversation.turn]]\ntext = 'It passed.'\n".repeat(30);
        let Some((result, _)) = ask(kind, strict(), &script).await else { continue };
        assert_eq!((result.success, result.answer), (false, None), "{kind:?}");
        let error = result.error.unwrap_or_default();
        assert!(error.contains("does not match the requested schema"), "{kind:?}: {error}");
    }
}
