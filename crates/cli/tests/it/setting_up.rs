//! From a directory to the first run: `init`, and `run` with a sentence.

use std::fs;

use autonoe_test_kit::write_program;

use super::claude::claude;
use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, assert_script_followed, builder,
    has_bubblewrap, model, until, without_bubblewrap,
};

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
fn a_sentence_can_be_built_in_the_background() {
    let project = CliTestProject::empty();
    let server = model(&builder());
    let mut command = project.autonoe(Some(&server));
    command.args(["run", "build A, B and C", "--yes", "--detach", "--in-place", "--backend", "native"]);
    let output = command.args(["--session-delay", "0s"]).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(project.read("SPEC.md"), "# Build A, B and C\n\nbuild A, B and C\n");
    let all_passed = || text(&project, &["status"]).1.contains("3/3 deliverables passed");
    until("everything has passed", all_passed);
    assert_no_processes_left(&project);
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

const SERVER: &str = include_str!("../../src/commands/demo/conventions-server.sh");

#[test]
fn mcp_servers_of_other_tools_are_used_once_they_are_approved() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write("server.sh", SERVER);
    project.write(
        ".mcp.json",
        r#"{"mcpServers": {"team": {"command": "sh", "args": ["server.sh"]}, "old": {"type": "sse", "url": "https://x.invalid"}}}"#,
    );
    let (_, out, _) = text(&project, &["doctor"]);
    assert!(out.contains("not used until you approve them with `autonoe trust`: team (.mcp.json)"), "{out}");
    assert!(out.contains("note ignored: MCP server old of .mcp.json"), "{out}");
    let turns = |expected: &str| {
        format!(
            r#"
            [[conversation.turn]]
            call = [{{ tool = "mcp__team__conventions", input = {{}} }}]
            [[conversation.turn]]
            expect = "{expected}"
            text = "done"
            "#
        )
    };
    let before = model(&always(&turns("There is no tool 'mcp__team__conventions'")));
    project.run(&before, &["run", "-n", "1"]);
    assert_script_followed(&before);

    let (code, out, _) = text(&project, &["trust"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("MCP server team (.mcp.json): {\"command\":\"sh\""), "{out}");
    assert!(out.contains("Not approved: runs do not use them"), "without a terminal nobody can agree: {out}");
    let (_, out, _) = text(&project, &["trust", "--yes"]);
    assert!(out.contains("Approved.") && out.contains("Not usable: MCP server old"), "{out}");
    let after = model(&always(&turns("Name a test case in lower case")));
    project.run(&after, &["run", "-n", "1"]);
    assert_script_followed(&after);
    let (_, out, _) = text(&project, &["doctor"]);
    assert!(out.contains("ok   MCP servers of other tools: used, as you have approved: team"), "{out}");

    project.write(".mcp.json", &project.read(".mcp.json").replace("server.sh", "other.sh"));
    let (_, out, _) = text(&project, &["doctor"]);
    assert!(out.contains("not used until you approve them"), "a change needs a new approval: {out}");
}

const REVIEWER: &str =
    "---\nname: reviewer\ndescription: Reviews changes\ntools: Read\n---\nBegin with the word INSPECTED.\n";

/// The main agent starts the project's sub-agent, and then takes the turns `after`.
fn asks_the_reviewer(tool: &str, after: &str) -> String {
    format!(
        r#"
        [[conversation]]
        when = "look at a.txt"
          [[conversation.turn]]
          text = "INSPECTED and fine"
        [[conversation]]
          [[conversation.turn]]
          call = [{{ tool = "{tool}", input = {{ description = "review", prompt = "look at a.txt", subagent_type = "reviewer" }} }}]
          {after}
        "#
    )
}

#[test]
fn the_projects_sub_agents_work_with_the_native_agent() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write(".claude/agents/reviewer.md", REVIEWER);
    let after = r#"
          [[conversation.turn]]
          expect = "INSPECTED and fine"
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
    "#;
    let server = model(&asks_the_reviewer("Task", after));
    project.run(&server, &["run"]).assert_ended("all_passed", 0);
    assert_script_followed(&server);
    let requests: Vec<String> = server.requests().iter().map(|request| format!("{request:?}")).collect();
    let of_reviewer = |text: &&String| text.contains("Begin with the word INSPECTED");
    assert_eq!(requests.iter().filter(of_reviewer).count(), 1, "only the sub-agent has its instructions");
    assert!(requests[0].contains("reviewer: Reviews changes"), "the main agent knows of it");
    let (_, out, _) = text(&project, &["doctor"]);
    assert!(
        out.contains(".claude/agents: used; sub-agents of native and claude") && out.contains("reviewer"),
        "{out}"
    );

    let unknown = always(
        r#"
        [[conversation.turn]]
        call = [{ tool = "Task", input = { description = "x", prompt = "x", subagent_type = "nobody" } }]
        [[conversation.turn]]
        expect = "There is no sub-agent 'nobody'. Available: reviewer, general-purpose."
        text = "done"
        "#,
    );
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write(".claude/agents/reviewer.md", REVIEWER);
    let server = model(&unknown);
    project.run(&server, &["run", "-n", "1"]);
    assert_script_followed(&server);
}

