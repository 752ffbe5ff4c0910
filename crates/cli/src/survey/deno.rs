use autonoe_core::profile::Profile;

use super::source_dir::SourceDir;
use super::{FoundLanguage, TestSuite};

/// How addresses of packages begin.
const PACKAGES: [&str; 4] = ["jsr:", "npm:", "https://", "http://"];

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let file = directory.first(&["deno.json", "deno.jsonc"])?;
    // Of a file with comments only its text is used.
    let has_test_task = directory.json(file)["tasks"]["test"].is_string()
        || (file == "deno.jsonc" && directory.text(file).contains("\"test\":"));
    let config = directory.text(file);
    let needs_network =
        directory.has("deno.lock") || PACKAGES.iter().any(|begin| config.contains(&format!("\"{begin}")));
    let command = if has_test_task { "deno task test" } else { "deno test" };
    Some(FoundLanguage {
        name: "Deno",
        file: file.to_owned(),
        tool: "deno",
        profiles: &[Profile::Node],
        commands: &[],
        hosts: if needs_network { &["deno.land", "jsr.io"] } else { &[] },
        tests: Some(TestSuite { command: command.to_owned(), needs_network }),
    })
}
