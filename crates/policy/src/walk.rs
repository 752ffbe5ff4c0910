//! Walks a command's syntax tree into every part that can run or write something, and tracks the possible working
//! directories of each part. The rules judge each command's name and arguments.

mod arithmetic;
mod dispatch;
mod flow;
mod simple;

use std::collections::HashMap;
use std::path::PathBuf;

use crate::directory_flow::DirectoryFlow;
use crate::paths::{CommandPaths, has_pattern};
use crate::policy_options::PolicyOptions;
use crate::possible_values::{PossibleValues, UNKNOWN};
use crate::rules::scope::CommandScope;
use crate::rules::{assignments, environment, reads, redirections, secrets};
use crate::shell::ast::{
    Command, CommandKind, Condition, List, Operation, Part, RedirectKind, Script, Target, Value, Word,
};
use crate::variable_kinds::VariableKinds;
use crate::verdict::{CommandDecision, CommandVerdict, Denial, RuleResult, deny, deny_with_hint};
use crate::words::{Arg, arguments};
use dispatch::dispatch_wrapped;

pub struct Walker<'a> {
    script: &'a Script,
    scope: CommandScope<'a>,
    functions: HashMap<&'a str, (Vec<PathBuf>, &'a Command)>,
    variables: VariableKinds<'a>,
    values: PossibleValues<'a>,
}

impl<'a> Walker<'a> {
    pub fn new(
        options: &'a PolicyOptions,
        paths: &'a CommandPaths,
        script: &'a Script,
        directories: Vec<PathBuf>,
    ) -> Self {
        Self {
            script,
            scope: CommandScope::new(options, paths, script, directories, dispatch_wrapped),
            functions: HashMap::new(),
            variables: VariableKinds::of(script),
            values: PossibleValues::of(script, options.temp.as_deref()),
        }
    }

    pub fn verdict(mut self) -> CommandVerdict {
        let result = self.script(&self.script.list).and_then(|()| self.judge_scripts());
        if let Err(denial) = result.and_then(|()| environment::judge_exported(&mut self.scope)) {
            return denial.into();
        }
        let rule = self.scope.rules().first().copied().unwrap_or("nothing").to_owned();
        let reason = match self.scope.rules().len() {
            0 => "There is no command to run.".to_owned(),
            1 => "The command is allowed.".to_owned(),
            several => format!("All {several} commands are allowed."),
        };
        CommandVerdict { decision: CommandDecision::Allow, rule, reason, instead: None }
    }

    /// The top level, the only level at which functions may be defined.
    fn script(&mut self, list: &'a List) -> RuleResult {
        for item in &list.0 {
            self.scope.sequential = !item.background;
            if let ([Command { kind: CommandKind::Function { name, body }, .. }], [], false) =
                (item.first.commands.as_slice(), item.rest.as_slice(), item.background)
            {
                self.define(name, body)?;
            } else {
                self.item(item)?;
            }
        }
        Ok(())
    }

