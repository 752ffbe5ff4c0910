//! The sandbox: restrictions that the kernel enforces on every child process.
//!
//! Children run in **rooms**: one per session, with one set of [`Bounds`]. [`Sandbox`] picks the best layer that the machine
//! supports and opens rooms; [`Launch`] starts a program in one. Every program and every room has a **supervisor** as its
//! parent: a small process of our own binary that kills everything its program has started when the program exits, when it
//! is asked to stop, and when the orchestrator is gone, even by SIGKILL.
//!
//! Our binary runs in four roles: orchestrator, supervisor, first process of a room, and relay to a port in one; see [`run_helper_process`].

mod bounded_command;
mod bounds;
mod bubblewrap;
mod credentials;
mod git;
mod git_locks;
mod in_use;
mod kill_cause;
mod launch;
mod layer_unavailable;
mod nested_repositories;
mod open;
mod os_text;
mod port_relay;
mod program;
mod record;
mod repository;
mod repository_problem;
mod room;
mod room_handle;
mod room_process;
mod seatbelt;
mod session_sandbox;
mod signals;
mod supervisor;
mod supervisor_client;
mod system;
mod system_paths;
mod toolchain;
mod visible_parts;
mod wire;

use std::ffi::OsStr;

// The only modules that depend on the operating system.
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other_os;

/// Runs the supervisor or the room if the first argument of our binary asks for it, and returns the exit code. Call it
/// before doing anything else: it also sees to it that no program inherits what this process was given.
pub fn run_helper_process(first_argument: Option<&OsStr>) -> Option<i32> {
    autonoe_kernel_calls::inherited::keep_from_programs();
    match first_argument?.to_str()? {
        SUPERVISOR_ARG => Some(supervisor::run_supervisor()),
        ROOM_ARG => Some(room_process::run_room()),
        other => port_relay::relay_port(other).map(port_relay::run_relay),
    }
}

pub use autonoe_egress::{EgressRefusal, EgressRules, HostPattern, Key, Route, SocketRoute, UpstreamProxy};
pub use bounded_command::{
    BoundedCommand, CapturedOutput, CommandEnd, CommandResult, MAX_OUTPUT, OutputLimits,
};
pub use bounds::{Bounds, RoomLimits, SandboxLayer};
pub use git_locks::GitLock;
pub use in_use::InUse;
pub use launch::{Exit, Launch, STOP_LIMIT, SandboxedChild, StdioTarget};
pub use layer_unavailable::LayerUnavailable;
pub use open::{NoSandbox, OpenError, Sandbox};
pub use port_relay::{CONNECTED, REFUSED};
pub use program::{BoundedLines, MAX_LINE_BYTES, PipedProgram, Pipes};
pub use record::{recover_rooms, recover_rooms_of_killed, stale_locks};
pub use repository::Repository;
pub use repository_problem::RepositoryProblem;
pub use room::{Room, rooms_closed};
pub use room_process::ROOM_ARG;
pub use session_sandbox::{RoomConfig, RunningSandboxes, SessionSandbox};
pub use signals::is_ignored;
pub use supervisor::{EXIT_NOT_FOUND, EXIT_NOT_STARTED, EXIT_SUPERVISOR_FAILED, STOP_GRACE, SUPERVISOR_ARG};
pub use toolchain::Toolchain;
