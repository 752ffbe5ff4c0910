//! Runs that are stopped while git works leave no lock file that blocks the next run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use autonoe_scripted::ScriptedServer;
use rustix::process::{Pid, Signal, kill_process};

use super::support::{
    CliTestProject, RunOutput, always, assert_no_processes_left, has_bubblewrap, model, runs_and_passes,
    signal, until, without_bubblewrap,
};

/// How often a run is stopped at a random moment.
const STOPS: u32 = 10;
/// The moment is within this time after a commit.
const MOMENT: Duration = Duration::from_millis(40);

/// A project with a repository, whose user allows `bash`.
fn project() -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.write(".autonoe/agent.json", r#"{"allowCommands": {"base": ["bash"]}}"#);
    let trusted = project.autonoe(None).args(["trust", "--yes"]).output().expect("started");
    assert!(trusted.status.success());
    project.git(&["init", "-q", "-b", "main", "."]);
    project
}

fn runs_the_script() -> ScriptedServer {
    model(&runs_and_passes("bash script.sh"))
}

const COMMITS: &str = r#"
    git config gc.auto 20
    for i in $(seq 2000); do
        echo $i > file && git add file && git commit -qm "commit $i" && echo $i > made
        git pack-refs --all; git tag -f t > /dev/null; git checkout -q -B other; git checkout -q -B main
    done
"#;

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

fn started(project: &CliTestProject, server: &ScriptedServer, path: Option<&Path>) -> Child {
    let mut command = project.command(server, &["run"]);
    command.envs(path.map(|path| ("PATH", path)));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

fn stopped_at_any_moment(path: impl Fn(&CliTestProject) -> Option<PathBuf>) {
    let (project, server) = (project(), runs_the_script());
    let path = path(&project);
    for stop in 0..STOPS {
        project.write("script.sh", COMMITS);
        let _ = fs::remove_file(project.path("made"));
        let child = started(&project, &server, path.as_deref());
        until("something is committed", || project.agents_path("made").exists());
        std::thread::sleep(MOMENT.mul_f64(fastrand::f64()));
        signal(&child, if stop % 2 == 0 { Signal::INT } else { Signal::TERM });
        let run = RunOutput::from(child.wait_with_output().expect("ended"));
        run.assert_ended("interrupted", 130);
        assert_no_processes_left(&project);
        assert_eq!(locks(&project.path(".git")), Vec::<PathBuf>::new(), "stop {stop}: {}", run.stderr);
    }
    project.write("script.sh", "echo last > file && git add file && git commit -qm last");
    let run = RunOutput::from(started(&project, &server, path.as_deref()).wait_with_output().expect("ended"));
    run.assert_ended("all_passed", 0);
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "last");
}

#[test]
fn a_run_interrupted_during_commits_leaves_no_lock() {
    if has_bubblewrap() {
        stopped_at_any_moment(|_| None);
    }
}

#[test]
fn a_run_interrupted_during_commits_leaves_no_lock_without_bubblewrap() {
    stopped_at_any_moment(|project| Some(without_bubblewrap(project)));
}

/// Leaves the lock files of a killed git, and waits.
const HOLDS_A_LOCK: &str = "mkdir -p .git/logs; touch .git/index.lock .git/refs/heads/main.lock .git/logs/HEAD.lock; \
     echo x > ready.txt; sleep 300";

/// The next run reports the removed locks on screen and in its events, and succeeds.
fn assert_goes_on(project: &CliTestProject, server: &ScriptedServer) {
    project.write("script.sh", "echo x > file && git add file && git commit -qm made");
    let doctor = project.autonoe(Some(server)).arg("doctor").output().expect("started");
    let printed = String::from_utf8_lossy(&doctor.stdout);
    assert!(
        printed.contains("index.lock was left by a killed session; the next run removes it"),
        "{printed}"
    );
    let run = project.run(server, &["run"]);
    run.assert_ended("all_passed", 0);
    for name in ["index.lock", "main.lock", "HEAD.lock"] {
        let notices: Vec<_> =
            run.of_type("trouble").filter(|event| event["message"].to_string().contains(name)).collect();
        assert_eq!(notices.len(), 1, "{:?}", run.events);
        assert!(run.stderr.contains(name), "{}", run.stderr);
    }
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "made");
    for name in [".claude", ".codex", ".cursor", ".gemini"] {
        assert!(!project.path(name).exists(), "{name} is left");
    }
}

#[test]
fn locks_of_a_killed_run_are_removed_by_the_next() {
    let (project, server) = (project(), runs_the_script());
    project.write("script.sh", HOLDS_A_LOCK);
    let mut child = started(&project, &server, None);
    until("the locks are there", || project.agents_path("ready.txt").exists());
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    assert_no_processes_left(&project);
    for name in [".claude", ".codex", ".cursor", ".gemini"] {
        until("the placeholder is gone", || !project.path(name).exists());
    }
    assert_goes_on(&project, &server);
}

