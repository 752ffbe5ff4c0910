//! Places in which a run cannot work, or only with care: it works, or one sentence says before the first session what is wrong, and `doctor`
//! says the same.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use autonoe_scripted::Server;

use super::support::{Place, Run, always, has_bubblewrap, model, without_bubblewrap};

/// An agent that commits and says that it has.
fn commits() -> Server {
    model(&always(
        r#"
          [[conversation.turn]]
          call = [{ tool = "Bash", input = { command = "echo x > file && git add file && git commit -qm made" } }]
          [[conversation.turn]]
          call = [{ tool = "mcp__autonoe__set_status", input = { deliverableId = "A", status = "passed" } }]
          [[conversation.turn]]
          text = "done"
        "#,
    ))
}

/// A project with a repository, in which one thing is to be done.
fn place() -> Place {
    let place = Place::with_status(&[("A", "pending")]);
    place.git(&["init", "-q", "-b", "main", "."]);
    place.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    place
}

/// The layers that can be had here, each by its search path.
fn layers(place: &Place) -> Vec<Option<PathBuf>> {
    let mut layers = vec![Some(without_bubblewrap(place))];
    layers.extend(has_bubblewrap().then_some(None));
    layers
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|us| us.uid() == 0)
}

/// A user whom nobody else is, and who may read our binary.
const SOMEBODY: u32 = 61_234;

/// Gives everything below a directory to somebody.
fn give(directory: &Path, uid: u32) {
    chown(directory, Some(uid), Some(uid)).expect("given");
    for entry in fs::read_dir(directory).expect("read").flatten() {
        match entry.file_type().expect("type").is_dir() {
            true => give(&entry.path(), uid),
            false => std::os::unix::fs::lchown(entry.path(), Some(uid), Some(uid)).expect("given"),
        }
    }
}

/// Asserts that neither of the two starts, that both say the same, and that no model was asked.
#[track_caller]
fn assert_refused(place: &Place, server: &Server, change: impl Fn(&mut Command), parts: &[&str]) {
    let mut run = place.command(server, &["run"]);
    change(&mut run);
    let run = run.output().expect("started");
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{stderr}");
    let mut doctor = place.autonoe(Some(server));
    change(doctor.arg("doctor"));
    let doctor = doctor.output().expect("started");
    let said = all(&doctor);
    assert_eq!(doctor.status.code(), Some(2), "{said}");
    for part in parts {
        assert!(stderr.contains(part), "{part} is missing: {stderr}");
        assert!(said.contains(part), "{part} is missing: {said}");
    }
    for text in [&*stderr, &said] {
        assert!(!text.contains("panicked"), "{text}");
    }
    assert!(
        stderr.contains("hint:") && stderr.lines().filter(|line| line.contains("error:")).count() == 1,
        "{stderr}"
    );
    assert_eq!(server.requests().len(), 0, "nothing was asked");
}

fn all(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn root_cannot_work_on_a_project_of_somebody_elses_and_is_told() {
    if !is_root() {
        return;
    }
    let (place, server) = (place(), commits());
    fs::remove_dir_all(place.path(".autonoe")).expect("removed");
    give(&place.project(), SOMEBODY);
    for path in layers(&place) {
        let change = |command: &mut Command| {
            command.envs(path.as_ref().map(|path| ("PATH", path)));
        };
        let parts = ["it belongs to uid 61234 and you are root (uid 0)", "without root's privileges"];
        assert_refused(&place, &server, change, &parts);
        assert!(!place.path(".autonoe").exists(), "nothing of root's is left in somebody's project");
    }
}

/// In a container the project is often everybody's to write, and still not ours to git.
#[test]
fn root_works_on_a_project_of_somebody_elses_that_everybody_may_write() {
    if !is_root() {
        return;
    }
    for number in 0..2 {
        let (place, server) = (place(), commits());
        let Some(path) = layers(&place).into_iter().nth(number) else { continue };
        give(&place.project(), SOMEBODY);
        open_to_all(&place.project());
        let mut command = place.command(&server, &["run"]);
        command.envs(path.map(|path| ("PATH", path)));
        Run::from(command.output().expect("started")).assert_ended("all_passed", 0);
        let safe = format!("safe.directory={}", place.project().display());
        assert_eq!(place.git(&["-c", &safe, "log", "-1", "--format=%s"]), "made");
    }
}

fn open_to_all(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).expect("opened");
    for entry in fs::read_dir(directory).expect("read").flatten() {
        match entry.file_type().expect("type").is_dir() {
            true => open_to_all(&entry.path()),
            false => fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o666)).expect("opened"),
        }
    }
}

/// Without a sandbox the hooks and settings of a stranger's repository would run as the user.
#[test]
fn without_a_sandbox_gits_own_caution_stands() {
    if !is_root() {
        return;
    }
    let (place, server) = (place(), commits());
    give(&place.project(), SOMEBODY);
    let change = |command: &mut Command| {
        command.env("AUTONOE_NO_SANDBOX", "1");
    };
    assert_refused(&place, &server, change, &["dubious ownership"]);
}

