use autonoe_core::profile::Profile;
use serde_json::Value;

use super::source_dir::SourceDir;
use super::{FoundLanguage, TestSuite};

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let composer = directory.has("composer.json").then(|| directory.json("composer.json"))?;
    let install = needs_packages(&composer).then_some("composer install --no-interaction");
    let tests = test_command(directory, &composer).map(|test| TestSuite::with_install(install, test));
    Some(FoundLanguage {
        name: "PHP",
        file: "composer.json".to_owned(),
        tool: "composer",
        profiles: &[Profile::Php],
        commands: &[],
        hosts: &[],
        tests,
    })
}

/// PHP itself and its extensions are not packages.
fn needs_packages(composer: &Value) -> bool {
    let names = ["require", "require-dev"].iter().filter_map(|section| composer[*section].as_object());
    names.flat_map(|section| section.keys()).any(|name| name.contains('/'))
}

fn test_command(directory: &SourceDir, composer: &Value) -> Option<&'static str> {
    if !composer["scripts"]["test"].is_null() {
        return Some("composer test");
    }
    let requires = |name: &str| !composer["require-dev"][name].is_null();
    if requires("pestphp/pest") {
        return Some("vendor/bin/pest");
    }
    let has_settings = directory.first(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]).is_some();
    (requires("phpunit/phpunit") || has_settings).then_some("vendor/bin/phpunit")
}
