//! A backend whose quota or login is gone gets no new harness: each would only find the same.

use autonoe_harness::control::{BackendLoss, LostBackend};
use jiff::Timestamp;

use super::Supervisor;
use crate::fleet_file::SubHarness;

impl Supervisor<'_> {
    /// A harness without the backends that others have lost, or why it cannot start: no other one is left.
    pub(super) fn with_usable_backends(&self, harness: &SubHarness) -> Result<SubHarness, String> {
        let lost = self.lost_backends(harness);
        let is_lost = |name: &str| lost.iter().find(|(_, lost)| lost.backend == name);
        let (left_out, usable): (Vec<String>, Vec<String>) =
            harness.cli.iter().cloned().partition(|name| is_lost(name).is_some());
        // Who names none gets the same as all others that name none, and those have tried all that it would.
        let without_name = lost.iter().find(|_| harness.cli.is_empty());
        let needed = left_out.first().filter(|_| usable.is_empty()).and_then(|name| is_lost(name));
        if let Some((by, lost)) = without_name.or(needed) {
            return Err(format!(
                "It was not started: {}, and no other backend is named for it.",
                words(by, lost)
            ));
        }
        for (by, lost) in left_out.iter().filter_map(|name| is_lost(name)) {
            let (id, others) = (&harness.id, usable.join(", "));
            self.warn(format!("{}, so {id} starts with {others} only.", words(by, lost)));
        }
        Ok(SubHarness { cli: usable, ..harness.clone() })
    }

    /// What others that use the same model have lost by now, and who found out.
    fn lost_backends(&self, harness: &SubHarness) -> Vec<(&str, &LostBackend)> {
        let now = Timestamp::now();
        let mut all = Vec::new();
        for (member, plan) in self.members.iter().zip(&self.fleet.plan.harnesses) {
            let Some(result) = &member.result else { continue };
            // One that names no backend says nothing about those that others name, unless all of its own are gone.
            let is_comparable = match harness.cli.is_empty() {
                true => {
                    plan.cli.is_empty()
                        && !result.success
                        && result
                            .lost_backends
                            .iter()
                            .any(|lost| Some(&lost.backend) == result.backend.as_ref())
                }
                false => true,
            };
            if plan.model == harness.model && is_comparable {
                all.extend(result.lost_backends.iter().map(|lost| (member.id.as_str(), lost)));
            }
        }
        all.retain(|(_, lost)| lost.is_lost_at(now));
        all
    }
}

/// `native has no quota left, as api found`.
fn words(by: &str, lost: &LostBackend) -> String {
    let backend = &lost.backend;
    match (lost.lost, lost.resets_at) {
        (BackendLoss::Quota, Some(at)) => format!("{backend} has no quota left until {at}, as {by} found"),
        (BackendLoss::Quota, None) => format!("{backend} has no quota left, as {by} found"),
        (BackendLoss::Login, _) => format!("the login of {backend} was refused, as {by} found"),
    }
}
