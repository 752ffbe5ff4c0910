//! Measures the memory of a hundred sessions in one process while all of them stream at once.
//!
//! The native agent is driven as the runner drives it, but in this process. The scripted model runs in it too and is included.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use autonoe_agents::{NativeBackend, NativeSettings};
use autonoe_core::agent::{Backend, Instruction, SessionSpec};
use autonoe_core::event::AgentEvent;
use autonoe_core::instruction::Phase;
use autonoe_core::mode::Mode;
use autonoe_core::outcome::SessionEnd;
use autonoe_deliverables::DeliverableService;
use autonoe_model::{Provider, Tuning};
use autonoe_policy::{PolicyOptions, gates_for, path_rules_for};
use autonoe_sandbox::{Bounds, EgressRules, RoomConfig, Sandbox};
use autonoe_scripted::ScriptedServer;
use autonoe_store::journal::JournalOptions;
use autonoe_store::{SqliteJournal, StatusStore};
use autonoe_tools::ToolOptions;
use futures::StreamExt;
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::clock::BenchClock;
use super::process::resident_mb;
use super::project::{BenchProject, serve};
use super::script::{call, conversations, slowly, turn};
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

const SESSIONS: usize = 100;
const TARGET_MB: f64 = 400.0;
const FILE_LINES: usize = 1_000;
const ANSWER_CHARS: usize = 6_000;
/// The pause between two pieces of an answer.
const PIECE_PAUSE: Duration = Duration::from_millis(40);
const SAMPLE_EVERY: Duration = Duration::from_millis(5);
const PHASE: Phase = Phase::Coding;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let project = BenchProject::with_deliverables(1)?;
    let file: String =
        (1..=FILE_LINES).map(|line| format!("line {line} of a file like many others\n")).collect();
    fs::write(project.root().join("file.txt"), file)?;
    let model = serve(&conversations(&[
        turn(&[call("Read", &[("file_path", "file.txt")])]),
        slowly(PIECE_PAUSE, &"word ".repeat(ANSWER_CHARS / 5)),
    ]))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let before = own_mb();
    let CrowdStats { streaming, peak } = runtime.block_on(crowd(autonoe, &project, &model))?;
    if !model.problems().is_empty() {
        return Err(format!("The sessions did not follow the script: {:?}", model.problems()).into());
    }
    if streaming < SESSIONS {
        return Err(format!("Only {streaming} of {SESSIONS} sessions streamed at the same time.").into());
    }
    Ok(vec![BenchRow {
        what: format!("resident memory of {SESSIONS} native sessions in one process, all streaming, peak"),
        target: format!("under {TARGET_MB} MB"),
        measured: format!("{peak:.1} MB, the model counted in ({before:.1} MB before they began)"),
        peer: "none".to_owned(),
        verdict: BenchVerdict::at_most(peak, TARGET_MB),
    }])
}

struct CrowdStats {
    /// The largest number of sessions that streamed at the same time.
    streaming: usize,
    /// The peak resident memory in megabytes.
    peak: f64,
}

async fn crowd(autonoe: &Path, project: &BenchProject, model: &ScriptedServer) -> Result<CrowdStats> {
    let permissions = vec!["Read(./**)".parse()?];
    let policy = PolicyOptions { permissions, ..PolicyOptions::new(Mode::Run, project.root()) };
    let backend = Arc::new(backend(autonoe, project, model, policy.clone()).await?);
    let streaming = Arc::new(AtomicUsize::new(0));
    let mut sessions = JoinSet::new();
    for _ in 0..SESSIONS {
        let spec = SessionSpec {
            phase: PHASE,
            model: "sonnet".to_owned(),
            thinking: None,
            history: None,
            answer_schema: None,
            directory: Default::default(),
            gates: gates_for(PHASE, &policy),
            stop: Default::default(),
            steering: Default::default(),
        };
        sessions.spawn(session(Arc::clone(&backend), spec, Arc::clone(&streaming)));
    }
    let mut stats = CrowdStats { streaming: 0, peak: 0.0 };
    let mut sample = tokio::time::interval(SAMPLE_EVERY);
    loop {
        tokio::select! {
            ended = sessions.join_next() => match ended {
                Some(ended) => ended?.map_err(|error| format!("A session failed: {error}"))?,
                None => return Ok(stats),
            },
            _ = sample.tick() => {
                stats.streaming = stats.streaming.max(streaming.load(Ordering::Relaxed));
                stats.peak = stats.peak.max(own_mb());
            }
        }
    }
}

async fn session(
    backend: Arc<NativeBackend>,
    spec: SessionSpec,
    streaming: Arc<AtomicUsize>,
) -> std::result::Result<(), Box<dyn Error + Send + Sync>> {
    let mut agent = backend.open(spec).await?;
    let instruction = Instruction::briefed(PHASE, "Read file.txt and summarize it.".to_owned(), None);
    let (mut has_read, mut streams, mut end) = (false, false, None);
    let mut events = agent.query(instruction);
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::ToolResult { is_error, content, .. } => {
                has_read = !is_error;
                if is_error {
                    return Err(content.into());
                }
            }
            AgentEvent::Chunk { .. } if has_read && !streams => {
                streams = true;
                streaming.fetch_add(1, Ordering::Relaxed);
            }
            AgentEvent::End { outcome } => end = Some(outcome),
            _ => {}
        }
    }
    drop(events);
    streaming.fetch_sub(usize::from(streams), Ordering::Relaxed);
    agent.dispose().await;
    match end {
        Some(SessionEnd::Completed) => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

async fn backend(
    autonoe: &Path,
    project: &BenchProject,
    model: &ScriptedServer,
    policy: PolicyOptions,
) -> Result<NativeBackend> {
    let store_project = project.store_project()?;
    let file = store_project.journal_file();
    let (journal, _) =
        SqliteJournal::begin(&file, "run", "spec", Timestamp::now(), JournalOptions::default()).await?;
    let status = StatusStore::open(&store_project, Arc::clone(&journal), Arc::new(BenchClock)).await?;
    let deliverables = DeliverableService::new(Arc::new(status), journal, PHASE, Box::new(|_| {}));
    let provider = Provider::built_in("anthropic").ok_or("The provider `anthropic` does not exist.")?;
    let temporary = project.home().join("tmp");
    let settings = NativeSettings {
        root: store_project.root().to_owned(),
        providers: vec![Provider {
            base_url: Some(model.base_url()),
            api_key: Some("test-key".to_owned()),
            ..provider
        }],
        tuning: Tuning::default(),
        // These sessions start no processes, so no sandbox is needed.
        room_config: RoomConfig {
            sandbox: Sandbox::none(autonoe),
            bounds: Bounds::new(store_project.root(), project.home(), temporary),
            egress: Arc::new(EgressRules::default()),
            env: Vec::new(),
            guarded: Arc::default(),
            sessions: Default::default(),
        },
        file_rules: Arc::new(move |phase| path_rules_for(phase, &policy)),
        outputs: store_project.state_dir().join("outputs"),
        tools: ToolOptions::default(),
        mcp_servers: Default::default(),
    };
    Ok(NativeBackend::new(settings, Arc::new(deliverables))?)
}

fn own_mb() -> f64 {
    resident_mb(std::process::id()).unwrap_or_default()
}
