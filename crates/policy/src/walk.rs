//! The walk over a command's syntax tree: into every part that can run or write something, with the working
//! directories that part may have. What a command's name and arguments mean is the rules' business.

mod arithmetic;
mod flow;
mod simple;

use std::collections::HashMap;
use std::path::PathBuf;

pub use simple::{Call, Origin};

use crate::paths::Lookups;
use crate::policy::CommandPolicy;
use crate::rules::{assignments, redirections, secrets};
use crate::shell::ast::{
    Command, CommandKind, Condition, Content, List, Operation, Part, RedirectKind, Script, Target, Word,
};
use crate::verdict::{Denial, Judgement, Ruling, Verdict, deny, deny_but};
use crate::words::Arg;
use flow::Flow;

/// How many paths of one command are looked up.
const MAX_PATHS: usize = 500;

/// Walks one command.
pub struct Walker<'a> {
    /// The policy that is asked.
    pub policy: &'a CommandPolicy,
    script: &'a Script,
    /// Where the command may find itself.
    pub directories: Vec<PathBuf>,
    /// Everywhere it may have been, for traps.
    visited: Vec<PathBuf>,
    /// What `cd` and `exit` leave behind for the list they stand in.
    pub leaves: Option<Flow>,
    functions: HashMap<&'a str, Vec<PathBuf>>,
    in_function: bool,
    variables: Option<HashMap<&'a str, Content>>,
    /// The actions of `trap`, judged last.
    pub traps: Vec<String>,
    /// Whether a command may have changed the directories we looked at.
    pub changed: bool,
    /// Whether this is the top level, where one thing happens after another.
    pub straight: bool,
    paths_seen: usize,
    /// What was looked up on the way.
    pub lookups: Lookups,
    /// How many commands are being run by other commands.
    pub wrapped: usize,
    rules: Vec<&'static str>,
}

impl<'a> Walker<'a> {
    /// A walk that starts in one of these directories.
    pub fn new(policy: &'a CommandPolicy, script: &'a Script, directories: Vec<PathBuf>) -> Self {
        Self {
            policy,
            script,
            visited: directories.clone(),
            directories,
            leaves: None,
            functions: HashMap::new(),
            in_function: false,
            variables: None,
            traps: Vec::new(),
            changed: false,
            straight: false,
            paths_seen: 0,
            lookups: Lookups::default(),
            wrapped: 0,
            rules: Vec::new(),
        }
    }

    /// Whether an argument names a place that may be written.
    pub fn may_write(&self, target: &Arg) -> Ruling {
        self.policy.paths.write(&self.lookups, &self.directories, target)
    }

    /// Whether an argument names a place that may be read.
    pub fn may_read(&self, target: &Arg) -> Ruling {
        self.policy.paths.read(&self.lookups, &self.directories, target)
    }

