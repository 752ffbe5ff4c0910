//! Deliverables that the user's branch has, verified, and that have not passed with new commits: these commits do not land by themselves.

use autonoe_core::fault::Fault;

use crate::hub::Hub;
use crate::settled::Settled;

impl Hub {
    /// The ids of what was verified when something last landed, and does not count as passed now: it has failed, or an agent has taken it back.
    /// None if the user has gone on since that landing, and may have broken it, or if it fails on the user's branch already.
    pub(crate) async fn broken_since_landing(
        &self,
        base: Option<&str>,
        settled: &Settled,
    ) -> Result<Vec<String>, Fault> {
        let (Some((landed, had)), Some(base)) = (self.last_landing(), base) else { return Ok(Vec::new()) };
        if landed != base {
            return Ok(Vec::new());
        }
        let not_passed = settled.not_passed.iter().filter(|(id, _)| had.verified.contains(*id));
        let not_passed: Vec<_> = not_passed.collect();
        if not_passed.is_empty() {
            return Ok(Vec::new());
        }
        let mut broken = Vec::new();
        for (id, failed_on) in not_passed {
            let fails_there = match failed_on {
                Some(commit) => self.is_ancestor(commit, base).await?,
                None => false,
            };
            if !fails_there {
                broken.push(id.clone());
            }
        }
        Ok(broken)
    }

    /// The user's word that what is not passed now need not stay as it is, as after `sync`: the specification may have changed.
    pub(crate) fn forget_verified(&self, settled: &Settled) -> Result<(), Fault> {
        let Some((_, mut had)) = self.last_landing() else { return Ok(()) };
        let before = had.verified.len();
        for ids in [&mut had.verified, &mut had.passed] {
            ids.retain(|id| !settled.not_passed.contains_key(id));
        }
        if had.verified.len() == before { Ok(()) } else { self.note_settled(&had) }
    }
}
