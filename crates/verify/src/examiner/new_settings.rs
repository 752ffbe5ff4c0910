//! Files that came with the work and may decide what a check shows, since test runners read them by themselves, as settings or as tests, or make takes them for built:
//! whether a check passes only because of them.

use std::collections::{BTreeMap, BTreeSet};

use autonoe_core::check::Check;
use autonoe_core::fault::Fault;
use autonoe_core::file_names::list_names;
use autonoe_store::{CheckRegistry, ProtectedPath};

use super::ProjectExaminer;
use crate::added_files::{added_files, why_failed_with};
use crate::check_run;
use crate::checkout::Checkout;
use crate::new_settings::is_dispensable;
use crate::noted_files::NotedFiles;
use crate::runner_files::whole_package;

impl ProjectExaminer {
    /// Why a check that passed does not count with `--strict`: without such files it does not pass. Where nothing is protected, the tests are the agent's like the settings beside them.
    pub(super) async fn needs_new_settings(
        &self,
        check: &Check,
        registry: &CheckRegistry,
        checkout: &Checkout,
    ) -> Result<Option<String>, Fault> {
        let noted = NotedFiles::of(registry, checkout, &[check], &self.project);
        let lost = noted.packages_without_tests(registry, check, checkout);
        if !lost.is_empty() {
            return Ok(Some(format!(
                "with --strict the packages of the tests that it protects must still be there ({}); if that is right, run `autonoe \
                 checks accept {}` once it has landed",
                list_names(lost),
                check.name
            )));
        }
        let settings = noted.read_by_judges.into_iter().filter(|_| !check.protect.is_empty());
        let files = settings.chain(noted.in_place_of_built);
        let new: BTreeSet<String> = files.filter_map(|file| checkout.committed_path(file)).collect();
        let is_restored = |file: &str| registry.files.contains_key(&ProtectedPath::new(file));
        let stays = |file: &str| is_restored(file) || (checkout.has_entry(file) && !new.contains(file));
        let files = new.iter().filter(|file| is_dispensable(file, stays));
        let packages = noted.spare_packages.into_iter().filter(|_| !check.protect.is_empty());
        // Of a package, what it runs when it is imported is taken away, not the package.
        let files: BTreeSet<String> =
            files.map(|file| whole_package(file).to_owned()).chain(packages).collect();
        // Of manifests that were there before, only what they say about tests.
        let manifests = noted.changed_manifests.into_iter().filter(|_| !check.protect.is_empty());
        let manifests: BTreeMap<String, String> = manifests
            .filter_map(|(manifest, before)| Some((checkout.committed_path(manifest)?, before)))
            .collect();
        if files.is_empty() && manifests.is_empty() {
            return Ok(None);
        }
        let settings = manifests.keys().map(|manifest| format!("{manifest}: its settings for tests"));
        let shown = list_names(files.iter().cloned().chain(settings));
        let mut without = self.checkouts.check_out(checkout.revision.commit.as_deref()).await?;
        (without.without, without.manifests) = (files.into_iter().collect(), manifests);
        let run = check_run::run(check, &without, registry, &self.project).await?;
        without.close().await;
        Ok((!run.passed()).then(|| {
            format!(
                "with --strict it must also pass without new files that may decide what it shows ({shown}), and there {}; if they are \
                 right, run `autonoe checks accept {}` once they have landed",
                run.sentence(),
                check.name
            )
        }))
    }

    /// Why a check that passed does not count with `--strict`: it does not see files that will land, and fails with them.
    pub(super) async fn fails_with_added_files(
        &self,
        check: &Check,
        registry: &CheckRegistry,
        checkout: &Checkout,
    ) -> Result<Option<String>, Fault> {
        let added = added_files(registry, checkout);
        let commit = checkout.revision.commit.as_deref();
        why_failed_with(&added, check, &self.checkouts, commit, registry, &self.project).await
    }
}
