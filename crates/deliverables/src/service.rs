//! DeliverableService: executes the tools, through the one writer of `status.json`.

use std::sync::Arc;
use std::sync::Mutex;

use autonoe_core::attempt::OpenAttempt;
use autonoe_core::check::Assurance;
use autonoe_core::deliverable::{Deliverable, DeliverableStatus};
use autonoe_core::examiner::{ClaimPreparation, Examination, Examiner};
use autonoe_core::halt::Halt;
use autonoe_core::instruction::{DeliverableTool, Phase};
use autonoe_core::plan::StatusReader;
use autonoe_core::plans::VerificationReader;
use autonoe_core::status::{ChangeError, ProjectStatus, Refusal, StatusChange};
use autonoe_store::{SqliteJournal, StatusStore};
use autonoe_tools::ToolSpec;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::arguments::{
    CreateArgs, DEFAULT_LIST_LIMIT, DeliverableArgs, ListArgs, ReviewArgs, SetStatusArgs, read,
};
use crate::call_result::CallResult;
use crate::shared_tools::{SharedTools, offered};

/// Called for every change of a deliverable's status.
pub type Notify = Box<dyn Fn(&StatusChange) + Send + Sync>;

/// Returns the one deliverable whose status the session may set; `None` for any.
pub type Assigned = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// Executes the deliverable tools of one project.
pub struct DeliverableService {
    status: Arc<StatusStore>,
    examiner: Option<Arc<dyn Examiner>>,
    preparation: Option<Arc<dyn ClaimPreparation>>,
    journal: Arc<SqliteJournal>,
    notify: Notify,
    phase: Mutex<Phase>,
    halt: Halt,
    /// Only inside a fleet.
    shared: Option<Arc<dyn SharedTools>>,
    /// Only where several deliverables are built at the same time.
    assigned: Option<Assigned>,
    /// Only where several agents make an attempt each.
    attempt: Option<Arc<OpenAttempt>>,
    /// Whether a client has requested the tools of the current phase.
    loaded: watch::Sender<bool>,
}

impl DeliverableService {
    pub fn new(status: Arc<StatusStore>, journal: Arc<SqliteJournal>, phase: Phase, notify: Notify) -> Self {
        let loaded = watch::Sender::new(false);
        let (phase, halt) = (Mutex::new(phase), Halt::default());
        Self {
            status,
            examiner: None,
            preparation: None,
            journal,
            notify,
            phase,
            halt,
            shared: None,
            assigned: None,
            attempt: None,
            loaded,
        }
    }

    /// Has `examiner` check every deliverable that an agent sets to passed.
    #[must_use]
    pub fn examined_by(self, examiner: Arc<dyn Examiner>) -> Self {
        Self { examiner: Some(examiner), ..self }
    }

    /// Has `preparation` make the work available before the examiner checks it.
    #[must_use]
    pub fn prepared_by(self, preparation: Arc<dyn ClaimPreparation>) -> Self {
        Self { preparation: Some(preparation), ..self }
    }

    /// Ends the run on a fault that no session can fix.
    #[must_use]
    pub fn halting(self, halt: Halt) -> Self {
        Self { halt, ..self }
    }

    /// Offers these tools too.
    #[must_use]
    pub fn sharing(self, shared: Arc<dyn SharedTools>) -> Self {
        Self { shared: Some(shared), ..self }
    }

    /// Lets a session set the status of the deliverable that was assigned to it, and of no other.
    #[must_use]
    pub fn assigning(self, assigned: Assigned) -> Self {
        Self { assigned: Some(assigned), ..self }
    }

    /// While an attempt is being made, a session can claim its deliverable only, and nothing is recorded.
    #[must_use]
    pub fn attempting(self, attempt: Arc<OpenAttempt>) -> Self {
        Self { attempt: Some(attempt), ..self }
    }

    /// The deliverable that a session may set; `None` for any.
    fn assigned(&self) -> Option<String> {
        let attempted = self.attempt.as_ref().and_then(|attempt| attempt.deliverable());
        attempted.or_else(|| self.assigned.as_ref().and_then(|assigned| assigned()))
    }

