//! Difficult environments: a run works, or refuses before the first session with one sentence about the problem, which
//! `doctor` reports too.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use autonoe_scripted::ScriptedServer;

use super::support::{CliTestProject, RunOutput, has_bubblewrap, model, runs_and_passes, without_bubblewrap};

fn committing_model() -> ScriptedServer {
    model(&runs_and_passes("echo x > file && git add file && git commit -qm made"))
}

fn project() -> CliTestProject {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    project.git(&["init", "-q", "-b", "main", "."]);
    project.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    project
}

/// The search path for each available sandbox layer.
fn layers(project: &CliTestProject) -> Vec<Option<PathBuf>> {
    let mut layers = vec![Some(without_bubblewrap(project))];
    layers.extend(has_bubblewrap().then_some(None));
    layers
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|us| us.uid() == 0)
}

/// The id of a user that does not exist.
const OTHER_UID: u32 = 61_234;

fn chown_all(directory: &Path, uid: u32) {
    chown(directory, Some(uid), Some(uid)).expect("given");
    for entry in fs::read_dir(directory).expect("read").flatten() {
        match entry.file_type().expect("type").is_dir() {
            true => chown_all(&entry.path(), uid),
            false => std::os::unix::fs::lchown(entry.path(), Some(uid), Some(uid)).expect("given"),
        }
    }
}

/// Asserts that `run` and `doctor` refuse with the same message and without a model request.
#[track_caller]
fn assert_refused(
    project: &CliTestProject,
    server: &ScriptedServer,
    change: impl Fn(&mut Command),
    parts: &[&str],
) {
    let mut run = project.command(server, &["run"]);
    change(&mut run);
    let run = run.output().expect("started");
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{stderr}");
    let mut doctor = project.autonoe(Some(server));
    change(doctor.arg("doctor"));
    let doctor = doctor.output().expect("started");
    let printed = output_text(&doctor);
    assert_eq!(doctor.status.code(), Some(2), "{printed}");
    for part in parts {
        assert!(stderr.contains(part), "{part} is missing: {stderr}");
        assert!(printed.contains(part), "{part} is missing: {printed}");
    }
    for text in [&*stderr, &printed] {
        assert!(!text.contains("panicked"), "{text}");
    }
    assert!(
        stderr.contains("hint:") && stderr.lines().filter(|line| line.contains("error:")).count() == 1,
        "{stderr}"
    );
    assert_eq!(server.requests().len(), 0, "no model request was sent");
}

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn root_is_refused_on_another_users_project() {
    if !is_root() {
        return;
    }
    let (project, server) = (project(), committing_model());
    fs::remove_dir_all(project.path(".autonoe")).expect("removed");
    chown_all(&project.root(), OTHER_UID);
    for path in layers(&project) {
        let change = |command: &mut Command| {
            command.envs(path.as_ref().map(|path| ("PATH", path)));
        };
        let parts = ["it belongs to uid 61234 and you are root (uid 0)", "without root's privileges"];
        assert_refused(&project, &server, change, &parts);
        assert!(!project.path(".autonoe").exists(), "root leaves no files in another user's project");
    }
}

/// In a container the project is often world-writable, but git still sees another owner.
#[test]
fn root_can_use_another_users_world_writable_project() {
    if !is_root() {
        return;
    }
    for number in 0..2 {
        let (project, server) = (project(), committing_model());
        let Some(path) = layers(&project).into_iter().nth(number) else { continue };
        chown_all(&project.root(), OTHER_UID);
        make_world_writable(&project.root());
        let mut command = project.command(&server, &["run"]);
        command.envs(path.map(|path| ("PATH", path)));
        RunOutput::from(command.output().expect("started")).assert_ended("all_passed", 0);
        let safe = format!("safe.directory={}", project.root().display());
        assert_eq!(project.git(&["-c", &safe, "log", "-1", "--format=%s"]), "made");
    }
}

