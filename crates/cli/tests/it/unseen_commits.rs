//! Commits that came after the last check: nobody lands them without a word.

use std::process::Stdio;

use autonoe_scripted::ScriptedServer;
use rustix::process::Signal;

use super::support::{
    CliTestProject, always, assert_script_followed, coding, model, runs_and_passes, signal, until,
};

/// Standard output of a command that ends with `code`.
fn command(project: &CliTestProject, args: &[&str], code: i32) -> String {
    let output = project.autonoe(None).args(args).output().expect("started");
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A run in which A was verified, and which was interrupted or killed after two more commits, with `args`.
fn stopped_run(args: &[&str], by: Signal) -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_workspace();
    project.write("SPEC.md", "# Spec\n\n```check A name=a\n$ cat a.txt\nbuilt\n```\n");
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    let model = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "echo built > a.txt; git add a.txt; git commit -qm checked" } }]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          expect = "verified"
          call = [{ tool = "Bash", input = { command = "for n in 1 2; do echo $n > a.txt; git commit -qam $n; done; echo > .git/ready; sleep 300" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    let mut run = project.command(&model, &[&["run"], args].concat());
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("the agent has committed", || project.agents_path(".git/ready").exists());
    signal(&child, by);
    child.wait().expect("ended");
    project
}

#[test]
fn land_says_which_commits_no_check_has_seen_and_can_leave_them_out() {
    let project = stopped_run(&["--land", "never"], Signal::INT);
    let status = command(&project, &["status"], 0);
    assert!(status.contains("(verified, commit "), "{status}");
    assert!(status.contains("Branch autonoe/1 has 2 commit(s) after "), "{status}");
    assert!(status.contains("`autonoe land --checked` lands only what was checked"), "{status}");
    let json: serde_json::Value =
        serde_json::from_str(&command(&project, &["status", "--json"], 0)).expect("JSON");
    assert_eq!(json["unseen_commits"]["commits"], 2, "{json}");

    let landed = command(&project, &["land", "--checked"], 0);
    assert!(landed.contains("[LANDED]") && !landed.contains("Checks have not"), "{landed}");
    assert_eq!(
        (project.git(&["log", "--format=%s"]), project.read("a.txt")),
        ("checked\nwork".into(), "built\n".into())
    );
    let nothing = command(&project, &["land", "--checked"], 0);
    assert!(nothing.starts_with("No commit on which checks still pass is waiting to land."), "{nothing}");

    let landed = command(&project, &["land"], 0);
    assert!(landed.contains("Checks have not passed on any of these 2 commit(s)."), "{landed}");
    assert_eq!(project.read("a.txt"), "2\n");
}

#[test]
fn land_names_the_checked_commit_when_it_lands_more() {
    let project = stopped_run(&["--land", "never"], Signal::INT);
    let landed = command(&project, &["land"], 0);
    let checked = project.git(&["rev-parse", "main~2"]);
    let sentence =
        format!("Checks have not passed on the last 2 commit(s): they last passed on {}.", &checked[..10]);
    assert!(landed.contains("[LANDED]") && landed.contains(&sentence), "{landed}");
}

#[test]
fn status_and_report_say_so_after_everything_has_landed() {
    let project = stopped_run(&[], Signal::INT);
    command(&project, &["land"], 0);
    for name in ["status", "report"] {
        let said = command(&project, &[name], 0).replace('\\', "");
        assert!(said.contains("Run 1 has 2 commit(s) after "), "{name}: {said}");
        assert!(said.contains("that no check has seen"), "{name}: {said}");
    }
}

#[test]
fn after_a_kill_only_what_was_checked_is_there_to_land() {
    let project = stopped_run(&[], Signal::KILL);
    let status = command(&project, &["status"], 0);
    assert!(status.contains("A run that was killed left commits in its workspace"), "{status}");
    let landed = command(&project, &["land"], 0);
    assert!(landed.contains("[LANDED]") && !landed.contains("Checks have not"), "{landed}");
    assert_eq!(project.read("a.txt"), "built\n");
    // Of what the agent has committed since, all commands say the same.
    let left = "A run that was killed left commits in its workspace; the next `autonoe run` continues them";
    for args in [&["land"], &["diff"], &["status"]] {
        let said = command(&project, args, 0);
        assert!(said.contains(left), "{args:?}: {said}");
    }
}

#[test]
fn status_says_when_the_users_branch_went_on_after_the_last_check() {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    project.write("SPEC.md", "# Spec\n\n```check A name=a\n$ cat a.txt\nbuilt\n```\n");
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    let model = model(&runs_and_passes("echo built > a.txt; git add a.txt; git commit -qm built"));
    project.run(&model, &["run"]).assert_ended("all_passed", 0);
    assert!(
        !command(&project, &["status"], 0).contains("Nothing was verified"),
        "it was verified on that commit"
    );
    project.commit(&[("a.txt", "broken\n")]);
    let status = command(&project, &["status"], 0);
    let head = project.git(&["rev-parse", "main"]);
    let sentence = format!("Nothing was verified on your last commit, {}", &head[..10]);
    assert!(status.contains(&sentence), "{status}");
    let report = command(&project, &["report"], 0);
    assert!(report.contains(&sentence), "{report}");
    let json: serde_json::Value =
        serde_json::from_str(&command(&project, &["status", "--json"], 0)).expect("JSON");
    assert_eq!(json["unseen_head"], head.as_str());
    // The next run checks it, and what is built anew lands again.
    let run = project.run(&model, &["run", "-n", "1"]);
    run.assert_ended("all_passed", 0);
    assert!(run.stderr.contains("[FAILED] a of A"), "{}", run.stderr);
    assert_eq!(project.read("a.txt"), "built\n", "{}", run.stderr);
}

#[test]
fn discarded_commits_neither_land_nor_are_built_on() {
    // A killed run has brought only what was claimed; the rest is still in its workspace, and is given up too.
    for by in [Signal::INT, Signal::KILL] {
        let project = stopped_run(&["--land", "never"], by);
        let discarded = command(&project, &["land", "--discard"], 0);
        assert!(discarded.starts_with("[DISCARDED] 3 commit(s) of autonoe/1."), "{discarded}");
        let kept = discarded.lines().last().and_then(|line| line.split_once("git ")).expect("a command").1;
        project.git(&kept.split(' ').collect::<Vec<_>>());
        let kept = project.git(&["rev-parse", "FETCH_HEAD"]);
        assert!(discarded.contains("Pending again: A."), "{discarded}");
        assert_eq!(project.git(&["branch", "--list", "autonoe/*"]), "", "nothing of them is left");
        let status = command(&project, &["status"], 0);
        assert!(status.contains("0/2 deliverables passed"), "{status}");
        assert_eq!(command(&project, &["land"], 0), "Nothing is waiting to land.\n");
        assert_eq!(command(&project, &["diff"], 0), "Nothing is waiting to land.\n");

        let looks = r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "ls; git log --format=%s; echo other > b.txt; git add b.txt; git commit -qm other" } }]
          [[conversation.turn]]
          expect = "kept.txt\nwork"
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "B", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        "#;
        let model = model(&always(looks));
        project.command(&model, &["run", "-n", "1"]).output().expect("started");
        assert_script_followed(&model);
        command(&project, &["land"], 0);
        assert_eq!(project.git(&["log", "--format=%s", "main"]), "other\nwork");

        let back = discarded.lines().last().and_then(|line| line.split_once("git ")).expect("a command").1;
        project.git(&back.split(' ').collect::<Vec<_>>());
        assert_eq!(project.git(&["log", "--format=%s", "FETCH_HEAD"]), "2\n1\nchecked\nwork");
        assert_eq!(project.git(&["rev-parse", "FETCH_HEAD"]), kept, "a later run does not change it");
    }
}

