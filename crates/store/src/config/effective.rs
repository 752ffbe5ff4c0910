//! The effective configuration: the security baseline, which no file can remove, plus what the project adds
//! (seed 002 §5.4, §9.3).

use std::collections::BTreeMap;

use autonoe_core::mode::Mode;
use autonoe_core::profile::Profile;
use serde_json::{Value, json};

use super::agent_config::AgentConfig;
use super::hooks::{BuiltInHook, HookEntry};

const PERMISSIONS: [&str; 6] =
    ["Read(./**)", "Write(./**)", "Edit(./**)", "Glob(./**)", "Grep(./**)", "Bash(*)"];
const TOOLS: [&str; 10] =
    ["Read", "Write", "Edit", "Glob", "Grep", "Bash", "BashOutput", "KillShell", "TodoWrite", "Skill"];
/// Tools in `run` only. `WebFetch` is useless without a permission rule that names an address.
const RUN_TOOLS: [&str; 4] = ["MultiEdit", "NotebookEdit", "WebFetch", "Task"];
/// Tools of the built-in browser, in `run` only.
const BROWSER_TOOLS: &str = "mcp__playwright__*";

#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveConfig {
    pub profiles: Vec<Profile>,
    /// In addition to those of the profiles.
    pub commands: Vec<String>,
    /// In addition to those of the profiles.
    pub pkill_targets: Vec<String>,
    /// The baseline first.
    pub permissions: Vec<String>,
    /// The baseline first.
    pub tools: Vec<String>,
    /// Hooks before tool calls, the baseline first.
    pub hooks: Vec<HookEntry>,
    pub mcp_servers: BTreeMap<String, Value>,
}

impl AgentConfig {
    pub fn effective(&self, mode: Mode) -> EffectiveConfig {
        let extra = match mode {
            Mode::Run => &self.allow_commands.run,
            Mode::Sync => &self.allow_commands.sync,
        };
        EffectiveConfig {
            profiles: Profile::active(&self.profile),
            commands: merge(&[], self.allow_commands.base.iter().chain(extra)),
            pkill_targets: self.allow_pkill_targets.clone(),
            permissions: merge(&PERMISSIONS, &self.permissions.allow),
            tools: self.tools(mode),
            hooks: merge_hooks(&self.hooks.pre_tool_use),
            mcp_servers: servers(self.mcp_servers.as_ref(), mode),
        }
    }

    fn tools(&self, mode: Mode) -> Vec<String> {
        match mode {
            Mode::Run => merge(&[&TOOLS[..], &RUN_TOOLS, &[BROWSER_TOOLS]].concat(), &self.allowed_tools),
            Mode::Sync => merge(&TOOLS, &self.allowed_tools),
        }
    }
}

/// The baseline, then additions, without duplicates.
fn merge<'a>(baseline: &[&str], added: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut merged: Vec<String> = baseline.iter().map(|&entry| entry.to_owned()).collect();
    for entry in added {
        if !merged.contains(entry) {
            merged.push(entry.clone());
        }
    }
    merged
}

fn merge_hooks(added: &[HookEntry]) -> Vec<HookEntry> {
    let mut merged: Vec<HookEntry> = BuiltInHook::ALL.map(HookEntry::BuiltIn).to_vec();
    for entry in added {
        if !merged.contains(entry) {
            merged.push(entry.clone());
        }
    }
    merged
}

/// The built-in browser, unless the project overrides it; an empty object means no servers at all.
fn servers(named: Option<&BTreeMap<String, Value>>, mode: Mode) -> BTreeMap<String, Value> {
    let browser = json!({ "command": "npx", "args": ["@playwright/mcp@latest", "--headless", "--isolated"] });
    let mut servers = BTreeMap::new();
    if mode == Mode::Run && named.is_none_or(|named| !named.is_empty()) {
        servers.insert("playwright".to_owned(), browser);
    }
    servers.extend(named.into_iter().flatten().map(|(name, server)| (name.clone(), server.clone())));
    servers
}

#[cfg(test)]
mod tests {
    use super::super::{AgentConfig, BuiltInHook, HookEntry};
    use super::EffectiveConfig;
    use autonoe_core::mode::Mode;

    fn run(text: &str) -> EffectiveConfig {
        AgentConfig::parse(text).expect("valid").effective(Mode::Run)
    }

