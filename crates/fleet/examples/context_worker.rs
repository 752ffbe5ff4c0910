//! One of many processes that use the context of a fleet at the same time: `context_worker PROJECT ID ROUNDS`.
#![allow(clippy::expect_used, missing_docs)]

use std::fs;
use std::path::Path;

use autonoe_fleet::{ArtifactFile, SharedContext};
use serde_json::{Map, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [project, id, rounds] = &args[..] else { panic!("context_worker PROJECT ID ROUNDS") };
    let context = SharedContext::open(Path::new(project)).expect("opened");
    let work = tempfile::tempdir().expect("directory");
    for round in 0..rounds.parse::<u32>().expect("a number") {
        context.set(&format!("round-{round}"), json!(round), Some(id)).expect("set");
        context.emit_event("progress", Some(id), &json!({ "round": round })).expect("emitted");
        fs::write(work.path().join("file"), format!("{id} {round}")).expect("written");
        let file = ArtifactFile { root: work.path(), path: Path::new("file") };
        context.publish_artifact(id, file, id, Map::new()).expect("published");
        context.consume_artifact(id).expect("as it was published");
    }
}
