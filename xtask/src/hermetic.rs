//! Isolates tests from the developer's own environment.
//!
//! Tests start their children with an empty environment themselves; this is a second safeguard. A temporary home hides the
//! developer's configuration and logins, and variables that could carry a credential or a setting are removed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::result::Result;

/// Variables with these prefixes are removed.
const PREFIXES: &str = "ANTHROPIC_ AUTONOE_ AWS_ AZURE_ CLAUDE CODEX_ COHERE_ DEEPSEEK_ FIREWORKS_ GCLOUD_ GCP_ GEMINI_ \
    GH_ GIT_ GITHUB_ GOOGLE_ GROQ_ HF_ HUGGINGFACE_ LITELLM_ MCP_ MISTRAL_ OLLAMA_ OPENAI_ OPENROUTER_ OTEL_ TOGETHER_ \
    VERTEX_ XAI_";

/// Variables with these suffixes are removed.
const SUFFIXES: &str = "_ACCESS_KEY _API_BASE _API_KEY _APIKEY _AUTH _BASE_URL _CREDENTIALS _KEY _MODEL _PASS _PASSWORD \
    _PROXY _SECRET _TOKEN";

const NAMES: &str = "API_KEY KUBECONFIG MODEL NETRC SSH_AGENT_PID SSH_ASKPASS SSH_AUTH_SOCK TOKEN XDG_CONFIG_HOME \
    XDG_DATA_HOME XDG_STATE_HOME";

/// An empty home directory, removed on drop.
pub struct TemporaryHome(PathBuf);

impl TemporaryHome {
    pub fn new() -> Result<Self> {
        let path = env::temp_dir().join(format!("autonoe-xtask-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| format!("Cannot create {}: {error}.", path.display()))?;
        Ok(Self(path))
    }

    /// Sets `HOME` to this directory and removes personal variables. The toolchain stays where it is.
    pub fn isolate<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for (name, _) in env::vars_os().filter(|(name, _)| is_personal(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        if let Some(home) = env::var_os("HOME").map(PathBuf::from) {
            for (name, directory) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                command.env(name, env::var_os(name).unwrap_or_else(|| home.join(directory).into()));
            }
        }
        command.env("HOME", self.path())
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryHome {
    fn drop(&mut self) {
        // A leftover is an empty directory among the temporary files.
        let _ = fs::remove_dir_all(self.path());
    }
}

fn is_personal(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.split_whitespace().any(|personal| name == personal)
        || PREFIXES.split_whitespace().any(|prefix| name.starts_with(prefix))
        || SUFFIXES.split_whitespace().any(|suffix| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::is_personal;

    #[test]
    fn credentials_and_model_settings_are_personal() {
        let names = "ANTHROPIC_BASE_URL OPENAI_ORG GEMINI_API_KEY GOOGLE_CLOUD_PROJECT CLAUDECODE CLAUDE_CONFIG_DIR \
            CODEX_HOME OLLAMA_HOST AWS_PROFILE AZURE_TENANT_ID SOME_API_KEY CARGO_REGISTRY_TOKEN AUTONOE_NO_SANDBOX \
            XDG_STATE_HOME XDG_CONFIG_HOME https_proxy";
        for name in names.split_whitespace() {
            assert!(is_personal(name), "{name}");
        }
    }

    #[test]
    fn build_variables_are_not_personal() {
        for name in "PATH HOME CARGO_HOME RUSTUP_HOME RUSTFLAGS CC LANG TMPDIR TERM USER".split_whitespace() {
            assert!(!is_personal(name), "{name}");
        }
    }
}
