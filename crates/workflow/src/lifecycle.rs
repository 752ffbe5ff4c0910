//! Lifecycle: an agent is created, started and stopped, each once and in this order. Types enforce the order; the saved state
//! shows whether a run was already started.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use autonoe_core::event::RunEvent;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_core::outcome::RunOutcome;
use autonoe_core::plan::PlanMemory;
use serde_json::Value;
use similar::TextDiff;

use crate::context::IterationSummary;
use crate::definition::{
    ActionCommand, AgentDefinition, CommandParameter, Completion, Notification, Resource,
};
use crate::faults::{
    ALREADY_STARTED, DEFINITION_CHANGED, DEPENDENCY_RESOLUTION, INCOMPLETE, NOTHING_TO_RESUME,
};
use crate::flow::Move;
use crate::host_effects::HostEffects;
use crate::plan::{EventCallback, StepPlan};
use crate::prompt::PromptResolver;
use crate::prompt_variables::PromptVariables;
use crate::state::{AgentEnd, PlanState, StartSnapshot};
use crate::validate::ValidatedDefinition;
use crate::variables::gather;

/// The most lines shown of a changed definition.
const DIFFERENCE_LINES: usize = 40;

/// What an agent needs besides its definition.
pub struct BuildOptions<'a> {
    /// The arguments, already parsed.
    pub arguments: BTreeMap<String, Value>,
    /// Looks up an environment variable. Called only for those that the definition names.
    pub environment: &'a (dyn Fn(&str) -> Option<String> + Send + Sync),
    /// The text from standard input.
    pub input: Option<String>,
    /// Whether the GitHub CLI is installed.
    pub has_gh: bool,
    /// Whether the user allowed a webhook address.
    pub may_notify: &'a (dyn Fn(&str) -> Result<(), Fault> + Send + Sync),
}

pub struct StartOptions {
    /// Where the state of the run is saved.
    pub memory: Arc<dyn PlanMemory>,
    pub host: Arc<dyn HostEffects>,
    /// Called for every event, after it is on record.
    pub on_event: EventCallback,
    /// Whether to resume the run on record instead of starting a new one.
    pub resumes: bool,
}

/// The result of an agent's run.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentResult {
    /// Whether the completion condition holds.
    pub success: bool,
    pub iterations: u32,
    /// Why the run ended, unless it failed or was stopped from outside.
    pub reason: Option<String>,
    pub summaries: Vec<IterationSummary>,
    /// Why it is not a success; `None` if it is one.
    pub error: Option<Fault>,
    /// The structured answer of the last iteration, if it gave one.
    pub answer: Option<Value>,
}

/// An agent that is ready to be started, once.
///
/// ```compile_fail
/// async fn twice(agent: autonoe_workflow::CreatedAgent, one: autonoe_workflow::StartOptions, two: autonoe_workflow::StartOptions) {
///     let _ = agent.start(one).await;
///     let _ = agent.start(two).await;
/// }
/// ```
///
/// ```compile_fail
/// async fn not_started(agent: autonoe_workflow::CreatedAgent, outcome: autonoe_core::outcome::RunOutcome) {
///     let _ = agent.stop(&outcome);
/// }
/// ```
#[derive(Debug)]
pub struct CreatedAgent {
    definition: Arc<AgentDefinition>,
    prompt_variables: PromptVariables,
    arguments: BTreeMap<String, Value>,
    input: Option<String>,
}

/// An agent that has been started and can be stopped, once.
///
/// ```compile_fail
/// fn twice(agent: autonoe_workflow::StartedAgent, outcome: autonoe_core::outcome::RunOutcome) {
///     let _ = agent.stop(&outcome);
///     let _ = agent.stop(&outcome);
/// }
/// ```
pub struct StartedAgent {
    plan: StepPlan,
}

