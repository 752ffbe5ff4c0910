//! The packages of Cargo, npm and pnpm that a project consists of. With one that is gone its tests are gone too, and nothing says so: a package that
//! was moved leaves `tests/` behind, and a member that is not listed is not tested.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use autonoe_files::{SETTINGS_LIMIT, read_bytes_beneath};
use globset::GlobBuilder;
use serde_json::Value as Json;
use toml::{Table, Value};

use crate::cargo_manifest::{dependency_tables, is_manifest, manifest_of, package_name};

/// What stands before the name or the directory of a package, behind the path of the file that says so.
const NAME: &str = " ([package] name = ";
const MEMBER: &str = " ([workspace] members: ";
const DEPENDENCY: &str = " (dependency ";
const NPM_MEMBER: &str = " (workspaces: ";
const PNPM_MEMBER: &str = " (packages: ";
const NPM_NAME: &str = " (name: ";

/// The file in which pnpm has the members of a workspace.
const PNPM_FILE: &str = "pnpm-workspace.yaml";

/// The most members of a workspace that are looked at.
const MAX_MEMBERS: usize = 1_000;

/// Whether a file says which packages there are.
pub(crate) fn lists_packages(path: &str) -> bool {
    is_manifest(path) || is_npm_manifest(path) || is_pnpm_file(path)
}

/// What files below `root` say about packages, such as `Cargo.toml ([workspace] members: calc)`. `files` are their paths from the project and
/// from `root`.
pub(crate) fn packages_in<'a>(
    root: &Path,
    files: impl Iterator<Item = (&'a str, &'a str)>,
) -> BTreeSet<String> {
    let read = |(path, below): (&'a str, &str)| {
        let text = read_bytes_beneath(root, Path::new(below), SETTINGS_LIMIT).ok()?;
        Some((path, String::from_utf8_lossy(&text).into_owned()))
    };
    packages(&files.filter(|(path, _)| lists_packages(path)).filter_map(read).collect())
}

/// `files` are the texts.
fn packages(files: &BTreeMap<&str, String>) -> BTreeSet<String> {
    let cargo = files.iter().filter(|(path, _)| is_manifest(path));
    let cargo: BTreeMap<&str, Table> =
        cargo.map(|(path, text)| (directory_of(path), text.parse().unwrap_or_default())).collect();
    let mut found = BTreeSet::new();
    for (directory, manifest) in &cargo {
        let path = joined(directory, "Cargo.toml");
        found.extend(package_name(manifest).map(|name| format!("{path}{NAME}{name:?})")));
        let dependencies = path_dependencies(directory, manifest, None);
        found.extend(dependencies.map(|(name, place)| format!("{path}{DEPENDENCY}{name}: {place})")));
        let members = cargo_members(directory, manifest, &cargo);
        found.extend(members.iter().map(|member| format!("{path}{MEMBER}{member})")));
    }
    for (path, text) in files {
        let (listed, kind) = match () {
            () if is_npm_manifest(path) => (listed_by_npm(text), NPM_MEMBER),
            () if is_pnpm_file(path) => (listed_by_pnpm(text), PNPM_MEMBER),
            () => continue,
        };
        let members = npm_members(directory_of(path), &listed, files);
        let manifests = members.iter().map(|member| joined(member, "package.json"));
        let names = manifests.filter_map(|path| Some((npm_name(files.get(path.as_str())?)?, path)));
        found.extend(names.map(|(name, path)| format!("{path}{NPM_NAME}{name})")));
        found.extend(members.iter().map(|member| format!("{path}{kind}{member})")));
    }
    found
}

/// Whether an entry is one of [`packages_in`].
pub(crate) fn is_package(entry: &str) -> bool {
    let is_of_cargo = || [NAME, MEMBER, DEPENDENCY].iter().any(|start| entry.contains(start));
    (manifest_of(entry).is_some() && is_of_cargo()) || is_npm_package(entry)
}

/// Whether it is a member of a workspace of npm's or pnpm's, or the name of one.
pub(crate) fn is_npm_package(entry: &str) -> bool {
    let is_said = |start| entry.split_once(start).is_some_and(|(path, _)| is_npm_manifest(path));
    [NPM_MEMBER, NPM_NAME].into_iter().any(is_said)
        || entry.split_once(PNPM_MEMBER).is_some_and(|(path, _)| is_pnpm_file(path))
}

/// The file that says so.
pub(crate) fn listed_in(entry: &str) -> &str {
    entry.split_once(" (").map_or(entry, |(path, _)| path)
}

