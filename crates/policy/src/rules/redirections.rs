//! Redirections: where output may go, and which of bash's own device names may be read.

use super::reads;
use crate::shell::ast::{Part, RedirectKind, Word};
use crate::verdict::{Denial, Ruling, deny};
use crate::walk::Walker;
use crate::words::{Arg, arguments};

/// Judges one redirection.
pub fn judge(walker: &mut Walker<'_>, kind: RedirectKind, word: &Word) -> Ruling {
    let target = single(word)?;
    match kind {
        RedirectKind::Text => Ok(()),
        RedirectKind::Read => {
            no_network(&target)?;
            reads::judge(walker, &target)
        }
        RedirectKind::DuplicateInput | RedirectKind::DuplicateOutput if is_descriptor(&target) => Ok(()),
        RedirectKind::DuplicateInput => deny("redirection", "Only a descriptor's number may follow '<&'."),
        RedirectKind::Write | RedirectKind::DuplicateOutput => {
            if matches!(word.0.as_slice(), [Part::Process(_)]) {
                // `> >(command)`: the command has been judged.
                return Ok(());
            }
            no_network(&target)?;
            if target.text.starts_with('!') {
                return deny("redirection", "'>!' is another shell's; write '>|'.");
            }
            walker.count_path()?;
            walker.may_write(&target)
        }
    }
}

fn single(word: &Word) -> Result<Arg, Denial> {
    let mut targets = Vec::new();
    arguments(word, &mut targets);
    match targets.pop() {
        Some(target) if targets.is_empty() => Ok(target),
        _ => Err(Denial::new("redirection", "A redirection needs exactly one target.")),
    }
}

fn is_descriptor(target: &Arg) -> bool {
    let Some(text) = target.literal() else { return false };
    let digits = text.strip_suffix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty()
}

/// Bash opens connections for these.
fn no_network(target: &Arg) -> Ruling {
    if ["/dev/tcp", "/dev/udp"].iter().any(|device| target.text.contains(device)) {
        return deny("redirection.network", "Redirections to the network are not allowed.");
    }
    Ok(())
}
