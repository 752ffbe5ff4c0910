use autonoe_core::profile::Profile;

use super::source_dir::SourceDir;
use super::{FoundLanguage, TestSuite};

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let is_gem = |name: &str| name.ends_with(".gemspec");
    let file = match directory.first(&["Gemfile", "Rakefile"]) {
        Some(file) => file,
        None if directory.has_file_like("", is_gem) => "*.gemspec",
        None => return None,
    };
    let gems = directory.text("Gemfile");
    let needs_gems = gems.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("gem ") || line.starts_with("gem(") || line.starts_with("gemspec")
    });
    let tests = test_command(directory, &gems).map(|test| match needs_gems {
        true if test.starts_with("bin/") => TestSuite::with_install(Some("bundle install"), test),
        true => TestSuite::with_install(Some("bundle install"), &format!("bundle exec {test}")),
        false => TestSuite::offline(test),
    });
    Some(FoundLanguage {
        name: "Ruby",
        file: file.to_owned(),
        tool: "bundler",
        profiles: &[Profile::Ruby],
        commands: &[],
        hosts: &[],
        tests,
    })
}

fn test_command(directory: &SourceDir, gems: &str) -> Option<&'static str> {
    if directory.has_directory("spec") && (gems.contains("rspec") || directory.has(".rspec")) {
        return Some("rspec");
    }
    let has_tests = directory.has_directory("test");
    if has_tests && directory.has("bin/rails") {
        return Some("bin/rails test");
    }
    (has_tests && directory.has("Rakefile")).then_some("rake test")
}
