//! What is wrong with a roadmap.

use autonoe_core::check_item::CheckItemError;
use autonoe_files::show_bytes;

use super::dependency_path::path_words;
use super::file_problems::FileProblems;
use super::key_problem::{KeyProblem, did_you_mean};
use super::{MAX_ROADMAP, MAX_TASKS};
use crate::id::IdProblem;

pub type RoadmapError = FileProblems<RoadmapProblem>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoadmapProblem {
    #[error("the roadmap is larger than {}", show_bytes(MAX_ROADMAP as u64))]
    TooLarge,
    #[error("the roadmap has more than {MAX_TASKS} tasks")]
    TooManyTasks,
    #[error("the roadmap has no task; write one below `## Tasks`: `- [ ] **id**: what to do`")]
    NoTask,
    #[error("this block is never closed")]
    BlockNotClosed,
    #[error("this comment is never closed")]
    CommentNotClosed,
    #[error("unknown section '{name}'; did you mean '{meant}'?")]
    UnknownSection { name: String, meant: &'static str },
    #[error("a second section '{0}'; put both into one")]
    SecondSection(&'static str),
    #[error("a task outside of `## Tasks` is never run; move it there")]
    TaskOutside,
    #[error("a task must start at the beginning of its line")]
    IndentedTask,
    #[error("expected a task: `- [ ] **id**: what to do`")]
    NotATask,
    #[error("expected `[ ]` or `[x]`")]
    Box,
    #[error("'{id}' is not an id: {why}")]
    Id { id: String, why: IdProblem },
    #[error("the task '{0}' has no description")]
    NoDescription(String),
    #[error("two tasks are called '{id}'; the other one is in line {first}")]
    TwoTasks { id: String, first: usize },
    #[error("this text belongs to no task; indent it, or begin it with `Goal:`")]
    StrayText,
    #[error("expected `key: value`; text of a goal must be indented further")]
    NotAKey,
    #[error("a second '{0}' of the same task")]
    SecondKey(&'static str),
    #[error("the value of '{0}' must be on one line")]
    SeveralLines(&'static str),
    #[error(transparent)]
    Key(#[from] KeyProblem),
    #[error("a check of a task is for that task; leave out `for {0}`")]
    CheckForOther(String),
    #[error("write each check of a task as an item: - check: `command` prints `text`")]
    CheckBlock,
    #[error(transparent)]
    Check(#[from] CheckItemError),
    #[error("unknown task '{name}' in `depends`{}", did_you_mean(.meant))]
    UnknownDependency { name: String, meant: Option<String> },
    #[error("the task depends on itself")]
    DependsOnItself,
    #[error("these tasks wait for each other: {}", path_words(.0))]
    Cycle(Vec<String>),
    #[error("the new tasks would change what is in the roadmap already")]
    ChangesOthers,
}

impl RoadmapProblem {
    /// Whether what was meant as a task may not have been read as one because of it.
    pub fn hides_tasks(&self) -> bool {
        matches!(
            self,
            Self::TooLarge
                | Self::BlockNotClosed
                | Self::CommentNotClosed
                | Self::UnknownSection { .. }
                | Self::TaskOutside
                | Self::IndentedTask
                | Self::NotATask
                | Self::StrayText
        )
    }

    pub(crate) fn at(self, line: usize) -> (usize, Self) {
        (line, self)
    }
}
