//! MCP servers that a repository configures for other tools. They are programs and addresses, so they are only offered: a run uses them
//! once the user has approved exactly these (`autonoe trust`).

use std::collections::BTreeMap;
use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_text};
use autonoe_mcp::ServerConfig;
use autonoe_store::config::AgentConfig;
use autonoe_store::{Project, Widening};
use serde_json::{Map, Value};

/// The files in which other tools look, in the order in which they are used.
const FILES: [(&str, OtherTool); 4] = [
    (".mcp.json", OtherTool::Common),
    (".cursor/mcp.json", OtherTool::Common),
    (".gemini/settings.json", OtherTool::Gemini),
    (".codex/config.toml", OtherTool::Codex),
];

/// The deliverable tools have this name.
const RESERVED: &str = "autonoe";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherTool {
    /// The format of Claude Code, which others share.
    Common,
    Gemini,
    Codex,
}

/// What the files of other tools offer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfferedServers {
    /// By name: the file and the server in the format of `agent.json`.
    pub servers: BTreeMap<String, (&'static str, Value)>,
    /// One sentence for each that cannot be used.
    pub problems: Vec<String>,
}

impl OfferedServers {
    pub fn find(project: &Project) -> Self {
        let mut offered = Self::default();
        for (file, tool) in FILES {
            offered.add_file(project.root(), file, tool);
        }
        offered
    }

    fn add_file(&mut self, root: &Path, file: &'static str, tool: OtherTool) {
        let text = match read_text(&root.join(file), SETTINGS_LIMIT) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(error) => return self.problems.push(format!("{file} cannot be read: {error}")),
        };
        let servers = match tool {
            OtherTool::Common | OtherTool::Gemini => serde_json::from_str(&text)
                .map(|document: Value| document["mcpServers"].clone())
                .map_err(|error| error.to_string()),
            OtherTool::Codex => text
                .parse::<toml::Table>()
                .map(|document| {
                    document.get("mcp_servers").and_then(|servers| serde_json::to_value(servers).ok())
                })
                .map(Option::unwrap_or_default)
                .map_err(|error| error.message().to_owned()),
        };
        match servers {
            Ok(Value::Object(servers)) => {
                for (name, value) in servers {
                    self.add_server(file, tool, &name, value);
                }
            }
            Ok(_) => {}
            Err(error) => self.problems.push(format!("{file} cannot be read: {error}")),
        }
    }

    fn add_server(&mut self, file: &'static str, tool: OtherTool, name: &str, value: Value) {
        let Some(value) = translated(tool, value) else { return };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let problem = if name.is_empty() || !name.chars().all(is_plain) || name == RESERVED {
            Some("its name cannot be used".to_owned())
        } else {
            let parsed = ServerConfig::parse(name, &value);
            parsed.err().map(|error| error.to_string().trim_end_matches('.').to_owned())
        };
        match problem {
            Some(problem) => {
                self.problems.push(format!("MCP server {} of {file}: {problem}", name.escape_debug()));
            }
            None => {
                self.servers.entry(name.to_owned()).or_insert((file, value));
            }
        }
    }

    /// What the user is asked to approve; `None` if there is nothing.
    pub fn widening(&self) -> Option<Widening> {
        let lines =
            self.servers.iter().map(|(name, (file, value))| format!("MCP server {name} ({file}): {value}"));
        Widening::offered(lines.collect())
    }
}

/// The project's configuration with the offered servers that the user has approved. Those of `agent.json` come first, and if it wants none
/// at all, there are none.
pub fn with_approved_servers(config: &AgentConfig, project: &Project) -> AgentConfig {
    let mut config = config.clone();
    if config.mcp_servers.as_ref().is_some_and(BTreeMap::is_empty) {
        return config;
    }
    let offered = OfferedServers::find(project);
    if offered.widening().is_some_and(|widening| widening.is_trusted(project)) {
        let servers = config.mcp_servers.get_or_insert_default();
        for (name, (_, value)) in offered.servers {
            servers.entry(name).or_insert(value);
        }
    }
    config
}

/// In the format of `agent.json`; `None` if it is switched off.
fn translated(tool: OtherTool, value: Value) -> Option<Value> {
    let Value::Object(mut server) = value else { return Some(value) };
    match tool {
        OtherTool::Common => {}
        OtherTool::Gemini => {
            // Whether its own questions are skipped, and text for people.
            server.remove("trust");
            server.remove("description");
            rename(&mut server, "httpUrl", "url");
        }
        OtherTool::Codex => {
            if server.remove("enabled") == Some(Value::Bool(false)) {
                return None;
            }
            server.remove("startup_timeout_sec");
            rename(&mut server, "http_headers", "headers");
            if let Some(seconds) = server.remove("tool_timeout_sec").and_then(|seconds| seconds.as_u64()) {
                server.insert("timeout".to_owned(), Value::from(seconds.saturating_mul(1000)));
            }
        }
    }
    match server.get("type").and_then(Value::as_str) {
        Some("streamable-http" | "streamableHttp") => {
            server.insert("type".to_owned(), Value::from("http"));
        }
        None if server.contains_key("url") => {
            server.insert("type".to_owned(), Value::from("http"));
        }
        Some(_) | None => {}
    }
    Some(Value::Object(server))
}