    /// Sets a deliverable to passed on behalf of the session that built it, if the checks confirm that.
    pub async fn pass(&self, id: &str) -> Result<(), ChangeError> {
        let deliverable_id = id.to_owned();
        let status = DeliverableStatus::Passed;
        self.set_status(SetStatusArgs { deliverable_id, status, reason: None }).await.map(drop)
    }

    /// Tools beside those of deliverables that a session of `phase` has.
    pub(crate) fn shared_specs(&self, phase: Phase) -> Vec<ToolSpec> {
        self.shared.as_deref().map(|shared| offered(shared, phase)).unwrap_or_default()
    }

    /// From now on only the tools of `phase` are available.
    pub fn enter(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = phase;
        self.loaded.send_replace(false);
    }

    /// Whether an MCP client has requested the tools of this phase, or the phase has none.
    pub fn has_been_loaded(&self) -> bool {
        *self.loaded.borrow() || self.phase().tools().is_empty()
    }

    /// Waits for [`DeliverableService::has_been_loaded`].
    pub async fn loaded(&self) {
        let mut loaded = self.loaded.subscribe();
        while !self.has_been_loaded() {
            // The sender is ours, so this cannot fail.
            let _ = loaded.changed().await;
        }
    }

    pub(crate) fn mark_loaded(&self) {
        self.loaded.send_replace(true);
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// `tool` is the short name.
    pub async fn call(&self, tool: &str, mut arguments: Value) -> CallResult {
        self.status.secrets().redact(&mut arguments);
        let phase = self.phase();
        if let Some(shared) = &self.shared
            && offered(shared.as_ref(), phase).iter().any(|spec| spec.name == tool)
        {
            let (shared, tool) = (Arc::clone(shared), tool.to_owned());
            let called = tokio::task::spawn_blocking(move || shared.call(&tool, &arguments)).await;
            return called.unwrap_or_else(|error| failed(&error.to_string(), "SHARED_CONTEXT"));
        }
        let Some(tool) = phase.tools().iter().copied().find(|offered| offered.name() == tool) else {
            let offered: Vec<_> = phase.tools().iter().map(|tool| tool.name()).collect();
            let message = format!(
                "Tool {tool} is not available in the {phase} phase; available: {}",
                offered.join(", ")
            );
            return failed(&message, "NOT_AVAILABLE");
        };
        match self.execute(tool, arguments).await {
            Ok(value) => CallResult { content: value.to_string(), is_error: false },
            Err(ChangeError::Refused(refusal)) => failed(&refusal.to_string(), refusal.code()),
            Err(ChangeError::Fault(fault)) => {
                if !fault.recoverable() {
                    self.halt.raise(&fault);
                }
                failed(&fault.message, "STORE_ERROR")
            }
        }
    }

    async fn execute(&self, tool: DeliverableTool, arguments: Value) -> Result<Value, ChangeError> {
        match tool {
            DeliverableTool::Create => self.create(read(arguments)?).await,
            DeliverableTool::SetStatus => self.set_status(read(arguments)?).await,
            DeliverableTool::Deprecate => self.deprecate(read(arguments)?).await,
            DeliverableTool::Verify => self.verify(read(arguments)?).await,
            DeliverableTool::List => self.list(read(arguments)?).await,
            DeliverableTool::Review => self.review(read(arguments)?).await,
        }
    }

    async fn create(&self, arguments: CreateArgs) -> Result<Value, ChangeError> {
        let (batch, proposals) = arguments.into_parts()?;
        if let Some(examiner) = &self.examiner {
            let ids: Vec<String> = batch.iter().map(|item| item.id.clone()).collect();
            let status = self.status.load().await?;
            // An existing deliverable gets no additional checks.
            let is_new = |id: &String| status.as_ref().is_none_or(|status| status.find(id).is_none());
            if ids.iter().all(is_new) {
                // Nothing is proposed for what cannot be created.
                ProjectStatus::empty(Default::default()).create(batch.clone())?;
                examiner.propose(&ids, proposals).await?;
            }
        }
        let (count, _) = self
            .status
            .change(Box::new(|status, _| {
                let changes = status.create(batch)?;
                Ok((changes.len(), changes))
            }))
            .await?;
        let mut message = format!("Created {count} deliverable(s) successfully");
        let without = match &self.examiner {
            Some(examiner) => examiner.checks_without_deliverable().await?,
            None => Vec::new(),
        };
        if !without.is_empty() {
            message.push_str(&format!(
                ". Checks of the user need deliverables with these ids: {}. They run at the end in any case",
                without.join("; ")
            ));
        }
        Ok(done(message))
    }

    async fn set_status(&self, arguments: SetStatusArgs) -> Result<Value, ChangeError> {
        let SetStatusArgs { deliverable_id, status: wanted, reason } = arguments;
        let reason = reason.as_deref().unwrap_or_default().trim();
        if let Some(own) = self.assigned()
            && own != deliverable_id
        {
            return Err(Refusal::Validation(format!(
                "This session builds \"{own}\"; \"{deliverable_id}\" is for another agent. If it is broken, say so in .autonoe-note.md"
            ))
            .into());
        }
        let examination = match wanted {
            DeliverableStatus::Passed => self.examine(&deliverable_id).await?,
            DeliverableStatus::Pending | DeliverableStatus::Blocked => None,
        };
        if self.attempt.as_ref().is_some_and(|attempt| attempt.deliverable().is_some()) {
            let found = examination.map(|examination| examination.message).unwrap_or_default();
            return Ok(done(held(wanted, &deliverable_id, &found)));
        }
        let finding = examination.as_ref().map(|examination| examination.finding.clone());
        let (change, _) = self
            .status
            .change(Box::new(|status, _| {
                let mut change = match wanted {
                    DeliverableStatus::Blocked => status.block(&deliverable_id, reason)?,
                    DeliverableStatus::Passed | DeliverableStatus::Pending => {
                        status.set_status(&deliverable_id, wanted)?
                    }
                };
                if let Some(finding) = finding {
                    status.set_finding(&deliverable_id, finding)?;
                    change.assurance = status.find(&deliverable_id).and_then(Deliverable::assurance_words);
                }
                Ok((change.clone(), vec![change]))
            }))
            .await?;
        (self.notify)(&change);
        let marked = format!(
            "Deliverable \"{}\" ({}) marked as {}",
            change.description, change.deliverable_id, change.new
        );
        Ok(done(match examination {
            Some(examination) => format!("{marked}. {}", examination.message),
            None => marked,
        }))
    }

    /// Runs the checks of a deliverable that an agent claims has passed. A failed check refuses the call.
    async fn examine(&self, id: &str) -> Result<Option<Examination>, ChangeError> {
        let status = self.status.load().await?;
        let found = status.as_ref().and_then(|status| status.find(id)).filter(|item| item.is_active());
        let (Some(examiner), Some(deliverable)) = (&self.examiner, found) else {
            return Ok(None);
        };
        if let Some(preparation) = &self.preparation {
            preparation.before_claim(deliverable).await?;
        }
        let examination = examiner.examine(deliverable).await?;
        if examination.finding.assurance != Assurance::Failed {
            if let Some(preparation) = self.preparation.as_ref().filter(|_| examination.is_unchecked()) {
                preparation.keep_uncommitted(deliverable).await?;
            }
            return Ok(Some(examination));
        }
        let Examination { finding, message, passed: _ } = examination;
        self.status
            .change(Box::new(|status, _| {
                // A deliverable that had passed becomes pending.
                let change = match deliverable.status {
                    DeliverableStatus::Passed => vec![status.set_status(id, DeliverableStatus::Pending)?],
                    DeliverableStatus::Pending | DeliverableStatus::Blocked => Vec::new(),
                };
                status.set_finding(id, finding)?;
                Ok(((), change))
            }))
            .await?;
        Err(Refusal::ChecksFailed(message).into())
    }

    async fn deprecate(&self, arguments: DeliverableArgs) -> Result<Value, ChangeError> {
        let id = arguments.deliverable_id;
        let (description, _) = self
            .status
            .change(Box::new(|status, today| {
                let deliverable = status.deprecate(&id, today)?;
                Ok((deliverable.description.clone(), Vec::new()))
            }))
            .await?;
        Ok(done(format!("Deliverable \"{description}\" ({id}) marked as deprecated")))
    }

    async fn verify(&self, arguments: DeliverableArgs) -> Result<Value, ChangeError> {
        let id = arguments.deliverable_id;
        let status = self.status.load().await?;
        let known = status.as_ref().is_some_and(|status| status.active().any(|item| item.id == id));
        if !known {
            return Err(Refusal::NotFound(id).into());
        }
        self.journal.verified(&id).await?;
        Ok(done(format!("Deliverable {id} marked as verified")))
    }

    async fn review(&self, arguments: ReviewArgs) -> Result<Value, ChangeError> {
        let ReviewArgs { deliverable_id: id, holds, reason } = arguments;
        let Some(examiner) = &self.examiner else {
            return Err(Refusal::Validation("Reviews are only accepted during a run".to_owned()).into());
        };
        if reason.trim().is_empty() {
            return Err(Refusal::Validation("A review needs a reason".to_owned()).into());
        }
        examiner.review(&id, holds, reason).await?;
        Ok(done(format!("Your review of {id} is recorded")))
    }

    async fn list(&self, arguments: ListArgs) -> Result<Value, ChangeError> {
        let limit = match arguments.limit {
            None => DEFAULT_LIST_LIMIT,
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| *limit > 0)
                .ok_or_else(|| Refusal::Validation(format!("limit must be at least 1, got {limit}")))?,
        };
        let filter = arguments.filter;
        let verifying = self.phase() == Phase::Verify;
        let verification = if verifying { Some(self.journal.verification().await?) } else { None };
        let status = self.status.load().await?;
        let is_verified =
            |item: &Deliverable| verification.as_ref().map(|pass| pass.verified.contains(&item.id));
        let matching: Vec<&Deliverable> = status
            .iter()
            .flat_map(|status| status.active())
            .filter(|item| filter.status.is_none_or(|wanted| item.status == wanted))
            .filter(|item| match (filter.verified, is_verified(item)) {
                (Some(wanted), Some(is)) => wanted == is,
                (_, None) | (None, _) => true,
            })
            .collect();
        let shown: Vec<Value> =
            matching.iter().take(limit).map(|item| entry(item, is_verified(item))).collect();
        Ok(json!({
            "total": matching.len(),
            "omitted": matching.len() - shown.len(),
            "deliverables": shown,
        }))
    }
}

/// What an attempt learns of its claim.
fn held(wanted: DeliverableStatus, id: &str, found: &str) -> String {
    match wanted {
        DeliverableStatus::Passed => format!(
            "Your attempt at {id} is accepted, and the status changes if it is the one that is chosen. End your session now. {found}"
        ),
        DeliverableStatus::Pending | DeliverableStatus::Blocked => format!(
            "The status of {id} does not change during an attempt. Say in your last message what you found, and end your session"
        ),
    }
}

fn entry(item: &Deliverable, verified: Option<bool>) -> Value {
    let mut entry = json!({
        "id": item.id,
        "description": item.description,
        "status": item.status,
        "acceptanceCriteria": item.acceptance_criteria,
    });
    if let Some(verified) = verified {
        entry["verified"] = json!(verified);
    }
    entry
}

fn done(message: String) -> Value {
    json!({ "success": true, "message": message })
}

fn failed(message: &str, code: &str) -> CallResult {
    CallResult {
        content: json!({ "success": false, "message": message, "error": code }).to_string(),
        is_error: true,
    }
}
