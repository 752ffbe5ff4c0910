//! Skill: instructions for a kind of work, in the format of agentskills.io: directories with a SKILL.md. What a project
//! brings is context for the model and changes nothing else.

mod front_matter;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use autonoe_files::read_start;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::tool::blocking;
use crate::{Tool, ToolContext, ToolErrorCode, ToolOutput, ToolSpec, args, cap};
use front_matter::FrontMatter;

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";
/// How much of it is read.
const MAX_SKILL_BYTES: u64 = 256 * 1024;
/// How many skills are offered.
pub const MAX_SKILLS: usize = 100;
/// How many characters of a description the model is shown.
const MAX_DESCRIPTION_CHARS: usize = 1024;
/// How many characters a name may have.
const MAX_NAME_CHARS: usize = 64;

/// The tool `Skill`.
#[derive(Debug)]
pub struct Skill {
    skills: Vec<Found>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The name of the skill.
    skill: String,
}

/// A skill that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    name: String,
    description: String,
    directory: PathBuf,
}

impl Skill {
    /// Offers the skills in these directories. Of two with the same name the first counts; one that is not understood is
    /// left out.
    pub fn in_directories(directories: &[PathBuf]) -> Self {
        let mut skills: Vec<Found> = Vec::new();
        for found in directories.iter().flat_map(|directory| list(directory)) {
            if skills.len() < MAX_SKILLS && !skills.iter().any(|skill| skill.name == found.name) {
                skills.push(found);
            }
        }
        Self { skills }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    fn find(&self, name: &str) -> Result<Found, Failure> {
        let wanted = name.trim().trim_start_matches('/');
        self.skills.iter().find(|skill| skill.name == wanted).cloned().ok_or_else(|| {
            let names: Vec<_> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Failure::new(ToolErrorCode::NotFound, format!("There is no skill {wanted}. There are: {there}."))
        })
    }
}

#[async_trait]
impl Tool for Skill {
    fn spec(&self) -> ToolSpec {
        let mut description =
            "Loads a skill: instructions for a kind of work, which you then follow as far as they \
                               fit your task. Load one before you begin with what it describes. There are:"
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
            input_schema: args::schema::<Args>(),
            read_only: true,
        }
    }

    async fn call(&self, args: Value, _cx: &ToolContext) -> ToolOutput {
        let found = args::parse("Skill", args).and_then(|args: Args| self.find(&args.skill));
        match found {
            Ok(found) => blocking(move || load(&found)).await,
            Err(failure) => failure.into(),
        }
    }
}

fn load(skill: &Found) -> Result<ToolOutput, Failure> {
    let text = read(&skill.directory).ok_or_else(|| {
        let name = &skill.name;
        Failure::new(ToolErrorCode::IoError, format!("The skill {name} can no longer be read."))
    })?;
    let body = FrontMatter::parse(&text).map_or(text.as_str(), |matter| matter.body).trim();
    let directory = skill.directory.display();
    Ok(ToolOutput::ok(format!("Skill {}, whose files are in {directory}:\n\n{body}", skill.name))
        .titled(format!("Loaded skill {}", skill.name))
        .with("skill", skill.name.clone()))
}

/// The skills in a directory, by name.
fn list(directory: &Path) -> Vec<Found> {
    let Ok(root) = directory.canonicalize() else { return Vec::new() };
    let entries = root.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = entries.filter_map(|path| look(&root, &path)).collect();
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    found
}

fn look(root: &Path, path: &Path) -> Option<Found> {
    let directory = path.canonicalize().ok()?;
    // A link that leads elsewhere would have us read files that are no skills.
    let inside =
        directory.starts_with(root) && directory.join(SKILL_FILE).canonicalize().ok()?.starts_with(root);
    let text = read(&directory).filter(|_| inside)?;
    let matter = FrontMatter::parse(&text)?;
    let (name, description) = (matter.get("name")?, matter.get("description")?);
    let is_plain = !name.is_empty()
        && name.chars().count() <= MAX_NAME_CHARS
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && path.file_name().is_some_and(|file| file == name.as_str());
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    (is_plain && !description.is_empty()).then(|| Found {
        name,
        description: cap::line(&description, MAX_DESCRIPTION_CHARS),
        directory,
    })
}

/// The text of a skill's file, if it is a plain file.
fn read(directory: &Path) -> Option<String> {
    let (bytes, _) = read_start(&directory.join(SKILL_FILE), MAX_SKILL_BYTES).ok()??;
    Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').replace("\r\n", "\n"))
}