fn make_world_writable(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).expect("opened");
    for entry in fs::read_dir(directory).expect("read").flatten() {
        match entry.file_type().expect("type").is_dir() {
            true => make_world_writable(&entry.path()),
            false => fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o666)).expect("opened"),
        }
    }
}

/// Without a sandbox, hooks and settings of another user's repository would run as the user.
#[test]
fn without_a_sandbox_git_refuses_dubious_ownership() {
    if !is_root() {
        return;
    }
    let (project, server) = (project(), committing_model());
    chown_all(&project.root(), OTHER_UID);
    let change = |command: &mut Command| {
        command.env("AUTONOE_NO_SANDBOX", "1");
    };
    assert_refused(&project, &server, change, &["dubious ownership"]);
}

#[test]
fn a_repository_that_requires_signatures_gets_unsigned_commits_and_a_warning() {
    for number in 0..2 {
        let (project, server) = (project(), committing_model());
        let Some(path) = layers(&project).into_iter().nth(number) else { continue };
        project.git(&["config", "commit.gpgSign", "true"]);
        project.git(&["config", "gpg.program", "/bin/false"]);
        let mut command = project.command(&server, &["run"]);
        command.envs(path.as_ref().map(|path| ("PATH", path)));
        let run = RunOutput::from(command.output().expect("started"));
        run.assert_ended("all_passed", 0);
        assert_eq!(project.git(&["log", "-1", "--format=%s"]), "made");
        assert!(run.stderr.contains("their commits are unsigned"), "{}", run.stderr);
        assert!(run.of_type("trouble").any(|event| event["message"].to_string().contains("signed commits")));
        let mut doctor = project.autonoe(Some(&server));
        let doctor = doctor.arg("doctor").envs(path.map(|path| ("PATH", path))).output().expect("started");
        assert!(output_text(&doctor).contains("their commits are unsigned"), "{}", output_text(&doctor));
        assert!(
            project.git(&["config", "--local", "commit.gpgSign"]) == "true",
            "the user's setting is unchanged"
        );
    }
}

#[test]
fn a_failing_hook_is_reported_before_the_first_session() {
    for number in 0..2 {
        let (project, server) = (project(), committing_model());
        let Some(path) = layers(&project).into_iter().nth(number) else { continue };
        let hook = project.path(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().expect("parent")).expect("made");
        fs::write(&hook, "#!/bin/sh\ntouch changed 2>/dev/null\necho 'lint is not installed' >&2\nexit 7\n")
            .expect("written");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("made executable");
        let mut doctor = project.autonoe(Some(&server));
        let doctor = doctor
            .args(["doctor", "--in-place"])
            .envs(path.as_ref().map(|path| ("PATH", path)))
            .output()
            .expect("started");
        assert!(
            output_text(&doctor).contains("exit code 7: lint is not installed"),
            "{}",
            output_text(&doctor)
        );
        assert!(!project.path("changed").exists(), "doctor changes nothing");
        let mut command = project.command(&server, &["run", "-n", "1"]);
        command.envs(path.map(|path| ("PATH", path)));
        let run = RunOutput::from(command.output().expect("started"));
        let reported = run
            .events
            .iter()
            .position(|event| event["message"].to_string().contains("exit code 7: lint is not installed"));
        let begun = run.events.iter().position(|event| event["type"] == "session_started");
        assert!(reported.is_some() && reported < begun, "{:?}", run.events);

        fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("written");
        let doctor = project.autonoe(Some(&server)).args(["doctor", "--in-place"]).output().expect("started");
        assert!(!output_text(&doctor).contains("pre-commit"), "{}", output_text(&doctor));
    }
}

#[test]
fn an_unsupported_project_path_is_refused() {
    let project = CliTestProject::empty();
    for name in [&b"two\nlines"[..], b"not-utf8-\xff"] {
        let directory = project.home().join(OsStr::from_bytes(name));
        fs::create_dir(&directory).expect("made");
        fs::write(directory.join("SPEC.md"), "# Spec\n").expect("written");
        for args in [&["run"][..], &["doctor"], &["status"], &["mcp"]] {
            let output = project.autonoe(None).args(args).current_dir(&directory).output().expect("started");
            assert_eq!(output.status.code(), Some(2), "{args:?}: {}", output_text(&output));
            assert!(output_text(&output).contains("The project path"), "{args:?}: {}", output_text(&output));
        }
    }
}

