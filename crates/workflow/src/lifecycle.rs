//! Lifecycle: an agent is created, started and stopped, each once and in this order. Types hold the order; that a run on record
//! is not started a second time is looked up where it is on record.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, Layer};
use autonoe_core::plan::PlanMemory;
use serde_json::Value;
use similar::TextDiff;

use crate::context::IterationSummary;
use crate::definition::{AgentDefinition, Completion, Notification, Resource};
use crate::faults::{ALREADY_STARTED, DEFINITION_CHANGED, DEPENDENCY_RESOLUTION, NOTHING_TO_RESUME};
use crate::flow::Move;
use crate::host_effects::HostEffects;
use crate::plan::{StepPlan, Tell};
use crate::prompt::PromptResolver;
use crate::prompt_variables::PromptVariables;
use crate::state::{Beginning, Over, PlanState};
use crate::validate::Validated;
use crate::variables::gather;

/// How many lines of a difference are shown.
const DIFFERENCE_LINES: usize = 40;

/// What an agent is built with, beside its definition.
pub struct BuildOptions<'a> {
    /// Its arguments, typed.
    pub arguments: BTreeMap<String, Value>,
    /// Looks up an environment variable; only those are asked for that its definition names.
    pub environment: &'a (dyn Fn(&str) -> Option<String> + Send + Sync),
    /// What came on standard input.
    pub input: Option<String>,
    /// Whether GitHub can be asked.
    pub has_gh: bool,
    /// Whether a webhook may be told something, by its address.
    pub may_notify: &'a (dyn Fn(&str) -> Result<(), Fault> + Send + Sync),
}

/// What an agent is started with.
pub struct StartOptions {
    /// Where it remembers.
    pub memory: Arc<dyn PlanMemory>,
    /// What it asks of the machine.
    pub outside: Arc<dyn HostEffects>,
    /// Who is told what happens.
    pub tell: Tell,
    /// Whether it resumes the run that is on record, instead of beginning one.
    pub resumes: bool,
}

/// How an agent went.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentResult {
    /// Whether its condition holds.
    pub success: bool,
    /// How many iterations there were.
    pub iterations: u32,
    /// Why it ended, if it did by itself.
    pub reason: Option<String>,
    /// What came of each iteration.
    pub summaries: Vec<IterationSummary>,
    /// What ended it otherwise.
    pub error: Option<Fault>,
    /// The structured answer of the last iteration, if that gave one.
    pub answer: Option<Value>,
}

/// An agent that can be started, once.
///
/// ```compile_fail
/// async fn twice(agent: autonoe_workflow::Created, one: autonoe_workflow::StartOptions, two: autonoe_workflow::StartOptions) {
///     let _ = agent.start(one).await;
///     let _ = agent.start(two).await;
/// }
/// ```
///
/// ```compile_fail
/// async fn not_started(agent: autonoe_workflow::Created) {
///     let _ = agent.stop();
/// }
/// ```
#[derive(Debug)]
pub struct Created {
    definition: Arc<AgentDefinition>,
    supply: PromptVariables,
    arguments: BTreeMap<String, Value>,
    input: Option<String>,
}

/// An agent that has been started, and can be stopped, once.
///
/// ```compile_fail
/// fn twice(agent: autonoe_workflow::Started) {
///     let _ = agent.stop();
///     let _ = agent.stop();
/// }
/// ```
pub struct Started {
    plan: StepPlan,
}

/// Builds an agent. What it needs and does not have is found here.
pub fn build(definition: Validated, options: BuildOptions<'_>) -> Result<Created, Fault> {
    let definition = definition.into_inner();
    if needs_gh(&definition.agent.completion) && !options.has_gh {
        return Err(DEPENDENCY_RESOLUTION
            .fault(format!("The agent '{}' asks GitHub, and `gh` is not installed.", definition.name()))
            .hint("Install the GitHub CLI and log in with `gh auth login`."));
    }
    for step in definition.steps.steps.values() {
        if let Some(escalation) = &step.escalation
            && escalation.method(&definition.steps) == Notification::Webhook
        {
            (options.may_notify)(&escalation.escalate_to)?;
        }
    }
    check_program(&definition)?;
    let BuildOptions { arguments, environment, input, .. } = options;
    let supply = PromptVariables::new(gather(&definition.agent, &arguments, environment, input.as_deref()));
    Ok(Created { definition: Arc::new(definition), supply, arguments, input })
}

