//! Who builds what, in a run whose deliverables are built by several workers at the same time.

use std::collections::HashMap;

use super::at_once::startable;
use crate::deliverable::{Deliverable, DeliverableStatus};
use crate::plan::RunningSession;
use crate::status::ProjectStatus;

/// Sessions that a deliverable gets before all others come first.
const PATIENCE: u32 = 3;

/// Sessions that a deliverable usually gets from workers. Then one agent builds it, with nobody at work beside it.
const MAX_SESSIONS: u32 = 6;

/// The workers of a run, counted from 1: the workspace 0 is that of the run itself, in which nothing else is at work.
#[derive(Debug)]
pub struct Workers {
    /// The deliverable whose unfinished work is in the workspace of each worker.
    held: Vec<Option<String>>,
    /// Sessions so far.
    sessions: HashMap<String, u32>,
    max_sessions: u32,
}

impl Workers {
    /// `held` has an entry for each worker: the deliverable whose unfinished work is in its workspace. `sessions` is how many each deliverable
    /// has had, in earlier processes of the run: a kill must not give it all of them again.
    pub fn new(held: Vec<Option<String>>, sessions: HashMap<String, u32>) -> Self {
        Self { held, sessions, max_sessions: MAX_SESSIONS }
    }

    /// Leaves a deliverable to one agent as soon as a session has failed at it.
    #[must_use]
    pub fn giving_up_at_once(self) -> Self {
        Self { max_sessions: 1, ..self }
    }

    /// A worker and the deliverable that it builds next; `None` if nothing can be begun now.
    pub(super) fn assign(
        &mut self,
        status: &ProjectStatus,
        running: &[RunningSession],
    ) -> Option<(usize, String)> {
        let at_work: Vec<&str> =
            running.iter().filter_map(|session| session.deliverable.as_deref()).collect();
        let had = |item: &Deliverable| self.sessions.get(&item.id).copied().unwrap_or_default();
        // What does not get on must not hold up what comes after it.
        let first = startable(status, &at_work, |item| had(item) < PATIENCE.min(self.max_sessions));
        let then = startable(status, &at_work, |item| had(item) < self.max_sessions);
        let id = first.first().or(then.first())?.id.clone();
        let is_free = |worker: &usize| running.iter().all(|session| session.worker != *worker);
        let free: Vec<usize> = (1..=self.held.len()).filter(is_free).collect();
        let holds = |worker: &&usize| self.held[**worker - 1].as_ref() == Some(&id);
        let is_empty = |worker: &&usize| {
            let held = self.held[**worker - 1].as_ref().and_then(|held| status.find(held));
            held.is_none_or(|item: &Deliverable| item.status == DeliverableStatus::Passed)
        };
        let worker = *free.iter().find(holds).or_else(|| free.iter().find(is_empty)).or(free.first())?;
        self.held[worker - 1] = Some(id.clone());
        *self.sessions.entry(id.clone()).or_default() += 1;
        Some((worker, id))
    }
}

/// Added to the instruction of a session that builds a deliverable while others build others.
pub(super) fn assignment(id: &str) -> String {
    format!(
        "## Your deliverable\n\nYours is **{id}**. Other agents build other deliverables at the same time, each in a copy of the project of its \
         own. That replaces what is said above about choosing one and about repairing others: do not change the status of another one; what is broken elsewhere goes into the note. \
         When you set {id} to `passed`, your commits are merged with what the others have finished, and all checks run on the result. If \
         that cannot be merged or a check fails, the answer says what to do in this session."
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use jiff::civil::date;

    use super::Workers;
    use crate::deliverable::{BuildOrder, DeliverableStatus, NewDeliverable};
    use crate::plan::RunningSession;
    use crate::status::ProjectStatus;

    fn independent(ids: &[&str]) -> ProjectStatus {
        let mut status = ProjectStatus::empty(date(2026, 1, 10));
        let new = |id: &&str| NewDeliverable {
            id: (*id).to_owned(),
            description: (*id).to_owned(),
            acceptance_criteria: vec!["it works".to_owned()],
            order: BuildOrder { depends: Some(Vec::new()), touches: Vec::new() },
        };
        status.create(ids.iter().map(new).collect()).expect("created");
        status
    }

    fn running(sessions: &[(usize, &str)]) -> Vec<RunningSession> {
        let session = |(worker, id): &(usize, &str)| RunningSession {
            number: 1,
            worker: *worker,
            deliverable: Some((*id).to_owned()),
        };
        sessions.iter().map(session).collect()
    }

    #[test]
    fn each_worker_has_one_deliverable_and_keeps_it() {
        let mut status = independent(&["A", "B", "C"]);
        let mut workers = Workers::new(vec![None, Some("B".to_owned())], HashMap::new());
        let assigned = |worker, id: &str| Some((worker, id.to_owned()));
        assert_eq!(workers.assign(&status, &[]), assigned(1, "A"));
        assert_eq!(workers.assign(&status, &running(&[(1, "A")])), assigned(2, "B"), "its work is there");
        assert_eq!(workers.assign(&status, &running(&[(1, "A"), (2, "B")])), None, "nobody is free");
        assert_eq!(workers.assign(&status, &running(&[(2, "B")])), assigned(1, "A"), "not done yet");
        status.set_status("B", DeliverableStatus::Passed).expect("passed");
        assert_eq!(workers.assign(&status, &running(&[(1, "A")])), assigned(2, "C"));
    }

    #[test]
    fn what_fails_again_and_again_comes_last() {
        let status = independent(&["A", "B"]);
        let mut workers = Workers::new(vec![None], HashMap::new());
        let mut ids = || workers.assign(&status, &[]).map_or("nothing".to_owned(), |(_, id)| id);
        assert_eq!([ids(), ids(), ids(), ids(), ids()], ["A", "A", "A", "B", "B"]);
        // Then both again, as often as any gets.
        let rest: Vec<String> = (0..8).map(|_| ids()).collect();
        assert_eq!(rest.iter().filter(|id| *id == "A").count(), 3, "{rest:?}");
        assert_eq!(rest.iter().filter(|id| *id == "nothing").count(), 1, "{rest:?}");
        let mut workers = Workers::new(vec![None], HashMap::new()).giving_up_at_once();
        let mut ids = || workers.assign(&status, &[]).map(|(_, id)| id);
        assert_eq!([ids(), ids(), ids()], [Some("A".to_owned()), Some("B".to_owned()), None]);
    }

    #[test]
    fn sessions_of_earlier_processes_count() {
        let status = independent(&["A", "B"]);
        let mut workers = Workers::new(vec![None], HashMap::from([("A".to_owned(), 6), ("B".to_owned(), 5)]));
        let mut ids = || workers.assign(&status, &[]).map(|(_, id)| id);
        assert_eq!([ids(), ids()], [Some("B".to_owned()), None]);
    }

    #[test]
    fn what_does_not_get_on_holds_up_only_what_depends_on_it() {
        let mut status = independent(&["A", "B", "C"]);
        status.deliverables[1].order = BuildOrder::default();
        status.deliverables[2].order.depends = Some(vec!["A".to_owned()]);
        let mut workers = Workers::new(vec![None], HashMap::new());
        let mut ids = || workers.assign(&status, &[]).expect("assigned").1;
        assert_eq!([ids(), ids(), ids(), ids()], ["A", "A", "A", "B"], "B is built alone, after A");
        let rest: Vec<String> = (0..3).map(|_| ids()).collect();
        assert!(!rest.contains(&"C".to_owned()), "{rest:?}");
    }
}
