//! Fleets of harnesses, end to end: `autonoe fleet`.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use autonoe_scripted::ScriptedServer;
use autonoe_test_kit::{SmallDisk, is_running};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::support::{
    CliTestProject, RunOutput, always, assert_script_followed, builds_with, model, signal, until,
};
use super::vendors::TestVendor;
use super::{claude, codex, gemini};

const OPTIONS: [&str; 5] = ["--", "--backend", "native", "--session-delay", "0s"];

fn roadmap(id: &str) -> String {
    format!("# Roadmap: {id}\n\n## Tasks\n- [ ] **{id}**: Make {id}\n  - check: `test -f {id}.txt`\n")
}

/// A project with a roadmap for each of these, and a fleet file.
pub fn project(strategy: &str, harnesses: &[(&str, &str)], rest: &str) -> CliTestProject {
    with_fleet(CliTestProject::empty(), strategy, harnesses, rest)
}

fn with_fleet(
    project: CliTestProject,
    strategy: &str,
    harnesses: &[(&str, &str)],
    rest: &str,
) -> CliTestProject {
    let mut fleet = format!("# Fleet: Shop\n\n## Strategy\n{strategy}\n\n## Sub-Harnesses\n");
    for (id, more) in harnesses {
        project.write(&format!("{id}.md"), &roadmap(id));
        fleet.push_str(&format!("### {id}\n- roadmap: {id}.md\n{more}\n"));
    }
    project.write("FLEET.md", &format!("{fleet}{rest}"));
    project.write("kept.txt", "the user's\n");
    project.in_repository()
}

pub fn up(project: &CliTestProject, model: &ScriptedServer, args: &[&str]) -> Command {
    let mut command = project.autonoe(Some(model));
    command.args(["fleet", "up", "--json"]).args(args).args(OPTIONS);
    command
}

fn fleet(project: &CliTestProject, args: &[&str]) -> (Option<i32>, String) {
    let output = project.autonoe(None).arg("fleet").args(args).output().expect("started");
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8"))
}

fn fleet_json(project: &CliTestProject, args: &[&str]) -> Value {
    let (code, text) = fleet(project, &[args, &["--json"]].concat());
    assert_eq!(code, Some(0), "{args:?}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
}

/// What `fleet status` says about a harness.
fn status_of(project: &CliTestProject, id: &str) -> Value {
    let status = fleet_json(project, &["status"]);
    let harnesses = status["harnesses"].as_array().expect("harnesses").clone();
    harnesses.into_iter().find(|harness| harness["id"] == id).expect(id)
}

/// A file in the workspace of the agents of a harness; `None` before the harness has begun.
fn agents_file(project: &CliTestProject, id: &str, name: &str) -> Option<PathBuf> {
    let (_, status) = fleet(project, &["status", "--json"]);
    let status: Value = serde_json::from_str(&status).ok()?;
    let harness = status["harnesses"].as_array()?.iter().find(|harness| harness["id"] == id)?.clone();
    let working_dir = harness["working_dir"].as_str()?;
    let states = fs::read_dir(project.home().join(".local/state/autonoe/projects")).ok()?.flatten();
    let has_root =
        |state: &PathBuf| fs::read_to_string(state.join("root")).is_ok_and(|root| root == working_dir);
    Some(states.map(|entry| entry.path()).find(has_root)?.join("hub/workspaces/1/tree").join(name))
}

/// Waits for the file `ready` that the agent of a harness makes.
fn wait_for_session(project: &CliTestProject, id: &str) {
    until(&format!("{id} is in its session"), || {
        agents_file(project, id, "ready").is_some_and(|ready| ready.exists())
    });
}

fn sessions(project: &CliTestProject, id: &str) -> usize {
    let log = fleet_json(project, &["logs", id]);
    let lines = log["lines"].as_array().expect("lines");
    lines.iter().filter(|line| line.as_str().is_some_and(|line| line.contains(" ended: completed"))).count()
}

fn kill(pid: &Value) {
    let pid =
        pid.as_u64().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw).expect("a process");
    kill_process(pid, Signal::KILL).expect("killed");
}

