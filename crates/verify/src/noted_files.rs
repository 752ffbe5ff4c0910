//! Files that a reader of "verified" should look at: they may change what its checks show. They are a hint and refuse nothing.

use std::collections::BTreeMap;

use autonoe_core::check::Check;
use autonoe_core::file_names::list_names;
use autonoe_store::{CheckRegistry, Project};
use serde::{Deserialize, Serialize};

use crate::beside_protected::{
    has_tests_of_cargo, is_among_protected, is_beside_protected, is_protected, is_with_protected_module,
};
use crate::cargo_manifest::changed_settings;
use crate::checkout::Checkout;
use crate::compared_files::ComparedFiles;
use crate::deciding_files::DecidingKind;
use crate::discovery::{
    imports, is_imported_from, is_run_with, mentions, module_run_as, package_of, searched_for_tests,
};
use crate::harmless_settings::has_harmless_forms;
use crate::judge_languages::JudgeLanguages;
use crate::named_paths::{is_named_in, is_searched};
use crate::namesakes::Namesakes;
use crate::oracles::is_protected_by;
use crate::packages::{described_as_gone, is_npm_package, left_out_a_test};
use crate::runner_files::{
    has_customary_name, is_option, module_directory, package_of_shadow, whole_package,
};
use crate::test_files::{TestPatterns, TestPlaces, is_in_tests, is_test_file};
use crate::user_scripts::{rules_of_user, scripts_of_user};

/// The most files of a kind that are named on a screen; the rest is counted.
const MAX_NAMED: usize = 20;

/// Since the checks were new.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedFiles {
    /// New ones that test runners read by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runner_files: Vec<String>,
    /// Changed ones that tools read by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_settings: Vec<String>,
    /// New or changed ones that say what commands of the checks run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_by_checks: Vec<String>,
    /// New or changed packages that a test runner imports when it looks for tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported_packages: Vec<String>,
    /// New or changed programs with the names of common commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// New ones that a check would build with `make`, which may leave them as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_place_of_built: Vec<String>,
    /// New or changed ones in which nothing can be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compiled: Vec<String>,
    /// New or changed packages that are committed, and that tests may load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// New tests that no command names. Agents add tests all the time, so they are not named.
    #[serde(skip)]
    pub(crate) tests: Vec<String>,
    /// Those among the new packages that nothing else needs, as far as can be told.
    #[serde(skip)]
    pub(crate) spare_packages: Vec<String>,
    /// Manifests of Cargo with changed settings, and what they said before.
    #[serde(skip)]
    pub(crate) changed_manifests: BTreeMap<String, String>,
    /// Packages that manifests listed and list no more.
    #[serde(skip)]
    pub(crate) lost_packages: Vec<String>,
    /// Those among the new ones that what judges may read, tests included.
    #[serde(skip)]
    pub(crate) read_by_judges: Vec<String>,
}

