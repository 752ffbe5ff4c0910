//! Checks that pass and fail on the same files: an agent that repeats a claim often enough gets one to pass, so that is reported.

use autonoe_core::check::Check;
use autonoe_store::{CheckLooks, CheckRegistry, sha256_hex};

use crate::check_results::CheckResults;
use crate::checks::check_key;

/// Everything that a check judges by: the files of the commit on a sandbox layer, and the accepted ones.
fn files(registry: &CheckRegistry, tree: &str) -> String {
    let accepted = registry.files.iter().map(|(path, accepted)| format!("\n{path} {}", accepted.sha256));
    sha256_hex(accepted.fold(tree.to_owned(), |text, line| text + &line).as_bytes())
}

/// Counts how the checks of a look ended.
pub(crate) fn count_looks(registry: &mut CheckRegistry, tree: &str, results: &CheckResults) {
    let files = files(registry, tree);
    for evidence in results.evidence.iter().filter(|evidence| evidence.run.was_started()) {
        let looks = registry.looks.entry(check_key(&evidence.check)).or_default();
        if looks.files != files {
            *looks = CheckLooks { files: files.clone(), ..CheckLooks::default() };
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
    let CheckLooks { passed, failed, .. } = registry.looks.get(&check_key(check))?;
    let is_flaky = *passed > 0 && *failed > 0;
    is_flaky.then(|| format!("failed {failed} of {} times on the same files", passed + failed))
}
