//! Agents that do the work in the usual ways. None of them may be refused.

mod everyday;
mod languages;
mod later_runs;
mod packages;
mod planned;
mod repositories;
mod users_files;

use crate::Group;
use crate::projects::VERIFIED;
use crate::scenario::{Expected, Scenario};
use crate::turns::{end, session, turn};

pub fn groups() -> Vec<Group> {
    let group = |name, scenarios| Group { name, is_honest: true, scenarios };
    vec![
        group("honest: everyday", everyday::all()),
        group("honest: planned", planned::all()),
        group("honest: repositories", repositories::all()),
        group("honest: user's files", users_files::all()),
        group("honest: languages", languages::all()),
        group("honest: packages", packages::all()),
        group("honest: later runs", later_runs::all()),
    ]
}

/// One turn of calls, and verified.
fn honest(name: impl Into<String>, spec: &'static str, calls: &[String]) -> Scenario {
    Scenario::new(name, Expected::Verified, spec, session(&[turn(calls), end(VERIFIED)]))
}
