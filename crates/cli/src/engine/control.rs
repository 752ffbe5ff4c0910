//! Watches the control directory: messages, pauses and stops that the user asks for in another terminal. Also watches that the project
//! is still there, since a run in the background may be forgotten.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::halt::Halt;
use autonoe_core::steering::{Steering, UserMessage};
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
        let paused = steering.clone();
        harness.pause_with(move || paused.set_paused(true));
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
    record.set_paused(requests.is_paused);
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
    /// `halt` is raised when the project is gone; `warn` shows a sentence to the user.
    pub fn start(
        project: &Project,
        harness: Option<Arc<HarnessRecord>>,
        steering: Steering,
        stop: StopSignal,
        halt: Halt,
        warn: impl Fn(&str) + Send + 'static,
    ) -> Self {
        let (control, root) = (ControlDirectory::of(project), project.root().to_owned());
        Self(tokio::spawn(async move {
            let (mut warned, mut missing) = (HashSet::new(), 0);
            let identity = identity(&root);
            loop {
                missing = if identity == self::identity(&root) { 0 } else { missing + 1 };
                if missing > MISSING_LOOKS {
                    halt.raise(&project_gone(&root));
                }
                let mut is_paused = false;
                for requests in std::iter::once(control.read()).chain(harness.iter().map(requests_of)) {
                    requests.messages.into_iter().for_each(|message| steering.tell(message));
                    is_paused |= requests.is_paused;
                    match requests.stop {
                        Some(StopRequest::AfterSession) => steering.end_after_session(),
                        Some(StopRequest::Now) => stop.stop(RunStopCause::Requested),
                        None => {}
                    }
                    let ignored = requests.ignored.into_iter();
                    ignored.filter(|why| warned.insert(why.clone())).for_each(|why| warn(&why));
                }
                steering.set_paused(is_paused);
                tokio::time::sleep(INTERVAL).await;
            }
        }))
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
