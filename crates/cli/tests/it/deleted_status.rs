//! A `status.json` that somebody deletes between two runs is restored from the journal, and never planned anew in silence.

use std::fs;

use super::support::{Place, assert_followed, builder, model};

/// A project of which A and B have passed, and whose `status.json` is gone.
fn deleted() -> (Place, String) {
    let place = Place::new();
    place.run(&model(&builder()), &["run", "-n", "3"]).assert_ended("max_iterations", 4);
    let text = place.read(".autonoe/status.json");
    assert_eq!(place.statuses().iter().filter(|(_, status)| *status == "passed").count(), 2);
    fs::remove_file(place.path(".autonoe/status.json")).expect("removed");
    (place, text)
}

#[test]
fn the_next_run_restores_it_says_so_and_goes_on() {
    let (place, _) = deleted();
    let said = place.autonoe(None).arg("status").output().expect("started").stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("status.json is gone") && said.contains("3 deliverable(s), 2 passed"), "{said}");
    let model = model(&builder());
    let run = place.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.sessions(), ["coding"], "nothing is planned anew");
    let told: Vec<_> = run.of_type("trouble").filter_map(|event| event["message"].as_str()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    for words in
        ["status.json was deleted", "restored from the journal", "3 deliverable(s), 2 passed", "--start-over"]
    {
        assert!(told[0].contains(words) && run.stderr.contains(words), "{told:?}");
    }
    assert_followed(&model);
}

#[test]
fn what_is_done_is_known_to_be_done_without_anybody_to_do_it() {
    let place = Place::new();
    place.run(&model(&builder()), &["run"]).assert_ended("all_passed", 0);
    fs::remove_dir_all(place.path(".autonoe")).expect("removed");
    let output = place.autonoe(None).args(["run", "--backend", "native"]).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(place.statuses().len(), 3);
}

#[test]
fn who_starts_over_plans_anew_once() {
    let (place, text) = deleted();
    fs::write(place.path(".autonoe/status.json"), &text).expect("written");
    let scripted = model(&builder());
    let run = place.run(&scripted, &["run", "--start-over", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    assert_eq!(run.sessions(), ["initializer"]);
    assert!(place.statuses().iter().all(|(_, status)| *status == "pending"));
    let said = &run.stderr;
    let aside =
        said.split("put aside, in ").nth(1).and_then(|rest| rest.split(".\n").next()).expect("a place");
    assert_eq!(fs::read_to_string(aside).expect("kept"), text, "nothing is lost");
    let run = place.run(&scripted, &["run", "-n", "1"]);
    assert_eq!(run.sessions(), ["coding"], "the next run goes on");
}

#[test]
fn starting_over_works_for_a_file_that_is_gone_too() {
    let (place, _) = deleted();
    let run = place.run(&model(&builder()), &["run", "--start-over", "-n", "1"]);
    assert_eq!(run.sessions(), ["initializer"]);
    assert_eq!(run.of_type("trouble").count(), 0, "{}", run.stderr);
}

#[test]
fn a_journal_of_an_older_version_asks_what_to_do_and_begins_nothing() {
    let (place, _) = deleted();
    let journal = rusqlite::Connection::open(place.journal()).expect("journal");
    journal.execute("UPDATE status_writes SET after = NULL", []).expect("as it was kept before");
    let runs = |db: &rusqlite::Connection| -> i64 {
        db.query_row("SELECT COUNT(*) FROM runs", [], |row| row.get(0)).expect("count")
    };
    let before = runs(&journal);
    let model = model(&builder());
    let output = place.command(&model, &["run"]).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("is gone") && said.contains("version control") && said.contains("--start-over"),
        "{said}"
    );
    assert_eq!((model.requests().len(), runs(&journal)), (0, before), "nothing was begun");
    place.run(&model, &["run", "--start-over", "-n", "1"]).assert_ended("max_iterations", 4);
}
