//! The facts about a vendor's program that are needed before it is started: how to install it, log in and reach its service.

use std::path::{Path, PathBuf};

use autonoe_model::ProviderKind;

/// Major, minor, patch.
pub type Version = [u32; 3];

pub struct VendorProfile {
    pub program: &'static str,
    /// Oldest version known to work.
    pub oldest: Version,
    /// Install command.
    pub install: &'static str,
    /// Instruction for logging in.
    pub log_in: &'static str,
    /// Tools that our gates cannot veto, so that only the sandbox restricts them.
    pub ungated: Option<&'static str>,
    /// Variable that names its directory, default directory below the home, and the login files in it.
    pub home: (&'static str, &'static str, &'static [&'static str]),
    /// Variables with an API key, the first one set counts, and how the key is sent.
    pub key: (&'static [&'static str], KeyPlacement),
    /// Other variables that log the agent in.
    pub tokens: &'static [&'static str],
    /// Variable with the base URL of the service, and the default.
    pub base_url: (&'static str, &'static str),
    /// Hosts it contacts with the user's login.
    pub hosts: &'static [&'static str],
    /// Further variables passed to it, such as those for Bedrock and Vertex.
    pub passed: &'static [&'static str],
    /// The provider whose models it offers.
    pub models_of: ProviderKind,
    /// For planning and for the other phases.
    pub default_models: (&'static str, &'static str),
}

#[derive(Clone, Copy)]
pub enum KeyPlacement {
    /// The value of this header.
    Header(&'static str),
    Bearer,
}

impl VendorProfile {
    /// The agent's directory of the user, with settings and login. `variable` looks up an environment variable.
    pub fn directory(
        &self,
        variable: impl Fn(&str) -> Option<String>,
        home: Option<&Path>,
    ) -> Option<PathBuf> {
        let (name, below_home, _) = self.home;
        let named = variable(name).map(PathBuf::from);
        // For some agents the variable names the parent directory.
        let named = named.map(|named| match named.join(below_home) {
            inside if inside.is_dir() => inside,
            _ => named,
        });
        named.or_else(|| Some(home?.join(below_home)))
    }
}