#[test]
fn what_had_landed_and_was_reset_is_called_so() {
    let project = stopped_run(&[], Signal::INT);
    command(&project, &["land"], 0);
    let landed = project.git(&["rev-parse", "main"]);
    project.git(&["reset", "-q", "--hard", "main~2"]);
    let again = command(&project, &["land"], 0);
    assert!(again.contains("had landed before, and your branch was reset since"), "{again}");
    assert_eq!(project.git(&["rev-parse", "main"]), landed);
}

/// Other work does not bring back what the user has reset.
#[test]
fn commits_below_that_were_reset_do_not_land_again() {
    let project = stopped_run(&[], Signal::INT);
    project.git(&["reset", "-q", "--hard", "main~1"]);
    let apart = command(&project, &["land"], 7);
    assert!(apart.contains("git rebase --onto main "), "{apart}");
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "work");
    assert_ne!(project.git(&["branch", "--list", "autonoe/*"]), "", "the advice names it");
}

/// What agents claim of a branch that conflicts is not done, and what landed before stays so when the rest is discarded.
#[test]
fn claims_whose_commits_are_not_on_the_branch_are_pending_again() {
    let project =
        CliTestProject::with_status(&[("A", "pending"), ("B", "pending"), ("C", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    // The time keeps a commit that is made again within a second from being the discarded one.
    let build = |id: &str| {
        let work = format!("date +%N > {id}.txt; git add {id}.txt; git commit -qm {id}");
        coding(id, "passed").replace(&format!("echo built >> work-{id}.txt"), &work)
    };
    let model = model(&["A", "B", "C"].map(build).concat());
    project.command(&model, &["run", "-n", "1"]).output().expect("started");
    assert_eq!(project.git(&["log", "-1", "--format=%s", "main"]), "A");
    project.command(&model, &["run", "-n", "1", "--land", "never"]).output().expect("started");
    let discarded = command(&project, &["land", "--discard"], 0);
    assert!(discarded.contains("Pending again: B.\n"), "A has landed: {discarded}");

    project.command(&model, &["run", "-n", "1", "--land", "never"]).output().expect("started");
    let in_place = project.command(&model, &["run", "--in-place"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&in_place.stderr);
    assert!(stderr.contains("Commits of an earlier run wait on autonoe/3"), "{stderr}");
    assert_eq!(in_place.status.code(), Some(2));
    project.commit(&[("B.txt", "the user's\n")]);
    let run = project.run(&model, &["run", "-n", "1", "--land", "never"]);
    let said = "These had passed with commits that your branch does not have, and are pending again: B.";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert!(run.stderr.contains("they conflict with yours in B.txt"), "{}", run.stderr);
    let shown = command(&project, &["diff"], 0);
    assert!(shown.contains("More commits wait on autonoe/3: `git diff ...autonoe/3` shows them."), "{shown}");
}

#[test]
fn a_killed_landing_is_known_and_not_finished_for_who_discards() {
    let project = stopped_run(&["--land", "never"], Signal::INT);
    let head = project.git(&["rev-parse", "main"]);
    let tip = project.git(&["rev-parse", "autonoe/1"]);
    project.write("a.txt", "2\n");
    let record = format!(r#"{{"branch":"main","commit":"{tip}","old":"{head}"}}"#);
    let hub = project.journal().with_file_name("hub");
    std::fs::write(hub.join("landing.json"), record).expect("written");
    let status = command(&project, &["status"], 0);
    assert!(status.contains("A landing was interrupted"), "{status}");
    let model = model(&always("[[conversation.turn]]\ntext = 'done'\n"));
    let in_place = project.command(&model, &["run", "--in-place"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&in_place.stderr);
    assert!(stderr.contains("A landing was interrupted") && !in_place.status.success(), "{stderr}");
    let discarded = command(&project, &["land", "--discard"], 0);
    let taken_back = "A landing that was interrupted was taken back: 1 file(s) are as your last commit has them again (a.txt).";
    assert!(discarded.contains(taken_back), "{discarded}");
    assert_eq!(project.git(&["rev-parse", "main"]), head);
    assert!(!project.path("a.txt").exists(), "what it had written is taken back");
}

#[test]
fn a_killed_landing_is_taken_back_and_said_so_if_the_user_has_committed_since() {
    let project = stopped_run(&["--land", "never"], Signal::INT);
    let head = project.git(&["rev-parse", "main"]);
    let tip = project.git(&["rev-parse", "autonoe/1"]);
    project.write("a.txt", "2\n");
    let record = format!(r#"{{"branch":"main","commit":"{tip}","old":"{head}"}}"#);
    std::fs::write(project.journal().with_file_name("hub").join("landing.json"), record).expect("written");
    project.write("mine.txt", "");
    project.git(&["add", "mine.txt"]);
    project.git(&["commit", "-q", "-m", "mine"]);
    let status = command(&project, &["status"], 0);
    assert!(status.contains("your branch has moved since, so `autonoe land` takes back"), "{status}");
    assert!(!status.contains("`autonoe land` finishes it"), "{status}");
    let landed = command(&project, &["land"], 7);
    assert!(landed.contains("A landing that was interrupted was taken back: 1 file(s)"), "{landed}");
    assert!(landed.contains("(a.txt).\n[NOT LANDED]"), "{landed}");
    assert!(!project.path("a.txt").exists());
}

#[test]
fn land_lists_all_files_that_are_held_back() {
    let model = model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "mkdir -p .vscode; for n in $(seq 30); do echo > .vscode/$n; done; git add .; git commit -qm many" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ));
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    project.run(&model, &["run", "-n", "1"]);
    let landed = command(&project, &["land"], 7);
    assert!(landed.contains(" and 10 more"), "{landed}");
    assert!(landed.contains("All 30 files:\n  .vscode/1\n  .vscode/10\n"), "{landed}");
}

/// A run whose commit waits on autonoe/1, and the model that made it.
fn waiting_run() -> (CliTestProject, ScriptedServer) {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    let model = model(&runs_and_passes("echo a > a.txt; git add a.txt; git commit -qm made"));
    project.run(&model, &["run", "--land", "never"]).assert_ended("all_passed", 0);
    (project, model)
}

#[test]
fn commits_whose_branch_the_user_has_removed_or_moved_are_named_as_what_they_are() {
    let (project, model) = waiting_run();

    project.git(&["checkout", "-q", "autonoe/1"]);
    project.commit(&[("b.txt", "the user's")]);
    project.git(&["checkout", "-q", "main"]);
    let status = command(&project, &["status"], 0);
    let said = "Branch autonoe/1 has commits that have not landed: `autonoe diff` shows them, `autonoe land` lands them";
    assert!(status.contains(said), "{status}");

    project.git(&["branch", "-q", "-D", "autonoe/1"]);
    let status = command(&project, &["status"], 0);
    assert!(status.contains("Run 1 has commits that have not landed: `autonoe diff` shows them"), "{status}");
    assert!(!status.contains("ranch autonoe/1"), "{status}");
    let in_place = project.command(&model, &["run", "--in-place"]).output().expect("started");
    let stderr = String::from_utf8_lossy(&in_place.stderr);
    assert!(stderr.contains("Commits of an earlier run wait to land, and"), "{stderr}");
    assert!(command(&project, &["land"], 0).contains("[LANDED]"));
    assert_eq!(project.read("a.txt"), "a\n");
}

/// A project with a check for A and one for B.
fn with_two_checks() -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_workspace();
    let check = |id: &str, file: &str| format!("```check {id} name={file}\n$ cat {file}.txt\nbuilt\n```\n\n");
    project.write("SPEC.md", &format!("# Spec\n\n{}{}", check("A", "a"), check("B", "b")));
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    project
}

/// A session that runs each command and then claims the deliverable beside it.
fn session(steps: &[(&str, &str)]) -> String {
    let turns = steps.iter().map(|(command, id)| {
        format!(
            r#"
              [[conversation.turn]]
              call = [{{ tool = "Bash", input = {{ command = "{command}" }} }}]
              [[conversation.turn]]
              call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "passed" }} }}]
            "#
        )
    });
    always(&(turns.collect::<String>() + "[[conversation.turn]]\ntext = 'done'\n"))
}

