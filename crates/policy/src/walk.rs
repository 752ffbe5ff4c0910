//! Walks a command's syntax tree into every part that can run or write something, and tracks the possible working
//! directories of each part. The rules judge each command's name and arguments.

mod arithmetic;
mod flow;
mod simple;

use std::collections::HashMap;
use std::path::PathBuf;

pub use simple::{Caller, CommandCall};

use crate::paths::Lookups;
use crate::policy::CommandPolicy;
use crate::rules::{assignments, redirections, secrets};
use crate::shell::ast::{
    Command, CommandKind, Condition, List, Operation, Part, RedirectKind, Script, Target, ValueKind, Word,
};
use crate::verdict::{CommandDecision, CommandVerdict, Denial, RuleResult, deny, deny_with_hint};
use crate::words::Arg;
use flow::DirectoryFlow;

/// The most paths in one command that are looked up.
const MAX_PATHS: usize = 500;

pub struct Walker<'a> {
    pub policy: &'a CommandPolicy,
    script: &'a Script,
    /// The possible working directories at this point.
    pub directories: Vec<PathBuf>,
    /// All working directories so far, because a trap may run in any of them.
    visited: Vec<PathBuf>,
    /// The effect of the last `cd` or `exit`, for the list that contains it.
    pub flow_after: Option<DirectoryFlow>,
    functions: HashMap<&'a str, Vec<PathBuf>>,
    in_function: bool,
    variables: Option<HashMap<&'a str, ValueKind>>,
    /// The actions of `trap`, judged after everything else.
    pub traps: Vec<String>,
    /// Whether a command may have changed files since they were looked up.
    pub files_changed: bool,
    /// Whether this is the top level, where commands run unconditionally and in order.
    pub sequential: bool,
    path_count: usize,
    /// The file system lookups made so far.
    pub lookups: Lookups,
    /// How many wrapper commands, such as `timeout`, enclose the current one.
    pub wrapper_depth: usize,
    rules: Vec<&'static str>,
}

impl<'a> Walker<'a> {
    pub fn new(policy: &'a CommandPolicy, script: &'a Script, directories: Vec<PathBuf>) -> Self {
        Self {
            policy,
            script,
            visited: directories.clone(),
            directories,
            flow_after: None,
            functions: HashMap::new(),
            in_function: false,
            variables: None,
            traps: Vec::new(),
            files_changed: false,
            sequential: false,
            path_count: 0,
            lookups: Lookups::default(),
            wrapper_depth: 0,
            rules: Vec::new(),
        }
    }

    /// Whether an argument names a path that may be written.
    pub fn may_write(&self, target: &Arg) -> RuleResult {
        self.policy.paths.write(&self.lookups, &self.directories, target)
    }

    /// Whether an argument names a path that may be read.
    pub fn may_read(&self, target: &Arg) -> RuleResult {
        self.policy.paths.read(&self.lookups, &self.directories, target)
    }

