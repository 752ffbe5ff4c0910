//! Deliverables that the user's branch has, verified, and that fail with new commits: these commits do not land by themselves.

use autonoe_core::fault::Fault;

use crate::hub::Hub;
use crate::settled::Settled;

impl Hub {
    /// The ids of what was verified when something last landed, and has failed on commits up to `commit` that are not in `base`. None if the
    /// user has gone on since that landing, and may have broken it.
    pub(crate) async fn broken_by(
        &self,
        commit: &str,
        base: Option<&str>,
        settled: &Settled,
    ) -> Result<Vec<String>, Fault> {
        let had = match self.last_landing() {
            Some((landed, settled)) if base == Some(landed.as_str()) => settled.verified,
            Some(_) | None => return Ok(Vec::new()),
        };
        let failed: Vec<_> = settled.failed_on.iter().filter(|(id, _)| had.contains(*id)).collect();
        if failed.is_empty() {
            return Ok(Vec::new());
        }
        let room = self.room(self.layout.readable(), [])?;
        let broken = async {
            let mut broken = Vec::new();
            for (id, on) in failed {
                let is_landed = match base {
                    Some(base) => self.is_ancestor(&room, on, base).await?,
                    None => false,
                };
                if !is_landed && self.is_ancestor(&room, on, commit).await? {
                    broken.push(id.clone());
                }
            }
            Ok(broken)
        };
        let broken = broken.await;
        room.close().await;
        broken
    }
}