#[test]
fn a_commit_that_breaks_what_has_passed_does_not_land_with_it() {
    let project = with_two_checks();
    let model = model(&session(&[
        ("echo built > a.txt; git add a.txt; git commit -qm good", "A"),
        ("git rm -q a.txt; git commit -qm bad", "B"),
    ]));
    let run = project.run(&model, &["run", "-n", "1"]);
    run.assert_ended("max_iterations", 4);
    assert!(!run.stderr.contains("[LANDED]"), "nothing passes on the last commit: {}", run.stderr);
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "work");
    let status = command(&project, &["status"], 0);
    assert!(status.contains("0/2 deliverables passed"), "{status}");
}

#[test]
fn a_commit_that_breaks_what_has_landed_waits_until_it_is_repaired() {
    let project = with_two_checks();
    let first = model(&session(&[("echo built > a.txt; git add .; git commit -qm good", "A")]));
    assert!(project.run(&first, &["run", "-n", "1"]).stderr.contains("[LANDED]"));
    let breaking = "git rm -q a.txt; echo built > b.txt; git add .; git commit -qm bad";
    let run = project.run(&model(&session(&[(breaking, "B")])), &["run", "-n", "1"]);
    assert!(!run.stderr.contains("[LANDED]"), "{}", run.stderr);
    assert!(run.stderr.contains("what was verified before has not passed with them: A."), "{}", run.stderr);
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "good\nwork");
    let repair = model(&session(&[("echo built > a.txt; git add .; git commit -qm repaired", "A")]));
    let run = project.run(&repair, &["run", "-n", "1"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "repaired\nbad\ngood\nwork", "{}", run.stderr);
}

