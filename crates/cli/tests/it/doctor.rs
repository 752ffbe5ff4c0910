//! `autonoe doctor`: what a run would do here, and what `--fix` repairs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use autonoe_test_kit::write_program;

use super::support::{CliTestProject, without_bubblewrap};

/// Exit code and output of `autonoe doctor ARGS`, with a key, changed by `change`.
fn doctor_with(
    project: &CliTestProject,
    args: &[&str],
    change: impl FnOnce(&mut Command),
) -> (Option<i32>, String) {
    let mut command = project.autonoe(None);
    command.arg("doctor").args(args).env("ANTHROPIC_API_KEY", "test-key-never-real");
    change(&mut command);
    let output = command.output().expect("started");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn doctor(project: &CliTestProject, args: &[&str]) -> (Option<i32>, String) {
    doctor_with(project, args, |_| {})
}

#[test]
fn permissions_that_nobody_has_approved_keep_a_run_from_starting() {
    let project = CliTestProject::new();
    project.write(".autonoe/agent.json", r#"{"allowCommands": ["docker"]}"#);
    let (code, out) = doctor(&project, &[]);
    assert_eq!(code, Some(2), "{out}");
    assert!(out.contains("BAD  trust: .autonoe/agent.json asks for permissions"), "{out}");
    assert!(out.contains("     hint: Review them and run `autonoe trust`"), "{out}");
    let trusted = project.autonoe(None).args(["trust", "--yes"]).output().expect("started");
    assert!(trusted.status.success());
    let (code, out) = doctor(&project, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("ok   trust: you have approved command in run: docker"), "{out}");
}

#[test]
fn a_missing_repository_is_said() {
    let project = CliTestProject::new();
    let (code, out) = doctor(&project, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("note git repository: none; a run creates one"), "{out}");
    let (_, out) = doctor(&project, &["--in-place"]);
    assert!(out.contains("note git repository: none; checks run on a copy"), "{out}");
    let project = project.in_repository();
    assert!(doctor(&project, &[]).1.contains("ok   git repository: ok"));
}

#[test]
fn a_missing_bubblewrap_comes_with_the_way_to_install_it() {
    let project = CliTestProject::new();
    let bin = without_bubblewrap(&project);
    let with_path = |command: &mut Command| {
        command.env("PATH", &bin).env("container", "podman");
    };
    let (_, out) = doctor_with(&project, &[], with_path);
    let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let wanted = match os_release.contains("ID=debian") {
        true => "apt install bubblewrap`",
        false => "bubblewrap",
    };
    assert!(out.contains(wanted) && out.contains("bwrap is not installed"), "{out}");
    assert!(out.contains("in this Podman container, start it with `podman run --security-opt"), "{out}");
}

/// As on Ubuntu 22.04, where advice about namespaces would lead nowhere.
#[test]
fn a_bubblewrap_that_is_too_old_is_named() {
    let project = CliTestProject::new();
    let bin = without_bubblewrap(&project);
    write_program(&bin.join("bwrap"), "echo 'bwrap: Unknown option --size' >&2; exit 1");
    let (_, out) = doctor_with(&project, &[], |command| {
        command.env("PATH", &bin);
    });
    assert!(out.contains("install bubblewrap 0.7 or newer; this one is too old"), "{out}");
}

#[test]
fn the_login_and_the_agent_of_a_run_are_named() {
    let project = CliTestProject::new();
    let (_, out) = doctor(&project, &[]);
    let native = "backend native, provider anthropic (anthropic): ready, with the key from ANTHROPIC_API_KEY (not tested)";
    assert!(out.contains(native), "{out}");
    assert!(out.contains("ok   a run uses the agent native: claude is not installed"), "{out}");
    let (code, out) = doctor_with(&project, &[], |command| {
        command.env_remove("ANTHROPIC_API_KEY");
    });
    assert_eq!(code, Some(2), "{out}");
    assert!(out.contains("BAD  no agent is ready"), "{out}");
    assert!(out.contains("note backend native, provider ollama (ollama)"), "{out}");
    assert!(!out.contains(": ready"), "nothing is called ready then: {out}");
    let bin = project.home().join("bin");
    fs::create_dir_all(&bin).expect("made");
    write_program(&bin.join("claude"), "echo '2.1.0 (Claude Code)'");
    fs::create_dir_all(project.home().join(".claude")).expect("made");
    let login = project.home().join(".claude/.credentials.json");
    fs::write(&login, "{}").expect("written");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let (_, out) = doctor_with(&project, &[], |command| {
        command.env("PATH", &path).env_remove("ANTHROPIC_API_KEY");
    });
    assert!(out.contains(&format!("logs in with {} (not tested)", login.display())), "{out}");
    assert!(out.contains("ok   a run uses the agent claude: claude is installed"), "{out}");
}

#[test]
fn checks_that_need_a_network_that_they_do_not_get_are_named() {
    let project = CliTestProject::new();
    project.write("SPEC.md", "# X\n\n```check name=install network\n$ npm ci\n```\n");
    let (code, out) = doctor(&project, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("note checks: install needs the network, which you have not allowed"), "{out}");
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), "[checks]\nnetwork = true\n").expect("written");
    assert!(doctor(&project, &[]).1.contains("ok   checks: 1 known"));
}

#[test]
fn fix_repairs_only_what_is_safe() {
    let project = CliTestProject::new();
    let (code, out) = doctor(&project, &["--fix"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("ok   fix: there was nothing to fix"), "{out}");
    assert!(!project.path(".autonoe").exists() && !project.path(".git").exists(), "nothing was made");
    let config = project.home().join(".config/autonoe");
    fs::create_dir_all(&config).expect("made");
    let config = config.join("config.toml");
    fs::write(&config, "[checks]\nnetwork = true\n").expect("written");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o666)).expect("changed");
    assert_eq!(doctor(&project, &[]).0, Some(2));
    let (code, out) = doctor(&project, &["--fix"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("ok   fix: nobody else can write"), "{out}");
    assert_eq!(fs::metadata(&config).expect("there").permissions().mode() & 0o777, 0o644);
}

#[test]
fn marks_are_coloured_unless_the_user_wants_none() {
    let project = CliTestProject::new();
    let coloured = doctor_with(&project, &[], |command| {
        command.env("CLICOLOR_FORCE", "1");
    });
    assert!(coloured.1.contains("\u{1b}[32mok\u{1b}[0m   git:"), "{:?}", coloured.1);
    let plain = doctor_with(&project, &[], |command| {
        command.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    });
    assert!(!plain.1.contains('\u{1b}') && plain.1.contains("ok   git:"), "{:?}", plain.1);
}