impl NotedFiles {
    pub(crate) fn of(
        registry: &CheckRegistry,
        checkout: &Checkout,
        checks: &[&Check],
        project: &Project,
    ) -> Self {
        let commands = checks.iter().flat_map(|check| check.setup.iter().chain([&check.command]));
        let scripts = scripts_of_user(registry, project);
        let globs = || checks.iter().flat_map(|check| &check.protect);
        let own = scripts.iter().filter(|(path, _)| globs().any(|glob| is_protected_by(glob, path)));
        let own: Vec<String> = own.map(|(_, text)| text.clone()).collect();
        let paths: Vec<String> = scripts.iter().map(|(path, _)| path.clone()).collect();
        let texts: Vec<String> = commands.cloned().chain(scripts.into_iter().map(|(_, text)| text)).collect();
        let judges = JudgeLanguages::of(&texts, &paths);
        let places = TestPlaces::of(&texts, &judges, |path| checkout.has_entry(path));
        let reaches = |file: &str, is_test: bool| {
            let is_searched = |directory: &str| match directory {
                "" => judges.search_the_top,
                _ => judges.set_paths || is_searched(directory, registry, &texts),
            };
            let is_found = if is_test { places.contain(file) } else { true };
            is_found && judges.may_read(file) && module_directory(file).is_none_or(is_searched)
        };
        let is_read = |file: &str| {
            let package = package_of_shadow(file, |path| checkout.has_entry(path));
            package.is_none_or(|package| is_searched(package, registry, &texts))
        };
        let mut runner_files = new_runner_files(registry, checkout, is_read);
        let known = registry.runner_files.clone().unwrap_or_default();
        let is_new = |file: &String| {
            !known.contains(file) && !registry.namesakes.contains(file) && !is_protected(registry, file)
        };
        let namesakes = checkout.namesakes(&Namesakes::of(registry.files.keys())).into_iter();
        let in_place = checkout.namesakes(&Namesakes::in_place_of_directories(registry.files.keys()));
        // A module counts where Python looks for modules, and what protects its directory is not elsewhere.
        let is_elsewhere = |file: &String| {
            let place = whole_package(file).rsplit_once('/').map_or("", |(directory, _)| directory);
            let is_top = place.is_empty() && whole_package(file) != file;
            !is_top && (judges.set_paths || is_searched(place, registry, &texts)) && judges.may_read(file)
        };
        let directories = checkout.namesakes(&Namesakes::of_directories(registry.files.keys())).into_iter();
        let commands = checkout.namesakes(&Namesakes::of_commands(registry.files.keys(), &texts)).into_iter();
        let is_unknown =
            |file: &String| !registry.deciding_files.as_ref().is_some_and(|known| known.contains_key(file));
        let namesakes = namesakes.chain(directories.filter(is_elsewhere)).chain(commands).chain(in_place);
        let namesakes = namesakes.filter(|file| is_new(file) && is_unknown(file));
        for file in namesakes {
            if !runner_files.contains(&file) {
                runner_files.push(file);
            }
        }
        let found = checkout.namesakes(&Namesakes::of_patterns(registry.files.keys(), &texts)).into_iter();
        let found: Vec<String> = found.filter(|file| is_new(file) && is_unknown(file)).collect();
        let in_place_of_built = checkout.built().into_iter().filter(is_new).collect();
        let mut noted = Self { runner_files, in_place_of_built, ..Self::default() };
        let is_unprotected = globs().next().is_none();
        let rules = if judges.are_unknown { rules_of_user(project) } else { Vec::new() };
        let with_rules: Vec<String> = own.iter().cloned().chain(rules).collect();
        let searched = searched_for_tests(texts.iter().chain(&with_rules));
        // Nothing is known about a project whose checks were new before this was looked at.
        let Some(known) = &registry.deciding_files else { return noted.read_by(reaches) };
        let compared = ComparedFiles {
            registry,
            checkout,
            checks,
            known,
            now: checkout.deciding_files(),
            scripts: &own,
            with_rules: &with_rules,
        };
        for (path, file) in compared.now.clone() {
            let before = known.get(&path);
            let is_same = before.is_some_and(|before| file.is(before));
            // One that said nothing is as good as none.
            let may_be_empty = matches!(
                file.kind,
                DecidingKind::Manifest | DecidingKind::Package | DecidingKind::PythonPackage
            );
            let before = before.filter(|before| !(may_be_empty && before.is_empty()));
            let says_nothing = file.fingerprint.is_empty() && before.is_none();
            let is_with_module = is_with_protected_module(registry, &path);
            // Tests are often made a package.
            if says_nothing && (!is_with_module || is_in_tests(&path)) {
                continue;
            }
            let is_named = noted.runner_files.contains(&path);
            let is_decided = is_same || is_named || is_protected(registry, &path);
            if is_decided || !is_read(&path) || !compared.concerns(file.kind) {
                continue;
            }
            match (file.kind, before) {
                (DecidingKind::Settings | DecidingKind::SettingsOf(_) | DecidingKind::TypeScript, None) => {
                    noted.runner_files.push(path)
                }
                (
                    DecidingKind::Settings | DecidingKind::SettingsOf(_) | DecidingKind::TypeScript,
                    Some(_),
                ) => noted.changed_settings.push(path),
                (DecidingKind::Package, _) => noted.run_by_checks.push(format!("{path} (scripts)")),
                (DecidingKind::Manifest, before) => {
                    // What a new one says about tests that were there is no less than a change.
                    if before.is_none() && !has_tests_of_cargo(registry, &path) {
                        continue;
                    }
                    let before = before.cloned();
                    let changed = changed_settings(before.as_deref().unwrap_or_default(), &file.fingerprint);
                    if !changed.is_empty() {
                        noted.changed_settings.push(format!("{path} ({})", changed.join(", ")));
                        noted.changed_manifests.extend(before.map(|before| (path, before)));
                    }
                }
                (DecidingKind::MakeRules, _) => noted.run_by_checks.push(path),
                (DecidingKind::PythonPackage, before) => {
                    let package = package_of(&path).unwrap_or_default();
                    let is_beside = is_beside_protected(registry, &path);
                    let is_package =
                        |directory: &str| checkout.has_entry(&format!("{directory}/__init__.py"));
                    let is_found = searched.iter().any(|start| is_imported_from(start, package, is_package));
                    // A package that tests import can change them anyway.
                    let is_tested = imports(own.iter(), package);
                    if !(is_beside || is_with_module || (is_found && !is_tested)) {
                        let is_in_tests = is_in_tests(&path) && places.contain(&path);
                        if is_in_tests && (before.is_some() || is_unprotected) {
                            noted.run_by_checks.push(path);
                        }
                        continue;
                    }
                    let is_needed = file.is_imported || mentions(texts.iter(), package);
                    if before.is_none() && (is_beside || !is_needed) {
                        noted.spare_packages.push(path.clone());
                    }
                    noted.imported_packages.push(path);
                }
                (DecidingKind::Command, _) if is_named_in(&texts, &path) => {}
                (DecidingKind::Command, _) => noted.commands.push(path),
                (DecidingKind::Compiled, _) => noted.compiled.push(path),
                (DecidingKind::Test | DecidingKind::Script, before) => {
                    let (is_test, is_named) = (file.kind == DecidingKind::Test, is_named_in(&texts, &path));
                    let is_run = is_named || (is_in_tests(&path) && places.contain(&path));
                    // With tests that are protected, new ones are only more.
                    if is_run && (before.is_some() || (is_unprotected && is_in_tests(&path))) {
                        noted.run_by_checks.push(path.clone());
                    }
                    match (is_test, before) {
                        (true, None) if !is_named => noted.tests.push(path),
                        (false, None) if is_beside_protected(registry, &path) && judges.may_read(&path) => {
                            noted.runner_files.push(path);
                        }
                        _ => {}
                    }
                }
                (DecidingKind::PythonProgram, None) => {
                    let is_run = |module: &str| {
                        is_run_with(texts.iter(), module, |path| is_among_protected(registry, path))
                    };
                    if module_run_as(&path).is_some_and(is_run) {
                        noted.run_by_checks.push(path);
                    }
                }
                (DecidingKind::PythonProgram, Some(_)) => {}
                (DecidingKind::Dependency, _) => noted.dependencies.push(path),
                (DecidingKind::ListedPackage, _) => {}
            }
        }
        noted.lost_packages = compared.lost_packages();
        for entry in &noted.lost_packages {
            match is_npm_package(entry) {
                true => noted.run_by_checks.push(described_as_gone(entry)),
                false => noted.changed_settings.push(described_as_gone(entry)),
            }
        }
        for (kind, gone) in compared.gone_files() {
            match kind {
                // What was in it is named.
                DecidingKind::Manifest => {}
                DecidingKind::Package | DecidingKind::MakeRules => noted.run_by_checks.push(gone),
                _ => noted.changed_settings.push(gone),
            }
        }
        // A test that is gone fails no more.
        let is_gone =
            |path: &&String| is_test_file(path) && !checkout.has_entry(path) && !is_protected(registry, path);
        let gone =
            known.keys().filter(is_gone).filter(|path| is_named_in(&texts, path) || places.contain(path));
        noted.run_by_checks.extend(gone.map(|path| format!("{path} (removed)")));
        let is_new = |path: &String| !known.contains_key(path) && !is_protected(registry, path);
        let matched = checkout.tests_of(&TestPatterns::of(checks.iter().copied())).into_iter();
        noted.tests.extend(matched.filter(|path| is_new(path) && !is_named_in(&texts, path)));
        let is_test = |path: &String| is_test_file(path) || noted.tests.contains(path);
        let is_named =
            |path: &String| noted.runner_files.contains(path) || noted.run_by_checks.contains(path);
        let found: Vec<String> = found.into_iter().filter(|path| !is_test(path) && !is_named(path)).collect();
        noted.run_by_checks.extend(found);
        noted.run_by_checks.extend(compared.changed_by_commands());
        // Only the first of many are named.
        let mut same: BTreeMap<String, usize> = BTreeMap::new();
        for file in &noted.runner_files {
            *same.entry(name_of(file).to_owned()).or_default() += 1;
        }
        let is_one_of_many = |file: &String| same.get(name_of(file)).is_some_and(|count| *count > 1);
        // What is loaded in place of a module comes first, and what nothing that judges reads last.
        let rank = |file: &str| match (reaches(file, false), module_directory(file)) {
            (true, Some(_)) => 0,
            (true, None) => 1,
            (false, _) => 2,
        };
        noted.runner_files.sort_by_cached_key(|file| {
            (rank(file), has_customary_name(file), is_one_of_many(file), file.clone())
        });
        noted.read_by(reaches)
    }

