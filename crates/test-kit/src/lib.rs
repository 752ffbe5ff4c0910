//! What the tests of several crates share: clocks, temporary projects, git, waiting, processes, helper programs,
//! small disks.
//!
//! A dev-dependency only. What knows one crate's types stays in that crate's fixture.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)]

mod clocks;
mod git;
mod processes;
mod programs;
mod small_disk;
mod test_directory;
mod wait;

pub use clocks::{FixedClock, RealTimeClock};
pub use git::git;
pub use processes::{assert_gone, is_running, pid_in, processes_with};
pub use programs::{example, has_bubblewrap, npm_package, write_program};
pub use small_disk::SmallDisk;
pub use test_directory::TestDirectory;
pub use wait::{until, until_async};

/// The search path of programs that tests start with an empty environment.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
