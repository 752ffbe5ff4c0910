//! The notifications of a run: recorded by a sink, delivered meanwhile, and given a little time at the end.

use std::sync::Arc;
use std::time::Duration;

use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::Fault;
use autonoe_core::redact::{Redactor, SecretValues};
use autonoe_core::sink::Sink;
use autonoe_notify::{Dispatcher, DispatcherOptions, NotifiedRun, RunNotifications, Warn};
use autonoe_store::journal::history::History;
use autonoe_store::{Outbox, PendingDelivery, Project};
use tokio_util::sync::CancellationToken;

use crate::notify_settings::NotifySettings;
use crate::present::{Console, MessageLevel, end_text, local_time};

/// How long a run that has ended waits for its deliveries.
const END_LIMIT: Duration = Duration::from_secs(10);

/// In the background nobody waits for the process.
const BACKGROUND_END_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Time after which a message says what is being waited for.
const QUIET_PERIOD: Duration = Duration::from_secs(1);

pub struct RunNotifier {
    notifications: Arc<RunNotifications>,
    dispatcher: Dispatcher,
}

impl RunNotifier {
    /// `None` if nobody is to be notified, or if the outbox cannot be used, which is a warning.
    pub fn start(
        project: &Project,
        run: i64,
        settings: NotifySettings,
        secrets: &SecretValues,
        console: &Arc<Console>,
    ) -> Option<Self> {
        let NotifySettings { targets, denied_threshold, programs, secrets: _ } = settings;
        if targets.is_empty() {
            return None;
        }
        let warn = || {
            let console = Arc::clone(console);
            Box::new(move |sentence: &str| warn(&console, sentence)) as Warn
        };
        let outbox = match Outbox::open(project) {
            Ok(outbox) => Arc::new(outbox),
            Err(fault) => {
                let hint = fault.hint.as_deref().unwrap_or_default();
                warn()(&format!("{fault} Nobody is notified of this run. {hint}"));
                return None;
            }
        };
        let redactor = || Redactor::default().sharing(secrets);
        let dispatcher = Dispatcher::start(DispatcherOptions {
            outbox: Arc::clone(&outbox),
            targets: targets.clone(),
            programs,
            redactor: redactor(),
            warn: warn(),
        });
        let root = project.root();
        let name = root.file_name().unwrap_or(root.as_os_str());
        let notifications = Arc::new(RunNotifications::new(NotifiedRun {
            outbox,
            targets,
            project: name.to_string_lossy().into_owned(),
            project_path: root.display().to_string(),
            run,
            denied_threshold,
            redactor: redactor(),
            wake: dispatcher.wake(),
            describe_end: end_text,
            show_time: local_time,
            warn: warn(),
        }));
        if let Ok(Some(history)) = History::open(&project.journal_file()) {
            notifications.catch_up(|run| {
                let run = history.run(run).ok().flatten()?;
                Some((run.ended_at?.parse().ok()?, run.report?))
            });
        }
        Some(Self { notifications, dispatcher })
    }

    pub fn sink(&self) -> Arc<dyn Sink> {
        Arc::clone(&self.notifications) as _
    }

    /// `fault` is set if the run ended outside of its loop.
    pub async fn finish(
        self,
        fault: Option<&Fault>,
        in_background: bool,
        interrupt: &CancellationToken,
        console: &Console,
    ) {
        if let Some(fault) = fault {
            self.notifications.run_failed(fault);
        }
        let limit = if in_background { BACKGROUND_END_LIMIT } else { END_LIMIT };
        let finishing = self.dispatcher.finish(limit, interrupt);
        tokio::pin!(finishing);
        let finished = match tokio::time::timeout(QUIET_PERIOD, &mut finishing).await {
            Ok(finished) => finished,
            Err(_) => {
                let limit = format_duration(limit);
                let line = format!("Delivering notifications, up to {limit} (Ctrl-C skips that)...");
                console.line(MessageLevel::Info, &line);
                finishing.await
            }
        };
        match finished {
            Ok(left) => left_behind(&left).iter().for_each(|sentence| warn(console, sentence)),
            Err(fault) => warn(console, &fault.to_string()),
        }
    }
}

fn warn(console: &Console, sentence: &str) {
    console.line(MessageLevel::Warning, &format!("Warning: {sentence}"));
}

/// One sentence about what is not delivered; `None` if everything is.
fn left_behind(left: &[PendingDelivery]) -> Option<String> {
    let mut targets: Vec<&str> = left.iter().map(|delivery| delivery.key.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    (!left.is_empty()).then(|| {
        format!(
            "{} notification(s) are not delivered yet (to {}). The next run here tries again, and so does `autonoe notify retry`.",
            left.len(),
            targets.join(", ")
        )
    })
}