/// A session that runs a command, takes A back and claims B.
fn taking_back(command: &str) -> String {
    let set = |id: &str, status: &str| {
        format!(
            r#"
              [[conversation.turn]]
              call = [{{ tool = "mcp__autonoe__set_status", input = {{ deliverableId = "{id}", status = "{status}", reason = "it cannot be built" }} }}]
            "#
        )
    };
    let begin = format!(
        r#"
          [[conversation.turn]]
          call = [{{ tool = "Bash", input = {{ command = "{command}" }} }}]
        "#
    );
    let turns = [begin, set("A", "pending"), set("A", "blocked"), set("B", "passed")].concat();
    always(&(turns + "[[conversation.turn]]\ntext = 'done'\n"))
}

#[test]
fn a_commit_with_which_an_agent_takes_back_what_has_landed_waits() {
    let project = with_two_checks();
    let first = model(&session(&[("echo built > a.txt; git add .; git commit -qm good", "A")]));
    assert!(project.run(&first, &["run", "-n", "1"]).stderr.contains("[LANDED]"));
    let breaking = "git rm -q a.txt; echo built > b.txt; git add .; git commit -qm bad";
    let run = project.run(&model(&taking_back(breaking)), &["run", "-n", "1"]);
    assert!(!run.stderr.contains("[LANDED]"), "{}", run.stderr);
    assert!(run.stderr.contains("what was verified before has not passed with them: A."), "{}", run.stderr);
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "good\nwork");
    // The user's word is enough.
    assert!(command(&project, &["land"], 0).contains("[LANDED]"));
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "bad\ngood\nwork");
}

