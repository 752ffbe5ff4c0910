//! The documentation names the tests that show its promises; each of them exists.

use std::fs;
use std::path::{Path, PathBuf};

use super::support::CliTestProject;

const PAGES: [(&str, &str); 3] = [
    ("docs/verification.md", "crates/verify/tests/it"),
    ("docs/security.md", "crates/sandbox/tests/it"),
    ("docs/roadmaps.md", "crates/cli/tests/it"),
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A table cell such as `` `red_first.rs`: `a_test`, `another…`; `claims.rs` ``: files, each with the tests named after it.
fn named_tests(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut named: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        // Between two backquotes, and what is before the first of them.
        let pieces: Vec<&str> = line.split('`').collect();
        for pair in pieces.chunks_exact(2) {
            let (before, word) = (pair[0], pair[1]);
            let is_file = word.ends_with(".rs");
            let is_test = !is_file
                && word
                    .trim_end_matches('…')
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            match named.last_mut() {
                _ if is_file => named.push((word, Vec::new())),
                Some((_, tests)) if is_test && (before == ": " || (before == ", " && !tests.is_empty())) => {
                    tests.push(word)
                }
                Some(_) | None => {}
            }
        }
    }
    named
}

/// `red_first.rs` is in the page's directory, `verify/src/spec/tests.rs` in `crates`, `policy/path_gate.rs` in the sources of a crate.
fn find(file: &str, directory: &str) -> Option<String> {
    let (name, rest) = file.split_once('/').unwrap_or(("", file));
    let places =
        [format!("{directory}/{file}"), format!("crates/{file}"), format!("crates/{name}/src/{rest}")];
    places.iter().find_map(|place| fs::read_to_string(top().join(place)).ok())
}

#[test]
fn every_test_that_the_documentation_names_exists() {
    let mut missing = Vec::new();
    for (page, directory) in PAGES {
        let text = fs::read_to_string(top().join(page)).unwrap();
        let named = named_tests(&text);
        assert!(named.iter().map(|(_, tests)| tests.len()).sum::<usize>() > 10, "{page} names its tests");
        for (file, tests) in named {
            let Some(code) = find(file, directory) else {
                missing.push(format!("{page}: {file}"));
                continue;
            };
            let exists = |test: &&str| match test.strip_suffix('…') {
                Some(start) => code.contains(&format!("fn {start}")),
                None => code.contains(&format!("fn {test}(")),
            };
            missing.extend(
                tests.into_iter().filter(|test| !exists(test)).map(|test| format!("{page}: {file}: {test}")),
            );
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// A promise without a test is only a promise.
#[test]
fn every_row_of_promises_names_a_test() {
    let text = fs::read_to_string(top().join("docs/verification.md")).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| promise |")).skip(2);
    let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 15, "{rows:?}");
    for row in rows {
        assert!(named_tests(row).iter().any(|(_, tests)| !tests.is_empty()), "{row}");
    }
}

/// The exit status of `autonoe check-docs` and what it prints.
fn check_docs(pages: &[PathBuf]) -> (bool, String) {
    let output =
        CliTestProject::empty().autonoe(None).arg("check-docs").args(pages).output().expect("started");
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&printed).into_owned())
}

#[test]
fn every_command_in_the_documentation_is_understood() {
    let pages = fs::read_dir(top().join("docs")).expect("docs").map(|entry| entry.expect("a page").path());
    let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let (is_understood, printed) = check_docs(&pages.chain([top().join("README.md")]).collect::<Vec<_>>());
    assert!(is_understood, "{printed}");
    let count: usize =
        printed.split_whitespace().next().and_then(|count| count.parse().ok()).expect("a count");
    assert!(count > 50, "few commands were found: {printed}");
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("page.md");
    fs::write(&page, "Start `autonoe run --fast`, then:\n\n    autonoe status   # where it stands\n")
        .expect("written");
    let (is_understood, printed) = check_docs(&[page]);
    assert!(!is_understood && printed.contains("1 of 2 commands are not understood:\n"), "{printed}");
    assert!(printed.contains("page.md: autonoe run --fast: error: unexpected argument"), "{printed}");
}

/// What scripts, workflows and examples start must be accepted as it is, with the names of branches in it.
#[test]
fn every_command_in_scripts_and_workflows_is_understood() {
    let files =
        ["packaging/ci", ".github/workflows"].map(|place| fs::read_dir(top().join(place)).expect(place));
    let files = files.into_iter().flatten().map(|entry| entry.expect("a file").path());
    let (is_understood, printed) = check_docs(&files.chain([top().join("action.yml")]).collect::<Vec<_>>());
    assert!(is_understood, "{printed}");
    assert!(
        printed.starts_with("6 commands"),
        "the scripts, GitLab's job, the crontab and the action: {printed}"
    );
}

#[test]
fn a_script_that_cannot_work_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("crontab");
    fs::write(&script, "0 23 * * *  cd /p && autonoe run --branch autonoe\n0 1 * * *  autonoe tell\n")
        .expect("written");
    let (is_understood, printed) = check_docs(&[script]);
    assert!(!is_understood && printed.contains("2 of 2 commands are not understood:\n"), "{printed}");
    assert!(printed.contains("names that begin with autonoe are for what runs leave"), "{printed}");
}
