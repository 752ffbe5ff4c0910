//! What became of tasks: their deliverables say it, and the state of the plan follows. Others are shown every change.

use autonoe_core::check::Assurance;
use autonoe_core::event::RunEvent;
use autonoe_core::fault::Fault;
use jiff::Timestamp;

use super::state::BegunTask;
use super::store::Standing;
use super::{DO_IT_AGAIN, TaskPlan};
use crate::alerts::Severity;
use crate::harness_record::{TASK_BLOCKED, TASK_COMPLETED};
use crate::roadmap::{Task, TaskId};
use crate::schedule::TaskStatus;
use crate::state_view::Execution;

impl TaskPlan {
    /// `why` is a clause. What the store has to say about it follows in [`Self::reconcile`].
    pub(super) async fn fail_attempt(&mut self, id: &str, why: String) -> Result<(), Fault> {
        let checks = self.setup.failed_checks.peek();
        let checks: Vec<String> =
            checks.iter().map(|check| format!("{}: {}", check.name, check.output)).collect();
        let is_users_doing = !self.has_begun_session;
        let Some(begun) = self.state.begun.get_mut(id) else {
            return Ok(());
        };
        if begun.record.status == TaskStatus::Completed && is_users_doing {
            // What has happened to it since, no attempt of this process has done: it gets all of its attempts again.
            begun.record.attempts = 0;
        }
        begun.fail(why.clone(), checks);
        self.save().await?;
        let begun = &self.state.begun[id];
        self.show_attempt(begun);
        self.setup.record.task_changed(
            &begun.task,
            begun.record,
            &begun.output,
            Some(&why),
            Timestamp::now(),
        );
        let (attempt, all) = (begun.record.attempts, begun.task.attempts());
        let message = match attempt {
            0 => format!("The task {id} is open again: {why}."),
            _ => format!("Attempt {attempt} of {all} at {id} failed: {why}."),
        };
        self.warn(message).await
    }

    /// Brings the state of the plan and the deliverables in line. Repeating it changes nothing, so that it may be cut off anywhere.
    pub(super) async fn reconcile(&mut self) -> Result<(), Fault> {
        let status = self.load_status().await?;
        let ids: Vec<TaskId> = self.roadmap.tasks.iter().map(|task| task.id.clone()).collect();
        for id in ids {
            let Some(task) =
                self.roadmap.task(id.as_str()).filter(|task| !self.is_done_by_user(task)).cloned()
            else {
                continue;
            };
            let Some(item) = status.find(id.as_str()).filter(|item| item.is_active()) else { continue };
            let begun = self.state.begun.get(&id);
            let task = begun.map_or(task, |begun| begun.task.clone());
            let record = begun.map(|begun| begun.record).unwrap_or_default();
            let is_known = begun.is_some();
            match (Standing::of(&task, item), record.status) {
                (Standing::Completed, TaskStatus::Completed) => {}
                // It was failed by a limit, and an agent claimed it after all.
                (Standing::Completed, _) => {
                    // The commits of an earlier run may not have come home.
                    match is_known {
                        true => self.setup.file.release(id.as_str()),
                        false => self.setup.file.withhold(id.as_str()),
                    }
                    let how = item.assurance_words().unwrap_or_else(|| "claimed".to_owned());
                    let message = match is_known {
                        true => format!("The task {id} is completed ({how})."),
                        false => format!(
                            "The task {id} was completed by an earlier run ({how}), so its box is checked. {DO_IT_AGAIN}"
                        ),
                    };
                    self.settle(&task, TaskStatus::Completed, &message).await?;
                }
                (Standing::Blocked(_), TaskStatus::Blocked) => {}
                (Standing::Blocked(reason), _) => {
                    let reason = reason.unwrap_or_else(|| "its agent gave no reason.".to_owned());
                    self.settle(&task, TaskStatus::Blocked, &format!("The task {id} is blocked: {reason}"))
                        .await?;
                }
                (Standing::Unreviewed | Standing::Refuted, TaskStatus::Failed) => {
                    self.setup.store.reopen(id.as_str()).await?;
                    self.block_if_used_up(&id).await?;
                }
                (Standing::Refuted, _) => self.setup.store.reopen(id.as_str()).await?,
                (Standing::Unreviewed, _) => {}
                (Standing::Open, TaskStatus::Failed) => self.block_if_used_up(&id).await?,
                (Standing::Open, TaskStatus::Completed) => {
                    let why = match item.assurance() {
                        Some(Assurance::Failed) => {
                            "it had passed, but its checks failed when they were run again"
                        }
                        Some(Assurance::Verified | Assurance::Claimed) | None => {
                            "it had passed, but it was made pending again"
                        }
                    };
                    self.fail_attempt(id.as_str(), why.to_owned()).await?;
                    self.block_if_used_up(&id).await?;
                }
                // The user has made it pending again, so it gets all of its attempts.
                (Standing::Open, TaskStatus::Blocked) if is_known => {
                    self.state.begun.remove(&id);
                    self.save().await?;
                }
                (Standing::Open, _) => {}
            }
        }
        self.load_status().await.map(drop)
    }