#[test]
fn what_was_left_over_lands_when_the_next_run_has_verified_it() {
    let project = with_two_checks();
    let model = model(&session(&[
        ("echo built | tee a.txt > b.txt; git add .; git commit -qm built; echo left > left.txt", "A"),
        ("true", "B"),
    ]));
    let run = project.run(&model, &["run", "-n", "1"]);
    run.assert_ended("all_passed", 0);
    assert!(!project.path("left.txt").exists(), "no check has seen it: {}", run.stderr);
    let run = project.run(&model, &["run", "-n", "1"]);
    assert!(run.stderr.contains("[LANDED]") && !run.stderr.contains("[NOT LANDED]"), "{}", run.stderr);
    assert_eq!(project.read("left.txt"), "left\n");
    let status = command(&project, &["status"], 0);
    assert!(!status.contains("have not landed"), "{status}");
}

#[test]
fn commits_for_what_has_not_passed_wait_although_what_has_passed_still_does() {
    let project = with_two_checks();
    let begins = "[[conversation.turn]]\ncall = [{ tool = 'Bash', input = { command = 'echo half > b.txt; git add .; git commit -qm half' } }]\n";
    let first = session(&[("echo built > a.txt; git add .; git commit -qm good", "A")]);
    let first = first.replacen("[[conversation]]", "[[conversation]]\nplays = 1", 1);
    let script = first + &always(&format!("{begins}[[conversation.turn]]\ntext = 'not yet'\n"));
    let run = project.run(&model(&script), &["run", "-n", "2"]);
    run.assert_ended("max_iterations", 4);
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "good\nwork", "{}", run.stderr);
    assert!(run.stderr.contains("no further deliverable has passed with the last of them"), "{}", run.stderr);
    assert_eq!(project.git(&["show", "autonoe/1:b.txt"]), "half");

    // They land with what passes next.
    let script = session(&[("echo built > b.txt; git commit -qam whole", "B")]);
    project.run(&model(&script), &["run", "-n", "1"]).assert_ended("all_passed", 0);
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "whole\nhalf\ngood\nwork");
}

