//! Runs checks on a project's checkout without a run around it: for tests of what checks and repositories can be like.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use autonoe_core::check::Check;
use autonoe_sandbox::{Bounds, EgressRules, Limits, RoomConfig, Sandbox};
use autonoe_store::Project;
use autonoe_verify::{
    CheckoutFactory, Evidence, Proof, Reproduction, Surroundings, Trial, Verdict, reproduce,
};
use serde_json::json;

use super::support::Place;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A check of a few words; `more` are further fields, as in checks.json.
pub fn check(command: &str, more: serde_json::Value) -> Check {
    let mut check = json!({ "name": "it", "run": command });
    for (key, value) in more.as_object().expect("an object") {
        check[key] = value.clone();
    }
    serde_json::from_value(check).expect("a check")
}

/// Runs checks on a clean checkout of the project in `root`, each in what `limits` allow.
pub fn try_out(place: &Place, root: &Path, limits: Limits, checks: &[Check]) -> Reproduction {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let root = root.canonicalize().expect("a project");
    let project = Project::open(&root, &place.home().join("state")).expect("a project");
    let scratch = place.home().join("scratch");
    fs::create_dir_all(&scratch).expect("made");
    let proof = |check: &Check| {
        let seen = Trial {
            check: check.name.clone(),
            verdict: Verdict::Passed,
            exit: Some(0),
            output: String::new(),
            output_sha256: String::new(),
            output_bytes: 0,
            duration: std::time::Duration::ZERO,
        };
        Proof { check: check.clone(), seen, counts: true }
    };
    let evidence = Evidence {
        deliverable: "A".to_owned(),
        description: "part A".to_owned(),
        criteria: Vec::new(),
        checks: checks.iter().map(proof).collect(),
        commit: None,
        tree: String::new(),
        uncommitted: Vec::new(),
        environment: Surroundings {
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
        let ourselves = PathBuf::from(env!("CARGO_BIN_EXE_autonoe"));
        let sandbox = Sandbox::find(&ourselves, OsStr::new(PATH), &scratch).await.expect("a sandbox");
        let bounds = Bounds { limits, ..Bounds::new(&scratch, &scratch, &scratch) };
        let env = vec![("PATH".to_owned(), PATH.to_owned())];
        let egress = Arc::new(EgressRules::default());
        let room_config = RoomConfig { sandbox, bounds, egress, env, guarded: Arc::default() };
        let site = CheckoutFactory { root, scratch, room_config, network: None };
        reproduce(&project, &site, &evidence).await.expect("a checkout")
    })
}

/// What came of one check on a project's checkout.
pub fn tried(place: &Place, limits: Limits, check: Check) -> Trial {
    try_out(place, &place.project(), limits, &[check]).trials.remove(0).1
}

/// How many processes have `part` among their arguments.
pub fn running_with(part: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).split('\0').any(|word| word == part)).count()
}
