//! The path rules, tested with links, `..` and other detours.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use autonoe_core::files::{FileAccess, FileRules};
use autonoe_core::gate::{Decision, Gate, ToolCall};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{FILE_TOOLS, FileToolTarget, PATH_FIELDS, PathGate};
use crate::path_rules::PathRules;
use crate::paths::WriteScope;

struct PathFixture {
    _home: TempDir,
    root: PathBuf,
}

/// A project with sources, protected directories, a sibling with the same name prefix, and links.
fn fixture() -> PathFixture {
    let home = TempDir::new().expect("temporary directory");
    let root = home.path().canonicalize().expect("exists").join("proj");
    for directory in ["proj/src", "proj/.autonoe", "proj/.git/hooks", "proj-other", "outside"] {
        fs::create_dir_all(home.path().join(directory)).expect("made");
    }
    symlink("../outside", root.join("way-out")).expect("link");
    symlink(".autonoe", root.join("way-in")).expect("link");
    symlink("../outside/not-there", root.join("dangling")).expect("link");
    symlink("src", root.join("sources")).expect("link");
    PathFixture { _home: home, root }
}

impl PathFixture {
    fn gate(&self, writes: WriteScope, readable: &[PathBuf]) -> PathGate {
        PathGate::new(Arc::new(PathRules::new(&self.root, writes, readable.to_vec())))
    }
}

fn call(name: &str, input: Value) -> ToolCall {
    ToolCall { id: "1".into(), name: name.into(), input }
}

async fn allows(gate: &PathGate, tool: &str, input: Value) -> bool {
    assert!(FILE_TOOLS.iter().any(|(name, ..)| *name == tool), "{tool} is a file tool");
    match gate.check(&call(tool, input)).await {
        Decision::Abstain => true,
        Decision::Deny(_) => false,
        Decision::Allow => panic!("the gate allows {tool} instead of abstaining"),
    }
}

async fn check(fixture: &PathFixture, writes: WriteScope, tool: &str, path: &str) -> bool {
    let field = match tool {
        "Glob" | "Grep" | "LS" => "path",
        "NotebookRead" | "NotebookEdit" => "notebook_path",
        _ => "file_path",
    };
    allows(&fixture.gate(writes, &[]), tool, json!({ field: path })).await
}

#[tokio::test]
async fn writes_stay_in_the_project_and_out_of_protected_directories() {
    let fixture = fixture();
    let absolute = |path: &str| fixture.root.join(path).display().to_string();
    for (path, allowed) in [
        ("src/main.rs", true),
        ("new/deep/file.txt", true),
        (".autonoe-note.md", true),
        ("sources/lib.rs", true),
        ("src/../README.md", true),
        (".gitignore", true),
        (".autonoe/status.json", false),
        (".autonoe", false),
        (".harness/roadmap/inbox/x.txt", false),
        (".AUTONOE/status.json", false),
        ("./src/../.autonoe/x", false),
        ("way-in/status.json", false),
        (".git/hooks/pre-commit", false),
        (".git/config", false),
        ("../outside/file", false),
        ("../proj-other/file", false),
        ("way-out/file", false),
        ("way-out/new/file", false),
        ("dangling", false),
        ("not-there/../../outside/x", false),
        ("/etc/passwd", false),
        ("bare/HEAD", false),
        ("~/.bashrc", false),    // some tools expand `~`
        (" /etc/passwd", false), // and some trim white space
        ("a\0b", false),
    ] {
        for tool in ["Write", "Edit", "MultiEdit", "NotebookEdit"] {
            assert_eq!(check(&fixture, WriteScope::Project, tool, path).await, allowed, "{tool} {path:?}");
        }
    }
    assert!(check(&fixture, WriteScope::Project, "Write", &absolute("src/x")).await);
    assert!(!check(&fixture, WriteScope::Project, "Write", &absolute(".autonoe/status.json")).await);
}

