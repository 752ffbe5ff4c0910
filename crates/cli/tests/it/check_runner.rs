//! Runs checks on a checkout of a project without a whole `autonoe run`, for tests of checks and repositories.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_core::check::Check;
use autonoe_sandbox::{Bounds, EgressRules, RoomConfig, RoomLimits, Sandbox};
use autonoe_store::Project;
use autonoe_verify::{
    CheckEnvironment, CheckEvidence, CheckRun, CheckVerdict, CheckoutFactory, Evidence, Reproduction,
    reproduce,
};
use serde_json::json;

use super::support::CliTestProject;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A check; `more` has further fields as in checks.json.
pub fn check(command: &str, more: serde_json::Value) -> Check {
    let mut check = json!({ "name": "it", "run": command });
    for (key, value) in more.as_object().expect("an object") {
        check[key] = value.clone();
    }
    serde_json::from_value(check).expect("a check")
}

pub fn run_checks(
    test_project: &CliTestProject,
    root: &Path,
    limits: RoomLimits,
    checks: &[Check],
) -> Reproduction {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let root = root.canonicalize().expect("a path");
    let project = Project::open(&root, &test_project.home().join("state")).expect("a path");
    let scratch = test_project.home().join("scratch");
    fs::create_dir_all(&scratch).expect("made");
    let proof = |check: &Check| {
        let run = CheckRun {
            check: check.name.clone(),
            verdict: CheckVerdict::Passed,
            exit: Some(0),
            output: String::new(),
            output_sha256: String::new(),
            output_bytes: 0,
            duration: std::time::Duration::ZERO,
        };
        CheckEvidence { check: check.clone(), run, counts: true }
    };
    let evidence = Evidence {
        deliverable: "A".to_owned(),
        description: "part A".to_owned(),
        criteria: Vec::new(),
        checks: checks.iter().map(proof).collect(),
        commit: None,
        tree: String::new(),
        uncommitted: Vec::new(),
        environment: CheckEnvironment {
            os: String::new(),
            architecture: String::new(),
            sandbox: String::new(),
            tools: Default::default(),
        },
        builder: None,
        at: jiff::Timestamp::UNIX_EPOCH,
        autonoe: String::new(),
    };
    runtime.block_on(async {
        let autonoe = PathBuf::from(env!("CARGO_BIN_EXE_autonoe"));
        let sandbox = Sandbox::find(&autonoe, OsStr::new(PATH), &scratch).await.expect("a sandbox");
        let bounds = Bounds { limits, ..Bounds::new(&scratch, &scratch, &scratch) };
        let env = vec![("PATH".to_owned(), PATH.to_owned())];
        let egress = Arc::new(EgressRules::default());
        let room_config = RoomConfig { sandbox, bounds, egress, env, guarded: Arc::default() };
        let factory = CheckoutFactory { root, scratch, room_config, network: None };
        reproduce(&project, &factory, &evidence).await.expect("a checkout")
    })
}

pub fn run_check(test_project: &CliTestProject, limits: RoomLimits, check: Check) -> CheckRun {
    run_checks(test_project, &test_project.root(), limits, &[check]).runs.remove(0).1
}

pub fn running_with(part: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).split('\0').any(|word| word == part)).count()
}
