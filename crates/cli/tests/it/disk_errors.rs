//! Full, small and read-only disks: the error names the disk, its free space and what to do.
//!
//! Each test mounts its disks in a mount namespace that ends with the command.

use std::process::{Command, Output};

use super::support::{CliTestProject, always, model};

/// Runs a command in its own mount namespace after `prepare`; `None` if namespaces are not allowed.
fn in_namespace(project: &CliTestProject, prepare: &str, autonoe: &Command) -> Option<Output> {
    let usual: &[&str] = if rustix::process::geteuid().is_root() { &["-m"] } else { &["-rm"] };
    let can = Command::new("unshare").args(usual).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        return None;
    }
    let script = format!("set -e; {prepare}; cd {}; exec \"$@\"", project.root().display());
    let mut command = Command::new("unshare");
    command.args(usual).args(["sh", "-c", &script, "sh"]).arg(autonoe.get_program()).args(autonoe.get_args());
    command.env_clear().envs(autonoe.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(command.output().expect("started"))
}

fn printed_text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn small_state(project: &CliTestProject, size: &str) -> String {
    let state = project.home().join(".local/state");
    std::fs::create_dir_all(&state).expect("made");
    format!("mount -t tmpfs -o size={size} tmpfs {}", state.display())
}

#[test]
fn a_read_only_project_is_not_ready() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let prepare = format!("mount --bind {0} {0}; mount -o remount,ro,bind {0}", project.root().display());
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for args in [&["doctor"][..], &["run", "--backend", "native"]] {
        let mut autonoe = project.autonoe(Some(&model));
        autonoe.args(args);
        let Some(output) = in_namespace(&project, &prepare, &autonoe) else { return };
        let printed = printed_text(&output);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        let words = format!("the file system at {} is read-only", project.root().display());
        assert!(printed.contains(&words) && printed.contains("Mount it writable"), "{printed}");
        assert!(!printed.contains("is ready to start"), "{printed}");
    }
    assert_eq!(model.requests().len(), 0, "no model request was sent");
}

#[test]
fn a_read_only_state_directory_is_not_ready() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let state = project.home().join(".local/state").display().to_string();
    let prepare = format!("{}; mount -o remount,ro {state}", small_state(&project, "64m"));
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for (args, code) in [(&["doctor"][..], 2), (&["run", "--backend", "native"], 1)] {
        let mut autonoe = project.autonoe(Some(&model));
        autonoe.args(args);
        let Some(output) = in_namespace(&project, &prepare, &autonoe) else { return };
        let printed = printed_text(&output);
        assert_eq!(output.status.code(), Some(code), "{printed}");
        assert!(printed.contains(&format!("the file system at {state} is read-only")), "{printed}");
        assert!(!printed.contains("is ready to start"), "{printed}");
    }
}

#[test]
fn a_small_state_disk_is_reported_with_its_free_space() {
    let project = CliTestProject::with_status(&[("A", "passed")]);
    let state = project.home().join(".local/state").display().to_string();
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for (size, args, code, words) in [
        ("256k", &["doctor"][..], 2, "and at least 512 KiB are needed"),
        ("256k", &["run", "--backend", "native"], 1, "and at least 512 KiB are needed"),
        ("2m", &["doctor"], 0, "has little free space"),
        ("2m", &["run", "--backend", "native"], 0, "has little free space"),
    ] {
        let mut autonoe = project.autonoe(Some(&model));
        autonoe.args(args);
        let Some(output) = in_namespace(&project, &small_state(&project, size), &autonoe) else { return };
        let printed = printed_text(&output);
        assert_eq!(output.status.code(), Some(code), "{size} {args:?}: {printed}");
        assert!(
            printed.contains(words) && printed.contains(&format!("are free on the file system at {state}")),
            "{printed}"
        );
    }
}

#[test]
fn a_state_disk_that_fills_up_stops_the_run() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let state = project.home().join(".local/state").display().to_string();
    // The conversation is stored, so that it can be resumed.
    let long = "many words ".repeat(200_000);
    let model = model(&always(&format!("[[conversation.turn]]\ntext = '{long}'\n")));
    let autonoe = project.command(&model, &["run", "-n", "1"]);
    let Some(output) = in_namespace(&project, &small_state(&project, "2m"), &autonoe) else { return };
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    let expected = [
        "journal.db cannot be used",
        "the disk is full",
        &format!("file system at {state}"),
        "Free up space there",
    ];
    assert!(expected.iter().all(|words| printed.contains(words)), "{printed}");
}

#[test]
fn a_project_on_a_full_disk_is_not_ready() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let root = project.root().display().to_string();
    let prepare = format!(
        "cp {root}/SPEC.md {root}/../spec; mount -t tmpfs -o size=256k tmpfs {root}; cp {root}/../spec {root}/SPEC.md; \
         cat /dev/zero > {root}/fill 2> /dev/null || true"
    );
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for args in [&["doctor"][..], &["run", "--backend", "native"]] {
        let mut autonoe = project.autonoe(Some(&model));
        autonoe.args(args);
        let Some(output) = in_namespace(&project, &prepare, &autonoe) else { return };
        let printed = printed_text(&output);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains("the disk is full: 0 bytes of 256 KiB are free"), "{printed}");
        assert!(!printed.contains("is ready to start"), "{printed}");
    }
}

#[test]
fn a_state_disk_without_inodes_is_reported_as_that() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for inodes in [1, 8] {
        let prepare = small_state(&project, &format!("8m,nr_inodes={inodes}"));
        for (args, code) in [(&["doctor"][..], 2), (&["run", "--backend", "native"], 1)] {
            let mut autonoe = project.autonoe(Some(&model));
            autonoe.args(args);
            let Some(output) = in_namespace(&project, &prepare, &autonoe) else { return };
            let printed = printed_text(&output);
            assert_eq!(output.status.code(), Some(code), "{printed}");
            assert!(
                printed.contains("all inodes are used") || printed.contains("more files can be created"),
                "{printed}"
            );
            assert!(!printed.contains("unable to open database file"), "{printed}");
        }
    }
}
