//! What is enforced on every child process, whatever the child wants.
//!
//! First form: **the keeper**. A child is never started directly but under a small process of our
//! own binary, which ends everything the child has started when the child exits, when it is told
//! to, and when the orchestrator is gone, even by SIGKILL. [`Launcher`] is our side of it and
//! [`keep`] the keeper's. What a child may read, write or reach is not restricted here yet.

mod keep;
mod launch;

// The only place that knows the operating system: elsewhere no orphan can be adopted, so that
// only the child's own process group is ended.
#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod system;

pub use keep::{EXIT_KEEPER_FAILED, EXIT_NOT_FOUND, EXIT_NOT_STARTED, KEEP_ARG, STOP_GRACE, keep};
pub use launch::{Child, Launch, LaunchError, Launcher, STOP_LIMIT};
