//! The contracts of the seed's Shared Context section, each quoted, and what must not break them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use autonoe_test_kit::example;
use serde_json::{Map, Value, json};

use super::{ArtifactFile, MAX_ARTIFACT, MAX_VALUE, SharedContext, SharedContextError};

const PROCESSES: usize = 16;
const ROUNDS: usize = 25;

fn project() -> tempfile::TempDir {
    tempfile::tempdir().expect("directory")
}

fn open(project: &Path) -> SharedContext {
    SharedContext::open(project).expect("opened")
}

fn publish(context: &SharedContext, root: &Path, name: &str) -> Result<super::Artifact, SharedContextError> {
    let file = ArtifactFile { root, path: Path::new("file") };
    context.publish_artifact(name, file, "api", Map::new())
}

#[test]
fn set_context_value_optionally_scoped_to_a_harness() {
    // "Persisted to .harness/shared/context.json"; "Set context value. harness_id: Optional scope to specific harness".
    // "Context value (must be JSON-serializable)": nothing else can be given.
    let project = project();
    let context = open(project.path());
    context.set("api.version", json!(2), None).expect("set");
    context.set("api.version", json!("mine"), Some("web.ui")).expect("set");
    context.set("list", json!([1, { "a": null }]), None).expect("set");
    let text = fs::read_to_string(project.path().join(".harness/shared/context.json")).expect("text");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (&file["api"]["version"], &file["harnesses"]["web.ui"]["api"]["version"]),
        (&json!(2), &json!("mine"))
    );
    assert_eq!(file["_meta"]["version"], 1);
    assert!(file["_meta"]["created_at"].is_string() && file["_meta"]["updated_at"].is_string(), "{text}");
    // "Get context value."
    let other = open(project.path());
    let get = |key: &str, harness: Option<&str>| other.get(key, harness).expect("read");
    assert_eq!(get("api.version", None), Some(json!(2)));
    assert_eq!(get("api.version", Some("web.ui")), Some(json!("mine")));
    assert_eq!(get("api.version", Some("other")), None);
    assert_eq!(get("api", None), Some(json!({ "version": 2 })));
    assert_eq!(get("list", None), Some(json!([1, { "a": null }])));
    assert_eq!(get("missing.key", None), None);
    let gitignore = fs::read_to_string(project.path().join(".harness/.gitignore")).expect("text");
    assert_eq!(gitignore, "*\n");
}

#[test]
fn sync_to_file_and_load_from_file() {
    // "Sync context to .harness/shared/context.json."; "Load context from .harness/shared/context.json."
    let project = project();
    let (one, other) = (open(project.path()), open(project.path()));
    one.set("a", json!(1), None).expect("set");
    other.set("b", json!(2), None).expect("set");
    one.load_from_file().expect("loaded");
    fs::remove_file(project.path().join(".harness/shared/context.json")).expect("removed");
    one.sync_to_file().expect("synced");
    assert_eq!(
        (other.get("a", None).expect("read"), other.get("b", None).expect("read")),
        (Some(json!(1)), Some(json!(2)))
    );
    other.set("a", json!(3), None).expect("set");
    one.sync_to_file().expect("synced");
    assert_eq!(one.get("a", None).expect("read"), Some(json!(3)), "what others wrote is not undone");
}

