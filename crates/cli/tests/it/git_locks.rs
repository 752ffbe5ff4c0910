//! Runs that are stopped while git works: no lock file of git's stays in the way of the next one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use autonoe_scripted::Server;
use rustix::process::{Pid, Signal, kill_process};

use super::support::{
    Place, Run, always, assert_nothing_left, has_bubblewrap, model, signal, wait_until, without_bubblewrap,
};

/// How often a run is stopped at a moment of its own.
const STOPS: u32 = 10;
/// The moment is within this time after a commit.
const MOMENT: Duration = Duration::from_millis(40);

/// A project with a repository, whose owner trusts `bash`.
fn place() -> Place {
    let place = Place::with_status(&[("A", "pending")]);
    place.write(".autonoe/agent.json", r#"{"allowCommands": {"base": ["bash"]}}"#);
    let trusted = place.autonoe(None).args(["trust", "--yes"]).output().expect("started");
    assert!(trusted.status.success());
    place.git(&["init", "-q", "-b", "main", "."]);
    place
}

/// A model whose agent runs `script.sh`, and then says that all is well.
fn runs_the_script() -> Server {
    model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "bash script.sh" } }]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ))
}

const COMMITS: &str = r#"
    git config gc.auto 20
    for i in $(seq 2000); do
        echo $i > file && git add file && git commit -qm "commit $i" && echo $i > made
        git pack-refs --all; git tag -f t > /dev/null; git checkout -q -B other; git checkout -q -B main
    done
"#;

/// Every lock file in the repository.
fn locks(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
    found
}