    /// Where a path may really lead, from wherever the command may find itself.
    pub fn may_lead_to(&self, text: &str) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().filter_map(|from| self.policy.paths.resolve(&self.lookups, from, text))
    }

    /// Walks it all.
    pub fn verdict(mut self) -> Verdict {
        if let Err(denial) = self.script(&self.script.list).and_then(|()| self.judge_traps()) {
            return denial.into();
        }
        let rule = self.rules.first().copied().unwrap_or("nothing").to_owned();
        let reason = match self.rules.len() {
            0 => "It runs no command.".to_owned(),
            1 => "Its command is allowed.".to_owned(),
            several => format!("All its {several} commands are allowed."),
        };
        Verdict { decision: Judgement::Allow, rule, reason, instead: None }
    }

    /// Notes which rule allowed a command.
    pub fn allowed_by(&mut self, rule: &'static str) {
        self.rules.push(rule);
    }

    /// Counts a path that is about to be looked up.
    pub fn count_path(&mut self) -> Ruling {
        self.paths_seen += 1;
        if self.paths_seen > MAX_PATHS {
            return deny_but(
                "path.many",
                format!("The command names more than {MAX_PATHS} paths."),
                "Split it into several commands.",
            );
        }
        Ok(())
    }

    /// The top level, the only place where functions are defined.
    fn script(&mut self, list: &'a List) -> Ruling {
        for item in &list.0 {
            self.straight = !item.background;
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

    /// A function is judged where it is defined; it may be called where the same directories hold.
    fn define(&mut self, name: &'a str, body: &'a Command) -> Ruling {
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return deny("function.name", format!("'{name}' is not a plain name for a function."));
        }
        if crate::rules::is_known(name) || assignments::is_dangerous(name) {
            return deny_but(
                "function.name",
                format!("A function may not be named like the command '{name}'."),
                "Choose a name that no command has.",
            );
        }
        self.functions.insert(name, self.directories.clone());
        self.in_function = true;
        let judged = self.command(body);
        self.in_function = false;
        if judged?.is_some_and(|flow| flow.leaves(&self.directories)) {
            return deny_but(
                "function.cd",
                "A function may not leave its caller in another directory.",
                "Put the function's body into a subshell: name() ( cd … ).",
            );
        }
        Ok(())
    }

    /// Whether a name is a function that is defined for sure, callable from here.
    pub fn calls_function(&self, name: &str) -> Result<bool, Denial> {
        match self.functions.get(name) {
            None => Ok(false),
            Some(directories) if *directories == self.directories => Ok(true),
            Some(_) => Err(Denial::new(
                "function.cd",
                format!("The function '{name}' was judged for another working directory."),
            )
            .instead("Call it from the directory in which it was defined.")),
        }
    }

    /// A trap's action is a command that runs wherever the shell then is.
    fn judge_traps(&mut self) -> Ruling {
        for action in std::mem::take(&mut self.traps) {
            let script = crate::shell::parse(&action).map_err(|error| {
                Denial::new("builtin.trap", format!("The trap is not understood: {error}."))
            })?;
            if !script.variables.is_empty() {
                return deny("builtin.trap", "A trap may not set variables.");
            }
            let mut walker = Walker::new(self.policy, &script, self.visited.clone());
            walker.variables = Some(self.contents().clone());
            walker.changed = true;
            walker.script(&script.list)?;
            if !walker.traps.is_empty() {
                return deny("builtin.trap", "A trap may not set another.");
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &'a Command) -> Result<Option<Flow>, Denial> {
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
        // A redirection that fails keeps the command from running at all.
        let may_not_run = command.redirects.iter().any(|redirect| redirect.kind != RedirectKind::Text);
        Ok(if may_not_run { flow.map(|flow| flow.or_not(&self.directories)) } else { flow })
    }

    fn kind(&mut self, kind: &'a CommandKind) -> Result<Option<Flow>, Denial> {
        let straight = std::mem::replace(&mut self.straight, false);
        let flow = match kind {
            CommandKind::Simple(simple) => {
                self.straight = straight;
                self.simple(simple)
            }
            CommandKind::Subshell(list) => self.apart(list),
            CommandKind::Group(list) => self.list_flow(list),
            CommandKind::If { arms, otherwise } => self.branches(arms, otherwise.as_ref()),
            CommandKind::For { name, values, body } => {
                assignments::judge_name(name)?;
                for value in values.iter().flatten() {
                    self.word(value)?;
                }
                self.looped(None, body)
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                expressions.iter().try_for_each(|expression| self.arithmetic(expression))?;
                self.looped(None, body)
            }
            CommandKind::While { condition, body } => self.looped(Some(condition), body),
            CommandKind::Case { subject, arms } => {
                self.word(subject)?;
                self.cases(arms)
            }
            CommandKind::Function { name, .. } => deny_but(
                "function.place",
                format!("The function '{name}' is defined where it may never take effect."),
                "Define functions on their own line at the start of the command.",
            )
            .map(|()| None),
            CommandKind::Test(conditions) => {
                conditions.iter().try_for_each(|condition| self.condition(condition)).map(|()| None)
            }
            CommandKind::Arithmetic(expression) => self.arithmetic(expression).map(|()| None),
        };
        self.straight = straight;
        flow
    }

    fn condition(&mut self, condition: &'a Condition) -> Ruling {
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

    /// Looks into a word: what its expansions run, and whether it names a secret place.
    pub fn word(&mut self, word: &'a Word) -> Ruling {
        secrets::judge(word)?;
        self.parts(word)
    }

    fn parts(&mut self, word: &'a Word) -> Ruling {
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
                    let straight = std::mem::replace(&mut self.straight, false);
                    self.apart(list)?;
                    self.straight = straight;
                }
                Part::Arithmetic { expression, .. } => self.arithmetic(expression)?,
            }
        }
        Ok(())
    }
}

impl Walker<'_> {
    /// `cd` led here; it succeeds for sure, or if it does.
    pub fn entered(&mut self, directories: Vec<PathBuf>, certain: bool) {
        for directory in &directories {
            if !self.visited.contains(directory) {
                self.visited.push(directory.clone());
            }
        }
        self.leaves = Some(Flow { succeeded: directories, failed: self.directories.clone(), certain });
    }

    /// The shell ends here.
    pub fn exits(&mut self) {
        self.leaves = Some(Flow::default());
    }

    /// Whether `unset name` could remove a function instead of a variable.
    pub fn has_functions(&self) -> bool {
        self.script.has_functions
    }

    /// Whether a variable is an array, to which bash gives text in parentheses another meaning.
    pub fn is_array(&self, name: &str) -> bool {
        self.script.arrays.iter().any(|array| array == name)
    }

    /// Whether a function's body is being walked.
    pub fn in_function(&self) -> bool {
        self.in_function
    }
}

#[cfg(test)]
mod tests;
