//! Where a list leaves the shell: `cd` may succeed or fail, `exit` leaves nowhere, branches join, loops return.

use std::path::PathBuf;

use super::Walker;
use crate::shell::ast::{Item, Join, List, Pipeline, Word};
use crate::verdict::{Denial, deny_but};

/// How many directories a command may be in at once, as far as we can tell.
const MAX_DIRECTORIES: usize = 8;

/// The directories after a command, if it succeeded and if it failed; none if it never returns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flow {
    pub succeeded: Vec<PathBuf>,
    pub failed: Vec<PathBuf>,
    /// Whether it succeeds for sure, as far as one can see.
    pub certain: bool,
}

impl Flow {
    fn both(directories: Vec<PathBuf>) -> Self {
        Self { succeeded: directories.clone(), failed: directories, certain: false }
    }

    /// Whether it ends anywhere but in `directories`.
    pub fn leaves(&self, directories: &[PathBuf]) -> bool {
        self.succeeded.iter().chain(&self.failed).any(|directory| !directories.contains(directory))
    }

    /// The same, or nothing happens and it fails.
    pub fn or_not(self, directories: &[PathBuf]) -> Self {
        Self { failed: union(self.failed, directories.to_vec()), certain: false, ..self }
    }

    fn joined(self) -> Vec<PathBuf> {
        union(self.succeeded, self.failed)
    }

    fn never_returns(&self) -> bool {
        self.succeeded.is_empty() && self.failed.is_empty()
    }
}

/// A flow, or nothing if the directories are as before.
type Flowing = Result<Option<Flow>, Denial>;

impl<'a> Walker<'a> {
    /// One member of a list; returns whether the shell ends there.
    pub fn item(&mut self, item: &'a Item) -> Result<bool, Denial> {
        let first = self.pipeline(&item.first)?;
        if item.rest.is_empty() && first.is_none() {
            return Ok(false);
        }
        let entry = self.directories.clone();
        let mut flow = first.unwrap_or_else(|| Flow::both(entry.clone()));
        // Who writes `cd x || …` does not trust it.
        let trusted = item.rest.iter().all(|(join, _)| *join == Join::And);
        if flow.certain && trusted {
            flow.failed.clear();
        }
        for (join, pipeline) in &item.rest {
            let from = match join {
                Join::And => &flow.succeeded,
                Join::Or => &flow.failed,
            };
            // What is never reached is judged all the same.
            self.directories = if from.is_empty() { entry.clone() } else { from.clone() };
            let reached = !from.is_empty();
            let next = self.pipeline(pipeline)?.unwrap_or_else(|| Flow::both(self.directories.clone()));
            let mut next = if reached { next } else { Flow::default() };
            if next.certain && trusted {
                next.failed.clear();
            }
            flow = match join {
                Join::And => Flow { failed: union(flow.failed, next.failed), ..next },
                Join::Or => Flow { succeeded: union(flow.succeeded, next.succeeded), ..next },
            };
        }
        if item.background {
            self.directories = entry;
            return Ok(false);
        }
        let ends = flow.never_returns();
        self.directories = if ends { entry } else { flow.joined() };
        self.bounded()?;
        Ok(ends)
    }

    fn bounded(&mut self) -> Result<(), Denial> {
        if self.directories.len() > MAX_DIRECTORIES {
            return deny_but(
                "cd.many",
                "Too many directories are possible here.",
                "Use one `cd` in a subshell: (cd dir && command).",
            );
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &'a Pipeline) -> Flowing {
        if let [only] = pipeline.commands.as_slice() {
            let flow = self.command(only)?;
            return Ok(if pipeline.negated {
                flow.map(|flow| Flow { succeeded: flow.failed, failed: flow.succeeded, certain: false })
            } else {
                flow
            });
        }
        let straight = std::mem::replace(&mut self.straight, false);
        for command in &pipeline.commands {
            let before = self.directories.clone();
            self.command(command)?;
            self.directories = before;
        }
        self.straight = straight;
        Ok(None)
    }

    /// A list; returns whether the shell ends in it.
    fn list(&mut self, list: &'a List) -> Result<bool, Denial> {
        let mut ends = false;
        for item in &list.0 {
            ends |= self.item(item)?;
        }
        Ok(ends)
    }

    /// A list in braces.
    pub fn list_flow(&mut self, list: &'a List) -> Flowing {
        let before = self.directories.clone();
        let ends = self.list(list)?;
        let after = std::mem::replace(&mut self.directories, before);
        if ends {
            return Ok(Some(Flow::default()));
        }
        Ok((after != self.directories).then(|| Flow::both(after)))
    }

    /// A list in a shell of its own.
    pub fn apart(&mut self, list: &'a List) -> Flowing {
        let before = self.directories.clone();
        self.list(list)?;
        self.directories = before;
        Ok(None)
    }

    /// A loop, whose body must come back to where it started.
    pub fn looped(&mut self, condition: Option<&'a List>, body: &'a List) -> Flowing {
        let before = self.directories.clone();
        for list in condition.into_iter().chain([body]) {
            self.list(list)?;
        }
        if self.directories.iter().any(|directory| !before.contains(directory)) {
            return deny_but(
                "cd.loop",
                "A loop may not change the directory it runs in.",
                "Use a subshell in the loop: (cd dir && command).",
            )
            .map(|()| None);
        }
        self.directories = before;
        Ok(None)
    }

    pub fn branches(&mut self, arms: &'a [(List, List)], otherwise: Option<&'a List>) -> Flowing {
        let mut after = Vec::new();
        for (condition, body) in arms {
            self.list(condition)?;
            self.branch(body, &mut after)?;
        }
        match otherwise {
            Some(body) => self.branch(body, &mut after)?,
            None => after = union(after, self.directories.clone()),
        }
        Ok(Some(Flow::both(after)))
    }

    pub fn cases(&mut self, arms: &'a [(Vec<Word>, List)]) -> Flowing {
        let mut after = self.directories.clone();
        for (patterns, body) in arms {
            patterns.iter().try_for_each(|pattern| self.word(pattern))?;
            // `;&` runs on into the next arm.
            self.directories = after.clone();
            self.branch(body, &mut after)?;
            self.bounded()?;
        }
        Ok(Some(Flow::both(after)))
    }

    /// Walks a branch from here, and adds where it ends.
    fn branch(&mut self, body: &'a List, after: &mut Vec<PathBuf>) -> Result<(), Denial> {
        let before = self.directories.clone();
        let ends = self.list(body)?;
        let reached = std::mem::replace(&mut self.directories, before);
        if !ends {
            *after = union(std::mem::take(after), reached);
        }
        Ok(())
    }
}

fn union(mut left: Vec<PathBuf>, right: Vec<PathBuf>) -> Vec<PathBuf> {
    for directory in right {
        if !left.contains(&directory) {
            left.push(directory);
        }
    }
    left
}
