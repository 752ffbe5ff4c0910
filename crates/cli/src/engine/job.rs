//! What a run is to do, and the plan that follows from it.

use std::sync::Arc;

use autonoe_core::check::Check;
use autonoe_core::clock::Clock;
use autonoe_core::event::RunEvent;
use autonoe_core::examiner::Examiner;
use autonoe_core::fault::Fault;
use autonoe_core::files::Guarded;
use autonoe_core::gate::Gate;
use autonoe_core::instruction::Phase;
use autonoe_core::mode::Mode;
use autonoe_core::plan::Plan;
use autonoe_core::plans::{DeliverablePlan, SyncPlan, run_ended};
use autonoe_core::sink::Sinks;
use autonoe_core::span::SpanContext;
use autonoe_sandbox::RoomConfig;
use autonoe_store::journal::Earlier;
use autonoe_store::{Journal, Project, ProjectInstructions, StatusStore, sha256_hex};
use autonoe_verify::{Builders, CheckoutFactory, ProjectExaminer, last_commit, written_checks};
use autonoe_workflow::{AgentResult, Created, HostEffects, StartOptions, Started};

use crate::backend_name::Substitute;
use crate::resolve_backends::ResolvedBackend;

/// What a run is to do.
pub enum Job<'a> {
    /// Build what SPEC.md asks for.
    Run {
        /// Whether nothing counts but what is verified.
        is_strict: bool,
        /// Who has an independent look in the end.
        verifier: Option<&'a Substitute>,
    },
    /// Bring the deliverables in line with SPEC.md.
    Sync,
    /// Run a declarative agent.
    Agent(Box<AgentJob>),
}

/// A declarative agent to run.
pub struct AgentJob {
    /// Its name.
    pub name: String,
    /// It, ready to be started.
    pub agent: Created,
    /// Whether it resumes an earlier run.
    pub resumes: bool,
    /// Gives it the means to ask something of the machine, once there is a sandbox.
    pub outside: HostEffectsFactory,
}

/// Makes what an agent reaches the machine through, from where its children run and what they are judged by.
pub type HostEffectsFactory = Box<dyn FnOnce(&RoomConfig, Vec<Arc<dyn Gate>>) -> Arc<dyn HostEffects>>;

/// How a run is called.
pub struct Title {
    /// The command, as it is on record.
    pub command: String,
    /// What is said when it begins.
    pub announcement: String,
    /// Whether a model of its own reads the specification.
    pub plans: bool,
}

impl Job<'_> {
    /// Which of our two modes its configuration and its policy are those of.
    pub fn mode(&self) -> Mode {
        match self {
            Self::Run { .. } | Self::Agent(_) => Mode::Run,
            Self::Sync => Mode::Sync,
        }
    }

    /// How it is called.
    pub fn title(&self) -> Title {
        let (command, announcement, plans) = match self {
            Self::Run { .. } => ("run".to_owned(), "Starting coding agent session...".to_owned(), true),
            Self::Sync => ("sync".to_owned(), "Starting sync mode...".to_owned(), true),
            Self::Agent(job) => {
                let begins = if job.resumes { "Resuming" } else { "Starting" };
                (agent_command(&job.name), format!("{begins} the agent {}...", job.name), false)
            }
        };
        Title { command, announcement, plans }
    }

    /// Reads what it works on. What is wrong with that is found here.
    pub fn prepare(self, project: &Project, start_over: bool) -> Result<Work, Fault> {
        let (mode, is_strict) = match self {
            Self::Agent(job) => return Ok(Work::Agent(job)),
            Self::Run { is_strict, .. } => (Mode::Run, is_strict),
            Self::Sync => (Mode::Sync, false),
        };
        let spec = project.read_spec()?;
        let written = written_checks(project, &spec)?;
        let instructions = ProjectInstructions::new(project);
        instructions.check_all()?;
        let status = match start_over {
            true => None,
            // One that was deleted is restored once we hold the project.
            false => StatusStore::read(project)?
                .map_or_else(|| StatusStore::deleted(project), |status| Ok(Some(status)))?,
        };
        let is_over = mode == Mode::Run && status.is_some_and(|status| run_ended(status.tally()).is_some());
        Ok(Work::Deliverables(Deliverables { mode, spec, written, instructions, is_strict, is_over }))
    }
}

/// How a run of a declarative agent is called on record.
pub fn agent_command(name: &str) -> String {
    format!("agent run {name}")
}

/// What a run works on.
pub enum Work {
    /// What SPEC.md asks for.
    Deliverables(Deliverables),
    /// The steps of an agent.
    Agent(Box<AgentJob>),
}

/// What SPEC.md asks for.
pub struct Deliverables {
    mode: Mode,
    spec: String,
    written: Vec<Check>,
    instructions: ProjectInstructions,
    is_strict: bool,
    is_over: bool,
}

