//! The contained level: any program may run, and only what the sandbox cannot judge is denied. [`calls`] judges one
//! command; this file finds the commands in a script, including those in substitutions, functions and text that
//! another shell runs.
//!
//! A command that cannot be seen, such as one that a script runs or whose name is computed, is allowed: the egress
//! proxy decides what it can reach.

mod build_tasks;
mod calls;
mod code_hosts;
mod command_values;
mod git_values;
mod harmless_calls;
mod local_targets;
mod loose_commands;
mod make_values;
mod npm_words;
mod numbers;
mod parameters;
mod publishing;
mod runners;
mod signals;
mod steering;
mod unparsed;

pub use command_values::is_command_variable;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use crate::policy_options::PolicyOptions;
use crate::shell;
use crate::shell::ast::{
    Assignment, Command, CommandKind, Condition, List, Operation, Parameter, Part, Pipeline, RedirectKind,
    Script, Simple, Target, Value, Word,
};
use crate::verdict::{CommandDecision, CommandVerdict, Denial, RuleResult, deny_with_hint};
use crate::words::{Arg, arguments, literal};

/// How deep text may be nested that a shell runs, as in `sh -c "sh -c ls"`.
const MAX_TEXT_DEPTH: usize = 12;
/// The most text, in bytes, that is judged as scripts in one command.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// How often the bodies of all loops together are judged again.
const MAX_LOOP_WALKS: usize = 20_000;
/// The most values of a loop's variable, or inputs of `xargs`, for which what runs with them is judged.
const MAX_LOOP_VALUES: usize = 256;
/// The longest value of a variable or an alias, in bytes.
const MAX_VALUE: usize = 64 * 1024;
/// The most text, in bytes, that known values add to one command.
const MAX_EXPANDED: usize = 2 * 1024 * 1024;
/// The most commands that are judged, those in loops and functions each time that they are judged again.
const MAX_CALLS: usize = 200_000;
/// The most calls of functions whose bodies are judged with their arguments.
const MAX_FUNCTION_CALLS: usize = 2048;
/// How deep functions may call each other.
const MAX_FUNCTION_DEPTH: usize = 12;

/// Options of `echo` and `printf` that are not printed.
const ECHO_OPTIONS: [&str; 6] = ["-n", "-e", "-E", "-ne", "-en", "--"];

pub fn judge(options: &PolicyOptions, command: &str) -> CommandVerdict {
    let mut judgement = ContainedWalk {
        options,
        variables: HashMap::new(),
        renames: HashMap::new(),
        text_depth: 0,
        text_left: MAX_TEXT,
        loop_walks: 0,
        functions: HashMap::new(),
        function_calls: 0,
        active_calls: Vec::new(),
        calls: 0,
        expansion_left: Cell::new(MAX_EXPANDED),
        is_too_much: Cell::new(false),
    };
    if command.contains('\0') {
        return Denial::new("contained.nul", "The command contains a NUL character, which shells drop.")
            .instead("Leave it out.")
            .into();
    }
    let verdict = judgement.text(command);
    match verdict.and_then(|()| if judgement.is_too_much.get() { too_much() } else { Ok(()) }) {
        Ok(()) => CommandVerdict {
            decision: CommandDecision::Allow,
            rule: "contained".to_owned(),
            reason: "The command is allowed; the sandbox limits what it can reach.".to_owned(),
            instead: None,
        },
        Err(denial) => denial.into(),
    }
}

/// Denies what reaches a limit: what is beyond it has not been judged.
pub fn too_much() -> RuleResult {
    deny_with_hint(
        "contained.limit",
        "The command is too long or too deeply nested to be judged.",
        "Split it into several commands, or put it into a script.",
    )
}

struct ContainedWalk<'a> {
    options: &'a PolicyOptions,
    /// The variables that were last set to a known text.
    variables: HashMap<String, String>,
    /// What `alias` and `hash -p` made names of commands mean.
    renames: HashMap<String, String>,
    text_depth: usize,
    text_left: usize,
    loop_walks: usize,
    functions: HashMap<String, Command>,
    function_calls: usize,
    /// The functions that are being judged, with their arguments.
    active_calls: Vec<Vec<Arg>>,
    calls: usize,
    /// How much text known values may still add.
    expansion_left: Cell<usize>,
    /// Whether a value has reached a limit.
    is_too_much: Cell<bool>,
}

