//! Background commands: each has an id and a bounded log, and is killed at the end of the session at the latest.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use autonoe_sandbox::Exit;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::failure::ToolFailure;
use crate::job_log::JobLog;
use crate::output::ToolErrorCode;
use crate::outputs::MAX_OUTPUT_CHARS;
use crate::outputs::{Outputs, SavedOutput};
use crate::shell::ShellCommand;

/// The maximum number of commands running in the background.
pub const MAX_JOBS: usize = 20;
/// The maximum number of jobs in the table, including those that have ended.
const MAX_REMEMBERED: usize = 50;

const READ_BUFFER_BYTES: usize = 16 * 1024;

/// The background jobs of a session. Dropping it kills them.
#[derive(Debug, Default)]
pub(crate) struct BackgroundJobs {
    table: Mutex<JobTable>,
    end_all: CancellationToken,
}

#[derive(Debug, Default)]
struct JobTable {
    started: u64,
    jobs: BTreeMap<u64, Arc<BackgroundJob>>,
}

#[derive(Debug)]
pub(crate) struct BackgroundJob {
    pub(crate) command: String,
    log: Mutex<JobLog>,
    state: watch::Sender<JobState>,
    end: CancellationToken,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobState {
    Running,
    Exited(i32),
    /// Killed by KillShell.
    Killed,
    /// Its room ended, or it could not be started.
    Lost(String),
}

impl BackgroundJobs {
    /// Fails if no further job may be started.
    pub(crate) fn check_limit(&self) -> Result<(), ToolFailure> {
        let running = self.table().jobs.values().filter(|job| job.is_running()).count();
        if running < MAX_JOBS {
            return Ok(());
        }
        Err(ToolFailure::new(
            ToolErrorCode::RateLimited,
            format!(
                "{running} commands are already running in the background. Stop one with KillShell first."
            ),
        ))
    }

    /// Adds a running command and returns its id.
    pub(crate) fn start(&self, shell: ShellCommand, command: &str, outputs: &Outputs) -> String {
        let job = Arc::new(BackgroundJob {
            command: command.to_owned(),
            log: Mutex::default(),
            state: watch::Sender::new(JobState::Running),
            end: self.end_all.child_token(),
        });
        let mut table = self.table();
        table.started += 1;
        let number = table.started;
        while table.jobs.len() >= MAX_REMEMBERED {
            let ended = table.jobs.iter().find(|(_, job)| !job.is_running()).map(|(number, _)| *number);
            let Some(ended) = ended else { break };
            table.jobs.remove(&ended);
        }
        table.jobs.insert(number, Arc::clone(&job));
        tokio::spawn(run_job(shell, job, outputs.clone()));
        job_id(number)
    }

    /// The job with this id. The failure lists the known ids.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<BackgroundJob>, ToolFailure> {
        let table = self.table();
        let found = table.jobs.iter().find(|(number, _)| job_id(**number) == id);
        found.map(|(_, job)| Arc::clone(job)).ok_or_else(|| {
            let ids: Vec<_> = table.jobs.keys().map(|number| job_id(*number)).collect();
            let known = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
            ToolFailure::new(
                ToolErrorCode::NotFound,
                format!("There is no background command {id}. Known commands: {known}."),
            )
        })
    }

    fn table(&self) -> MutexGuard<'_, JobTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BackgroundJobs {
    fn drop(&mut self) {
        self.end_all.cancel();
    }
}

fn job_id(number: u64) -> String {
    format!("bash_{number}")
}

impl BackgroundJob {
    fn is_running(&self) -> bool {
        *self.state.borrow() == JobState::Running
    }

    pub(crate) fn state(&self) -> JobState {
        self.state.borrow().clone()
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, JobLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the job and everything it started, unless it has already ended. Returns its final state.
    pub(crate) async fn kill(&self) -> JobState {
        self.end.cancel();
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| *state != JobState::Running).await;
        ended.map_or_else(|_| JobState::Lost("it is no longer supervised".to_owned()), |state| state.clone())
    }
}

impl JobState {
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Running => "running".to_owned(),
            Self::Exited(code) => format!("exited with code {code}"),
            Self::Killed => "killed by KillShell".to_owned(),
            Self::Lost(why) => format!("lost: {why}"),
        }
    }
}

/// Owns a job's shell: records its output and its final state. Background processes of the job may keep writing after it
/// has exited.
async fn run_job(mut shell: ShellCommand, job: Arc<BackgroundJob>, outputs: Outputs) {
    let mut writer = JobOutputWriter { outputs, saved: None, failed: false };
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    let (mut open, mut running) = (true, true);
    while open || running {
        tokio::select! {
            read = shell.output.read(&mut buffer), if open => match read {
                Ok(count @ 1..) => writer.write(&job, &buffer[..count]).await,
                Ok(0) | Err(_) => open = false,
            },
            exit = shell.child.wait(), if running => {
                running = false;
                job.state.send_replace(ended(exit));
            }
            () = job.end.cancelled() => {
                if running {
                    let stopped = shell.child.stop().await;
                    job.state.send_replace(stopped.map_or_else(lost, |_| JobState::Killed));
                }
                return;
            }
        }
    }
}

fn ended(exit: io::Result<Exit>) -> JobState {
    match exit {
        Ok(Exit::Code(code)) => JobState::Exited(code),
        Ok(Exit::NotStarted { why, .. }) => JobState::Lost(why),
        Err(error) => lost(error),
    }
}

fn lost(error: io::Error) -> JobState {
    JobState::Lost(error.to_string())
}

/// Writes a job's output to its log and, once it is more than a call may show, to a file too.
struct JobOutputWriter {
    outputs: Outputs,
    saved: Option<SavedOutput>,
    failed: bool,
}

impl JobOutputWriter {
    async fn write(&mut self, job: &BackgroundJob, bytes: &[u8]) {
        let all = {
            let mut log = job.log();
            log.push(bytes);
            // The log drops nothing before its total exceeds this.
            let due = self.saved.is_none() && !self.failed && log.total() > MAX_OUTPUT_CHARS as u64;
            due.then(|| log.kept())
        };
        let written = match (all, &mut self.saved) {
            (Some(all), _) => self.create_file(job, &all).await,
            (None, Some(saved)) => write(saved, bytes).await.map(|_| ()),
            (None, None) => Ok(()),
        };
        if written.is_err() {
            // The log continues; bytes that it drops are lost.
            (self.saved, self.failed) = (None, true);
            job.log().saved = None;
        }
    }

    async fn create_file(&mut self, job: &BackgroundJob, all: &[u8]) -> io::Result<()> {
        let mut saved = self.outputs.create("job").await?;
        job.log().saved = Some(write(&mut saved, all).await?);
        self.saved = Some(saved);
        Ok(())
    }
}

async fn write(saved: &mut SavedOutput, bytes: &[u8]) -> io::Result<PathBuf> {
    saved.write(bytes).await?;
    saved.flush().await?;
    Ok(saved.path.clone())
}