#[test]
fn borrowed_objects_that_agents_cannot_read_are_refused_in_place() {
    let project = project();
    let lender = project.home().join("lender/objects");
    fs::create_dir_all(&lender).expect("made");
    fs::write(project.path(".git/objects/info/alternates"), format!("{}\n", lender.display()))
        .expect("written");
    for path in layers(&project) {
        let server = committing_model();
        let mut run = project.command(&server, &["run"]);
        run.envs(path.map(|path| ("PATH", path)));
        let printed = output_text(&run.output().expect("started"));
        assert!(
            printed.contains("borrows objects from") && printed.contains("hint: Leave out --in-place"),
            "{printed}"
        );
        assert_eq!(server.requests().len(), 0, "no model request was sent");
    }
}

#[test]
fn a_relative_home_is_refused() {
    let (project, server) = (project(), committing_model());
    let change = |command: &mut Command| {
        command.env("HOME", "home");
    };
    assert_refused(&project, &server, change, &["HOME is 'home', which is not an absolute path"]);
    assert!(!project.path("home").exists());
}

/// Runs the binary under shell limits, as a user to whom they apply.
fn limited<'a>(limits: &'a str, home: &'a Path) -> impl Fn(&mut Command) + 'a {
    move |command: &mut Command| {
        let program = command.get_program().to_owned();
        let args: Vec<_> = command.get_args().map(OsStr::to_owned).collect();
        let mut shell = if is_root() {
            let mut as_other_user = Command::new("setpriv");
            as_other_user.args([
                format!("--reuid={OTHER_UID}"),
                format!("--regid={OTHER_UID}"),
                "--clear-groups".to_owned(),
            ]);
            as_other_user.arg("bash");
            as_other_user
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
fn resource_limits_that_are_too_low_are_reported() {
    let (project, server) = (project(), committing_model());
    // The user needs access to the whole directory.
    chown_all(
        project.root().parent().expect("parent"),
        if is_root() { OTHER_UID } else { rustix::process::geteuid().as_raw() },
    );
    for (limits, part) in [
        ("ulimit -u 12", "more threads could be started"),
        ("ulimit -n 32", "The limit on open files is 32 (ulimit -n)"),
        ("ulimit -f 100", "The file size limit is 100 KiB (ulimit -f)"),
        ("ulimit -v 100000", "The memory limit is 97 MiB (ulimit -v)"),
    ] {
        assert_refused(&project, &server, limited(limits, &project.home()), &[part]);
    }
    // Sufficient limits are accepted, and a soft limit is raised.
    let mut enough = project.command(&server, &["run"]);
    limited("ulimit -S -n 32; ulimit -f 200000; ulimit -v 2000000; ulimit -u 200", &project.home())(
        &mut enough,
    );
    RunOutput::from(enough.output().expect("started")).assert_ended("all_passed", 0);
}

#[test]
fn a_file_that_the_user_cannot_read_is_named() {
    let uid = if is_root() { OTHER_UID } else { rustix::process::geteuid().as_raw() };
    for (is_committed, included, args, advice) in [
        (true, "", &["run", "--include-uncommitted"][..], "or leave out `--include-uncommitted`"),
        (true, "secret\n", &["run"], "or take it out of .worktreeinclude"),
        (true, "", &["sync"], "or name it in .gitignore"),
        (false, "", &["run"], "or name it in .gitignore"),
    ] {
        let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
        project.git(&["init", "-q", "-b", "main", "."]);
        if is_committed {
            project.commit(&[(".gitignore", included), (".worktreeinclude", included)]);
        }
        project.write("secret", "s");
        fs::set_permissions(project.path("secret"), fs::Permissions::from_mode(0o000)).expect("closed");
        chown_all(project.root().parent().expect("parent"), uid);
        let server = committing_model();
        let mut command = project.command(&server, args);
        limited("true", &project.home())(&mut command);
        let run = RunOutput::from(command.output().expect("started"));
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.stderr);
        for part in ["you have no permission to read secret.", "hint: Make it readable, ", advice] {
            assert!(run.stderr.contains(part), "{args:?}: {part} is missing: {}", run.stderr);
        }
        assert_eq!(server.requests().len(), 0, "no model request was sent");
    }
}

#[test]
fn a_landing_in_a_directory_that_the_user_cannot_write_says_so() {
    let uid = if is_root() { OTHER_UID } else { rustix::process::geteuid().as_raw() };
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    project.git(&["init", "-q", "-b", "main", "."]);
    project.commit(&[("d/a.txt", "1\n")]);
    chown_all(project.root().parent().expect("parent"), uid);
    let server =
        model(&runs_and_passes("echo 2 > d/a.txt && echo 2 > d/b.txt && git add d && git commit -qm made"));
    let mut run = project.command(&server, &["run", "--land", "never"]);
    limited("true", &project.home())(&mut run);
    RunOutput::from(run.output().expect("started")).assert_ended("all_passed", 0);
    fs::set_permissions(project.path("d"), fs::Permissions::from_mode(0o555)).expect("closed");
    let mut land = project.autonoe(None);
    limited("true", &project.home())(land.arg("land"));
    let landed = output_text(&land.output().expect("started"));
    fs::set_permissions(project.path("d"), fs::Permissions::from_mode(0o755)).expect("opened");
    assert!(landed.contains("d/a.txt cannot be written: permission denied."), "{landed}");
    assert_eq!(project.read("d/a.txt"), "1\n");
}

/// The limits of the stack that a shell can set, soft and hard.
#[test]
fn a_low_stack_limit_is_raised_or_reported() {
    let (project, server) = (project(), committing_model());
    let uid = if is_root() { OTHER_UID } else { rustix::process::geteuid().as_raw() };
    chown_all(project.root().parent().expect("parent"), uid);
    for kibibytes in [64, 256, 512] {
        let limits = format!("ulimit -s {kibibytes}");
        let part = format!("The stack limit is {kibibytes} KiB (ulimit -s)");
        for args in [&["run", "--backend", "native"][..], &["doctor"], &["status"]] {
            let mut command = project.autonoe(Some(&server));
            command.args(args);
            limited(&limits, &project.home())(&mut command);
            let output = command.output().expect("started");
            let printed = output_text(&output);
            assert_eq!(output.status.code(), Some(2), "{args:?} with {limits}: {printed}");
            assert!(
                printed.contains(&part) && printed.contains("hint:"),
                "{args:?} with {limits}: {printed}"
            );
        }
    }
    let mut data = project.autonoe(Some(&server));
    // With less than the binary itself needs, the kernel does not even start it.
    limited("ulimit -d 8000", &project.home())(data.arg("status"));
    let output = data.output().expect("started");
    assert!(output_text(&output).contains("The data limit is 7 MiB (ulimit -d)"), "{output:?}");
    let mut soft = project.command(&server, &["run"]);
    limited("ulimit -S -s 64; ulimit -S -d 8000", &project.home())(&mut soft);
    RunOutput::from(soft.output().expect("started")).assert_ended("all_passed", 0);
}

#[test]
fn a_git_that_is_not_a_repository_is_refused() {
    for (make, parts) in [
        ("echo 'gitdir: /nonexistent' > .git", ["names the directory '/nonexistent'", ".git"]),
        ("echo hello > .git", ["without a line `gitdir:", ".git"]),
        ("mkfifo .git", ["it is a named pipe", ".git"]),
        ("ln -s .git .git", ["it cannot be opened", ".git"]),
        ("ln -s .git other; ln -s other .git", ["it cannot be opened", ".git"]),
        ("git init -q . && git config core.bare true", ["must be run in a work tree", "core.bare false"]),
        ("git init -q . && git config core.worktree /nonexistent", ["works on other files", "/nonexistent"]),
        ("git init -q . && git config core.worktree /usr", ["works on other files", "/usr"]),
    ] {
        let (project, server) = (CliTestProject::with_status(&[("A", "pending")]), committing_model());
        let made =
            Command::new("sh").args(["-c", make]).current_dir(project.root()).status().expect("started");
        assert!(made.success(), "{make}");
        assert_refused(&project, &server, |_| {}, &parts);
    }
}

#[test]
fn a_missing_git_is_reported_before_the_first_session() {
    let words = "git was not found on the PATH";
    let project = CliTestProject::with_status(&[("A", "pending")]).in_workspace();
    let (bin, server) = (without_bubblewrap(&project), committing_model());
    fs::remove_file(bin.join("git")).expect("removed");
    let change = |command: &mut Command| {
        command.env("PATH", &bin);
    };
    assert_refused(&project, &server, change, &[words, "--in-place"]);

    let mut command = project.command(&server, &["run", "-n", "1", "--in-place"]);
    let run = RunOutput::from(command.env("PATH", &bin).output().expect("started"));
    let reported = run.events.iter().position(|event| event["message"].to_string().contains(words));
    let begun = run.events.iter().position(|event| event["type"] == "session_started");
    assert!(reported.is_some() && reported < begun, "{:?}", run.events);
    assert!(run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn hooks_that_hang_or_refuse_a_message_are_reported() {
    let (project, server) = (project(), committing_model());
    for (name, script, words) in [
        ("pre-commit", "sleep 1000", "The pre-commit hook did not finish within 10 s"),
        (
            "commit-msg",
            "grep -q ticket \"$1\" || { echo 'no ticket named'; exit 3; }",
            "exit code 3: no ticket named",
        ),
        (
            "prepare-commit-msg",
            "test \"$2\" = message && test -f \"$1\" && exit 4",
            "The prepare-commit-msg hook fails",
        ),
    ] {
        let hook = project.path(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().expect("parent")).expect("made");
        fs::write(&hook, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("made executable");
        let doctor = project.autonoe(Some(&server)).args(["doctor", "--in-place"]).output().expect("started");
        let printed = output_text(&doctor);
        assert!(printed.contains(words) && printed.contains(&format!("The {name} hook")), "{printed}");
        fs::remove_file(&hook).expect("removed");
    }
}

#[test]
fn a_state_directory_inside_the_project_is_refused() {
    let (project, server) = (project(), committing_model());
    let inside = project.path("state/deeper");
    let change = |command: &mut Command| {
        command.env("XDG_STATE_HOME", &inside);
    };
    assert_refused(&project, &server, change, &["is inside the project", "XDG_STATE_HOME"]);
    assert!(!project.path("state").exists(), "nothing is created there");
}

#[test]
fn a_state_directory_that_cannot_be_created_is_reported_with_its_variable() {
    let project = CliTestProject::with_status(&[("A", "pending")]);
    let (file, pipe) = (project.home().join("file"), project.home().join("pipe"));
    fs::write(&file, "").expect("written");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("pipe");
    for (variable, path, what) in [
        ("XDG_STATE_HOME", &pipe, "is a named pipe, not a directory"),
        ("XDG_STATE_HOME", &file, "is a file, not a directory"),
        ("HOME", &file, "is a file, not a directory"),
    ] {
        for command in ["status", "run", "doctor", "report", "checks"] {
            let mut autonoe = project.autonoe(None);
            let output = autonoe.arg(command).env(variable, path).output().expect("started");
            let printed = output_text(&output);
            assert_eq!(output.status.code(), Some(2), "{command}: {printed}");
            assert!(
                printed.contains(what) && printed.contains(&format!("Set {variable} to a directory")),
                "{printed}"
            );
        }
    }
}