fn needs_gh(completion: &Completion) -> bool {
    let asks = |part: &Completion| {
        matches!(part, Completion::ExternalState { resource: Resource::GithubIssue { .. }, .. })
    };
    completion.parts().iter().any(asks)
}

/// The program of a condition must be one that can be run.
fn check_program(definition: &AgentDefinition) -> Result<(), Fault> {
    use std::os::unix::fs::PermissionsExt;
    let programs = definition.agent.completion.parts().iter().filter_map(|part| match part {
        Completion::Custom { program, .. } => Some(program),
        _ => None,
    });
    for program in programs {
        let file = definition.directory.join(Path::new(program));
        let shown = file.display();
        let (what, hint) = match std::fs::symlink_metadata(&file) {
            Ok(about) if !about.is_file() => {
                ("it is not a regular file".to_owned(), format!("Put the program itself at {shown}."))
            }
            Ok(about) if about.permissions().mode() & 0o111 == 0 => {
                ("it is not executable".to_owned(), format!("Make it executable: chmod +x {shown}"))
            }
            Ok(_) => continue,
            Err(error) => {
                (error.to_string(), format!("Put it at {shown}, or correct `program` in agent.json."))
            }
        };
        let message =
            format!("The program {program} of the agent '{}' cannot be run: {what}.", definition.name());
        return Err(DEPENDENCY_RESOLUTION.fault(message).hint(hint));
    }
    Ok(())
}

impl Created {
    /// What it is made of.
    pub fn definition(&self) -> &AgentDefinition {
        &self.definition
    }

    pub(crate) fn supply(&self) -> &PromptVariables {
        &self.supply
    }

    /// Whether it can resume an earlier run: one of the same definition with the same arguments.
    pub fn check_against(&self, earlier: &PlanState) -> Result<(), Fault> {
        let now = beginning(&self.definition, self.arguments.clone(), self.input.clone());
        compare(&earlier.begun_with, &now)
    }

    /// Starts it. Everything that it needs has been looked at; what it remembers is read.
    pub async fn start(self, options: StartOptions) -> Result<Started, Fault> {
        let StartOptions { memory, outside, tell, resumes } = options;
        let Self { definition, supply, arguments, input } = self;
        let beginning = beginning(&definition, arguments, input);
        let kept = memory.recall().await?;
        let (state, unjudged) = match (kept, resumes) {
            (Some(_), false) => {
                return Err(ALREADY_STARTED
                    .fault(format!("The agent '{}' was started before.", definition.name()))
                    .hint("Resume it with --resume."));
            }
            // One that died before it remembered anything has not begun.
            (None, _) => {
                let (state, events) = begin(&definition, beginning, outside.as_ref()).await?;
                let kept = serde_json::to_value(&state).map_err(|error| unreadable(&error))?;
                memory.keep(&kept).await?;
                for event in &events {
                    memory.note(event).await?;
                    tell(event);
                }
                (state, None)
            }
            (Some(kept), true) => {
                let state: PlanState = serde_json::from_value(kept).map_err(|error| unreadable(&error))?;
                compare(&state.begun_with, &beginning)?;
                let last = memory.last_session().await?.filter(|last| last.number > state.judged);
                (state, last)
            }
        };
        let prompts = PromptResolver::new(&definition);
        let plan =
            StepPlan { definition, prompts, supply, memory, outside, tell, state, unjudged, is_lost: false };
        Ok(Started { plan })
    }
}

impl Started {
    /// The plan, for the loop.
    pub fn plan(&mut self) -> &mut StepPlan {
        &mut self.plan
    }

