//! The project's configuration: the file `.autonoe/agent.json`, and what it amounts to with the baseline.

mod agent_config;
mod effective;
mod hooks;

pub use agent_config::{AgentConfig, AllowCommands, Hooks, PermissionsConfig, PolicyChoice};
pub use effective::EffectiveConfig;
pub use hooks::{BuiltInHook, HookCommand, HookEntry, HookGroup};
