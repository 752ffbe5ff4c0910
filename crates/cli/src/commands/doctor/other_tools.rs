//! What other tools left in the repository: what a run uses of it, what it offers, and what it ignores.

use std::fs;

use autonoe_agents::sub_agent_names;
use autonoe_store::Project;

use super::DoctorFinding;
use crate::offered_servers::OfferedServers;

/// Files that only inform, and what becomes of them.
const USED: [(&str, &str); 3] = [
    ("AGENTS.md", "every agent gets it as information"),
    ("CLAUDE.md", "every agent gets it as information"),
    (".worktreeinclude", "the ignored files that it names are copied into workspaces"),
];

/// Directories of skills, which the native agent loads.
const SKILLS: [&str; 3] = [".autonoe/skills", ".agents/skills", ".claude/skills"];

/// Settings that would decide what agents may do, or run programs.
const IGNORED: [&str; 7] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".cursor/permissions.json",
];

pub fn findings(project: &Project) -> Vec<DoctorFinding> {
    let root = project.root();
    let used = USED.into_iter().filter(|(path, _)| root.join(path).is_file());
    let mut findings: Vec<_> =
        used.map(|(path, what)| DoctorFinding::Good(format!("{path}: used; {what}"))).collect();
    for path in SKILLS {
        let entries = fs::read_dir(root.join(path)).into_iter().flatten().flatten();
        let count = entries.filter(|entry| entry.path().join("SKILL.md").is_file()).count();
        if count > 0 {
            findings.push(DoctorFinding::Good(format!(
                "{path}: used; the native agent can load its {count} skill(s)"
            )));
        }
    }
    let sub_agents = sub_agent_names(root);
    if !sub_agents.is_empty() {
        let names = sub_agents.join(", ");
        findings.push(DoctorFinding::Good(format!(
            ".claude/agents: used; sub-agents of native and claude, with the permissions of their session: {names}"
        )));
    }
    findings.extend(offers(project));
    let ignored: Vec<&str> = IGNORED.into_iter().filter(|path| root.join(path).is_file()).collect();
    if !ignored.is_empty() {
        findings.push(DoctorFinding::Note(format!(
            "{}: settings, permissions and hooks of other tools are ignored; .autonoe/agent.json has those of runs",
            ignored.join(", ")
        )));
    }
    findings
}

fn offers(project: &Project) -> Vec<DoctorFinding> {
    let offered = OfferedServers::find(project);
    let mut findings = Vec::new();
    if let Some(widening) = offered.widening() {
        let servers: Vec<String> =
            offered.servers.iter().map(|(name, (file, _))| format!("{name} ({file})")).collect();
        let servers = servers.join(", ");
        findings.push(match widening.is_trusted(project) {
            true => DoctorFinding::Good(format!(
                "MCP servers of other tools: used, as you have approved: {servers}"
            )),
            false => DoctorFinding::Note(format!(
                "MCP servers of other tools: not used until you approve them with `autonoe trust`: {servers}"
            )),
        });
    }
    findings.extend(
        offered.problems.into_iter().map(|problem| DoctorFinding::Note(format!("ignored: {problem}"))),
    );
    findings
}
