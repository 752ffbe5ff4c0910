//! Where a project's files are, what is checked before anything is spent, and the project's own instructions.

use std::fs;

use autonoe_core::instruction::{Instructions, Phase};
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, ProjectInstructions};

use crate::support::StoreFixture;

#[test]
fn a_project_must_be_an_existing_directory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for (path, wanted) in [(dir.path().join("gone"), "does not exist"), (file, "is not a directory")] {
        let fault = Project::open(&path, dir.path()).expect_err(wanted);
        assert_eq!(fault.code, "project_directory");
        assert!(fault.message.contains(wanted), "{}", fault.message);
        assert!(fault.message.contains(path.to_str().unwrap()), "{}", fault.message);
    }
}

#[test]
fn projects_of_the_same_name_have_separate_states_and_one_project_has_one_state() {
    let dir = tempfile::tempdir().unwrap();
    let open = |path: &str| Project::open(&dir.path().join(path), &dir.path().join("state")).unwrap();
    for path in ["a/app", "b/app", "b/Große App"] {
        fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    std::os::unix::fs::symlink(dir.path().join("a/app"), dir.path().join("link")).unwrap();
    let (one, other, spaced) = (open("a/app"), open("b/app"), open("b/Große App"));
    assert_ne!(one.state_dir(), other.state_dir());
    assert_eq!(one.state_dir(), open("link").state_dir(), "through any path");
    assert_eq!(one.state_dir(), open("a/../a/app").state_dir());
    let name = spaced.state_dir().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("GroeApp-"), "{name}");
    assert!(!one.state_dir().starts_with(one.root()), "outside the directories that agents may write");
}

/// A socket may have a path of 107 bytes, and programs add names of their own.
#[test]
fn what_programs_work_in_has_a_short_path_that_is_the_projects_own() {
    let top = tempfile::tempdir().unwrap();
    let dirs = ["one", "a-very-long-name-of-a-project-that-fills-a-path"].map(|name| {
        fs::create_dir(top.path().join(name)).unwrap();
        let state_home = top.path().join("state");
        let project = Project::open(&top.path().join(name), &state_home).unwrap();
        let dir = project.short_dir("checks");
        let below = dir.strip_prefix(&state_home).unwrap();
        assert!(below.starts_with("checks") && below.as_os_str().len() <= 20, "{}", below.display());
        dir
    });
    assert_ne!(dirs[0], dirs[1]);
}

#[test]
fn a_specification_must_exist_and_not_be_empty() {
    let fixture = StoreFixture::new();
    let path = fixture.project.root().join("SPEC.md");
    let refused = |wanted: &str| {
        let fault = fixture.project.read_spec().expect_err(wanted);
        assert_eq!(fault.code, "spec");
        assert!(fault.message.contains(wanted), "{}", fault.message);
        assert!(fault.message.contains(fixture.project.root().to_str().unwrap()), "{}", fault.message);
    };
    refused("not found");
    fs::write(&path, " \n\t").unwrap();
    refused("is empty");
    fs::write(&path, [0xff]).unwrap();
    refused("cannot be read");
    fs::write(&path, "# A tool").unwrap();
    assert_eq!(fixture.project.read_spec().unwrap(), "# A tool");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("is a directory");
}

#[test]
fn a_writable_project_is_prepared_and_left_clean() {
    let fixture = StoreFixture::new();
    fixture.project.check_writable().unwrap();
    assert!(fixture.project.state_dir().is_dir());
    assert!(!fixture.project.autonoe_dir().exists(), "a check leaves nothing behind");
    fixture.project.make_directory().unwrap();
    fixture.project.check_writable().unwrap();
    assert_eq!(fixture.autonoe_files(), [""; 0]);
    fs::remove_dir(fixture.project.autonoe_dir()).unwrap();
    fs::write(fixture.project.autonoe_dir(), "a file in the way").unwrap();
    assert_eq!(fixture.project.check_writable().expect_err("a file in the way").code, "not_writable");
}

