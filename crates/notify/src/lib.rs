//! Notifications: who is notified, of what, and how it gets there.
//!
//! [`RunNotifications`] is a sink that turns the events of a run into notifications and records them in the project's outbox.
//! [`Dispatcher`] delivers what is in the outbox to the [`NotifyTarget`]s, and tries again. Neither makes a run wait. Where the targets
//! come from, and their secrets, is left to the caller: nothing here reads the environment or a configuration.

mod dispatcher;
mod email;
mod program;
mod retry;
mod run_notifications;
mod send_failure;
mod shapes;
mod signature;
mod target;
mod text;
mod webhook;
mod webhook_address;

pub use dispatcher::{Dispatcher, DispatcherOptions, Warn};
pub use program::{Programs, find_program_outside};
pub use run_notifications::{NotifiedRun, RunNotifications};
pub use send_failure::SendFailure;
pub use signature::Signer;
pub use target::{Channel, DEFAULT_TIME_LIMIT, NotifyTarget};
pub use webhook::{Webhook, WebhookOptions};
pub use webhook_address::{WebhookAddress, WebhookAddressError};
