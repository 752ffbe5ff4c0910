//! TaskPlan: `autonoe harness run`. Runs the tasks of a roadmap, one attempt after another, until all of them are completed or nothing
//! else can be.
//!
//! A task is a deliverable of the same id: agents claim it with the usual tools, the examiner runs its checks, and status.json says how far it
//! is. What only a roadmap has, attempts and their limits, is the state of this plan.

mod earlier_run;
mod growth;
mod prompt;
mod reconcile;
mod roadmap_file;
mod state;
mod store;

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use autonoe_core::event::RunEvent;
use autonoe_core::examiner::Examiner;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::instruction::{Instructions, Phase};
use autonoe_core::outcome::{PlanReport, RunOutcome};
use autonoe_core::plan::{Iteration, NextAction, NextSession, Plan, PlanMemory, PlanVerdict, RunState};
use autonoe_core::status::{ProjectStatus, Tally};
use jiff::Timestamp;

use self::earlier_run::TakenOver;
use self::growth::is_growth;
pub use self::prompt::text as prompt_text;
use self::roadmap_file::RoadmapChange;
pub use self::roadmap_file::{RoadmapFile, invalid};
use self::state::{BegunTask, SavedTasks};
use self::store::Standing;
pub use self::store::TaskStore;
use crate::failed_checks::FailedChecks;
use crate::harness_record::HarnessRecord;
use crate::roadmap::{Roadmap, RoadmapEdit, Task, TaskEdit, TaskId, compare};
use crate::schedule::{Next, Schedule, TaskStatus};

/// Review sessions of an attempt that may end without a verdict.
const MAX_WITHOUT_VERDICT: u32 = 3;

/// What to do about a task that is completed.
const DO_IT_AGAIN: &str = "To have a task done again, add it under another id.";

/// What a [`TaskPlan`] works with.
pub struct TaskPlanSetup {
    pub file: Arc<RoadmapFile>,
    pub store: Arc<dyn TaskStore>,
    pub examiner: Arc<dyn Examiner>,
    pub instructions: Arc<dyn Instructions>,
    pub memory: Arc<dyn PlanMemory>,
    pub failed_checks: Arc<FailedChecks>,
    pub record: Arc<HarnessRecord>,
    /// Further tasks that an agent may propose when all are completed; `None` is none.
    pub growth: Option<NonZeroUsize>,
    /// Whether the run ends at a time of the user's.
    pub has_time_limit: bool,
    /// Whether sessions work in the user's checkout, of which nobody knows what has become of it since the last one.
    pub is_in_place: bool,
    /// Called for every event, after it is on record.
    pub on_event: Box<dyn Fn(&RunEvent) + Send + Sync>,
}

pub struct TaskPlan {
    setup: TaskPlanSetup,
    roadmap: Roadmap,
    state: SavedTasks,
    /// Whether what is completed was checked once more since the last session.
    is_confirmed: bool,
    /// Whether a session of an earlier process may still have to be judged.
    may_be_unjudged: bool,
    /// Whether nobody has looked yet for boxes that the user has unchecked since an earlier process.
    must_compare_boxes: bool,
    /// Whether what earlier processes have completed was looked at, where nothing else does that.
    must_look_first: bool,
    /// Whether this process has begun a session.
    has_begun_session: bool,
    tally: Tally,
}

/// What comes next.
enum Choice {
    Run(TaskId),
    /// Look for at most so many further tasks.
    Grow(NonZeroUsize),
    End(RunOutcome),
}

