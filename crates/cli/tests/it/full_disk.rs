//! A project on a full disk: the run ends at once with an error and loses nothing.

use std::path::PathBuf;
use std::process::Command;

use super::support::{CliTestProject, always, model};

/// A small file system mounted over a directory, unmounted on drop.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`, with a notice, if mounting is not allowed.
    fn over(project: &CliTestProject) -> Option<Self> {
        Self::at(project.root(), "512k")
    }

    /// The same of this size, for a directory.
    pub fn at(root: PathBuf, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(&root).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: file systems cannot be mounted here");
            return None;
        }
        Some(Self(root))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

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
    let Some(_disk) = SmallDisk::over(&project) else { return };
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
    let Some(_disk) = SmallDisk::over(&project) else { return };
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
