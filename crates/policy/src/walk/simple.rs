//! Simple commands: judges the assignments and words, then the command itself.

use super::Walker;
use super::dispatch::dispatch;
use crate::directory_flow::DirectoryFlow;
use crate::rules::environment::{self, GivenVariable};
use crate::rules::rule::Caller;
use crate::rules::{self, assignments, operands, secrets};
use crate::shell::ast::{Assignment, Part, Simple, Value, Word};
use crate::verdict::{Denial, RuleResult, deny_with_hint};
use crate::words::{Arg, arguments, literal};

impl<'a> Walker<'a> {
    pub fn simple(&mut self, simple: &'a Simple) -> Result<Option<DirectoryFlow>, Denial> {
        let is_read = simple.words.first().and_then(Word::bare) == Some("read");
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            // In `IFS= read line` the assignment only affects `read`.
            if !is_read || assignment.name != "IFS" {
                let given = self.given(assignment);
                environment::judge(&mut self.scope, &given)?;
            }
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
            self.listed(word, names_paths)?;
            match names_paths {
                true => argv.extend(self.arguments(word)),
                false => arguments(word, &mut argv),
            }
        }
        match argv[0].text.as_str() {
            "[" | "test" => operands::judge_test_words(&mut self.variables, &simple.words[1..])?,
            "kill" => operands::judge_kill_words(&mut self.variables, &simple.words[1..])?,
            "xargs" if argv.iter().any(|arg| arg.text.starts_with("-a") || arg.text.starts_with("--a")) => {
                self.scope.input.extend(self.values.written().cloned());
            }
            "ps" => operands::judge_ps_words(&mut self.variables, &simple.words[1..])?,
            name if simple.declared.is_empty() => secrets::judge_listing(name, &argv[1..])?,
            _ => {}
        }
        self.scope.sequential &= simple.assignments.is_empty();
        self.export(&argv, simple);
        let given: Vec<GivenVariable> = simple.assignments.iter().map(|set| self.given(set)).collect();
        if self.calls_function(&argv[0].text)? {
            self.scope.allowed_by("function");
            self.scope.exported.extend(given);
        } else {
            self.scope.environment = given;
            dispatch(&mut self.scope, &argv, Caller::Shell)?;
            self.scope.environment.clear();
        }
        Ok(self.scope.take_flow())
    }

    /// Notes the variables that a declaration exports, with each value that the script gives them anywhere.
    fn export(&mut self, argv: &[Arg], simple: &Simple) {
        let options = argv[1..].iter().filter_map(Arg::literal).filter(|text| text.starts_with('-'));
        let exports = match argv[0].text.as_str() {
            "export" => true,
            "declare" | "typeset" | "local" | "readonly" => {
                options.into_iter().any(|text| text.contains('x'))
            }
            _ => false,
        };
        if exports {
            let declared = simple.declared.iter().map(|assignment| assignment.name.as_str());
            let named = argv[1..].iter().filter_map(Arg::literal).filter(|text| !text.starts_with('-'));
            let given = declared.chain(named).map(|name| GivenVariable {
                name: name.to_owned(),
                value: self.described(&Word::variable(name)),
            });
            let given: Vec<GivenVariable> = given.collect();
            self.scope.exported.extend(given);
        }
    }

    fn given(&self, assignment: &Assignment) -> GivenVariable {
        let value = match &assignment.value {
            Value::Scalar(word) => self.described(word),
            // An array is not passed on.
            Value::Array(_) => Arg::unknown(),
        };
        GivenVariable { name: assignment.name.clone(), value }
    }

    /// The value of an assigned word, in which neither braces nor patterns are expanded.
    fn described(&self, word: &Word) -> Arg {
        let parts = word.0.iter().map(|part| match part {
            Part::Text { text, .. } if !text.contains('~') => Some(text.as_str()),
            _ => None,
        });
        match parts.collect::<Option<String>>() {
            Some(text) => Arg::plain(text),
            None => {
                let mut value = Arg::unknown();
                self.values.describe(word, &mut value);
                value
            }
        }
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
                self.word(word)?;
                self.listed(word, false)
            }),
        }
    }
}