fn started(place: &Place, server: &Server, path: Option<&Path>) -> Child {
    let mut command = place.command(server, &["run"]);
    command.envs(path.map(|path| ("PATH", path)));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

fn stopped_at_any_moment(path: impl Fn(&Place) -> Option<PathBuf>) {
    let (place, server) = (place(), runs_the_script());
    let path = path(&place);
    for stop in 0..STOPS {
        place.write("script.sh", COMMITS);
        let _ = fs::remove_file(place.path("made"));
        let child = started(&place, &server, path.as_deref());
        wait_until("something is committed", || place.path("made").exists());
        std::thread::sleep(MOMENT.mul_f64(fastrand::f64()));
        signal(&child, if stop % 2 == 0 { Signal::INT } else { Signal::TERM });
        let run = Run::from(child.wait_with_output().expect("ended"));
        run.assert_ended("interrupted", 130);
        assert_nothing_left(&place);
        assert_eq!(locks(&place.path(".git")), Vec::<PathBuf>::new(), "stop {stop}: {}", run.stderr);
    }
    place.write("script.sh", "echo last > file && git add file && git commit -qm last");
    let run = Run::from(started(&place, &server, path.as_deref()).wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(place.git(&["log", "-1", "--format=%s"]), "last");
}

#[test]
fn a_run_that_is_stopped_during_commits_leaves_no_lock() {
    if has_bubblewrap() {
        stopped_at_any_moment(|_| None);
    }
}

#[test]
fn a_run_that_is_stopped_during_commits_leaves_no_lock_without_bubblewrap() {
    stopped_at_any_moment(|place| Some(without_bubblewrap(place)));
}

/// Leaves what a git that is killed leaves, and waits.
const HOLDS_A_LOCK: &str = "touch .git/index.lock .git/refs/heads/main.lock; echo x > ready.txt; sleep 300";

/// The next run says what it removed, on the screen and in its events, and works.
fn assert_goes_on(place: &Place, server: &Server) {
    place.write("script.sh", "echo x > file && git add file && git commit -qm made");
    let doctor = place.autonoe(Some(server)).arg("doctor").output().expect("started");
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("index.lock was left by a killed session; the next run removes it"), "{said}");
    let run = place.run(server, &["run"]);
    run.assert_ended("all_passed", 0);
    for name in ["index.lock", "main.lock"] {
        let told: Vec<_> =
            run.of_type("trouble").filter(|event| event["message"].to_string().contains(name)).collect();
        assert_eq!(told.len(), 1, "{:?}", run.events);
        assert!(run.stderr.contains(name), "{}", run.stderr);
    }
    assert_eq!(place.git(&["log", "-1", "--format=%s"]), "made");
    for name in [".claude", ".codex", ".cursor", ".gemini"] {
        assert!(!place.path(name).exists(), "{name} is left");
    }
}

#[test]
fn a_killed_run_is_swept_up_after() {
    let (place, server) = (place(), runs_the_script());
    place.write("script.sh", HOLDS_A_LOCK);
    let mut child = started(&place, &server, None);
    wait_until("the locks are there", || place.path("ready.txt").exists());
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    assert_nothing_left(&place);
    for name in [".claude", ".codex", ".cursor", ".gemini"] {
        wait_until("what stood in is gone", || !place.path(name).exists());
    }
    assert_goes_on(&place, &server);
}

/// As where the machine runs out of memory, or a container is removed: nobody is left who could put things right.
#[test]
fn a_run_that_is_killed_with_everything_in_it_is_swept_up_after() {
    let (place, server) = (place(), runs_the_script());
    place.write("script.sh", HOLDS_A_LOCK);
    let mut child = started(&place, &server, None);
    wait_until("the locks are there", || place.path("ready.txt").exists());
    for pid in descendants(child.id()) {
        let _ = kill_process(Pid::from_raw(pid).expect("pid"), Signal::KILL);
    }
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    assert_nothing_left(&place);
    assert_goes_on(&place, &server);
}

fn descendants(pid: u32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    let below = children.iter().flat_map(|child| descendants(*child));
    children.iter().filter_map(|pid| i32::try_from(*pid).ok()).chain(below.collect::<Vec<_>>()).collect()
}

#[test]
fn the_users_own_commit_is_left_alone_and_named() {
    let (place, server) = (place(), runs_the_script());
    place.write("file", "one");
    place.git(&["add", "file"]);
    let mut commit = Command::new("git");
    commit.args(["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-a"]).env_clear();
    commit.env("PATH", "/usr/bin:/bin").env("HOME", place.home());
    let editor =
        "sh -c 'echo x > editing; while test -e editing; do sleep 0.01; done; echo mine > \"$1\"' --";
    commit.env("GIT_EDITOR", editor).current_dir(place.project()).stdout(Stdio::null());
    let mut users = commit.spawn().expect("started");
    wait_until("the editor is open", || place.path("editing").exists());

    let doctor = place.autonoe(Some(&server)).arg("doctor").output().expect("started");
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains(&format!("index.lock is held by git (process {})", users.id())), "{said}");
    place.write("script.sh", "git status --short");
    let refused = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "rm -f .git/index.lock" } }]
          [[conversation.turn]]
          expect = "still running"
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    let run = place.run(&refused, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(refused.problems(), Vec::<String>::new());
    assert!(run.stderr.contains("index.lock is held by git"), "{}", run.stderr);
    fs::remove_file(place.path("editing")).expect("removed");
    assert!(users.wait().expect("ended").success(), "the user's commit is made");
    assert_eq!(place.git(&["log", "-1", "--format=%s"]), "mine");
}

#[test]
fn a_lock_of_nobodys_is_named_and_the_agent_may_remove_it() {
    let place = place();
    place.write(".git/index.lock", "");
    let server = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "echo x > file; git add file || rm -f .git/index.lock && git add file && git commit -qm made" } }]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    let doctor = place.autonoe(Some(&server)).arg("doctor").output().expect("started");
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("index.lock exists") && said.contains("rm '"), "{said}");
    let run = place.run(&server, &["run"]);
    run.assert_ended("all_passed", 0);
    assert!(run.of_type("trouble").any(|event| event["message"].to_string().contains("index.lock exists")));
    assert_eq!(place.git(&["log", "-1", "--format=%s"]), "made");
}
