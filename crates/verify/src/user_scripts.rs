//! The user's protected programs, as texts: what checks run through them counts too.

use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_bytes_beneath};
use autonoe_store::{CheckRegistry, Project};

use crate::runner_files::is_code;

/// The protected programs of the user's, with their texts.
pub(crate) fn scripts_of_user(registry: &CheckRegistry, project: &Project) -> Vec<(String, String)> {
    let users = registry.of_user();
    let scripts = users.files.iter().map(|(file, accepted)| (file.to_string(), accepted));
    let scripts =
        scripts.filter(|(path, accepted)| !accepted.link && (accepted.executable || is_script(path)));
    let text = |accepted| String::from_utf8(registry.content(project, accepted).ok()?).ok();
    scripts.filter_map(|(path, accepted)| Some((path, text(accepted)?))).collect()
}

/// Files at the top of a project that say what its commands run.
const RULES: [&str; 7] =
    ["GNUmakefile", "Justfile", "Makefile", "Taskfile.yml", "justfile", "makefile", "package.json"];

/// Their texts, as the user has them.
pub(crate) fn rules_of_user(project: &Project) -> Vec<String> {
    let read = |name| read_bytes_beneath(project.root(), Path::new(name), SETTINGS_LIMIT).ok();
    RULES.iter().filter_map(read).map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
}

/// Whether a protected file is a program, or says what programs do.
fn is_script(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_rules = name.to_ascii_lowercase().ends_with("makefile") || name.ends_with(".mk");
    is_code(path) || is_rules || name == "package.json" || !name.contains('.')
}
