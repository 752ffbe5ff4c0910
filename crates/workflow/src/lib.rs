//! Declarative agents: a team describes its agent, its steps, its prompts and when it is done in files; this is what
//! reads those files, finds what is wrong in them, and makes of them one more plan for the one loop.
//!
//! Sessions are run by the loop, memory is kept by the store; commands, files and services it reaches through [`HostEffects`].

mod address;
mod check;
mod completion;
mod context;
pub mod definition;
pub mod draw;
pub mod faults;
mod flow;
pub mod graph;
mod host_effects;
mod lifecycle;
mod load;
pub mod machine;
mod names;
mod parameters;
mod plan;
mod prompt;
mod prompt_variables;
mod rehearsal;
#[cfg(test)]
mod samples;
pub mod schema;
mod state;
mod template;
mod validate;
mod variables;

pub use check::{ActionResult, StepCheckResult, by_action, by_keyword, by_opinion, opinion_schema};
pub use completion::{CompletionContext, CompletionResult, Condition, ConditionState, criteria, kind};
pub use context::{Carry, Context, IterationSummary};
pub use flow::{At, FlowState};
pub use host_effects::{CommandEnd, HostEffects, Notice};
pub use lifecycle::{AgentResult, BuildOptions, Created, StartOptions, Started, build, nothing_to_resume};
pub use load::{check_name, find, list, load};
pub use parameters::read_arguments;
pub use plan::{StepPlan, Tell};
pub use prompt::{PromptResolver, Resolved};
pub use prompt_variables::RUNTIME_NAMES;
pub use rehearsal::{Rehearsed, Spoken};
pub use state::{Beginning, Over, PlanState};
pub use validate::{Problem, Validated, ValidationResult, validate};
pub use variables::Variables;
