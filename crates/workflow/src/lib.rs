//! Declarative agents: an agent, its steps, its prompts and its completion condition are defined in files. This crate reads
//! and validates those files, and turns them into a plan for the loop.
//!
//! The loop runs the sessions and the store keeps the state; commands, files and services are reached through [`HostEffects`].

mod check;
mod completion;
mod context;
pub mod definition;
pub mod draw;
mod dry_run;
pub mod faults;
mod flow;
pub mod graph;
mod host_effects;
mod import;
mod inspect;
mod issue_error;
mod json_location;
mod lifecycle;
mod load;
mod names;
mod parameters;
mod plan;
mod problem;
mod prompt;
mod prompt_variables;
#[cfg(test)]
mod samples;
pub mod schema;
mod state;
pub mod system_host;
mod template;
mod unread;
mod validate;
mod variables;

pub use check::{ActionResult, StepCheckResult, assessment_schema, by_action, by_assessment, by_keyword};
pub use completion::{
    CompletionCondition, CompletionContext, CompletionResult, CompletionState, criteria, kind,
};
pub use context::{ContextCarry, IterationSummary, RuntimeContext};
pub use dry_run::{PromptPreview, StepPreview};
pub use flow::{FlowState, StepPosition};
pub use host_effects::{HostCommandOutcome, HostEffects, WebhookMessage};
pub use import::{ImportNote, ImportOptions, ImportReport, ImportedAgent, find_climpt_agents, import};
pub use inspect::{Inspection, inspect, load};
pub use issue_error::IssueError;
pub use lifecycle::{
    AgentResult, BuildOptions, CreatedAgent, StartOptions, StartedAgent, build, nothing_to_resume,
};
pub use load::{check_name, find, list};
pub use parameters::read_arguments;
pub use plan::{EventCallback, StepPlan};
pub use problem::{Problem, ValidationResult};
pub use prompt::{PromptResolver, ResolvedPrompt};
pub use prompt_variables::RUNTIME_NAMES;
pub use state::{AgentEnd, PlanState, StartSnapshot};
pub use validate::{ValidatedDefinition, validate};
pub use variables::Variables;
