//! The Skill tool: loads instructions for a kind of work, in the format of agentskills.io: directories with a SKILL.md. The
//! skills of a project are only text for the model and change no settings.

mod front_matter;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use autonoe_files::read_start;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::context::ToolContext;
use crate::failure::ToolFailure;
use crate::output::{ToolErrorCode, ToolOutput};
use crate::tool::blocking;
use crate::tool::{Tool, ToolSpec};
use crate::{args, cap};
pub use front_matter::FrontMatter;

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";
/// The maximum number of bytes read of a SKILL.md.
const MAX_SKILL_BYTES: u64 = 256 * 1024;
/// The maximum number of skills offered to the model.
pub const MAX_SKILLS: usize = 100;
/// The number of characters of a description shown to the model.
const MAX_DESCRIPTION_CHARS: usize = 1024;
/// The maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 64;

#[derive(Debug)]
pub struct SkillTool {
    skills: Vec<SkillEntry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SkillArgs {
    /// The name of the skill.
    skill: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SkillEntry {
    name: String,
    description: String,
    directory: PathBuf,
}

impl SkillTool {
    /// Offers the skills in these directories. If two have the same name, the first one wins; invalid skills are skipped.
    pub fn in_directories(directories: &[PathBuf]) -> Self {
        let mut skills: Vec<SkillEntry> = Vec::new();
        for found in directories.iter().flat_map(|directory| list(directory)) {
            if skills.len() < MAX_SKILLS && !skills.iter().any(|skill| skill.name == found.name) {
                skills.push(found);
            }
        }
        Self { skills }
    }

    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    fn find(&self, name: &str) -> Result<SkillEntry, ToolFailure> {
        let name = name.trim().trim_start_matches('/');
        self.skills.iter().find(|skill| skill.name == name).cloned().ok_or_else(|| {
            let names: Vec<_> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
            let available = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = format!("There is no skill {name}. Available skills: {available}.");
            ToolFailure::new(ToolErrorCode::NotFound, message)
        })
    }
}

#[async_trait]
impl Tool for SkillTool {
    fn spec(&self) -> ToolSpec {
        let mut description =
            "Loads a skill: instructions for a kind of work, which you then follow as far as they \
             fit your task. Load a skill before you start the work that it describes. Available skills:"
                .to_owned();
        for skill in &self.skills {
            description.push_str(&format!("\n- {}: {}", skill.name, skill.description));
        }
        if self.skills.is_empty() {
            description.push_str(" none.");
        }
        ToolSpec {
            name: "Skill".to_owned(),
            description,
            input_schema: args::schema::<SkillArgs>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let found = args::parse("Skill", args).and_then(|args: SkillArgs| self.find(&args.skill));
        match found {
            Ok(found) => blocking(move || load(&found)).await,
            Err(failure) => failure.into(),
        }
    }
}

fn load(skill: &SkillEntry) -> Result<ToolOutput, ToolFailure> {
    let text = read(&skill.directory).ok_or_else(|| {
        let name = &skill.name;
        ToolFailure::new(ToolErrorCode::IoError, format!("The skill {name} can no longer be read."))
    })?;
    let body = FrontMatter::parse(&text).map_or(text.as_str(), |matter| matter.body).trim();
    let directory = skill.directory.display();
    Ok(ToolOutput::ok(format!("Skill {} (its files are in {directory}):\n\n{body}", skill.name))
        .titled(format!("Loaded skill {}", skill.name))
        .with("skill", skill.name.clone()))
}

/// The skills in a directory, sorted by name.
fn list(directory: &Path) -> Vec<SkillEntry> {
    let Ok(root) = directory.canonicalize() else { return Vec::new() };
    let entries = root.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = entries.filter_map(|path| read_skill(&root, &path)).collect();
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    found
}

fn read_skill(root: &Path, path: &Path) -> Option<SkillEntry> {
    let directory = path.canonicalize().ok()?;
    // A link out of the directory could expose files that are not skills.
    let inside =
        directory.starts_with(root) && directory.join(SKILL_FILE).canonicalize().ok()?.starts_with(root);
    let text = read(&directory).filter(|_| inside)?;
    let matter = FrontMatter::parse(&text)?;
    let (name, description) = (matter.get("name")?, matter.get("description")?);
    let is_valid = !name.is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && path.file_name().is_some_and(|file| file == name.as_str());
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    (is_valid && !description.is_empty()).then(|| SkillEntry {
        name,
        description: cap::truncate_line(&description, MAX_DESCRIPTION_CHARS),
        directory,
    })
}

/// The text of a SKILL.md; `None` if it is not a regular file.
fn read(directory: &Path) -> Option<String> {
    let (bytes, _) = read_start(&directory.join(SKILL_FILE), MAX_SKILL_BYTES).ok()??;
    Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').replace("\r\n", "\n"))
}
