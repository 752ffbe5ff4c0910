//! The task in other words: written by a model, or by us where none can be asked.

use super::nudge::facts;
use super::sections::joined;
use super::strategy::{LoopContext, RecoveryResult, RecoveryStrategy, RewriteRequest};
use crate::roadmap::Task;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    Rephrase,
    Decompose,
    Constrain,
    Examples,
    Negative,
}

impl Mutation {
    /// In the order in which they are tried.
    pub const ALL: [Self; 5] =
        [Self::Rephrase, Self::Decompose, Self::Constrain, Self::Examples, Self::Negative];

    fn name(self) -> &'static str {
        match self {
            Self::Rephrase => "rephrase",
            Self::Decompose => "decompose",
            Self::Constrain => "constrain",
            Self::Examples => "examples",
            Self::Negative => "negative",
        }
    }

    /// What a model is asked to do with the task.
    fn request(self) -> &'static str {
        match self {
            Self::Rephrase => {
                "Rephrase it: say the same in other, clearer words, and name the result that is wanted."
            }
            Self::Decompose => {
                "Decompose it: three to seven steps, each of which can be finished and checked on its own."
            }
            Self::Constrain => {
                "Constrain it: narrow the scope to what is needed, and name limits that exclude detours."
            }
            Self::Examples => "Add examples: concrete inputs with the outputs that are wanted.",
            Self::Negative => {
                "Add what not to do: name the approaches that failed, and why each of them did."
            }
        }
    }

    /// The finished text that is used where no model can be asked.
    fn text(self, task: &Task, context: &LoopContext) -> String {
        match self {
            Self::Rephrase => format!(
                "## The task in other words\nWhen you are done, this must be true: {}\n{}Nothing else is asked for. Begin with what is \
                 missing from that, not with what was begun before.",
                task.goal,
                wanted(task)
            ),
            Self::Decompose => format!(
                "## Steps\nTake these steps one after another, and finish each before you begin the next one:\n\
                 1. Find out what is missing. {}\n\
                 2. Of everything that is missing, choose the smallest part that can be seen to work by itself.\n\
                 3. Find the one place in the code that is responsible for it, and read it completely.\n\
                 4. Make the smallest change that could work.\n\
                 5. Check that part alone, and commit it when it works.\n\
                 6. Repeat from step 2.",
                commands(task)
            ),
            Self::Constrain => "## Limits\nWork within these limits:\n\
                 - Change at most three files.\n\
                 - Add no dependency, no option and no abstraction.\n\
                 - Do not change tests, unless the task asks for it.\n\
                 - If the last attempt left code that does not work, remove it first.\n\
                 - When one thing works that did not work before, commit it and stop."
                .to_owned(),
            Self::Examples => examples(task, context),
            Self::Negative => negative(context),
        }
    }
}

pub struct PromptMutator {
    pub mutation: Mutation,
}

impl RecoveryStrategy for PromptMutator {
    fn name(&self) -> &'static str {
        self.mutation.name()
    }

    fn sessions(&self) -> u32 {
        1
    }

    fn can_apply(&self, context: &LoopContext) -> bool {
        context.is_new(self.name())
    }

    fn apply(&self, task: &Task, context: &LoopContext) -> RecoveryResult {
        let asked = format!(
            "A coding agent is stuck on the task below, and you improve its description. {} Answer from what you read here: use no tools, \
             and do not work on the task yourself.",
            self.mutation.request()
        );
        let described = match context.instruction.as_str() {
            "" => task.prompt(None),
            instruction => instruction.to_owned(),
        };
        let request = RewriteRequest {
            prompt: joined(&[asked, described, facts(context)]),
            rest: joined(&[criteria(task), facts(context)]),
        };
        let own = joined(&[context.prompt.clone(), self.mutation.text(task, context), facts(context)]);
        RecoveryResult { rewrite: Some(request), ..RecoveryResult::prompt(own) }
    }
}

/// A model must not change what counts as success.
fn criteria(task: &Task) -> String {
    task.success_criteria.as_ref().map(|text| format!("## Success Criteria\n{text}")).unwrap_or_default()
}

fn wanted(task: &Task) -> String {
    let mut text = String::new();
    if let Some(criteria) = &task.success_criteria {
        text.push_str(&format!("It counts as success if: {criteria}\n"));
    }
    for check in &task.checks {
        text.push_str(&format!("`{}` must exit with {}.\n", check.command, check.exit));
    }
    text
}

fn commands(task: &Task) -> String {
    let commands: Vec<String> = task.checks.iter().map(|check| format!("`{}`", check.command)).collect();
    match commands.is_empty() {
        true => "Compare the files with the goal, and list the differences.".to_owned(),
        false => format!("Run {}, and read the first error completely.", commands.join(", ")),
    }
}

fn examples(task: &Task, context: &LoopContext) -> String {
    let mut lines = vec!["## Examples of what is wanted".to_owned()];
    for check in &task.checks {
        let output = match check.output.is_empty() {
            true => "with any output".to_owned(),
            false => format!("and print `{}`", check.output.join("`, then `")),
        };
        lines.push(format!("- `{}` must exit with {} {output}.", check.command, check.exit));
    }
    for check in &context.failed_checks {
        let last = check.output.trim().lines().last().unwrap_or_default();
        lines.push(format!(
            "- Now {} fails and prints last: `{last}`. That line must not appear.",
            check.name
        ));
    }
    if lines.len() == 1 {
        lines.push(format!("- Someone who looks for it finds this to be true: {}", task.goal));
    }
    lines.push("Choose one example, make it true, and only then look at the next one.".to_owned());
    lines.join("\n")
}

fn negative(context: &LoopContext) -> String {
    let mut lines = vec!["## What not to do".to_owned()];
    for text in &context.tried {
        let first = text.trim().lines().next().unwrap_or_default();
        lines.push(format!("- Do not try this again, it did not help: {first}"));
    }
    lines.push("- Do not run a command again whose result you know.".to_owned());
    lines.push("- Do not edit a file and then undo the edit.".to_owned());
    lines.push("- Do not say that it is done while a check fails.".to_owned());
    lines.join("\n")
}