#[tokio::test]
async fn an_override_replaces_the_built_in_instruction_at_once() {
    let fixture = StoreFixture::new();
    let instructions = ProjectInstructions::new(&fixture.project);
    for name in Phase::ALL {
        assert_eq!(instructions.resolve(name).await.unwrap(), name.built_in());
        fixture.write_status("");
        let path = fixture.project.autonoe_dir().join(format!("{name}.md"));
        fs::write(&path, "Do as I say.").unwrap();
        assert_eq!(instructions.resolve(name).await.unwrap(), "Do as I say.");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn an_empty_or_unreadable_override_is_found_before_anything_is_spent() {
    let fixture = StoreFixture::new();
    let instructions = ProjectInstructions::new(&fixture.project);
    instructions.check_all().unwrap();
    fixture.write_status("");
    let path = fixture.project.autonoe_dir().join("verify.md");
    for content in [&b"  \n"[..], &[0xff]] {
        fs::write(&path, content).unwrap();
        let fault = instructions.check_all().expect_err("unusable");
        assert_eq!(fault.code, "instruction_override");
        assert!(fault.message.contains("verify.md"), "{}", fault.message);
    }
}

#[test]
fn a_configuration_that_cannot_be_understood_stops_the_run() {
    let fixture = StoreFixture::new();
    assert_eq!(AgentConfig::load(&fixture.project).unwrap(), AgentConfig::default());
    fixture.write_status("");
    for content in [&b"{\"profile\": \"perl\"}"[..], &[0xff], b""] {
        fs::write(fixture.project.agent_config(), content).unwrap();
        let fault = AgentConfig::load(&fixture.project).expect_err("unusable");
        assert_eq!(fault.code, "agent_config");
        assert!(fault.message.contains("agent.json"), "{}", fault.message);
    }
}

#[test]
fn a_path_that_other_programs_cannot_handle_is_rejected() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = StoreFixture::new();
    for (name, why) in [
        (&b"two\nlines"[..], "line break"),
        (b"tab\there", "control character"),
        (b"\xff\xfe", "not valid UTF-8"),
    ] {
        let directory = fixture.dir.path().join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&directory).unwrap();
        let fault = Project::open(&directory, &fixture.dir.path().join("state")).expect_err("refused");
        assert!(fault.message.contains(why) && !fault.message.contains('\n'), "{}", fault.message);
        assert!(fault.hint.is_some());
    }
    let spaced = fixture.dir.path().join("with spaces, ünïcödé and 'quotes'");
    fs::create_dir(&spaced).unwrap();
    Project::open(&spaced, &fixture.dir.path().join("state")).unwrap();
}

#[test]
fn temporary_files_of_killed_processes_are_removed() {
    let fixture = StoreFixture::new();
    fixture.project.check_writable().unwrap();
    fixture.project.make_directory().unwrap();
    let (root, ours, state) =
        (fixture.project.root(), fixture.project.autonoe_dir(), fixture.project.state_dir());
    let left = [
        root.join(".autonoe-probe-x"),
        ours.join(".autonoe-probe-x"),
        ours.join(".tmp-x"),
        state.join(".tmp-x"),
        state.join(".autonoe-probe-x"),
        fixture.project.temporary_dir().join("left by a command"),
    ];
    fs::create_dir_all(fixture.project.temporary_dir()).unwrap();
    let kept = [root.join(".tmp-users"), root.join("trial-users"), state.join("journal.db")];
    left.iter().chain(&kept).for_each(|file| fs::write(file, "").unwrap());
    fs::create_dir_all(state.join("trial-abc/root")).unwrap();
    fixture.project.remove_leftovers();
    assert!(!left.iter().any(|file| file.exists()) && !state.join("trial-abc").exists());
    assert!(kept.iter().all(|file| file.exists()));
}
