//! Runs the public conformance suite for clients with the example `mcp_client`.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use autonoe_test_kit::example;

use crate::support::{package, path};

/// The core suite of version 0.1.16: every scenario of a published protocol version.
const CORE: [&str; 18] = [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
];

/// The draft suite.
const DRAFT: [&str; 3] =
    ["auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported"];

/// Fails a client that reconnects 0.2 s late, which can happen on a busy machine through no fault of the client.
const MEASURES_TIME: &str = "sse-retry";
/// How often [`MEASURES_TIME`] is tried.
const ATTEMPTS: usize = 5;

#[test]
fn the_core_suite_passes() {
    passes("core", &CORE);
}

#[test]
fn the_draft_suite_passes() {
    passes("draft", &DRAFT);
}

#[test]
fn a_broken_stream_is_resumed_after_the_retry_time_of_the_server() {
    let mut outputs = Vec::new();
    for _ in 0..ATTEMPTS {
        match run(&["--scenario", MEASURES_TIME]) {
            None => return,
            Some(run) if run.has_passed => return,
            Some(run) => outputs.push(run.output),
        }
    }
    panic!("{}", outputs.join("\n"));
}

fn passes(suite: &str, scenarios: &[&str]) {
    let Some(SuiteRun { output, .. }) = run(&["--suite", suite]) else { return };
    let passed = |scenario: &str| output.contains(&format!("✓ {scenario}:"));
    let failed: Vec<_> = scenarios.iter().filter(|&&name| name != MEASURES_TIME && !passed(name)).collect();
    assert!(failed.is_empty(), "{failed:?} did not pass:\n{output}");
    let unknown = output
        .lines()
        .filter_map(|line| line.strip_prefix("✗ "))
        .find(|line| !line.starts_with(MEASURES_TIME));
    assert_eq!(unknown, None, "{output}");
}

struct SuiteRun {
    has_passed: bool,
    output: String,
}

/// Runs a part of the suite; `None` if it is not installed.
fn run(part: &[&str]) -> Option<SuiteRun> {
    let entry = package("conformance/dist/index.js")?;
    let dir = TempDir::new().unwrap();
    let run = Command::new("node")
        .arg("--import")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/node20.mjs"))
        .arg(entry)
        .arg("client")
        .args(part)
        .arg("--command")
        .arg(example("mcp_client"))
        .env_clear()
        .env("PATH", path())
        .env("HOME", dir.path())
        .current_dir(dir.path())
        .output()
        .expect("node starts");
    let output =
        [run.stdout, run.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    Some(SuiteRun { has_passed: run.status.success(), output })
}
