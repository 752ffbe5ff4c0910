//! References in the hub, the repository in which checks find the commits of agents.

/// The user's commit from which agents work.
pub const BASE: &str = "refs/autonoe/base";

/// What was fetched last from a workspace, which is what checks look at.
pub const CURRENT: &str = "refs/autonoe/current";

/// Where the commits of several workers came together last. While the branch of the run is there, its own workspace may be behind.
pub const MERGED: &str = "refs/autonoe/merged";
