//! The job of a run (`run`, `sync`, a declarative agent or a roadmap) and the plan that carries it out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use autonoe_core::check::Check;
use autonoe_core::clock::Clock;
use autonoe_core::event::RunEvent;
use autonoe_core::examiner::Examiner;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::files::ProtectedFiles;
use autonoe_core::gate::Gate;
use autonoe_core::instruction::Phase;
use autonoe_core::mode::Mode;
use autonoe_core::outcome::RunOutcome;
use autonoe_core::own_edits::OwnEdits;
use autonoe_core::plan::Plan;
use autonoe_core::plans::{DeliverablePlan, SyncPlan, Workers, run_ended};
use autonoe_core::sink::Sinks;
use autonoe_core::span::SpanContext;
use autonoe_harness::failed_checks::FailedChecks;
use autonoe_harness::harness_record::HarnessRecord;
use autonoe_harness::task_plan::{TaskPlan, TaskPlanSetup};
use autonoe_sandbox::RoomConfig;
use autonoe_store::journal::ResumePolicy;
use autonoe_store::{Project, ProjectInstructions, SqliteJournal, StatusStore, sha256_hex};
use autonoe_verify::{
    CheckoutFactory, CurrentBuilder, EventListener, ProjectExaminer, last_commit, why_other_project,
    without_checks, written_checks,
};
use autonoe_workflow::{AgentResult, CreatedAgent, HostEffects, StartOptions, StartedAgent};

use super::roadmap_job::{PreparedRoadmap, RoadmapJob};
use super::task_store::RoadmapTasks;
use crate::backend_name::BackendWithModel;
use crate::spec_template::refuse_template;

pub enum RunJob<'a> {
    /// `autonoe run`.
    Run {
        /// Only verified deliverables count as done.
        is_strict: bool,
        /// Continue with the old plan although SPEC.md has changed.
        no_sync: bool,
        /// Reviews what no check covers, at the end.
        verifier: Option<&'a BackendWithModel>,
    },
    /// `autonoe plan`.
    Plan,
    /// `autonoe sync`.
    Sync,
    /// `autonoe agent run`.
    Agent(Box<AgentJob>),
    /// `autonoe harness run`.
    Roadmap {
        job: Box<RoadmapJob>,
        /// Reviews tasks without checks.
        verifier: Option<&'a BackendWithModel>,
    },
}

pub struct AgentJob {
    pub name: String,
    pub agent: CreatedAgent,
    /// Whether an earlier run is resumed.
    pub resumes: bool,
    pub host_effects: HostEffectsFactory,
}

/// Deferred because the room, the project as agents see it, and the gates are known only once the sandbox has been found.
pub type HostEffectsFactory = Box<dyn FnOnce(&RoomConfig, &Path, Vec<Arc<dyn Gate>>) -> Arc<dyn HostEffects>>;

pub struct RunTitle {
    /// The command as recorded in the journal.
    pub command: String,
    /// First line of the banner.
    pub announcement: String,
    /// Whether a planning model is used.
    pub plans: bool,
}

