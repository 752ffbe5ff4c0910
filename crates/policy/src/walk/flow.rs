//! Tracks the possible working directories through a list of commands: `cd` may succeed or fail, nothing runs after
//! `exit`, branches merge, and a loop must end where it started.

use std::path::PathBuf;

use super::Walker;
use crate::directory_flow::{DirectoryFlow, union};
use crate::shell::ast::{Command, CommandKind, Item, Join, List, Pipeline, Word};
use crate::verdict::{Denial, deny_with_hint};

/// The most possible working directories that are tracked.
const MAX_DIRECTORIES: usize = 8;

/// `None` if the directories do not change.
type FlowResult = Result<Option<DirectoryFlow>, Denial>;

impl<'a> Walker<'a> {
    /// One item of a list; returns whether the shell exits in it.
    pub fn item(&mut self, item: &'a Item) -> Result<bool, Denial> {
        let first = self.pipeline(&item.first)?;
        if item.rest.is_empty() && first.is_none() {
            return Ok(false);
        }
        let entry = self.scope.directories.clone();
        let mut flow = first.unwrap_or_else(|| DirectoryFlow::both(entry.clone()));
        // `cd x || …` is written because the `cd` may fail.
        let trusted = item.rest.iter().all(|(join, _)| *join == Join::And);
        if flow.certain && trusted {
            flow.failed.clear();
        }
        for (join, pipeline) in &item.rest {
            let from = match join {
                Join::And => &flow.succeeded,
                Join::Or => &flow.failed,
            };
            // Unreachable commands are judged too.
            self.scope.directories = if from.is_empty() { entry.clone() } else { from.clone() };
            let reached = !from.is_empty();
            let next = self
                .pipeline(pipeline)?
                .unwrap_or_else(|| DirectoryFlow::both(self.scope.directories.clone()));
            let mut next = if reached { next } else { DirectoryFlow::default() };
            if next.certain && trusted {
                next.failed.clear();
            }
            flow = match join {
                Join::And => DirectoryFlow { failed: union(flow.failed, next.failed), ..next },
                Join::Or => DirectoryFlow { succeeded: union(flow.succeeded, next.succeeded), ..next },
            };
        }
        if item.background {
            self.scope.directories = entry;
            return Ok(false);
        }
        let ends = flow.never_returns();
        self.scope.directories = if ends { entry } else { flow.joined() };
        self.limit_directories()?;
        Ok(ends)
    }

