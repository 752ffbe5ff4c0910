//! Every way in which a declarative agent can fail: the names of the design contracts, each with its layer, its stable code
//! and whether another try can help. The table in the documentation is made from this.

use autonoe_core::fault::{Fault, Layer, Remedy};

/// One class of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Its name in the design contracts; those that say no name have one of the same form.
    pub name: &'static str,
    /// Where it arises.
    pub layer: Layer,
    /// Its stable code.
    pub code: &'static str,
    /// Whether another try can help.
    pub remedy: Remedy,
    /// When it arises.
    pub when: &'static str,
}

impl Class {
    /// A fault of this class.
    pub fn fault(self, message: impl Into<String>) -> Fault {
        match self.remedy {
            Remedy::Retry => Fault::passing(self.layer, self.code, message),
            Remedy::Wait => Fault::outage(self.layer, self.code, message),
            Remedy::Person => Fault::lasting(self.layer, self.code, message),
        }
    }

    const fn lasting(name: &'static str, layer: Layer, code: &'static str, when: &'static str) -> Self {
        Self { name, layer, code, remedy: Remedy::Person, when }
    }

    const fn passing(name: &'static str, layer: Layer, code: &'static str, when: &'static str) -> Self {
        Self { name, layer, code, remedy: Remedy::Retry, when }
    }
}

/// There is no such agent, or it lacks a file.
pub const CONFIGURATION_NOT_FOUND: Class = Class::lasting(
    "ConfigurationNotFoundError",
    Layer::Config,
    "configuration_not_found",
    "there is no such agent, or its agent.json or steps.json is missing",
);
/// A file is not JSON, or not of the form that it must have.
pub const CONFIGURATION_PARSE: Class = Class::lasting(
    "ConfigurationParseError",
    Layer::Config,
    "configuration_parse",
    "a file of the definition is not JSON, or has a field that it must not have",
);
/// The files do not make sense together.
pub const CONFIGURATION_VALIDATION: Class = Class::lasting(
    "ConfigurationValidationError",
    Layer::Config,
    "configuration_validation",
    "the files of the definition do not make sense together",
);
/// Something that the agent needs cannot be had.
pub const DEPENDENCY_RESOLUTION: Class = Class::lasting(
    "DependencyResolutionError",
    Layer::Config,
    "dependency_resolution",
    "an argument, a program or a permission that the agent needs is missing",
);
/// It runs already.
pub const ALREADY_STARTED: Class = Class::lasting(
    "AlreadyStartedError",
    Layer::Lifecycle,
    "already_started",
    "a run that is on record was to be started a second time",
);
/// There is nothing to resume.
pub const NOTHING_TO_RESUME: Class = Class::lasting(
    "NothingToResumeError",
    Layer::Lifecycle,
    "nothing_to_resume",
    "--resume was given, and no run of the agent is unfinished",
);
/// The definition is another than the one that was started.
pub const DEFINITION_CHANGED: Class = Class::lasting(
    "DefinitionChangedError",
    Layer::Lifecycle,
    "definition_changed",
    "--resume was given, and the definition or the arguments are not those that the run began with",
);
/// The same step was run too often in a row.
pub const STEP_LOOP: Class = Class::lasting(
    "LoopError",
    Layer::Loop,
    "step_loop",
    "the same step was to be run more often in a row than stepLoopLimit allows, retries aside",
);
/// A step was tried again in vain.
pub const STEP_RETRY_EXHAUSTED: Class = Class::lasting(
    "StepRetryExhaustedError",
    Layer::Loop,
    "step_retry_exhausted",
    "a step failed, and so did all its retries",
);
/// An answer leads nowhere.
pub const NO_BRANCH: Class = Class::lasting(
    "BranchError",
    Layer::Loop,
    "no_branch",
    "the answer that a gateway looks at has none of the values that lead somewhere",
);
/// The agent ended because a step called for help.
pub const ESCALATED: Class = Class::lasting(
    "EscalationError",
    Layer::Loop,
    "escalated",
    "a step called for help, and its definition ends the agent then",
);
/// Nobody could be called for help.
pub const NOT_NOTIFIED: Class = Class::lasting(
    "NotificationError",
    Layer::Loop,
    "not_notified",
    "a webhook could not be reached, or refused, in all its tries",
);
/// A session ended before it was through.
pub const STEP_CUT_SHORT: Class = Class::passing(
    "StepCutShortError",
    Layer::Loop,
    "step_cut_short",
    "the session of a step used up its turns, or gave no answer in the form that it was asked for",
);
/// The model or its agent cannot be reached.
pub const SDK_CONNECTION: Class =
    Class::passing("SdkConnectionError", Layer::Model, "connection", "the model cannot be reached");
/// Rate limited.
pub const SDK_RATE_LIMIT: Class = Class::passing(
    "SdkRateLimitError",
    Layer::Model,
    "rate_limited",
    "the model service limits the rate of requests",
);
/// Whether the agent is done could not be found out.
pub const COMPLETION: Class = Class::lasting(
    "CompletionError",
    Layer::Completion,
    "completion",
    "a command or a program that decides whether the agent is done could not be run, or gave no answer",
);
/// There is no such prompt.
pub const PROMPT_NOT_FOUND: Class = Class::lasting(
    "PromptNotFoundError",
    Layer::Prompt,
    "prompt_not_found",
    "a prompt is not there, or is empty",
);
/// A prompt is malformed.
pub const PROMPT_PARSE: Class = Class::lasting(
    "PromptParseError",
    Layer::Prompt,
    "prompt_parse",
    "a prompt has a placeholder or a heading that does not end, or is too long",
);
/// A variable has no value, and must have one.
pub const PROMPT_VARIABLE: Class = Class::lasting(
    "PromptVariableError",
    Layer::Prompt,
    "prompt_variable",
    "a variable has no value, and the agent is strict or the input is required",
);

/// All of them, in the order of their layers.
pub const ALL: [Class; 19] = [
    CONFIGURATION_NOT_FOUND,
    CONFIGURATION_PARSE,
    CONFIGURATION_VALIDATION,
    DEPENDENCY_RESOLUTION,
    ALREADY_STARTED,
    NOTHING_TO_RESUME,
    DEFINITION_CHANGED,
    STEP_LOOP,
    STEP_RETRY_EXHAUSTED,
    NO_BRANCH,
    ESCALATED,
    NOT_NOTIFIED,
    STEP_CUT_SHORT,
    SDK_CONNECTION,
    SDK_RATE_LIMIT,
    COMPLETION,
    PROMPT_NOT_FOUND,
    PROMPT_PARSE,
    PROMPT_VARIABLE,
];
