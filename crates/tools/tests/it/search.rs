//! The Glob and Grep tools.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use autonoe_tools::{MAX_GREP_BYTES, ToolContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::ToolFixture;

fn project() -> ToolFixture {
    let fixture = ToolFixture::new();
    let files = [
        (".gitignore", "target/\n*.log\n"),
        (".git/config", "alpha\n"),
        (".github/ci.yml", "beta\n"),
        ("src/main.rs", "fn main() {\n    alpha();\n}\n"),
        ("src/deep/lib.rs", "// one\n// Alpha\n// three\r\n"),
        ("target/out.rs", "alpha\n"),
        ("run.log", "alpha\n"),
    ];
    for (age, (name, content)) in files.into_iter().enumerate() {
        let path = fixture.file(name, content);
        let changed = UNIX_EPOCH + Duration::from_secs(1_000 - age as u64);
        File::options().append(true).open(path).unwrap().set_modified(changed).unwrap();
    }
    fixture
}

#[tokio::test]
async fn glob_lists_newest_first_and_skips_ignored_files() {
    let fixture = project();
    let glob = async |args: Value| fixture.ok("Glob", args).await;
    assert_eq!(glob(json!({"pattern": "**/*.rs"})).await, "src/main.rs\nsrc/deep/lib.rs");
    assert_eq!(glob(json!({"pattern": "*.rs"})).await, "src/main.rs\nsrc/deep/lib.rs");
    assert_eq!(glob(json!({"pattern": "src/*.rs"})).await, "src/main.rs");
    assert_eq!(glob(json!({"pattern": "*.rs", "path": "src/deep"})).await, "src/deep/lib.rs");
    assert_eq!(
        glob(json!({"pattern": "**/*"})).await,
        ".gitignore\n.github/ci.yml\nsrc/main.rs\nsrc/deep/lib.rs"
    );
    let absolute = fixture.dir.path().canonicalize().unwrap().join("**/main.rs");
    assert_eq!(glob(json!({"pattern": absolute})).await, "src/main.rs");
    assert_eq!(glob(json!({"pattern": "*.py"})).await, "No files match `*.py` in ..");
}

#[tokio::test]
async fn ignore_files_of_every_directory_of_the_repository_apply() {
    let fixture = ToolFixture::new();
    for (name, content) in [
        (".gitignore", "*.tmp\n/only-here\nbuilt/\n"),
        (".git/info/exclude", "mine\nkept.tmp\n"),
        (".ignore", "!wanted.tmp\n"),
        ("a.tmp", ""),
        ("wanted.tmp", ""),
        ("only-here", ""),
        ("mine", ""),
        ("built/x", ""),
        ("src/.gitignore", "!kept.tmp\n*.rs\n"),
        ("src/kept.tmp", ""),
        ("src/lost.tmp", ""),
        ("src/lib.rs", ""),
        ("src/only-here", ""),
        ("nested/.git/config", ""),
        ("nested/its-own.tmp", ""),
    ] {
        fixture.file(name, content);
    }
    let all = async |args: Value| {
        let mut files: Vec<_> = fixture.ok("Glob", args).await.lines().map(str::to_owned).collect();
        files.sort_unstable();
        files.join(" ")
    };
    assert_eq!(
        all(json!({"pattern": "**/[!.]*"})).await,
        "nested/its-own.tmp src/kept.tmp src/only-here wanted.tmp"
    );
    assert_eq!(all(json!({"pattern": "*.tmp", "path": "src"})).await, "src/kept.tmp");
    // An ignored directory is searched if `path` names it.
    assert_eq!(all(json!({"pattern": "*", "path": "built"})).await, "built/x");
}

#[tokio::test]
async fn glob_stays_in_its_directory() {
    let fixture = project();
    symlink("/etc", fixture.path("etc")).unwrap();
    assert!(!fixture.ok("Glob", json!({"pattern": "**/passwd"})).await.contains("etc/passwd"));
    assert!(fixture.error("Glob", json!({"pattern": "/etc/*"})).await.contains("`path`"));
    assert!(fixture.error("Glob", json!({"pattern": "../*"})).await.contains("`path`"));
    let error = fixture.error("Glob", json!({"pattern": "*", "path": "nowhere"})).await;
    assert!(error.contains("does not exist"), "{error}");
    let error = fixture.error("Glob", json!({"pattern": "*", "path": "src/main.rs"})).await;
    assert!(error.contains("must be a directory"), "{error}");
}

