use autonoe_core::profile::Profile;

use super::source_dir::SourceDir;
use super::{FoundLanguage, TestSuite};

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let file = directory.first(&["go.mod", "go.work"])?;
    let requires = directory.text("go.mod").lines().any(|line| line.trim_start().starts_with("require"));
    // A workspace has its modules elsewhere.
    let needs_network = (requires || file == "go.work") && !directory.has_directory("vendor");
    Some(FoundLanguage {
        name: "Go",
        file: file.to_owned(),
        tool: "go",
        profiles: &[Profile::Go],
        commands: &[],
        hosts: &[],
        tests: Some(TestSuite { command: "go test ./...".to_owned(), needs_network }),
    })
}