    fn sync(text: &str) -> EffectiveConfig {
        AgentConfig::parse(text).expect("valid").effective(Mode::Sync)
    }

    #[test]
    fn seed_002_9_3_custom_permissions_merge_with_the_baseline() {
        let rule = "WebFetch(https://api.example.com/*)";
        let config = run(&format!(r#"{{"permissions": {{"allow": ["{rule}", "Read(./**)"]}}}}"#));
        assert_eq!(
            config.permissions.len(),
            super::PERMISSIONS.len() + 1,
            "each once: {:?}",
            config.permissions
        );
        assert_eq!(config.permissions[0], "Read(./**)", "the baseline comes first");
        assert_eq!(config.permissions.last().map(String::as_str), Some(rule));
        assert_eq!(
            run(r#"{"allowedTools": ["WebSearch", "Bash"]}"#).tools.last().map(String::as_str),
            Some("WebSearch")
        );
    }

    #[test]
    fn seed_002_9_3_custom_hooks_merge_with_the_baseline() {
        let mine = r#"{"hooks": [{"type": "command", "command": "mine"}]}"#;
        let hooks = run(&format!(r#"{{"hooks": {{"PreToolUse": [{mine}, "BashSecurity", {mine}]}}}}"#)).hooks;
        let built_in = [BuiltInHook::BashSecurity, BuiltInHook::AutonoeProtection].map(HookEntry::BuiltIn);
        assert_eq!(hooks[..2], built_in);
        assert!(matches!(&hooks[2..], [HookEntry::Commands(group)] if group.hooks[0].command == "mine"));
    }

    #[test]
    fn seed_002_9_3_custom_mcp_servers_have_user_priority() {
        let names = |text: &str| run(text).mcp_servers.into_keys().collect::<Vec<_>>();
        assert_eq!(names("{}"), ["playwright"], "undefined: the built-in one");
        assert_eq!(names(r#"{"mcpServers": {}}"#), Vec::<String>::new(), "empty: none");
        assert_eq!(names(r#"{"mcpServers": {"custom": {"command": "x"}}}"#), ["custom", "playwright"]);
        let overridden = run(r#"{"mcpServers": {"playwright": {"command": "mine"}}}"#);
        assert_eq!(overridden.mcp_servers["playwright"]["command"], "mine");
    }

    #[test]
    fn seed_002_9_3_custom_allow_commands_merge_with_the_profiles() {
        let text =
            r#"{"profile": "node", "allowCommands": {"base": ["a"], "run": ["b", "a"], "sync": ["c"]}}"#;
        assert_eq!(
            (run(text).commands, sync(text).commands),
            (vec!["a".into(), "b".into()], vec!["a".into(), "c".into()])
        );
        let list = r#"{"allowCommands": ["docker"]}"#;
        assert_eq!((run(list).commands.len(), sync(list).commands.len()), (1, 0), "an array applies to run");
        assert_eq!(run(text).profiles.len(), 2, "the profiles stay as they are");
    }

    #[test]
    fn seed_002_9_3_a_file_cannot_disable_the_sandbox_or_the_protection() {
        let baseline = run("{}");
        let text =
            r#"{"sandbox": {"enabled": false}, "hooks": {"PreToolUse": []}, "permissions": {"allow": []}}"#;
        assert_eq!(run(text), baseline);
    }

    #[test]
    fn seed_002_9_7_sync_has_no_tools_that_change_files_except_the_note_or_reach_the_network() {
        for tool in ["MultiEdit", "NotebookEdit", "WebFetch", "Task"].map(str::to_owned) {
            assert!(run("{}").tools.contains(&tool) && !sync("{}").tools.contains(&tool), "{tool}");
        }
        for tool in ["BashOutput", "KillShell", "TodoWrite", "Skill"].map(str::to_owned) {
            assert!(run("{}").tools.contains(&tool) && sync("{}").tools.contains(&tool), "{tool}");
        }
    }

    #[test]
    fn seed_002_9_2_and_9_7_the_browser_exists_in_run_and_not_in_sync() {
        assert!(run("{}").mcp_servers.contains_key("playwright"));
        assert!(sync("{}").mcp_servers.is_empty());
        let browser = super::BROWSER_TOOLS.to_owned();
        assert!(run("{}").tools.contains(&browser) && !sync("{}").tools.contains(&browser));
    }
}