    /// Judges a function where it is defined. It may be called only from the same working directories.
    fn define(&mut self, name: &'a str, body: &'a Command) -> RuleResult {
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return deny("function.name", format!("'{name}' is not a plain function name."));
        }
        if crate::rules::is_known(name) || assignments::is_dangerous(name) {
            return deny_with_hint(
                "function.name",
                format!("A function may not have the name of a known command: '{name}'."),
                "Choose a name that is not a command.",
            );
        }
        self.functions.insert(name, (self.scope.directories.clone(), body));
        self.scope.in_function = true;
        let result = self.command(body);
        self.scope.in_function = false;
        if result?.is_some_and(|flow| flow.changes_directory(&self.scope.directories)) {
            return deny_with_hint(
                "function.cd",
                "A function may not change its caller's working directory.",
                "Put the function's body into a subshell: name() ( cd … ).",
            );
        }
        Ok(())
    }

    /// Whether a name is a defined function. Denies the call if the working directories differ from the definition.
    fn calls_function(&mut self, name: &str) -> Result<bool, Denial> {
        match self.functions.get(name) {
            None => Ok(false),
            Some((directories, body)) if *directories == self.scope.directories => {
                // What it does with its input was not known where it was defined.
                if !self.scope.input.is_empty() && !self.scope.in_function {
                    let body = *body;
                    self.scope.in_function = true;
                    let result = self.command(body);
                    self.scope.in_function = false;
                    result?;
                }
                Ok(true)
            }
            Some(_) => Err(Denial::new(
                "function.cd",
                format!("The function '{name}' was defined in a different working directory."),
            )
            .instead("Call it from the directory in which it is defined.")),
        }
    }

    /// The action of a trap, for example, is a command that may run in any directory the shell has been in.
    fn judge_scripts(&mut self) -> RuleResult {
        for action in std::mem::take(&mut self.scope.scripts) {
            let script = crate::shell::parse(&action).map_err(|error| {
                Denial::new("builtin.trap", format!("The trap's action could not be parsed: {error}."))
            })?;
            if !script.variables.is_empty() {
                return deny("builtin.trap", "A trap may not set variables.");
            }
            let mut walker =
                Walker::new(self.scope.options, self.scope.paths, &script, self.scope.visited().to_vec());
            walker.variables = self.variables.clone();
            walker.values = self.values.clone();
            walker.scope.follow_files_of(&self.scope);
            walker.script(&script.list)?;
            if !walker.scope.scripts.is_empty() {
                return deny("builtin.trap", "A trap may not set another trap.");
            }
            self.scope.runs_make |= walker.scope.runs_make;
            self.scope.exported.append(&mut walker.scope.exported);
        }
        Ok(())
    }

    fn command(&mut self, command: &'a Command) -> Result<Option<DirectoryFlow>, Denial> {
        for redirect in &command.redirects {
            match &redirect.target {
                Target::Word(word) => {
                    self.word(word)?;
                    let targets = self.arguments(word);
                    redirections::judge(&mut self.scope, redirect.kind, word, targets)?;
                }
                Target::HereDocument(slot) => {
                    if let Some(body) = self.script.bodies.get(*slot) {
                        self.parts(body)?;
                    }
                }
            }
        }
        let before = self.scope.input.len();
        if !command.redirects.is_empty() {
            self.scope.input.extend(self.values.read_by(command));
        }
        let was_replaced = self.scope.files_are_replaced_by_now();
        let flow = self.kind(&command.kind)?;
        // The shell opens a redirection after it has run the substitutions in the words.
        if !was_replaced && !command.redirects.is_empty() && has_substitution(&command.kind) {
            self.scope.refuse_if_replaced()?;
        }
        self.scope.input.truncate(before);
        // If a redirection fails, the command does not run.
        let may_not_run = command.redirects.iter().any(|redirect| redirect.kind != RedirectKind::Text);
        Ok(if may_not_run { flow.map(|flow| flow.or_skipped(&self.scope.directories)) } else { flow })
    }

    /// The arguments that a word becomes, with what they may be if they are not known.
    pub fn arguments(&self, word: &Word) -> Vec<Arg> {
        let mut args = Vec::new();
        arguments(word, &mut args);
        if let [only] = args.as_mut_slice() {
            self.values.describe(word, only);
        }
        args
    }

    /// Judges the names that the shell lists where it expands patterns in a word; `are_read` if a program may take them for files, also
    /// where it expects something else: a pattern of grep may become several names.
    fn listed(&mut self, word: &Word, are_read: bool) -> RuleResult {
        let may_expand = |part: &Part| match part {
            Part::Text { text, quoted } => !quoted && has_pattern(text),
            Part::Parameter { quoted, .. } | Part::Command { quoted, .. } => !quoted,
            Part::Arithmetic { .. } | Part::Process(_) => false,
        };
        if !word.0.iter().any(may_expand) {
            return Ok(());
        }
        let is_written = word.0.iter().filter_map(Part::unquoted_text).any(has_pattern);
        for arg in self.arguments(word) {
            if arg.may_be_too_many && is_written {
                return deny_with_hint(
                    "path.unknown",
                    "The directory of the pattern is not known before the command runs.",
                    "Write a literal directory.",
                );
            }
            for text in arg.may_be.iter().chain([&arg]).map(|arg| arg.text.as_str()) {
                if !has_pattern(text) {
                    continue;
                }
                self.scope.count_path()?;
                if are_read {
                    self.scope.may_read_matches(text)?;
                }
                // Names in the working directory are the project's.
                if text.contains('/') {
                    self.scope.may_list_matches(text)?;
                    if let Some(text) = reads::absolute_after_nothing(text) {
                        self.scope.may_list_matches(&text)?;
                    }
                    if let Some(below) = text.strip_prefix(UNKNOWN).filter(|below| below.starts_with('/')) {
                        self.scope.may_list_matches(&format!(".{below}"))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn kind(&mut self, kind: &'a CommandKind) -> Result<Option<DirectoryFlow>, Denial> {
        let sequential = std::mem::replace(&mut self.scope.sequential, false);
        let flow = match kind {
            CommandKind::Simple(simple) => {
                self.scope.sequential = sequential;
                self.simple(simple)
            }
            CommandKind::Subshell(list) => self.subshell(list),
            CommandKind::Group(list) => self.list_flow(list),
            CommandKind::If { arms, otherwise } => self.if_flow(arms, otherwise.as_ref()),
            CommandKind::For { name, values, body } => {
                assignments::judge_name(name)?;
                for value in values.iter().flatten() {
                    self.word(value)?;
                    self.listed(value, false)?;
                }
                self.loop_flow(None, body)
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                expressions.iter().try_for_each(|expression| self.arithmetic(expression))?;
                self.loop_flow(None, body)
            }
            CommandKind::While { condition, body } => self.loop_flow(Some(condition), body),
            CommandKind::Case { subject, arms } => {
                self.word(subject)?;
                self.case_flow(arms)
            }
            CommandKind::Function { name, .. } => deny_with_hint(
                "function.place",
                format!("The function '{name}' is not defined at the top level, so it may not exist when it is called."),
                "Define functions on separate lines at the start of the command.",
            )
            .map(|()| None),
            CommandKind::Test(conditions) => {
                conditions.iter().try_for_each(|condition| self.condition(condition)).map(|()| None)
            }
            CommandKind::Arithmetic(expression) => self.arithmetic(expression).map(|()| None),
        };
        self.scope.sequential = sequential;
        flow
    }

    fn condition(&mut self, condition: &'a Condition) -> RuleResult {
        match condition {
            Condition::Bare(word) => self.word(word),
            Condition::Unary(operator, word) => {
                if matches!(operator.as_str(), "-v" | "-R") {
                    assignments::judge_plain_name(word)?;
                }
                self.word(word)
            }
            Condition::Binary(left, operator, right) => {
                self.word(left)?;
                self.word(right)?;
                if operator.starts_with('-') && !matches!(operator.as_str(), "-nt" | "-ot" | "-ef" | "-a") {
                    self.number(left)?;
                    self.number(right)?;
                }
                Ok(())
            }
        }
    }

    /// Judges a word: the commands in its expansions, and whether it names a path with secrets.
    fn word(&mut self, word: &'a Word) -> RuleResult {
        secrets::judge(word)?;
        self.parts(word)
    }

    fn parts(&mut self, word: &'a Word) -> RuleResult {
        for part in &word.0 {
            match part {
                Part::Text { .. } => {}
                Part::Parameter { parameter, .. } => {
                    if parameter.operation == Operation::Assign {
                        assignments::judge_name(&parameter.name)?;
                    }
                    parameter.arithmetic.iter().try_for_each(|expression| self.arithmetic(expression))?;
                    parameter.words.iter().try_for_each(|word| self.word(word))?;
                }
                Part::Command { list, .. } | Part::Process(list) => {
                    let sequential = std::mem::replace(&mut self.scope.sequential, false);
                    self.subshell(list)?;
                    self.scope.sequential = sequential;
                }
                Part::Arithmetic { expression, .. } => self.arithmetic(expression)?,
            }
        }
        Ok(())
    }
}

/// Whether commands run for the words and values of a simple command.
fn has_substitution(kind: &CommandKind) -> bool {
    let CommandKind::Simple(simple) = kind else { return false };
    let is_substitution = |part: &Part| matches!(part, Part::Command { .. } | Part::Process(_));
    let assigned = simple.assignments.iter().filter_map(|assignment| match &assignment.value {
        Value::Scalar(word) => Some(word),
        Value::Array(_) => None,
    });
    simple.words.iter().chain(assigned).flat_map(|word| &word.0).any(is_substitution)
}

#[cfg(test)]
mod tests;
