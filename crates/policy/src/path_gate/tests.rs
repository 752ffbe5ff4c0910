//! The path rules, attacked with the detours a path can take.

use std::fs;
use std::os::unix::fs::symlink;

use autonoe_core::gate::{Decision, Gate, ToolCall};
use serde_json::json;
use tempfile::TempDir;

use super::{PathGate, Writes};

struct Place {
    _home: TempDir,
    root: std::path::PathBuf,
}

/// A project with sources, protected directories, a neighbour whose name begins the same, and links.
fn place() -> Place {
    let home = TempDir::new().expect("temporary directory");
    let root = home.path().canonicalize().expect("exists").join("proj");
    for directory in ["proj/src", "proj/.autonoe", "proj/.git/hooks", "proj-other", "outside"] {
        fs::create_dir_all(home.path().join(directory)).expect("made");
    }
    symlink("../outside", root.join("way-out")).expect("link");
    symlink(".autonoe", root.join("way-in")).expect("link");
    symlink("../outside/not-there", root.join("dangling")).expect("link");
    symlink("src", root.join("sources")).expect("link");
    Place { _home: home, root }
}

async fn check(place: &Place, writes: Writes, tool: &str, path: &str) -> bool {
    let field = if matches!(tool, "Glob" | "Grep") { "path" } else { "file_path" };
    let call = ToolCall { id: "1".into(), name: tool.into(), input: json!({ field: path }) };
    match PathGate::new(&place.root, writes).check(&call).await {
        Decision::Allow => true,
        Decision::Deny(_) => false,
        Decision::Abstain => panic!("{tool} is a file tool"),
    }
}

#[tokio::test]
async fn writes_stay_in_the_project_and_out_of_protected_directories() {
    let place = place();
    let absolute = |path: &str| place.root.join(path).display().to_string();
    for (path, allowed) in [
        ("src/main.rs", true),
        ("new/deep/file.txt", true),
        (".autonoe-note.md", true),
        ("sources/lib.rs", true),
        ("src/../README.md", true),
        (".gitignore", true),
        (".autonoe/status.json", false),
        (".autonoe", false),
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
        ("~/.bashrc", true), // no shell here: a directory called `~` inside the project
        ("a\0b", false),
    ] {
        assert_eq!(check(&place, Writes::Project, "Write", path).await, allowed, "Write {path:?}");
        assert_eq!(check(&place, Writes::Project, "Edit", path).await, allowed, "Edit {path:?}");
    }
    assert!(check(&place, Writes::Project, "Write", &absolute("src/x")).await);
    assert!(!check(&place, Writes::Project, "Write", &absolute(".autonoe/status.json")).await);
}

#[tokio::test]
async fn sync_writes_only_the_note_seed_002_9_7() {
    let place = place();
    for (path, allowed) in [
        (".autonoe-note.md", true),
        ("./.autonoe-note.md", true),
        ("src/main.rs", false),
        ("src/.autonoe-note.md", false),
        (".autonoe/status.json", false),
        ("../.autonoe-note.md", false),
    ] {
        assert_eq!(check(&place, Writes::NoteOnly, "Write", path).await, allowed, "{path:?}");
    }
    symlink("../outside/note", place.root.join("linked-note")).expect("link");
    fs::write(place.root.join("../outside/note"), "").expect("written");
    symlink("linked-note", place.root.join(".autonoe-note.md")).expect("link");
    assert!(!check(&place, Writes::NoteOnly, "Write", ".autonoe-note.md").await, "a note that leads outside");
}

#[tokio::test]
async fn reads_stay_in_the_project() {
    let place = place();
    for (path, allowed) in [
        ("src", true),
        (".autonoe/status.json", true),
        (".git/config", true),
        ("way-out/secret", false),
        ("../outside", false),
        ("/etc/passwd", false),
    ] {
        for tool in ["Read", "Glob", "Grep"] {
            assert_eq!(check(&place, Writes::NoteOnly, tool, path).await, allowed, "{tool} {path:?}");
        }
    }
}

#[tokio::test]
async fn a_path_that_is_not_a_string_is_refused_and_other_tools_are_not_our_business() {
    let place = place();
    let gate = PathGate::new(&place.root, Writes::Project);
    let call = |name: &str, input| ToolCall { id: "1".into(), name: name.into(), input };
    assert!(matches!(gate.check(&call("Write", json!({"file_path": ["a"]}))).await, Decision::Deny(_)));
    assert!(matches!(gate.check(&call("Write", json!({}))).await, Decision::Deny(_)));
    assert_eq!(gate.check(&call("Glob", json!({"pattern": "*"}))).await, Decision::Allow);
    assert_eq!(gate.check(&call("Bash", json!({"command": "ls"}))).await, Decision::Abstain);
}
