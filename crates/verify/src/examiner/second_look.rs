//! The second look at checks that fail in a confirmation, on the same files, before anything that had passed is taken back. A claim gets none.

use autonoe_core::check::Check;
use autonoe_core::event::{CheckPurpose, RunEvent};
use autonoe_core::fault::Fault;
use autonoe_store::CheckRegistry;

use super::ProjectExaminer;
use super::what_counts::assurance;
use crate::check_results::CheckResults;
use crate::checkout::Checkout;
use crate::checks::check_key;
use crate::flaky::count_looks;

impl ProjectExaminer {
    /// Runs the checks that have failed once more. One that passes now has passed, and is counted as flaky.
    pub(super) async fn look_again(
        &self,
        registry: &mut CheckRegistry,
        checkout: &Checkout,
        results: &mut CheckResults,
    ) -> Result<(), Fault> {
        let purpose = CheckPurpose::Confirmation;
        let failed = || results.evidence.iter().filter(|evidence| !evidence.run.passed());
        let checks: Vec<Check> = failed().map(|evidence| evidence.check.clone()).collect();
        if checks.is_empty() {
            return Ok(());
        }
        let again = self.run_checks(registry, checkout, &checks.iter().collect::<Vec<_>>(), purpose).await?;
        if again.evidence.len() < checks.len() {
            return Ok(());
        }
        count_looks(registry, &self.files_of(checkout), purpose, failed());
        for evidence in again.evidence {
            if evidence.run.passed() {
                let name = &evidence.check.name;
                let message =
                    format!("Check `{name}` failed and then passed on the same files, so it is flaky.");
                self.emit(RunEvent::Notice { message }).await?;
            }
            let key = check_key(&evidence.check);
            if let Some(first) = results.evidence.iter_mut().find(|first| check_key(&first.check) == key) {
                *first = evidence;
            }
        }
        results.failures = again.failures;
        results.not_counted.extend(again.not_counted);
        results.uncounted.extend(again.uncounted);
        results.assurance = assurance(&results.evidence, registry);
        Ok(())
    }
}