    /// The resolved paths that `text` may name, one for each possible working directory.
    pub fn possible_targets(&self, text: &str) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().filter_map(|from| self.policy.paths.resolve(&self.lookups, from, text))
    }

    pub fn verdict(mut self) -> CommandVerdict {
        if let Err(denial) = self.script(&self.script.list).and_then(|()| self.judge_traps()) {
            return denial.into();
        }
        let rule = self.rules.first().copied().unwrap_or("nothing").to_owned();
        let reason = match self.rules.len() {
            0 => "There is no command to run.".to_owned(),
            1 => "The command is allowed.".to_owned(),
            several => format!("All {several} commands are allowed."),
        };
        CommandVerdict { decision: CommandDecision::Allow, rule, reason, instead: None }
    }

    /// Records which rule allowed a command.
    pub fn allowed_by(&mut self, rule: &'static str) {
        self.rules.push(rule);
    }

    /// Counts a path that is about to be looked up.
    pub fn count_path(&mut self) -> RuleResult {
        self.path_count += 1;
        if self.path_count > MAX_PATHS {
            return deny_with_hint(
                "path.many",
                format!("The command names more than {MAX_PATHS} paths."),
                "Split it into several commands.",
            );
        }
        Ok(())
    }

    /// The top level, the only level at which functions may be defined.
    fn script(&mut self, list: &'a List) -> RuleResult {
        for item in &list.0 {
            self.sequential = !item.background;
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
        self.functions.insert(name, self.directories.clone());
        self.in_function = true;
        let result = self.command(body);
        self.in_function = false;
        if result?.is_some_and(|flow| flow.changes_directory(&self.directories)) {
            return deny_with_hint(
                "function.cd",
                "A function may not change its caller's working directory.",
                "Put the function's body into a subshell: name() ( cd … ).",
            );
        }
        Ok(())
    }

    /// Whether a name is a defined function. Denies the call if the working directories differ from the definition.
    pub fn calls_function(&self, name: &str) -> Result<bool, Denial> {
        match self.functions.get(name) {
            None => Ok(false),
            Some(directories) if *directories == self.directories => Ok(true),
            Some(_) => Err(Denial::new(
                "function.cd",
                format!("The function '{name}' was defined in a different working directory."),
            )
            .instead("Call it from the directory in which it is defined.")),
        }
    }

    /// A trap's action is a command that may run in any directory the shell has been in.
    fn judge_traps(&mut self) -> RuleResult {
        for action in std::mem::take(&mut self.traps) {
            let script = crate::shell::parse(&action).map_err(|error| {
                Denial::new("builtin.trap", format!("The trap's action could not be parsed: {error}."))
            })?;
            if !script.variables.is_empty() {
                return deny("builtin.trap", "A trap may not set variables.");
            }
            let mut walker = Walker::new(self.policy, &script, self.visited.clone());
            walker.variables = Some(self.variable_kinds().clone());
            walker.files_changed = true;
            walker.script(&script.list)?;
            if !walker.traps.is_empty() {
                return deny("builtin.trap", "A trap may not set another trap.");
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &'a Command) -> Result<Option<DirectoryFlow>, Denial> {
        for redirect in &command.redirects {
            match &redirect.target {
                Target::Word(word) => {
                    self.word(word)?;
                    redirections::judge(self, redirect.kind, word)?;
                }
                Target::HereDocument(slot) => {
                    if let Some(body) = self.script.bodies.get(*slot) {
                        self.parts(body)?;
                    }
                }
            }
        }
        let flow = self.kind(&command.kind)?;
        // If a redirection fails, the command does not run.
        let may_not_run = command.redirects.iter().any(|redirect| redirect.kind != RedirectKind::Text);
        Ok(if may_not_run { flow.map(|flow| flow.or_skipped(&self.directories)) } else { flow })
    }

    fn kind(&mut self, kind: &'a CommandKind) -> Result<Option<DirectoryFlow>, Denial> {
        let sequential = std::mem::replace(&mut self.sequential, false);
        let flow = match kind {
            CommandKind::Simple(simple) => {
                self.sequential = sequential;
                self.simple(simple)
            }
            CommandKind::Subshell(list) => self.subshell(list),
            CommandKind::Group(list) => self.list_flow(list),
            CommandKind::If { arms, otherwise } => self.if_flow(arms, otherwise.as_ref()),
            CommandKind::For { name, values, body } => {
                assignments::judge_name(name)?;
                for value in values.iter().flatten() {
                    self.word(value)?;
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
        self.sequential = sequential;
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
    pub fn word(&mut self, word: &'a Word) -> RuleResult {
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
                    let sequential = std::mem::replace(&mut self.sequential, false);
                    self.subshell(list)?;
                    self.sequential = sequential;
                }
                Part::Arithmetic { expression, .. } => self.arithmetic(expression)?,
            }
        }
        Ok(())
    }
}

impl Walker<'_> {
    /// Records a `cd` to these directories. `certain` means that it cannot fail.
    pub fn entered(&mut self, directories: Vec<PathBuf>, certain: bool) {
        for directory in &directories {
            if !self.visited.contains(directory) {
                self.visited.push(directory.clone());
            }
        }
        self.flow_after =
            Some(DirectoryFlow { succeeded: directories, failed: self.directories.clone(), certain });
    }

    /// Records that the shell exits here.
    pub fn exits(&mut self) {
        self.flow_after = Some(DirectoryFlow::default());
    }

    /// Whether the script defines functions, which `unset name` could remove instead of a variable.
    pub fn has_functions(&self) -> bool {
        self.script.has_functions
    }

    /// Whether a variable is an array. Bash parses parenthesized text assigned to an array as its elements.
    pub fn is_array(&self, name: &str) -> bool {
        self.script.arrays.iter().any(|array| array == name)
    }

    pub fn in_function(&self) -> bool {
        self.in_function
    }
}

#[cfg(test)]
mod tests;
