//! Several agents at once in one project, each in a workspace of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use autonoe_scripted::ScriptedServer;
use rustix::process::Signal;

use super::support::{CliTestProject, RunOutput, model, signal, until};

/// A project with the agents `one` and `two`, and a deliverable A.
fn project() -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    for agent in ["one", "two"] {
        let made = project.autonoe(None).args(["agent", "init", agent]).output().expect("started");
        assert!(made.status.success(), "{made:?}");
    }
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "the user's\n")]);
    project
}

/// Each agent commits a file with its name, waits for `.git/go` and is done; a run builds A.
fn script() -> ScriptedServer {
    let agent = |name: &str| {
        format!(
            "[[conversation]]\nname = '{name}'\nwhen = 'work of {name}'\n[[conversation.turn]]\n\
             call = [{{ tool = 'Bash', input = {{ command = 'echo x > {name}.txt; git add {name}.txt; git commit -qm {name}; \
             touch .git/ready; until [ -e .git/go ]; do sleep 0.05; done' }} }}]\n\
             [[conversation.turn]]\ntext = 'TASK_COMPLETE'\n"
        )
    };
    let run = "[[conversation]]\nname = 'run'\nwhen = 'one deliverable'\n[[conversation.turn]]\n\
               call = [{ tool = 'Bash', input = { command = 'echo x > a.txt; git add a.txt; git commit -qm a' } }, \
               { tool = 'mcp__autonoe__set_status', input = { deliverableId = 'A', status = 'passed' } }]\n\
               [[conversation.turn]]\ntext = 'done'\n";
    model(&format!("{}{}{run}", agent("one"), agent("two")))
}

struct AgentAtWork {
    child: Child,
    tree: PathBuf,
}

impl AgentAtWork {
    /// Starts an agent and waits until it has committed.
    fn start(project: &CliTestProject, model: &ScriptedServer, name: &str) -> Self {
        let task = format!("task=work of {name}");
        let mut command = project.command(model, &["agent", "run", name, "--arg", &task]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let state = project.home().join(".local/state/autonoe/projects");
        let slot = format!("hub/workspaces/agent-{name}-1/tree");
        let find = || Some(fs::read_dir(&state).ok()?.next()?.ok()?.path().join(&slot));
        until("the agent has committed", || find().is_some_and(|tree| tree.join(".git/ready").exists()));
        Self { child, tree: find().expect("found") }
    }

    fn finish(self) -> RunOutput {
        fs::write(self.tree.join(".git/go"), "").expect("written");
        RunOutput::from(self.child.wait_with_output().expect("ended"))
    }
}

/// The branches of landings, and whether they landed.
fn landings(run: &RunOutput) -> Vec<(&str, bool)> {
    let landings = run.of_type("landing");
    landings.map(|event| (event["branch"].as_str().expect("a branch"), event["why"].is_null())).collect()
}

#[test]
fn two_agents_work_at_once_and_nothing_is_lost() {
    let (project, model) = (project(), script());
    let one = AgentAtWork::start(&project, &model, "one");
    let two = AgentAtWork::start(&project, &model, "two");
    let first = two.finish();
    assert_eq!((landings(&first), first.code), (vec![("main", true)], Some(0)), "{}", first.stderr);
    assert_eq!(project.git(&["log", "--format=%s"]), "two\nwork");
    let second = one.finish();
    assert_eq!((landings(&second), second.code), (vec![("autonoe/1", false)], Some(0)), "{}", second.stderr);
    assert!(second.stderr.contains("your branch has moved"), "{}", second.stderr);
    assert!(second.stderr.contains("git merge --no-overwrite-ignore autonoe/1"), "{}", second.stderr);
    let land = || {
        String::from_utf8(project.autonoe(None).arg("land").output().expect("started").stdout).expect("text")
    };
    assert!(land().contains("git merge --no-overwrite-ignore autonoe/1"), "{}", land());
    project.git(&["merge", "-q", "-m", "both", "autonoe/1"]);
    assert_eq!(land(), "Nothing is waiting to land.\n");
    assert!(project.path("one.txt").exists() && project.path("two.txt").exists());
}

#[test]
fn a_killed_agent_leaves_the_other_at_work_and_is_resumed_where_it_was() {
    let (project, model) = (project(), script());
    let mut one = AgentAtWork::start(&project, &model, "one");
    let two = AgentAtWork::start(&project, &model, "two");
    signal(&one.child, Signal::KILL);
    one.child.wait().expect("reaped");
    let tree = one.tree.clone();
    let mut resume = project.command(&model, &["agent", "run", "one", "--resume"]);
    fs::write(tree.join(".git/go"), "").expect("written");
    let resumed = RunOutput::from(resume.output().expect("started"));
    assert_eq!((landings(&resumed), resumed.code), (vec![("main", true)], Some(0)), "{}", resumed.stderr);
    assert!(project.path("one.txt").exists());
    let other = two.finish();
    assert_eq!((landings(&other), other.code), (vec![("autonoe/2", false)], Some(0)), "{}", other.stderr);
    assert_eq!(project.git(&["show", "autonoe/2:two.txt"]), "x");
}

#[test]
fn a_run_and_an_agent_work_at_once() {
    let (project, model) = (project(), script());
    let one = AgentAtWork::start(&project, &model, "one");
    let doctor = |args: &[&str]| {
        let output = project.autonoe(Some(&model)).arg("doctor").args(args).output().expect("started");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, out) = doctor(&[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("note lock: free; `autonoe agent run one` (process"), "{out}");
    let (code, out) = doctor(&["--in-place"]);
    assert_eq!(code, Some(2), "{out}");
    assert!(out.contains("BAD  lock: held by `autonoe agent run one`"), "{out}");
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(landings(&run), [("main", true)]);
    let agent = one.finish();
    assert_eq!((landings(&agent), agent.code), (vec![("autonoe/1", false)], Some(0)), "{}", agent.stderr);
    assert_eq!(project.statuses(), [("A".to_owned(), "passed")]);
}

#[test]
fn an_agent_keeps_everything_away_from_the_checkout() {
    let (project, model) = (project(), script());
    let one = AgentAtWork::start(&project, &model, "one");
    for args in [&["run", "--in-place"][..], &["agent", "run", "two", "--in-place", "--arg", "task=x"]] {
        let refused = project.command(&model, args).output().expect("started");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("This project is in use by `autonoe agent run one`"), "{said}");
    }
    assert_eq!(one.finish().code, Some(0));
}

#[test]
fn two_runs_of_deliverables_are_refused() {
    let waits = model(
        "[[conversation]]\n[[conversation.turn]]\n\
         call = [{ tool = 'Bash', input = { command = 'touch .git/ready; sleep 300' } }]\n[[conversation.turn]]\ntext = 'x'",
    );
    let project = project();
    let mut first = project.command(&waits, &["run"]);
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("the run is at work", || project.agents_path(".git/ready").exists());
    let second = project.command(&waits, &["run"]).output().expect("started");
    let said = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("in use by `autonoe run` (process {}", first.id())), "{said}");
    signal(&first, Signal::KILL);
    first.wait().expect("reaped");
}
