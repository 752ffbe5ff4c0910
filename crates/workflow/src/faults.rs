//! The error classes of declarative agents: their names in the design contracts, with layer, stable code and whether a retry
//! can help. A test compares the table in the documentation with these constants.

use autonoe_core::fault::{Fault, FaultLayer, Remedy};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorClass {
    /// The name in the design contracts; classes that have none there follow the same pattern.
    pub name: &'static str,
    pub layer: FaultLayer,
    pub code: &'static str,
    pub remedy: Remedy,
    /// When it occurs, for the documentation.
    pub when: &'static str,
}

impl ErrorClass {
    pub fn fault(self, message: impl Into<String>) -> Fault {
        match self.remedy {
            Remedy::Retry => Fault::transient(self.layer, self.code, message),
            Remedy::Wait => Fault::outage(self.layer, self.code, message),
            Remedy::Person => Fault::permanent(self.layer, self.code, message),
        }
    }

    const fn permanent(
        name: &'static str,
        layer: FaultLayer,
        code: &'static str,
        when: &'static str,
    ) -> Self {
        Self { name, layer, code, remedy: Remedy::Person, when }
    }

    const fn outage(name: &'static str, layer: FaultLayer, code: &'static str, when: &'static str) -> Self {
        Self { name, layer, code, remedy: Remedy::Wait, when }
    }

    const fn transient(
        name: &'static str,
        layer: FaultLayer,
        code: &'static str,
        when: &'static str,
    ) -> Self {
        Self { name, layer, code, remedy: Remedy::Retry, when }
    }
}

pub const CONFIGURATION_NOT_FOUND: ErrorClass = ErrorClass::permanent(
    "ConfigurationNotFoundError",
    FaultLayer::Config,
    "configuration_not_found",
    "there is no such agent, or its agent.json or steps.json is missing",
);
pub const CONFIGURATION_PARSE: ErrorClass = ErrorClass::permanent(
    "ConfigurationParseError",
    FaultLayer::Config,
    "configuration_parse",
    "a file of the definition is not valid JSON, or has an unknown field",
);
pub const CONFIGURATION_VALIDATION: ErrorClass = ErrorClass::permanent(
    "ConfigurationValidationError",
    FaultLayer::Config,
    "configuration_validation",
    "the files of the definition contradict each other, or a value in them is invalid",
);
pub const DEPENDENCY_RESOLUTION: ErrorClass = ErrorClass::permanent(
    "DependencyResolutionError",
    FaultLayer::Config,
    "dependency_resolution",
    "an argument, a program or a permission that the agent needs is missing",
);
pub const ALREADY_STARTED: ErrorClass = ErrorClass::permanent(
    "AlreadyStartedError",
    FaultLayer::Lifecycle,
    "already_started",
    "a run that is already on record was started again without --resume",
);
pub const NOTHING_TO_RESUME: ErrorClass = ErrorClass::permanent(
    "NothingToResumeError",
    FaultLayer::Lifecycle,
    "nothing_to_resume",
    "--resume was given, but the agent has no unfinished run",
);
pub const DEFINITION_CHANGED: ErrorClass = ErrorClass::permanent(
    "DefinitionChangedError",
    FaultLayer::Lifecycle,
    "definition_changed",
    "--resume was given, but the definition or the arguments have changed since the run started",
);
pub const INCOMPLETE: ErrorClass = ErrorClass::permanent(
    "IncompleteError",
    FaultLayer::Lifecycle,
    "incomplete",
    "the result of an agent that was not done when its run ended: a limit was reached, or it was interrupted",
);
pub const STEP_LOOP: ErrorClass = ErrorClass::permanent(
    "LoopError",
    FaultLayer::Loop,
    "step_loop",
    "the same step would run more often in a row than stepLoopLimit allows, not counting retries",
);
pub const STEP_RETRY_EXHAUSTED: ErrorClass = ErrorClass::permanent(
    "StepRetryExhaustedError",
    FaultLayer::Loop,
    "step_retry_exhausted",
    "a step failed, and so did all of its retries",
);
pub const NO_BRANCH: ErrorClass = ErrorClass::permanent(
    "BranchError",
    FaultLayer::Loop,
    "no_branch",
    "the answer that a gateway branches on has no matching target and there is no default",
);
pub const ESCALATED: ErrorClass = ErrorClass::permanent(
    "EscalationError",
    FaultLayer::Loop,
    "escalated",
    "a step escalated, and its returnFlow is abort",
);
pub const NOT_NOTIFIED: ErrorClass = ErrorClass::permanent(
    "NotificationError",
    FaultLayer::Loop,
    "not_notified",
    "a webhook could not be reached, or rejected the message, in every attempt",
);
pub const STEP_CUT_SHORT: ErrorClass = ErrorClass::transient(
    "StepCutShortError",
    FaultLayer::Loop,
    "step_cut_short",
    "the session of a step ran out of turns, or returned no structured answer",
);
/// The code is the one that model calls fail with.
pub const SDK_CONNECTION: ErrorClass = ErrorClass::outage(
    "SdkConnectionError",
    FaultLayer::Model,
    "network_error",
    "the model cannot be reached",
);
/// The code is the one that model calls fail with.
pub const SDK_RATE_LIMIT: ErrorClass = ErrorClass::outage(
    "SdkRateLimitError",
    FaultLayer::Model,
    "rate_limited",
    "the model service limits the rate of requests",
);
pub const COMPLETION: ErrorClass = ErrorClass::permanent(
    "CompletionError",
    FaultLayer::Completion,
    "completion",
    "a command or a program of the completion condition could not be run, or its output is malformed",
);
pub const PROMPT_NOT_FOUND: ErrorClass = ErrorClass::permanent(
    "PromptNotFoundError",
    FaultLayer::Prompt,
    "prompt_not_found",
    "a prompt does not exist, or is empty",
);
pub const PROMPT_PARSE: ErrorClass = ErrorClass::permanent(
    "PromptParseError",
    FaultLayer::Prompt,
    "prompt_parse",
    "a prompt has an unclosed placeholder or unclosed front matter, or is too long",
);
pub const PROMPT_VARIABLE: ErrorClass = ErrorClass::permanent(
    "PromptVariableError",
    FaultLayer::Prompt,
    "prompt_variable",
    "a variable has no value, and the agent is strict or the input is required",
);

/// All classes, ordered by layer.
pub const ALL: [ErrorClass; 20] = [
    CONFIGURATION_NOT_FOUND,
    CONFIGURATION_PARSE,
    CONFIGURATION_VALIDATION,
    DEPENDENCY_RESOLUTION,
    ALREADY_STARTED,
    NOTHING_TO_RESUME,
    DEFINITION_CHANGED,
    INCOMPLETE,
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