impl ContainedWalk<'_> {
    /// Judges text that a shell runs.
    fn text(&mut self, source: &str) -> RuleResult {
        if self.text_depth == MAX_TEXT_DEPTH || source.len() > self.text_left {
            return too_much();
        }
        self.text_left -= source.len();
        self.text_depth += 1;
        let result = match shell::parse(source) {
            Ok(script) => self.list(&script.list, &script),
            Err(error) if error.is_limit => too_much(),
            Err(_) => self.unparsed(source),
        };
        self.text_depth -= 1;
        result
    }

    fn list(&mut self, list: &List, script: &Script) -> RuleResult {
        for item in &list.0 {
            self.pipeline(&item.first, script)?;
            item.rest.iter().try_for_each(|(_, pipeline)| self.pipeline(pipeline, script))?;
        }
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &Pipeline, script: &Script) -> RuleResult {
        pipeline.commands.iter().try_for_each(|command| self.command(command, script))?;
        let runs_input = pipeline.commands.iter().any(|command| self.is_shell_on_input(command));
        let appending: Vec<Vec<Arg>> =
            pipeline.commands.iter().filter_map(|command| self.command_of_xargs(command)).collect();
        if !runs_input && appending.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> =
            pipeline.commands.iter().flat_map(|command| self.printed(command, script)).collect();
        if runs_input {
            texts.iter().try_for_each(|text| self.text(text))?;
        }
        self.appended(&appending, &texts)
    }

    /// Judges the substitutions in text such as `a[$(command)]`: bash runs them where it evaluates the index.
    fn subscript(&mut self, text: &str) -> RuleResult {
        let Some(open) = text.find('[') else { return Ok(()) };
        match text[open..].contains("$(") || text[open..].contains('`') {
            true => self.text(&format!(": \"{}\"", text.replace('"', ""))),
            false => Ok(()),
        }
    }

    fn command(&mut self, command: &Command, script: &Script) -> RuleResult {
        for redirect in &command.redirects {
            match &redirect.target {
                Target::Word(word) => self.word(word, script)?,
                Target::HereDocument(slot) => {
                    script.bodies.get(*slot).map_or(Ok(()), |body| self.word(body, script))?
                }
            }
        }
        match &command.kind {
            CommandKind::Simple(simple) => self.simple(simple, script),
            CommandKind::Subshell(list) | CommandKind::Group(list) => self.list(list, script),
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.list(condition, script)?;
                    self.list(body, script)?;
                }
                otherwise.as_ref().map_or(Ok(()), |body| self.list(body, script))
            }
            CommandKind::For { name, values, body } => {
                calls::judge_variable(name)?;
                let mut expanded = Vec::new();
                for value in values.iter().flatten() {
                    self.word(value, script)?;
                    expanded.extend(self.expand(value));
                }
                self.variables.remove(name);
                self.list(body, script)?;
                let mut judged = HashSet::new();
                for value in expanded.iter().filter_map(Arg::script) {
                    if !judged.insert(value) {
                        continue;
                    }
                    if self.loop_walks == MAX_LOOP_WALKS || judged.len() > MAX_LOOP_VALUES {
                        return too_much();
                    }
                    self.loop_walks += 1;
                    self.remember(name, value);
                    self.list(body, script)?;
                }
                Ok(())
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                expressions.iter().try_for_each(|expression| self.word(expression, script))?;
                self.list(body, script)
            }
            CommandKind::While { condition, body } => {
                self.list(condition, script)?;
                self.list(body, script)
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject, script)?;
                for (patterns, body) in arms {
                    patterns.iter().try_for_each(|pattern| self.word(pattern, script))?;
                    self.list(body, script)?;
                }
                Ok(())
            }
            CommandKind::Function { name, body } => {
                self.functions.insert(name.clone(), Command::clone(body));
                self.command(body, script)
            }
            CommandKind::Test(conditions) => conditions.iter().try_for_each(|condition| match condition {
                Condition::Bare(word) | Condition::Unary(_, word) => self.operand(word, script),
                Condition::Binary(left, _, right) => {
                    self.operand(left, script)?;
                    self.operand(right, script)
                }
            }),
            CommandKind::Arithmetic(expression) => self.word(expression, script),
        }
    }

    fn simple(&mut self, simple: &Simple, script: &Script) -> RuleResult {
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            self.assignment(assignment, script)?;
        }
        simple.words.iter().try_for_each(|word| self.word(word, script))?;
        let argv: Vec<Arg> = simple.words.iter().flat_map(|word| self.expand(word)).collect();
        self.function_call(&argv, script)?;
        self.call(&argv)
    }

    fn assignment(&mut self, assignment: &Assignment, script: &Script) -> RuleResult {
        calls::judge_variable(&assignment.name)?;
        match &assignment.value {
            Value::Scalar(word) => {
                self.word(word, script)?;
                let expanded = self.expand(word);
                let known = match expanded.as_slice() {
                    [only] => only.script(),
                    _ => None,
                };
                match known {
                    Some(text) => {
                        self.remember(&assignment.name, text);
                        self.variable(&assignment.name, text)?;
                        self.subscript(text)?;
                    }
                    None => {
                        self.variables.remove(&assignment.name);
                    }
                }
            }
            Value::Array(elements) => {
                elements.iter().try_for_each(|(_, word)| self.word(word, script))?;
                // The words of `"${command[@]}"`, joined as unquoted text would be split.
                let words: Vec<String> = elements
                    .iter()
                    .flat_map(|(_, word)| self.expand(word))
                    .map(|arg| arg.script().unwrap_or_default().to_owned())
                    .collect();
                self.remember(&assignment.name, &words.join(" "));
                words.iter().try_for_each(|word| self.variable(&assignment.name, word))?;
            }
        }
        Ok(())
    }

    /// Notes the value of a variable.
    pub fn remember(&mut self, name: &str, value: &str) {
        match value.len() <= MAX_VALUE {
            true => {
                self.variables.insert(name.to_owned(), value.to_owned());
            }
            false => self.is_too_much.set(true),
        }
    }

    /// Whether a known value of this length may be put into a command. Otherwise a short script could make text of any
    /// length, by doubling a value again and again.
    pub fn may_expand(&self, length: usize) -> bool {
        let left = self.expansion_left.get().checked_sub(length + 1);
        self.expansion_left.set(left.unwrap_or(0));
        if left.is_none() {
            self.is_too_much.set(true);
        }
        left.is_some()
    }

    /// Judges an operand of `[[ … ]]`, which may be evaluated as arithmetic.
    fn operand(&mut self, word: &Word, script: &Script) -> RuleResult {
        self.word(word, script)?;
        literal(word).map_or(Ok(()), |text| self.subscript(&text))
    }

    /// Judges the commands in a word's expansions.
    fn word(&mut self, word: &Word, script: &Script) -> RuleResult {
        word.0.iter().try_for_each(|part| match part {
            Part::Text { .. } => Ok(()),
            Part::Parameter { parameter, .. } => {
                if parameter.operation == Operation::Assign {
                    calls::judge_variable(&parameter.name)?;
                }
                let mut inner = parameter.arithmetic.iter().chain(&parameter.words);
                inner.try_for_each(|inner| self.word(inner, script))
            }
            Part::Command { list, .. } => self.list(list, script),
            Part::Process(list) => {
                self.list(list, script)?;
                // `source <(echo command)` runs the text.
                self.output(list).map_or(Ok(()), |text| self.text(&text))
            }
            Part::Arithmetic { expression, .. } => self.word(expression, script),
        })
    }

    /// The arguments that a word becomes, with known variables and simple substitutions replaced.
    fn expand(&self, word: &Word) -> Vec<Arg> {
        let mut fields = vec![Word::default()];
        for part in &word.0 {
            let (known, quoted) = match part {
                Part::Parameter { parameter, quoted } => {
                    (self.value(parameter), *quoted && !parameter.spread)
                }
                Part::Command { list, quoted } => (self.output(list), *quoted),
                Part::Arithmetic { expression, .. } => (self.number(expression), true),
                Part::Text { .. } | Part::Process(_) => (None, true),
            };
            let Some(field) = fields.last_mut() else { continue };
            match known.filter(|text| self.may_expand(text.len())) {
                None => field.0.push(part.clone()),
                Some(text) if quoted => field.push(&text, true),
                Some(text) => {
                    for (at, piece) in text.split_whitespace().enumerate() {
                        if at > 0 || text.starts_with(char::is_whitespace) {
                            fields.push(Word::default());
                        }
                        if let Some(field) = fields.last_mut() {
                            field.push(piece, true);
                        }
                    }
                    if text.ends_with(char::is_whitespace) {
                        fields.push(Word::default());
                    }
                }
            }
        }
        let mut args = Vec::new();
        // What expands to nothing is no argument.
        fields.iter().filter(|field| !field.0.is_empty()).for_each(|field| match numbers::sequence(field) {
            Some(numbers) => args.extend(numbers),
            None => arguments(field, &mut args),
        });
        args.into_iter().map(Arg::with_unknown_parts).collect()
    }

    /// The text that a word becomes, as far as it is known.
    fn outline(&self, word: &Word) -> String {
        let args = self.expand(word);
        let texts: Vec<&str> = args.iter().filter_map(Arg::script).collect();
        texts.join(" ")
    }

    /// The value of an expansion, as far as it is known. A transformation of a value is not followed; the word of
    /// `${x:-word}` is taken if there is no value.
    fn value(&self, parameter: &Parameter) -> Option<String> {
        let known = match parameter.name.as_str() {
            "IFS" => Some(" ".to_owned()),
            "PPID" => Some(signals::PARENT.to_owned()),
            name => self.variables.get(name).cloned(),
        };
        match (parameter.operation, parameter.words.as_slice()) {
            (Operation::Length, _) => None,
            (
                Operation::Assign
                | Operation::Default
                | Operation::RemovePrefix
                | Operation::RemoveSuffix
                | Operation::Other,
                [word],
            ) => known.filter(|value| !value.is_empty()).or_else(|| literal(word)),
            (
                Operation::Value
                | Operation::Assign
                | Operation::Default
                | Operation::RemovePrefix
                | Operation::RemoveSuffix
                | Operation::Other,
                _,
            ) => known,
        }
    }

    /// The value of a sum of numbers. One with `PPID` in it may be the parent.
    fn number(&self, expression: &Word) -> Option<String> {
        let is_parent = |part: &Part| match part {
            Part::Text { text, .. } => text.contains("PPID"),
            Part::Parameter { parameter, .. } => parameter.name == "PPID",
            Part::Command { .. } | Part::Arithmetic { .. } | Part::Process(_) => false,
        };
        match expression.0.iter().any(is_parent) {
            true => Some(signals::PARENT.to_owned()),
            false => numbers::sum(&literal(expression)?).map(|sum| sum.to_string()),
        }
    }

    /// What a substitution prints, if it only names a program or prints known text.
    fn output(&self, list: &List) -> Option<String> {
        let [item] = list.0.as_slice() else { return None };
        let [Command { kind: CommandKind::Simple(simple), .. }] = item.first.commands.as_slice() else {
            return None;
        };
        let words = simple.words.iter().flat_map(|word| self.expand(word));
        let argv: Vec<Arg> = words.collect();
        let (name, args) = argv.split_first().filter(|_| item.rest.is_empty())?;
        match (name.literal()?, args) {
            ("echo" | "which" | "printf", args) => {
                let texts: Option<Vec<&str>> = args.iter().map(Arg::script).collect();
                Some(texts?.join(" "))
            }
            ("command" | "type", [_, program]) => program.literal().map(str::to_owned),
            _ => None,
        }
    }

    /// Whether a command is a shell that runs what it reads.
    fn is_shell_on_input(&self, command: &Command) -> bool {
        let CommandKind::Simple(simple) = &command.kind else { return false };
        let argv: Vec<Arg> = simple.words.iter().flat_map(|word| self.expand(word)).collect();
        calls::is_shell_on_input(&argv)
    }

    /// The arguments of `xargs` or `parallel`, to which it appends what it reads.
    fn command_of_xargs(&self, command: &Command) -> Option<Vec<Arg>> {
        let CommandKind::Simple(simple) = &command.kind else { return None };
        let argv: Vec<Arg> = simple.words.iter().flat_map(|word| self.expand(word)).collect();
        argv.first()?.literal().is_some_and(calls::appends_input).then_some(argv)
    }

    /// The known text that a command passes to the next one, or reads itself.
    fn printed(&self, command: &Command, script: &Script) -> Vec<String> {
        let read = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Text);
        let mut texts: Vec<String> = read
            .filter_map(|redirect| match &redirect.target {
                Target::Word(word) => Some(self.outline(word)),
                Target::HereDocument(slot) => script.bodies.get(*slot).map(|body| self.outline(body)),
            })
            .collect();
        if let CommandKind::Simple(simple) = &command.kind {
            let argv: Vec<Arg> = simple.words.iter().flat_map(|word| self.expand(word)).collect();
            if let Some((name, args)) = argv.split_first()
                && matches!(name.literal(), Some("echo" | "printf"))
            {
                texts.push(printed_text(args));
            }
        }
        texts
    }
}

/// What `echo` or `printf` prints, as far as it is known.
fn printed_text(args: &[Arg]) -> String {
    let words = args.iter().filter_map(Arg::script).filter(|word| !ECHO_OPTIONS.contains(word));
    words.collect::<Vec<_>>().join(" ").replace("\\n", "\n")
}

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod tests;
