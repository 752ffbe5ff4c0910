//! Simple commands: judges the assignments and words, then the command itself.

use super::Walker;
use super::dispatch::dispatch;
use crate::directory_flow::DirectoryFlow;
use crate::rules::rule::Caller;
use crate::rules::{self, assignments, operands, secrets};
use crate::shell::ast::{Assignment, Simple, Value, Word};
use crate::verdict::{Denial, RuleResult, deny_with_hint};
use crate::words::{Arg, arguments, literal};

impl<'a> Walker<'a> {
    pub fn simple(&mut self, simple: &'a Simple) -> Result<Option<DirectoryFlow>, Denial> {
        let is_read = simple.words.first().and_then(Word::bare) == Some("read");
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            // In `IFS= read line` the assignment only affects `read`.
            let value = match &assignment.value {
                Value::Scalar(word) => literal(word),
                Value::Array(_) => None,
            };
            let affects_only_read = is_read && assignment.name == "IFS";
            let is_harmless = affects_only_read
                || assignments::is_plain_pager(&assignment.name, value.as_deref())
                || assignments::is_own_module_path(&self.scope, &assignment.name, value.as_deref());
            if !is_harmless {
                assignments::judge_name(&assignment.name)?;
            }
            assignments::judge_value(&mut self.scope, &assignment.name, value.as_deref())?;
            self.assigned_value(assignment)?;
        }
        let arrays = &self.script.arrays;
        simple.declared.iter().try_for_each(|declared| assignments::judge_declared(arrays, declared))?;
        simple.words.iter().try_for_each(|word| self.word(word))?;
        let Some(first) = simple.words.first() else { return Ok(None) };
        let Some(name) = literal(first) else {
            return deny_with_hint(
                "command.dynamic",
                "The command name is not known before the command runs.",
                "Write a literal command name.",
            )
            .map(|()| None);
        };
        let mut argv = Vec::with_capacity(simple.words.len());
        argv.push(Arg::plain(name));
        let names_paths = !rules::find(&argv[0].text).is_some_and(|rule| rule.names_no_paths());
        for word in &simple.words[1..] {
            match names_paths {
                true => argv.extend(self.arguments(word)),
                false => arguments(word, &mut argv),
            }
        }
        match argv[0].text.as_str() {
            "[" | "test" => operands::judge_test_words(&mut self.variables, &simple.words[1..])?,
            "kill" => operands::judge_kill_words(&mut self.variables, &simple.words[1..])?,
            "ps" => operands::judge_ps_words(&mut self.variables, &simple.words[1..])?,
            name if simple.declared.is_empty() => secrets::judge_listing(name, &argv[1..])?,
            _ => {}
        }
        self.scope.sequential &= simple.assignments.is_empty();
        if self.calls_function(&argv[0].text)? {
            self.scope.allowed_by("function");
        } else {
            dispatch(&mut self.scope, &argv, Caller::Shell)?;
        }
        Ok(self.scope.take_flow())
    }

    /// Judges the expansions in an assigned value.
    fn assigned_value(&mut self, assignment: &'a Assignment) -> RuleResult {
        if let Some(index) = &assignment.index {
            self.arithmetic(index)?;
        }
        match &assignment.value {
            Value::Scalar(word) => self.word(word),
            Value::Array(elements) => elements.iter().try_for_each(|(index, word)| {
                index.iter().try_for_each(|index| self.arithmetic(index))?;
                self.word(word)
            }),
        }
    }
}
