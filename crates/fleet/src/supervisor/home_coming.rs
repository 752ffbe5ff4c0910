//! Commits come home when their harness ends. Those that cannot, since a disk is full or the repository cannot be written, stay in the clone;
//! that is on record, and tried again before something builds on them and at the end of the fleet.

use jiff::Timestamp;
use serde_json::json;

use super::{FleetEvent, Supervisor, SupervisorError};
use crate::aggregated_result::AggregatedResult;
use crate::fleet_host::{AtHome, HomeComing};

impl Supervisor<'_> {
    pub(super) fn bring_home(&self, id: &str) -> Result<HomeComing, SupervisorError> {
        Ok(self.host.bring_home(&self.fleet, &self.plan_of(id)?))
    }

    /// Why the commits of a harness that is over are not at home. Tries once more.
    pub(super) fn left_behind(&mut self, id: &str) -> Result<Option<String>, SupervisorError> {
        if !self.left_behind.contains_key(id) {
            return Ok(None);
        }
        let home = self.bring_home(id)?;
        self.state.record_home(id, &home, Timestamp::now())?;
        match home {
            Ok(AtHome { passed: home, unfinished }) => {
                self.left_behind.remove(id);
                unfinished.iter().for_each(|branch| self.warn(format!("{id}: {}", unfinished_on(branch))));
                self.homes.extend(home.clone().map(|home| (id.to_owned(), home)));
                let branch = home.as_ref().map(|home| home.branch.as_str());
                self.share("home", Some(id), &json!({ "branch": branch }))?;
                self.emit(FleetEvent::CameHome { id: id.to_owned(), home });
                Ok(None)
            }
            Err(why) => {
                self.left_behind.insert(id.to_owned(), why.clone());
                Ok(Some(why))
            }
        }
    }

    /// The last attempt of the fleet. What is left behind then is a part of its result.
    pub(super) fn bring_rest_home(&mut self, result: &mut AggregatedResult) -> Result<(), SupervisorError> {
        let ids: Vec<String> = self.left_behind.keys().cloned().collect();
        for id in ids {
            let Some(why) = self.left_behind(&id)? else { continue };
            result.success = false;
            result.summary = format!("{} The commits of {id} have not come home.", result.summary);
            result.left_behind.insert(id, why);
        }
        Ok(())
    }
}

pub(super) fn unfinished_on(branch: &str) -> String {
    format!("What has not passed is on branch {branch}.")
}
