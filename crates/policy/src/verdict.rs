//! The policy's verdict on a command, with the rule that decided and the reason.

/// Ordered so that the maximum is the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandDecision {
    Allow,
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandVerdict {
    pub decision: CommandDecision,
    /// The stable name of the rule that decided, e.g. `git.config`.
    pub rule: String,
    pub reason: String,
    /// For a denial: an alternative that would be allowed.
    pub instead: Option<String>,
}

impl CommandVerdict {
    pub fn is_allowed(&self) -> bool {
        self.decision == CommandDecision::Allow
    }
}

impl From<Denial> for CommandVerdict {
    fn from(denial: Denial) -> Self {
        Self {
            decision: CommandDecision::Deny,
            rule: denial.rule.to_owned(),
            reason: denial.reason,
            instead: denial.instead,
        }
    }
}

pub type RuleResult = Result<(), Denial>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub rule: &'static str,
    pub reason: String,
    pub instead: Option<String>,
}

impl Denial {
    pub fn new(rule: &'static str, reason: impl Into<String>) -> Self {
        Self { rule, reason: reason.into(), instead: None }
    }

    pub fn instead(mut self, alternative: impl Into<String>) -> Self {
        self.instead = Some(alternative.into());
        self
    }
}

pub fn deny(rule: &'static str, reason: impl Into<String>) -> RuleResult {
    Err(Denial::new(rule, reason))
}

/// Denies, and names an alternative that would be allowed.
pub fn deny_with_hint(
    rule: &'static str,
    reason: impl Into<String>,
    instead: impl Into<String>,
) -> RuleResult {
    Err(Denial::new(rule, reason).instead(instead))
}