#[test]
fn a_repository_that_is_gone_is_named() {
    let project = with_two_checks();
    let script =
        session(&[("echo built | tee a.txt > b.txt; git add .; git commit -qm built", "A"), ("true", "B")]);
    project.run(&model(&script), &["run"]).assert_ended("all_passed", 0);
    std::fs::remove_dir_all(project.path(".git")).expect("removed");
    let status = command(&project, &["status"], 0);
    assert!(status.contains("There is no repository here any more"), "{status}");
}

#[test]
fn what_the_user_has_merged_stays_passed_when_the_rest_is_discarded() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    for id in ["A", "B"] {
        let build = format!("echo {id} > {id}.txt; git add .; git commit -qm {id}");
        let model = model(&session(&[(build.as_str(), id)]));
        project.command(&model, &["run", "-n", "1", "--land", "never"]).output().expect("started");
    }
    let status = command(&project, &["status"], 0);
    assert!(status.contains("Branch autonoe/2 has commits that have not landed"), "it has all: {status}");
    project.git(&["merge", "-q", "autonoe/1"]);
    let discarded = command(&project, &["land", "--discard"], 0);
    assert!(discarded.contains("Pending again: B.\n"), "the user has A: {discarded}");
}

/// The second claim, or the last look of the run, has verified both on the last commit.
#[test]
fn what_was_verified_on_a_commit_that_the_user_has_merged_stays_passed() {
    let project = with_two_checks();
    let model = model(&session(&[
        ("echo built > a.txt; git add .; git commit -qm a", "A"),
        ("echo built > b.txt; git add .; git commit -qm b", "B"),
    ]));
    project.run(&model, &["run", "-n", "1", "--land", "never"]).assert_ended("all_passed", 0);
    project.git(&["merge", "-q", "autonoe/1~1"]);
    let discarded = command(&project, &["land", "--discard"], 0);
    assert!(discarded.starts_with("[DISCARDED] 1 commit(s) of autonoe/1."), "{discarded}");
    assert!(discarded.contains("Pending again: B.\n"), "the user has A: {discarded}");
    let status = command(&project, &["status"], 0);
    assert!(status.contains("1/2 deliverables passed"), "{status}");
}

