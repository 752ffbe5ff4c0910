//! `autonoe logs` and `autonoe attach`: show the events of a run again, or while they happen.

use std::sync::Arc;
use std::time::Duration;

use autonoe_core::event::{AnnouncementSubject, Event, RunEvent};
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::{RunReport, exit};
use autonoe_core::redact::SecretValues;
use autonoe_core::span::{SpanContext, TraceId};
use autonoe_store::{LockStatus, Project, ProjectLock};
use clap::Args;

use crate::environment::Environment;
use crate::present::{
    self, Console, EventLogReader, LineTimes, LoggedEvent, OutputFormat, Presenter, Verbosity, logged_runs,
};
use crate::project_args::ProjectArgs;
use crate::stop::StopSignal;
use crate::system::runtime;

/// How often a log is looked at.
const INTERVAL: Duration = Duration::from_millis(200);

/// Show the events of the last run
#[derive(Debug, Args)]
pub struct LogsArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Number of the run [default: the last run]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(1..))]
    run: Option<i64>,

    /// Continue to show events until the run ends
    #[arg(long, short)]
    follow: bool,

    /// Show the agent's messages and tool calls
    #[arg(long, short)]
    verbose: bool,
}

/// Watch the run in progress; Ctrl+C leaves it running
///
/// Ends with the run, and with its exit code.
#[derive(Debug, Args)]
pub struct AttachArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Show the agent's messages and tool calls
    #[arg(long, short)]
    verbose: bool,
}

pub fn cmd_logs(args: &LogsArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let mut viewer = Viewer::open(&project, environment, args.run, args.verbose)?;
    while let Some(event) = viewer.log.next() {
        viewer.show(&event);
    }
    if args.follow && viewer.outcome.is_none() {
        viewer.follow(&project)?;
    }
    viewer.console.stop();
    Ok(exit::DONE)
}

pub fn cmd_attach(args: &AttachArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    if !is_running(&project) {
        let message = format!("No run is in progress in {}.", project.root().display());
        return Err(Fault::permanent(FaultLayer::Config, "no_run", message)
            .hint("`autonoe run` starts one; `autonoe logs` shows the last one."));
    }
    let mut viewer = Viewer::open(&project, environment, None, args.verbose)?;
    viewer.show_current();
    viewer.console.start();
    if viewer.outcome.is_none() {
        viewer.follow(&project)?;
    }
    viewer.console.stop();
    Ok(viewer.outcome.map_or(exit::DONE, |report| report.exit_code))
}

struct Viewer {
    log: EventLogReader,
    console: Arc<Console>,
    presenter: Presenter,
    span: SpanContext,
    /// Set when the run has ended.
    outcome: Option<RunReport>,
}

impl Viewer {
    fn open(
        project: &Project,
        environment: &Environment,
        run: Option<i64>,
        is_verbose: bool,
    ) -> Result<Self, Fault> {
        let directory = project.event_logs();
        let run = run.or_else(|| logged_runs(&directory).last().copied());
        let log = run.and_then(|run| EventLogReader::open(&directory, run)).ok_or_else(|| {
            Fault::permanent(FaultLayer::Config, "no_log", "There is no log of such a run.")
                .hint("The logs of the last runs are kept; `autonoe sessions list` shows older sessions.")
        })?;
        let secrets = SecretValues::from(environment.secrets());
        let console = Arc::new(Console::new(OutputFormat::Text, &secrets, |_| {})?);
        let verbosity = if is_verbose { Verbosity::Verbose } else { Verbosity::Normal };
        let presenter =
            Presenter::new(Arc::clone(&console), verbosity, StopSignal::default(), LineTimes::Always);
        let span = SpanContext::run(run.unwrap_or_default(), TraceId(1));
        Ok(Self { log, console, presenter, span, outcome: None })
    }

    /// Shows how the run began, its plan, and the current session. The sessions before it are counted.
    fn show_current(&mut self) {
        let (mut plan, mut session) = (None, Vec::<LoggedEvent>::new());
        while let Some(event) = self.log.next() {
            match &event.event {
                Event::Run(RunEvent::Announcement { about: AnnouncementSubject::Plan, .. }) => {
                    plan = Some(event);
                }
                Event::Run(RunEvent::SessionStarted { .. }) => {
                    session.drain(..).for_each(|passed| self.presenter.pass_over(passed.at, &passed.event));
                    session.push(event);
                }
                Event::Run(_) | Event::Agent(_) if session.is_empty() => self.show(&event),
                Event::Run(_) | Event::Agent(_) => session.push(event),
            }
        }
        plan.iter().chain(&session).for_each(|event| self.show(event));
    }

    fn show(&mut self, logged: &LoggedEvent) {
        self.presenter.replay(logged.at, &self.span, &logged.event);
        if let Event::Run(RunEvent::Outcome(report)) = &logged.event {
            self.outcome = Some(report.clone());
        }
    }

    /// Shows events until the run ends or the user leaves.
    fn follow(&mut self, project: &Project) -> Result<(), Fault> {
        runtime()?.block_on(async {
            tokio::select! {
                () = self.follow_events(project) => {}
                // A failure to listen leaves Ctrl+C as it is.
                Ok(()) = tokio::signal::ctrl_c() => {
                    self.console.stop();
                    present::notice("The run continues. `autonoe attach` shows it again, `autonoe stop` ends it.");
                }
            }
        });
        Ok(())
    }

    async fn follow_events(&mut self, project: &Project) {
        loop {
            let was_running = is_running(project);
            while let Some(event) = self.log.next() {
                self.show(&event);
            }
            if self.outcome.is_some() {
                return;
            }
            if !was_running {
                self.console.stop();
                present::warn("the run ended without saying how; `autonoe run` resumes it.");
                return;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

fn is_running(project: &Project) -> bool {
    match ProjectLock::status(project) {
        LockStatus::By(_) | LockStatus::Unknown { .. } => true,
        LockStatus::Free => false,
    }
}