    async fn block_if_used_up(&mut self, id: &TaskId) -> Result<(), Fault> {
        let Some(begun) = self.state.begun.get(id).filter(|begun| !begun.has_attempts_left()) else {
            return Ok(());
        };
        let why = begun.failure.as_ref().map(|failure| failure.why.clone()).unwrap_or_default();
        let attempts = match begun.record.attempts {
            0 | 1 => "Its only attempt failed".to_owned(),
            several => format!("All of its {several} attempts failed, the last one because"),
        };
        let separator = if begun.record.attempts > 1 { " " } else { ": " };
        let reason = format!("{attempts}{separator}{why}.");
        let task = begun.task.clone();
        self.setup.store.block(id.as_str(), &reason).await?;
        self.settle(&task, TaskStatus::Blocked, &format!("The task {id} is blocked: {reason}")).await
    }

    /// Records that a task is completed or blocked.
    async fn settle(&mut self, task: &Task, status: TaskStatus, message: &str) -> Result<(), Fault> {
        let judged = self.state.judged;
        let begun = self.state.begun.entry(task.id.clone()).or_insert_with(|| BegunTask::new(task));
        match status {
            TaskStatus::Completed => begun.complete(),
            _ => begun.record.status = status,
        }
        begun.settled_in = judged;
        begun.settled_because = message.to_owned();
        begun.was_settled_before = false;
        self.save().await?;
        let begun = &self.state.begun[&task.id];
        if status == TaskStatus::Completed {
            self.show_attempt(begun);
        }
        self.raise(begun);
        let message = message.to_owned();
        match status {
            TaskStatus::Blocked => self.warn(message).await,
            _ => self.publish(RunEvent::Notice { message }).await,
        }
    }

    /// Shows others the attempt that has ended.
    fn show_attempt(&self, begun: &BegunTask) {
        let Some(attempt) = begun.history.attempts.last() else { return };
        let execution = Execution {
            task_id: begun.task.id.as_str(),
            attempt: attempt.number,
            success: attempt.error.is_none(),
            output: &attempt.output,
            error: attempt.error.as_deref(),
            duration: attempt.duration,
        };
        self.setup.record.attempt_ended(&execution, attempt.ended);
    }

    /// Shows others what became of a task.
    pub(super) fn raise(&self, begun: &BegunTask) {
        let (kind, severity) = match begun.record.status {
            TaskStatus::Completed => (TASK_COMPLETED, Severity::Success),
            TaskStatus::Blocked => (TASK_BLOCKED, Severity::Critical),
            TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Failed | TaskStatus::Growth => return,
        };
        // Nothing is known of it but its box, which the view has.
        let is_completed = begun.record.status == TaskStatus::Completed;
        if is_completed && begun.was_settled_before && begun.history.completed.is_none() {
            return;
        }
        let record = &self.setup.record;
        let error = (begun.record.status == TaskStatus::Blocked).then_some(begun.settled_because.as_str());
        let since = begun.history.completed.unwrap_or_else(Timestamp::now);
        record.task_changed(&begun.task, begun.record, &begun.output, error, since);
        if begun.was_settled_before {
            return;
        }
        record.task_settled(&begun.task, kind, severity, &begun.settled_because, begun.settled_in);
    }
}
