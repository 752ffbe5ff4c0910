//! Thirty deliverables and eight agents, some of which get in each other's way, and a run that is killed twice: what is on the user's branch in
//! the end holds together, and is what one agent would have built.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{CliTestProject, RunOutput, assert_no_processes_left, model, signal, until};

const COUNT: usize = 30;

fn ids() -> impl Iterator<Item = String> {
    (1..=COUNT).map(|number| format!("D{number:02}"))
}

/// What a check asks for. The checks of D08 and D10 pass alone, and fail with the first work of D09 and D11; that of D12 fails now and then.
fn check(id: &str) -> String {
    let more = match id {
        "D05" | "D06" => format!(" && grep -qx {id} list.txt"),
        "D08" => " && ! test -f extra.txt".to_owned(),
        "D10" | "D11" => " && test $(cat parts/* | wc -l) -le 3".to_owned(),
        "D12" => " && test $(($(date +%s%N | cut -c 8-16 | sed 's/^0*//') % 8)) != 0".to_owned(),
        _ => String::new(),
    };
    format!("test -f {id}.txt{more}")
}

/// Builds a deliverable with what is there: alone as one would without knowing of the others, otherwise so that both fit.
fn make(id: &str) -> String {
    let more = match id {
        // Whatever git has left of a conflict is no line of the list.
        "D05" | "D06" => format!(
            "{{ grep -v '^[<=>|]' list.txt; echo {id}; }} | sort -u > sorted && mv sorted list.txt && git add list.txt; "
        ),
        "D08" => "git rm -q --cached --ignore-unmatch extra.txt; rm -f extra.txt; ".to_owned(),
        "D09" => "if test -f D08.txt; then git rm -q --cached --ignore-unmatch extra.txt; rm -f extra.txt; \
                  else echo more > extra.txt; git add extra.txt; fi; "
            .to_owned(),
        "D10" => parts("d10", "d11", "a\\na\\n"),
        "D11" => parts("d11", "d10", "b\\nb\\nb\\n"),
        _ => String::new(),
    };
    format!(
        "{more}echo {id} > {id}.txt; git add {id}.txt; git diff --cached --quiet || git commit -qm 'Build {id}'; true"
    )
}

fn parts(own: &str, other: &str, alone: &str) -> String {
    format!(
        "mkdir -p parts; if test -f parts/{other}; then echo x > parts/{own}; echo x > parts/{other}; \
         else printf '{alone}' > parts/{own}; fi; git add parts; "
    )
}

/// A session that builds a deliverable and claims it, and builds it again with the work of others as often as that is refused.
fn session(id: &str, phrase: &str) -> String {
    let claim = format!(
        "[[conversation.turn]]\ncall = [{{ tool = 'mcp__autonoe__set_status', input = {{ deliverableId = '{id}', status = 'passed' }} }}]\n"
    );
    let command = |command: &str| {
        format!(
            "[[conversation.turn]]\ncall = [{{ tool = 'Bash', input = {{ command = {command:?} }} }}]\n{claim}"
        )
    };
    let merge = "git merge -q autonoe/merged > /dev/null 2>&1";
    let again = command(&format!("{merge}; {}", make(id))).repeat(3);
    // The worker of D13 ends all that runs in its room, once.
    let ends = "test -e .git/ended || { touch .git/ended; perl -e 'kill 9, -1'; }; ";
    let first = command(&format!("{}{}", if id == "D13" { ends } else { "" }, make(id)));
    format!(
        "[[conversation]]\nname = {phrase:?}\nwhen = {phrase:?}\n{first}{again}[[conversation.turn]]\ntext = 'done'\n"
    )
}

/// The prompt of one among several agents has the list of the open ones too.
fn script() -> String {
    let among_others = ids().map(|id| session(&id, &format!("Yours is **{id}**")));
    let alone = ids().map(|id| session(&id, &format!("Open, in order of priority:\n- `{id}`")));
    among_others.chain(alone).collect()
}

fn project() -> CliTestProject {
    let project = CliTestProject::new().in_workspace();
    let deliverable = |id: String| json!({ "id": id, "description": format!("thing {id}"), "acceptanceCriteria": ["it works"], "depends": [] });
    let deliverables: Vec<Value> = ids().map(deliverable).collect();
    let status =
        json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables });
    project.write(".autonoe/status.json", &status.to_string());
    let checks: Vec<Value> = ids()
        .map(|id| json!({ "name": format!("check-{id}"), "deliverable": id, "run": check(&id) }))
        .collect();
    project.write(".autonoe/checks.json", &json!({ "checks": checks }).to_string());
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "the user's\n"), ("list.txt", "first\n")]);
    project
}

fn passed(project: &CliTestProject) -> usize {
    let status: Value = serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
    status["deliverables"].as_array().expect("a list").iter().filter(|item| item["passed"] == true).count()
}

/// What everybody ends with, in whatever order it was built.
fn expected() -> BTreeMap<String, String> {
    let own = ids().map(|id| (format!("{id}.txt"), format!("{id}\n")));
    let shared = [
        ("kept.txt", "the user's\n"),
        ("list.txt", "D05\nD06\nfirst\n"),
        ("parts/d10", "x\n"),
        ("parts/d11", "x\n"),
    ];
    own.chain(shared.map(|(name, content)| (name.to_owned(), content.to_owned()))).collect()
}

/// The files of the last commit on the user's branch that agents have to do with.
fn files(project: &CliTestProject) -> BTreeMap<String, String> {
    let names = project.git(&["ls-tree", "-r", "--name-only", "main"]);
    let names = names.lines().filter(|name| !name.starts_with('.') && *name != "SPEC.md");
    names.map(|name| (name.to_owned(), project.git(&["show", &format!("main:{name}")]) + "\n")).collect()
}

#[track_caller]
fn assert_whole(project: &CliTestProject, run: &RunOutput) {
    run.assert_ended("all_passed", 0);
    assert_eq!(run.outcome()["deliverables_verified"], COUNT, "{}", run.stderr);
    assert_eq!(project.git(&["status", "--porcelain", "--", ":!.autonoe"]), "");
    for id in ids().filter(|id| id != "D12") {
        let output =
            std::process::Command::new("sh").current_dir(project.root()).args(["-c", &check(&id)]).status();
        assert!(output.expect("started").success(), "{id} is broken on main");
    }
    assert_eq!(files(project), expected());
    assert_no_processes_left(project);
}

#[test]
fn eight_agents_build_what_one_would_also_if_they_are_killed() {
    let project = project();
    let model = model(&script());
    let run = || project.command(&model, &["run", "--agents", "8"]);
    for enough in [5, 15] {
        let mut child = run().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        // Each has as long as a wait may take.
        (1..=enough).for_each(|number| until("one more has passed", || passed(&project) >= number));
        std::thread::sleep(Duration::from_millis(30));
        signal(&child, Signal::KILL);
        child.wait().expect("ended");
    }
    assert_whole(&project, &RunOutput::from(run().output().expect("started")));
}

#[test]
fn one_agent_builds_the_same() {
    let project = project();
    assert_whole(&project, &project.run(&model(&script()), &["run"]));
}
