//! The permission rules in force, and which calls they cover in one project.

use std::path::{Path, PathBuf};

use autonoe_core::mode::Mode;
use autonoe_files::real_place;

use crate::paths::may_read_outside;
use crate::permissions::command_pattern::simple_commands;
use crate::permissions::files::FileTool;
use crate::permissions::path_pattern::{BaseDirs, PathExtent};
use crate::permissions::permission_rule::{PermissionRule, RuleScope};
use crate::permissions::url_pattern::parse_web_url;
use crate::policy_options::PolicyOptions;
use crate::tool_pattern::{MCP_PREFIX, ToolPattern};

/// The permission rules in force: the baseline and the user's.
///
/// A tool whose rules take no pattern (`WebSearch` and MCP tools) is also covered by its name in `allowedTools`. `sync`
/// has no network and no MCP servers, so rules for those cover nothing there.
#[derive(Debug, Clone)]
pub struct PermissionSet {
    rules: Vec<PermissionRule>,
    tools: Vec<ToolPattern>,
    dirs: BaseDirs,
    readable: Vec<PathBuf>,
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    None,
    /// Covered by a rule for a related tool, which does not imply that this tool may be used.
    RelatedTool,
    ExactTool,
}

impl PermissionSet {
    pub fn new(options: &PolicyOptions) -> Self {
        let temp = options.temp.as_ref().map(|temp| temp.canonicalize().unwrap_or_else(|_| temp.clone()));
        let agent = std::iter::once(options.root.clone()).chain(temp).collect();
        let written: Vec<PathBuf> =
            options.written.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let readable = options.readable.iter().filter_map(|path| real_place(path, &written).ok());
        Self {
            rules: options.permissions.clone(),
            tools: options.tools.clone(),
            readable: readable.collect(),
            dirs: BaseDirs { agent, written, home: options.home.clone(), mapping: options.mapping.clone() },
            mode: options.mode,
        }
    }

    /// Every path outside the project that may be read, canonical.
    pub fn readable_paths(&self) -> Vec<PathBuf> {
        // A path that does not exist contains nothing to read.
        let named = self.readable_roots().into_iter();
        let named = named.filter_map(|path| real_place(&path, &self.dirs.written).ok());
        self.readable.iter().cloned().chain(named).collect()
    }

    /// The paths outside the project that rules for reading tools name: the resolved part of their patterns before the
    /// first wildcard. A bare `Read` names none.
    pub fn readable_roots(&self) -> Vec<PathBuf> {
        let mut roots = Vec::new();
        for rule in &self.rules {
            if let RuleScope::File(tool, Some(pattern)) = &rule.scope
                && tool.only_reads()
                && let Some(root) = pattern.outside(&self.dirs)
                && !self.dirs.agent.iter().any(|dir| root.starts_with(dir))
                && !roots.contains(&root)
            {
                roots.push(root);
            }
        }
        roots
    }

    /// The hosts that WebFetch rules name, as `host`, or `host:port` if the port is not the scheme's default.
    /// `WebFetch(*)` names none, see [`Self::allows_any_host`]. Empty in `sync`.
    pub fn web_hosts(&self) -> Vec<String> {
        let mut hosts = Vec::new();
        for rule in self.rules.iter().filter(|_| self.has_network()) {
            if let RuleScope::WebFetch(Some(pattern)) = &rule.scope
                && !hosts.contains(&pattern.host())
            {
                hosts.push(pattern.host());
            }
        }
        hosts
    }

    /// Whether a rule allows WebFetch for every URL. Never in `sync`.
    pub fn allows_any_host(&self) -> bool {
        self.has_network() && self.rules.iter().any(|rule| matches!(rule.scope, RuleScope::WebFetch(None)))
    }

    /// Whether a resolved path may be read without a rule.
    pub(crate) fn is_readable(&self, real: &Path) -> bool {
        may_read_outside(real, &self.readable)
    }

    /// Whether rules for web tools and MCP servers apply.
    pub(crate) fn has_network(&self) -> bool {
        match self.mode {
            Mode::Run => true,
            Mode::Sync => false,
        }
    }

    /// How the rules cover a file tool's use of a resolved path.
    pub(crate) fn file_coverage(&self, tool: FileTool, real: &Path, extent: PathExtent) -> Coverage {
        let covered = self.rules.iter().filter_map(|rule| match &rule.scope {
            RuleScope::File(named, pattern) if named.covers(tool) => {
                let matches =
                    pattern.as_ref().is_none_or(|pattern| pattern.matches(real, extent, &self.dirs));
                matches.then_some(if *named == tool { Coverage::ExactTool } else { Coverage::RelatedTool })
            }
            RuleScope::File(..)
            | RuleScope::Bash(_)
            | RuleScope::WebFetch(_)
            | RuleScope::WebSearch
            | RuleScope::Mcp(_) => None,
        });
        covered.max().unwrap_or(Coverage::None)
    }

    /// Whether the rules cover a command: a bare `Bash` rule covers any, otherwise a rule must match each simple
    /// command.
    pub(crate) fn covers_command(&self, command: &str) -> bool {
        let patterns = || {
            self.rules.iter().filter_map(|rule| match &rule.scope {
                RuleScope::Bash(pattern) => Some(pattern.as_ref()),
                RuleScope::File(..) | RuleScope::WebFetch(_) | RuleScope::WebSearch | RuleScope::Mcp(_) => {
                    None
                }
            })
        };
        if patterns().any(|pattern| pattern.is_none()) {
            return true;
        }
        simple_commands(command).is_some_and(|commands| {
            commands.iter().all(|words| patterns().flatten().any(|pattern| pattern.matches(words)))
        })
    }

    /// Whether the rules cover a URL, assuming there is a network.
    pub(crate) fn covers_url(&self, url: &str) -> bool {
        self.rules.iter().any(|rule| match &rule.scope {
            RuleScope::WebFetch(Some(pattern)) => pattern.matches(url),
            RuleScope::WebFetch(None) => parse_web_url(url).is_some(),
            RuleScope::File(..) | RuleScope::Bash(_) | RuleScope::WebSearch | RuleScope::Mcp(_) => false,
        })
    }

    /// Whether the rules or `allowedTools` cover a tool without patterns by its name, assuming there is a network.
    pub(crate) fn covers_tool(&self, name: &str) -> bool {
        let covered = self.rules.iter().any(|rule| match &rule.scope {
            RuleScope::WebSearch => name == "WebSearch",
            RuleScope::Mcp(tool) => tool.matches(name),
            RuleScope::File(..) | RuleScope::Bash(_) | RuleScope::WebFetch(_) => false,
        });
        covered || self.tools.iter().any(|tool| tool.matches(name))
    }

    /// The rules for a tool as text, for messages.
    pub(crate) fn describe_rules_for(&self, tool: &str) -> String {
        let is_for = |rule: &&PermissionRule| match &rule.scope {
            RuleScope::File(named, _) => FileTool::from_name(tool).is_some_and(|tool| named.covers(tool)),
            RuleScope::Bash(_) => tool == "Bash",
            RuleScope::WebFetch(_) => tool == "WebFetch",
            RuleScope::WebSearch => tool == "WebSearch",
            RuleScope::Mcp(_) => tool.starts_with(MCP_PREFIX),
        };
        let rules: Vec<String> = self.rules.iter().filter(is_for).map(ToString::to_string).collect();
        if rules.is_empty() { "none".to_owned() } else { rules.join(", ") }
    }

    /// The directory that relative paths in a call start from.
    pub(crate) fn root(&self) -> &Path {
        self.dirs.agent.first().map_or(Path::new("/"), PathBuf::as_path)
    }
}
