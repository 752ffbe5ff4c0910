//! Trust: a repository's configuration is untrusted until the user has approved its exact content.

use std::io;
use std::path::Path;

use autonoe_core::duration::format as format_duration;
use autonoe_core::fault::Fault;
use autonoe_files::{SETTINGS_LIMIT, read_bytes, read_text};
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::config::{AgentConfig, HookEntry};
use crate::hash::sha256_hex;
use crate::project::Project;

/// Bytes; a larger file that a hook runs is shown as too large.
const HOOK_FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// What is said of a hook whose command does not tell what it runs.
const NOT_COVERED: &str = " - what it runs cannot be known from its command, so your approval does not cover it; name its script by a \
                           literal path in .autonoe/, as in: sh .autonoe/check.sh";

/// Permissions that a project's configuration adds, and whether the user has approved exactly these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widening {
    /// One line per added permission.
    pub lines: Vec<String>,
    hash: String,
    source: WideningSource,
}

/// What is approved separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WideningSource {
    AgentConfig,
    /// Files of other tools.
    Offered,
}

/// Hashes of what the user has approved.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct TrustRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_json: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offered: Option<String>,
}

impl TrustRecord {
    /// An unreadable record approves nothing.
    fn read(project: &Project) -> Self {
        let text = read_text(&project.trust_file(), SETTINGS_LIMIT).ok().flatten();
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn of(&mut self, source: WideningSource) -> &mut Option<String> {
        match source {
            WideningSource::AgentConfig => &mut self.agent_json,
            WideningSource::Offered => &mut self.offered,
        }
    }
}

impl Widening {
    /// `None` if the configuration only narrows what agents may do.
    ///
    /// The files that hooks run are part of it: a changed script has to be approved again.
    pub fn of(config: &AgentConfig, project: &Project) -> Option<Self> {
        let mut lines = Vec::new();
        let mut add = |what: &str, entries: &[String]| {
            lines.extend(entries.iter().map(|entry| format!("{what}: {entry}")));
        };
        add("command in run and sync", &config.allow_commands.base);
        add("command in run", &config.allow_commands.run);
        add("command in sync", &config.allow_commands.sync);
        add("process that pkill may end", &config.allow_pkill_targets);
        add("permission", &config.permissions.allow);
        add("tool", &config.allowed_tools);
        let servers = config.mcp_servers.iter().flatten();
        lines.extend(servers.map(|(name, server)| format!("MCP server {name}: {server}")));
        lines.extend(hooks(config, project));
        Self::from_lines(&lines, WideningSource::AgentConfig)
    }

    /// What files of other tools would add, one line each; `None` if that is nothing.
    pub fn offered(lines: Vec<String>) -> Option<Self> {
        Self::from_lines(&lines, WideningSource::Offered)
    }

    fn from_lines(lines: &[String], source: WideningSource) -> Option<Self> {
        let lines: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
        let hash = sha256_hex(lines.join("\n").as_bytes());
        (!lines.is_empty()).then_some(Self { lines, hash, source })
    }

    /// Whether the user has approved exactly this.
    pub fn is_trusted(&self, project: &Project) -> bool {
        TrustRecord::read(project).of(self.source).as_ref() == Some(&self.hash)
    }

    /// Records that the user approves exactly this.
    pub fn trust(&self, project: &Project) -> Result<(), Fault> {
        let mut decision = TrustRecord::read(project);
        *decision.of(self.source) = Some(self.hash.clone());
        let write = || -> io::Result<()> {
            atomic::write(&project.trust_file(), serde_json::to_string(&decision)?.as_bytes())
        };
        write().map_err(|error| {
            atomic::write_fault("trust", &project.trust_file(), &error, "Then approve it again.")
        })
    }
}

/// One line for each command of a hook. Built-in hooks are on in any case.
fn hooks(config: &AgentConfig, project: &Project) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in &config.hooks.pre_tool_use {
        let HookEntry::Commands(group) = entry else { continue };
        let tools = if matches!(group.matcher.trim(), "" | "*") { "every tool" } else { &group.matcher };
        for hook in &group.hooks {
            let limit = format_duration(hook.timeout);
            let read = hook.read(project.root());
            let files: Vec<String> = read.files.iter().map(|file| described(&file.path, project)).collect();
            let limits = if read.is_complete { "" } else { NOT_COVERED };
            let files = files.concat();
            lines.push(format!("hook before {tools}: {} (at most {limit}){files}{limits}", hook.command));
        }
    }
    lines
}

