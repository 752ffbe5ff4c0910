//! Which files of the project a hook's command names, read from its text as bash would read it, and whether it runs no others.
//!
//! The command is not run. What is not certain names every file that it may mean, and then others may be run too.

mod programs;
mod reading;
#[cfg(test)]
mod tests;
mod word_values;

use std::path::{Component, Path, PathBuf};

use reading::Reading;

/// Set to the project root for every hook.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// A file of the project that a command names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedFile {
    /// Canonical.
    pub path: PathBuf,
    /// The path below the root by which it is named; links are not resolved.
    pub named: PathBuf,
}

/// What the text of a hook's command tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommandText {
    /// The files of the project that it names, such as its script; each once.
    pub files: Vec<NamedFile>,
    /// Whether these are all files of the project that it runs. What these load themselves is not asked.
    pub is_complete: bool,
}

impl HookCommandText {
    /// `root` must be canonical.
    pub fn read(command: &str, root: &Path) -> Self {
        let mut reading = Reading::new(root);
        reading.command(command);
        let Reading { mut files, is_complete, .. } = reading;
        // Texts in other languages may name files too.
        files.extend(plain_words(command, root).filter_map(|word| project_file(&root.join(word), root)));
        files.sort();
        files.dedup();
        Self { files, is_complete }
    }
}

/// The words of a text in any language.
fn plain_words(command: &str, root: &Path) -> impl Iterator<Item = String> {
    let words = command.split(|character: char| {
        character.is_whitespace() || matches!(character, ';' | '&' | '|' | '(' | ')' | '<' | '>' | '=')
    });
    words.map(|word| {
        let variables = [format!("${{{PROJECT_VARIABLE}}}"), format!("${PROJECT_VARIABLE}")];
        let word = word.replace(['"', '\''], "");
        variables.iter().fold(word, |word, variable| word.replace(variable, &root.to_string_lossy()))
    })
}

/// The file at an absolute path, if it is one of the project.
fn project_file(typed: &Path, root: &Path) -> Option<NamedFile> {
    let path = typed.canonicalize().ok()?;
    let goes_up = typed.components().any(|part| part == Component::ParentDir);
    let named = typed.strip_prefix(root).ok().filter(|_| !goes_up).or_else(|| path.strip_prefix(root).ok());
    let named = named?.components().collect();
    (path.starts_with(root) && path.is_file()).then_some(NamedFile { path, named })
}