/// What is said about one that is gone.
pub(crate) fn described_as_gone(entry: &str) -> String {
    format!("{} is gone)", entry.strip_suffix(')').unwrap_or(entry))
}

/// Whether a protected file was a test of a package that is `gone`, or part of what tests use. `known` are all packages that there
/// were, `now` are those that there are.
pub(crate) fn left_out_a_test(
    gone: &str,
    known: impl Iterator<Item = impl AsRef<str>>,
    now: impl Fn(&str) -> bool,
    commands: &[String],
    protected: impl Iterator<Item = String>,
) -> bool {
    let manifest = listed_in(gone);
    let in_entry = || gone.rsplit_once(": ").map(|(_, place)| place.trim_end_matches(')'));
    let package = match gone {
        _ if gone.contains(NAME) => {
            let name = gone.split('"').nth(1).unwrap_or_default();
            // Another name is another package only to a command that names it.
            if now(&format!("{manifest}{NAME}")) && !select_package(commands, name) {
                return false;
            }
            directory_of(manifest)
        }
        _ if gone.contains(NPM_NAME) => {
            // Without a package of that name, or with another one, the command is about others.
            let name = in_entry().unwrap_or_default();
            let mut words = commands.iter().flat_map(|command| command.split(ends_name));
            if !words.any(|word| word == name) {
                return false;
            }
            directory_of(manifest)
        }
        _ => in_entry().map_or("", |place| if place == "." { "" } else { place }),
    };
    let is_npm = is_npm_package(gone);
    if is_npm
        && !gone.contains(NPM_NAME)
        && [format!("package.json{NPM_MEMBER}{package})"), format!("{PNPM_FILE}{PNPM_MEMBER}{package})")]
            .iter()
            .any(|entry| now(entry))
    {
        return false;
    }
    let packages: Vec<String> = known
        .filter(|entry| entry.as_ref().contains(NAME))
        .map(|entry| directory_of(listed_in(entry.as_ref())).to_owned())
        .collect();
    let nearest = |file: &str| {
        let above = packages.iter().filter(|package| is_below(file, package));
        above.max_by_key(|package| package.len()).cloned()
    };
    let is_any_file = gone.contains(DEPENDENCY) || is_npm;
    let mut protected = protected;
    protected.any(|file| match is_any_file {
        true => is_below(&file, package),
        false => file.ends_with(".rs") && nearest(&file).as_deref() == Some(package),
    })
}

fn ends_name(c: char) -> bool {
    c.is_whitespace() || "\"'=;&|(){}".contains(c)
}

/// Whether a command of Cargo's is about the package of this name only.
fn select_package(commands: &[String], name: &str) -> bool {
    let mut words =
        commands.iter().flat_map(|command| command.split(|c: char| c.is_whitespace() || c == '='));
    let mut before = "";
    words.any(|word| {
        let is_selected = ["-p", "--package"].contains(&before) && word.trim_matches(['"', '\'']) == name;
        before = word;
        is_selected || word.strip_prefix("-p").is_some_and(|rest| rest == name)
    })
}

/// The dependencies of a manifest that are in the project, with their directories. `top` is the workspace that it may refer to.
fn path_dependencies<'a>(
    directory: &'a str,
    manifest: &'a Table,
    top: Option<(&'a str, &'a Table)>,
) -> impl Iterator<Item = (String, String)> + use<'a> {
    let shared = |manifest: &'a Table| {
        manifest.get("workspace").and_then(|workspace| workspace.get("dependencies")?.as_table())
    };
    let path_of = |value: &Value| value.get("path").and_then(Value::as_str).map(str::to_owned);
    let place = move |name: &str, value: &Value| match path_of(value) {
        Some(path) => Some(joined(directory, &path)),
        None => {
            let (top, workspace) = top.filter(|_| value.get("workspace").is_some())?;
            Some(joined(top, &path_of(shared(workspace)?.get(name)?)?))
        }
    };
    let own = dependency_tables(manifest).chain(shared(manifest).filter(|_| top.is_none()));
    own.flatten().filter_map(move |(name, value)| Some((name.clone(), place(name, value)?)))
}