#[tokio::test]
async fn glob_says_how_many_more_there_are() {
    let fixture = ToolFixture::new();
    for n in 0..130 {
        fixture.file(&format!("{n}.txt"), "");
    }
    let files = fixture.ok("Glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(files.lines().count(), 101);
    assert!(files.contains("(30 more files match"), "{files}");
}

#[tokio::test]
async fn grep_has_three_modes() {
    let fixture = project();
    let grep = async |args: Value| fixture.ok("Grep", args).await;
    assert_eq!(grep(json!({"pattern": "alpha"})).await, "src/main.rs");
    assert_eq!(
        grep(json!({"pattern": "alpha", "-i": true, "output_mode": "count"})).await,
        "src/deep/lib.rs:1\nsrc/main.rs:1"
    );
    assert_eq!(
        grep(json!({"pattern": "alpha", "output_mode": "content"})).await,
        "src/main.rs:2:    alpha();"
    );
    assert_eq!(
        grep(json!({"pattern": "Alpha", "output_mode": "content", "-C": 1, "-n": false})).await,
        "src/deep/lib.rs-// one\nsrc/deep/lib.rs:// Alpha\nsrc/deep/lib.rs-// three"
    );
    assert_eq!(
        grep(json!({"pattern": "^.*e$", "output_mode": "content", "path": "src/deep/lib.rs"})).await,
        "src/deep/lib.rs:1:// one\nsrc/deep/lib.rs:3:// three"
    );
    assert_eq!(grep(json!({"pattern": "a", "glob": "*.yml"})).await, ".github/ci.yml");
    assert_eq!(grep(json!({"pattern": "a", "glob": "!*.rs"})).await, ".github/ci.yml\n.gitignore");
    assert_eq!(grep(json!({"pattern": "omega"})).await, "No matches for `omega` in ..");
    assert_eq!(grep(json!({"pattern": "alpha", "path": "run.log"})).await, "run.log");
}

#[tokio::test]
async fn grep_separates_groups_of_context_lines() {
    let fixture = ToolFixture::new();
    fixture.file("a", "x\n1\n2\n3\nx\n");
    let found = json!({"pattern": "x", "output_mode": "content", "-A": 1});
    assert_eq!(fixture.ok("Grep", found).await, "a:1:x\na-2-1\n--\na:5:x");
}

#[tokio::test]
async fn grep_says_how_much_was_omitted() {
    let fixture = ToolFixture::new();
    fixture.file("many", "needle\n".repeat(1_000));
    fixture.file("wide", format!("needle{}\n", "ü".repeat(5_000)).repeat(200));
    let few = json!({"pattern": "needle", "output_mode": "content", "path": "many", "head_limit": 2});
    assert_eq!(
        fixture.ok("Grep", few).await,
        "many:1:needle\nmany:2:needle\n(998 of 1000 matching lines not shown; use a narrower \
         pattern, path or glob)"
    );
    let wide = json!({"pattern": "needle", "output_mode": "content", "path": "wide"});
    let wide = fixture.ok("Grep", wide).await;
    assert!(wide.len() < MAX_GREP_BYTES + 200);
    assert!(wide.contains("4506 characters cut") && wide.contains("of 200 matching lines"));
}

#[tokio::test]
async fn grep_explains_errors_and_skips_binary_files() {
    let fixture = ToolFixture::new();
    fixture.file("binary", b"needle\0\n");
    assert!(fixture.ok("Grep", json!({"pattern": "needle"})).await.contains("No matches"));
    let error = fixture.error("Grep", json!({"pattern": "a(b"})).await;
    assert!(error.contains("unclosed group"), "{error}");
    let error = fixture.error("Grep", json!({"pattern": "a\\nb"})).await;
    assert!(error.contains("within a line"), "{error}");
    let error = fixture.error("Grep", json!({"pattern": "a", "path": "nowhere"})).await;
    assert!(error.contains("does not exist"), "{error}");
}

#[tokio::test]
async fn a_cancelled_search_stops() {
    let fixture = project();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let cx = ToolContext::new(cancel);
    for name in ["Glob", "Grep"] {
        let output = fixture.tool(name).call(json!({"pattern": "a"}), &cx).await;
        assert!(output.is_error() && output.output.contains("Cancelled"), "{}", output.output);
    }
}