/// As when the machine runs out of memory or a container is removed: no process is left to clean up.
#[test]
fn locks_are_removed_even_if_all_processes_were_killed() {
    let (project, server) = (project(), runs_the_script());
    project.write("script.sh", HOLDS_A_LOCK);
    let mut child = started(&project, &server, None);
    until("the locks are there", || project.agents_path("ready.txt").exists());
    for pid in descendants(child.id()) {
        let _ = kill_process(Pid::from_raw(pid).expect("pid"), Signal::KILL);
    }
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    assert_no_processes_left(&project);
    assert_goes_on(&project, &server);
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
fn doctor_removes_the_locks_of_a_killed_session_and_keeps_others() {
    let (project, server) = (project(), runs_the_script());
    project.write("script.sh", HOLDS_A_LOCK);
    project.write(".git/config.lock", "");
    let mut child = started(&project, &server, None);
    until("the locks are there", || project.agents_path("ready.txt").exists());
    signal(&child, Signal::KILL);
    child.wait().expect("reaped");
    assert_no_processes_left(&project);
    let doctor = project.autonoe(Some(&server)).args(["doctor", "--fix"]).output().expect("started");
    let printed = String::from_utf8_lossy(&doctor.stdout);
    assert!(printed.contains("ok   fix:") && !project.path(".git/index.lock").exists(), "{printed}");
    assert!(printed.contains("config.lock exists") && project.path(".git/config.lock").exists(), "{printed}");
}

#[test]
fn a_lock_held_by_the_users_git_is_kept_and_reported() {
    let (project, server) = (project(), runs_the_script());
    project.write("file", "one");
    project.git(&["add", "file"]);
    let mut commit = Command::new("git");
    commit.args(["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-a"]).env_clear();
    commit.env("PATH", "/usr/bin:/bin").env("HOME", project.home());
    let editor =
        "sh -c 'echo x > editing; while test -e editing; do sleep 0.01; done; echo mine > \"$1\"' --";
    commit.env("GIT_EDITOR", editor).current_dir(project.root()).stdout(Stdio::null());
    let mut users = commit.spawn().expect("started");
    until("the editor is open", || project.agents_path("editing").exists());

    let doctor = project.autonoe(Some(&server)).arg("doctor").output().expect("started");
    let printed = String::from_utf8_lossy(&doctor.stdout);
    assert!(printed.contains(&format!("index.lock is held by git (process {})", users.id())), "{printed}");
    project.write("script.sh", "git status --short");
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
    let run = project.run(&refused, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(refused.problems(), Vec::<String>::new());
    assert!(run.stderr.contains("index.lock is held by git"), "{}", run.stderr);
    fs::remove_file(project.path("editing")).expect("removed");
    assert!(users.wait().expect("ended").success(), "the user's commit is made");
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "mine");
}

#[test]
fn a_stale_lock_is_reported_and_the_agent_may_remove_it() {
    let project = project();
    project.write(".git/index.lock", "");
    let server = model(&runs_and_passes(
        "echo x > file; git add file || rm -f .git/index.lock && git add file && git commit -qm made",
    ));
    let doctor = project.autonoe(Some(&server)).arg("doctor").output().expect("started");
    let printed = String::from_utf8_lossy(&doctor.stdout);
    assert!(printed.contains("index.lock exists") && printed.contains("rm '"), "{printed}");
    let run = project.run(&server, &["run"]);
    run.assert_ended("all_passed", 0);
    assert!(run.of_type("trouble").any(|event| event["message"].to_string().contains("index.lock exists")));
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "made");
}

#[test]
fn the_lock_of_a_killed_landing_is_removed_and_never_left_to_the_user() {
    let project =
        CliTestProject::with_status(&[("A", "pending"), ("B", "passed")]).in_workspace().in_repository();
    let server = model(&runs_and_passes("echo $$ > file && git add file && git commit -qm made"));
    project.run(&server, &["run"]).assert_ended("all_passed", 0);
    let record = project.journal().with_file_name("hub").join("landing-locks.json");
    fs::write(record, r#"{"branch":"main","before":[],"earlier":[]}"#).expect("written");
    project.write(".git/index.lock", "");
    let doctor = project.autonoe(Some(&server)).arg("doctor").output().expect("started");
    let printed = String::from_utf8_lossy(&doctor.stdout);
    assert!(
        printed.contains("index.lock was left by a killed landing; the next run removes it"),
        "{printed}"
    );
    let land = project.autonoe(Some(&server)).arg("land").output().expect("started");
    assert!(land.status.success() && !project.path(".git/index.lock").exists(), "{land:?}");
    project.git(&["status"]);
    let run = project.run(&server, &["run"]);
    assert!(!run.stderr.contains("rm '"), "{}", run.stderr);
}
