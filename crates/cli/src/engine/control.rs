//! Watches the control directory: messages, pauses and stops that the user asks for in another terminal. Also watches that the project
//! is still there, since a run in the background may be forgotten.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::halt::Halt;
use autonoe_core::steering::{Pause, Steering, UserMessage};
use autonoe_harness::control::{HarnessStop, Instruction};
use autonoe_harness::harness_record::HarnessRecord;
use autonoe_store::{ControlDirectory, ControlRequests, Project, StopRequest};
use jiff::Timestamp;
use tokio::task::JoinHandle;

use crate::stop::{RunStopCause, StopSignal};

/// How soon a request is noticed.
const INTERVAL: Duration = Duration::from_millis(250);

/// Looks without the project after which it counts as gone.
const MISSING_LOOKS: u32 = 4;

/// Watches until it is dropped.
pub struct ControlWatch(JoinHandle<()>);

impl Drop for ControlWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Precedes the names of messages that come from the inbox of a harness.
const OF_HARNESS: &str = "harness:";

/// The steering of a run. A message is removed from the inbox when a session has read it.
pub fn steering(project: &Project, harness: Option<&Arc<HarnessRecord>>) -> Steering {
    let (control, harness) = (ControlDirectory::of(project), harness.cloned());
    let steering = Steering::default();
    if let Some(harness) = &harness {
        let (paused, file) = (steering.clone(), harness.harness().pause_file());
        harness.pause_with(move || paused.set_pause(Some(Pause::File(file.clone()))));
    }
    steering.settling(move |message| {
        // Ignored: the next session gets the message once more.
        match (message.id.strip_prefix(OF_HARNESS), &harness) {
            (Some(name), Some(harness)) => {
                let _ = harness.harness().settle(name, Timestamp::now());
            }
            (Some(_) | None, _) => {
                let _ = control.remove_message(&message.id);
            }
        }
    })
}

/// What somebody asks of a harness at the moment, in the terms of a run.
fn requests_of(record: &Arc<HarnessRecord>) -> ControlRequests {
    let directory = record.harness();
    let requests = match directory.requests() {
        Ok(requests) => requests,
        Err(error) => {
            let ignored = vec![error.to_string()];
            let is_paused = directory.is_paused();
            return ControlRequests { messages: Vec::new(), is_paused, stop: None, ignored };
        }
    };
    if requests.wants_status {
        record.show_status();
    }
    let message = |instruction: Instruction| UserMessage {
        id: format!("{OF_HARNESS}{}", instruction.name),
        text: instruction.prompt(),
    };
    ControlRequests {
        messages: requests.instructions.into_iter().map(message).collect(),
        is_paused: requests.is_paused,
        stop: requests.stop.map(|stop| match stop {
            HarnessStop::AfterSession => StopRequest::AfterSession,
            HarnessStop::Now => StopRequest::Now,
        }),
        ignored: requests.refused,
    }
}

impl ControlWatch {
    /// `halt` is raised when the project is gone; `warn` shows a sentence to the user. What is asked for already counts when it returns.
    pub fn start(
        project: &Project,
        harness: Option<Arc<HarnessRecord>>,
        steering: Steering,
        stop: StopSignal,
        halt: Halt,
        warn: impl Fn(&str) + Send + 'static,
    ) -> Self {
        let (control, root) = (ControlDirectory::of(project), project.root().to_owned());
        let identity = identity(&root);
        let (warned, missing) = (HashSet::new(), 0);
        let mut watched =
            Watched { control, harness, steering, stop, halt, warn, root, identity, warned, missing };
        watched.look();
        Self(tokio::spawn(async move {
            loop {
                tokio::time::sleep(INTERVAL).await;
                watched.look();
            }
        }))
    }
}

/// What is looked at, and whom it concerns.
struct Watched<W> {
    control: ControlDirectory,
    harness: Option<Arc<HarnessRecord>>,
    steering: Steering,
    stop: StopSignal,
    halt: Halt,
    warn: W,
    root: PathBuf,
    /// The project directory at the start.
    identity: Option<(u64, u64)>,
    /// Sentences that were shown.
    warned: HashSet<String>,
    /// Looks without the project, one after another.
    missing: u32,
}

impl<W: Fn(&str)> Watched<W> {
    fn look(&mut self) {
        self.missing = if self.identity == identity(&self.root) { 0 } else { self.missing + 1 };
        if self.missing > MISSING_LOOKS {
            self.halt.raise(&project_gone(&self.root));
        }
        let of_run = self.control.read();
        let of_harness =
            self.harness.as_ref().map(|record| (requests_of(record), record.harness().pause_file()));
        // Both must end before the run continues, and `autonoe resume` ends both.
        let pause = match &of_harness {
            _ if of_run.is_paused => Some(Pause::Requested),
            Some((requests, file)) if requests.is_paused => Some(Pause::File(file.clone())),
            Some(_) | None => None,
        };
        if let Some(record) = &self.harness {
            record.set_paused(pause.is_some());
            record.look_at_time();
        }
        self.steering.set_pause(pause);
        for requests in std::iter::once(of_run).chain(of_harness.map(|(requests, _)| requests)) {
            requests.messages.into_iter().for_each(|message| self.steering.tell(message));
            match requests.stop {
                Some(StopRequest::AfterSession) => self.steering.end_after_session(),
                Some(StopRequest::Now) => self.stop.stop(RunStopCause::Requested),
                None => {}
            }
            for why in requests.ignored {
                if self.warned.insert(why.clone()) {
                    (self.warn)(&why);
                }
            }
        }
    }
}

/// Which directory is at a path; `None` if there is none.
fn identity(root: &Path) -> Option<(u64, u64)> {
    root.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn project_gone(root: &Path) -> Fault {
    let message = format!("The project directory {} was removed or replaced during the run.", root.display());
    Fault::permanent(FaultLayer::System, "project_gone", message).hint(
        "What agents committed is kept in Autonoe's state directory until the project is back at this path.",
    )
}
