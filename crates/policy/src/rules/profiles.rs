//! The commands of the language profiles. In `run` the commands of an active profile are allowed with any arguments,
//! because interpreters exist to run the agent's code. In `sync` only the forms in `verification` are allowed.

use super::profile_commands::profiles_with;
use super::rule::CommandCall;
use super::runners;
use super::scope::CommandScope;
use super::verification;
use crate::verdict::Denial;

/// Judges a language command and returns the rule that allows it; `None` if no language has it.
pub fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> Option<Result<&'static str, Denial>> {
    let commands = profiles_with(call.name).next()?;
    if !scope.options.has(commands.profile) {
        return Some(Err(Denial::new(
            "profile.inactive",
            format!("'{}' belongs to the profile '{}', which is not active.", call.name, commands.profile),
        )
        .instead("Use the commands of the active profiles.")));
    }
    if !scope.options.is_sync() {
        return Some(runners::judge(scope, call).map(|()| commands.rule));
    }
    Some(verification::judge(scope, call).map(|()| commands.rule))
}
