//! What the user decides about checks and the files that they judge by. Nobody else does.

use std::fs;
use std::io;

use autonoe_core::check::{Check, Origin};
use autonoe_core::fault::{Fault, Layer};
use autonoe_store::{CheckBook, CheckState, Project, Seen};
use jiff::Timestamp;

use crate::known::{all_checks, key};
use crate::oracles;

/// Accepts a check, by its name, or a file of checks, by its path: from now on it counts as it is. Says what was done.
pub fn accept(project: &Project, written: &[Check], target: &str, now: Timestamp) -> Result<String, Fault> {
    let mut book = CheckBook::load(project)?;
    let checks = all_checks(written, &book);
    let said = if let Some(check) = checks.iter().find(|check| check.name == target) {
        let missing = oracles::freeze(&mut book, project, &check.protect, now)?;
        if !missing.is_empty() {
            let message =
                format!("The check '{target}' judges by what is not there: {}.", missing.join(", "));
            return Err(Fault::lasting(Layer::Config, "oracle", message));
        }
        let seen = Seen {
            name: check.name.clone(),
            state: CheckState::Accepted,
            commit: None,
            at: now,
            missing: Vec::new(),
        };
        book.seen.insert(key(check), seen);
        format!("The check '{target}' counts from now on.")
    } else if book.files.contains_key(target) || book.disputes.contains_key(target) {
        if project.root().join(target).exists() {
            book.accept(project, target, now)?;
            format!("Checks judge by {target} as it is now.")
        } else {
            book.files.remove(target);
            book.disputes.remove(target);
            format!("Checks no longer judge by {target}.")
        }
    } else {
        return Err(unknown(target, &checks, &book));
    };
    book.save(project)?;
    Ok(said)
}

/// Rejects a check that an agent proposed, by its name, or the change of a file, by its path. Says what was done.
pub fn reject(project: &Project, written: &[Check], target: &str) -> Result<String, Fault> {
    let mut book = CheckBook::load(project)?;
    let checks = all_checks(written, &book);
    let said = match checks.iter().find(|check| check.name == target) {
        Some(check) if check.origin == Origin::Proposed => {
            book.seen.remove(&key(check));
            book.proposed.retain(|check| check.name != target);
            format!("The check '{target}', which an agent proposed, is gone.")
        }
        Some(check) => {
            let message = format!("The check '{target}' is yours: take it out of {}.", check.origin);
            return Err(Fault::lasting(Layer::Config, "checks", message));
        }
        None if book.disputes.remove(target).is_some() => {
            let put_back = match book.files.get(target) {
                Some(accepted) => {
                    let content = book.content(project, accepted)?;
                    oracles::write_within(project.root(), target, &content, accepted.executable)
                }
                None => fs::remove_file(project.root().join(target)),
            };
            put_back.or_else(gone).map_err(|error| {
                Fault::lasting(Layer::System, "oracle", format!("{target} cannot be put back: {error}."))
            })?;
            format!("{target} is again as it was accepted.")
        }
        None => return Err(unknown(target, &checks, &book)),
    };
    book.save(project)?;
    Ok(said)
}

fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn unknown(target: &str, checks: &[Check], book: &CheckBook) -> Fault {
    let names =
        checks.iter().map(|check| check.name.as_str()).chain(book.disputes.keys().map(String::as_str));
    let names: Vec<&str> = names.collect();
    let fault = Fault::lasting(
        Layer::Config,
        "checks",
        format!("There is no check and no disputed file '{target}'."),
    );
    match names.is_empty() {
        true => fault.hint("docs/verification.md says how checks are written."),
        false => fault.hint(format!("There are: {}.", names.join(", "))),
    }
}
