//! Commands of Autonoe itself that decide something for the user: what is trusted, accepted and landed, and how a run goes
//! on. The room keeps them from having an effect; a denial says so at once.

use super::publishing::matches_words;
use crate::policy_options::PolicyOptions;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::Arg;

/// Subcommands, as words in order.
const DECISIONS: [&str; 14] = [
    "trust",
    "land",
    "pr",
    "tell",
    "pause",
    "resume",
    "stop",
    "unblock",
    "checks accept",
    "checks reject",
    "harness stop",
    "harness pause",
    "fleet stop",
    "fleet down",
];

/// The most arguments among which a subcommand may begin.
const MAX_LEADING: usize = 6;

pub fn judge(options: &PolicyOptions, name: &str, args: &[Arg]) -> RuleResult {
    if name != "autonoe" {
        return Ok(());
    }
    let asks = args.iter().any(|arg| matches!(arg.literal(), Some("--help" | "-h")));
    // Options with values may come first.
    let starts = 0..args.len().min(MAX_LEADING);
    let is_decision = |decision: &&&str| starts.clone().any(|start| matches_words(&args[start..], decision));
    let Some(decision) = DECISIONS.iter().find(is_decision).filter(|_| !asks) else { return Ok(()) };
    let shown = format!("autonoe {decision}");
    if options.allow_commands.iter().any(|allowed| allowed == "autonoe" || *allowed == shown) {
        return Ok(());
    }
    deny_with_hint(
        "contained.steering",
        format!("'{shown}' decides for the user; only the user may do that."),
        "Say in the hand-over note what the user should decide.",
    )
}