impl TaskPlan {
    /// Continues where an earlier process of this run stopped, or the run before, if that did not finish.
    pub async fn resume(roadmap: Roadmap, setup: TaskPlanSetup) -> Result<Self, Fault> {
        let saved = setup.memory.load().await?;
        let must_look_first = setup.is_in_place;
        let is_new_run = saved.is_none();
        let TakenOver { tasks: state, edits, without_box } = match saved {
            Some(saved) => {
                let tasks = serde_json::from_value(saved).map_err(|error| state_fault(&error))?;
                TakenOver { tasks, ..TakenOver::default() }
            }
            None => taken_over(&roadmap, &setup).await?,
        };
        setup.file.remove_leftovers();
        let mut plan = Self {
            setup,
            roadmap,
            state,
            is_confirmed: false,
            may_be_unjudged: true,
            must_compare_boxes: true,
            must_look_first,
            has_begun_session: false,
            tally: Tally::default(),
        };
        plan.state.began.get_or_insert_with(Timestamp::now);
        let dropped = if is_new_run { plan.adopt_boxes(&without_box).await? } else { Vec::new() };
        plan.remember_boxes();
        if is_new_run && !(plan.state.begun.is_empty() && edits.is_empty()) {
            plan.keep_taken_over(edits).await?;
        }
        let before = plan.with_begun_tasks();
        let edit = compare(&before, &plan.roadmap, &plan.begun());
        plan.take_over(edit).await?;
        if is_new_run {
            plan.renew_checks().await?;
        }
        plan.plan_tasks(&dropped).await?;
        plan.recall().await?;
        Ok(plan)
    }

    /// Says which boxes are not the user's. A process may have been killed after it had written one.
    fn remember_boxes(&mut self) {
        let is_completed = |begun: &BegunTask| begun.record.status == TaskStatus::Completed;
        for begun in self.state.begun.values_mut().filter(|begun| is_completed(begun)) {
            begun.has_box |= self.roadmap.task(begun.task.id.as_str()).is_some_and(|task| task.done);
        }
        let ours = self.state.begun.values().filter(|begun| begun.has_box || is_completed(begun));
        let ours = ours.map(|begun| (begun.task.id.to_string(), is_completed(begun)));
        self.setup.file.has_written(ours, self.state.growth.added.clone());
    }

    /// The commits of what an earlier run has completed may not have come home, so their boxes follow once its checks have passed again.
    fn withhold_boxes(&self) {
        let of_earlier = self.state.begun.values().filter(|begun| begun.was_settled_before);
        of_earlier.for_each(|begun| self.setup.file.withhold(begun.task.id.as_str()));
    }

    /// Completes the view for others with what the journal knows. Earlier runs are read only if all of the view is new.
    async fn recall(&self) -> Result<(), Fault> {
        let states =
            if self.setup.record.needs_history() { self.setup.memory.load_all().await? } else { Vec::new() };
        // What a version with another format has saved is not worth a failed run.
        let mut earlier: Vec<SavedTasks> =
            states.into_iter().filter_map(|state| serde_json::from_value(state).ok()).collect();
        earlier.reverse();
        // The journal has this run's, too; an attempt that is known is not added again.
        let states = || std::iter::once(&self.state).chain(&earlier);
        // Of a task that is gone only what was done is worth knowing.
        let is_of_interest = |begun: &&BegunTask| {
            begun.record.status == TaskStatus::Completed
                || self.roadmap.task(begun.task.id.as_str()).is_some()
        };
        let tasks = states().flat_map(|state| state.begun.values()).filter(is_of_interest);
        let growth_sessions = states().map(|state| state.growth.sessions).max().unwrap_or_default();
        let began = states().filter_map(|state| state.began).min();
        self.setup.record.recall(tasks.map(BegunTask::recalled), growth_sessions, began);
        Ok(())
    }

    /// The roadmap, with the tasks that have begun as they were then.
    fn with_begun_tasks(&self) -> Roadmap {
        let mut roadmap = self.roadmap.clone();
        for begun in self.state.begun.values() {
            match roadmap.tasks.iter_mut().find(|task| task.id == begun.task.id) {
                Some(task) => *task = Task { line: task.line, done: task.done, ..begun.task.clone() },
                None => roadmap.tasks.push(begun.task.clone()),
            }
        }
        roadmap
    }