/// The directories of the members of a workspace: those that it lists, and what they depend on below it.
fn cargo_members(top: &str, manifest: &Table, all: &BTreeMap<&str, Table>) -> BTreeSet<String> {
    let Some(workspace) = manifest.get("workspace").and_then(Value::as_table) else { return BTreeSet::new() };
    let patterns = workspace.get("members").and_then(Value::as_array).into_iter().flatten();
    let patterns = patterns.filter_map(Value::as_str).map(|pattern| joined(top, pattern));
    let mut left: Vec<String> =
        patterns.flat_map(|pattern| matching(&pattern, all.keys().copied())).collect();
    let mut members: BTreeSet<String> = left.iter().cloned().collect();
    left.extend(package_name(manifest).map(|_| joined(top, ".")));
    while let Some(member) = left.pop().filter(|_| members.len() < MAX_MEMBERS) {
        let directory = if member == "." { "" } else { member.as_str() };
        let Some(package) = all.get(directory) else { continue };
        for (_, place) in path_dependencies(directory, package, Some((top, manifest))) {
            if is_below(&place, top) && all.contains_key(place.as_str()) && members.insert(place.clone()) {
                left.push(place);
            }
        }
    }
    members
}

fn npm_name(text: &str) -> Option<String> {
    let package: Json = serde_json::from_str(text).unwrap_or_default();
    package.get("name").and_then(Json::as_str).map(str::to_owned)
}

/// The patterns of members that a `package.json` lists.
fn listed_by_npm(text: &str) -> Vec<String> {
    let package: Json = serde_json::from_str(text).unwrap_or_default();
    let listed = package.get("workspaces").unwrap_or(&Json::Null);
    let listed = listed.get("packages").unwrap_or(listed).as_array().into_iter().flatten();
    listed.filter_map(Json::as_str).map(str::to_owned).collect()
}

/// The patterns of members that a `pnpm-workspace.yaml` lists, as people write it: a list of texts below `packages:`, or in brackets behind it.
fn listed_by_pnpm(text: &str) -> Vec<String> {
    let mut lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim_end());
    let Some(first) = lines.find_map(|line| line.strip_prefix("packages:")) else { return Vec::new() };
    let is_inside = |line: &&str| line.is_empty() || line.starts_with([' ', '-', '#', ']']);
    let rest: Vec<&str> = lines.take_while(is_inside).collect();
    let items: Vec<&str> = match first.trim_start().starts_with('[') {
        true => std::iter::once(first).chain(rest).flat_map(|line| line.split(['[', ',', ']'])).collect(),
        false => rest.iter().filter_map(|line| line.trim_start().strip_prefix('-')).collect(),
    };
    let items = items.into_iter().map(|item| item.trim().trim_matches(['"', '\'']).to_owned());
    items.filter(|item| !item.is_empty()).collect()
}

/// The directories with a `package.json` that patterns of members below `top` mean.
fn npm_members(top: &str, listed: &[String], files: &BTreeMap<&str, String>) -> BTreeSet<String> {
    let directories = || files.keys().filter(|path| is_npm_manifest(path)).map(|path| directory_of(path));
    let mut members = BTreeSet::new();
    for pattern in listed {
        let left_out = pattern.strip_prefix('!');
        let found = matching(&joined(top, left_out.unwrap_or(pattern)), directories());
        match left_out {
            Some(_) => members.retain(|member| !found.contains(member)),
            None => members.extend(found),
        }
    }
    members
}

fn matching<'a>(pattern: &str, directories: impl Iterator<Item = &'a str>) -> Vec<String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let Ok(glob) = glob.map(|glob| glob.compile_matcher()) else { return Vec::new() };
    directories.filter(|directory| glob.is_match(directory)).map(str::to_owned).collect()
}

fn is_npm_manifest(path: &str) -> bool {
    path == "package.json" || path.ends_with("/package.json")
}

