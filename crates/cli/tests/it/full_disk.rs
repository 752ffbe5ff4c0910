//! A project on a disk that is full: the run ends at once, says so, and loses nothing.

use std::path::PathBuf;
use std::process::Command;

use super::support::{Place, always, model};

/// A small file system over the project, as long as this lives.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it; none, loudly, where that is not allowed.
    fn over(place: &Place) -> Option<Self> {
        let project = place.project();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=512k", "none"]).arg(&project).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: file systems cannot be mounted here");
            return None;
        }
        Some(Self(project))
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
fn a_disk_that_fills_up_ends_the_run_before_the_next_session_is_paid_for() {
    let place = Place::empty();
    let Some(_disk) = SmallDisk::over(&place) else { return };
    place.write("SPEC.md", "# Build A\n");
    place.write(".autonoe/status.json", STATUS);
    let model = model(&always(FILLS_THE_DISK));
    let run = place.run(&model, &["run"]);
    run.assert_ended("failed", 1);
    assert_eq!(run.sessions().len(), 1);
    assert_eq!(run.outcome()["fault"]["code"], "status_file");
    assert!(run.stderr.contains("the disk is full"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: "), "{}", run.stderr);
    assert_eq!(place.read(".autonoe/status.json"), STATUS, "nothing was lost");

    let run = place.run(&model, &["run"]);
    assert_ne!(run.code, Some(0));
    assert_eq!(run.sessions().len(), 0, "no session is paid for");
    assert!(run.stderr.contains("the disk is full"), "{}", run.stderr);

    std::fs::remove_file(place.path("big")).expect("room is made");
    let run = place.run(&model, &["run", "-n", "1"]);
    assert_eq!(
        place.statuses(),
        [("A".to_owned(), "passed")],
        "the change is kept in the journal: {}",
        run.stderr
    );
}