    fn begun(&self) -> HashSet<TaskId> {
        let done = self.roadmap.tasks.iter().filter(|task| task.done).map(|task| task.id.clone());
        self.state.begun.keys().cloned().chain(done).collect()
    }

    fn schedule(&self) -> Schedule {
        let mut schedule = Schedule::new(&self.roadmap);
        self.state.begun.iter().for_each(|(id, begun)| schedule.set(id.as_str(), begun.record));
        schedule
    }

    /// Whether the user says that it is done. Boxes that we have checked say nothing new.
    fn is_done_by_user(&self, task: &Task) -> bool {
        task.done && !self.state.begun.contains_key(&task.id)
    }

    /// Makes every task that is to be done a deliverable, with its checks.
    async fn plan_tasks(&mut self, dropped: &[TaskId]) -> Result<(), Fault> {
        let not_begun = |task: &&Task| !task.done && !self.state.begun.contains_key(&task.id);
        let tasks: Vec<&Task> = self.roadmap.tasks.iter().filter(not_begun).collect();
        self.setup.store.plan_tasks(&tasks, dropped).await?;
        let schedule = self.schedule();
        let records = self.roadmap.tasks.iter().map(|task| {
            let record = schedule.record(task.id.as_str()).unwrap_or_default();
            (task, record)
        });
        self.setup.record.plan(self.setup.file.name(), records);
        Ok(())
    }

    async fn load_status(&mut self) -> Result<ProjectStatus, Fault> {
        let status = self.setup.store.load().await?;
        let status = status.unwrap_or_else(|| ProjectStatus::empty(Default::default()));
        self.tally = status.tally();
        Ok(status)
    }

    async fn save(&self) -> Result<(), Fault> {
        let saved = serde_json::to_value(&self.state).map_err(|error| state_fault(&error))?;
        self.setup.memory.save(&saved).await
    }

    async fn publish(&self, event: RunEvent) -> Result<(), Fault> {
        self.setup.memory.record_event(&event).await?;
        (self.setup.on_event)(&event);
        Ok(())
    }

    /// Files of the harness that cannot be written, or were damaged.
    async fn report_problems(&self) -> Result<(), Fault> {
        if self.setup.record.needs_history() {
            self.recall().await?;
        }
        while let Some(problem) = self.setup.record.take_problem() {
            self.warn(problem).await?;
        }
        Ok(())
    }

    async fn warn(&self, message: String) -> Result<(), Fault> {
        self.publish(RunEvent::Warning { message }).await
    }

    /// Looks at the file: the user may have edited it.
    async fn read_file(&mut self) -> Result<(), Fault> {
        match self.setup.file.change() {
            RoadmapChange::None => Ok(()),
            RoadmapChange::Unusable(why) => {
                self.warn(format!("{why} The run continues with the roadmap as it was.")).await
            }
            RoadmapChange::Edited(new) => {
                let edit = compare(&self.roadmap, &new, &self.begun());
                let is_dropped = |task: &TaskEdit| match task {
                    TaskEdit::Removed(id) => Some(id.clone()),
                    TaskEdit::Changed(id, what) => what.contains(&"done").then(|| id.clone()),
                    TaskEdit::Added(_) => None,
                };
                let dropped: Vec<TaskId> = edit.taken.iter().filter_map(is_dropped).collect();
                self.check_again(&new).await?;
                self.take_over(edit).await?;
                self.plan_tasks(&dropped).await
            }
        }
    }

    /// Boxes that the run had checked and the user has unchecked, perhaps by an editor that had the file open. A task that is completed is
    /// not run again, so they are checked once more, with the next ones.
    async fn check_again(&mut self, roadmap: &Roadmap) -> Result<(), Fault> {
        let is_unchecked = |begun: &BegunTask| {
            begun.has_box
                && begun.record.status == TaskStatus::Completed
                && roadmap.task(begun.task.id.as_str()).is_some_and(|task| !task.done)
        };
        let mut ids = Vec::new();
        for begun in self.state.begun.values_mut().filter(|begun| is_unchecked(begun)) {
            begun.has_box = false;
            ids.push(begun.task.id.to_string());
        }
        let what = match &ids[..] {
            [] => return Ok(()),
            [id] => format!("The box of {id} was unchecked, but the task stays completed, so it is"),
            _ => format!(
                "The boxes of {} were unchecked, but the tasks stay completed, so they are",
                ids.join(", ")
            ),
        };
        self.save().await?;
        self.warn(format!("{what} checked again. {DO_IT_AGAIN}")).await
    }

