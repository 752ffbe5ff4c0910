//! `autonoe notify`

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::nearest::nearest;
use autonoe_core::notification::{NotificationEvent, NotificationLevel, UserNotification};
use autonoe_core::outcome::exit;
use autonoe_core::redact::{Redactor, SecretValues};
use autonoe_notify::{Dispatcher, DispatcherOptions, NotifyTarget};
use autonoe_report::one_line;
use autonoe_store::{DeliveryRow, DeliveryState, Outbox};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::environment::Environment;
use crate::notify_settings::NotifySettings;
use crate::present::{self, local_time};
use crate::project_args::ProjectArgs;
use crate::system::runtime;

/// Deliveries that `list` shows.
const LISTED: u32 = 30;

/// How long `retry` waits for all deliveries.
const RETRY_LIMIT: Duration = Duration::from_secs(15);

/// Test who is notified of runs, and see what was delivered
#[derive(Debug, Args)]
#[command(
    after_help = "Targets are configured under [notify] in your config.toml; docs/notify.md describes them."
)]
pub struct NotifyArgs {
    #[command(subcommand)]
    command: NotifyCommand,
}

#[derive(Debug, Subcommand)]
enum NotifyCommand {
    /// Send a test notification to every target, once, and say what happened
    Test(NotifyTestArgs),
    /// List the last deliveries of a project, newest first
    List(NotifyListArgs),
    /// Deliver now what has not expired and was not delivered
    Retry(NotifyRetryArgs),
}

#[derive(Debug, Args)]
struct NotifyTestArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Only to this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

#[derive(Debug, Args)]
struct NotifyListArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct NotifyRetryArgs {
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn cmd_notify(args: &NotifyArgs, environment: &Environment) -> Result<u8, Fault> {
    match &args.command {
        NotifyCommand::Test(args) => runtime()?.block_on(test(args, environment)),
        NotifyCommand::List(args) => list(args, environment),
        NotifyCommand::Retry(args) => runtime()?.block_on(retry(args, environment)),
    }
}

async fn test(args: &NotifyTestArgs, environment: &Environment) -> Result<u8, Fault> {
    let root = environment.project(&args.project)?.root().to_owned();
    let settings = configured(environment, &root).await?;
    let chosen = chosen(&settings.targets, args.target.as_deref())?;
    let redactor = Redactor::default().sharing(&SecretValues::from(settings.secrets.clone()));
    let notification = test_notification(&root);
    let mut code = exit::DONE;
    for target in chosen {
        let name = &target.name;
        let start = Instant::now();
        let line = match target.send(&notification, &settings.programs).await {
            Ok(()) => format!(
                "ok     {name}: {}, {:.1} s",
                target.channel.describe(),
                start.elapsed().as_secs_f64()
            ),
            Err(failure) => {
                code = exit::ERROR;
                format!("FAILED {name}: {}: {}", target.channel.describe(), failure.reason)
            }
        };
        present::print(&format!("{}\n", one_line(&redactor.text(&line))));
    }
    Ok(code)
}

fn list(args: &NotifyListArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let rows = match Outbox::find(&project)? {
        Some(outbox) => outbox.newest(LISTED)?,
        None => Vec::new(),
    };
    if args.json {
        present::print_json(&format!("{:#}\n", json!(rows)));
    } else if rows.is_empty() {
        present::print("Nobody was notified of anything in this project yet.\n");
    } else {
        let lines = rows.iter().map(|row| format!("{}\n", line(row)));
        present::print(&lines.collect::<String>());
    }
    Ok(exit::DONE)
}

fn line(row: &DeliveryRow) -> String {
    format!(
        "{:<9} {}  {} to {}{}",
        row.state.name(),
        local_time(row.at),
        row.event.name(),
        one_line(&row.target),
        because(row)
    )
}

/// `: it answered 500; tried 3 times, next try Mon 16 Nov 09:00 CET`.
pub fn because(row: &DeliveryRow) -> String {
    let Some(problem) = row.problem.as_deref().filter(|_| row.state != DeliveryState::Delivered) else {
        return String::new();
    };
    let tried = match row.attempts {
        0 => "never tried".to_owned(),
        1 => "tried once".to_owned(),
        count => format!("tried {count} times"),
    };
    let next = row.next_try_at.map(|at| format!(", next try {}", local_time(at))).unwrap_or_default();
    format!(": {}; {tried}{next}", one_line(problem))
}

async fn retry(args: &NotifyRetryArgs, environment: &Environment) -> Result<u8, Fault> {
    let project = environment.project(&args.project)?;
    let settings = configured(environment, project.root()).await?;
    let due = match Outbox::find(&project)? {
        Some(outbox) => outbox.retry_all(Timestamp::now())?,
        None => 0,
    };
    if due == 0 {
        present::print("There is nothing to deliver.\n");
        return Ok(exit::DONE);
    }
    let outbox = Arc::new(Outbox::open(&project)?);
    let dispatcher = Dispatcher::start(DispatcherOptions {
        outbox: Arc::clone(&outbox),
        targets: settings.targets,
        programs: settings.programs,
        redactor: Redactor::default().sharing(&SecretValues::from(settings.secrets)),
        warn: Box::new(|sentence| present::notice(&format!("Warning: {sentence}"))),
    });
    dispatcher.finish(RETRY_LIMIT, &CancellationToken::new()).await?;
    let left = outbox.retryable(Timestamp::now())?;
    present::print(&format!("Delivered {} of {due} notification(s).\n", due.saturating_sub(left)));
    if left > 0 {
        present::print("`autonoe notify list` shows why the rest was not delivered.\n");
    }
    Ok(if left == 0 { exit::DONE } else { exit::ERROR })
}

/// The settings, with at least one target.
async fn configured(environment: &Environment, project: &Path) -> Result<NotifySettings, Fault> {
    let settings = NotifySettings::resolve(&environment.user_config()?, environment, project).await?;
    if settings.targets.is_empty() {
        let message = "Nobody is notified: config.toml has no target.";
        return Err(Fault::permanent(FaultLayer::Config, "no_targets", message).hint(
            "Add one, such as [notify.targets.desk] with kind = \"desktop\"; docs/notify.md shows all kinds.",
        ));
    }
    Ok(settings)
}

/// All targets, or the one with this name.
fn chosen<'a>(targets: &'a [NotifyTarget], name: Option<&str>) -> Result<Vec<&'a NotifyTarget>, Fault> {
    let Some(name) = name else { return Ok(targets.iter().collect()) };
    if let Some(target) = targets.iter().find(|target| target.name == name) {
        return Ok(vec![target]);
    }
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(meant) => format!("Did you mean '{meant}'?"),
        None => format!("There are: {}.", names.join(", ")),
    };
    let message = format!("There is no target '{}' in config.toml.", one_line(name));
    Err(Fault::permanent(FaultLayer::Config, "no_such_target", message).hint(hint))
}

fn test_notification(root: &Path) -> UserNotification {
    let project = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned();
    UserNotification {
        id: format!("{:032x}", fastrand::u128(..)),
        event: NotificationEvent::Test,
        level: NotificationLevel::Info,
        title: format!("{project}: test"),
        text: "This is a test of `autonoe notify test`. Nothing has happened.".to_owned(),
        project,
        project_path: root.display().to_string(),
        run: None,
        at: Timestamp::now(),
    }
}
