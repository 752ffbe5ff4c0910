//! Thirty deliverables and eight agents, some of which get in each other's way, and a run that is killed twice: what is on the user's branch in
//! the end holds together, and is what one agent would have built. No session, commit or landing is there twice, and who is in whose way is said.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{CliTestProject, RunOutput, assert_no_processes_left, model, signal, until};
use super::workers::signs;

const COUNT: usize = 30;
const AGENTS: usize = 8;

/// Those that are begun first, all at the same time: pairs that get in each other's way, one with a flaky check, one whose room is emptied.
const FIRST: [&str; AGENTS] = ["D05", "D06", "D08", "D09", "D10", "D11", "D12", "D13"];

/// Which of a pair comes second, and so has a conflict: of lines, with a check of the other one, and of its own check on the merged files.
const SECOND: [(&str, &str); 3] = [("D06", "D05"), ("D09", "D08"), ("D11", "D10")];

fn ids() -> impl Iterator<Item = String> {
    (1..=COUNT).map(|number| format!("D{number:02}"))
}

/// What a check asks for. The checks of D08 and D10 pass alone, and fail with the first work of D09 and D11. That of D12 is flaky: each look
/// takes the next letter of a pipe.
fn check(id: &str, signs: &str) -> String {
    let more = match id {
        "D05" | "D06" => format!(" && grep -qx {id} list.txt"),
        "D08" => " && ! test -f extra.txt".to_owned(),
        "D10" | "D11" => " && test $(cat parts/* | wc -l) -le 3".to_owned(),
        "D12" => format!(" && test \"$(dd bs=1 count=1 2> /dev/null < {signs}/looks)\" = g"),
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
fn session(id: &str, phrase: &str, signs: &str) -> String {
    let wait = |sign: &str| format!("until [ -e {signs}/{sign} ]; do sleep 0.05; done; ");
    let begun = if FIRST.contains(&id) { wait("begun") } else { String::new() };
    let other = SECOND.iter().find(|(second, _)| *second == id);
    let waits = begun + &other.map(|(_, first)| wait(first)).unwrap_or_default();
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
    let first = command(&format!("{waits}{}{}", if id == "D13" { ends } else { "" }, make(id)));
    format!(
        "[[conversation]]\nname = {phrase:?}\nwhen = {phrase:?}\n{first}{again}[[conversation.turn]]\ntext = 'done'\n"
    )
}

/// The prompt of one among several agents has the list of the open ones too.
fn script(project: &CliTestProject) -> String {
    let signs = signs(project).display().to_string();
    let among_others = ids().map(|id| session(&id, &format!("Yours is **{id}**"), &signs));
    let alone = ids().map(|id| session(&id, &format!("Open, in order of priority:\n- `{id}`"), &signs));
    among_others.chain(alone).collect()
}

/// A pipe with the ends of the looks at D12: green at its claim, red when somebody looks for the first time after that, and never red twice.
fn flaky_looks(project: &CliTestProject) -> File {
    let path = signs(project).join("looks");
    assert!(Command::new("mkfifo").arg(&path).status().expect("started").success());
    let mut looks = File::options().read(true).write(true).open(path).expect("opened");
    looks.write_all(format!("g{}", "rggrgggrggggg".repeat(200)).as_bytes()).expect("written");
    looks
}

fn project() -> CliTestProject {
    let project = CliTestProject::new().in_workspace();
    let deliverable = |id: String| json!({ "id": id, "description": format!("thing {id}"), "acceptanceCriteria": ["it works"], "depends": [] });
    let first = FIRST.iter().map(|id| (*id).to_owned());
    let others = ids().filter(|id| !FIRST.contains(&id.as_str()));
    let deliverables: Vec<Value> = first.chain(others).map(deliverable).collect();
    let status =
        json!({ "createdAt": "2026-01-01", "updatedAt": "2026-01-01", "deliverables": deliverables });
    project.write(".autonoe/status.json", &status.to_string());
    let signs = signs(&project);
    let command = |id: &str| check(id, &signs.display().to_string());
    let checks: Vec<Value> = ids()
        .map(|id| json!({ "name": format!("check-{id}"), "deliverable": id, "run": command(&id) }))
        .collect();
    project.write(".autonoe/checks.json", &json!({ "checks": checks }).to_string());
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "the user's\n"), ("list.txt", "first\n")]);
    project
}

fn passed(project: &CliTestProject) -> BTreeSet<String> {
    let status: Value = serde_json::from_str(&project.read(".autonoe/status.json")).expect("JSON");
    let items = status["deliverables"].as_array().expect("a list").iter();
    items.filter(|item| item["passed"] == true).map(|item| text(&item["id"])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
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
        let output = Command::new("sh").current_dir(project.root()).args(["-c", &check(&id, "")]).status();
        assert!(output.expect("started").success(), "{id} is broken on main");
    }
    assert_eq!(files(project), expected());
    assert_no_processes_left(project);
}

/// All that happened, over all processes of a run.
struct Happened {
    processes: Vec<Vec<Value>>,
}