#[test]
fn commits_that_do_not_continue_the_users_are_for_git_to_merge() {
    let (project, _) = waiting_run();
    project.commit(&[("mine.txt", "")]);
    let status = command(&project, &["status"], 0);
    assert!(status.contains("`git merge --no-overwrite-ignore autonoe/1` merges them"), "{status}");
    // They are said to wait although there is no status.
    std::fs::remove_file(project.path(".autonoe/status.json")).expect("removed");
    let status = command(&project, &["status"], 0);
    assert!(status.contains("Branch autonoe/1 has commits that have not landed"), "{status}");
}

#[test]
fn unrelated_commits_are_for_git_to_merge_as_such() {
    let (project, _) = waiting_run();
    let status = command(&project, &["status"], 0);
    assert!(status.contains("`autonoe land` lands them or says what is in the way"), "{status}");
    project.git(&["checkout", "-q", "--orphan", "other"]);
    project.commit(&[("mine.txt", "")]);
    let status = command(&project, &["status"], 0);
    let merge = "`git merge --no-overwrite-ignore autonoe/1 --allow-unrelated-histories` merges them";
    assert!(status.contains(merge), "{status}");
}

#[test]
fn a_branch_without_commits_is_named_as_what_is_in_the_way() {
    for checkout in
        [&["checkout", "-q", "--orphan", "other"][..], &["symbolic-ref", "HEAD", "refs/heads/other"]]
    {
        let (project, _) = waiting_run();
        project.write("SPEC.md", "# Spec\n");
        project.git(checkout);
        let status = command(&project, &["status"], 0);
        assert!(status.contains("Branch autonoe/1 has commits that have not landed"), "{status}");
        let land = command(&project, &["land"], 7);
        assert!(
            land.contains("[NOT LANDED] nothing is committed on the branch that is checked out"),
            "{land}"
        );
        assert!(land.contains("check out the branch that they are for, then `autonoe land`"), "{land}");
        assert!(!land.contains("self-acting") && !land.contains("by themselves"), "{land}");
        project.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
        assert!(command(&project, &["land"], 0).contains("[LANDED]"));
    }
}

/// A branch of the user's may have the name that a run would give to its own.
#[test]
fn a_branch_that_no_run_has_made_is_the_users() {
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    project.git(&["checkout", "-q", "-b", "autonoe/1"]);
    project.commit(&[("mine.txt", "")]);
    project.git(&["checkout", "-q", "main"]);
    let model = model(&runs_and_passes("echo a > a.txt; git add a.txt; git commit -qm made"));
    let run = project.run(&model, &["run", "--land", "never"]);
    run.assert_ended("all_passed", 0);
    assert!(!run.stderr.contains("not known here"), "{}", run.stderr);
    let status = command(&project, &["status"], 0);
    assert!(status.contains("Branch autonoe/1-2 has commits that have not landed"), "{status}");
    let discarded = command(&project, &["land", "--discard"], 0);
    assert!(discarded.starts_with("[DISCARDED] 1 commit(s) of autonoe/1-2."), "{discarded}");
    let status = command(&project, &["status"], 0);
    assert!(!status.contains("have not landed"), "{status}");
    assert_eq!(project.git(&["branch", "--list", "--format=%(refname:short)", "autonoe/*"]), "autonoe/1");
}