#[tokio::test]
async fn sync_writes_only_the_note_seed_002_9_7() {
    let fixture = fixture();
    for (path, allowed) in [
        (".autonoe-note.md", true),
        ("./.autonoe-note.md", true),
        ("src/main.rs", false),
        ("src/.autonoe-note.md", false),
        (".autonoe/status.json", false),
        ("../.autonoe-note.md", false),
    ] {
        assert_eq!(check(&fixture, WriteScope::NoteOnly, "Write", path).await, allowed, "{path:?}");
    }
    symlink("../outside/note", fixture.root.join("linked-note")).expect("link");
    fs::write(fixture.root.join("../outside/note"), "").expect("written");
    symlink("linked-note", fixture.root.join(".autonoe-note.md")).expect("link");
    assert!(
        !check(&fixture, WriteScope::NoteOnly, "Write", ".autonoe-note.md").await,
        "a note that leads outside"
    );
}

#[tokio::test]
async fn reads_stay_in_the_project() {
    let fixture = fixture();
    for (path, allowed) in [
        ("src", true),
        (".autonoe/status.json", true),
        (".git/config", true),
        ("way-out/secret", false),
        ("../outside", false),
        ("/etc/passwd", false),
    ] {
        for tool in ["Read", "NotebookRead", "LS", "Glob", "Grep"] {
            assert_eq!(check(&fixture, WriteScope::NoteOnly, tool, path).await, allowed, "{tool} {path:?}");
        }
    }
}

#[tokio::test]
async fn readable_paths_outside_the_project_are_not_writable() {
    let fixture = fixture();
    let outside = fixture.root.join("../outside").canonicalize().expect("exists");
    let gate = fixture.gate(WriteScope::Project, &[outside]);
    for (tool, path, allowed) in [
        ("Read", "../outside/file", true),
        ("Read", "way-out/file", true),
        ("Read", "../outside-not/file", false),
        ("Read", "../proj-other/file", false),
        ("Read", "/not/there/file", false),
        ("Write", "../outside/file", false),
        ("Edit", "way-out/file", false),
    ] {
        assert_eq!(allows(&gate, tool, json!({"file_path": path})).await, allowed, "{tool} {path}");
    }
    assert!(allows(&gate, "Glob", json!({"pattern": "../outside/*"})).await);
}

#[tokio::test]
async fn patterns_stay_in_the_project() {
    let fixture = fixture();
    let gate = fixture.gate(WriteScope::Project, &[]);
    let absolute = fixture.root.join("src/**/*.rs").display().to_string();
    for (pattern, allowed) in [
        ("**/*.rs", true),
        ("src/*.{rs,toml}", true),
        (".{eslintrc,prettierrc}.{js,json}", true),
        ("!target/**", true),
        ("{src,not-there}/**", true),
        ("sources/*", true),
        (&absolute, true),
        ("../*", false),
        ("../../etc/*", false),
        ("!../*", false),
        ("/etc/*", false),
        ("/etc/passwd", false),
        ("src/../../outside/*", false),
        ("way-out/*", false),
        ("src/*/../../../outside/*", false),
        ("{src,../outside}/*", false),
        ("{src,{/etc,/root}}/*", false),
        ("{.,x}./outside/*", false),
        (r"\.\./outside/*", false),
        ("~/.ssh/*", false),
        ("{~,src}/*", false),
        (" /etc/*", false),
        ("a\0b", false),
    ] {
        assert_eq!(allows(&gate, "Glob", json!({"pattern": pattern})).await, allowed, "Glob {pattern:?}");
        let grep = json!({"pattern": "../../etc/*", "glob": pattern});
        assert_eq!(allows(&gate, "Grep", grep).await, allowed, "Grep {pattern:?}");
    }
    assert!(
        allows(&gate, "Glob", json!({"path": "src", "pattern": "../*"})).await,
        "relative to the searched directory"
    );
    assert!(!allows(&gate, "Glob", json!({"path": "src", "pattern": "../../*"})).await);
    assert!(!allows(&gate, "Glob", json!({"path": "way-out", "pattern": "*"})).await);
    assert!(!allows(&gate, "Glob", json!({"pattern": "x".repeat(5_000)})).await);
}

