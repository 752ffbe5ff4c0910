use autonoe_core::profile::Profile;
use serde_json::Value;

use super::source_dir::{SourceDir, is_filled};
use super::{FoundLanguage, TestSuite};

/// What `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";

#[derive(Clone, Copy, PartialEq, Eq)]
enum PackageManager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

pub fn find(directory: &SourceDir) -> Option<FoundLanguage> {
    let package = directory.has("package.json").then(|| directory.json("package.json"))?;
    let manager = package_manager(directory, &package);
    let (tool, profiles): (_, &'static [Profile]) = match manager {
        PackageManager::Npm => ("npm", &[Profile::Node]),
        PackageManager::Pnpm => ("pnpm", &[Profile::Node]),
        PackageManager::Yarn => ("yarn", &[Profile::Node]),
        PackageManager::Bun => ("bun", &[Profile::Node, Profile::Bun]),
    };
    let name = match directory.has("tsconfig.json") {
        true => "TypeScript",
        false => "JavaScript",
    };
    let needs_packages = is_filled(&package["dependencies"]) || is_filled(&package["devDependencies"]);
    let install = needs_packages.then(|| install(manager, directory, &package));
    let tests = test_command(manager, directory, &package).map(|test| TestSuite::with_install(install, test));
    Some(FoundLanguage {
        name,
        file: "package.json".to_owned(),
        tool,
        profiles,
        commands: &[],
        hosts: &[],
        tests,
    })
}

/// The field decides, as it does for corepack; then the lock file.
fn package_manager(directory: &SourceDir, package: &Value) -> PackageManager {
    let named = package["packageManager"].as_str().and_then(|text| text.split('@').next());
    match named {
        Some("npm") => return PackageManager::Npm,
        Some("pnpm") => return PackageManager::Pnpm,
        Some("yarn") => return PackageManager::Yarn,
        Some("bun") => return PackageManager::Bun,
        _ => {}
    }
    match directory.first(&["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"]) {
        Some("pnpm-lock.yaml") => PackageManager::Pnpm,
        Some("yarn.lock") => PackageManager::Yarn,
        Some(_) => PackageManager::Bun,
        None => PackageManager::Npm,
    }
}

fn install(manager: PackageManager, directory: &SourceDir, package: &Value) -> &'static str {
    match manager {
        PackageManager::Npm if directory.first(&["package-lock.json", "npm-shrinkwrap.json"]).is_some() => {
            "npm ci"
        }
        PackageManager::Npm => "npm install",
        PackageManager::Pnpm if directory.has("pnpm-lock.yaml") => "pnpm install --frozen-lockfile",
        PackageManager::Pnpm => "pnpm install",
        PackageManager::Yarn if !directory.has("yarn.lock") => "yarn install",
        PackageManager::Yarn if is_classic_yarn(directory, package) => "yarn install --frozen-lockfile",
        PackageManager::Yarn => "yarn install --immutable",
        PackageManager::Bun if directory.first(&["bun.lock", "bun.lockb"]).is_some() => {
            "bun install --frozen-lockfile"
        }
        PackageManager::Bun => "bun install",
    }
}

/// Version 1, whose lock file says so.
fn is_classic_yarn(directory: &SourceDir, package: &Value) -> bool {
    let version = package["packageManager"].as_str().and_then(|text| text.strip_prefix("yarn@"));
    version.map_or_else(
        || directory.text("yarn.lock").contains("# yarn lockfile v1"),
        |version| version.starts_with("1."),
    )
}

fn test_command(manager: PackageManager, directory: &SourceDir, package: &Value) -> Option<&'static str> {
    let script = package["scripts"]["test"].as_str().filter(|script| !script.contains(NO_TESTS));
    let is_test = |name: &str| name.contains(".test.") || name.contains("_test.") || name.contains(".spec.");
    let has_tests =
        || ["", "src", "test", "tests"].iter().any(|below| directory.has_file_like(below, is_test));
    match (manager, script) {
        (PackageManager::Npm, Some(_)) => Some("npm test"),
        (PackageManager::Pnpm, Some(_)) => Some("pnpm test"),
        (PackageManager::Yarn, Some(_)) => Some("yarn test"),
        (PackageManager::Bun, Some(_)) => Some("bun run test"),
        (PackageManager::Bun, None) => has_tests().then_some("bun test"),
        (PackageManager::Npm | PackageManager::Pnpm | PackageManager::Yarn, None) => None,
    }
}
