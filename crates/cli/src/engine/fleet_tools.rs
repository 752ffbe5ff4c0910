//! The tools with which an agent reaches the context of its fleet. It sees nothing else of other harnesses.

use std::path::{Component, Path, PathBuf};

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_deliverables::{CallResult, SharedTools};
use autonoe_files::show_bytes;
use autonoe_fleet::{ArtifactFile, SharedContext, SharedContextError};
use autonoe_tools::ToolSpec;
use serde_json::{Map, Value, json};

/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

pub struct FleetTools {
    context: SharedContext,
    harness: String,
    /// The project as agents see it.
    work_root: PathBuf,
}

impl FleetTools {
    pub fn open(fleet: &Path, harness: &str, work_root: &Path) -> Result<Self, Fault> {
        let context = SharedContext::open(fleet)
            .map_err(|error| Fault::permanent(FaultLayer::System, "shared_context", error.to_string()))?;
        Ok(Self { context, harness: harness.to_owned(), work_root: work_root.to_owned() })
    }

    fn answer(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let text = |name: &str| arguments[name].as_str().map(str::trim).filter(|text| !text.is_empty());
        let needed = |name: &str| text(name).ok_or_else(|| format!("`{name}` is missing."));
        let said = |error: SharedContextError| error.to_string();
        match tool {
            "context_get" => match text("key") {
                Some(key) => {
                    let value = self.context.get(key, text("harness")).map_err(said)?;
                    Ok(json!({ "key": key, "value": value }))
                }
                None => self.overview().map_err(said),
            },
            "context_set" => {
                let key = needed("key")?;
                let value = arguments.get("value").cloned().ok_or("`value` is missing.")?;
                let harness = match text("scope").unwrap_or("fleet") {
                    "fleet" => None,
                    "own" => Some(self.harness.as_str()),
                    other => return Err(format!("The scope is `fleet` or `own`, not `{other}`.")),
                };
                self.context.set(key, value, harness).map_err(said)?;
                Ok(json!({ "success": true, "message": format!("{key} is set.") }))
            }
            "artifact_publish" => {
                let (name, path) = (needed("name")?, relative(needed("path")?)?);
                let metadata = arguments["metadata"].as_object().cloned().unwrap_or_default();
                let file = ArtifactFile { root: &self.work_root, path: &path };
                let artifact =
                    self.context.publish_artifact(name, file, &self.harness, metadata).map_err(said)?;
                let details = json!({ "artifact": name, "sha256": artifact.sha256 });
                self.context.emit_event("artifact", Some(&self.harness), &details).map_err(said)?;
                let message = format!("{name} is published ({}).", show_bytes(artifact.bytes));
                Ok(json!({ "success": true, "message": message, "sha256": artifact.sha256 }))
            }
            "artifact_consume" => self.consume(needed("name")?),
            other => Err(format!("There is no tool {other}.")),
        }
    }

    fn consume(&self, name: &str) -> Result<Value, String> {
        let (artifact, content) =
            self.context.read_artifact(name, MAX_ANSWER as u64).map_err(|error| error.to_string())?;
        let content = content.ok_or_else(|| {
            format!("{name} is larger than {}, the most that agents can read.", show_bytes(MAX_ANSWER as u64))
        })?;
        let content = String::from_utf8(content).map_err(|_| format!("{name} is not UTF-8 text."))?;
        Ok(json!({
            "name": artifact.name,
            "source_harness": artifact.source_harness,
            "sha256": artifact.sha256,
            "metadata": artifact.metadata,
            "content": content,
        }))
    }

    /// All values, or only their names if they are too many, and the names of artifacts.
    fn overview(&self) -> Result<Value, SharedContextError> {
        let all = self.context.all()?;
        let artifacts: Vec<Value> = self
            .context
            .artifacts()?
            .iter()
            .map(|artifact| json!({ "name": artifact.name, "source_harness": artifact.source_harness, "bytes": artifact.bytes }))
            .collect();
        let is_short = all.to_string().len() <= MAX_ANSWER / 2;
        let keys: Vec<String> = all.as_object().map(Map::keys).into_iter().flatten().cloned().collect();
        Ok(match is_short {
            true => json!({ "context": all, "artifacts": artifacts }),
            false => json!({ "keys": keys, "artifacts": artifacts }),
        })
    }
}