#[test]
fn harnesses_build_on_each_other_share_what_they_know_and_come_home_as_branches() {
    let aggregation = "\n## Aggregation\n- on_complete: merge_all\n- output_dir: out\n";
    let harnesses = [("web", "- depends: api"), ("api", ""), ("docs", "")];
    let project = project("- coordination: parallel\n- max_concurrent: 2", &harnesses, aggregation);
    let shares = r#"
          [[conversation.turn]]
          call = [
            { tool = "mcp__autonoe__context_set", input = { key = "api.port", value = 8080 } },
            { tool = "mcp__autonoe__artifact_publish", input = { name = "api.txt", path = "api.txt" } },
          ]"#;
    let uses = r#"
          [[conversation.turn]]
          call = [
            { tool = "mcp__autonoe__context_get", input = { key = "api.port" } },
            { tool = "mcp__autonoe__artifact_consume", input = { name = "api.txt" } },
          ]
          [[conversation.turn]]
          expect = ["8080", '"content":"done\n"']
          call = [{ tool = "Bash", input = { command = "cat api.txt" } }]"#;
    let uses = uses.replace(r#"'"content":"done\n"'"#, r#""source_harness""#);
    let script = [builds_with("web", "", &uses), builds_with("api", "", shares), builds_with("docs", "", "")];
    let model = model(&script.concat());
    let run = RunOutput::from(up(&project, &model, &[]).output().expect("started"));
    assert_eq!(run.code, Some(0), "{:#?}\n{}", run.events, run.stderr);
    assert_script_followed(&model);
    let last = run.events.last().expect("events");
    assert_eq!(
        (&last["type"], &last["outcome"], &last["merged"]["branch"]),
        (&"fleet_ended".into(), &"succeeded".into(), &"autonoe/shop-merged".into())
    );
    let ended: Vec<&str> = run.of_type("harness_ended").filter_map(|event| event["id"].as_str()).collect();
    assert_eq!(ended.len(), 3);
    assert!(ended.iter().position(|id| *id == "api") < ended.iter().position(|id| *id == "web"), "{ended:?}");
    // What web has built on, and nothing of the user's.
    assert_eq!(project.git(&["log", "--format=%s", "autonoe/shop/web"]), "web\napi\nwork");
    assert_eq!(project.git(&["log", "--format=%s", "autonoe/shop/docs"]), "docs\nwork");
    assert_eq!(project.git(&["ls-tree", "--name-only", "autonoe/shop-merged"]).matches("s.txt\n").count(), 1);
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "work");
    assert_eq!(project.git(&["status", "--porcelain"]), "?? out/");
    let result: Value = serde_json::from_str(&project.read("out/result.json")).expect("JSON");
    assert_eq!((&result["success"], result["results"].as_array().map(Vec::len)), (&true.into(), Some(3)));

    let web = status_of(&project, "web");
    assert_eq!(
        (&web["state"], &web["progress"], &web["branch"]),
        (&"completed".into(), &1.0.into(), &"autonoe/shop/web".into())
    );
    assert_eq!(
        (&web["result"]["tasks_verified"], &web["session"], &web["alerts"]),
        (&1.into(), &1.into(), &2.into())
    );
    assert!(web["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{web}");
    let (_, table) = fleet(&project, &["status"]);
    assert!(
        table.contains("web")
            && table.contains("[##########]")
            && table.contains("All 3 harnesses are completed."),
        "{table}"
    );
    assert_eq!(fleet_json(&project, &["context", "api.port"]), 8080);
    assert_eq!(fleet(&project, &["artifacts", "api.txt"]), (Some(0), "done\n".to_owned()));
    assert_eq!(fleet_json(&project, &["artifacts"])["artifacts"][0]["source_harness"], "api");
    let events = fleet_json(&project, &["context", "--events"]);
    let kinds: Vec<&str> = events["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["event_type"].as_str())
        .collect();
    assert_eq!(
        ["spawn", "complete", "artifact", "fleet_ended"]
            .map(|kind| kinds.iter().filter(|found| **found == kind).count()),
        [3, 3, 1, 1]
    );
    let alerts = fleet_json(&project, &["alerts", "web", "--severity", "success"]);
    assert_eq!(alerts["alerts"].as_array().map(Vec::len), Some(2), "{alerts}");
    let sizes = fleet_json(&project, &["du"]);
    assert!(
        sizes["harnesses"]
            .as_array()
            .is_some_and(|all| all.len() == 3 && all[0]["clone_bytes"].as_u64() > Some(0)),
        "{sizes}"
    );
    assert_eq!(sessions(&project, "web"), 1);
    let (code, said) = fleet(&project, &["stop"]);
    assert!(code == Some(2) && said.contains("The fleet shop has ended."), "{said}");
}

/// A worker is killed, then the supervisor, twice; nothing is repeated, and nothing is left.
#[test]
fn killed_workers_and_supervisors_lose_nothing_and_repeat_nothing() {
    let project = project("- coordination: parallel", &[("api", ""), ("web", "")], "");
    let waits = "touch ready; until [ -e go ]; do sleep 0.05; done; rm go ready; ";
    let model = model(&[builds_with("api", waits, ""), builds_with("web", waits, "")].concat());
    let start =
        || up(&project, &model, &[]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let mut first = start();
    wait_for_session(&project, "api");
    wait_for_session(&project, "web");
    // The worker is killed in the middle of its session; the supervisor notices and starts another one.
    let before = status_of(&project, "api");
    fs::remove_file(agents_file(&project, "api", "ready").expect("known")).expect("removed");
    kill(&before["pid"]);
    wait_for_session(&project, "api");
    let api = status_of(&project, "api");
    assert_eq!((&api["attempts"], api["pid"] == before["pid"]), (&2.into(), false));
    for _ in 0..2 {
        signal(&first, Signal::KILL);
        first.wait().expect("reaped");
        let status = fleet_json(&project, &["status"]);
        assert_eq!(status["supervisor_pid"], Value::Null);
        assert!(
            status["harnesses"]
                .as_array()
                .expect("harnesses")
                .iter()
                .all(|harness| harness["state"] == "running"),
            "{status}"
        );
        first = start();
        let adopted = BufReader::new(first.stdout.take().expect("piped")).lines().take(3);
        let adopted: Vec<String> = adopted
            .map(|line| line.expect("a line"))
            .filter(|line| line.contains("harness_adopted"))
            .collect();
        assert_eq!(adopted.len(), 2, "{adopted:?}");
        let (code, said) = fleet(&project, &["up", "--json"]);
        assert!(code == Some(2) && said.contains("A fleet is at work in"), "{said}");
    }
    for id in ["api", "web"] {
        fs::write(agents_file(&project, id, "go").expect("known"), "").expect("written");
    }
    assert_eq!(first.wait().expect("ended").code(), Some(0));
    assert_eq!(["api", "web"].map(|id| sessions(&project, id)), [1, 1]);
    assert_eq!(status_of(&project, "web")["attempts"], 1, "it was not started again");
    for id in ["api", "web"] {
        let log = fleet_json(&project, &["alerts", id]);
        let (status, raised) = (status_of(&project, id), log["alerts"].as_array().expect("alerts").len());
        assert_eq!((&status["alerts"], raised), (&raised.into(), 2), "{status}");
        assert!(status["session"].as_u64().is_some_and(|session| session > 0), "{status}");
    }
    for id in ["api", "web"] {
        assert_eq!(
            project.git(&["log", "--format=%s", &format!("autonoe/shop/{id}")]),
            format!("{id}\nwork")
        );
    }
    let pid = api["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a process");
    until("no harness is left", || !is_running(pid));
}

#[test]
fn people_steer_a_fleet_and_stop_it() {
    let project = project("- coordination: parallel\n- max_concurrent: 1", &[("api", ""), ("web", "")], "");
    let model = model(&builds_with("api", "touch ready; until [ -e go ]; do sleep 0.05; done; ", ""));
    let (code, said) = fleet(&project, &["status"]);
    assert!(code == Some(2) && said.contains("There is no fleet in"), "{said}");
    let child =
        up(&project, &model, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    wait_for_session(&project, "api");
    let (code, said) = fleet(&project, &["send", "api", "Mind", "the", "tests"]);
    assert!(code == Some(0) && said.contains("api: its agent gets it in this session or the next"), "{said}");
    let events = fleet_json(&project, &["context", "--events"]);
    let instruction = |event: &&Value| event["event_type"] == "instruction" && event["harness_id"] == "api";
    assert_eq!(
        events["events"].as_array().expect("events").iter().filter(instruction).count(),
        1,
        "{events}"
    );
    for (args, expected) in [
        (&["send", "web", "x"][..], "The harness web has not started."),
        (&["send", "wep", "x"], "There is no harness 'wep' in the fleet shop."),
        (&["logs", "web"], "The harness web has no log yet."),
        (&["context", "none"], "The fleet shares no value 'none'."),
        (&["context", "--harness", "zz", "key", "1"], "There is no harness 'zz' in the fleet"),
        (&["artifacts", "text", "--publish", "missing.txt"], "There is no file "),
    ] {
        let (code, said) = fleet(&project, args);
        assert!(code == Some(2) && said.contains(expected), "{said}");
    }
    assert_eq!(fleet_json(&project, &["pause"])["harnesses"][0]["state"], "paused");
    let status = fleet_json(&project, &["status"]);
    assert_eq!(
        (&status["is_paused"], &status["harnesses"][0]["state"], &status["harnesses"][1]["state"]),
        (&true.into(), &"paused".into(), &"pending".into())
    );
    assert_eq!(fleet_json(&project, &["resume"])["harnesses"][0]["state"], "resumed");
    assert_eq!(fleet_json(&project, &["context", "note", "from a person"]), "from a person");
    let api = status_of(&project, "api");
    assert_eq!(fleet_json(&project, &["stop", "web"])["harnesses"][0]["state"], "stopped");
    assert_eq!(fleet_json(&project, &["kill", "api"])["harnesses"][0]["state"], "killed");
    let run = RunOutput::from(child.wait_with_output().expect("ended"));
    assert_eq!(run.code, Some(130), "{:#?}\n{}", run.events, run.stderr);
    let results = &run.events.last().expect("events")["result"]["results"];
    assert_eq!(results.as_array().map(Vec::len), Some(2));
    assert!(!is_running(api["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a process")));
    assert_eq!(status_of(&project, "api")["attempts"], 1, "it was not started again");
    assert_eq!(status_of(&project, "web")["attempts"], 0);
}

#[test]
fn the_processes_of_a_fleet_whose_state_is_damaged_are_named() {
    let project = project("- coordination: parallel", &[("api", "")], "");
    let model = model(&builds_with("api", "touch ready; sleep 600; ", ""));
    let mut supervisor =
        up(&project, &model, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    wait_for_session(&project, "api");
    let pid = status_of(&project, "api")["pid"].clone();
    let (state, log) = (project.path(".harness/meta_state.db"), project.path(".harness/meta_state.db-wal"));
    let said = |args: &[&str]| {
        let (code, text) = fleet(&project, args);
        assert_ne!(code, Some(0), "{args:?}: {text}");
        text
    };
    signal(&supervisor, Signal::KILL);
    supervisor.wait().expect("reaped");
    // Ignored: there may be none.
    let _ = fs::remove_file(log);
    fs::write(state, "not a database".repeat(100)).expect("written");
    for command in [["stop"], ["kill"], ["status"]] {
        let text = said(&command);
        assert!(text.contains(&format!("At work: api (process {pid}).")), "{text}");
    }
    // As after `git clean`.
    fs::remove_dir_all(project.path(".harness")).expect("removed");
    let named = format!("api (process {pid})");
    let text = said(&["status"]);
    assert!(text.contains("There is no fleet") && text.contains(&named), "{text}");
    let text = said(&["up"]);
    assert!(text.contains(&format!("at work that no record knows: {named}.")), "{text}");
    kill(&pid);
    until("its process is gone", || !said(&["status"]).contains(&named));
}

/// There is space for one clone and all that its agents and checks write, and for another one without what the first has built.
#[test]
fn a_harness_waits_for_disk_space_and_what_others_have_built_is_removed() {
    let project = project("- coordination: parallel", &[("api", ""), ("web", "")], "");
    let state = project.home().join(".local/state/autonoe");
    fs::create_dir_all(&state).expect("made");
    let Some(_disk) = SmallDisk::at(state, "88m") else { return };
    // Not compressible, so that objects are as large as files.
    let mut content = Vec::new();
    fs::File::open("/dev/urandom").expect("opened").take(10_000_000).read_to_end(&mut content).expect("read");
    fs::write(project.path("large"), content).expect("written");
    project.git(&["add", "large"]);
    project.git(&["commit", "-qm", "large"]);
    let builds = "head -c 30000000 /dev/zero > built; echo built >> .git/info/exclude";
    let builds =
        format!("[[conversation.turn]]\ncall = [{{ tool = 'Bash', input = {{ command = '{builds}' }} }}]");
    let model = model(&[builds_with("api", "", &builds), builds_with("web", "", "")].concat());
    let run = RunOutput::from(up(&project, &model, &[]).output().expect("started"));
    assert_eq!(run.code, Some(0), "{:#?}\n{}", run.events, run.stderr);
    let waits =
        run.of_type("warning").filter(|event| event.to_string().contains("waits until another")).count();
    assert_eq!(waits, 1, "{:#?}", run.events);
    let built = agents_file(&project, "api", "built").expect("known");
    assert!(!built.exists() && agents_file(&project, "web", "large").expect("known").exists());
}

/// Their work is not lost with the clone.
#[test]
fn what_a_failed_harness_has_begun_comes_home_to_a_branch_of_its_own() {
    let harnesses = [("api", ""), ("web", "")];
    let project = project("- coordination: parallel", &harnesses, "");
    let fails = r#"
        [[conversation]]
        name = "task web"
        when = ["the task `web`"]
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "echo begun > begun.txt && git add begun.txt && git commit -qm begun" } }]
          [[conversation.turn]]
          text = "I could not."
    "#;
    let script = builds_with("api", "", "") + fails;
    project.write("web.md", &(roadmap("web") + "  - max_retries: 1\n  - max_iterations: 1\n"));
    project.commit(&[]);
    let run = RunOutput::from(up(&project, &model(&script), &[]).output().expect("started"));
    assert_eq!(run.code, Some(3), "{:#?}\n{}", run.events, run.stderr);
    let branch = "autonoe/shop-unfinished/web";
    assert_eq!(project.git(&["show", &format!("{branch}:begun.txt")]), "begun");
    let web = status_of(&project, "web");
    assert_eq!(
        (&web["state"], &web["branch"], &web["left_behind"]),
        (&"failed".into(), &Value::Null, &Value::Null)
    );
    let (_, text) = fleet(&project, &["status"]);
    assert!(text.contains(&format!("What has not passed is on branch {branch}.")), "{text}");
    assert_eq!(
        project.git(&["branch", "--list", "autonoe/shop*/api", "--format=%(refname:short)"]),
        "autonoe/shop/api"
    );

    // The next fleet removes the clones.
    let clone = PathBuf::from(web["working_dir"].as_str().expect("a clone"));
    let second = RunOutput::from(up(&project, &model(&script), &[]).output().expect("started"));
    assert!(!clone.exists(), "{}", second.stderr);
    assert_eq!(project.git(&["show", &format!("{branch}:begun.txt")]), "begun");
}

/// The disk of the user's repository is full.
#[test]
fn commits_that_cannot_come_home_are_kept_until_they_can() {
    let project = CliTestProject::empty();
    fs::create_dir_all(project.path(".git/objects")).expect("made");
    let Some(disk) = SmallDisk::at(project.path(".git/objects"), "1m") else { return };
    let project = with_fleet(project, "- coordination: parallel", &[("api", "")], "");
    // It goes before the project.
    let _disk = disk;
    let filler = project.path(".git/objects/filler");
    let mut zeros = fs::File::open("/dev/zero").expect("opened");
    std::io::copy(&mut zeros, &mut fs::File::create(&filler).expect("created")).expect_err("it is full");
    let build = builds_with("api", "", "");
    let run = RunOutput::from(up(&project, &model(&build), &[]).output().expect("started"));
    assert_eq!(run.code, Some(3), "{:#?}\n{}", run.events, run.stderr);
    let result = &run.events.last().expect("events")["result"];
    let why = result["left_behind"]["api"].as_str().unwrap_or_default();
    let api = status_of(&project, "api");
    assert_eq!(
        (&api["state"], &api["left_behind"], &api["branch"]),
        (&"completed".into(), &why.into(), &Value::Null)
    );
    let (_, text) = fleet(&project, &["status"]);
    assert!(text.contains("api: its commits have not come home: "), "{text}");
    // What it says to do works.
    let command = why.split('`').find(|part| part.starts_with("git fetch ")).expect("a command");
    let other = project.home().join("other").display().to_string();
    project.git(&["init", "-q", &other]);
    let words: Vec<&str> = ["-C", &other].into_iter().chain(command.split(' ').skip(1)).collect();
    project.git(&words);
    assert_eq!(project.git(&["-C", &other, "show", "FETCH_HEAD:api.txt"]), "done");
    let clone = PathBuf::from(api["working_dir"].as_str().expect("a clone"));

    // The next fleet keeps them, and the one after that brings them home.
    let said = |run: &RunOutput, words: &str| {
        run.stderr.contains(words) || run.of_type("warning").any(|event| event.to_string().contains(words))
    };
    let second = RunOutput::from(up(&project, &model(&build), &[]).output().expect("started"));
    assert!(
        clone.join("api.txt").exists() && said(&second, "The commits are still in"),
        "{:#?}\n{}",
        second.events,
        second.stderr
    );
    fs::remove_file(filler).expect("removed");
    let third = RunOutput::from(up(&project, &model(&build), &[]).output().expect("started"));
    assert_eq!(third.code, Some(0), "{:#?}\n{}", third.events, third.stderr);
    assert!(
        !clone.exists() && said(&third, "Commits of an earlier fleet are on branch autonoe/shop/api now."),
        "{:#?}\n{}",
        third.events,
        third.stderr
    );
    for branch in ["autonoe/shop/api", "autonoe/shop/api-2", "autonoe/shop/api-3"] {
        assert_eq!(project.git(&["show", &format!("{branch}:api.txt")]), "done", "{branch}");
    }
}

#[test]
fn a_backend_without_quota_or_login_gets_no_new_harness() {
    for (fault, outcome, words) in [
        (
            "status = 429, message = 'usage limit', headers = { retry-after = '36000' }",
            "quota_exceeded",
            "native has no quota left until ",
        ),
        (
            "status = 401, message = 'invalid x-api-key'",
            "failed",
            "the login of native was refused, as api found",
        ),
    ] {
        let project =
            project("- coordination: parallel\n- max_concurrent: 1", &[("api", ""), ("web", "")], "");
        let model = model(&always(&format!(
            "[[conversation.turn]]\nfault = {{ kind = 'status', times = 99, {fault} }}\n"
        )));
        let run = RunOutput::from(up(&project, &model, &[]).output().expect("started"));
        assert_eq!(run.code, Some(3), "{:#?}\n{}", run.events, run.stderr);
        let started: Vec<&Value> = run.of_type("harness_started").map(|event| &event["id"]).collect();
        assert_eq!(started, ["api"], "{:#?}", run.events);
        let results = run.events.last().expect("events")["result"]["results"].clone();
        assert_eq!(
            (&results[0]["outcome"], &results[0]["backend"]),
            (&outcome.into(), &"native".into()),
            "{results}"
        );
        let error = results[1]["error"].as_str().unwrap_or_default();
        assert!(error.starts_with(&format!("It was not started: {words}")), "{error}");
        assert!(error.ends_with("as api found, and no other backend is named for it."), "{error}");
    }
}

/// Each session costs 3 cents; without a limit, recovery would go on for many.
#[test]
fn the_money_of_a_fleet_limits_all_of_its_harnesses() {
    let project = project("- coordination: parallel\n- max_cost: 100", &[("api", ""), ("web", "")], "");
    let model = model(&always("[[conversation.turn]]\ntext = 'I did nothing.'\n"));
    let run = RunOutput::from(up(&project, &model, &["--max-cost", "0.2"]).output().expect("started"));
    assert_eq!(run.code, Some(3), "{:#?}\n{}", run.events, run.stderr);
    let costs = ["api", "web"].map(|id| status_of(&project, id)["cost_usd"].as_f64().expect("a cost"));
    // A session that has begun is finished.
    assert!(costs.iter().all(|cost| (0.1..0.14).contains(cost)), "{costs:?}");
    let reserved = fleet_json(&project, &["context", "--events"]).to_string();
    assert!(reserved.contains(r#""max_cost":0.1"#), "{reserved}");

    let mut both = up(&project, &model, &["--max-cost", "1"]);
    let output = both.args(["--max-cost", "1"]).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("not for both"), "{said}");
}

#[test]
fn wrong_input_is_refused_before_anything_starts() {
    let project = project("- coordination: parallel", &[("a", "- depends: b"), ("b", "- depends: a")], "");
    let said = |args: &[&str]| {
        let (code, text) = fleet(&project, args);
        assert_eq!(code, Some(2), "{args:?}: {text}");
        text
    };
    assert!(said(&["up"]).contains("these harnesses wait for each other: a → b → a"));
    assert!(said(&["up", "NONE.md"]).contains("NONE.md does not exist."));
    assert!(said(&["up", "/etc/hostname"]).contains("is not in the project"));
    let problems = "## Strategy\ncoordination: race\nfrob: 1\n## Sub-Harnesses\n### a\nroadmap: a.md\ndepends: b\n\
                    ### b\nroadmap: none.md\ndepends: a\n### a\nroadmap: free.md\n";
    project.write("free.md", "## Tasks\n- [ ] **x**: X\n");
    project.write("FLEET.md", problems);
    let all = said(&["up"]);
    for problem in [
        "FLEET.md has 7 problems:",
        "line 3: unknown key 'frob'",
        "line 5: these harnesses wait for each other: a → b → a",
        "line 8: none.md does not exist",
        "line 11: two harnesses are called 'a'; the other one is in line 5",
        "line 11: the checks decide in a race, and free.md has none; add `- check:` to its tasks",
    ] {
        assert!(all.contains(problem), "{problem}\n{all}");
    }
    assert!(
        said(&["up", "--strategy", "voting", "--backends", "claude,codex", "Write a text"])
            .contains("the checks decide in a vote, and the task has none; add --check COMMAND.")
    );
    assert!(
        said(&["up", "--strategy", "race", "--backends", "claude", "--check", "true", "Write a text"])
            .contains("a race needs at least 2 harnesses, and there are 1")
    );
    assert!(said(&["up", "--strategy", "race", "Write a text"]).contains("--backends"));
    project.write("FLEET.md", "## Strategy\ncoordination: parallel\n## Sub-Harnesses\n### a\nroadmap: a.md\n### b\nroadmap: missing.md\n");
    assert!(said(&["up"]).contains("line 6: missing.md does not exist"));
    project.write(
        "FLEET.md",
        "## Strategy\ncoordination: parallel\n## Sub-Harnesses\n### a\nroadmap: a.md\ncli: codex\n",
    );
    assert!(said(&["up", "--", "--backend", "native"]).contains(
        "The options for a are wrong: the argument '--backend <NAME>' cannot be used multiple times."
    ));
    assert!(
        said(&["up", "--", "--frob"])
            .contains("The options for a are wrong: unexpected argument '--frob' found.")
    );
    assert!(
        said(&["up", "--", "--dry-run"]).contains("--dry-run cannot be given to the harnesses of a fleet.")
    );
    let in_place = said(&["up", "--", "--in-place"]);
    assert!(in_place.contains("--in-place cannot be given to the harnesses of a fleet."), "{in_place}");
    assert!(!project.root().join(".harness").exists(), "nothing has begun");
    // A fleet that may not begin says nothing about files that it leaves out, and leaves no roadmap of its task.
    fs::create_dir(project.path(".harness")).expect("made");
    project.write(".harness/meta_state.db", &"not a database".repeat(100));
    let task = ["up", "--strategy", "race", "--backends", "claude,codex", "--check", "true", "Write a text"];
    let (code, refused) = fleet(&project, &task);
    assert_eq!((code, fleet(&project, &["status"]).0), (Some(1), Some(1)), "{refused}");
    assert!(refused.contains("meta_state.db is not the state of a fleet."), "{refused}");
    assert!(refused.contains("No process of a fleet is at work in this project."), "{refused}");
    assert!(!refused.contains("free.md"), "{refused}");
    let left: Vec<_> = fs::read_dir(project.path(".harness")).expect("listed").flatten().collect();
    assert!(!left.iter().any(|entry| entry.file_name().to_string_lossy().starts_with("task-")), "{left:?}");
}

/// Claims the task without having done it.
const CLAIMS: &str = r#"
        [[conversation]]
        when = "the task `task`"
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "task", status = "passed" } }]
          [[conversation.turn]]
          text = "It is done, trust me."
