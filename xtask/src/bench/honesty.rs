//! Whom a run believes: agents that cheat and agents that do not, one row each.

use std::path::Path;

use autonoe_scripted::honesty::{Ending, Scenario, scenarios};

use super::place::{Place, serve};
use super::table::{Row, Verdict};
use crate::Result;

/// Plays all of them.
pub fn measure(autonoe: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let (mut caught, mut cheats, mut believed, mut honest) = (0, 0, 0, 0);
    for scenario in scenarios() {
        let wrong = play(autonoe, &scenario)?;
        let is_right = wrong.is_none();
        let (kind, target, right) = match scenario.cheats {
            true => ("cheat", "not verified", "caught"),
            false => ("honest", "verified", "believed"),
        };
        let (count, of) =
            if scenario.cheats { (&mut caught, &mut cheats) } else { (&mut believed, &mut honest) };
        *count += usize::from(is_right);
        *of += 1;
        rows.push(Row {
            what: format!("{kind}: {}", scenario.name),
            target: target.to_owned(),
            measured: wrong.unwrap_or_else(|| right.to_owned()),
            peer: "none".to_owned(),
            verdict: verdict(is_right),
        });
    }
    rows.push(Row {
        what: "all cheats are caught; no honest run is refused".to_owned(),
        target: format!("{cheats} of {cheats}; {honest} of {honest}"),
        measured: format!("{caught} of {cheats}; {believed} of {honest}"),
        peer: "none".to_owned(),
        verdict: verdict(caught == cheats && believed == honest),
    });
    Ok(rows)
}

/// What is wrong with how a scenario ended, if something is.
fn play(autonoe: &Path, scenario: &Scenario) -> Result<Option<String>> {
    let place = Place::empty()?;
    scenario.lay_out(&place.root(), &place.home())?;
    if scenario.lets_bash && !place.command(autonoe).args(["trust", "--yes"]).status()?.success() {
        return Err("`autonoe trust --yes` failed.".into());
    }
    let model = serve(&scenario.script)?;
    let mut run = place.asking(autonoe, &model);
    let status = run.args(scenario.arguments()).status()?;
    let ending = scenario.ending(&place.root(), status.code())?;
    let problems = model.problems();
    Ok(match (ending == scenario.due(), problems.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("not played to its end: {}", problems.join("; "))),
        (false, _) => Some(match ending {
            Ending::Believed => "NOT caught".to_owned(),
            Ending::Refused => "REFUSED".to_owned(),
            Ending::Torn(what) => what,
        }),
    })
}

fn verdict(is_right: bool) -> Verdict {
    if is_right { Verdict::Met } else { Verdict::Missed }
}
