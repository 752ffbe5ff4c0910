use std::path::Path;
use std::time::Duration;

use super::{FleetFile, OnComplete, VoteSelection, plain_name};
use crate::coordination_strategy::CoordinationStrategy;

const BACKENDS: [&str; 4] = ["claude", "codex", "gemini", "native"];

const FILE: &str = "\
# Fleet: The Book Shop

## Objective
Sell books.

## Strategy
coordination: parallel
fail_fast: true
- max_concurrent: 5
- timeout: 8h
- use_worktrees: true

## Sub-Harnesses

### api
- working_dir: ./api
- roadmap: api/ROADMAP.md
- cli: codex
- depends: none

### web
- roadmap: ./web.md
- cli: Claude, gemini
- model: `opus`
- depends: api

## Aggregation
on_complete: merge_all
output_dir: ./out
";

fn valid(text: &str) -> FleetFile {
    FleetFile::parse(text, &BACKENDS, &mut |_| Ok(1)).expect(text).0
}

fn problems(text: &str) -> Vec<String> {
    let error = FleetFile::parse(text, &BACKENDS, &mut |_| Ok(1)).expect_err(text);
    error.to_string().lines().map(str::to_owned).collect()
}

fn file(strategy: &str, harnesses: &str) -> String {
    format!("## Strategy\n{strategy}\n## Sub-Harnesses\n{harnesses}")
}

#[test]
fn a_whole_file_is_read() {
    let fleet = valid(FILE);
    assert_eq!((fleet.name.as_str(), fleet.objective.as_str()), ("the-book-shop", "Sell books."));
    let settings = &fleet.settings;
    assert_eq!(
        (settings.coordination, settings.fail_fast, settings.max_concurrent),
        (CoordinationStrategy::Parallel, true, 5)
    );
    assert_eq!(settings.max_total_time, Duration::from_secs(8 * 3600));
    let [api, web] = &fleet.harnesses[..] else { panic!("two") };
    assert_eq!(
        (api.working_dir.as_path(), api.roadmap.as_path()),
        (Path::new("./api"), Path::new("api/ROADMAP.md"))
    );
    assert_eq!((api.cli.as_slice(), api.depends.len()), (&["codex".to_owned()][..], 0));
    assert_eq!(
        (web.cli.join(","), web.model.as_deref(), web.depends.as_slice()),
        ("claude,gemini".to_owned(), Some("opus"), &["api".to_owned()][..])
    );
    assert_eq!(
        (fleet.aggregation.on_complete, fleet.aggregation.output_dir.as_deref()),
        (OnComplete::MergeAll, Some(Path::new("./out")))
    );
    assert_eq!(valid(&FILE.replace('\n', "\r\n")), fleet);
}

#[test]
fn names_and_defaults_are_those_of_the_original_but_for_the_time_of_one_harness() {
    // parallel{fail_fast=false, max_concurrent=10}; pipeline{stop_on_failure=true, pass_context=true, initial_context};
    // race{min_progress_to_win=.8, terminate_losers=true}; voting{min_votes=2, selection_criteria=first|…}; retry_failed true, max_retries 2.
    // Its default_timeout of 60 min was never used; here there is none, since harnesses work overnight.
    let two = "### a\nroadmap: a.md\n### b\nroadmap: b.md\n";
    let settings = |strategy: &str| valid(&file(strategy, two)).settings;
    for (name, strategy) in [
        ("parallel", CoordinationStrategy::Parallel),
        ("Pipeline", CoordinationStrategy::Pipeline),
        ("race", CoordinationStrategy::Race),
        ("voting", CoordinationStrategy::Voting),
    ] {
        let found = settings(&format!("- coordination: {name}"));
        assert_eq!((found.coordination, found.fail_fast, found.max_concurrent), (strategy, false, 10));
        assert_eq!((found.stop_on_failure, found.pass_context, found.initial_context), (true, true, None));
        assert_eq!((found.min_progress_to_win, found.terminate_losers), (0.8, true));
        assert_eq!((found.min_votes, found.selection_criteria), (2, VoteSelection::First));
        assert_eq!((found.retry_failed, found.max_retries), (true, 2));
        assert_eq!((found.max_total_time, found.default_timeout), (Duration::from_secs(24 * 3600), None));
    }
    let pipeline = settings(
        "coordination: pipeline\nstop_on_failure: no\npass_context: false\ninitial_context: Use Rust.",
    );
    assert_eq!(
        (pipeline.stop_on_failure, pipeline.pass_context, pipeline.initial_context.as_deref()),
        (false, false, Some("Use Rust."))
    );
    let race = settings("coordination: race\nmin_progress_to_win: 1\nterminate_losers: false");
    assert_eq!((race.min_progress_to_win, race.terminate_losers), (1.0, false));
    let voting = settings("coordination: voting\nmin_votes: 1\nselection_criteria: fastest");
    assert_eq!((voting.min_votes, voting.selection_criteria), (1, VoteSelection::Fastest));
}

