//! What is enforced on every child process, whatever the child wants.
//!
//! Children run in **rooms**: one a session, with one set of [`Bounds`] that the kernel holds. [`Sandbox`] finds the best
//! layer that the machine has and opens rooms; [`Launch`] starts a program in one. Under each program, and under each
//! room, stands a **supervisor**: a small process of our own binary that ends everything its charge has started, when the
//! charge exits, when it is told to, and when the orchestrator is gone, even by SIGKILL.
//!
//! Our binary plays three parts: the orchestrator, the supervisor and the room's first process; see [`run_helper_process`].

mod bounded_command;
mod bounds;
mod bubblewrap;
mod git;
mod git_locks;
mod launch;
mod loss;
mod open;
mod opened;
mod places;
mod program;
mod record;
mod room;
mod room_handle;
mod seatbelt;
mod session_sandbox;
mod signals;
mod supervisor;
mod toolchain;
mod wire;

use std::ffi::OsStr;

// The only places that know the operating system.
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

/// Plays the supervisor or the room, if the first argument of our binary says so, and returns the exit code. To be called
/// before anything else is done.
pub fn run_helper_process(first_argument: Option<&OsStr>) -> Option<i32> {
    match first_argument?.to_str()? {
        KEEP_ARG => Some(supervisor::keep()),
        ROOM_ARG => Some(room::room()),
        _ => None,
    }
}

pub use autonoe_egress::{
    HostPattern, Key, Refusal, Route, Rules as EgressRules, SocketRoute, UpstreamProxy,
};
pub use bounded_command::{BoundedCommand, Ending, Kept, MAX_OUTPUT, Printed, Ran};
pub use bounds::{Bounds, Layer, Limits};
pub use git::Repository;
pub use git_locks::{GitLock, InUse};
pub use launch::{Child, Exit, Launch, STOP_LIMIT, Stream};
pub use open::{NoSandbox, OpenError, Sandbox};
pub use opened::Room;
pub use program::{BoundedLines, MAX_LINE_BYTES, Pipes, Program};
pub use record::{recover_rooms, stale_locks};
pub use room::ROOM_ARG;
pub use session_sandbox::{RoomConfig, SessionSandbox};
pub use signals::is_ignored;
pub use supervisor::{EXIT_NOT_FOUND, EXIT_NOT_STARTED, EXIT_SUPERVISOR_FAILED, KEEP_ARG, STOP_GRACE};
pub use toolchain::Toolchain;
