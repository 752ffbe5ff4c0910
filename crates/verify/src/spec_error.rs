//! What is wrong with the checks in SPEC.md.

use autonoe_core::check_item::CheckItemError;
use autonoe_core::duration::DurationError;

use crate::check_limit::too_many;
use crate::protect_pattern::PatternProblem;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("SPEC.md, line {line}: {problem}")]
pub struct SpecError {
    pub(crate) line: usize,
    pub(crate) problem: SpecProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpecProblem {
    #[error("{}", too_many())]
    TooMany,
    #[error("the check is never closed")]
    NotClosed,
    #[error("this block is never closed, and a check below is in it")]
    BlockNotClosed,
    #[error("this comment is never closed, and a check below is in it")]
    CommentNotClosed,
    #[error(
        "this check is in the block that line {opened} opens; close that block, or open it with a longer fence"
    )]
    InsideBlock { opened: usize },
    #[error("a check cannot have a backquote after its fence: no Markdown reader takes it for a block")]
    BackquoteAfterFence,
    #[error(
        "'{0}' after the fence does not make this block a check; write `check` and then the deliverable, as in ```check ADD-001"
    )]
    LooksLikeBlock(String),
    #[error("this is not a check, since it is not an item of a list; write `- Check: …`")]
    LooksLikeItem,
    #[error("this looks like a check and is not one; write `- Check: …`, one for each command")]
    NearlyItem,
    #[error(transparent)]
    Duration(#[from] DurationError),
    #[error(transparent)]
    Protect(#[from] PatternProblem),
    #[error("'{0}' is not a list of criterion numbers, such as 1,2")]
    Criteria(String),
    #[error("unknown check option '{0}'; the options are name, time, criteria, protect and network")]
    Option(String),
    #[error("'{0}=' is there twice; a check has only one")]
    OptionTwice(&'static str),
    #[error("'network' takes no value; write only `network`")]
    NetworkValue,
    #[error("the time limit of the check is zero")]
    TimeLimit,
    #[error("unexpected word '{0}': a check has only one deliverable")]
    SecondDeliverable(String),
    #[error("a check must start with a command after `$ `")]
    OutputFirst,
    #[error("expected an exit code from 0 to 255 after `?`")]
    ExitCode,
    #[error("a second exit code after `?`: a command has only one")]
    SecondExitCode,
    #[error("there is no command after `$ `")]
    EmptyCommand,
    #[error("the check has no command; write it after `$ `")]
    NoCommand,
    #[error(
        "the last command of the check is not finished: its here-document, its line that ends with a backslash, a quote or a parenthesis"
    )]
    Unfinished,
    #[error(transparent)]
    Item(#[from] CheckItemError),
}

impl SpecProblem {
    pub(crate) fn at(self, line: usize) -> SpecError {
        SpecError { line, problem: self }
    }
}