#[test]
fn every_problem_is_reported_at_once_with_its_line() {
    let text = "\
## Stratgy
## Strategy
coordination: paralel
max_concurrent: 0
min_votes: 3
frobnicate: 1
max_concurrent: 2
worktree_base: main
no key
## Sub-Harnesses
cli: codex
### a b
- roadmap: /etc/passwd
### web
- roadmap: web/R.md
- working_dir: api
- cli: clade
- depends: wep
### web
- depnds: x
### lost
## Aggregation
on_complete: push
";
    let found = problems(text);
    for expected in [
        "line 1: unknown section 'Stratgy'; the sections are Objective, Strategy, Sub-Harnesses and Aggregation; did you mean 'Strategy'?",
        "line 3: 'paralel' is not a valid coordination; expected parallel, pipeline, race or voting",
        "line 4: '0' is not a valid max_concurrent; expected a number from 1 to 1000000",
        "line 5: 'min_votes' has no meaning for parallel; leave it out",
        "line 6: unknown key 'frobnicate'",
        "line 7: a second 'max_concurrent'",
        "line 8: 'worktree_base' is not supported: every harness starts from your last commit; leave it out",
        "line 9: expected `key: value`",
        "line 11: this line belongs to no harness; begin one with `### id`",
        "line 13: '/etc/passwd' leads out of the project; write a path below it",
        "line 14: the roadmap 'web/R.md' is not in 'api', where the harness works",
        "line 17: unknown backend 'clade'; the backends are claude, codex, gemini, native; did you mean 'claude'?",
        "line 14: unknown harness 'wep' in `depends`; did you mean 'web'?",
        "line 19: two harnesses are called 'web'; the other one is in line 14",
        "line 20: unknown key 'depnds'; did you mean 'depends'?",
        "line 21: the harness 'lost' has no roadmap; write `- roadmap: FILE`",
        "line 23: 'push' is not a valid on_complete; expected `merge_all` or `keep`",
    ] {
        assert!(found.iter().any(|line| line == expected), "{expected}\n{found:#?}");
    }
    let lines: Vec<usize> =
        found.iter().map(|line| line[5..line.find(':').expect("a colon")].parse().expect("a line")).collect();
    assert!(lines.is_sorted(), "{lines:?}");
}

#[test]
fn what_is_wrong_with_an_id_is_said() {
    let said =
        |id: &str| problems(&file("coordination: parallel", &format!("### {id}\nroadmap: r.md\n"))).join("");
    assert_eq!(said("fleet.lock"), "line 4: 'fleet.lock' is not an id: it ends with `.lock`");
    assert_eq!(said("a..b"), "line 4: 'a..b' is not an id: it contains `..`");
    assert_eq!(said("shared"), "line 4: 'shared' is not an id: Autonoe uses this name for files of its own");
}

#[test]
fn a_circle_is_shown_as_a_path() {
    let harness = |id: &str, depends: &str| format!("### {id}\nroadmap: r.md\ndepends: {depends}\n");
    let circle = [harness("a", "c"), harness("b", "a"), harness("c", "b"), harness("d", "d")].concat();
    let found = problems(&file("coordination: parallel", &circle));
    assert_eq!(
        found,
        [
            "line 4: these harnesses wait for each other: a → c → b → a",
            "line 13: the harness depends on itself"
        ]
    );
}

