//! The project's configuration, `.autonoe/agent.json` (seed 002 §5.4). Parsed strictly: a file that cannot be
//! understood stops the run, since ignoring it could widen what agents may do.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::profile::Profile;
use autonoe_files::{SETTINGS_LIMIT, read_text};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::hooks::HookEntry;
use crate::project::Project;

/// All fields are optional.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentConfig {
    /// Restricts the language profiles; empty means all.
    #[serde(deserialize_with = "one_or_many")]
    pub profile: Vec<Profile>,
    #[serde(deserialize_with = "list_or_per_mode")]
    pub allow_commands: AllowCommands,
    pub allow_pkill_targets: Vec<String>,
    pub permissions: PermissionsConfig,
    pub allowed_tools: Vec<String>,
    /// `None` means the built-in ones.
    pub mcp_servers: Option<BTreeMap<String, serde_json::Value>>,
    pub hooks: Hooks,
    /// The level of the command policy; only `strict` changes anything.
    pub policy: Option<PolicyChoice>,
    /// Accepted for compatibility; a repository cannot disable the sandbox.
    pub sandbox: Option<serde_json::Value>,
}

/// A level of the command policy, as a project names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyChoice {
    /// What is used anyway where the sandbox can hold it.
    Contained,
    Strict,
}

/// An array applies to `run` only.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllowCommands {
    /// For both modes.
    pub base: Vec<String>,
    pub run: Vec<String>,
    pub sync: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    #[serde(rename = "PreToolUse")]
    pub pre_tool_use: Vec<HookEntry>,
}

#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionsConfig {
    pub allow: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentConfigError {
    #[error(transparent)]
    Document(#[from] serde_json::Error),
    #[error("field {field}: {error}")]
    Field { field: String, error: serde_json::Error },
}

impl AgentConfig {
    /// An absent file means all defaults.
    pub fn load(project: &Project) -> Result<Self, Fault> {
        let path = project.agent_config();
        let wrong = |error: AgentConfigError| {
            Fault::permanent(
                FaultLayer::Config,
                "agent_config",
                format!("{} is not valid: {error}.", path.display()),
            )
            .hint("Fix the file; docs/configuration.md describes every field.")
        };
        let text = match read_text(&path, SETTINGS_LIMIT) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Self::default()),
            Err(error) => {
                let message = format!("{} cannot be read: {error}.", path.display());
                return Err(
                    Fault::permanent(FaultLayer::Config, "agent_config", message).hint(error.advice())
                );
            }
        };
        Self::parse(&text).map_err(wrong)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, AgentConfigError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let config = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let field = error.path().to_string();
            match field.as_str() {
                "." => AgentConfigError::Document(error.into_inner()),
                _ => AgentConfigError::Field { field, error: error.into_inner() },
            }
        })?;
        reader.end()?;
        Ok(config)
    }
}

/// `"node"` or `["node", "python"]`.
fn one_or_many<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct OneOrManyVisitor<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or an array of strings")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            T::deserialize(StrDeserializer::new(text)).map(|one| vec![one])
        }
        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(items))
        }
    }
    deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
}

/// `["docker"]` or `{"base": [], "run": [], "sync": []}`.
fn list_or_per_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AllowCommands, D::Error> {
    struct AllowCommandsVisitor;
    impl<'de> Visitor<'de> for AllowCommandsVisitor {
        type Value = AllowCommands;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of strings or an object with base, run and sync")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<AllowCommands, A::Error> {
            let run = Vec::deserialize(SeqAccessDeserializer::new(items))?;
            Ok(AllowCommands { run, ..AllowCommands::default() })
        }
        fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<AllowCommands, A::Error> {
            AllowCommands::deserialize(MapAccessDeserializer::new(fields))
        }
    }
    deserializer.deserialize_any(AllowCommandsVisitor)
}

#[cfg(test)]
mod tests {
    use super::AgentConfig;
    use autonoe_core::profile::Profile;

    #[test]
    fn the_example_of_seed_002_is_parsed() {
        let config = AgentConfig::parse(
            r#"{ "profile": ["node", "python"], "allowCommands": ["docker", "custom-cli"],
                 "allowPkillTargets": ["custom-server"],
                 "permissions": { "allow": ["WebFetch(https://api.example.com/*)"] },
                 "allowedTools": ["Task", "WebSearch"],
                 "mcpServers": { "custom-tool": { "command": "npx", "args": ["custom-mcp-server"] } } }"#,
        )
        .expect("valid");
        assert_eq!(config.profile, [Profile::Node, Profile::Python]);
        assert_eq!(config.allow_commands.run, ["docker", "custom-cli"]);
        assert!(config.allow_commands.sync.is_empty(), "an array applies to run only");
        assert_eq!(config.mcp_servers.map(|servers| servers.len()), Some(1));
    }

    #[test]
    fn short_forms_are_parsed() {
        assert_eq!(AgentConfig::parse("{}").expect("valid"), AgentConfig::default());
        assert_eq!(AgentConfig::parse(r#"{"profile": "go"}"#).expect("valid").profile, [Profile::Go]);
        let per_mode =
            AgentConfig::parse(r#"{"allowCommands": {"base": ["a"], "sync": ["b"]}}"#).expect("valid");
        assert_eq!((per_mode.allow_commands.base.len(), per_mode.allow_commands.sync.len()), (1, 1));
    }

    #[test]
    fn errors_name_the_field_the_line_and_the_choices() {
        for (text, wanted) in [
            (
                "{\n \"profile\": \"perl\" }",
                vec!["profile", "perl", "`node`", "`python`", "`ruby`", "`go`", "line 2"],
            ),
            ("{\"profile\": [\"node\", 3]}", vec!["profile[1]", "line 1"]),
            ("{\n\n\"alowCommands\": []}", vec!["alowCommands", "`allowCommands`", "line 3"]),
            ("{\"allowCommands\": {\"rnu\": []}}", vec!["allowCommands", "rnu", "`sync`"]),
            ("{\"allowCommands\": 5}", vec!["an array of strings or an object"]),
            ("{\"permissions\": {\"allow\": \"x\"}}", vec!["permissions.allow", "sequence"]),
            (
                "{\"hooks\": {\"PreToolUse\": [\"Mine\"]}}",
                vec![
                    "hooks.PreToolUse[0]",
                    "'Mine' is not a built-in hook",
                    "BashSecurity",
                    "{\"type\": \"command\", \"command\": \"./check.sh\"}",
                ],
            ),
            ("{\"hooks\": {\"PostToolUse\": []}}", vec!["hooks", "PostToolUse", "`PreToolUse`"]),
            ("{", vec!["line 1"]),
            ("{} {}", vec!["line 1"]),
        ] {
            let message = AgentConfig::parse(text).expect_err(text).to_string();
            for part in wanted {
                assert!(message.contains(part), "{message:?} lacks {part:?}");
            }
        }
    }
}
