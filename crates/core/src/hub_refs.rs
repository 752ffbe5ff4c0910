//! References in the hub, the repository in which checks find the commits of agents.

/// The user's commit from which agents work.
pub const BASE: &str = "refs/autonoe/base";

/// What was fetched last from a workspace, which is what checks look at.
pub const CURRENT: &str = "refs/autonoe/current";
