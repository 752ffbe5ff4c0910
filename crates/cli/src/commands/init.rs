//! `autonoe init`

mod install_browser;

use std::fs;
use std::io;
use std::path::Path;

use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::exit;
use autonoe_files::{UntrustedDir, Visibility};
use clap::Args;
use serde_json::json;

use crate::environment::Environment;
use crate::present;
use crate::project_args::ProjectArgs;
use crate::spec_draft::{CheckNetwork, is_live, template};
use crate::survey::{FoundLanguage, ProjectSurvey};
use crate::write_fault::cannot_write;

/// Create a starter SPEC.md and configuration
///
/// Looks at the project (language, package manager, tests, git, CI) and creates a SPEC.md to edit and an .autonoe/agent.json that fit.
/// Existing files are not changed.
#[derive(Debug, Args)]
pub struct InitArgs {
    #[command(flatten)]
    project: ProjectArgs,

    /// Install the browser that agents look at pages with (Playwright's MCP server and Chromium), for all your projects
    #[arg(long)]
    browser: bool,
}

pub fn cmd_init(args: &InitArgs, environment: &Environment) -> Result<u8, Fault> {
    let root = args.project.project_dir.clone().unwrap_or_else(|| ".".into());
    let cannot_open = |error: io::Error| cannot_write(FaultLayer::Config, "init", &root, &error);
    fs::create_dir_all(&root).map_err(cannot_open)?;
    let root = root.canonicalize().map_err(cannot_open)?;
    let network = CheckNetwork::of(&environment.user_config()?);
    let survey = ProjectSurvey::of(&root);
    present::print(&format!("Found in {}:\n{}\n", root.display(), describe(&survey)));
    let files = [
        ("SPEC.md", template(&name(&root), &survey, network)),
        (".autonoe/agent.json", agent_config(&survey)),
    ];
    let mut created = Vec::new();
    for (name, content) in files {
        let path = root.join(name);
        let is_new = create(&root, Path::new(name), &content)
            .map_err(|error| cannot_write(FaultLayer::Config, "init", &path, &error))?;
        let what = if is_new { "created" } else { "already exists, not changed" };
        present::print(&format!("{name}: {what}\n"));
        created.extend(is_new.then_some(name));
    }
    if args.browser {
        install_browser::install(&root, environment)?;
    }
    present::print(&next_steps(&survey, network, &created));
    Ok(exit::DONE)
}

fn name(root: &Path) -> String {
    let name = root.file_name().map(|name| name.to_string_lossy().replace(char::is_control, ""));
    name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "My project".to_owned())
}

/// One line for each thing that was found.
fn describe(survey: &ProjectSurvey) -> String {
    let mut lines: Vec<String> = survey.languages.iter().map(describe_language).collect();
    if survey.languages.is_empty() {
        lines.push(match survey.has_files {
            true => "no language that autonoe recognizes".to_owned(),
            false => "an empty directory".to_owned(),
        });
    }
    lines.push(match survey.has_repository {
        true => "a git repository".to_owned(),
        false => "no git repository; the first run creates one".to_owned(),
    });
    lines.extend(survey.ci.iter().map(|(name, file)| format!("CI: {name} ({file})")));
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

fn describe_language(language: &FoundLanguage) -> String {
    let FoundLanguage { name, tool, file, tests, .. } = language;
    let tests = tests
        .as_ref()
        .map_or_else(|| "no tests found".to_owned(), |tests| format!("tests: {}", tests.command));
    format!("{name}, with {tool} ({file}); {tests}")
}

fn agent_config(survey: &ProjectSurvey) -> String {
    let profiles: Vec<_> = survey.profiles().into_iter().map(|profile| profile.name()).collect();
    let config = json!({
        "profile": profiles,
        "allowCommands": survey.commands(),
        "allowPkillTargets": [],
    });
    format!("{config:#}\n")
}

/// What the new files do, and what is left to the user.
fn next_steps(survey: &ProjectSurvey, network: CheckNetwork, created: &[&str]) -> String {
    let mut text = String::new();
    let suites = survey.languages.iter().filter_map(|language| language.tests.as_ref());
    if created.contains(&"SPEC.md") {
        for suite in suites {
            text.push_str(&match is_live(suite, network) {
                true => format!("  SPEC.md has the check `{}`.\n", suite.command),
                false => format!(
                    "  SPEC.md shows the check `{}` as an example only: it installs packages, and checks have no network unless you set \
                     `network = true` under [checks] in your config.toml.\n",
                    suite.command
                ),
            });
        }
    }
    if created.contains(&".autonoe/agent.json") {
        let profiles: Vec<_> = survey.profiles().into_iter().map(|profile| profile.name()).collect();
        if !profiles.is_empty() {
            text.push_str(&format!(
                "  agent.json has the profile{} {}: agents reach no other package registries, and where the policy is strict, they run no \
                 commands of other languages.\n",
                if profiles.len() == 1 { "" } else { "s" },
                profiles.join(", ")
            ));
        }
        let commands = survey.commands();
        if !commands.is_empty() {
            text.push_str(&format!(
                "  agent.json allows the commands {}; approve that with `autonoe trust`.\n",
                commands.join(", ")
            ));
        }
    }
    let hosts = survey.hosts();
    if !hosts.is_empty() {
        text.push_str(&format!(
            "  Packages come from {}: commands reach that only if you add it to `allow` under [network] in your config.toml.\n",
            hosts.join(", ")
        ));
    }
    let text = if text.is_empty() { text } else { format!("\n{text}") };
    format!("{text}\nNext: describe in SPEC.md what you want built, then start `autonoe run`.\n")
}

/// Creates the file and its directories; false if the file exists. A repository may have links in their place, which are not followed.
pub fn create(root: &Path, name: &Path, content: &str) -> io::Result<bool> {
    let directory = UntrustedDir::open(root)?
        .create_missing(name.parent().unwrap_or(Path::new("")), Visibility::Everyone)?;
    directory.write_missing(name.file_name().unwrap_or_default(), content.as_bytes())
}
