//! Disks that are full, small or read-only: which one it is, how much is free there, and what to do.
//!
//! Each test mounts what it needs in a namespace of its own, which ends with the command.

use std::process::{Command, Output};

use super::support::{Place, always, model};

/// A command in a namespace of its own, where `prepare` has been done. None where no such namespace can be had.
fn in_namespace(place: &Place, prepare: &str, autonoe: &Command) -> Option<Output> {
    let usual: &[&str] = if rustix::process::geteuid().is_root() { &["-m"] } else { &["-rm"] };
    let can = Command::new("unshare").args(usual).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        return None;
    }
    let script = format!("set -e; {prepare}; cd {}; exec \"$@\"", place.project().display());
    let mut command = Command::new("unshare");
    command.args(usual).args(["sh", "-c", &script, "sh"]).arg(autonoe.get_program()).args(autonoe.get_args());
    command.env_clear().envs(autonoe.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(command.output().expect("started"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn small_state(place: &Place, size: &str) -> String {
    let state = place.home().join(".local/state");
    std::fs::create_dir_all(&state).expect("made");
    format!("mount -t tmpfs -o size={size} tmpfs {}", state.display())
}

#[test]
fn a_read_only_project_is_not_ready() {
    let place = Place::with_status(&[("A", "pending")]);
    let prepare = format!("mount --bind {0} {0}; mount -o remount,ro,bind {0}", place.project().display());
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for args in [&["doctor"][..], &["run", "--backend", "native"]] {
        let mut autonoe = place.autonoe(Some(&model));
        autonoe.args(args);
        let Some(output) = in_namespace(&place, &prepare, &autonoe) else { return };
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let words = format!("the file system at {} is read-only", place.project().display());
        assert!(said.contains(&words) && said.contains("Mount it writable"), "{said}");
        assert!(!said.contains("is ready to start"), "{said}");
    }
    assert_eq!(model.requests().len(), 0, "nothing was asked");
}

#[test]
fn a_read_only_state_directory_is_not_ready() {
    let place = Place::with_status(&[("A", "pending")]);
    let state = place.home().join(".local/state").display().to_string();
    let prepare = format!("{}; mount -o remount,ro {state}", small_state(&place, "64m"));
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for (args, code) in [(&["doctor"][..], 2), (&["run", "--backend", "native"], 1)] {
        let mut autonoe = place.autonoe(Some(&model));
        autonoe.args(args);
        let Some(output) = in_namespace(&place, &prepare, &autonoe) else { return };
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(&format!("the file system at {state} is read-only")), "{said}");
        assert!(!said.contains("is ready to start"), "{said}");
    }
}

#[test]
fn a_small_state_disk_is_named_with_what_is_free() {
    let place = Place::with_status(&[("A", "passed")]);
    let state = place.home().join(".local/state").display().to_string();
    let model = model(&always("[[conversation.turn]]\ntext = 'x'"));
    for (size, args, code, words) in [
        ("256k", &["doctor"][..], 2, "the disk is full"),
        ("256k", &["run", "--backend", "native"], 1, "the disk is full"),
        ("2m", &["doctor"], 0, "is on a small disk"),
        ("2m", &["run", "--backend", "native"], 0, "is on a small disk"),
    ] {
        let mut autonoe = place.autonoe(Some(&model));
        autonoe.args(args);
        let Some(output) = in_namespace(&place, &small_state(&place, size), &autonoe) else { return };
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{size} {args:?}: {said}");
        assert!(
            said.contains(words) && said.contains(&format!("are free on the file system at {state}")),
            "{said}"
        );
    }
}

#[test]
fn a_state_disk_that_fills_up_stops_the_run_and_is_named() {
    let place = Place::with_status(&[("A", "pending")]);
    let state = place.home().join(".local/state").display().to_string();
    // What was said is kept, to resume.
    let long = "many words ".repeat(200_000);
    let model = model(&always(&format!("[[conversation.turn]]\ntext = '{long}'\n")));
    let autonoe = place.command(&model, &["run", "-n", "1"]);
    let Some(output) = in_namespace(&place, &small_state(&place, "2m"), &autonoe) else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let told = [
        "journal.db cannot be used",
        "the disk is full",
        &format!("file system at {state}"),
        "Make room there",
    ];
    assert!(told.iter().all(|words| said.contains(words)), "{said}");
}
