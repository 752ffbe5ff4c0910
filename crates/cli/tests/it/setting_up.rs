//! From a directory to the first run: `init`, and `run` with a sentence.

use std::fs;

use super::support::{CliTestProject, RunOutput, builder, has_bubblewrap, model};

fn text(project: &CliTestProject, args: &[&str]) -> (Option<i32>, String, String) {
    let output = project.autonoe(None).args(args).output().expect("started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn init_says_what_it_found_and_writes_what_fits() {
    let project = CliTestProject::empty();
    project.write("package.json", r#"{"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "3"}}"#);
    project.write("server/go.mod", "module example.com/server\n");
    project.write(".github/workflows/ci.yml", "on: push\n");
    let (code, out, err) = text(&project, &["init"]);
    assert_eq!(code, Some(0), "{err}");
    for line in [
        "JavaScript, with npm (package.json); tests: npm install && npm test",
        "Go, with go (server/go.mod); tests: cd server && go test ./...",
        "no git repository; the first run creates one",
        "CI: GitHub Actions (.github/workflows)",
        "SPEC.md has the check `cd server && go test ./...`",
        "SPEC.md shows the check `npm install && npm test` as an example only",
        "agent.json has the profiles node, go",
    ] {
        assert!(out.contains(line), "{line:?} is missing in:\n{out}");
    }
    let config: serde_json::Value = serde_json::from_str(&project.read(".autonoe/agent.json")).expect("JSON");
    assert_eq!(config["profile"], serde_json::json!(["node", "go"]));
    assert_eq!(config["allowCommands"], serde_json::json!([]));
    assert!(
        project.read("SPEC.md").contains("```check name=go-tests time=10m\n$ cd server && go test ./...\n")
    );
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), "[checks]\nnetwork = true\n").expect("written");
    fs::remove_file(project.path("SPEC.md")).expect("removed");
    let (_, out, _) = text(&project, &["init"]);
    assert!(out.contains("SPEC.md has the check `npm install && npm test`"), "{out}");
    assert!(out.contains(".autonoe/agent.json: already exists") && !out.contains("has the profile"), "{out}");
}

#[test]
fn commands_that_init_allows_need_an_approval() {
    let project = CliTestProject::empty();
    project.write("pom.xml", "<project/>");
    let (_, out, _) = text(&project, &["init"]);
    assert!(out.contains("allows the commands mvn; approve that with `autonoe trust`"), "{out}");
    assert!(out.contains("Packages come from repo.maven.apache.org"), "{out}");
    let (code, out, _) = text(&project, &["trust", "--yes"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("command in run: mvn"), "{out}");
}

#[test]
fn init_reads_nothing_but_regular_files() {
    let project = CliTestProject::empty();
    fs::create_dir(project.path("Cargo.toml")).expect("made");
    rustix::fs::mkfifoat(rustix::fs::CWD, project.path("package.json"), rustix::fs::Mode::RWXU)
        .expect("made");
    let (code, out, err) = text(&project, &["init"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("no language that autonoe recognizes"), "{out}");
}

#[test]
fn the_check_that_init_writes_decides() {
    if !has_bubblewrap() {
        return;
    }
    let project = CliTestProject::empty();
    project.write("Makefile", "test:\n\ttest -f work-A.txt\n");
    text(&project, &["init"]);
    project.write("SPEC.md", &project.read("SPEC.md").replace("For example:", "Build A, B and C:"));
    let run = project.run(&model(&builder()), &["run"]);
    run.assert_ended("all_passed", 0);
    let checked = |purpose: &str| {
        let events = run.of_type("checked").filter(move |event| event["purpose"] == purpose);
        events.map(|event| (event["check"].to_string(), event["passed"] == true)).collect::<Vec<_>>()
    };
    assert_eq!(checked("red_first"), [("\"make-tests\"".to_owned(), false)]);
    assert_eq!(checked("confirmation"), [("\"make-tests\"".to_owned(), true)]);
}

#[test]
fn a_sentence_becomes_the_specification() {
    let project = CliTestProject::empty();
    project.write("go.mod", "module example.com/x\n");
    let server = model(&builder());
    let output =
        project.command(&server, &["run", "build A, B and C", "--no-sandbox"]).output().expect("started");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("you did not agree") && err.contains("--yes agrees"), "{err}");
    assert!(!project.path("SPEC.md").exists() && server.requests().is_empty(), "nothing happened");

    fs::remove_file(project.path("go.mod")).expect("removed");
    let output = project.command(&server, &["run", "build A, B and C", "--yes"]).output().expect("started");
    let output = RunOutput::from(output);
    output.assert_ended("all_passed", 0);
    assert!(output.stderr.contains("SPEC.md will be:\n\n  # Build A, B and C"), "{}", output.stderr);
    assert_eq!(project.read("SPEC.md"), "# Build A, B and C\n\nbuild A, B and C\n");
}

#[test]
fn a_sentence_never_replaces_a_specification() {
    let project = CliTestProject::new();
    let spec = project.read("SPEC.md");
    let (code, _, err) = text(&project, &["run", "add login", "--yes"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("SPEC.md is here already, so it was not made from \"add login\""), "{err}");
    assert!(err.contains("Add it to SPEC.md and start `autonoe run`"), "{err}");
    assert_eq!(project.read("SPEC.md"), spec);
    fs::remove_file(project.path("SPEC.md")).expect("removed");
    text(&project, &["init"]);
    let (_, _, err) = text(&project, &["run", "add login", "--yes"]);
    assert!(err.contains("the untouched template") && err.contains("Delete SPEC.md"), "{err}");
    for (args, wanted) in [
        (&["run", " ", "--yes"][..], "is empty"),
        (&["run", "```check", "--yes"], "cannot become a SPEC.md"),
        (&["run", "--yes"], "<SENTENCE>"),
    ] {
        fs::remove_file(project.path("SPEC.md")).unwrap_or_default();
        let (code, _, err) = text(&project, args);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(wanted), "{err}");
        assert!(!project.path("SPEC.md").exists());
    }
}
