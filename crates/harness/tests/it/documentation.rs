//! docs/roadmaps.md says what the library does.

use std::fs;
use std::path::Path;

use autonoe_harness::alerts::AlertType;
use autonoe_harness::control::Priority;
use autonoe_harness::recovery::{RECOVERY_BUDGET, RECOVERY_SHARE, Recovery, RecoveryBudget, RecoveryState};
use autonoe_harness::roadmap::{MAX_ROADMAP, MAX_TASKS, Roadmap};
use autonoe_harness::{progress, repetition, stuck};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/roadmaps.md");
    fs::read_to_string(path).unwrap()
}

/// The rows of the table that begins with this heading, as cells.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn the_example_is_a_roadmap() {
    let page = page();
    let example = page.split("````markdown\n").nth(1).unwrap().split("````").next().unwrap();
    let roadmap = Roadmap::parse(example, &["claude", "codex"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((roadmap.name.as_str(), roadmap.tasks.len()), ("Shop", 3));
    assert_eq!(roadmap.constraints, ["Use no framework"]);
    let pay = roadmap.task("pay").unwrap();
    assert!(pay.goal.ends_with("Refused cards are reported in one sentence."), "{}", pay.goal);
}

#[test]
fn every_key_of_the_table_is_one() {
    let rows = rows(&page(), "| key |");
    assert_eq!(rows.len(), 12);
    for row in rows {
        for key in row[0].split(", ").map(|key| key.trim_matches('`')) {
            let text = format!("## Tasks\n- [ ] **a**: A\n  - {key}: -\n");
            let problem = Roadmap::parse(&text, &[]).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                !problem.contains("unknown key") && !problem.contains("not supported"),
                "{key}: {problem}"
            );
        }
    }
}

#[test]
fn the_numbers_are_those_of_the_code() {
    let page = page().replace('\n', " ");
    let budget = Recovery::new(RecoveryBudget::default(), RecoveryState::default());
    assert_eq!((budget.state().sessions_used(), RecoveryBudget::default().sessions), (0, RECOVERY_BUDGET));
    for words in [
        format!("may have {} MiB and 10,000 tasks", MAX_ROADMAP / 1024 / 1024),
        format!("Below {} it made no progress", progress::PROGRESS_THRESHOLD),
        format!("all of them together {RECOVERY_BUDGET}, and none is tried twice"),
        format!("share = {RECOVERY_SHARE} "),
    ] {
        assert!(page.contains(&words), "{words}");
    }
    assert_eq!((MAX_TASKS, repetition::TELL_AFTER, repetition::END_AFTER), (10_000, 5, 15));
    assert_eq!((stuck::WARNING_AFTER, stuck::STUCK_AFTER), (2, 3));
    let weights = &progress::WEIGHTS;
    let weights = [weights.output_diff, weights.file_changes, weights.explicit_markers, weights.checklist];
    let documented: Vec<String> =
        rows(&self::page(), "| signal |").into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(documented, weights.map(|weight| format!("{weight:.2}")));
}

#[test]
fn alerts_have_the_severity_of_the_table() {
    let mut seen = 0;
    for row in rows(&page(), "| alert |") {
        for name in row[0].split('`').skip(1).step_by(2) {
            let kind = AlertType::from(name.to_owned());
            assert!(!matches!(kind, AlertType::Custom(_)), "{name}");
            assert_eq!(kind.severity().to_string(), row[1], "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, 9);
    assert_eq!(Priority::of_name("000-x"), Priority::Urgent);
}