#[test]
fn publish_and_consume_an_artifact() {
    // "Shared file artifact between harnesses": name, source_harness, path, created_at, "metadata: Dict[str, Any] = field(default_factory=dict)"
    // "Publish artifact for other harnesses. Copies file to .harness/shared/artifacts/{name}"
    let project = project();
    let work = tempfile::tempdir().expect("directory");
    fs::write(work.path().join("file"), "openapi: 3").expect("written");
    let context = open(project.path());
    let metadata = Map::from_iter([("kind".to_owned(), json!("schema"))]);
    let file = ArtifactFile { root: work.path(), path: Path::new("file") };
    let artifact = context.publish_artifact("api.yaml", file, "api", metadata).expect("published");
    assert_eq!(
        (artifact.name.as_str(), artifact.source_harness.as_str(), artifact.bytes),
        ("api.yaml", "api", 10)
    );
    assert_eq!(artifact.sha256, "18a6c0f309ea10bde6927f2036f235b93dd15a56566ec4310870df343abc939c");
    assert_eq!(artifact.origin, work.path().join("file"));
    assert_eq!(artifact.path, project.path().join(".harness/shared/artifacts/api.yaml"));
    let age = jiff::Timestamp::now().duration_since(artifact.created_at);
    assert!(!age.is_negative() && age < jiff::SignedDuration::from_hours(1), "{age}");
    // "Consume artifact published by another harness. Returns path to artifact in shared directory."
    let other = open(project.path());
    let path = other.consume_artifact("api.yaml").expect("consumed");
    assert_eq!(path, project.path().join(".harness/shared/artifacts/api.yaml"));
    assert_eq!(fs::read_to_string(&path).expect("text"), "openapi: 3");
    let registry = fs::read_to_string(path.with_file_name("registry.json")).expect("text");
    let registry: Value = serde_json::from_str(&registry).expect("JSON");
    assert_eq!(
        (&registry["api.yaml"]["metadata"]["kind"], &registry["api.yaml"]["source_harness"]),
        (&json!("schema"), &json!("api"))
    );
    fs::write(work.path().join("file"), "openapi: 4").expect("written");
    let again = publish(&other, work.path(), "api.yaml").expect("published again");
    assert!(again.metadata.is_empty(), "the default");
    let mut written = serde_json::to_value(&again).expect("JSON");
    written.as_object_mut().expect("an object").remove("metadata");
    let read: super::Artifact = serde_json::from_value(written).expect("without it");
    assert_eq!(read, again);
    assert_eq!(context.read_artifact("api.yaml", 100).expect("read").1, Some(b"openapi: 4".to_vec()));
    assert_eq!(context.read_artifact("api.yaml", 3).expect("read").1, None, "it is larger");
    fs::write(&path, "forged").expect("written");
    let said = context.consume_artifact("api.yaml").expect_err("changed").to_string();
    assert_eq!(said, "The artifact 'api.yaml' is not as it was published.");
}

#[test]
fn emit_and_get_events() {
    // "Event in cross-harness communication": timestamp, event_type, harness_id, details; "spawn, progress, complete, fail, instruction"
    // "Emit cross-harness event."; "Get events, optionally since timestamp."
    let project = project();
    let context = open(project.path());
    for number in 0..5 {
        context.emit_event("progress", Some("api"), &json!({ "number": number })).expect("emitted");
    }
    let all = open(project.path()).get_events(None).expect("events");
    assert_eq!(all.len(), 5);
    assert_eq!(
        (all[0].event_type.as_str(), all[0].harness_id.as_deref(), &all[3].details["number"]),
        ("progress", Some("api"), &json!(3))
    );
    let newer = context.get_events(Some(all[2].timestamp)).expect("events");
    assert_eq!(newer, all[3..]);
    // "harness_id: Optional[str]"
    context.emit_event("fleet_ended", None, &json!({})).expect("emitted");
    let last = context.get_events(Some(all[4].timestamp)).expect("events");
    assert_eq!(last.iter().map(|event| event.harness_id.as_deref()).collect::<Vec<_>>(), [None]);
    let all = [all, last].concat();
    assert!(context.get_events(Some(all[5].timestamp)).expect("events").is_empty());
    // A clock that goes back: the last event is from the future.
    let path = project.path().join(".harness/shared/events.jsonl");
    let text = fs::read_to_string(&path).expect("text");
    fs::write(&path, format!("{text}{{\"timestamp\":\"2999-01-01T00:00:00Z\",\"event_type\":\"x\",\"harness_id\":null,\"details\":{{}}}}\nhalf a li"))
        .expect("written");
    let last = context.get_events(None).expect("events").pop().expect("one");
    context.emit_event("complete", None, &Value::Null).expect("emitted");
    let newer = context.get_events(Some(last.timestamp)).expect("events");
    assert_eq!(newer.iter().map(|event| event.event_type.as_str()).collect::<Vec<_>>(), ["complete"]);
}

