//! What a list of rules covers, in the places of one project.

use std::path::{Path, PathBuf};

use autonoe_core::mode::Mode;

use super::command_pattern::simple_commands;
use super::files::FileTool;
use super::path_pattern::{Places, Reach};
use super::url_pattern::web_address;
use super::{PermissionRule, Scope};
use crate::paths::is_toolchain;
use crate::policy::PolicyOptions;
use crate::tool_pattern::{MCP, ToolPattern};

/// The permission rules in force, the baseline's and the user's.
///
/// A tool whose rules take no pattern (`WebSearch` and those of MCP servers) is also covered by its name in
/// `allowedTools`, which says the same. `sync` has no network and no servers: rules for those cover nothing there.
#[derive(Debug, Clone)]
pub struct Permissions {
    rules: Vec<PermissionRule>,
    tools: Vec<ToolPattern>,
    places: Places,
    readable: Vec<PathBuf>,
    mode: Mode,
}

/// How a file call is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// Not at all.
    None,
    /// By a rule for a kindred tool, which does not say that this tool may be used.
    Kindred,
    /// By a rule for this very tool.
    Own,
}

impl Permissions {
    /// The rules of a policy.
    pub fn new(options: &PolicyOptions) -> Self {
        let temp = options.temp.as_ref().map(|temp| temp.canonicalize().unwrap_or_else(|_| temp.clone()));
        let own = std::iter::once(options.root.clone()).chain(temp).collect();
        Self {
            rules: options.permissions.clone(),
            tools: options.tools.clone(),
            places: Places { own, home: options.home.clone() },
            readable: options.readable.iter().filter_map(|place| place.canonicalize().ok()).collect(),
            mode: options.mode,
        }
    }

    /// Places outside the project that rules for Read, Glob, Grep and LS name: the part of their paths before the first
    /// pattern, where it really leads. A bare `Read` names none.
    pub fn readable_roots(&self) -> Vec<PathBuf> {
        let mut roots = Vec::new();
        for rule in &self.rules {
            if let Scope::File(tool, Some(pattern)) = &rule.scope
                && tool.only_reads()
                && let Some(place) = pattern.outside(&self.places)
                && !self.places.own.iter().any(|own| place.starts_with(own))
                && !roots.contains(&place)
            {
                roots.push(place);
            }
        }
        roots
    }

    /// The hosts that WebFetch rules name, as `host` or, where the port is not the scheme's own, `host:port`. A
    /// `WebFetch(*)` names none: it lets the tool be asked for any address, but opens no way to it. In `sync` there are
    /// none.
    pub fn web_hosts(&self) -> Vec<String> {
        let mut hosts = Vec::new();
        for rule in self.rules.iter().filter(|_| self.has_network()) {
            if let Scope::WebFetch(Some(pattern)) = &rule.scope
                && !hosts.contains(&pattern.host())
            {
                hosts.push(pattern.host());
            }
        }
        hosts
    }

    /// Whether a real path is in a place that may be read without a rule.
    pub(super) fn is_readable(&self, real: &Path) -> bool {
        is_toolchain(real) || self.readable.iter().any(|place| real.starts_with(place))
    }

    /// Whether rules for the web and for MCP servers mean anything.
    pub(super) fn has_network(&self) -> bool {
        match self.mode {
            Mode::Run => true,
            Mode::Sync => false,
        }
    }

    /// How a tool's use of a path is covered, given as where it really leads.
    pub(super) fn file(&self, tool: FileTool, real: &Path, reach: Reach) -> Coverage {
        let covered = self.rules.iter().filter_map(|rule| match &rule.scope {
            Scope::File(named, pattern) if named.covers(tool) => {
                let fits = pattern.as_ref().is_none_or(|pattern| pattern.matches(real, reach, &self.places));
                fits.then_some(if *named == tool { Coverage::Own } else { Coverage::Kindred })
            }
            Scope::File(..) | Scope::Bash(_) | Scope::WebFetch(_) | Scope::WebSearch | Scope::Mcp(_) => None,
        });
        covered.max().unwrap_or(Coverage::None)
    }

    /// Whether a command is covered: as a whole, or each of its simple commands by some rule.
    pub(super) fn command(&self, command: &str) -> bool {
        let patterns = || {
            self.rules.iter().filter_map(|rule| match &rule.scope {
                Scope::Bash(pattern) => Some(pattern.as_ref()),
                Scope::File(..) | Scope::WebFetch(_) | Scope::WebSearch | Scope::Mcp(_) => None,
            })
        };
        if patterns().any(|pattern| pattern.is_none()) {
            return true;
        }
        simple_commands(command).is_some_and(|commands| {
            commands.iter().all(|words| patterns().flatten().any(|pattern| pattern.matches(words)))
        })
    }

    /// Whether an address is covered, where there is a network.
    pub(super) fn address(&self, address: &str) -> bool {
        self.rules.iter().any(|rule| match &rule.scope {
            Scope::WebFetch(Some(pattern)) => pattern.matches(address),
            Scope::WebFetch(None) => web_address(address).is_some(),
            Scope::File(..) | Scope::Bash(_) | Scope::WebSearch | Scope::Mcp(_) => false,
        })
    }

    /// Whether a tool without patterns is covered by its name, where there is a network.
    pub(super) fn tool(&self, name: &str) -> bool {
        let ruled = self.rules.iter().any(|rule| match &rule.scope {
            Scope::WebSearch => name == "WebSearch",
            Scope::Mcp(tool) => tool.matches(name),
            Scope::File(..) | Scope::Bash(_) | Scope::WebFetch(_) => false,
        });
        ruled || self.tools.iter().any(|tool| tool.matches(name))
    }

    /// The rules for a tool, for a person to read.
    pub(super) fn shown(&self, tool: &str) -> String {
        let is_for = |rule: &&PermissionRule| match &rule.scope {
            Scope::File(named, _) => FileTool::named(tool).is_some_and(|tool| named.covers(tool)),
            Scope::Bash(_) => tool == "Bash",
            Scope::WebFetch(_) => tool == "WebFetch",
            Scope::WebSearch => tool == "WebSearch",
            Scope::Mcp(_) => tool.starts_with(MCP),
        };
        let rules: Vec<String> = self.rules.iter().filter(is_for).map(ToString::to_string).collect();
        if rules.is_empty() { "none".to_owned() } else { rules.join(", ") }
    }

    /// Where a path of a call starts from.
    pub(super) fn root(&self) -> &Path {
        self.places.own.first().map_or(Path::new("/"), PathBuf::as_path)
    }
}
