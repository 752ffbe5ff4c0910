//! Sub-agents that the project describes for Claude Code, in `.claude/agents/*.md`. Only their text is used: they have no more tools, and no other
//! permissions, than the session that starts them.

use std::path::Path;

use autonoe_files::read_start;
use autonoe_tools::FrontMatter;
use serde_json::{Map, Value, json};

const DIRECTORY: &str = ".claude/agents";

/// Sub-agents that are offered, bytes of a file that are read, and characters of a description that are shown.
const MAX_SUB_AGENTS: usize = 50;
const MAX_BYTES: u64 = 64 * 1024;
const MAX_DESCRIPTION_CHARS: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubAgent {
    pub name: String,
    pub description: String,
    /// `None` for all tools of the session.
    pub tools: Option<Vec<String>>,
    pub prompt: String,
}

/// The sub-agents of a project, sorted by name. A file without a valid name, a description or instructions is skipped.
pub(crate) fn read(root: &Path) -> Vec<SubAgent> {
    let entries = root.join(DIRECTORY).read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut found: Vec<SubAgent> = files.filter_map(|path| read_file(root, &path)).collect();
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    found.dedup_by(|one, other| one.name == other.name);
    found.truncate(MAX_SUB_AGENTS);
    found
}

/// The names of a project's sub-agents.
pub fn sub_agent_names(root: &Path) -> Vec<String> {
    read(root).into_iter().map(|agent| agent.name).collect()
}

/// A link that leads out of the project is ignored.
fn read_file(root: &Path, path: &Path) -> Option<SubAgent> {
    let path = path.canonicalize().ok().filter(|path| path.starts_with(root))?;
    let (bytes, _) = read_start(&path, MAX_BYTES).ok()??;
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    let matter = FrontMatter::parse(&text)?;
    let (name, description) = (matter.get("name")?, matter.get("description")?);
    let description: String = description
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(MAX_DESCRIPTION_CHARS)
        .collect();
    let tools = matter.get("tools").filter(|tools| !tools.is_empty() && tools != "*");
    let tools = tools.map(|tools| tools.split(',').map(|tool| tool.trim().to_owned()).collect());
    let prompt = matter.body.trim().to_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_valid = !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain);
    (is_valid && !description.is_empty() && !prompt.is_empty()).then_some(SubAgent {
        name,
        description,
        tools,
        prompt,
    })
}

/// In the format of Claude Code's option `--agents`; `None` if there are none.
pub(crate) fn for_claude(sub_agents: &[SubAgent]) -> Option<String> {
    let entry = |agent: &SubAgent| {
        let mut entry = json!({ "description": agent.description, "prompt": agent.prompt });
        if let Some(tools) = &agent.tools {
            entry["tools"] = json!(tools);
        }
        (agent.name.clone(), entry)
    };
    let entries: Map<String, Value> = sub_agents.iter().map(entry).collect();
    (!entries.is_empty()).then(|| Value::Object(entries).to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{SubAgent, for_claude, read};

    #[test]
    fn files_with_name_description_and_instructions_are_sub_agents() {
        let directory = tempfile::tempdir().expect("directory");
        let root = directory.path().canonicalize().expect("exists").join("project");
        let agents = root.join(".claude/agents");
        fs::create_dir_all(&agents).expect("made");
        let write = |name: &str, text: &str| fs::write(agents.join(name), text).expect("written");
        write(
            "b.md",
            "---\nname: reviewer\ndescription: Reviews\n  changes\ntools: Read, Grep\nmodel: opus\n---\nLook hard.\n",
        );
        write("a.md", "---\nname: writer\ndescription: Writes\n---\n\nWrite well.\n");
        write("no-description.md", "---\nname: x\n---\nDo.\n");
        write("no-text.md", "---\nname: y\ndescription: d\n---\n\n");
        write("bad-name.md", "---\nname: ../y\ndescription: d\n---\nDo.\n");
        write("plain.md", "Just text.\n");
        write("c.txt", "---\nname: z\ndescription: d\n---\nDo.\n");
        let outside = directory.path().join("outside.md");
        fs::write(&outside, "---\nname: outside\ndescription: d\n---\nDo.\n").expect("written");
        symlink(&outside, agents.join("link.md")).expect("linked");
        let reviewer = SubAgent {
            name: "reviewer".to_owned(),
            description: "Reviews changes".to_owned(),
            tools: Some(vec!["Read".to_owned(), "Grep".to_owned()]),
            prompt: "Look hard.".to_owned(),
        };
        let writer = SubAgent {
            name: "writer".to_owned(),
            description: "Writes".to_owned(),
            tools: None,
            prompt: "Write well.".to_owned(),
        };
        let found = read(&root);
        assert_eq!(found, [reviewer, writer]);
        assert_eq!(
            for_claude(&found).as_deref(),
            Some(
                r#"{"reviewer":{"description":"Reviews changes","prompt":"Look hard.","tools":["Read","Grep"]},"writer":{"description":"Writes","prompt":"Write well."}}"#
            )
        );
        assert_eq!(for_claude(&read(directory.path())), None);
    }
}