    async fn take_over(&mut self, edit: RoadmapEdit) -> Result<(), Fault> {
        let RoadmapEdit { roadmap, taken, refused } = edit;
        self.roadmap = roadmap;
        let name = self.setup.file.name().display();
        if !taken.is_empty() {
            let message = format!("{name} was edited: {}.", list(&taken));
            self.publish(RunEvent::Notice { message }).await?;
        }
        if !refused.is_empty() {
            let message = format!(
                "{name} was edited, but tasks that have begun stay as they were: {}.",
                list(&refused)
            );
            self.warn(message).await?;
        }
        Ok(())
    }

    /// A session that ended just before its process was killed has not been judged.
    async fn judge_unjudged(&mut self) -> Result<(), Fault> {
        if !std::mem::take(&mut self.may_be_unjudged) {
            return Ok(());
        }
        self.withhold_boxes();
        if let Some(last) = self.setup.memory.last_session().await?
            && last.number > self.state.judged
        {
            self.judge_session(&last).await?;
        }
        // Alerts that were on record nowhere when the process was killed; the others are not raised again.
        for begun in self.state.begun.values() {
            self.raise(begun);
        }
        Ok(())
    }

    /// Counts a session toward its attempt, and ends the attempt at a limit. Returns whether the plan moves on.
    async fn judge_session(&mut self, finished: &Iteration) -> Result<bool, Fault> {
        let status = self.load_status().await?;
        self.state.judged = finished.number;
        if is_growth(&finished.instruction) {
            return self.judge_growth(finished).await.map(|()| true);
        }
        let id = finished.instruction.step.clone().unwrap_or_default();
        let Some(begun) = self.state.begun.get_mut(id.as_str()) else {
            return self.save().await.map(|()| false);
        };
        let standing = status.find(&id).map(|item| Standing::of(&begun.task, item)).unwrap_or(Standing::Open);
        let is_review = finished.instruction.name == Phase::Review;
        begun.time += finished.duration;
        if finished.counts() && !is_review {
            begun.sessions += 1;
            begun.heard(&finished.output.text);
        }
        let why = match (is_review, &standing) {
            (true, Standing::Refuted) => {
                let review = status.find(&id).and_then(|item| item.review.as_ref());
                let reason = review.map(|review| review.reason.trim().trim_end_matches('.'));
                Some(format!("a reviewer found that it is not done: {}", reason.unwrap_or_default()))
            }
            (true, Standing::Unreviewed) if finished.counts() => {
                begun.without_verdict += 1;
                (begun.without_verdict >= MAX_WITHOUT_VERDICT)
                    .then(|| format!("{MAX_WITHOUT_VERDICT} reviews ended without a verdict"))
            }
            (_, Standing::Open) => begun.limit_reached(),
            (_, Standing::Unreviewed | Standing::Refuted | Standing::Completed | Standing::Blocked(_)) => {
                None
            }
        };
        if let Some(why) = why {
            self.fail_attempt(&id, why).await?;
        }
        self.save().await?;
        self.reconcile().await?;
        // Before the commits of the session land, so that the boxes can follow them.
        self.write_boxes().await?;
        let is_open = self.state.begun.get(id.as_str()).is_some_and(|begun| {
            begun.record.status == TaskStatus::InProgress && (is_review || standing == Standing::Open)
        });
        self.watch_for_runaway(finished, is_open).await?;
        Ok(!is_open)
    }