fn described(file: &Path, project: &Project) -> String {
    let shown = file.strip_prefix(project.root()).unwrap_or(file).display();
    match read_bytes(file, HOOK_FILE_LIMIT) {
        Ok(Some(bytes)) => format!(" [{shown}: sha256 {}]", sha256_hex(&bytes)),
        Ok(None) => format!(" [{shown}: missing]"),
        Err(error) => format!(" [{shown}: {error}]"),
    }
}

/// Escapes characters that move the cursor, delete text or are invisible, so that nothing can hide in a line.
fn escaped(line: &str) -> String {
    let escape = |character: char| match character {
        '\'' | '"' => character.to_string(),
        _ => character.escape_debug().to_string(),
    };
    line.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::Widening;
    use crate::config::AgentConfig;
    use crate::project::Project;

    fn widening(text: &str) -> Option<Widening> {
        let home = tempfile::TempDir::new().expect("temporary directory");
        let project = Project::open(home.path(), &home.path().join("state")).expect("project");
        widening_in(&project, text)
    }

    fn widening_in(project: &Project, text: &str) -> Option<Widening> {
        Widening::of(&AgentConfig::parse(text).expect("valid"), project)
    }

    #[test]
    fn a_hook_is_shown_with_tools_and_command_and_its_script_is_part_of_the_approval() {
        let home = tempfile::TempDir::new().expect("temporary directory");
        let project = Project::open(home.path(), &home.path().join("state")).expect("project");
        let text = r#"{"hooks": {"PreToolUse": ["BashSecurity",
            {"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "./check.sh", "timeout": 10}]}]}}"#;
        std::fs::write(project.root().join("check.sh"), "exit 0").expect("written");
        let first = widening_in(&project, text).expect("it widens");
        assert_eq!(first.lines.len(), 1, "{:?}", first.lines);
        assert!(
            first.lines[0].starts_with("hook before Bash|Edit: ./check.sh (at most 10s) [check.sh: sha256 ")
        );
        first.trust(&project).expect("written");
        assert!(widening_in(&project, text).expect("it widens").is_trusted(&project));
        std::fs::write(project.root().join("check.sh"), "exit 1").expect("written");
        assert!(!widening_in(&project, text).expect("it widens").is_trusted(&project), "another script");
        assert_eq!(widening(r#"{"hooks": {"PreToolUse": ["BashSecurity"]}}"#), None, "it is on in any case");
    }

    #[test]
    fn a_script_is_part_of_the_approval_however_the_command_names_it() {
        let home = tempfile::TempDir::new().expect("temporary directory");
        let project = Project::open(home.path(), &home.path().join("state")).expect("project");
        let script = project.root().join("tools/h.sh");
        std::fs::create_dir(project.root().join("tools")).expect("made");
        for command in ["cd tools && ./h.sh", "sh $(pwd)/tools/h.sh", "D=tools; sh $D/h.sh", "sh tools/h.*"] {
            let hook = serde_json::json!({ "hooks": [{ "type": "command", "command": command }] });
            let text = serde_json::json!({ "hooks": { "PreToolUse": [hook] } }).to_string();
            std::fs::write(&script, "exit 0").expect("written");
            widening_in(&project, &text).expect("it widens").trust(&project).expect("written");
            std::fs::write(&script, "exit 1").expect("written");
            assert!(!widening_in(&project, &text).expect("it widens").is_trusted(&project), "{command}");
        }
    }

    #[test]
    fn a_hook_that_may_run_other_files_is_shown_as_not_covered() {
        let home = tempfile::TempDir::new().expect("temporary directory");
        let project = Project::open(home.path(), &home.path().join("state")).expect("project");
        std::fs::write(project.root().join("h.sh"), "exit 0").expect("written");
        for (command, is_covered) in [("sh h.sh", true), ("sh $(cat name)", false), ("node h", false)] {
            let hook = serde_json::json!({ "hooks": [{ "type": "command", "command": command }] });
            let text = serde_json::json!({ "hooks": { "PreToolUse": [hook] } }).to_string();
            let lines = widening_in(&project, &text).expect("it widens").lines;
            assert_eq!(!lines[0].contains("your approval does not cover it"), is_covered, "{lines:?}");
        }
    }

    #[test]
    fn a_configuration_that_only_narrows_needs_no_trust() {
        assert_eq!(widening("{}"), None);
        assert_eq!(widening(r#"{"profile": "node", "mcpServers": {}, "allowCommands": []}"#), None);
    }

    #[test]
    fn every_added_permission_is_listed() {
        let widening = widening(
            r#"{"allowCommands": {"base": ["a"], "run": ["b"], "sync": ["c"]}, "allowPkillTargets": ["d"],
                "permissions": {"allow": ["e"]}, "allowedTools": ["f"], "mcpServers": {"g": {"command": "i"}},
                "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "h"}]}]}}"#,
        );
        let lines = widening.expect("it widens").lines;
        assert_eq!(lines.len(), 8, "{lines:?}");
        for (line, part) in lines.iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"]) {
            assert!(line.contains(part), "{line} names {part}");
        }
        assert!(lines[6].contains("\"command\":\"i\""), "an MCP server is shown with its command");
    }

    #[test]
    fn a_rule_cannot_hide_from_the_user() {
        let widening =
            widening(r#"{"permissions": {"allow": ["Read(./**)\n\u001b[1A\u202ex", "Bash(echo 'é')"]}}"#);
        let lines = widening.expect("it widens").lines;
        assert_eq!(lines, ["permission: Read(./**)\\n\\u{1b}[1A\\u{202e}x", "permission: Bash(echo 'é')"]);
    }

    #[test]
    fn offers_are_approved_apart_from_the_configuration() {
        let home = tempfile::TempDir::new().expect("temporary directory");
        let project = Project::open(home.path(), &home.path().join("state")).expect("project");
        let docker = widening(r#"{"allowCommands": ["docker"]}"#).expect("it widens");
        let offered = Widening::offered(docker.lines.clone()).expect("an offer");
        docker.trust(&project).expect("written");
        assert!(!offered.is_trusted(&project), "the same text from elsewhere");
        offered.trust(&project).expect("written");
        assert!(offered.is_trusted(&project) && docker.is_trusted(&project), "each is kept");
        assert_eq!(Widening::offered(Vec::new()), None);
    }

    #[test]
    fn trust_is_for_exactly_this_and_for_this_project() {
        let home = tempfile::TempDir::new().expect("temporary directory");
        let project = |name: &str| {
            std::fs::create_dir_all(home.path().join(name)).expect("made");
            Project::open(&home.path().join(name), &home.path().join("state")).expect("project")
        };
        let (here, there) = (project("here"), project("there"));
        let docker = widening(r#"{"allowCommands": ["docker"]}"#).expect("it widens");
        assert!(!docker.is_trusted(&here));
        docker.trust(&here).expect("written");
        assert!(docker.is_trusted(&here) && !docker.is_trusted(&there));
        let narrower = widening(r#"{"profile": "go", "allowCommands": ["docker"]}"#).expect("it widens");
        assert!(narrower.is_trusted(&here), "narrowing needs no approval");
        let wider = widening(r#"{"allowCommands": ["docker", "ssh"]}"#).expect("it widens");
        assert!(!wider.is_trusted(&here), "a change needs a new approval");
    }
}