    /// Stops it and tells how it went. What it remembers was on disk before anybody was told of it.
    pub fn stop(self) -> AgentResult {
        let over = self.plan.over();
        let (success, reason, error) = match over {
            Some(Over::Done(reason)) => (true, Some(reason.clone()), None),
            Some(Over::UsedUp(limit)) => (false, Some(format!("{limit} iterations are used up.")), None),
            Some(Over::Failed(fault)) => (false, None, Some(fault.clone())),
            None => (false, None, None),
        };
        let context = self.plan.context();
        AgentResult {
            success,
            iterations: context.iteration,
            reason,
            summaries: context.summaries.clone(),
            error,
            answer: self.plan.answer().cloned(),
        }
    }
}

/// What a run is begun with.
fn beginning(
    definition: &AgentDefinition,
    arguments: BTreeMap<String, Value>,
    input: Option<String>,
) -> Beginning {
    Beginning { fingerprint: fingerprint(definition), files: definition.files.clone(), arguments, input }
}

/// The fault of anyone who wants to resume a run that is not there.
pub fn nothing_to_resume(name: &str) -> Fault {
    NOTHING_TO_RESUME
        .fault(format!("No run of the agent '{name}' is unfinished."))
        .hint("Leave --resume out to begin one.")
}

/// A run that has just begun is at its first step.
async fn begin(
    definition: &AgentDefinition,
    begun_with: Beginning,
    outside: &dyn HostEffects,
) -> Result<(PlanState, Vec<RunEvent>), Fault> {
    let mut state = PlanState { begun_with, ..PlanState::default() };
    let mut events = Vec::new();
    let entry = Move::Enter(definition.steps.entry_step.clone());
    state.settle(entry, definition, outside, &mut events).await?;
    Ok((state, events))
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::lasting(
        Layer::Store,
        "plan_state",
        format!("What the agent remembers of its run cannot be read: {error}."),
    )
    .hint("Run it without --resume to begin anew.")
}

/// What a definition says, in few characters.
fn fingerprint(definition: &AgentDefinition) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for (path, text) in &definition.files {
        for part in [path, text] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A run resumes what it was begun with, or not at all.
fn compare(before: &Beginning, now: &Beginning) -> Result<(), Fault> {
    if before.arguments != now.arguments {
        let names = before.arguments.keys().chain(now.arguments.keys());
        let mut changed: Vec<&str> = names
            .filter(|name| before.arguments.get(*name) != now.arguments.get(*name))
            .map(String::as_str)
            .collect();
        changed.sort_unstable();
        changed.dedup();
        return Err(DEFINITION_CHANGED
            .fault(format!("The run was begun with other values of {}.", changed.join(", ")))
            .hint("Leave --arg out to resume those, or leave --resume out to begin anew."));
    }
    if before.fingerprint == now.fingerprint {
        return Ok(());
    }
    let paths: std::collections::BTreeSet<&String> = before.files.keys().chain(now.files.keys()).collect();
    let text = |files: &BTreeMap<String, String>, path: &String| files.get(path).cloned().unwrap_or_default();
    let mut difference = String::new();
    for path in paths {
        let (old, new) = (text(&before.files, path), text(&now.files, path));
        if old != new {
            let diff = TextDiff::from_lines(&old, &new);
            difference.push_str(&diff.unified_diff().context_radius(1).header(path, path).to_string());
        }
    }
    let lines: Vec<&str> = difference.lines().collect();
    let mut shown = lines.iter().take(DIFFERENCE_LINES).copied().collect::<Vec<_>>().join("\n");
    if lines.len() > DIFFERENCE_LINES {
        shown.push_str(&format!("\n... {} more lines", lines.len() - DIFFERENCE_LINES));
    }
    Err(DEFINITION_CHANGED
        .fault(format!("The definition is not the one that the run was begun with.\n{shown}"))
        .hint("Put it back to go on, or leave --resume out to begin anew."))
}