"#;

/// The real claude, codex and gemini; `None` if they are not installed.
fn real_agents() -> Option<[TestVendor; 3]> {
    Some([claude::claude()?, codex::codex()?, gemini::gemini()?])
}

fn task_project() -> CliTestProject {
    let project = CliTestProject::empty();
    let once = roadmap("task").replace("  - check", "  - max_retries: 1\n  - max_iterations: 1\n  - check");
    project.write("task.md", &once);
    project.in_repository()
}

/// The real agents compete for the task, each on a model of its own.
fn compete(
    project: &CliTestProject,
    strategy: &str,
    agents: &[TestVendor; 3],
    models: &[ScriptedServer; 3],
) -> Command {
    let [bin, ..] = agents.each_ref().map(|agent| agent.offer(project));
    let [claude, codex, gemini] = models;
    let mut command = project.autonoe(Some(claude));
    command
        .args(["fleet", "up", "--json", "task.md"])
        .args(["--strategy", strategy, "--backends", "claude,codex,gemini"])
        .args(["--", "--session-delay", "0s"])
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
        .envs([("OPENAI_API_KEY", "test-key-never-real"), ("GEMINI_API_KEY", "test-key-never-real")])
        .env("OPENAI_BASE_URL", codex.base_url())
        .env("GOOGLE_GEMINI_BASE_URL", gemini.base_url());
    command
}

