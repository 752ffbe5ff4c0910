//! Tests which agents a run accepts: scenarios of agents that cheat and agents that do not, one row each.

use std::path::Path;

use autonoe_honesty::{Scenario, ScenarioOutcome, scenarios};

use super::project::{BenchProject, serve};
use super::table::{BenchRow, BenchVerdict};
use crate::result::Result;

pub fn measure(autonoe: &Path) -> Result<Vec<BenchRow>> {
    let mut rows = Vec::new();
    let (mut caught, mut cheats, mut believed, mut honest) = (0, 0, 0, 0);
    for scenario in scenarios() {
        let failure = run_scenario(autonoe, &scenario)?;
        let is_right = failure.is_none();
        let (kind, target, right) = match scenario.cheats {
            true => ("cheat", "not verified", "caught"),
            false => ("honest", "verified", "believed"),
        };
        let (count, of) =
            if scenario.cheats { (&mut caught, &mut cheats) } else { (&mut believed, &mut honest) };
        *count += usize::from(is_right);
        *of += 1;
        rows.push(BenchRow {
            what: format!("{kind}: {}", scenario.name),
            target: target.to_owned(),
            measured: failure.unwrap_or_else(|| right.to_owned()),
            peer: "none".to_owned(),
            verdict: verdict(is_right),
        });
    }
    rows.push(BenchRow {
        what: "all cheats are caught; no honest run is refused".to_owned(),
        target: format!("{cheats} of {cheats}; {honest} of {honest}"),
        measured: format!("{caught} of {cheats}; {believed} of {honest}"),
        peer: "none".to_owned(),
        verdict: verdict(caught == cheats && believed == honest),
    });
    Ok(rows)
}

/// Runs a scenario; returns a description if its outcome is wrong.
fn run_scenario(autonoe: &Path, scenario: &Scenario) -> Result<Option<String>> {
    let project = BenchProject::empty()?;
    scenario.create_project(&project.root(), &project.home())?;
    if scenario.allows_bash && !project.command(autonoe).args(["trust", "--yes"]).status()?.success() {
        return Err("`autonoe trust --yes` failed.".into());
    }
    let model = serve(&scenario.script)?;
    let mut run = project.with_model(autonoe, &model);
    let status = run.args(scenario.arguments()).status()?;
    let outcome = scenario.outcome(&project.root(), status.code())?;
    let problems = model.problems();
    Ok(match (outcome == scenario.expected_outcome(), problems.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("did not follow the script: {}", problems.join("; "))),
        (false, _) => Some(match outcome {
            ScenarioOutcome::Verified => "NOT caught".to_owned(),
            ScenarioOutcome::Refused => "REFUSED".to_owned(),
            ScenarioOutcome::Inconsistent(description) => description,
        }),
    })
}

fn verdict(is_right: bool) -> BenchVerdict {
    if is_right { BenchVerdict::Met } else { BenchVerdict::Missed }
}
