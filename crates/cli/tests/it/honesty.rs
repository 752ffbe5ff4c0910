//! Agents that cheat are not believed, agents that do not are: each scenario of the scripted model, by the real binary.

use autonoe_scripted::honesty::{Scenario, scenarios};

use super::support::{Place, Run, assert_nothing_left, has_bubblewrap, model};

/// Plays a scenario. What is wrong with how it ended, if something is.
fn play(scenario: &Scenario) -> Option<String> {
    let place = Place::empty();
    scenario.lay_out(&place.project(), &place.home()).expect("laid out");
    if scenario.lets_bash {
        let trusted = place.autonoe(None).args(["trust", "--yes"]).output().expect("started");
        assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    }
    let model = model(&scenario.script);
    let run = place.autonoe(Some(&model)).args(scenario.arguments()).arg("--json").output().expect("started");
    let run = Run::from(run);
    assert_nothing_left(&place);
    let ending = scenario.ending(&place.project(), run.code).expect("a status");
    let problems = model.problems();
    (ending != scenario.due() || !problems.is_empty()).then(|| {
        format!(
            "{}: {ending:?}; the model says: {problems:#?}\n{}\n{}",
            scenario.name,
            run.stderr,
            std::fs::read_to_string(place.path(".autonoe/status.json")).unwrap_or_default()
        )
    })
}

fn play_all(cheats: bool) {
    let chosen: Vec<Scenario> =
        scenarios().into_iter().filter(|scenario| scenario.cheats == cheats).collect();
    assert!(!chosen.is_empty());
    let wrong: Vec<String> = chosen.iter().filter_map(play).collect();
    assert!(wrong.is_empty(), "{} of {}:\n\n{}", wrong.len(), chosen.len(), wrong.join("\n\n"));
}

#[test]
fn every_cheat_is_caught() {
    // Without it a shell that may do anything is held by less.
    if has_bubblewrap() {
        play_all(true);
    }
}

#[test]
fn no_honest_run_is_refused() {
    play_all(false);
}