impl SharedTools for FleetTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let text = |description: &str| json!({ "type": "string", "description": description });
        let key = text("Names joined by dots, such as `api.version`");
        let name = text("Name of the artifact: letters, digits, `-`, `_` and `.`");
        let spec =
            |name: &str, description: &str, read_only: bool, properties: Value, required: &[&str]| ToolSpec {
                name: name.to_owned(),
                description: description.to_owned(),
                input_schema: json!({ "type": "object", "properties": properties, "required": required }),
                read_only,
            };
        vec![
            spec(
                "context_get",
                "Reads a value that the harnesses of this fleet share. Without a key: all values, and the names of artifacts.",
                true,
                json!({ "key": key, "harness": text("Id of a harness, for a value of its own [default: those of the whole fleet]") }),
                &[],
            ),
            spec(
                "context_set",
                "Shares a value with the other harnesses of this fleet: a fact or a decision, not a message.",
                false,
                json!({ "key": key, "value": { "description": "Any JSON value of at most 64 KiB" },
                        "scope": { "type": "string", "enum": ["fleet", "own"], "description": "`own` keeps it below the id of this harness [default: fleet]" } }),
                &["key", "value"],
            ),
            spec(
                "artifact_publish",
                "Publishes a file of the project for the other harnesses of this fleet.",
                false,
                json!({ "name": name, "path": text("Path of the file, relative to the project"),
                        "metadata": { "type": "object", "description": "What others should know about it" } }),
                &["name", "path"],
            ),
            spec(
                "artifact_consume",
                "Reads a text file of at most 256 KiB that another harness of this fleet has published.",
                true,
                json!({ "name": name }),
                &["name"],
            ),
        ]
    }

    fn call(&self, tool: &str, arguments: &Value) -> CallResult {
        match self.answer(tool, arguments) {
            Ok(value) if value.to_string().len() <= MAX_ANSWER + 64 * 1024 => {
                CallResult { content: value.to_string(), is_error: false }
            }
            Ok(_) => refused("The answer is too large; ask for a single value."),
            Err(why) => refused(&why),
        }
    }
}

fn refused(why: &str) -> CallResult {
    let content = json!({ "success": false, "message": why, "error": "SHARED_CONTEXT" }).to_string();
    CallResult { content, is_error: true }
}

/// A path below the project.
fn relative(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    match path.components().all(is_plain) {
        true => Ok(path),
        false => Err(format!("{} is not a path below the project; write it relative to it.", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use autonoe_deliverables::SharedTools;
    use serde_json::{Value, json};

    use super::FleetTools;

    #[test]
    fn agents_share_values_and_files_and_nothing_else() {
        let (fleet, work) =
            (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
        fs::write(work.path().join("api.yaml"), "openapi: 3").expect("written");
        fs::write(work.path().join("large"), "x".repeat(300 * 1024)).expect("written");
        fs::write(work.path().join("binary"), [0xff, 0xfe]).expect("written");
        let tools = |id: &str| FleetTools::open(fleet.path(), id, work.path()).expect("opened");
        let (api, web) = (tools("api"), tools("web"));
        let call = |tools: &FleetTools, tool: &str, arguments: Value| {
            let answer = tools.call(tool, &arguments);
            (answer.is_error, serde_json::from_str::<Value>(&answer.content).expect("JSON"))
        };
        assert!(!call(&api, "context_set", json!({ "key": "api.port", "value": 8080 })).0);
        assert!(!call(&api, "context_set", json!({ "key": "note", "value": "mine", "scope": "own" })).0);
        assert_eq!(call(&web, "context_get", json!({ "key": "api.port" })).1["value"], 8080);
        assert_eq!(call(&web, "context_get", json!({ "key": "note" })).1["value"], Value::Null);
        assert_eq!(call(&web, "context_get", json!({ "key": "note", "harness": "api" })).1["value"], "mine");
        for (name, path) in [("api.yaml", "api.yaml"), ("large", "./large"), ("binary", "binary")] {
            let (is_error, said) = call(&api, "artifact_publish", json!({ "name": name, "path": path }));
            assert!(!is_error, "{said}");
        }
        assert_eq!(call(&web, "artifact_consume", json!({ "name": "api.yaml" })).1["content"], "openapi: 3");
        let overview = call(&web, "context_get", json!({})).1;
        assert_eq!(
            (&overview["context"]["api"]["port"], overview["artifacts"].as_array().map(Vec::len)),
            (&json!(8080), Some(3))
        );
        let refused = |tool: &str, arguments: Value| {
            let (is_error, said) = call(&web, tool, arguments);
            assert!(is_error, "{said}");
            said["message"].as_str().expect("a sentence").to_owned()
        };
        assert_eq!(
            refused("artifact_consume", json!({ "name": "large" })),
            "large is larger than 256 KiB, the most that agents can read."
        );
        assert_eq!(refused("artifact_consume", json!({ "name": "binary" })), "binary is not UTF-8 text.");
        assert_eq!(refused("context_set", json!({ "key": "x" })), "`value` is missing.");
        assert_eq!(
            refused("context_set", json!({ "key": "x", "value": 1, "scope": "api" })),
            "The scope is `fleet` or `own`, not `api`."
        );
        for path in ["/etc/passwd", "../x"] {
            assert!(
                refused("artifact_publish", json!({ "name": "x", "path": path }))
                    .contains("is not a path below the project")
            );
        }
        std::os::unix::fs::symlink("/etc/hostname", work.path().join("link")).expect("link");
        assert!(
            refused("artifact_publish", json!({ "name": "x", "path": "link" })).contains("symbolic link")
        );
    }
}