fn rename(server: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = server.remove(from) {
        server.insert(to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use autonoe_store::Project;
    use autonoe_store::config::AgentConfig;
    use serde_json::json;

    use super::{OfferedServers, with_approved_servers};

    struct OfferProject {
        project: Project,
        _directory: tempfile::TempDir,
    }

    fn project(files: &[(&str, &str)]) -> OfferProject {
        let directory = tempfile::tempdir().expect("directory");
        let root = directory.path().join("project");
        for (name, content) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            fs::write(path, content).expect("written");
        }
        let project = Project::open(&root, &directory.path().join("state")).expect("project");
        OfferProject { project, _directory: directory }
    }

    #[test]
    fn the_files_of_every_tool_are_read() {
        let here = project(&[
            (
                ".mcp.json",
                r#"{"mcpServers": {"a": {"command": "a-mcp"}, "b": {"type": "http", "url": "https://b.example"}}}"#,
            ),
            (
                ".cursor/mcp.json",
                r#"{"mcpServers": {"a": {"command": "other"}, "c": {"url": "https://c.example"}}}"#,
            ),
            (
                ".gemini/settings.json",
                r#"{"mcpServers": {"d": {"httpUrl": "https://d.example", "trust": true}}}"#,
            ),
            (
                ".codex/config.toml",
                "[mcp_servers.e]\ncommand = \"e\"\ntool_timeout_sec = 5\n[mcp_servers.f]\ncommand = \"f\"\nenabled = false\n",
            ),
        ]);
        let offered = OfferedServers::find(&here.project);
        assert_eq!(offered.problems, Vec::<String>::new());
        let found: Vec<_> = offered
            .servers
            .iter()
            .map(|(name, (file, value))| (name.as_str(), *file, value.clone()))
            .collect();
        assert_eq!(
            found,
            [
                ("a", ".mcp.json", json!({ "command": "a-mcp" })),
                ("b", ".mcp.json", json!({ "type": "http", "url": "https://b.example" })),
                ("c", ".cursor/mcp.json", json!({ "url": "https://c.example", "type": "http" })),
                ("d", ".gemini/settings.json", json!({ "url": "https://d.example", "type": "http" })),
                ("e", ".codex/config.toml", json!({ "command": "e", "timeout": 5000 })),
            ]
        );
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let here = project(&[
            (
                ".mcp.json",
                r#"{"mcpServers": {"autonoe": {"command": "x"}, "x y": {"command": "x"}, "old": {"type": "sse", "url": "https://x"},
                    "secret": {"command": "x", "env": {"TOKEN": "${TOKEN}"}}, "fine": {"command": "x"}}}"#,
            ),
            (".gemini/settings.json", "not JSON"),
            (".codex/config.toml", "not TOML"),
        ]);
        let OfferedServers { servers, problems } = OfferedServers::find(&here.project);
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["fine"]);
        for part in [
            "autonoe of .mcp.json: its name cannot be used",
            "x y of .mcp.json: its name",
            "\"stdio\" and \"http\"",
            "`env.TOKEN` contains ${…}",
            ".gemini/settings.json cannot be read",
            ".codex/config.toml cannot be read",
        ] {
            assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:#?}");
        }
        assert_eq!(OfferedServers::find(&project(&[("x", "")]).project), OfferedServers::default());
    }

    #[test]
    fn only_approved_servers_are_used_and_agent_json_comes_first() {
        let file = r#"{"mcpServers": {"a": {"command": "offered"}, "b": {"command": "b"}}}"#;
        let here = project(&[
            (".mcp.json", file),
            (".autonoe/agent.json", r#"{"mcpServers": {"a": {"command": "own"}}}"#),
        ]);
        let config = AgentConfig::load(&here.project).expect("valid");
        assert_eq!(with_approved_servers(&config, &here.project), config);
        let widening = OfferedServers::find(&here.project).widening().expect("an offer");
        widening.trust(&here.project).expect("written");
        let servers = with_approved_servers(&config, &here.project).mcp_servers.expect("servers");
        assert_eq!((&servers["a"]["command"], &servers["b"]["command"]), (&json!("own"), &json!("b")));
        let none = AgentConfig { mcp_servers: Some(Default::default()), ..AgentConfig::default() };
        assert_eq!(with_approved_servers(&none, &here.project), none, "it wants none");
        fs::write(here.project.root().join(".mcp.json"), file.replace("offered", "changed"))
            .expect("written");
        assert_eq!(with_approved_servers(&config, &here.project), config, "a change needs a new approval");
    }
}
