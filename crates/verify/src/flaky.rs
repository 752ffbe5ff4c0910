//! Checks that pass and fail on the same files: an agent that repeats a claim often enough gets one to pass, so that is reported.

use autonoe_core::check::Check;
use autonoe_core::event::CheckPurpose;
use autonoe_store::{CheckLooks, CheckRegistry, sha256_hex};

use crate::check_results::CheckResults;
use crate::checks::check_key;
use crate::evidence::CheckEvidence;

/// Everything that a check judges by: the files of the commit on a sandbox layer, and the accepted ones.
fn files(registry: &CheckRegistry, tree: &str) -> String {
    let accepted = registry.files.iter().map(|(path, accepted)| format!("\n{path} {}", accepted.sha256));
    sha256_hex(accepted.fold(tree.to_owned(), |text, line| text + &line).as_bytes())
}

/// Counts how checks ended. A claim begins anew with other files: its builder may have repaired the check.
pub(crate) fn count_looks<'a>(
    registry: &mut CheckRegistry,
    tree: &str,
    purpose: CheckPurpose,
    evidence: impl Iterator<Item = &'a CheckEvidence>,
) {
    let files = files(registry, tree);
    for evidence in evidence.filter(|evidence| evidence.run.was_started()) {
        let looks = registry.looks.entry(check_key(&evidence.check)).or_default();
        if looks.files != files {
            let was_flaky = purpose != CheckPurpose::Claim && (looks.was_flaky || looks.is_flaky());
            *looks = CheckLooks { files: files.clone(), was_flaky, ..CheckLooks::default() };
        }
        match evidence.run.passed() {
            true => looks.passed += 1,
            false => looks.failed += 1,
        }
    }
}

/// A clause about the checks of a look that have also failed on the same files; `None` if there are none.
pub(crate) fn describe_flaky(registry: &CheckRegistry, results: &CheckResults) -> Option<String> {
    let checks = results.evidence.iter().map(|evidence| &evidence.check);
    let flaky: Vec<String> = checks
        .filter_map(|check| Some(format!("`{}` {}", check.name, how_flaky(registry, check)?)))
        .collect();
    (!flaky.is_empty()).then(|| flaky.join(", "))
}

/// How often a check failed that has also passed on the same files; `None` if it is not flaky.
pub(crate) fn how_flaky(registry: &CheckRegistry, check: &Check) -> Option<String> {
    let looks = registry.looks.get(&check_key(check))?;
    let CheckLooks { passed, failed, .. } = looks;
    looks.is_flaky().then(|| format!("failed {failed} of {} times on the same files", passed + failed))
}

/// Whether a check that fails says nothing about what was changed: it was flaky before, on these files or on others.
pub(crate) fn is_known_flaky(registry: &CheckRegistry, check: &Check) -> bool {
    registry.looks.get(&check_key(check)).is_some_and(|looks| looks.was_flaky || looks.is_flaky())
}
