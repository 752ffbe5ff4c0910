//! Runs every honesty scenario with the real binary: cheats must be refused, honest agents verified.

use autonoe_honesty::{Scenario, scenarios};

use super::support::{CliTestProject, RunOutput, assert_no_processes_left, has_bubblewrap, model};

/// Runs a scenario; returns a description if its outcome is wrong.
fn run_scenario(scenario: &Scenario) -> Option<String> {
    let project = CliTestProject::empty();
    scenario.create_project(&project.root(), &project.home()).expect("created");
    if scenario.allows_bash {
        let trusted = project.autonoe(None).args(["trust", "--yes"]).output().expect("started");
        assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    }
    let model = model(&scenario.script);
    let run =
        project.autonoe(Some(&model)).args(scenario.arguments()).arg("--json").output().expect("started");
    let run = RunOutput::from(run);
    assert_no_processes_left(&project);
    let outcome = scenario.outcome(&project.root(), run.code).expect("a status");
    let problems = model.problems();
    (outcome != scenario.expected_outcome() || !problems.is_empty()).then(|| {
        format!(
            "{}: {outcome:?}; script problems: {problems:#?}\n{}\n{}",
            scenario.name,
            run.stderr,
            std::fs::read_to_string(project.path(".autonoe/status.json")).unwrap_or_default()
        )
    })
}

fn run_all(cheats: bool) {
    let selected: Vec<Scenario> =
        scenarios().into_iter().filter(|scenario| scenario.cheats == cheats).collect();
    assert!(!selected.is_empty());
    let failures: Vec<String> = selected.iter().filter_map(run_scenario).collect();
    assert!(failures.is_empty(), "{} of {}:\n\n{}", failures.len(), selected.len(), failures.join("\n\n"));
}

#[test]
fn every_cheat_is_caught() {
    // Without bubblewrap the sandbox does not stop all of the cheats.
    if has_bubblewrap() {
        run_all(true);
    }
}

#[test]
fn no_honest_run_is_refused() {
    run_all(false);
}