    /// Looks whether the sessions have got out of hand.
    async fn watch_for_runaway(&mut self, finished: &Iteration, is_open: bool) -> Result<(), Fault> {
        if !finished.counts() {
            return Ok(());
        }
        let output = is_open.then_some(finished.output.text.as_str());
        let has_time_limit = self.setup.has_time_limit;
        let sign = self.state.runaway.observe(output, finished.duration, has_time_limit);
        // Before it is saved: a process that is killed in between raises it again, and it is known by its id.
        if let Some(sign) = sign {
            self.setup.record.runaway(&sign, finished.number);
        }
        self.save().await
    }

    /// The task that is next, or how the run ends. Before it ends, what is completed is checked once more.
    async fn choose(&mut self) -> Result<Choice, Fault> {
        loop {
            // Also before the run ends: the edit may have come during the last session.
            self.read_file().await?;
            self.reconcile().await?;
            let outcome = match self.schedule().next() {
                Next::Run(id) => return Ok(Choice::Run(id)),
                Next::Done => RunOutcome::AllPassed,
                Next::Blocked { chains } => {
                    RunOutcome::TasksBlocked { chains: chains.iter().map(ToString::to_string).collect() }
                }
            };
            if self.is_confirmed {
                let further = self.may_grow().filter(|_| outcome == RunOutcome::AllPassed);
                return Ok(further.map_or(Choice::End(outcome), Choice::Grow));
            }
            self.confirm_passed().await?;
        }
    }

    async fn session(&mut self, id: &TaskId) -> Result<NextSession, Fault> {
        let status = self.load_status().await?;
        let Some(task) = self.roadmap.task(id.as_str()) else {
            return Err(state_fault(&format!("the roadmap has no task '{id}'")));
        };
        let begun = self.state.begun.entry(id.clone()).or_insert_with(|| BegunTask::new(task));
        if begun.record.status != TaskStatus::InProgress {
            begun.begin_attempt();
        }
        self.state.current = Some(id.clone());
        self.is_confirmed = false;
        self.has_begun_session = true;
        self.save().await?;
        let begun = &self.state.begun[id];
        let since = begun.history.started.unwrap_or_else(Timestamp::now);
        self.setup.record.task_changed(&begun.task, begun.record, "", None, since);
        let standing = status.find(id.as_str()).map(|item| Standing::of(&begun.task, item));
        let task = &begun.task;
        if standing == Some(Standing::Unreviewed) {
            let text = self.setup.instructions.resolve(Phase::Review).await?;
            let review = prompt::review(&text, task).into();
            return Ok(NextSession { directory: task.cwd.clone(), ..review });
        }
        let output = |id: &TaskId| {
            let output = self.state.begun.get(id).map(|begun| begun.output.clone());
            output.filter(|output| !output.is_empty())
        };
        Ok(NextSession {
            backends: task.cli.clone(),
            model: task.model.clone(),
            time_limit: Some(task.timeout.saturating_sub(begun.time)),
            stuck_after: Some(task.stuck_after),
            directory: task.cwd.clone(),
            ..prompt::coding(&self.roadmap, begun, output).into()
        })
    }

    /// Checks the boxes of completed tasks, and unchecks those that we checked too early.
    async fn write_boxes(&mut self) -> Result<(), Fault> {
        let is_completed = |begun: &BegunTask| begun.record.status == TaskStatus::Completed;
        let wrong: Vec<(TaskId, bool)> = self
            .state
            .begun
            .iter()
            .filter(|(_, begun)| begun.has_box != is_completed(begun))
            .map(|(id, begun)| (id.clone(), is_completed(begun)))
            .collect();
        if wrong.is_empty() {
            return Ok(());
        }
        let boxes = wrong.iter().map(|(id, is_done)| (id.as_str(), *is_done));
        if let Err(fault) = self.setup.file.set_boxes(boxes) {
            return self.warn(fault.message).await;
        }
        for (id, is_done) in &wrong {
            if let Some(begun) = self.state.begun.get_mut(id) {
                begun.has_box = *is_done;
            }
        }
        self.save().await
    }
}

