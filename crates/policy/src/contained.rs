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
mod compound;
mod expansions;
mod git_values;
mod harmless_calls;
mod local_targets;
mod loose_commands;
mod make_values;
mod npm_words;
mod numbers;
mod outputs;
mod parameters;
mod publishing;
mod remotes;
mod runners;
mod signals;
mod steering;
mod text_arguments;
mod unparsed;
mod variables;

pub use command_values::is_command_variable;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::policy_options::PolicyOptions;
use crate::shell;
use crate::shell::ast::{Assignment, Command, Operation, Part, Script, Simple, Value as Assigned, Word};
use crate::verdict::{CommandDecision, CommandVerdict, Denial, RuleResult, deny_with_hint};
use crate::words::{Arg, literal};

use variables::{TOO_MANY, Value, Variables};

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
const MAX_FUNCTION_CALLS: usize = 4096;
/// How deep functions may call each other.
const MAX_FUNCTION_DEPTH: usize = 12;

pub fn judge(options: &PolicyOptions, command: &str) -> CommandVerdict {
    let mut judgement = ContainedWalk {
        options,
        script: Rc::new(Script::default()),
        variables: Variables::default(),
        chosen: HashMap::new(),
        input: Rc::default(),
        printed: Vec::new(),
        captures: 0,
        passed_left: outputs::PASSED,
        locals: Vec::new(),
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
    /// The script to which the command at this point belongs.
    script: Rc<Script>,
    /// What variables may be at this point.
    variables: Variables,
    /// One value of each variable that has several, while a word is expanded.
    chosen: HashMap<String, Value>,
    /// The known texts that a command at this point may read.
    input: Rc<Vec<String>>,
    /// The known texts that commands have printed into the pipe that is being looked at.
    printed: Vec<String>,
    /// How many pipes the commands at this point print into.
    captures: usize,
    /// How much text pipes may still pass.
    passed_left: usize,
    /// The local variables of the function that is being judged.
    locals: Vec<String>,
    /// What `alias` and `hash -p` made names of commands mean.
    renames: HashMap<String, String>,
    text_depth: usize,
    text_left: usize,
    loop_walks: usize,
    /// The definitions of functions, with the scripts to which they belong.
    functions: HashMap<String, Vec<(Rc<Script>, Command)>>,
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
        if self.text_depth == MAX_TEXT_DEPTH || source.len() > self.text_left || source.contains(TOO_MANY) {
            return too_much();
        }
        self.text_left -= source.len();
        self.text_depth += 1;
        let result = match shell::parse(source) {
            Ok(script) => {
                let script = Rc::new(script);
                let outer = std::mem::replace(&mut self.script, Rc::clone(&script));
                let result = self.list(&script.list);
                self.script = outer;
                result
            }
            Err(error) if error.is_limit => too_much(),
            Err(_) => self.unparsed(source),
        };
        self.text_depth -= 1;
        result
    }

    /// Judges the substitutions in text such as `a[$(command)]`: bash runs them where it evaluates the index.
    fn subscript(&mut self, text: &str) -> RuleResult {
        let Some(open) = text.find('[') else { return Ok(()) };
        match text[open..].contains("$(") || text[open..].contains('`') {
            true => self.text(&format!(": \"{}\"", text.replace('"', ""))),
            false => Ok(()),
        }
    }

    fn command(&mut self, command: &Command) -> RuleResult {
        let script = Rc::clone(&self.script);
        let outer = Rc::clone(&self.input);
        for redirect in &command.redirects {
            let Some(word) = outputs::text_of(redirect, &script.bodies) else { continue };
            self.word(word)?;
            let read = self.in_each_case(&[word], &[], |walk| walk.redirected(redirect));
            self.add_input(read.into_iter().flatten().collect());
        }
        let result = self.kind(&command.kind);
        self.input = outer;
        result
    }

    fn simple(&mut self, simple: &Simple) -> RuleResult {
        simple.words.iter().try_for_each(|word| self.word(word))?;
        let words: Vec<&Word> = simple.words.iter().collect();
        let read = |walk: &Self| words.iter().flat_map(|word| walk.expand(word)).collect::<Vec<Arg>>();
        let calls = self.in_each_case(&words, &["IFS"], read);
        let before = self.variables.clone();
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            self.assignment(assignment)?;
        }
        if simple.words.is_empty() {
            return Ok(());
        }
        let declares = simple.words.first().and_then(Word::bare);
        if !self.active_calls.is_empty() && matches!(declares, Some("local" | "declare" | "typeset")) {
            self.locals.extend(simple.declared.iter().map(|assignment| assignment.name.clone()));
        }
        self.in_each_way(&calls, |walk, argv| {
            walk.function_call(argv)?;
            walk.call(argv)?;
            walk.note_output(argv);
            Ok(())
        })?;
        // They were set for this command only.
        simple.assignments.iter().for_each(|assignment| self.variables.restore(&assignment.name, &before));
        Ok(())
    }

    fn assignment(&mut self, assignment: &Assignment) -> RuleResult {
        let name = assignment.name.as_str();
        calls::judge_variable(name)?;
        let words: Vec<&Word> = match &assignment.value {
            Assigned::Scalar(word) => assignment.index.iter().chain([word]).collect(),
            Assigned::Array(elements) => elements.iter().map(|(_, word)| word).collect(),
        };
        words.iter().try_for_each(|word| self.word(word))?;
        let depends_on: &[&str] =
            if assignment.appends || assignment.index.is_some() { &[name] } else { &[] };
        let values = self.in_each_case(&words, depends_on, |walk| walk.assigned(assignment));
        if self.is_too_much.get() {
            return too_much();
        }
        for value in &values {
            for text in value.elements() {
                if text.len() > MAX_VALUE {
                    self.is_too_much.set(true);
                    return Ok(());
                }
                self.variable(name, text)?;
                self.subscript(text)?;
            }
        }
        if let (Some(index), Assigned::Scalar(word)) = (&assignment.index, &assignment.value) {
            let key = self.index(index);
            let texts = self.in_each_case(&[word], &[], |walk| Value::text(walk.text_of(word)));
            self.variables.set(&format!("{name}[{key}]"), texts);
        }
        if let Assigned::Array(elements) = &assignment.value {
            for (index, word) in elements.iter().filter_map(|(index, word)| Some((index.as_ref()?, word))) {
                let key = self.index(index);
                let texts = self.in_each_case(&[word], &[], |walk| Value::text(walk.text_of(word)));
                self.variables.set(&format!("{name}[{key}]"), texts);
            }
        }
        self.variables.set(name, values);
        Ok(())
    }

    /// What an assignment makes of a variable, in the case that is being looked at.
    fn assigned(&self, assignment: &Assignment) -> Value {
        let before = self.current(&assignment.name);
        let mut words = before.elements().to_vec();
        match &assignment.value {
            Assigned::Array(elements) => {
                words = if assignment.appends { words } else { Vec::new() };
                let added = elements.iter().flat_map(|(_, word)| self.expand(word));
                words.extend(added.map(|arg| parameters::known_text(&arg)));
                if words.iter().map(|word| word.len() + 1).sum::<usize>() > MAX_VALUE {
                    self.is_too_much.set(true);
                }
                Value::words(words)
            }
            Assigned::Scalar(word) => {
                let text = self.text_of(word);
                let at = assignment.index.as_ref().map(|index| self.index(index).parse::<usize>().ok());
                match at {
                    None if assignment.appends => {
                        let first = words.first().cloned().unwrap_or_default();
                        words.splice(..words.len().min(1), [format!("{first}{text}")]);
                        Value::words(words)
                    }
                    None => Value::text(text),
                    Some(Some(at)) if at < words.len() => {
                        words[at] = text;
                        Value::words(words)
                    }
                    Some(_) => {
                        words.push(text);
                        Value::words(words)
                    }
                }
            }
        }
    }

    /// Notes the value of a variable.
    pub fn remember(&mut self, name: &str, value: &str) {
        match value.len() <= MAX_VALUE {
            true => self.variables.set(name, vec![Value::text(value)]),
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
    fn operand(&mut self, word: &Word) -> RuleResult {
        self.word(word)?;
        literal(word).map_or(Ok(()), |text| self.subscript(&text))
    }

    /// Judges the commands in a word's expansions, and notes the variables that they set.
    fn word(&mut self, word: &Word) -> RuleResult {
        word.0.iter().try_for_each(|part| match part {
            Part::Text { .. } => Ok(()),
            Part::Parameter { parameter, .. } => {
                let mut inner = parameter.arithmetic.iter().chain(&parameter.words);
                inner.try_for_each(|inner| self.word(inner))?;
                if parameter.operation == Operation::Assign {
                    calls::judge_variable(&parameter.name)?;
                    let word = Word(vec![part.clone()]);
                    let values = self.in_each_case(&[&word], &[], |walk| Value::text(walk.text_of(&word)));
                    self.variables.set(&parameter.name, values);
                }
                Ok(())
            }
            Part::Command { list, .. } => self.perhaps(|walk| walk.captured(|walk| walk.list(list)).0),
            Part::Process(list) => {
                let (result, texts) = self.captured(|walk| walk.perhaps(|walk| walk.list(list)));
                result?;
                // `source <(echo command)` runs the text.
                texts.iter().try_for_each(|text| self.text(text))
            }
            Part::Arithmetic { expression, .. } => self.arithmetic(expression),
        })
    }
}

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod harmless_tests;
#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod running_tests;
#[cfg(test)]
mod signal_tests;
#[cfg(test)]
mod tests;