    /// The packages that are gone and to which protected tests belonged, or what these use.
    pub(crate) fn packages_without_tests(
        &self,
        registry: &CheckRegistry,
        check: &Check,
        checkout: &Checkout,
    ) -> Vec<String> {
        let commands: Vec<String> = check.setup.iter().chain([&check.command]).cloned().collect();
        let now = checkout.deciding_files();
        let is_now = |start: &str| {
            now.range(start.to_owned()..).next().is_some_and(|(entry, _)| entry.starts_with(start))
        };
        let protected = || {
            let files = registry.files.keys().map(ToString::to_string);
            files.filter(|file| check.protect.iter().any(|glob| is_protected_by(glob, file)))
        };
        let known = || registry.deciding_files.iter().flatten().map(|(entry, _)| entry);
        let lost = self.lost_packages.iter();
        let lost = lost.filter(|entry| left_out_a_test(entry, known(), is_now, &commands, protected()));
        lost.map(|entry| described_as_gone(entry)).collect()
    }

    /// `reaches` is asked about each file, and whether it is a test.
    fn read_by(mut self, reaches: impl Fn(&str, bool) -> bool) -> Self {
        let settings = self.runner_files.iter().filter(|file| reaches(file, false));
        let tests = self.tests.iter().filter(|file| reaches(file, true));
        self.read_by_judges = settings.chain(tests).chain(&self.commands).cloned().collect();
        self
    }