#[async_trait]
impl Plan for TaskPlan {
    async fn next(&mut self, _: &RunState) -> Result<NextAction, Fault> {
        self.setup.store.ensure_writable().await?;
        self.judge_unjudged().await?;
        let is_completed = |begun: &BegunTask| begun.record.status == TaskStatus::Completed;
        if std::mem::take(&mut self.must_look_first) && self.state.begun.values().any(is_completed) {
            self.confirm_passed().await?;
        }
        if std::mem::take(&mut self.must_compare_boxes) {
            self.check_again(&self.roadmap.clone()).await?;
        }
        self.write_accepted().await?;
        self.read_file().await?;
        // Before anything lands: a box that is not true any more does not follow.
        self.reconcile().await?;
        self.write_boxes().await?;
        self.report_problems().await?;
        self.setup.examiner.prepare().await?;
        self.setup.store.protect_roadmap();
        match self.choose().await? {
            Choice::Run(id) => self.session(&id).await.map(NextAction::Session),
            Choice::Grow(limit) => Ok(NextAction::Session(self.growth_session(limit))),
            Choice::End(outcome) => Ok(NextAction::Done(outcome)),
        }
    }

    async fn judge(&mut self, finished: &Iteration) -> Result<PlanVerdict, Fault> {
        // It may have been checked after the session was chosen.
        self.is_confirmed = false;
        let moves_on = self.judge_session(finished).await?;
        Ok(match self.choose().await? {
            Choice::End(outcome) => PlanVerdict::Done(outcome),
            Choice::Run(_) | Choice::Grow(_) if moves_on => PlanVerdict::Progressed,
            Choice::Run(_) | Choice::Grow(_) => PlanVerdict::Idle,
        })
    }

    /// Ends the current attempt. A task has only so many.
    async fn abandon(&mut self) -> Result<bool, Fault> {
        let Some(id) = self.state.current.clone() else {
            return Ok(false);
        };
        let begun = self.state.begun.get(&id);
        if begun.is_some_and(|begun| begun.record.status == TaskStatus::InProgress && begun.sessions > 0) {
            let why = "its sessions made no progress, and nothing that was tried helped";
            self.fail_attempt(id.as_str(), why.to_owned()).await?;
            self.reconcile().await?;
        }
        Ok(true)
    }

    async fn confirm_passed(&mut self) -> Result<(), Fault> {
        self.judge_unjudged().await?;
        self.setup.examiner.confirm().await?;
        self.is_confirmed = true;
        self.setup.file.release_all();
        // What failed loses its box before the boxes follow the commits that land.
        self.reconcile().await?;
        self.write_boxes().await
    }

    async fn ended(&mut self) -> Result<(), Fault> {
        self.reconcile().await?;
        self.write_boxes().await?;
        self.setup.record.check_view();
        self.report_problems().await?;
        self.setup.record.close_view();
        Ok(())
    }

    fn report(&self) -> PlanReport {
        PlanReport::Deliverables(self.tally)
    }
}

async fn taken_over(roadmap: &Roadmap, setup: &TaskPlanSetup) -> Result<TakenOver, Fault> {
    // What a version with another format has saved is not worth a failed run.
    let earlier = setup.memory.load_earlier().await?;
    let earlier: Option<SavedTasks> = earlier.and_then(|saved| serde_json::from_value(saved).ok());
    Ok(match (earlier, setup.store.load().await?) {
        (Some(earlier), Some(status)) => earlier.for_next_run(roadmap, &status),
        (Some(_) | None, _) => TakenOver::default(),
    })
}

fn list(edits: &[TaskEdit]) -> String {
    edits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn state_fault(error: &dyn std::fmt::Display) -> Fault {
    let message = format!("The state of the roadmap's run cannot be used: {error}.");
    Fault::permanent(FaultLayer::Store, "task_state", message)
}

#[cfg(test)]
mod tests;