impl Work {
    /// Whether there is nothing left to do, so that nobody is needed to do it.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Deliverables(deliverables) => deliverables.is_over,
            Self::Agent(_) => false,
        }
    }

    /// Whether it is about deliverables.
    pub fn has_deliverables(&self) -> bool {
        matches!(self, Self::Deliverables(_))
    }

    /// The hash of the specification.
    pub fn spec_hash(&self) -> String {
        match self {
            Self::Deliverables(deliverables) => sha256_hex(deliverables.spec.as_bytes()),
            Self::Agent(_) => String::new(),
        }
    }

    /// The phase that its first session is in.
    pub fn first_phase(&self) -> Phase {
        match self {
            Self::Deliverables(deliverables) => deliverables.mode.first_instruction(),
            Self::Agent(_) => Phase::Inspection,
        }
    }

    /// Whether it resumes an earlier run.
    pub fn earlier(&self) -> Earlier {
        match self {
            Self::Deliverables(_) => Earlier::IfKilled,
            Self::Agent(job) if job.resumes => Earlier::Always,
            Self::Agent(_) => Earlier::Never,
        }
    }
}

/// What plans are made with.
pub struct Surroundings<'a> {
    /// The project.
    pub project: &'a Project,
    /// Its journal.
    pub journal: Arc<Journal>,
    /// Its status.
    pub status: Arc<StatusStore>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Where checks are run.
    pub site: CheckoutFactory,
    /// The files that no builder may touch.
    pub guarded: Guarded,
    /// What stands before the tools of a step.
    pub gates: Vec<Arc<dyn Gate>>,
    /// Who has built what.
    pub builders: Arc<Builders>,
    /// Who is shown what happens.
    pub sinks: Sinks,
    /// The run's own span.
    pub span: SpanContext,
}

/// A plan, and who decides about claims.
pub enum Planned {
    /// Over deliverables.
    Deliverables {
        /// The plan.
        plan: Box<dyn Plan>,
        /// Decides about claims.
        examiner: Arc<dyn Examiner>,
    },
    /// Over the steps of an agent.
    Agent(Box<Started>),
}

impl Planned {
    /// The plan, for the loop.
    pub fn plan(&mut self) -> &mut dyn Plan {
        match self {
            Self::Deliverables { plan, .. } => plan.as_mut(),
            Self::Agent(started) => started.plan(),
        }
    }

    /// Stops an agent and tells how it went.
    pub fn stop(self) -> Option<AgentResult> {
        match self {
            Self::Deliverables { .. } => None,
            Self::Agent(started) => Some(started.stop()),
        }
    }

    /// Who decides about claims.
    pub fn examiner(&self) -> Option<Arc<dyn Examiner>> {
        match self {
            Self::Deliverables { examiner, .. } => Some(Arc::clone(examiner)),
            Self::Agent(_) => None,
        }
    }
}

impl Surroundings<'_> {
    /// The plan for some work.
    pub async fn plan(
        self,
        work: Work,
        verifier: Option<&ResolvedBackend>,
        room_config: &RoomConfig,
    ) -> Result<Planned, Fault> {
        let tell = {
            let (sinks, span) = (self.sinks.clone(), self.span.clone());
            Box::new(move |event: &RunEvent| sinks.emit(&span, event))
        };
        let base = self.journal.began_on(last_commit(self.project.root()).as_deref()).await?;
        match work {
            Work::Agent(job) => {
                let options = StartOptions {
                    memory: Arc::clone(&self.journal) as _,
                    outside: (job.outside)(room_config, self.gates),
                    tell,
                    resumes: job.resumes,
                };
                Ok(Planned::Agent(Box::new(job.agent.start(options).await?)))
            }
            Work::Deliverables(work) => {
                let examiner: Arc<dyn Examiner> = Arc::new(ProjectExaminer {
                    project: self.project.clone(),
                    site: self.site,
                    written: work.written,
                    status: Arc::clone(&self.status),
                    journal: Arc::clone(&self.journal),
                    clock: self.clock,
                    tell,
                    guarded: self.guarded,
                    builders: self.builders,
                    is_strict: work.is_strict,
                    complaints: Default::default(),
                    base: std::sync::Mutex::new(base),
                    working: Default::default(),
                });
                let instructions = Arc::new(work.instructions);
                let plan: Box<dyn Plan> = match work.mode {
                    Mode::Run => {
                        let plan = DeliverablePlan::new(self.status, instructions)
                            .examined_by(Arc::clone(&examiner), work.is_strict);
                        Box::new(if verifier.is_some() { plan.with_review() } else { plan })
                    }
                    Mode::Sync => Box::new(SyncPlan::new(self.status, self.journal as _, instructions)),
                };
                Ok(Planned::Deliverables { plan, examiner })
            }
        }
    }
}
