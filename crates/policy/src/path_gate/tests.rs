//! The path rules, attacked with the detours a path can take.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use autonoe_core::files::{Access, FileRules};
use autonoe_core::gate::{Decision, Gate, ToolCall};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{FILE_TOOLS, PATH_FIELDS, PathGate, Target};
use crate::path_rules::{PathRules, Writes};

struct Place {
    _home: TempDir,
    root: PathBuf,
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

impl Place {
    fn gate(&self, writes: Writes, readable: &[PathBuf]) -> PathGate {
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
        Decision::Allow => panic!("the gate vouches for {tool}"),
    }
}

async fn check(place: &Place, writes: Writes, tool: &str, path: &str) -> bool {
    let field = match tool {
        "Glob" | "Grep" | "LS" => "path",
        "NotebookRead" | "NotebookEdit" => "notebook_path",
        _ => "file_path",
    };
    allows(&place.gate(writes, &[]), tool, json!({ field: path })).await
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
        ("bare/HEAD", false),
        ("~/.bashrc", false),    // some tools put the home directory for `~`
        (" /etc/passwd", false), // and some cut the white space off
        ("a\0b", false),
    ] {
        for tool in ["Write", "Edit", "MultiEdit", "NotebookEdit"] {
            assert_eq!(check(&place, Writes::Project, tool, path).await, allowed, "{tool} {path:?}");
        }
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
        for tool in ["Read", "NotebookRead", "LS", "Glob", "Grep"] {
            assert_eq!(check(&place, Writes::NoteOnly, tool, path).await, allowed, "{tool} {path:?}");
        }
    }
}

#[tokio::test]
async fn what_may_be_read_beside_the_project_is_not_written() {
    let place = place();
    let outside = place.root.join("../outside").canonicalize().expect("there");
    let gate = place.gate(Writes::Project, &[outside]);
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
    let place = place();
    let gate = place.gate(Writes::Project, &[]);
    let absolute = place.root.join("src/**/*.rs").display().to_string();
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
    assert!(allows(&gate, "Glob", json!({"path": "src", "pattern": "../*"})).await, "from where it looks");
    assert!(!allows(&gate, "Glob", json!({"path": "src", "pattern": "../../*"})).await);
    assert!(!allows(&gate, "Glob", json!({"path": "way-out", "pattern": "*"})).await);
    assert!(!allows(&gate, "Glob", json!({"pattern": "x".repeat(5_000)})).await);
}

#[tokio::test]
async fn fields_of_another_kind_are_refused_and_other_tools_are_not_our_business() {
    let place = place();
    let gate = place.gate(Writes::Project, &[]);
    for (tool, _, target) in FILE_TOOLS {
        let needs_path = matches!(target, Target::File);
        assert_eq!(allows(&gate, tool, json!({})).await, !needs_path, "{tool}");
        assert_eq!(
            allows(&gate, tool, json!({"file_path": null, "path": null})).await,
            !needs_path,
            "{tool}"
        );
        for field in PATH_FIELDS {
            assert!(allows(&gate, tool, json!({ field: "src" })).await, "{tool} {field}");
            for wrong in [json!("../outside"), json!(["src"]), json!(1)] {
                let mut input = json!({"file_path": "src", "path": "src"});
                input[field] = wrong;
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
fn the_rules_name_the_real_place() {
    let place = place();
    let rules = PathRules::new(&place.root, Writes::Project, Vec::new());
    let judge = |path: &str, access| rules.judge(&place.root.join(path), access);
    assert_eq!(judge("src/a", Access::Write), Ok(()));
    assert_eq!(judge(".autonoe/status.json", Access::Read), Ok(()));
    assert!(judge(".autonoe/status.json", Access::Write).unwrap_err().contains(".autonoe/"));
    let outside = rules.judge("/etc/passwd".as_ref(), Access::Read).unwrap_err();
    assert_eq!(outside, "Path '/etc/passwd' is outside the project directory.");
    let rules = PathRules::new(&place.root, Writes::NoteOnly, Vec::new());
    let other = rules.judge(&place.root.join("src/a"), Access::Write).unwrap_err();
    assert_eq!(other, "This phase may write only .autonoe-note.md, not 'src/a'.");
}