#[test]
fn what_landed_on_another_branch_was_not_reset() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    let build = |id: &str, args: &[&str]| {
        let build = format!("echo {id} > {id}.txt; git add .; git commit -qm {id}");
        let model = model(&session(&[(build.as_str(), id)]));
        project.command(&model, &[&["run", "-n", "1"], args].concat()).output().expect("started");
    };
    build("A", &["--land", "never"]);
    project.git(&["checkout", "-q", "autonoe/1"]);
    project.commit(&[("mine.txt", "")]);
    build("B", &[]);
    project.git(&["checkout", "-q", "main"]);
    let status = command(&project, &["status"], 0);
    assert!(status.contains("have not landed") && !status.contains("had landed"), "{status}");
    let discarded = command(&project, &["land", "--discard"], 0);
    assert!(!discarded.contains("still has them, and other"), "all of it is discarded: {discarded}");
}

#[test]
fn a_branch_with_the_users_own_commits_is_not_offered_for_removal() {
    let (project, _) = waiting_run();
    project.git(&["checkout", "-q", "autonoe/1"]);
    project.commit(&[("mine.txt", "")]);
    project.git(&["checkout", "-q", "main"]);
    let discarded = command(&project, &["land", "--discard"], 0);
    let sentence = "Branch autonoe/1 still has them, and other commits after them, such as your own.";
    assert!(discarded.contains(sentence) && !discarded.contains("branch -D"), "{discarded}");
}

#[test]
fn what_the_last_look_has_verified_lands_at_the_end() {
    let project = with_two_checks();
    let open = |id: &str, script: &str| {
        let when = format!("[[conversation]]\nwhen = \"Open, in order of priority:\\n- `{id}`\"");
        script.replace("[[conversation]]", &when)
    };
    let builds = session(&[("echo built > a.txt; git add a.txt; git commit -qm built", "A")]);
    let goes_on = always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "echo > more.txt; git add .; git commit -qm more" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    );
    let model = model(&(open("A", &builds) + &open("B", &goes_on)));
    let run = project.run(&model, &["run", "-n", "2", "--land", "end"]);
    assert!(run.stderr.contains("[LANDED]") && !run.stderr.contains("[NOT LANDED]"), "{}", run.stderr);
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "more\nbuilt\nwork");
}

/// What is looked at before it lands at the start of a run is no last look.
#[test]
fn what_a_run_does_after_it_has_landed_earlier_commits_is_looked_at_too() {
    let project = CliTestProject::with_status(&[("A", "pending"), ("B", "pending")]).in_workspace();
    project
        .write("SPEC.md", "# Spec\n\n```check A\n$ test -f a.txt\n```\n\n```check B\n$ test -f b.txt\n```\n");
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("kept.txt", "")]);
    let builds = |id: &str, command: &str| {
        format!(
            "[[conversation]]\nwhen = ['one deliverable', \"Open, in order of priority:\\n- `{id}`\"]\n\
             [[conversation.turn]]\ncall = [{{ tool = 'Bash', input = {{ command = '{command}; git add -A; git commit -qm {id}' }} }}]\n\
             [[conversation.turn]]\ncall = [{{ tool = 'mcp__autonoe__set_status', input = {{ deliverableId = '{id}', status = 'passed' }} }}]\n\
             [[conversation.turn]]\ntext = 'done'\n"
        )
    };
    let scripts = [builds("A", "echo > a.txt"), builds("B", "git rm -q a.txt; echo > b.txt")];
    let model = model(&scripts.concat());
    project.run(&model, &["run", "-n", "1", "--land", "never"]).assert_ended("max_iterations", 4);
    let run = project.run(&model, &["run"]);
    run.assert_ended("all_passed", 0);
    assert_eq!(run.of_type("session_started").count(), 2, "B, and A once more: {}", run.stderr);
    assert_eq!(project.git(&["ls-tree", "--name-only", "HEAD", "a.txt", "b.txt"]), "a.txt\nb.txt");
}