fn is_pnpm_file(path: &str) -> bool {
    path == PNPM_FILE
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn is_below(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path from a directory, without `.` and `..` within it; `.` for the top.
fn joined(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{described_as_gone, is_package, left_out_a_test, listed_by_pnpm, packages};

    fn of(files: &[(&'static str, &str)]) -> BTreeSet<String> {
        packages(&files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn packages_are_found_wherever_a_manifest_says_that_they_are() {
        let found = of(&[
            (
                "Cargo.toml",
                "[workspace]\nmembers = [\"crates/*\", \"./app\"]\n[workspace.dependencies]\nshared = { path = \"lib/shared\" }\n",
            ),
            (
                "app/Cargo.toml",
                "[package]\nname = \"app\"\n[dependencies]\nshared.workspace = true\nrand = \"1\"\n",
            ),
            (
                "crates/a/Cargo.toml",
                "[package]\nname = \"a\"\n[dev-dependencies]\njudge = { path = \"../../tests/judge\" }\n",
            ),
            ("crates/a/b/Cargo.toml", "[package]\nname = \"b\"\n"),
            ("lib/shared/Cargo.toml", "[package]\nname = \"shared\"\n"),
            ("tests/judge/Cargo.toml", "not toml ["),
            ("package.json", "{\"workspaces\": [\"pkg/*\", \"!pkg/x\"]}"),
            ("pkg/a/package.json", "{\"workspaces\": {\"packages\": [\"b\"]}}"),
            ("pkg/a/b/package.json", "{\"name\": \"@pkg/b\"}"),
            ("pkg/x/package.json", "not json"),
            (
                "pnpm-workspace.yaml",
                "# x\npackages:\n  # all\n  - 'pkg/*' # these\n- \"tools/**\"\n\n  - !pkg/x\ncatalog:\n  - pkg/a/b\n",
            ),
            ("tools/one/two/package.json", "{}"),
        ]);
        assert_eq!(
            Vec::from_iter(&found),
            [
                "Cargo.toml ([workspace] members: app)",
                "Cargo.toml ([workspace] members: crates/a)",
                "Cargo.toml ([workspace] members: lib/shared)",
                "Cargo.toml ([workspace] members: tests/judge)",
                "Cargo.toml (dependency shared: lib/shared)",
                "app/Cargo.toml ([package] name = \"app\")",
                "crates/a/Cargo.toml ([package] name = \"a\")",
                "crates/a/Cargo.toml (dependency judge: tests/judge)",
                "crates/a/b/Cargo.toml ([package] name = \"b\")",
                "lib/shared/Cargo.toml ([package] name = \"shared\")",
                "package.json (workspaces: pkg/a)",
                "pkg/a/b/package.json (name: @pkg/b)",
                "pkg/a/package.json (workspaces: pkg/a/b)",
                "pnpm-workspace.yaml (packages: pkg/a)",
                "pnpm-workspace.yaml (packages: tools/one/two)",
            ]
        );
        assert!(found.iter().all(|entry| is_package(entry)));
        assert!(!is_package("Cargo.toml (package.autotests = false)") && !is_package("a (workspaces: b)"));
        assert_eq!(listed_by_pnpm("packages: [ 'a/*', b,\n  \"!a/c\" ]\nx: [d]\n"), ["a/*", "b", "!a/c"]);
        assert_eq!(listed_by_pnpm("onlyBuiltDependencies:\n  - esbuild\n"), [""; 0]);
        assert_eq!(
            described_as_gone("package.json (workspaces: pkg/a)"),
            "package.json (workspaces: pkg/a is gone)"
        );
    }

    #[test]
    fn what_is_gone_matters_where_protected_tests_are_of_it() {
        let known = [
            "Cargo.toml ([package] name = \"top\")",
            "Cargo.toml ([workspace] members: a)",
            "Cargo.toml (dependency judge: tests/judge)",
            "a/Cargo.toml ([package] name = \"a\")",
            "package.json (workspaces: a)",
            "pnpm-workspace.yaml (packages: a)",
            "a/package.json (name: @pkg/a)",
        ];
        let top = known[0];
        for (gone, now, command, protected, is_left_out) in [
            (top, &[][..], "cargo test", "tests/calc.rs", true),
            (top, &[], "cargo test", "tests/data.json", false),
            (top, &[], "cargo test", "a/tests/calc.rs", false),
            (top, &["Cargo.toml ([package] name = \"other\")"], "cargo test", "tests/calc.rs", false),
            (top, &["Cargo.toml ([package] name = \"other\")"], "cargo test -p top", "tests/calc.rs", true),
            (known[1], &[], "cargo test", "a/tests/calc.rs", true),
            (known[1], &[], "cargo test", "tests/calc.rs", false),
            (known[2], &[], "cargo test", "tests/judge/src/lib.rs", true),
            (known[2], &[], "cargo test", "tests/calc.rs", false),
            (known[4], &[], "npm test", "a/tests/calc.js", true),
            (known[4], &[], "npm test", "tests/calc.js", false),
            (known[4], &[known[5]], "npm test", "a/tests/calc.js", false),
            (known[5], &[], "pnpm -r test", "a/tests/calc.js", true),
            (known[6], &[known[4]], "npm test --workspace=@pkg/a", "a/tests/calc.js", true),
            (known[6], &[], "npm test -w '@pkg/a'", "tests/calc.js", false),
            (known[6], &[], "npm test -w a", "a/tests/calc.js", false),
        ] {
            let starts = |start: &str| now.iter().any(|entry| entry.starts_with(start));
            let found = left_out_a_test(
                gone,
                known.iter(),
                starts,
                &[command.to_owned()],
                [protected.to_owned()].into_iter(),
            );
            assert_eq!(found, is_left_out, "{gone} {command} {protected}");
        }
    }
}