/// What a file says of its roadmaps, and what is wrong with them, is reported with everything else.
#[test]
fn no_problem_hides_another_one() {
    let harness = |id: &str, rest: &str| format!("### {id}\nroadmap: {id}.md\n{rest}");
    let read = |path: &Path| match path.to_str() {
        Some("b.md") => Err("b.md cannot be read: it does not exist".to_owned()),
        Some("free.md") => Ok(0),
        _ => Ok(2),
    };
    let found = |strategy: &str, harnesses: &[String]| {
        let text = file(strategy, &harnesses.concat());
        FleetFile::parse(&text, &BACKENDS, &mut |path| read(path)).expect_err(&text).to_string()
    };
    let circle = [harness("a", "depends: b\nfrob: 1\n"), harness("b", "depends: a\n"), harness("a", "")];
    assert_eq!(
        found("coordination: parallel", &circle),
        "line 4: these harnesses wait for each other: a → b → a\n\
         line 7: unknown key 'frob'\n\
         line 8: b.md cannot be read: it does not exist\n\
         line 11: two harnesses are called 'a'; the other one is in line 4"
    );
    let race =
        [harness("a", ""), harness("free", "depends: a\n"), "### other\nroadmap: free.md\n".to_owned()];
    assert_eq!(
        found("coordination: voting", &race),
        "line 6: 'depends' has no meaning for voting; leave it out\n\
         line 6: the checks decide in a vote, and free.md has none; add `- check:` to its tasks"
    );
    let (_, checked) = FleetFile::parse(
        &file("coordination: parallel", &[harness("a", ""), harness("free", "")].concat()),
        &BACKENDS,
        &mut |path| read(path),
    )
    .expect("valid");
    assert_eq!(checked, [2, 0]);
}

#[test]
fn a_strategy_needs_harnesses_that_fit_it() {
    let one = "### a\nroadmap: a.md\n";
    let two = format!("{one}### b\nroadmap: b.md\n");
    let said = |strategy: &str, harnesses: &str| problems(&file(strategy, harnesses)).join("\n");
    assert_eq!(said("coordination: race", one), "line 3: a race needs at least 2 harnesses, and there are 1");
    assert_eq!(
        said("coordination: voting\nmin_votes: 3", &two),
        "line 4: a vote needs at least 3 harnesses, and there are 2"
    );
    assert_eq!(
        said("coordination: race", &format!("{two}depends: a\n")),
        "line 6: 'depends' has no meaning for race; leave it out"
    );
    assert_eq!(
        said("coordination: pipeline", &format!("### first\nroadmap: r.md\ndepends: a\n{one}")),
        "line 4: the stage 'first' depends on 'a', which comes after it; a pipeline runs in the order of the file"
    );
    assert_eq!(
        said("coordination: parallel", ""),
        "line 3: the fleet has no harness; write one below `## Sub-Harnesses`: `### id`"
    );
    assert_eq!(
        problems(""),
        [
            "line 1: the strategy is missing; write `- coordination: parallel` below `## Strategy`",
            "line 1: the fleet has no harness; write one below `## Sub-Harnesses`: `### id`"
        ]
    );
    assert_eq!(
        said("coordination: race\nmin_progress_to_win: 2", ""),
        "line 3: '2' is not a valid min_progress_to_win; expected a number from 0 to 1\n\
         line 4: the fleet has no harness; write one below `## Sub-Harnesses`: `### id`"
    );
    // A harness that was lost has its own problem.
    assert!(
        !problems("## Strategy\ncoordination: parallel\n### a\nroadmap: a.md\n")
            .join("")
            .contains("no harness")
    );
    assert_eq!(problems(&"x".repeat(2 << 20)), ["line 1: the file is larger than 1 MiB"]);
}

#[test]
fn the_name_is_a_part_of_branches() {
    for (title, name) in [
        ("Shop", "shop"),
        ("A & B!", "a-b"),
        ("7", "fleet-7"),
        ("../..", "fleet"),
        ("Ä", "fleet"),
        (&"x".repeat(90), &"x".repeat(40)),
    ] {
        assert_eq!(plain_name(title), name);
    }
}