#[test]
fn a_damaged_context_is_kept_aside_and_nothing_else_is_lost() {
    for content in ["{\"a\": 1", "[1]", "\u{0}\u{1}"] {
        let project = project();
        let work = tempfile::tempdir().expect("directory");
        fs::write(work.path().join("file"), "x").expect("written");
        let context = open(project.path());
        publish(&context, work.path(), "kept").expect("published");
        context.emit_event("spawn", Some("api"), &Value::Null).expect("emitted");
        let shared = project.path().join(".harness/shared");
        fs::write(shared.join("context.json"), content).expect("written");
        assert_eq!(context.get("a", None).expect("read"), None);
        let notices = context.take_notices();
        assert!(
            notices.len() == 1 && notices[0].ends_with("It was kept as context.json.damaged-1."),
            "{notices:?}"
        );
        context.set("b", json!(1), None).expect("set");
        assert_eq!(fs::read_to_string(shared.join("context.json.damaged-1")).expect("text"), content);
        context.consume_artifact("kept").expect("still there");
        let events = context.get_events(None).expect("events");
        assert_eq!(
            events.iter().map(|event| event.event_type.as_str()).collect::<Vec<_>>(),
            ["spawn", "context_damaged"]
        );
        fs::write(shared.join("artifacts/registry.json"), content).expect("written");
        assert!(context.artifacts().expect("none").is_empty());
        assert_eq!(context.take_notices().len(), 1);
        publish(&context, work.path(), "kept").expect("published again");
    }
}

#[test]
fn wrong_input_is_refused_in_a_sentence() {
    let project = project();
    let context = open(project.path());
    for key in ["", ".", "a..b", "a.", "_meta", "_meta.version", "harnesses.api.x", "a\nb", &"x".repeat(201)]
    {
        let error = context.set(key, json!(1), None).expect_err(key);
        assert!(error.to_string().contains("is not a key"), "{error}");
    }
    context.set("a", json!(1), None).expect("set");
    context.set("g.b", json!(1), None).expect("set");
    let said = |key: &str, value: Value| context.set(key, value, None).expect_err(key).to_string();
    assert_eq!(said("a.b", json!(1)), "The key 'a' is a value, so 'a.b' cannot be below it.");
    assert_eq!(said("g", json!(1)), "The key 'g' is a group of values; name one of them.");
    assert_eq!(said("big", json!("x".repeat(MAX_VALUE))), "The value of 'big' is larger than 64 KiB.");
    let half = json!("x".repeat(MAX_VALUE - 100));
    let full = (0..100).find_map(|number| context.set(&format!("k{number}"), half.clone(), None).err());
    assert_eq!(
        full.expect("full").to_string(),
        "The shared context would be larger than 4 MiB; remove values first."
    );
    assert_eq!(context.get("a", None).expect("read"), Some(json!(1)));
    let event = context.emit_event("x", None, &json!("x".repeat(20_000))).expect_err("too large");
    assert_eq!(event.to_string(), "The details of an event may have at most 16 KiB.");
    for name in ["", "registry.json", "../x", ".hidden", "a/b", "a b"] {
        let error = context.consume_artifact(name).expect_err(name);
        assert!(error.to_string().contains("is not the name of an artifact"), "{error}");
    }
    assert_eq!(
        context.consume_artifact("none").expect_err("none").to_string(),
        "There is no artifact 'none'."
    );
}

