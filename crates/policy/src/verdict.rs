//! What the policy says of a command, and why.

/// The ordered answer: the strictest part of a command decides, which is the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Judgement {
    /// It may run.
    Allow,
    /// It may not.
    Deny,
}

/// The policy's answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it may run.
    pub decision: Judgement,
    /// The stable name of the rule that decided, e.g. `git.config`.
    pub rule: String,
    /// Why, as a sentence.
    pub reason: String,
    /// For a denial: what would be allowed.
    pub instead: Option<String>,
}

impl Verdict {
    /// Whether the command may run.
    pub fn is_allowed(&self) -> bool {
        self.decision == Judgement::Allow
    }
}

impl From<Denial> for Verdict {
    fn from(denial: Denial) -> Self {
        Self {
            decision: Judgement::Deny,
            rule: denial.rule.to_owned(),
            reason: denial.reason,
            instead: denial.instead,
        }
    }
}

/// What a rule answers: nothing against it, or why not.
pub type Ruling = Result<(), Denial>;

/// A rule's refusal.
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

    pub fn instead(mut self, what: impl Into<String>) -> Self {
        self.instead = Some(what.into());
        self
    }
}

/// A refusal as a result.
pub fn deny(rule: &'static str, reason: impl Into<String>) -> Ruling {
    Err(Denial::new(rule, reason))
}

/// A refusal that says what would be allowed.
pub fn deny_but(rule: &'static str, reason: impl Into<String>, instead: impl Into<String>) -> Ruling {
    Err(Denial::new(rule, reason).instead(instead))
}