impl RunJob<'_> {
    /// The mode whose configuration and policy apply.
    pub fn mode(&self) -> Mode {
        match self {
            Self::Run { .. } | Self::Plan | Self::Agent(_) | Self::Roadmap { .. } => Mode::Run,
            Self::Sync => Mode::Sync,
        }
    }

    pub fn title(&self) -> RunTitle {
        let (command, announcement, plans) = match self {
            Self::Run { .. } => ("run".to_owned(), "Starting coding agent session...".to_owned(), true),
            Self::Plan => ("plan".to_owned(), "Planning...".to_owned(), true),
            Self::Sync => ("sync".to_owned(), "Starting sync mode...".to_owned(), true),
            Self::Agent(job) => {
                let verb = if job.resumes { "Resuming" } else { "Starting" };
                (agent_command(&job.name), format!("{verb} agent {}...", job.name), false)
            }
            Self::Roadmap { job, .. } => {
                let announcement = format!("Running the roadmap {}...", job.file.name().display());
                (job.command(), announcement, false)
            }
        };
        RunTitle { command, announcement, plans }
    }

    /// Reads and validates SPEC.md, checks, instructions and status.
    pub fn prepare(self, project: &Project, start_over: bool) -> Result<PreparedJob, Fault> {
        let only_plans = matches!(self, Self::Plan);
        let syncs = matches!(self, Self::Run { no_sync: false, .. });
        let (mode, is_strict) = match self {
            Self::Agent(job) => return Ok(PreparedJob::Agent(job)),
            Self::Roadmap { job, .. } => {
                return Ok(PreparedJob::Roadmap(Box::new(job.prepare(project)?)));
            }
            Self::Run { is_strict, .. } => (Mode::Run, is_strict),
            Self::Plan => (Mode::Run, false),
            Self::Sync => (Mode::Sync, false),
        };
        let spec = project.read_spec()?;
        refuse_template(&spec)?;
        let written = written_checks(project, &spec)?;
        let instructions = ProjectInstructions::new(project);
        instructions.check_all()?;
        let other_project = if start_over { None } else { why_other_project(project)? };
        let status = match start_over || other_project.is_some() {
            true => None,
            // A deleted file is restored later, once we hold the project lock.
            false => StatusStore::read(project)?
                .map_or_else(|| StatusStore::deleted(project), |status| Ok(Some(status)))?,
        };
        let planned_spec = planned_spec(&spec)?;
        let has_changed =
            status.is_some() && project.planned_spec().is_some_and(|planned| planned != planned_spec);
        let spec_change =
            has_changed.then_some(if syncs { SpecChange::SyncedFirst } else { SpecChange::Ignored });
        let is_over = mode == Mode::Run
            && spec_change != Some(SpecChange::SyncedFirst)
            && status.as_ref().is_some_and(|status| run_ended(status.tally()).is_some());

        Ok(PreparedJob::Deliverables(DeliverableJob {
            mode,
            spec,
            written,
            instructions,
            is_strict,
            only_plans,
            planned_spec,
            spec_change: spec_change.filter(|_| mode == Mode::Run),
            is_over,
            other_project,
        }))
    }
}

/// What a run does about a specification that has changed since the deliverables were planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecChange {
    SyncedFirst,
    Ignored,
}

impl SpecChange {
    fn warning(self) -> String {
        let then = match self {
            Self::SyncedFirst => "the first session updates them (--no-sync skips that).",
            Self::Ignored => "the run continues with the old ones. `autonoe sync` updates them.",
        };
        format!("SPEC.md has changed since the deliverables were planned: {then}")
    }
}

/// Hash of what the deliverables of a specification are planned from.
fn planned_spec(spec: &str) -> Result<String, Fault> {
    let planned = without_checks(spec).map_err(|error| {
        Fault::permanent(FaultLayer::Config, "spec", format!("SPEC.md cannot be read: {error}."))
    })?;
    Ok(sha256_hex(planned.as_bytes()))
}

/// Whether the specification has changed since the deliverables were planned.
pub fn is_old_plan(project: &Project) -> Result<bool, Fault> {
    Ok(match (project.find_spec()?, project.planned_spec()) {
        (Some(spec), Some(planned)) => planned_spec(&spec).is_ok_and(|now| now != planned),
        _ => false,
    })
}

/// The command recorded in the journal for a run of a declarative agent.
pub fn agent_command(name: &str) -> String {
    format!("agent run {name}")
}

pub enum PreparedJob {
    Deliverables(DeliverableJob),
    Agent(Box<AgentJob>),
    Roadmap(Box<PreparedRoadmap>),
}

pub struct DeliverableJob {
    mode: Mode,
    spec: String,
    written: Vec<Check>,
    instructions: ProjectInstructions,
    is_strict: bool,
    only_plans: bool,
    /// Hash of what the deliverables are planned from.
    planned_spec: String,
    spec_change: Option<SpecChange>,
    is_over: bool,
    other_project: Option<String>,
}