fn lines_until(child: &mut Child, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let stdout = BufReader::new(child.stdout.as_mut().expect("piped"));
    let mut found = Vec::new();
    for line in stdout.lines() {
        let event: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let is_last = wanted(&event);
        found.push(event);
        if is_last {
            break;
        }
    }
    found
}

/// The real claude, codex and gemini: the one that ends first has failed its check, and has not won.
#[test]
fn the_agent_whose_checks_pass_wins_a_race_even_if_a_failing_one_ends_first() {
    let Some(agents) = real_agents() else { return };
    let project = task_project();
    let waits = builds_with("task", "touch ready; until [ -e go ]; do sleep 0.05; done; rm go ready; ", "");
    let models = [model(&waits), model(CLAIMS), model(&gemini::with_own_tool_names(&waits))];
    let mut command = compete(&project, "race", &agents, &models);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let events = lines_until(&mut child, |event| event["type"] == "harness_ended");
    let first = events.last().expect("events");
    assert_eq!((&first["id"], &first["status"]), (&"codex".into(), &"failed".into()), "{first}");
    wait_for_session(&project, "gemini");
    fs::write(agents_file(&project, "gemini", "go").expect("known"), "").expect("written");
    let events = lines_until(&mut child, |event| event["type"] == "fleet_ended");
    let last = events.last().expect("events");
    assert_eq!(
        (&last["result"]["winner"]["harness_id"], &last["outcome"]),
        (&"gemini".into(), &"succeeded".into()),
        "{last}"
    );
    assert_eq!(child.wait().expect("ended").code(), Some(0));
    assert_eq!(status_of(&project, "claude")["state"], "stopped");
    assert_eq!(project.git(&["show", "autonoe/race/gemini:task.txt"]), "done");
}

