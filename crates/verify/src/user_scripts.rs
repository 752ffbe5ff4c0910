//! The user's protected programs, as texts: what checks run through them counts too.

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

/// Whether a protected file is a program, or says what programs do.
fn is_script(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_rules = name.to_ascii_lowercase().ends_with("makefile") || name.ends_with(".mk");
    is_code(path) || is_rules || name == "package.json" || !name.contains('.')
}