impl PreparedJob {
    /// Whether nothing is left to do, so that no agent has to be ready.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Deliverables(deliverables) => deliverables.is_over,
            Self::Agent(_) | Self::Roadmap(_) => false,
        }
    }

    pub fn has_deliverables(&self) -> bool {
        matches!(self, Self::Deliverables(_) | Self::Roadmap(_))
    }

    /// Of `autonoe harness run`.
    pub fn roadmap(&self) -> Option<&RoadmapJob> {
        match self {
            Self::Roadmap(prepared) => Some(&prepared.job),
            Self::Deliverables(_) | Self::Agent(_) => None,
        }
    }

    /// Empty for a declarative agent and a roadmap.
    pub fn spec_hash(&self) -> String {
        match self {
            Self::Deliverables(deliverables) => sha256_hex(deliverables.spec.as_bytes()),
            Self::Agent(_) | Self::Roadmap(_) => String::new(),
        }
    }

    /// Hash of what the deliverables are planned from; `None` for a declarative agent and a roadmap.
    pub fn planned_spec(&self) -> Option<String> {
        match self {
            Self::Deliverables(deliverables) => Some(deliverables.planned_spec.clone()),
            Self::Agent(_) | Self::Roadmap(_) => None,
        }
    }

    /// A warning if the specification has changed since the deliverables were planned.
    pub fn spec_change(&self) -> Option<String> {
        match self {
            Self::Deliverables(deliverables) => deliverables.spec_change.map(SpecChange::warning),
            Self::Agent(_) | Self::Roadmap(_) => None,
        }
    }

    /// Whether a plan that there is already will be built as it is.
    pub fn has_current_plan(&self) -> bool {
        match self {
            Self::Deliverables(job) => {
                job.mode == Mode::Run && job.spec_change != Some(SpecChange::SyncedFirst)
            }
            Self::Agent(_) | Self::Roadmap(_) => false,
        }
    }

    /// Why the deliverables on record are another project's; `None` if they are not.
    pub fn other_project(&self) -> Option<&str> {
        match self {
            Self::Deliverables(deliverables) => deliverables.other_project.as_deref(),
            Self::Agent(_) | Self::Roadmap(_) => None,
        }
    }

    /// The phase of the first session.
    pub fn first_phase(&self) -> Phase {
        match self {
            Self::Deliverables(deliverables) => deliverables.mode.first_phase(),
            Self::Agent(_) => Phase::Inspection,
            Self::Roadmap(_) => Phase::Coding,
        }
    }

    pub fn earlier(&self) -> ResumePolicy {
        match self {
            Self::Deliverables(job) if job.other_project.is_some() => ResumePolicy::Never,
            Self::Roadmap(prepared) if prepared.job.is_fresh => ResumePolicy::Fresh,
            Self::Deliverables(_) | Self::Roadmap(_) => ResumePolicy::IfKilled,
            Self::Agent(job) if job.resumes => ResumePolicy::Always,
            Self::Agent(_) => ResumePolicy::Never,
        }
    }
}

/// Everything that building a plan needs.
pub struct PlanContext<'a> {
    pub project: &'a Project,
    /// The project as agents see it.
    pub work_root: &'a Path,
    pub journal: Arc<SqliteJournal>,
    pub status: Arc<StatusStore>,
    pub clock: Arc<dyn Clock>,
    pub checkouts: CheckoutFactory,
    /// Files that agents must not modify.
    pub guarded: ProtectedFiles,
    /// For each worker the project as it sees it, the files that it must not modify, and the deliverable whose unfinished work it has.
    pub workers: Vec<(PathBuf, ProtectedFiles, Option<String>)>,
    /// Whether several agents make an attempt at what one has failed at.
    pub has_best_of: bool,
    /// Gates for the actions of a declarative agent's steps.
    pub gates: Vec<Arc<dyn Gate>>,
    pub builders: Arc<CurrentBuilder>,
    pub sinks: Sinks,
    pub span: SpanContext,
    pub failed_checks: Arc<FailedChecks>,
    /// Of `autonoe harness run`.
    pub harness: Option<Arc<HarnessRecord>>,
}

pub enum JobPlan {
    Deliverables { plan: Box<dyn Plan>, examiner: Arc<dyn Examiner> },
    Agent(Box<StartedAgent>),
}

impl JobPlan {
    pub fn plan(&mut self) -> &mut dyn Plan {
        match self {
            Self::Deliverables { plan, .. } => plan.as_mut(),
            Self::Agent(started) => started.plan(),
        }
    }

    /// Stops a declarative agent whose run has ended, and returns its result; `None` for deliverables.
    pub fn stop(self, outcome: &RunOutcome) -> Option<AgentResult> {
        match self {
            Self::Deliverables { .. } => None,
            Self::Agent(started) => Some(started.stop(outcome)),
        }
    }

    pub fn examiner(&self) -> Option<Arc<dyn Examiner>> {
        match self {
            Self::Deliverables { examiner, .. } => Some(Arc::clone(examiner)),
            Self::Agent(_) => None,
        }
    }
}

