//! The beginning of a fleet, which is the continuation of the one that has not ended.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::params;

use super::rows::FleetRow;
use super::{MetaState, MetaStateError};
use crate::fleet_file::FleetFile;

impl MetaState {
    /// Continues the fleet of the same plan, or begins a new one if the last one is over. `checked_tasks` are those of each harness.
    pub fn begin(
        &self,
        plan: &FleetFile,
        checked_tasks: &[u32],
        now: Timestamp,
    ) -> Result<FleetRow, MetaStateError> {
        let plan = &plan.without_lines();
        let before = self.fleet()?;
        let number = match &before {
            Some(before) if before.result.is_none() && is_same(&before.plan, plan) => {
                return self.continued(before.clone(), plan);
            }
            Some(before) if before.result.is_none() => {
                return Err(MetaStateError::Unfinished { name: before.plan.name.clone() });
            }
            Some(before) => before.number + 1,
            None => 1,
        };
        self.run(|db| {
            let transaction = db.unchecked_transaction()?;
            for table in ["meta_state", "sub_harnesses", "progress_log", "coordination_events", "worktrees"] {
                transaction.execute(&format!("DELETE FROM {table}"), [])?;
            }
            let text = serde_json::to_string(plan).unwrap_or_default();
            transaction.execute(
                "INSERT INTO meta_state (id, number, fleet, plan, strategy, started_at, total_harnesses) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)",
                params![number, plan.name, text, plan.settings.coordination.name(), now.to_string(), plan.harnesses.len()],
            )?;
            for (place, harness) in plan.harnesses.iter().enumerate() {
                transaction.execute(
                    "INSERT INTO sub_harnesses (harness_id, place, roadmap_path, cli, model, status, checked_tasks, registered_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6, ?7)",
                    params![
                        harness.id,
                        place,
                        harness.roadmap.display().to_string(),
                        harness.cli.join(","),
                        harness.model.as_deref().unwrap_or_default(),
                        checked_tasks.get(place).copied().unwrap_or_default(),
                        now.to_string(),
                    ],
                )?;
            }
            transaction.commit()
        })?;
        Ok(FleetRow {
            number,
            plan: plan.clone(),
            started_at: now,
            elapsed: Duration::ZERO,
            request: None,
            result: None,
        })
    }

    /// A limit for the cost may be given anew.
    fn continued(&self, before: FleetRow, plan: &FleetFile) -> Result<FleetRow, MetaStateError> {
        if plan.settings.max_cost.is_none() || plan.settings.max_cost == before.plan.settings.max_cost {
            return Ok(before);
        }
        let text = serde_json::to_string(plan).unwrap_or_default();
        self.execute("UPDATE meta_state SET plan = ?1", params![text])?;
        Ok(FleetRow { plan: plan.clone(), ..before })
    }
}

/// Whether a plan is that of a fleet that has begun, its limit for the cost aside.
fn is_same(begun: &FleetFile, plan: &FleetFile) -> bool {
    let mut plan = plan.clone();
    plan.settings.max_cost = begun.settings.max_cost;
    *begun == plan
}
