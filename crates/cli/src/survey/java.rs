use super::source_dir::SourceDir;
use super::{FoundLanguage, TestSuite};

const GRADLE: [&str; 4] = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];

const MAVEN_HOSTS: [&str; 1] = ["repo.maven.apache.org"];

/// Packages, plugins, and Gradle itself for its wrapper.
const GRADLE_HOSTS: [&str; 3] = ["repo.maven.apache.org", "plugins.gradle.org", "services.gradle.org"];

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let file = directory.first(&["pom.xml"]).or_else(|| directory.first(&GRADLE))?;
    // A wrapper is a script of the project, which is allowed as such.
    let (tool, command, commands): (_, _, &'static [&'static str]) = match file {
        "pom.xml" if directory.has("mvnw") => ("Maven", "./mvnw -q test", &[]),
        "pom.xml" => ("Maven", "mvn -q test", &["mvn"]),
        _ if directory.has("gradlew") => ("Gradle", "./gradlew test", &[]),
        _ => ("Gradle", "gradle test", &["gradle"]),
    };
    let is_kotlin =
        ["src/main/kotlin", "app/src/main/kotlin"].iter().any(|name| directory.has_directory(name));
    Some(FoundLanguage {
        name: if is_kotlin { "Kotlin" } else { "Java" },
        file: file.to_owned(),
        tool,
        profiles: &[],
        commands,
        hosts: if tool == "Maven" { &MAVEN_HOSTS } else { &GRADLE_HOSTS },
        // Even their own plugins are packages.
        tests: Some(TestSuite { command: command.to_owned(), needs_network: true }),
    })
}