    fn limit_directories(&mut self) -> Result<(), Denial> {
        if self.scope.directories.len() > MAX_DIRECTORIES {
            return deny_with_hint(
                "cd.many",
                "The working directory could be any of too many directories here.",
                "Use one `cd` in a subshell: (cd dir && command).",
            );
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &'a Pipeline) -> FlowResult {
        if let [only] = pipeline.commands.as_slice() {
            let flow = self.command(only)?;
            return Ok(if pipeline.negated {
                flow.map(|flow| DirectoryFlow {
                    succeeded: flow.failed,
                    failed: flow.succeeded,
                    certain: false,
                })
            } else {
                flow
            });
        }
        let sequential = std::mem::replace(&mut self.scope.sequential, false);
        let input = self.scope.input.len();
        for (at, command) in pipeline.commands.iter().enumerate() {
            let before = self.scope.directories.clone();
            self.scope.feeds_xargs = pipeline.commands[at + 1..].iter().any(runs_xargs);
            self.command(command)?;
            self.scope.directories = before;
            if at + 1 < pipeline.commands.len() {
                let printed = self.values.printed(command, &self.scope.input);
                self.scope.input.extend(printed);
            }
        }
        self.scope.feeds_xargs = false;
        self.scope.input.truncate(input);
        self.scope.sequential = sequential;
        Ok(None)
    }

    /// A list; returns whether the shell exits in it.
    fn list(&mut self, list: &'a List) -> Result<bool, Denial> {
        let mut ends = false;
        for item in &list.0 {
            ends |= self.item(item)?;
        }
        Ok(ends)
    }

    /// A list in braces, which runs in the same shell.
    pub fn list_flow(&mut self, list: &'a List) -> FlowResult {
        let before = self.scope.directories.clone();
        let ends = self.list(list)?;
        let after = std::mem::replace(&mut self.scope.directories, before);
        if ends {
            return Ok(Some(DirectoryFlow::default()));
        }
        Ok((after != self.scope.directories).then(|| DirectoryFlow::both(after)))
    }

    /// A list in a subshell; its directory changes have no effect outside.
    pub fn subshell(&mut self, list: &'a List) -> FlowResult {
        let before = self.scope.directories.clone();
        self.list(list)?;
        self.scope.directories = before;
        Ok(None)
    }

    /// A loop, whose body must end in the directories it started in.
    pub fn loop_flow(&mut self, condition: Option<&'a List>, body: &'a List) -> FlowResult {
        let before = self.scope.directories.clone();
        for list in condition.into_iter().chain([body]) {
            self.list(list)?;
        }
        if self.scope.directories.iter().any(|directory| !before.contains(directory)) {
            return deny_with_hint(
                "cd.loop",
                "A loop may not change its working directory.",
                "Use a subshell in the loop: (cd dir && command).",
            )
            .map(|()| None);
        }
        self.scope.directories = before;
        Ok(None)
    }

    pub fn if_flow(&mut self, arms: &'a [(List, List)], otherwise: Option<&'a List>) -> FlowResult {
        let mut after = Vec::new();
        for (condition, body) in arms {
            self.list(condition)?;
            self.branch(body, &mut after)?;
        }
        match otherwise {
            Some(body) => self.branch(body, &mut after)?,
            None => after = union(after, self.scope.directories.clone()),
        }
        Ok(Some(DirectoryFlow::both(after)))
    }

    pub fn case_flow(&mut self, arms: &'a [(Vec<Word>, List)]) -> FlowResult {
        let mut after = self.scope.directories.clone();
        for (patterns, body) in arms {
            patterns.iter().try_for_each(|pattern| self.word(pattern))?;
            // `;&` falls through to the next arm.
            self.scope.directories = after.clone();
            self.branch(body, &mut after)?;
            self.limit_directories()?;
        }
        Ok(Some(DirectoryFlow::both(after)))
    }

    /// Walks a branch and adds its final directories to `after`.
    fn branch(&mut self, body: &'a List, after: &mut Vec<PathBuf>) -> Result<(), Denial> {
        let before = self.scope.directories.clone();
        let ends = self.list(body)?;
        let reached = std::mem::replace(&mut self.scope.directories, before);
        if !ends {
            *after = union(std::mem::take(after), reached);
        }
        Ok(())
    }
}

/// Whether a command is `xargs`, or contains it.
fn runs_xargs(command: &Command) -> bool {
    let any = |list: &List| {
        list.0.iter().any(|item| {
            let rest = item.rest.iter().map(|(_, pipeline)| pipeline);
            std::iter::once(&item.first).chain(rest).any(|pipeline| pipeline.commands.iter().any(runs_xargs))
        })
    };
    match &command.kind {
        CommandKind::Simple(simple) => simple.words.iter().any(|word| word.bare() == Some("xargs")),
        CommandKind::Subshell(list) | CommandKind::Group(list) => any(list),
        CommandKind::If { arms, otherwise } => {
            arms.iter().any(|(condition, body)| any(condition) || any(body))
                || otherwise.as_ref().is_some_and(any)
        }
        CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => any(body),
        CommandKind::While { condition, body } => any(condition) || any(body),
        CommandKind::Case { arms, .. } => arms.iter().any(|(_, body)| any(body)),
        CommandKind::Function { .. } | CommandKind::Test(_) | CommandKind::Arithmetic(_) => false,
    }
}
