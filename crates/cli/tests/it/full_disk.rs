//! A project on a full disk: the run ends at once with an error and loses nothing.

use std::process::Command;

use autonoe_test_kit::SmallDisk;

use super::support::{CliTestProject, always, model};

const STATUS: &str = r#"{"createdAt":"2026-01-01","updatedAt":"2026-01-01","deliverables":[
    {"id":"A","description":"A","acceptanceCriteria":["works"],"passed":false,"blocked":false}]}"#;

const FILLS_THE_DISK: &str = r#"
  [[conversation.turn]]
  call = [
    { tool = "Bash", input = { command = "head -c 2000000 /dev/zero > big" } },
    { tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } },
  ]
  [[conversation.turn]]
  text = "Done."
"#;

#[test]
fn a_full_disk_ends_the_run_before_the_next_session() {
    let project = CliTestProject::empty();
    let Some(_disk) = SmallDisk::at(project.root(), "512k") else { return };
    project.write("SPEC.md", "# Build A\n");
    project.write(".autonoe/status.json", STATUS);
    let model = model(&always(FILLS_THE_DISK));
    let run = project.run(&model, &["run"]);
    run.assert_ended("failed", 1);
    assert_eq!(run.sessions().len(), 1);
    assert_eq!(run.outcome()["fault"]["code"], "status_file");
    assert!(run.stderr.contains("the disk is full"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: "), "{}", run.stderr);
    assert_eq!(project.read(".autonoe/status.json"), STATUS, "nothing was lost");

    let run = project.run(&model, &["run"]);
    assert_ne!(run.code, Some(0));
    assert_eq!(run.sessions().len(), 0, "no session is started");
    assert!(run.stderr.contains("the disk is full"), "{}", run.stderr);

    std::fs::remove_file(project.path("big")).expect("removed");
    let run = project.run(&model, &["run", "-n", "1"]);
    assert_eq!(
        project.statuses(),
        [("A".to_owned(), "passed")],
        "the change is kept in the journal: {}",
        run.stderr
    );
}

#[test]
fn a_landing_without_space_says_so_and_leaves_the_checkout_whole() {
    let project = CliTestProject::empty().in_workspace();
    let Some(_disk) = SmallDisk::at(project.root(), "512k") else { return };
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("SPEC.md", "# Build A\n")]);
    project.write(".autonoe/status.json", STATUS);
    // Git compresses it, so only the file itself does not fit.
    let fills = "head -c 2000000 /dev/zero > big";
    let commits = "yes | head -c 2000000 > big; git add big; git commit -qm big";
    let commits = FILLS_THE_DISK.replace(fills, commits);
    let run = project.run(&model(&always(&commits)), &["run"]);
    assert!(run.stderr.contains("big cannot be written: "), "{}", run.stderr);
    assert!(run.stderr.contains("are free on the file system"), "{}", run.stderr);
    assert!(!project.path("big").exists());
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    assert_eq!(project.git(&["log", "-1", "--format=%s", "autonoe/1"]), "big");
}

/// A project on a small disk with commits of a run that wait to land, which `work` has made.
fn waiting_on_small_disk(size: &str, work: &str) -> Option<(CliTestProject, SmallDisk)> {
    let project = CliTestProject::empty().in_workspace();
    let disk = SmallDisk::at(project.root(), size)?;
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("SPEC.md", "# Build A\n")]);
    project.write(".autonoe/status.json", STATUS);
    let commits = FILLS_THE_DISK
        .replace("head -c 2000000 /dev/zero > big", &format!("{work}; git add -A; git commit -qm work"));
    let run = project.run(&model(&always(&commits)), &["run", "--land", "never"]);
    run.assert_ended("all_passed", 0);
    Some((project, disk))
}

fn shell(project: &CliTestProject, script: &str) {
    let ended = Command::new("sh").args(["-c", script]).current_dir(project.root()).status();
    assert!(ended.expect("started").success(), "{script}");
}

/// What `autonoe land` says when it cannot land.
fn refused_landing(project: &CliTestProject) -> String {
    let landed = project.autonoe(None).arg("land").output().expect("started");
    let said = String::from_utf8_lossy(&landed.stdout).into_owned();
    assert!(said.contains("[NOT LANDED] your files cannot be updated: "), "{said} {landed:?}");
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    said
}

#[test]
fn a_landing_without_inodes_says_so() {
    let work = "for i in $(seq 60); do echo $i > n$i; done";
    let Some((project, _disk)) = waiting_on_small_disk("8m,nr_inodes=400", work) else { return };
    shell(
        &project,
        "i=0; while touch fill$i 2> /dev/null; do i=$((i+1)); done; for n in $(seq 0 19); do rm fill$n; done",
    );
    let said = refused_landing(&project);
    assert!(said.contains("more files can be created on the file system at"), "{said}");
    assert_eq!(said.matches("cannot be written").count(), 1, "{said}");
    shell(&project, "rm fill*");
    assert!(project.autonoe(None).arg("land").output().expect("started").status.success());
    assert_eq!(project.read("n60"), "60\n");
}

#[test]
fn a_landing_on_a_disk_that_gets_full_names_one_file_and_the_reason() {
    // With so many names there is no room for git's index either, whatever the system still counts as free.
    let work = "for i in 1 2 3 4 5; do yes $i | head -c 400000 > big$i; done; \
                for i in $(seq 4000); do : > many-files-with-names-that-make-the-index-of-git-large-$i; done";
    let Some((project, _disk)) = waiting_on_small_disk("8m", work) else { return };
    for left in [600_000, 900_000] {
        shell(&project, &format!("cat /dev/zero > fill 2> /dev/null; truncate -s -{left} fill"));
        let said = refused_landing(&project);
        assert!(said.contains(" cannot be written: ") && said.contains("on the file system at"), "{said}");
        assert_eq!(said.matches("big").count(), 1, "{said}");
        assert!(!said.contains("unable to"), "{said}");
        shell(&project, "rm fill");
    }
}