/// Two of three votes; the one that only claims has none.
#[test]
fn votes_are_cast_on_checked_results_of_real_agents() {
    let Some(agents) = real_agents() else { return };
    let project = task_project();
    let shares = r#"
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__context_set", input = { key = "seen", value = true, scope = "own" } }]"#;
    let shares = builds_with("task", "", shares);
    let models = [
        model(CLAIMS),
        model(&codex::with_own_tool_names(&shares)),
        model(&gemini::with_own_tool_names(&shares)),
    ];
    let mut command = compete(&project, "voting", &agents, &models);
    let run = RunOutput::from(command.output().expect("started"));
    assert_eq!(run.code, Some(0), "{:#?}\n{}", run.events, run.stderr);
    let result = &run.events.last().expect("events")["result"];
    assert!(
        ["codex", "gemini"].contains(&result["winner"]["harness_id"].as_str().expect("a winner")),
        "{result}"
    );
    assert!(
        result["summary"].as_str().is_some_and(|text| text.starts_with("2 harnesses passed their checks;")),
        "{result}"
    );
    for id in ["codex", "gemini"] {
        assert_eq!(fleet_json(&project, &["context", "seen", "--harness", id]), true, "over MCP");
        assert_eq!(project.git(&["show", &format!("autonoe/voting/{id}:task.txt")]), "done");
    }
}
