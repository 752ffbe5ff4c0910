//! The money of a fleet: a part of it is reserved for each harness before it begins, and what a harness has not spent is free again when it has ended.

use autonoe_core::money::Usd;
use serde_json::json;

use super::{Supervisor, SupervisorError};
use crate::meta_state::RESERVED;

impl Supervisor<'_> {
    /// What a harness may cost; `None` if the fleet has no limit. One that is started again has what it had.
    pub(super) fn reserve(&self, id: &str) -> Result<Option<Usd>, SupervisorError> {
        let Some(limit) = self.fleet.plan.settings.max_cost else {
            return Ok(None);
        };
        let reserved = self.state.reserved()?;
        if let Some(part) = reserved.get(id) {
            return Ok(Some(*part));
        }
        // Of a harness that does not know its cost, everything may be spent.
        let used = self.members.iter().filter_map(|member| {
            let part = reserved.get(&member.id).copied();
            let spent = member.result.as_ref().and_then(|result| result.cost_usd).map(Usd);
            spent.or(part)
        });
        let left = Usd((limit.0 - used.sum::<Usd>().0).max(0.0));
        let is_unbegun = |id: &String| !reserved.contains_key(id);
        let unbegun = self.members.iter().filter(|member| member.result.is_none() && is_unbegun(&member.id));
        let part = Usd(left.0 / unbegun.count().max(1) as f64);
        self.share(RESERVED, Some(id), &json!({ "max_cost": part }))?;
        Ok(Some(part))
    }
}