    /// What a run says about them, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        self.described().map(|(sentence, _, names)| format!("{sentence}: {names}.")).collect()
    }

    /// The same behind "look at", a clause each.
    pub fn clauses(&self) -> Vec<String> {
        self.described().map(|(_, clause, names)| format!("{clause}: {names}")).collect()
    }

    /// The same with the names of all files.
    pub fn all_clauses(&self) -> Vec<String> {
        let kinds = self.kinds().into_iter();
        kinds.map(|(files, _, clause)| format!("{clause}: {}", list_names(&files))).collect()
    }

    /// Each kind of which there are files: the beginning of a sentence about them, of a clause, and their names.
    fn described(&self) -> impl Iterator<Item = (&'static str, &'static str, String)> {
        let kinds = self.kinds().into_iter();
        kinds.map(|(files, sentence, clause)| (sentence, clause, list_some(&files)))
    }

    #[rustfmt::skip]
    fn kinds(&self) -> Vec<(Vec<String>, &'static str, &'static str)> {
        let (odd_names, runner_files) = self.runner_files.iter().cloned().partition(|file| is_option(name_of(file)));
        let kinds: [(&Vec<String>, &'static str, &'static str); 9] = [
            (&odd_names, "Commands may take these new names for options or commands", "new names that commands may take for options or commands"),
            (&runner_files, "Test runners and other tools read these new files by themselves", "new files that test runners and other tools read by themselves"),
            (&self.changed_settings, "Test runners and other tools read these changed files by themselves", "changed files that test runners and other tools read by themselves"),
            (&self.run_by_checks, "What the checks run was written or changed with the work", "what the checks run, which was written or changed with the work"),
            (&self.imported_packages, "A test runner imports these new or changed packages when it looks for tests", "new or changed packages that a test runner imports when it looks for tests"),
            (&self.commands, "These new programs have the names of common commands", "new programs with the names of common commands"),
            (&self.in_place_of_built, "These new files are committed in the place of what make builds", "new files in the place of what make builds"),
            (&self.dependencies, "These dependencies were committed or changed with the work, and tests may load them", "dependencies that were committed or changed with the work"),
            (&self.compiled, "These new files are compiled, and nobody can read what they do", "new compiled files, in which nothing can be read"),
        ];
        let named = kinds.into_iter().filter(|(files, ..)| !files.is_empty());
        named.map(|(files, sentence, clause)| (files.clone(), sentence, clause)).collect()
    }
}

