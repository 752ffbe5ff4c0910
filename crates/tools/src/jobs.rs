//! Commands that run in the background: each has an id, a bounded log, and an end that comes at the latest with the
//! session.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use autonoe_sandbox::Exit;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::log::Log;
use crate::outputs::{Outputs, Saved};
use crate::shell::Shell;
use crate::{MAX_OUTPUT_CHARS, ToolErrorCode};

/// How many commands may run in the background at once.
pub const MAX_JOBS: usize = 20;
/// How many are remembered, those that have ended among them.
const MAX_REMEMBERED: usize = 50;

const READ_BUFFER_BYTES: usize = 16 * 1024;

/// The jobs of a session. Dropped, it ends them.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    table: Mutex<Table>,
    end_all: CancellationToken,
}

#[derive(Debug, Default)]
struct Table {
    started: u64,
    jobs: BTreeMap<u64, Arc<Job>>,
}

/// One command in the background.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) command: String,
    log: Mutex<Log>,
    state: watch::Sender<State>,
    end: CancellationToken,
}

/// How a job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    Exited(i32),
    /// It was ended by KillShell.
    Killed,
    /// It ended with its room, or could not be started.
    Lost(String),
}

impl Jobs {
    /// Whether one more may be started.
    pub(crate) fn check_room(&self) -> Result<(), Failure> {
        let running = self.table().jobs.values().filter(|job| job.is_running()).count();
        if running < MAX_JOBS {
            return Ok(());
        }
        Err(Failure::new(
            ToolErrorCode::RateLimited,
            format!("{running} commands run in the background already. End one with KillShell first."),
        ))
    }

    /// Watches over a command and gives its id.
    pub(crate) fn begin(&self, shell: Shell, command: &str, outputs: &Outputs) -> String {
        let job = Arc::new(Job {
            command: command.to_owned(),
            log: Mutex::default(),
            state: watch::Sender::new(State::Running),
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
        tokio::spawn(attend(shell, job, outputs.clone()));
        name(number)
    }

    /// The job with this id. The failure names those there are.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Job>, Failure> {
        let table = self.table();
        let found = table.jobs.iter().find(|(number, _)| name(**number) == id);
        found.map(|(_, job)| Arc::clone(job)).ok_or_else(|| {
            let ids: Vec<_> = table.jobs.keys().map(|number| name(*number)).collect();
            let there = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
            Failure::new(
                ToolErrorCode::NotFound,
                format!("There is no background command {id}. There are: {there}."),
            )
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.end_all.cancel();
    }
}

fn name(number: u64) -> String {
    format!("bash_{number}")
}

impl Job {
    fn is_running(&self) -> bool {
        *self.state.borrow() == State::Running
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Its log, to be read.
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it with all it started, unless it has ended, and tells how it ended.
    pub(crate) async fn kill(&self) -> State {
        self.end.cancel();
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| *state != State::Running).await;
        ended.map_or_else(|_| State::Lost("nobody watches it any more".to_owned()), |state| state.clone())
    }
}

impl State {
    /// In words.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Running => "running".to_owned(),
            Self::Exited(code) => format!("exited with code {code}"),
            Self::Killed => "ended by KillShell".to_owned(),
            Self::Lost(why) => format!("lost: {why}"),
        }
    }
}

/// Owns a job's shell: keeps its output and sees to its end. What it left in the background may write on.
async fn attend(mut shell: Shell, job: Arc<Job>, outputs: Outputs) {
    let mut saving = Saving { outputs, saved: None, failed: false };
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    let (mut open, mut running) = (true, true);
    while open || running {
        tokio::select! {
            read = shell.output.read(&mut buffer), if open => match read {
                Ok(count @ 1..) => saving.keep(&job, &buffer[..count]).await,
                Ok(0) | Err(_) => open = false,
            },
            exit = shell.child.wait(), if running => {
                running = false;
                job.state.send_replace(ended(exit));
            }
            () = job.end.cancelled() => {
                if running {
                    let stopped = shell.child.stop().await;
                    job.state.send_replace(stopped.map_or_else(lost, |_| State::Killed));
                }
                return;
            }
        }
    }
}

fn ended(exit: io::Result<Exit>) -> State {
    match exit {
        Ok(Exit::Code(code)) => State::Exited(code),
        Ok(Exit::NotStarted { why, .. }) => State::Lost(why),
        Err(error) => lost(error),
    }
}

fn lost(error: io::Error) -> State {
    State::Lost(error.to_string())
}

/// Keeps a job's output in its log and, once that is more than a call may show, in a file too.
struct Saving {
    outputs: Outputs,
    saved: Option<Saved>,
    failed: bool,
}

impl Saving {
    async fn keep(&mut self, job: &Job, bytes: &[u8]) {
        let all = {
            let mut log = job.log();
            log.push(bytes);
            // Nothing is forgotten before this much has come.
            let due = self.saved.is_none() && !self.failed && log.total() > MAX_OUTPUT_CHARS as u64;
            due.then(|| log.kept())
        };
        let written = match (all, &mut self.saved) {
            (Some(all), _) => self.begin(job, &all).await,
            (None, Some(saved)) => write(saved, bytes).await.map(|_| ()),
            (None, None) => Ok(()),
        };
        if written.is_err() {
            // The log goes on; what it forgets is lost.
            (self.saved, self.failed) = (None, true);
            job.log().saved = None;
        }
    }

    async fn begin(&mut self, job: &Job, all: &[u8]) -> io::Result<()> {
        let mut saved = self.outputs.create("job").await?;
        job.log().saved = Some(write(&mut saved, all).await?);
        self.saved = Some(saved);
        Ok(())
    }
}

async fn write(saved: &mut Saved, bytes: &[u8]) -> io::Result<PathBuf> {
    saved.write(bytes).await?;
    saved.flush().await?;
    Ok(saved.path.clone())
}
