//! Where a project's files lie, what is checked before anything is spent, and its own instructions.

use std::fs;

use autonoe_core::instruction::{Instructions, Phase};
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, ProjectInstructions};

use crate::support::Bench;

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
fn projects_of_the_same_name_keep_their_state_apart_and_one_project_has_one_state() {
    let dir = tempfile::tempdir().unwrap();
    let open = |path: &str| Project::open(&dir.path().join(path), &dir.path().join("state")).unwrap();
    for path in ["a/app", "b/app", "b/Große App"] {
        fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    std::os::unix::fs::symlink(dir.path().join("a/app"), dir.path().join("link")).unwrap();
    let (one, other, spaced) = (open("a/app"), open("b/app"), open("b/Große App"));
    assert_ne!(one.state_dir(), other.state_dir());
    assert_eq!(one.state_dir(), open("link").state_dir(), "by whatever path it is reached");
    assert_eq!(one.state_dir(), open("a/../a/app").state_dir());
    let name = spaced.state_dir().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("GroeApp-"), "{name}");
    assert!(!one.state_dir().starts_with(one.root()), "outside of what an agent may write");
}

#[test]
fn a_specification_must_be_there_and_say_something() {
    let bench = Bench::new();
    let path = bench.project.root().join("SPEC.md");
    let refused = |wanted: &str| {
        let fault = bench.project.read_spec().expect_err(wanted);
        assert_eq!(fault.code, "spec");
        assert!(fault.message.contains(wanted), "{}", fault.message);
        assert!(fault.message.contains(bench.project.root().to_str().unwrap()), "{}", fault.message);
    };
    refused("not found");
    fs::write(&path, " \n\t").unwrap();
    refused("is empty");
    fs::write(&path, [0xff]).unwrap();
    refused("cannot be read");
    fs::write(&path, "# A tool").unwrap();
    assert_eq!(bench.project.read_spec().unwrap(), "# A tool");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("is a directory");
}

#[test]
fn a_writable_project_is_prepared_and_left_clean() {
    let bench = Bench::new();
    bench.project.check_writable().unwrap();
    assert!(bench.project.state_dir().is_dir());
    assert!(!bench.project.autonoe_dir().exists(), "nothing stays of a look");
    bench.project.make_directory().unwrap();
    bench.project.check_writable().unwrap();
    assert_eq!(bench.autonoe_files(), [""; 0]);
    fs::remove_dir(bench.project.autonoe_dir()).unwrap();
    fs::write(bench.project.autonoe_dir(), "a file in the way").unwrap();
    assert_eq!(bench.project.check_writable().expect_err("a file in the way").code, "not_writable");
}

#[tokio::test]
async fn an_override_replaces_the_built_in_instruction_at_once() {
    let bench = Bench::new();
    let instructions = ProjectInstructions::new(&bench.project);
    for name in Phase::ALL {
        assert_eq!(instructions.resolve(name).await.unwrap(), name.built_in());
        bench.write_status("");
        let path = bench.project.autonoe_dir().join(format!("{name}.md"));
        fs::write(&path, "Do as I say.").unwrap();
        assert_eq!(instructions.resolve(name).await.unwrap(), "Do as I say.");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn an_empty_or_unreadable_override_is_found_before_anything_is_spent() {
    let bench = Bench::new();
    let instructions = ProjectInstructions::new(&bench.project);
    instructions.check_all().unwrap();
    bench.write_status("");
    let path = bench.project.autonoe_dir().join("verify.md");
    for content in [&b"  \n"[..], &[0xff]] {
        fs::write(&path, content).unwrap();
        let fault = instructions.check_all().expect_err("unusable");
        assert_eq!(fault.code, "instruction_override");
        assert!(fault.message.contains("verify.md"), "{}", fault.message);
    }
}

#[test]
fn a_configuration_that_cannot_be_understood_stops_the_run() {
    let bench = Bench::new();
    assert_eq!(AgentConfig::load(&bench.project).unwrap(), AgentConfig::default());
    bench.write_status("");
    for content in [&b"{\"profile\": \"perl\"}"[..], &[0xff], b""] {
        fs::write(bench.project.agent_config(), content).unwrap();
        let fault = AgentConfig::load(&bench.project).expect_err("unusable");
        assert_eq!(fault.code, "agent_config");
        assert!(fault.message.contains("agent.json"), "{}", fault.message);
    }
}

#[test]
fn a_path_that_other_programs_cannot_be_told_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    for (name, why) in [
        (&b"two\nlines"[..], "line break"),
        (b"tab\there", "control character"),
        (b"\xff\xfe", "not valid UTF-8"),
    ] {
        let directory = bench.dir.path().join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&directory).unwrap();
        let fault = Project::open(&directory, &bench.dir.path().join("state")).expect_err("refused");
        assert!(fault.message.contains(why) && !fault.message.contains('\n'), "{}", fault.message);
        assert!(fault.hint.is_some());
    }
    let spaced = bench.dir.path().join("with spaces, ünïcödé and 'quotes'");
    fs::create_dir(&spaced).unwrap();
    Project::open(&spaced, &bench.dir.path().join("state")).unwrap();
}

#[test]
fn what_is_made_for_a_moment_is_removed_when_a_killed_process_left_it() {
    let bench = Bench::new();
    bench.project.check_writable().unwrap();
    bench.project.make_directory().unwrap();
    let (root, ours, state) = (bench.project.root(), bench.project.autonoe_dir(), bench.project.state_dir());
    let left = [
        root.join(".autonoe-probe-x"),
        ours.join(".autonoe-probe-x"),
        ours.join(".tmp-x"),
        state.join(".tmp-x"),
        bench.project.temporary_dir().join("whatever a command left"),
    ];
    fs::create_dir_all(bench.project.temporary_dir()).unwrap();
    let kept = [root.join(".tmp-users"), root.join("trial-users"), state.join("journal.db")];
    left.iter().chain(&kept).for_each(|file| fs::write(file, "").unwrap());
    fs::create_dir_all(state.join("trial-abc/root")).unwrap();
    bench.project.remove_leftovers();
    assert!(!left.iter().any(|file| file.exists()) && !state.join("trial-abc").exists());
    assert!(kept.iter().all(|file| file.exists()));
}
