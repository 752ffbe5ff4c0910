//! Glob and Grep.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use autonoe_tools::{MAX_GREP_BYTES, ToolContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::Bench;

fn project() -> Bench {
    let bench = Bench::new();
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
        let path = bench.file(name, content);
        let changed = UNIX_EPOCH + Duration::from_secs(1_000 - age as u64);
        File::options().append(true).open(path).unwrap().set_modified(changed).unwrap();
    }
    bench
}

#[tokio::test]
async fn glob_lists_newest_first_without_what_git_ignores() {
    let bench = project();
    let glob = async |args: Value| bench.ok("Glob", args).await;
    assert_eq!(glob(json!({"pattern": "**/*.rs"})).await, "src/main.rs\nsrc/deep/lib.rs");
    assert_eq!(glob(json!({"pattern": "*.rs"})).await, "src/main.rs\nsrc/deep/lib.rs");
    assert_eq!(glob(json!({"pattern": "src/*.rs"})).await, "src/main.rs");
    assert_eq!(glob(json!({"pattern": "*.rs", "path": "src/deep"})).await, "src/deep/lib.rs");
    assert_eq!(
        glob(json!({"pattern": "**/*"})).await,
        ".gitignore\n.github/ci.yml\nsrc/main.rs\nsrc/deep/lib.rs"
    );
    let absolute = bench.dir.path().canonicalize().unwrap().join("**/main.rs");
    assert_eq!(glob(json!({"pattern": absolute})).await, "src/main.rs");
    assert_eq!(glob(json!({"pattern": "*.py"})).await, "No files match `*.py` in ..");
}

#[tokio::test]
async fn what_git_ignores_is_told_by_every_directory_of_the_repository() {
    let bench = Bench::new();
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
        bench.file(name, content);
    }
    let all = async |args: Value| {
        let mut files: Vec<_> = bench.ok("Glob", args).await.lines().map(str::to_owned).collect();
        files.sort_unstable();
        files.join(" ")
    };
    assert_eq!(
        all(json!({"pattern": "**/[!.]*"})).await,
        "nested/its-own.tmp src/kept.tmp src/only-here wanted.tmp"
    );
    assert_eq!(all(json!({"pattern": "*.tmp", "path": "src"})).await, "src/kept.tmp");
    // A directory that is named is searched.
    assert_eq!(all(json!({"pattern": "*", "path": "built"})).await, "built/x");
}

#[tokio::test]
async fn glob_stays_in_its_directory() {
    let bench = project();
    symlink("/etc", bench.path("etc")).unwrap();
    assert!(!bench.ok("Glob", json!({"pattern": "**/passwd"})).await.contains("etc/passwd"));
    assert!(bench.error("Glob", json!({"pattern": "/etc/*"})).await.contains("`path`"));
    assert!(bench.error("Glob", json!({"pattern": "../*"})).await.contains("`path`"));
    let error = bench.error("Glob", json!({"pattern": "*", "path": "nowhere"})).await;
    assert!(error.contains("does not exist"), "{error}");
    let error = bench.error("Glob", json!({"pattern": "*", "path": "src/main.rs"})).await;
    assert!(error.contains("must be a directory"), "{error}");
}

#[tokio::test]
async fn glob_says_how_many_more_there_are() {
    let bench = Bench::new();
    for n in 0..130 {
        bench.file(&format!("{n}.txt"), "");
    }
    let files = bench.ok("Glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(files.lines().count(), 101);
    assert!(files.contains("(30 more files match"), "{files}");
}

#[tokio::test]
async fn grep_has_three_modes() {
    let bench = project();
    let grep = async |args: Value| bench.ok("Grep", args).await;
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
async fn grep_separates_matches_that_are_apart() {
    let bench = Bench::new();
    bench.file("a", "x\n1\n2\n3\nx\n");
    let found = json!({"pattern": "x", "output_mode": "content", "-A": 1});
    assert_eq!(bench.ok("Grep", found).await, "a:1:x\na-2-1\n--\na:5:x");
}

#[tokio::test]
async fn grep_says_what_was_cut() {
    let bench = Bench::new();
    bench.file("many", "needle\n".repeat(1_000));
    bench.file("wide", format!("needle{}\n", "ü".repeat(5_000)).repeat(200));
    let few = json!({"pattern": "needle", "output_mode": "content", "path": "many", "head_limit": 2});
    assert_eq!(
        bench.ok("Grep", few).await,
        "many:1:needle\nmany:2:needle\n(998 of 1000 matching lines not shown; use a narrower \
         pattern, path or glob)"
    );
    let wide = json!({"pattern": "needle", "output_mode": "content", "path": "wide"});
    let wide = bench.ok("Grep", wide).await;
    assert!(wide.len() < MAX_GREP_BYTES + 200);
    assert!(wide.contains("4506 characters cut") && wide.contains("of 200 matching lines"));
}

#[tokio::test]
async fn grep_refuses_clearly_and_skips_binaries() {
    let bench = Bench::new();
    bench.file("binary", b"needle\0\n");
    assert!(bench.ok("Grep", json!({"pattern": "needle"})).await.contains("No matches"));
    let error = bench.error("Grep", json!({"pattern": "a(b"})).await;
    assert!(error.contains("unclosed group"), "{error}");
    let error = bench.error("Grep", json!({"pattern": "a\\nb"})).await;
    assert!(error.contains("within a line"), "{error}");
    let error = bench.error("Grep", json!({"pattern": "a", "path": "nowhere"})).await;
    assert!(error.contains("does not exist"), "{error}");
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let bench = project();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let cx = ToolContext::new(cancel);
    for name in ["Glob", "Grep"] {
        let output = bench.tool(name).call(json!({"pattern": "a"}), &cx).await;
        assert!(output.is_error() && output.output.contains("Cancelled"), "{}", output.output);
    }
}
