//! Redirections: which files may be read and written, and no network connections.

use super::reads;
use super::scope::CommandScope;
use crate::shell::ast::{Part, RedirectKind, Word};
use crate::verdict::{Denial, RuleResult, deny};
use crate::words::Arg;

/// Judges a redirection to a word, which becomes `targets`.
pub fn judge(scope: &mut CommandScope<'_>, kind: RedirectKind, word: &Word, targets: Vec<Arg>) -> RuleResult {
    let target = single(targets)?;
    match kind {
        RedirectKind::Text => Ok(()),
        RedirectKind::Read => {
            deny_network(&target)?;
            reads::judge(scope, &target)
        }
        RedirectKind::DuplicateInput | RedirectKind::DuplicateOutput if is_descriptor(&target) => Ok(()),
        RedirectKind::DuplicateInput => deny("redirection", "Only a descriptor number may follow '<&'."),
        RedirectKind::Write | RedirectKind::DuplicateOutput => {
            if matches!(word.0.as_slice(), [Part::Process(_)]) {
                // `> >(command)`: the walk has already judged the command.
                return Ok(());
            }
            deny_network(&target)?;
            if target.text.starts_with('!') {
                return deny("redirection", "'>!' is not bash syntax; write '>|'.");
            }
            if target.literal() == Some("/dev/null") {
                return Ok(());
            }
            let values = target.known_values().unwrap_or(std::slice::from_ref(&target));
            values.iter().try_for_each(|value| {
                scope.count_path()?;
                scope.may_write(value)
            })
        }
    }
}

fn single(mut targets: Vec<Arg>) -> Result<Arg, Denial> {
    match targets.pop() {
        Some(target) if targets.is_empty() => Ok(target),
        _ => Err(Denial::new("redirection", "A redirection requires exactly one target.")),
    }
}

fn is_descriptor(target: &Arg) -> bool {
    let Some(text) = target.literal() else { return false };
    let digits = text.strip_suffix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty()
}

/// Denies the device names for which bash opens network connections.
fn deny_network(target: &Arg) -> RuleResult {
    if ["/dev/tcp", "/dev/udp"].iter().any(|device| target.text.contains(device)) {
        return deny("redirection.network", "Redirections to the network are not allowed.");
    }
    Ok(())
}