#[test]
fn the_projects_sub_agents_work_with_claude() {
    let Some(claude) = claude() else { return };
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write(".claude/agents/reviewer.md", REVIEWER);
    // Claude Code does not wait for it, so when the answer arrives is not known.
    let waits = "[[conversation.turn]]\ntext = 'I wait.'\n".repeat(3);
    let server = model(&asks_the_reviewer("Agent", &waits));
    claude.run(&project, &server, &["run", "--backend", "claude", "-n", "1"]);
    let requests: Vec<String> = server.requests().iter().map(|request| format!("{request:?}")).collect();
    let of_reviewer = |text: &&String| text.contains("Begin with the word INSPECTED");
    assert_eq!(requests.iter().filter(of_reviewer).count(), 1, "only the sub-agent has its instructions");
}

#[test]
fn doctor_lists_what_other_tools_left() {
    let project = CliTestProject::new();
    for (name, text) in [
        ("AGENTS.md", "Use tabs."),
        (".worktreeinclude", ".env\n"),
        (".claude/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: d\n---\nx"),
        (".claude/settings.json", "{}"),
        (".gemini/settings.json", r#"{"mcpServers": {"notes": {"command": "notes-mcp"}}}"#),
    ] {
        project.write(name, text);
    }
    let (_, out, _) = text(&project, &["doctor"]);
    for line in [
        "ok   AGENTS.md: used; every agent gets it as information",
        "ok   .worktreeinclude: used;",
        "ok   .claude/skills: used; the native agent can load its 1 skill(s)",
        "note MCP servers of other tools: not used until you approve them with `autonoe trust`: notes (.gemini/settings.json)",
        "note .claude/settings.json, .gemini/settings.json: settings, permissions and hooks of other tools are ignored",
    ] {
        assert!(out.contains(line), "{line:?} is missing in:\n{out}");
    }
}

#[test]
fn init_installs_the_browser_that_runs_then_find() {
    let project = CliTestProject::new();
    // Without the browsers of this machine.
    let bin = without_bubblewrap(&project);
    let autonoe = |args: &[&str]| {
        let mut command = project.autonoe(None);
        let output = command.args(args).env("PATH", &bin).output().expect("started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (_, out, _) = autonoe(&["doctor"]);
    assert!(
        out.contains(
            "note browser: none; for agents that look at pages, `autonoe init --browser` installs it"
        ),
        "{out}"
    );
    let (code, _, err) = autonoe(&["init", "--browser"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("npm was not found on the PATH") && err.contains("Install Node.js"), "{err}");

    write_program(
        &bin.join("npm"),
        "echo \"$@\" > npm.txt; mkdir -p node_modules/.bin; touch node_modules/.bin/playwright-mcp",
    );
    write_program(&bin.join("npx"), "exit 3");
    let (code, _, err) = autonoe(&["init", "--browser"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("`npx --yes playwright install chromium` failed: exit status: 3"), "{err}");
    write_program(
        &bin.join("npx"),
        "echo \"$@\" > npx.txt; mkdir -p $PLAYWRIGHT_BROWSERS_PATH/chromium-9/chrome-linux; \
         touch $PLAYWRIGHT_BROWSERS_PATH/chromium-9/chrome-linux/chrome",
    );
    let (code, out, err) = autonoe(&["init", "--browser"]);
    assert_eq!(code, Some(0), "{err}");
    let directory = project.home().join(".local/share/autonoe/browser");
    let browser = directory.join("browsers/chromium-9/chrome-linux/chrome");
    assert!(out.contains(&format!("browser: {}, with ", browser.display())), "{out}");
    let read = |name: &str| fs::read_to_string(directory.join(name)).expect("written");
    assert_eq!(read("npm.txt"), "install --no-audit --no-fund --prefix . @playwright/mcp\n");
    assert_eq!(read("npx.txt"), "--yes playwright install chromium\n");
    let (_, out, _) = autonoe(&["doctor"]);
    assert!(out.contains(&format!("ok   browser: {}", browser.display())), "{out}");
    fs::remove_file(directory.join("npx.txt")).expect("removed");
    let (code, _, _) = autonoe(&["init", "--browser"]);
    assert!(code == Some(0) && !directory.join("npx.txt").exists(), "nothing is installed twice");
}

#[test]
fn a_run_says_that_the_browser_it_should_use_is_missing() {
    let project = CliTestProject::new();
    let bin = without_bubblewrap(&project);
    let server = model(&builder());
    let warnings = || {
        let mut command = project.command(&server, &["run", "--no-sandbox", "-n", "1"]);
        let output = command.env("PATH", &bin).output().expect("started");
        let doctor = project.autonoe(None).arg("doctor").env("PATH", &bin).output().expect("started");
        let (run, doctor) = (output.stderr, doctor.stdout);
        (String::from_utf8_lossy(&run).into_owned(), String::from_utf8_lossy(&doctor).into_owned())
    };
    let (run, _) = warnings();
    assert!(!run.contains("browser"), "a project that uses none is not bothered: {run}");
    let wanted = "the configuration uses a browser, but Playwright's MCP server with Chromium was not found";
    project.write(".autonoe/agent.json", r#"{"allowedTools": ["mcp__playwright__browser_navigate"]}"#);
    assert!(text(&project, &["trust", "--yes"]).1.contains("Approved"));
    let (run, doctor) = warnings();
    assert!(run.contains(wanted) && run.contains("`autonoe init --browser` installs it"), "{run}");
    assert!(doctor.contains(&format!("note browser: {wanted}")), "{doctor}");
    fs::remove_file(project.path(".autonoe/agent.json")).expect("removed");
    project.write("node_modules/.bin/playwright-mcp", "");
    let (run, doctor) = warnings();
    assert!(
        run.contains("but Chromium was not found") && doctor.contains("but Chromium was not found"),
        "{run}"
    );
}