#[test]
fn a_repository_that_wants_signatures_gets_commits_and_a_word_about_it() {
    for number in 0..2 {
        let (place, server) = (place(), commits());
        let Some(path) = layers(&place).into_iter().nth(number) else { continue };
        place.git(&["config", "commit.gpgSign", "true"]);
        place.git(&["config", "gpg.program", "/bin/false"]);
        let mut command = place.command(&server, &["run"]);
        command.envs(path.as_ref().map(|path| ("PATH", path)));
        let run = Run::from(command.output().expect("started"));
        run.assert_ended("all_passed", 0);
        assert_eq!(place.git(&["log", "-1", "--format=%s"]), "made");
        assert!(run.stderr.contains("their commits are unsigned"), "{}", run.stderr);
        assert!(run.of_type("trouble").any(|event| event["message"].to_string().contains("signed commits")));
        let mut doctor = place.autonoe(Some(&server));
        let doctor = doctor.arg("doctor").envs(path.map(|path| ("PATH", path))).output().expect("started");
        assert!(all(&doctor).contains("their commits are unsigned"), "{}", all(&doctor));
        assert!(
            place.git(&["config", "--local", "commit.gpgSign"]) == "true",
            "it is still the user's setting"
        );
    }
}

#[test]
fn a_hook_that_fails_in_the_sandbox_is_told_before_the_first_session() {
    for number in 0..2 {
        let (place, server) = (place(), commits());
        let Some(path) = layers(&place).into_iter().nth(number) else { continue };
        let hook = place.path(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().expect("parent")).expect("made");
        fs::write(&hook, "#!/bin/sh\ntouch changed 2>/dev/null\necho 'lint is not installed' >&2\nexit 7\n")
            .expect("written");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("made executable");
        let mut doctor = place.autonoe(Some(&server));
        let doctor =
            doctor.arg("doctor").envs(path.as_ref().map(|path| ("PATH", path))).output().expect("started");
        assert!(all(&doctor).contains("exit code 7: lint is not installed"), "{}", all(&doctor));
        assert!(!place.path("changed").exists(), "a look changes nothing");
        let mut command = place.command(&server, &["run", "-n", "1"]);
        command.envs(path.map(|path| ("PATH", path)));
        let run = Run::from(command.output().expect("started"));
        let told = run
            .events
            .iter()
            .position(|event| event["message"].to_string().contains("exit code 7: lint is not installed"));
        let begun = run.events.iter().position(|event| event["type"] == "session_started");
        assert!(told.is_some() && told < begun, "{:?}", run.events);

        fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("written");
        let doctor = place.autonoe(Some(&server)).arg("doctor").output().expect("started");
        assert!(!all(&doctor).contains("pre-commit"), "{}", all(&doctor));
    }
}

#[test]
fn a_path_that_other_programs_cannot_take_is_refused() {
    let place = Place::empty();
    for name in [&b"two\nlines"[..], b"not-utf8-\xff"] {
        let directory = place.home().join(OsStr::from_bytes(name));
        fs::create_dir(&directory).expect("made");
        fs::write(directory.join("SPEC.md"), "# Spec\n").expect("written");
        for args in [&["run"][..], &["doctor"], &["status"], &["mcp"]] {
            let output = place.autonoe(None).args(args).current_dir(&directory).output().expect("started");
            assert_eq!(output.status.code(), Some(2), "{args:?}: {}", all(&output));
            assert!(all(&output).contains("The project path"), "{args:?}: {}", all(&output));
        }
    }
}

#[test]
fn a_home_that_is_not_absolute_is_refused() {
    let (place, server) = (place(), commits());
    let change = |command: &mut Command| {
        command.env("HOME", "home");
    };
    assert_refused(&place, &server, change, &["HOME is 'home', which is not an absolute path"]);
    assert!(!place.path("home").exists());
}

/// The binary under limits of the shell's, as a user to whom they apply.
fn limited<'a>(limits: &'a str, home: &'a Path) -> impl Fn(&mut Command) + 'a {
    move |command: &mut Command| {
        let program = command.get_program().to_owned();
        let args: Vec<_> = command.get_args().map(OsStr::to_owned).collect();
        let mut shell = if is_root() {
            let mut as_somebody = Command::new("setpriv");
            as_somebody.args([
                format!("--reuid={SOMEBODY}"),
                format!("--regid={SOMEBODY}"),
                "--clear-groups".to_owned(),
            ]);
            as_somebody.arg("bash");
            as_somebody
        } else {
            Command::new("bash")
        };
        shell.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(program).args(args).env_clear();
        let set = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        shell.envs(set.collect::<Vec<_>>()).env("HOME", home);
        shell.current_dir(command.get_current_dir().expect("set"));
        *command = shell;
    }
}

#[test]
fn limits_that_are_too_low_are_named_and_nothing_panics() {
    let (place, server) = (place(), commits());
    // The whole place must be theirs, and the way to it open.
    give(
        place.project().parent().expect("parent"),
        if is_root() { SOMEBODY } else { rustix::process::geteuid().as_raw() },
    );
    for (limits, part) in [
        ("ulimit -u 12", "more threads could be started"),
        ("ulimit -n 32", "The limit on open files is 32 (ulimit -n)"),
        ("ulimit -f 100", "The file size limit is 100 KiB (ulimit -f)"),
        ("ulimit -v 100000", "The memory limit is 97 MiB (ulimit -v)"),
    ] {
        assert_refused(&place, &server, limited(limits, &place.home()), &[part]);
    }
    // What is enough is not an obstacle; a limit that others can raise is raised.
    let mut enough = place.command(&server, &["run"]);
    limited("ulimit -S -n 32; ulimit -f 200000; ulimit -v 2000000; ulimit -u 200", &place.home())(
        &mut enough,
    );
    Run::from(enough.output().expect("started")).assert_ended("all_passed", 0);
}