/// Builds an agent, and reports any dependency that is missing.
pub fn build(definition: ValidatedDefinition, options: BuildOptions<'_>) -> Result<CreatedAgent, Fault> {
    let definition = definition.into_inner();
    if needs_gh(&definition.agent.completion) && !options.has_gh {
        return Err(DEPENDENCY_RESOLUTION
            .fault(format!(
                "The agent '{}' checks a GitHub issue, but `gh` is not installed.",
                definition.name()
            ))
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
    check_commands(&definition, &options.arguments)?;
    let BuildOptions { arguments, environment, input, .. } = options;
    let prompt_variables =
        PromptVariables::new(gather(&definition.agent, &arguments, environment, input.as_deref()));
    Ok(CreatedAgent { definition: Arc::new(definition), prompt_variables, arguments, input })
}

fn needs_gh(completion: &Completion) -> bool {
    let asks = |part: &Completion| {
        matches!(part, Completion::ExternalState { resource: Resource::GithubIssue { .. }, .. })
    };
    completion.parts().iter().any(asks)
}

/// Checks that the program of a completion condition can be run.
fn check_program(definition: &AgentDefinition) -> Result<(), Fault> {
    use std::os::unix::fs::PermissionsExt;
    let programs = definition.agent.completion.parts().iter().filter_map(|part| match part {
        Completion::Custom { program, .. } => Some(program),
        _ => None,
    });
    for program in programs {
        let file = definition.directory.join(Path::new(program));
        let shown = file.display();
        let (problem, hint) = match std::fs::symlink_metadata(&file) {
            Ok(metadata) if !metadata.is_file() => {
                ("it is not a regular file".to_owned(), format!("Put the program itself at {shown}."))
            }
            Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => {
                ("it is not executable".to_owned(), format!("Make it executable: chmod +x {shown}"))
            }
            Ok(_) => continue,
            Err(error) => {
                (error.to_string(), format!("Put it at {shown}, or correct `program` in agent.json."))
            }
        };
        let message =
            format!("The program {program} of the agent '{}' cannot be run: {problem}.", definition.name());
        return Err(DEPENDENCY_RESOLUTION.fault(message).hint(hint));
    }
    Ok(())
}

/// Checks that every command that a parameter sets is one.
fn check_commands(definition: &AgentDefinition, arguments: &BTreeMap<String, Value>) -> Result<(), Fault> {
    for (id, step) in &definition.steps.steps {
        for action in &step.actions {
            if let ActionCommand::Parameter(CommandParameter { parameter }) = &action.command
                && action.command.text(arguments).trim().is_empty()
            {
                let message = format!(
                    "`{parameter}` is blank, but it is the command of the action {} of the step {id}.",
                    action.kind
                );
                let hint = format!("Give the command as --arg {parameter}='COMMAND'.");
                return Err(DEPENDENCY_RESOLUTION.fault(message).hint(hint));
            }
        }
    }
    Ok(())
}

impl CreatedAgent {
    /// The arguments by name, including defaults.
    pub fn arguments(&self) -> &BTreeMap<String, Value> {
        &self.arguments
    }

    pub fn definition(&self) -> &AgentDefinition {
        &self.definition
    }

    pub(crate) fn prompt_variables(&self) -> &PromptVariables {
        &self.prompt_variables
    }

    /// Fails unless the earlier run has the same definition and the same arguments.
    pub fn check_against(&self, earlier: &PlanState) -> Result<(), Fault> {
        let now = snapshot(&self.definition, self.arguments.clone(), self.input.clone());
        compare(&earlier.begun_with, &now)
    }

    /// Starts or resumes the agent.
    pub async fn start(self, options: StartOptions) -> Result<StartedAgent, Fault> {
        let StartOptions { memory, host, on_event, resumes } = options;
        let Self { definition, prompt_variables, arguments, input } = self;
        let snapshot = snapshot(&definition, arguments, input);
        let saved = memory.load().await?;
        let (state, unjudged) = match (saved, resumes) {
            (Some(_), false) => {
                return Err(ALREADY_STARTED
                    .fault(format!("The agent '{}' has already been started.", definition.name()))
                    .hint("Resume it with --resume."));
            }
            // A run that was killed before it saved anything has not started.
            (None, _) => {
                let (state, events) = start_run(&definition, snapshot, host.as_ref()).await?;
                let saved = serde_json::to_value(&state).map_err(|error| unreadable(&error))?;
                memory.save(&saved).await?;
                for event in &events {
                    memory.record_event(event).await?;
                    on_event(event);
                }
                (state, None)
            }
            (Some(saved), true) => {
                let state: PlanState = serde_json::from_value(saved).map_err(|error| unreadable(&error))?;
                compare(&state.begun_with, &snapshot)?;
                let last = memory.last_session().await?.filter(|last| last.number > state.judged);
                (state, last)
            }
        };
        let prompts = PromptResolver::new(&definition);
        let plan = StepPlan {
            definition,
            prompts,
            prompt_variables,
            memory,
            host,
            on_event,
            state,
            unjudged,
            conversation_lost: false,
        };
        Ok(StartedAgent { plan })
    }
}

impl StartedAgent {
    pub fn plan(&mut self) -> &mut StepPlan {
        &mut self.plan
    }

    /// Stops the agent and returns its result. Its state is already on disk. `outcome` is how its run ended, which is the
    /// reason for an agent that was not done.
    pub fn stop(self, outcome: &RunOutcome) -> AgentResult {
        let end = self.plan.end();
        let (success, reason, error) = match end {
            Some(AgentEnd::Done(reason)) => (true, Some(reason.clone()), None),
            Some(AgentEnd::UsedUp(limit)) => {
                let reason = format!("All {limit} iterations are used up.");
                (false, Some(reason.clone()), Some(INCOMPLETE.fault(reason)))
            }
            Some(AgentEnd::Failed(fault)) => (false, None, Some(fault.clone())),
            None => (false, None, Some(incomplete(outcome))),
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

/// Why an agent was not done when its run ended.
fn incomplete(outcome: &RunOutcome) -> Fault {
    outcome.fault().cloned().unwrap_or_else(|| {
        let reason = outcome.name().replace('_', " ");
        INCOMPLETE
            .fault(format!("The run ended before the agent was done: {reason}."))
            .hint("Continue it with --resume.")
    })
}

fn snapshot(
    definition: &AgentDefinition,
    arguments: BTreeMap<String, Value>,
    input: Option<String>,
) -> StartSnapshot {
    StartSnapshot { fingerprint: fingerprint(definition), files: definition.files.clone(), arguments, input }
}

/// The fault for `--resume` without an unfinished run.
pub fn nothing_to_resume(name: &str) -> Fault {
    NOTHING_TO_RESUME
        .fault(format!("The agent '{name}' has no unfinished run."))
        .hint("Leave out --resume to start a new one.")
}

/// The state of a new run, at its first step.
async fn start_run(
    definition: &AgentDefinition,
    begun_with: StartSnapshot,
    host: &dyn HostEffects,
) -> Result<(PlanState, Vec<RunEvent>), Fault> {
    let mut state = PlanState { begun_with, ..PlanState::default() };
    let mut events = Vec::new();
    let entry = Move::Enter(definition.steps.entry_step.clone());
    state.advance(entry, definition, host, &mut events).await?;
    Ok((state, events))
}

fn unreadable(error: &serde_json::Error) -> Fault {
    Fault::permanent(
        FaultLayer::Store,
        "plan_state",
        format!("The saved state of the agent's run cannot be read: {error}."),
    )
    .hint("Run it without --resume to start over.")
}

/// A hash over all files of the definition.
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

/// Fails if the definition or the arguments have changed since the run was started.
fn compare(before: &StartSnapshot, now: &StartSnapshot) -> Result<(), Fault> {
    if before.arguments != now.arguments {
        let names = before.arguments.keys().chain(now.arguments.keys());
        let mut changed: Vec<&str> = names
            .filter(|name| before.arguments.get(*name) != now.arguments.get(*name))
            .map(String::as_str)
            .collect();
        changed.sort_unstable();
        changed.dedup();
        return Err(DEFINITION_CHANGED
            .fault(format!("The run was started with different values for {}.", changed.join(", ")))
            .hint("Leave out --arg to resume with those values, or leave out --resume to start over."));
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
        .fault(format!("The definition has changed since the run was started.\n{shown}"))
        .hint("Undo the change to resume, or leave out --resume to start over."))
}
