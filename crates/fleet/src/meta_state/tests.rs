use std::fs;

use jiff::Timestamp;

use super::{MetaState, Request};
use crate::fleet_file::FleetFile;

fn plan(name: &str) -> FleetFile {
    let text =
        format!("# {name}\n## Strategy\ncoordination: parallel\n## Sub-Harnesses\n### a\nroadmap: a.md\n");
    FleetFile::parse(&text, &[], &mut |_| Ok(1)).expect("valid").0
}

#[test]
fn a_fleet_is_continued_and_another_one_waits_for_its_end() {
    let project = tempfile::tempdir().expect("directory");
    fs::create_dir(project.path().join(".harness")).expect("directory");
    assert!(MetaState::find(project.path()).expect("nothing").is_none());
    let state = MetaState::open(project.path()).expect("opened");
    let now = Timestamp::now();
    let begun = state.begin(&plan("one"), &[3], now).expect("begun");
    assert_eq!((begun.number, state.harnesses().expect("rows")[0].checked_tasks), (1, 3));
    state.request(Some(Request::Pause)).expect("requested");
    let other = MetaState::find(project.path()).expect("opened").expect("there");
    let continued = other.begin(&plan("one"), &[9], now).expect("continued");
    assert_eq!((continued.number, continued.request), (1, Some(Request::Pause)));
    let refused = other.begin(&plan("two"), &[1], now).expect_err("the first has not ended").to_string();
    assert!(refused.starts_with("The fleet 'one' has not ended;"), "{refused}");
    let result = crate::AggregatedResult::new(begun.plan.settings.coordination, Vec::new());
    state.finish(&result, now).expect("finished");
    assert_eq!(other.begin(&plan("two"), &[1], now).expect("begun").number, 2);
}

#[test]
fn what_is_not_ours_is_neither_used_nor_replaced() {
    let project = tempfile::tempdir().expect("directory");
    fs::create_dir(project.path().join(".harness")).expect("directory");
    let file = project.path().join(".harness/meta_state.db");
    fs::write(&file, "not a database, but something of the user's that is long enough".repeat(20))
        .expect("written");
    assert!(MetaState::open(project.path()).is_err());
    assert!(MetaState::find(project.path()).is_err());
    assert!(fs::read_to_string(&file).expect("text").starts_with("not a database"));
    fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("/etc/hostname", &file).expect("link");
    let error = MetaState::open(project.path()).map(drop).expect_err("a link").to_string();
    assert!(error.ends_with("is a symbolic link, not a regular file."), "{error}");
}