/// The names of files, as far as they are named on a screen. Evidence has them all.
fn list_some(files: &[String]) -> String {
    let named = list_names(files.iter().take(MAX_NAMED));
    match files.len().saturating_sub(MAX_NAMED) {
        0 => named,
        more => format!("{named} and {more} more, which `autonoe report` lists"),
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Files that test runners read by themselves, and that were not there when the checks were new.
fn new_runner_files(
    registry: &CheckRegistry,
    checkout: &Checkout,
    is_read: impl Fn(&str) -> bool,
) -> Vec<String> {
    let known = registry.runner_files.clone().unwrap_or_default();
    let is_new = |file: &String| !known.contains(file) && !is_protected(registry, file);
    // Those behind a link of the commit are not made by a command.
    let committed = checkout.deciding_files();
    // What is harmless by its content is not among them.
    let is_deciding = |file: &String| !has_harmless_forms(file) || committed.contains_key(file);
    let found = checkout.found_by_checks().into_iter().filter(|file| !committed.contains_key(file));
    let found = found.filter(is_new).map(|file| match checkout.has_entry(&file) {
        true => file,
        false => format!("{file} (made by a check's command)"),
    });
    let own = checkout.runner_files().into_iter();
    own.filter(|file| is_new(file) && is_read(file) && is_deciding(file)).chain(found).collect()
}

#[cfg(test)]
mod tests {
    use super::NotedFiles;

    #[test]
    fn many_files_are_counted() {
        let compiled = (0..25).map(|number| format!("{number}.o")).collect();
        let noted = NotedFiles { compiled, ..NotedFiles::default() };
        let [sentence] = noted.sentences().try_into().unwrap();
        assert!(sentence.ends_with(", 19.o and 5 more, which `autonoe report` lists."), "{sentence}");
        assert_eq!(noted.clauses().len(), 1);
        let [clause] = noted.all_clauses().try_into().unwrap();
        assert!(clause.ends_with(", 23.o, 24.o"), "{clause}");
        assert!(NotedFiles::default().sentences().is_empty());
    }
}
