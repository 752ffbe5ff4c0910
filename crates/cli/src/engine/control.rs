//! Watches the control directory: messages, pauses and stops that the user asks for in another terminal. Also watches that the project
//! is still there, since a run in the background may be forgotten.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::halt::Halt;
use autonoe_core::steering::Steering;
use autonoe_store::{ControlDirectory, ControlRequests, Project, StopRequest};
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

/// The steering of a run. A message is removed from the inbox when a session has read it.
pub fn steering(project: &Project) -> Steering {
    let control = ControlDirectory::of(project);
    Steering::default().settling(move |message| {
        // Ignored: the next session gets the message once more.
        let _ = control.remove_message(&message.id);
    })
}

impl ControlWatch {
    /// `halt` is raised when the project is gone; `warn` shows a sentence to the user.
    pub fn start(
        project: &Project,
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
                let ControlRequests { messages, is_paused, stop: stop_request, ignored } = control.read();
                messages.into_iter().for_each(|message| steering.tell(message));
                steering.set_paused(is_paused);
                match stop_request {
                    Some(StopRequest::AfterSession) => steering.end_after_session(),
                    Some(StopRequest::Now) => stop.stop(RunStopCause::Requested),
                    None => {}
                }
                ignored.into_iter().filter(|why| warned.insert(why.clone())).for_each(|why| warn(&why));
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