impl PlanContext<'_> {
    fn listener(&self) -> EventListener {
        let (sinks, span) = (self.sinks.clone(), self.span.clone());
        Box::new(move |event: &RunEvent| sinks.emit(&span, event))
    }

    fn examiner(
        &self,
        written: Vec<Check>,
        is_strict: bool,
        base: Option<String>,
        own_edits: Option<Arc<dyn OwnEdits>>,
    ) -> Arc<dyn Examiner> {
        Arc::new(ProjectExaminer {
            project: self.project.clone(),
            checkouts: self.checkouts.clone(),
            written,
            status: Arc::clone(&self.status),
            journal: Arc::clone(&self.journal),
            clock: Arc::clone(&self.clock),
            on_event: self.listener(),
            protected: self.protected(),
            builders: Arc::clone(&self.builders),
            is_strict,
            project_failures: Default::default(),
            base: std::sync::Mutex::new(base),
            checkout_before: Default::default(),
            own_edits,
            own_text_before: Default::default(),
            working: Default::default(),
        })
    }

    fn protected(&self) -> Vec<(PathBuf, ProtectedFiles)> {
        let own = (self.work_root.to_owned(), Arc::clone(&self.guarded));
        let of_workers = self.workers.iter().map(|(root, guarded, _)| (root.clone(), Arc::clone(guarded)));
        std::iter::once(own).chain(of_workers).collect()
    }

    pub async fn plan(
        self,
        job: PreparedJob,
        is_reviewed: bool,
        room_config: &RoomConfig,
    ) -> Result<JobPlan, Fault> {
        let base = self.journal.record_start_commit(last_commit(self.work_root).as_deref()).await?;
        match job {
            PreparedJob::Agent(job) => {
                let options = StartOptions {
                    memory: Arc::clone(&self.journal) as _,
                    on_event: self.listener(),
                    host: (job.host_effects)(room_config, self.work_root, self.gates),
                    resumes: job.resumes,
                };
                Ok(JobPlan::Agent(Box::new(job.agent.start(options).await?)))
            }
            PreparedJob::Roadmap(prepared) => self.task_plan(*prepared, base).await,
            PreparedJob::Deliverables(job) => {
                let examiner = self.examiner(job.written, job.is_strict, base, None);
                let workers: Vec<_> = self.workers.into_iter().map(|(_, _, held)| held).collect();
                let instructions = Arc::new(job.instructions);
                let plan: Box<dyn Plan> = match job.mode {
                    Mode::Run => {
                        let plan = DeliverablePlan::new(self.status, instructions)
                            .examined_by(Arc::clone(&examiner), job.is_strict);
                        let plan = match job.spec_change {
                            Some(SpecChange::SyncedFirst) => plan.syncing_first(),
                            Some(SpecChange::Ignored) | None => plan,
                        };
                        let plan = if job.only_plans { plan.only_planning() } else { plan };
                        let plan = match workers.is_empty() {
                            true => plan,
                            false => {
                                let sessions = self.journal.sessions_of_deliverables().await?;
                                let workers = Workers::new(workers, sessions);
                                plan.built_by(match self.has_best_of {
                                    true => workers.giving_up_at_once(),
                                    false => workers,
                                })
                            }
                        };
                        Box::new(if is_reviewed { plan.with_review() } else { plan })
                    }
                    Mode::Sync => Box::new(SyncPlan::new(self.status, self.journal as _, instructions)),
                };
                Ok(JobPlan::Deliverables { plan, examiner })
            }
        }
    }

    async fn task_plan(self, prepared: PreparedRoadmap, base: Option<String>) -> Result<JobPlan, Fault> {
        let PreparedRoadmap { job, written, instructions } = prepared;
        let Some(harness) = &self.harness else {
            let message = "The files of the harness were not opened.";
            return Err(Fault::permanent(FaultLayer::Lifecycle, "harness_files", message));
        };
        let examiner = self.examiner(written, false, base, Some(Arc::clone(&job.file) as _));
        let store = RoadmapTasks {
            project: self.project.clone(),
            status: Arc::clone(&self.status),
            clock: Arc::clone(&self.clock),
            guarded: Arc::clone(&self.guarded),
            roadmap: self.work_root.join(job.file.name()),
            forgets_blocked: AtomicBool::new(job.is_fresh),
            on_event: self.listener(),
        };
        harness.announce_to(self.listener());
        let setup = TaskPlanSetup {
            file: Arc::clone(&job.file),
            store: Arc::new(store),
            examiner: Arc::clone(&examiner),
            instructions: Arc::new(instructions),
            memory: Arc::clone(&self.journal) as _,
            failed_checks: Arc::clone(&self.failed_checks),
            record: Arc::clone(harness),
            growth: job.growth,
            has_time_limit: job.has_time_limit,
            is_in_place: self.work_root == self.project.root(),
            on_event: self.listener(),
        };
        let plan = Box::new(TaskPlan::resume(job.roadmap, setup).await?);
        Ok(JobPlan::Deliverables { plan, examiner })
    }
}