impl Happened {
    fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.processes.iter().flatten().filter(move |event| event["type"] == kind)
    }

    fn said(&self) -> String {
        let words = |event: &Value| text(&event["message"]) + &text(&event["content"]) + "\n";
        self.of_type("notice").chain(self.of_type("tool_result")).map(words).collect()
    }

    /// Deliverables of sessions that began, that completed, and that a kill has cut off.
    fn sessions(&self) -> [Vec<String>; 3] {
        let [mut begun, mut completed, mut cut_off] = [const { Vec::new() }; 3];
        for events in &self.processes {
            let of_type = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
            for session in of_type("session_started") {
                let id = text(&session["step"]);
                begun.push(id.clone());
                match of_type("session_ended").find(|end| end["number"] == session["number"]) {
                    Some(end) if end["outcome"] == "completed" => completed.push(id),
                    Some(end) => panic!("{id}: {end}"),
                    None => cut_off.push(id),
                }
            }
        }
        [begun, completed, cut_off]
    }

    /// Each was built in one session, but for those that a kill has cut off; each commit landed once; and a flaky check was nobody's fault.
    fn assert_nothing_is_there_twice(&self) {
        let [begun, completed, cut_off] = self.sessions();
        for id in ids() {
            let count = |list: &[String]| list.iter().filter(|other| **other == id).count();
            let (begun, completed, cut_off) = (count(&begun), count(&completed), count(&cut_off));
            assert_eq!(begun, completed + cut_off, "{id}");
            assert!(completed == 1 || completed == 0 && cut_off > 0, "{id}: {completed} {cut_off}");
        }
        let landings: Vec<&Value> = self.of_type("landing").collect();
        let commits: BTreeSet<String> = landings.iter().map(|landing| text(&landing["commit"])).collect();
        assert_eq!(commits.len(), landings.len(), "{landings:#?}");
        assert!(
            landings.iter().all(|landing| landing["branch"] == "main" && landing["why"].is_null()),
            "{landings:#?}"
        );
        // A session may claim again what has passed.
        let taken_back = |change: &&Value| change["previous"] == "passed" && change["new"] != "passed";
        assert_eq!(self.of_type("status_changed").find(taken_back), None);
        let said = self.said();
        assert!(said.contains("flaky"), "{said}");
        for line in said.lines().filter(|line| line.contains("breaks checks of what others have finished")) {
            assert!(line.starts_with("D09 ") && line.contains(": D08."), "{line}");
        }
    }
}

#[test]
fn eight_agents_build_what_one_would_also_if_they_are_killed() {
    let project = project();
    let (_looks, signs) = (flaky_looks(&project), signs(&project));
    let model = model(&script(&project));
    let run = || project.command(&model, &["run", "--agents", &AGENTS.to_string()]);
    let refusal = |second: &str| match second {
        "D06" => ["D06 conflicts", "with what others have finished: list.txt."],
        "D09" => ["D09 breaks", "checks of what others have finished: D08."],
        _ => ["Check `check-D11`", "That commit is yours merged with what others have finished meanwhile"],
    };
    let mut processes = Vec::new();
    for enough in [12, 20] {
        let path = project.home().join(format!("events-{enough}"));
        let output = File::create(&path).expect("created");
        let mut child = run().stdout(output).stderr(Stdio::null()).spawn().expect("started");
        let events = || fs::read_to_string(&path).expect("events");
        if enough == 12 {
            until("all have begun", || events().matches(r#""type":"session_started""#).count() == AGENTS);
            fs::write(signs.join("begun"), "").expect("written");
            for (second, first) in SECOND {
                until(&format!("{first} has passed"), || passed(&project).contains(first));
                fs::write(signs.join(first), "").expect("written");
                let is_refusal = |line: &str| refusal(second).iter().all(|words| line.contains(words));
                until(&format!("{second} is refused"), || events().lines().any(is_refusal));
            }
        }
        // Each has as long as a wait may take.
        (1..=enough).for_each(|number| until("one more has passed", || passed(&project).len() >= number));
        signal(&child, Signal::KILL);
        child.wait().expect("ended");
        // The last line may be half.
        processes.push(events().lines().filter_map(|line| serde_json::from_str(line).ok()).collect());
    }
    let last = RunOutput::from(run().output().expect("started"));
    assert_whole(&project, &last);
    processes.push(last.events);
    let happened = Happened { processes };
    happened.assert_nothing_is_there_twice();
    let merged = project.git(&["log", "--format=%s", "--no-merges", "main"]);
    for id in ids() {
        assert!(merged.lines().any(|subject| subject == format!("Build {id}")), "{id}: {merged}");
    }
}

#[test]
fn one_agent_builds_the_same() {
    let project = project();
    let (_looks, signs) = (flaky_looks(&project), signs(&project));
    for sign in std::iter::once("begun").chain(SECOND.map(|(_, first)| first)) {
        fs::write(signs.join(sign), "").expect("written");
    }
    let run = project.run(&model(&script(&project)), &["run"]);
    assert_whole(&project, &run);
    let happened = Happened { processes: vec![run.events] };
    // A deliverable of another one's session is not named there.
    assert_eq!(happened.of_type("session_started").count(), COUNT);
    assert!(happened.said().contains("Check `check-D12` failed and then passed on the same files"));
}
