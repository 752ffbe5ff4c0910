//! `hooks` of `agent.json`: built-in hooks by name, and commands in Claude Code's format.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use autonoe_policy::HookCommandText;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// The time limit of a hook that gives none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest time limit. An agent waits for the hook, and some give up on what takes longer.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq)]
pub enum HookEntry {
    BuiltIn(BuiltInHook),
    Commands(HookGroup),
}

/// Hooks that are always on: the command policy, and the protection of Autonoe's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltInHook {
    BashSecurity,
    AutonoeProtection,
}

impl BuiltInHook {
    pub const ALL: [Self; 2] = [Self::BashSecurity, Self::AutonoeProtection];

    pub fn name(self) -> &'static str {
        match self {
            Self::BashSecurity => "BashSecurity",
            Self::AutonoeProtection => "AutonoeProtection",
        }
    }
}

#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookGroup {
    /// Names of tools or a regular expression; empty and `*` mean every tool.
    #[serde(default)]
    pub matcher: String,
    #[serde(deserialize_with = "at_least_one")]
    pub hooks: Vec<HookCommand>,
}

#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookCommand {
    #[serde(rename = "type")]
    kind: HookKind,
    /// A shell command.
    #[serde(deserialize_with = "not_empty")]
    pub command: String,
    /// In seconds in the file.
    #[serde(default = "default_timeout", deserialize_with = "timeout")]
    pub timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum HookKind {
    Command,
}

impl HookCommand {
    /// What the command's text tells. `root` must be canonical.
    pub fn read(&self, root: &Path) -> HookCommandText {
        HookCommandText::read(&self.command, root)
    }
}

impl<'de> Deserialize<'de> for HookEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HookEntryVisitor;
        impl<'de> Visitor<'de> for HookEntryVisitor {
            type Value = HookEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a built-in hook or an object with matcher and hooks")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<HookEntry, E> {
                let found = BuiltInHook::ALL.into_iter().find(|hook| hook.name() == text);
                found.map(HookEntry::BuiltIn).ok_or_else(|| {
                    let names = BuiltInHook::ALL.map(BuiltInHook::name).join(" and ");
                    E::custom(format!(
                        "'{text}' is not a built-in hook (those are {names}); write a hook of your own as \
                         {{\"matcher\": \"Bash\", \"hooks\": [{{\"type\": \"command\", \"command\": \"./check.sh\"}}]}}"
                    ))
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<HookEntry, A::Error> {
                HookGroup::deserialize(MapAccessDeserializer::new(fields)).map(HookEntry::Commands)
            }
        }
        deserializer.deserialize_any(HookEntryVisitor)
    }
}

fn default_timeout() -> Duration {
    DEFAULT_TIMEOUT
}

fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    let given = Duration::try_from_secs_f64(seconds).ok();
    given.filter(|given| !given.is_zero() && *given <= MAX_TIMEOUT).ok_or_else(|| {
        D::Error::custom(format!(
            "a timeout is a number of seconds above 0, at most {}",
            MAX_TIMEOUT.as_secs()
        ))
    })
}

fn not_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let command = String::deserialize(deserializer)?;
    match command.trim().is_empty() {
        true => Err(D::Error::custom("the command is empty")),
        false => Ok(command),
    }
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<HookCommand>, D::Error> {
    let hooks = Vec::deserialize(deserializer)?;
    match hooks.is_empty() {
        true => Err(D::Error::custom("there is no hook in it")),
        false => Ok(hooks),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::AgentConfig;
    use super::{BuiltInHook, HookEntry, HookGroup};

    fn entries(text: &str) -> Result<Vec<HookEntry>, String> {
        let text = format!(r#"{{"hooks": {{"PreToolUse": [{text}]}}}}"#);
        AgentConfig::parse(&text).map(|config| config.hooks.pre_tool_use).map_err(|error| error.to_string())
    }

    fn group(text: &str) -> HookGroup {
        match entries(text).expect(text).remove(0) {
            HookEntry::Commands(group) => group,
            HookEntry::BuiltIn(hook) => panic!("{hook:?}"),
        }
    }

    #[test]
    fn claude_codes_format_and_names_are_parsed() {
        let hooks = group(
            r#"{"matcher": "Bash|Edit", "hooks": [
                {"type": "command", "command": "./check.sh", "timeout": 0.5}, {"type": "command", "command": "b"}]}"#,
        );
        assert_eq!(hooks.matcher, "Bash|Edit");
        let timeouts: Vec<Duration> = hooks.hooks.iter().map(|hook| hook.timeout).collect();
        assert_eq!(timeouts, [Duration::from_millis(500), Duration::from_secs(60)]);
        assert_eq!(group(r#"{"hooks": [{"type": "command", "command": "x"}]}"#).matcher, "");
        assert_eq!(entries(r#""BashSecurity""#), Ok(vec![HookEntry::BuiltIn(BuiltInHook::BashSecurity)]));
    }

    #[test]
    fn what_is_not_supported_is_refused() {
        for (text, part) in [
            (r#"5"#, "the name of a built-in hook or an object"),
            (r#"{"matcher": "Bash"}"#, "hooks"),
            (r#"{"hooks": []}"#, "there is no hook in it"),
            (r#"{"hooks": [{"type": "prompt", "prompt": "x"}]}"#, "`prompt`"),
            (r#"{"hooks": [{"command": "x"}]}"#, "`type`"),
            (r#"{"hooks": [{"type": "command"}]}"#, "`command`"),
            (r#"{"hooks": [{"type": "command", "command": " "}]}"#, "empty"),
            (r#"{"hooks": [{"type": "command", "command": "x", "timeout": 0}]}"#, "at most 600"),
            (r#"{"hooks": [{"type": "command", "command": "x", "timeout": -1}]}"#, "at most 600"),
            (r#"{"hooks": [{"type": "command", "command": "x", "timeout": 601}]}"#, "at most 600"),
            (r#"{"hooks": [{"type": "command", "command": "x", "if": "Bash(rm *)"}]}"#, "`if`"),
        ] {
            let error = entries(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