#[tokio::test]
async fn non_string_fields_are_refused_and_other_tools_are_ignored() {
    let fixture = fixture();
    let gate = fixture.gate(WriteScope::Project, &[]);
    for (tool, _, target) in FILE_TOOLS {
        let needs_path = matches!(target, FileToolTarget::File);
        assert_eq!(allows(&gate, tool, json!({})).await, !needs_path, "{tool}");
        assert_eq!(
            allows(&gate, tool, json!({"file_path": null, "path": null})).await,
            !needs_path,
            "{tool}"
        );
        for field in PATH_FIELDS {
            assert!(allows(&gate, tool, json!({ field: "src" })).await, "{tool} {field}");
            for invalid in [json!("../outside"), json!(["src"]), json!(1)] {
                let mut input = json!({"file_path": "src", "path": "src"});
                input[field] = invalid;
                assert!(!allows(&gate, tool, input.clone()).await, "{tool} {input}");
            }
        }
    }
    for (tool, field) in [("Glob", "pattern"), ("Grep", "glob")] {
        assert!(!allows(&gate, tool, json!({ field: ["*"] })).await, "{tool} {field}");
    }
    assert_eq!(gate.check(&call("Bash", json!({"command": "ls"}))).await, Decision::Abstain);
    assert_eq!(gate.check(&call("Unknown", json!({"file_path": "/etc/passwd"}))).await, Decision::Abstain);
}

#[test]
fn denials_name_the_resolved_path() {
    let fixture = fixture();
    let rules = PathRules::new(&fixture.root, WriteScope::Project, Vec::new());
    let judge = |path: &str, access| rules.judge(&fixture.root.join(path), access).map_err(|denial| denial.0);
    assert_eq!(judge("src/a", FileAccess::Write), Ok(()));
    assert_eq!(judge(".autonoe/status.json", FileAccess::Read), Ok(()));
    assert!(judge(".autonoe/status.json", FileAccess::Write).unwrap_err().contains(".autonoe/"));
    let outside = rules.judge("/etc/passwd".as_ref(), FileAccess::Read).unwrap_err().0;
    assert_eq!(outside, "Path '/etc/passwd' is outside the project directory.");
    let rules = PathRules::new(&fixture.root, WriteScope::NoteOnly, Vec::new());
    let other = rules.judge(&fixture.root.join("src/a"), FileAccess::Write).unwrap_err().0;
    assert_eq!(other, "This phase may write only .autonoe-note.md, not 'src/a'.");
}

#[tokio::test]
async fn credentials_are_not_read_wherever_they_are() {
    let fixture = fixture();
    let outside = fixture.root.with_file_name("outside");
    let gate = fixture.gate(WriteScope::Project, std::slice::from_ref(&outside));
    let at_home =
        PathRules::new(&fixture.root, WriteScope::Project, Vec::new()).with_home(Some(&fixture.root));
    let at_home = PathGate::new(Arc::new(at_home));
    for credential in autonoe_files::CREDENTIALS {
        let path = credential.path.replace('*', "1.2.3");
        for (gate, root) in [(&gate, &outside), (&at_home, &fixture.root)] {
            let file = root.join(&path);
            fs::create_dir_all(file.parent().expect("a parent")).expect("made");
            fs::write(&file, "secret").expect("written");
            let is_allowed = allows(gate, "Read", json!({ "file_path": file })).await;
            assert!(!is_allowed, "{} in {}", credential.tool, root.display());
        }
        fs::remove_file(fixture.root.join(&path)).expect("removed");
        fs::remove_file(outside.join(&path)).expect("removed");
    }
    fs::write(outside.join("readme"), "").expect("written");
    assert!(allows(&gate, "Read", json!({ "file_path": outside.join("readme") })).await);
    fs::write(fixture.root.join(".npmrc"), "").expect("written");
    assert!(allows(&gate, "Read", json!({ "file_path": ".npmrc" })).await, "a file of the project");
    let chosen = fixture.gate(WriteScope::Project, &[outside.join("readme"), outside.join(".aws")]);
    fs::create_dir_all(outside.join(".aws")).expect("made");
    fs::write(outside.join(".aws/config"), "").expect("written");
    assert!(
        allows(&chosen, "Read", json!({ "file_path": outside.join(".aws/config") })).await,
        "the user chose it"
    );
}
