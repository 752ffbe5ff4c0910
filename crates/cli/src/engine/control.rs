//! Watches the control directory: messages, pauses and stops that the user asks for in another terminal.

use std::collections::HashSet;
use std::time::Duration;

use autonoe_core::steering::Steering;
use autonoe_store::{ControlDirectory, ControlRequests, Project, StopRequest};
use tokio::task::JoinHandle;

use crate::stop::{RunStopCause, StopSignal};

/// How soon a request is noticed.
const INTERVAL: Duration = Duration::from_millis(250);

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
    /// `warn` shows a sentence to the user.
    pub fn start(
        project: &Project,
        steering: Steering,
        stop: StopSignal,
        warn: impl Fn(&str) + Send + 'static,
    ) -> Self {
        let control = ControlDirectory::of(project);
        Self(tokio::spawn(async move {
            let mut warned = HashSet::new();
            loop {
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
