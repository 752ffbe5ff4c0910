//! References in the hub, the repository in which checks find the commits of agents.

/// The user's commit from which agents work.
pub const BASE: &str = "refs/autonoe/base";

/// What the user has given to a run: the last commit, and uncommitted changes if the run includes them. Here the user's checks find the files by
/// which they judge, and must fail: agents of an earlier run may have left commits that nobody has looked at.
pub const USERS: &str = "refs/autonoe/users";

/// What was fetched last from a workspace, which is what checks look at.
pub const CURRENT: &str = "refs/autonoe/current";

/// Where the commits of several workers came together last. While the branch of the run is there, its own workspace may be behind.
pub const MERGED: &str = "refs/autonoe/merged";
