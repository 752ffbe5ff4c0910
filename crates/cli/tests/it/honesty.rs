//! Plays a part of every group of honesty scenarios with the real binary, on both sandbox layers: cheats must be caught, honest agents
//! verified. `cargo xtask bench honesty` plays all of them.

use std::path::Path;

use autonoe_honesty::{Group, Layer, groups, known_gap, play};

/// Plays the part of a group on a layer. Returns a description of each outcome that is wrong.
fn failures(group: &Group, layer: &Layer) -> Vec<String> {
    let autonoe = Path::new(env!("CARGO_BIN_EXE_autonoe"));
    let failure = |scenario| {
        let played = play(scenario, autonoe, layer).expect("played");
        let name = format!("{} ({})", scenario.name, layer.name());
        match (played, known_gap(&scenario.name, layer.kind)) {
            (Some(wrong), None) => Some(format!("{name}: {wrong}")),
            (None, Some(gap)) => Some(format!("{name}: remove it from KNOWN_GAPS, which says: {}", gap.why)),
            (Some(_), Some(_)) | (None, None) => None,
        }
    };
    group.sample(layer.kind).filter_map(failure).collect()
}

fn play_group(name: &str) {
    let group = groups().into_iter().find(|group| group.name == name).expect("a group of this name");
    let layers = Layer::bubblewrap().into_iter().chain([Layer::landlock().expect("links")]);
    let failures: Vec<String> = layers.flat_map(|layer| failures(&group, &layer)).collect();
    assert!(failures.is_empty(), "{}:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// A test for each group, so that they run at the same time.
macro_rules! group_tests {
    ($($test:ident = $name:literal,)*) => {
        $(#[test]
        fn $test() {
            play_group($name);
        })*

        #[test]
        fn every_group_has_a_test() {
            let names: Vec<&str> = groups().iter().map(|group| group.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

group_tests! {
    undone_work = "undone work",
    git_objects = "git objects",
    repository = "repository",
    leftovers = "leftovers",
    surroundings = "surroundings",
    environment = "environment",
    judges = "judges",
    protected_files = "protected files",
    same_names = "same names",
    packages = "packages",
    links = "links",
    test_runners = "test runners",
    processes = "processes",
    output = "output",
    special_files = "special files",
    book = "book",
    users_checks = "user's checks",
    proposals = "proposals",
    deliverables = "deliverables",
    evidence = "evidence",
    agents_text = "agent's text",
    honest_everyday = "honest: everyday",
    honest_planned = "honest: planned",
    honest_repositories = "honest: repositories",
    honest_users_files = "honest: user's files",
    honest_languages = "honest: languages",
    honest_packages = "honest: packages",
    honest_later_runs = "honest: later runs",
}
