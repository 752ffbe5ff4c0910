use autonoe_core::profile::Profile;

use super::source_dir::SourceDir;
use super::{FoundLanguage, TestSuite};

const FILES: [&str; 7] =
    ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "uv.lock", "poetry.lock", "Pipfile"];

/// Requirements of development, which name the test runner.
const REQUIREMENTS: [&str; 5] = [
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
];

const TEST_DIRECTORIES: [&str; 2] = ["tests", "test"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum PackageManager {
    Uv,
    Poetry,
    Pip,
}

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let is_script = |name: &str| name.ends_with(".py");
    let file = match directory.first(&FILES) {
        Some(file) => file,
        None if directory.has_file_like("", is_script) => "*.py",
        None => return None,
    };
    let project = directory.toml("pyproject.toml");
    let manager = package_manager(directory, &project);
    let tool = match manager {
        PackageManager::Uv => "uv",
        PackageManager::Poetry => "poetry",
        PackageManager::Pip => "pip",
    };
    let tests = tests(manager, directory, &project);
    Some(FoundLanguage {
        name: "Python",
        file: file.to_owned(),
        tool,
        profiles: &[Profile::Python],
        commands: &[],
        hosts: &[],
        tests,
    })
}

fn package_manager(directory: &SourceDir, project: &toml::Table) -> PackageManager {
    let has_tool = |name: &str| project.get("tool").is_some_and(|tools| tools.get(name).is_some());
    match directory.first(&["uv.lock", "poetry.lock"]) {
        Some("uv.lock") => PackageManager::Uv,
        Some(_) => PackageManager::Poetry,
        None if has_tool("uv") => PackageManager::Uv,
        None if has_tool("poetry") => PackageManager::Poetry,
        None => PackageManager::Pip,
    }
}

fn tests(manager: PackageManager, directory: &SourceDir, project: &toml::Table) -> Option<TestSuite> {
    let runner = if uses_pytest(directory) { "pytest" } else { unittest(directory)? };
    match manager {
        PackageManager::Uv => Some(TestSuite { command: format!("uv run {runner}"), needs_network: true }),
        PackageManager::Poetry => {
            Some(TestSuite::with_install(Some("poetry install"), &format!("poetry run {runner}")))
        }
        PackageManager::Pip => Some(with_pip(runner, directory, project)),
    }
}

/// In an environment of its own, since those of systems refuse packages.
fn with_pip(runner: &str, directory: &SourceDir, project: &toml::Table) -> TestSuite {
    let files = REQUIREMENTS.iter().filter(|file| directory.has(file));
    let mut packages: Vec<String> = files.clone().map(|file| format!("-r {file}")).collect();
    let has_project = project.contains_key("build-system") || directory.has("setup.py");
    let has_dependencies = project.get("project").and_then(|project| project.get("dependencies")?.as_array());
    if has_project && (has_dependencies.is_some_and(|list| !list.is_empty()) || directory.has("setup.py")) {
        packages.push("-e .".to_owned());
    }
    let names_pytest = files.clone().any(|file| directory.text(file).contains("pytest"));
    if runner == "pytest" && !names_pytest {
        packages.push("pytest".to_owned());
    }
    if packages.is_empty() {
        return TestSuite::offline(runner);
    }
    let install = format!("python3 -m venv .venv && .venv/bin/pip install -q {}", packages.join(" "));
    let test = match runner.strip_prefix("python3 ") {
        Some(rest) => format!(".venv/bin/python {rest}"),
        None => format!(".venv/bin/python -m {runner}"),
    };
    TestSuite::with_install(Some(&install), &test)
}

fn uses_pytest(directory: &SourceDir) -> bool {
    let named_in = |file: &str| directory.text(file).contains("pytest");
    ["pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"]
        .iter()
        .any(|file| directory.has(file))
        || ["pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "Pipfile"].iter().any(|file| named_in(file))
        || REQUIREMENTS.iter().any(|file| named_in(file))
}

/// `None` if there are no tests.
fn unittest(directory: &SourceDir) -> Option<&'static str> {
    let is_test = |name: &str| name.starts_with("test") && name.ends_with(".py");
    let has_tests = |below: &str| directory.has_file_like(below, is_test);
    if has_tests("") {
        return Some("python3 -m unittest");
    }
    match TEST_DIRECTORIES.iter().find(|below| has_tests(below)).copied() {
        Some("tests") => Some("python3 -m unittest discover -s tests -t ."),
        Some(_) => Some("python3 -m unittest discover -s test -t ."),
        None => None,
    }
}