#[test]
fn an_artifact_that_is_too_large_is_refused_before_it_is_copied() {
    let project = project();
    let work = tempfile::tempdir().expect("directory");
    let file = fs::File::create(work.path().join("file")).expect("a file");
    file.set_len(5 * 1024 * 1024 * 1024).expect("five gigabytes without a block");
    let context = open(project.path());
    let error = publish(&context, work.path(), "big").expect_err("too large").to_string();
    assert!(error.ends_with("/file is larger than 256 MiB, and so cannot be an artifact."), "{error}");
    assert!(!project.path().join(".harness/shared/artifacts").exists(), "nothing was copied");
    file.set_len(MAX_ARTIFACT).expect("the largest");
}

#[test]
fn links_are_not_followed() {
    let user = tempfile::tempdir().expect("directory");
    fs::write(user.path().join("secret"), "the user's").expect("written");
    let project = project();
    let work = tempfile::tempdir().expect("directory");
    symlink(user.path().join("secret"), work.path().join("file")).expect("link");
    let context = open(project.path());
    publish(&context, work.path(), "x").expect_err("a link as the source");
    let shared = project.path().join(".harness/shared");
    symlink(user.path().join("secret"), shared.join("context.json")).expect("link");
    context.set("a", json!(1), None).expect("set");
    assert_eq!(fs::read_to_string(user.path().join("secret")).expect("text"), "the user's");
    fs::remove_dir_all(shared.join("artifacts")).ok();
    symlink(user.path(), shared.join("artifacts")).expect("link");
    fs::remove_file(work.path().join("file")).expect("removed");
    fs::write(work.path().join("file"), "x").expect("written");
    publish(&context, work.path(), "x").expect_err("a link as the directory");
    assert_eq!(fs::read_dir(user.path()).expect("entries").count(), 1);
    let other = self::project();
    symlink(user.path(), other.path().join(".harness")).expect("link");
    assert!(SharedContext::open(other.path()).is_err());
}

#[test]
fn a_publisher_that_was_killed_leaves_a_whole_artifact() {
    let project = project();
    let work = tempfile::tempdir().expect("directory");
    fs::write(work.path().join("file"), "whole").expect("written");
    let context = open(project.path());
    publish(&context, work.path(), "x").expect("published");
    // As after a kill between the registry and the file: the copy is staged, the name is not there yet.
    let artifacts = project.path().join(".harness/shared/artifacts");
    fs::rename(artifacts.join("x"), artifacts.join(".tmp-1-1")).expect("renamed");
    fs::write(artifacts.join(".tmp-2-2"), "half of anoth").expect("written");
    let registry = fs::read_to_string(artifacts.join("registry.json")).expect("text");
    let registry = registry.replace("\"origin\"", "\"staged\": \".tmp-1-1\", \"origin\"");
    fs::write(artifacts.join("registry.json"), registry).expect("written");
    let path = context.consume_artifact("x").expect("finished");
    assert_eq!(fs::read_to_string(path).expect("text"), "whole");
    assert_eq!(fs::read_dir(&artifacts).expect("entries").count(), 2, "the half copy is gone");
}

#[test]
fn sixteen_processes_lose_nothing() {
    let project = project();
    let context = open(project.path());
    context.set("count", json!(0), None).expect("set");
    let worker = example("context_worker");
    let children: Vec<_> = (0..PROCESSES)
        .map(|number| {
            let mut command = Command::new(&worker);
            command.arg(project.path()).args([format!("h{number}"), ROUNDS.to_string()]);
            command.spawn().expect("started")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("ended").success());
    }
    let all = context.all().expect("read");
    let harnesses = all["harnesses"].as_object().expect("harnesses");
    assert_eq!(harnesses.len(), PROCESSES);
    for values in harnesses.values() {
        assert_eq!(values.as_object().expect("values").len(), ROUNDS);
    }
    let events = context.get_events(None).expect("events");
    assert_eq!(events.len(), PROCESSES * ROUNDS);
    assert!(events.windows(2).all(|pair| pair[0].timestamp < pair[1].timestamp), "in order, none twice");
    assert_eq!(context.artifacts().expect("artifacts").len(), PROCESSES);
    assert!(context.take_notices().is_empty());
}
