//! Deciding files of a commit, compared with those that there were when its checks were new: what is gone, and what commands have changed.

use std::collections::BTreeMap;

use autonoe_core::check::Check;
use autonoe_store::{CheckRegistry, ProtectedPath};

use crate::beside_protected::is_protected;
use crate::checkout::Checkout;
use crate::deciding_files::{DecidingFile, DecidingKind, concerns, kind_by_name};
use crate::packages::{is_npm_package, is_package, listed_in};

pub(crate) struct ComparedFiles<'a> {
    pub(crate) registry: &'a CheckRegistry,
    pub(crate) checkout: &'a Checkout,
    pub(crate) checks: &'a [&'a Check],
    /// Files that there were, each with what mattered in it.
    pub(crate) known: &'a BTreeMap<String, String>,
    pub(crate) now: BTreeMap<String, DecidingFile>,
    /// Texts of the user's programs that the checks protect.
    pub(crate) scripts: &'a [String],
    /// The same, and the rules of the user's makefile and packages.
    pub(crate) with_rules: &'a [String],
}

impl ComparedFiles<'_> {
    /// Whether a kind of file matters to the checks.
    pub(crate) fn concerns(&self, kind: DecidingKind) -> bool {
        let scripts = if let DecidingKind::SettingsOf(_) = kind { self.with_rules } else { self.scripts };
        concerns(kind, self.checks, scripts)
    }

    /// Packages that manifests listed and list no more.
    pub(crate) fn lost_packages(&self) -> Vec<String> {
        let is_listed =
            |entry: &str| self.now.get(entry).is_some_and(|file| file.kind == DecidingKind::ListedPackage);
        let is_lost = |entry: &&String| {
            is_package(entry) && !is_listed(entry) && !is_protected(self.registry, listed_in(entry))
        };
        // Nothing is known before it was checked out.
        let lost = self.known.keys().filter(is_lost).filter(|_| self.checkout.is_looked_at());
        let is_run = |entry: &&String| !is_npm_package(entry) || self.concerns(DecidingKind::Package);
        lost.filter(is_run).cloned().collect()
    }

    /// Files that decide by their names and are gone, or say nothing any more: without one, a tool takes another one, or what it does by
    /// default.
    pub(crate) fn gone_files(&self) -> Vec<(DecidingKind, String)> {
        let gone = self.known.keys().filter(|path| !self.now.contains_key(*path));
        let gone = gone.filter(|path| self.checkout.is_looked_at() && !is_protected(self.registry, path));
        let described = |path: &String| match self.checkout.has_entry(path) {
            true => path.clone(),
            false => format!("{path} (removed)"),
        };
        let kinds = gone.filter_map(|path| Some((kind_by_name(path)?, path)));
        kinds.filter(|(kind, _)| self.concerns(*kind)).map(|(kind, path)| (kind, described(path))).collect()
    }

    /// Files that a command of the checks has changed, and not as when the checks were new.
    pub(crate) fn changed_by_commands(&self) -> Vec<String> {
        // Protected ones are restored, and those that were added to them are taken away.
        let is_restored = |path: &str| {
            let is_it = |(file, _): &(ProtectedPath, _)| file.to_string() == path;
            self.checkout.changed.get().into_iter().flatten().any(is_it) || is_protected(self.registry, path)
        };
        let is_known =
            |change: &String| self.registry.runner_files.as_ref().is_some_and(|known| known.contains(change));
        let matters = |path: &str| self.now.get(path).is_some_and(|file| self.concerns(file.kind));
        let changed = self.checkout.changed_by_checks().into_iter();
        let changed =
            changed.filter(|(path, change)| !is_known(change) && !is_restored(path) && matters(path));
        let mut paths: Vec<String> = changed.map(|(path, _)| path).collect();
        paths.dedup();
        paths.into_iter().map(|path| format!("{path} (changed by a check's command)")).collect()
    }
}
