//! Reads a command from its first word to its last, as far as it says where it is and what its variables are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::word_values::{Surroundings, Values};
use super::{NamedFile, PROJECT_VARIABLE, project_file};
use crate::shell::ast::{
    Command, CommandKind, Condition, Item, List, Part, Pipeline, Script, Simple, Target, Value, Word,
};
use crate::shell::parse;

/// How deeply commands in the words of commands are read.
const MAX_DEPTH: usize = 4;

/// Programs that find a script by a part of its name.
const MODULE_RUNNERS: [&str; 9] =
    ["node", "nodejs", "bun", "deno", "tsx", "ts-node", "python", "python3", "pypy3"];

/// What such a name may lack.
const MODULE_ENDINGS: [&str; 9] =
    [".js", ".cjs", ".mjs", ".ts", ".json", ".node", "/index.js", "/package.json", "/__main__.py"];

pub struct Reading<'r> {
    root: &'r Path,
    now: Surroundings,
    pub files: Vec<NamedFile>,
    depth: usize,
}

impl<'r> Reading<'r> {
    pub fn new(root: &'r Path) -> Self {
        let project = Values::one(root.to_string_lossy());
        let variables = BTreeMap::from([(PROJECT_VARIABLE.to_owned(), project)]);
        let now = Surroundings { directories: vec![root.to_owned()], variables };
        Self { root, now, files: Vec::new(), depth: 0 }
    }

    /// The text of a command.
    pub fn command(&mut self, text: &str) {
        let Ok(script) = parse(text) else { return };
        self.script(&script);
    }

    fn script(&mut self, script: &Script) {
        self.list(&script.list);
        script.bodies.iter().for_each(|body| self.inner_commands(body));
    }

    fn list(&mut self, list: &List) {
        for item in &list.0 {
            match item.background {
                true => self.apart(|reading| reading.item(item)),
                false => self.item(item),
            }
        }
    }

    /// Whether a `cd` succeeded is not asked: if it does not, the files in that directory are not there either, and the call is denied.
    fn item(&mut self, item: &Item) {
        self.pipeline(&item.first);
        let mut ends = self.now.clone();
        for (_, pipeline) in &item.rest {
            self.pipeline(pipeline);
            ends = ends.or(self.now.clone());
        }
        self.now = ends;
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        match pipeline.commands.as_slice() {
            [command] => self.compound(command),
            commands => commands.iter().for_each(|command| self.apart(|reading| reading.compound(command))),
        }
    }

    /// Reads what changes nothing for the commands after it.
    fn apart(&mut self, read: impl FnOnce(&mut Self)) {
        let before = self.now.clone();
        read(self);
        self.now = before;
    }

    /// Reads what may be run or not.
    fn perhaps(&mut self, read: impl FnOnce(&mut Self)) {
        let before = self.now.clone();
        read(self);
        self.now = before.or(self.now.clone());
    }

    fn compound(&mut self, command: &Command) {
        for redirect in &command.redirects {
            if let Target::Word(word) = &redirect.target {
                self.word(word);
            }
        }
        match &command.kind {
            CommandKind::Simple(simple) => self.simple(simple),
            CommandKind::Subshell(list) => self.apart(|reading| reading.list(list)),
            CommandKind::Group(list) => self.list(list),
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.list(condition);
                    self.perhaps(|reading| reading.list(body));
                }
                otherwise.iter().for_each(|body| self.perhaps(|reading| reading.list(body)));
            }
            CommandKind::For { name, values, body } => {
                let found: Vec<Values> = values.iter().flatten().map(|word| self.word(word)).collect();
                let found = found.into_iter().reduce(Values::or).unwrap_or_else(Values::unknown);
                self.now.variables.insert(name.clone(), found);
                self.repeated(|reading| reading.list(body));
            }
            CommandKind::ArithmeticFor { body, .. } => self.repeated(|reading| reading.list(body)),
            CommandKind::While { condition, body } => self.repeated(|reading| {
                reading.list(condition);
                reading.list(body);
            }),
            CommandKind::Case { subject, arms } => {
                self.inner_commands(subject);
                for (patterns, body) in arms {
                    patterns.iter().for_each(|pattern| self.inner_commands(pattern));
                    self.perhaps(|reading| reading.list(body));
                }
            }
            CommandKind::Function { body, .. } => self.repeated(|reading| reading.compound(body)),
            CommandKind::Test(conditions) => conditions.iter().for_each(|condition| match condition {
                Condition::Bare(word) | Condition::Unary(_, word) => self.inner_commands(word),
                Condition::Binary(left, _, right) => {
                    self.inner_commands(left);
                    self.inner_commands(right);
                }
            }),
            CommandKind::Arithmetic(expression) => self.inner_commands(expression),
        }
    }

    /// Reads what may be run several times: once more with what the first time leaves.
    fn repeated(&mut self, read: impl Fn(&mut Self)) {
        self.perhaps(&read);
        self.perhaps(&read);
    }

    fn simple(&mut self, simple: &Simple) {
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            let values = match &assignment.value {
                Value::Scalar(word) if assignment.index.is_none() => {
                    self.inner_commands(word);
                    self.now.assigned(word, self.root)
                }
                Value::Scalar(word) => {
                    self.inner_commands(word);
                    Values::unknown()
                }
                Value::Array(elements) => {
                    elements.iter().for_each(|(_, word)| self.inner_commands(word));
                    Values::unknown()
                }
            };
            self.name_files(&values);
            self.now.variables.insert(assignment.name.clone(), values);
        }
        let words: Vec<Values> = simple.words.iter().map(|word| self.word(word)).collect();
        let Some((program, arguments)) = words.split_first() else { return };
        let mut texts = words.iter().flat_map(|word| &word.texts);
        if texts.any(|text| MODULE_RUNNERS.iter().any(|runner| text.rsplit('/').next() == Some(runner))) {
            arguments.iter().for_each(|argument| self.name_modules(argument));
        }
        for program in program.texts.clone() {
            self.run(&program, arguments);
        }
    }

    fn run(&mut self, program: &str, arguments: &[Values]) {
        match program {
            "cd" | "pushd" => self.change_directory(arguments),
            "read" | "unset" | "mapfile" | "readarray" | "getopts" => {
                for name in arguments.iter().flat_map(|argument| &argument.texts) {
                    self.now.variables.insert(name.clone(), Values::unknown());
                }
            }
            "eval" => {
                let text: Vec<&str> = arguments.iter().flat_map(|a| &a.texts).map(String::as_str).collect();
                self.text(&text.join(" "));
            }
            // Words of other programs may be commands too: `sh -c`, `timeout 5 bash -c`.
            _ => {
                let texts = arguments.iter().flat_map(|argument| &argument.texts);
                let commands: Vec<String> = texts.filter(|text| text.contains(' ')).cloned().collect();
                commands.iter().for_each(|text| self.apart(|reading| reading.text(text)));
            }
        }
    }

    fn change_directory(&mut self, arguments: &[Values]) {
        let is_option = |text: &str| matches!(text, "-P" | "-L" | "-e" | "-@" | "--");
        let mut targets = arguments.iter().filter(|values| !values.texts.iter().any(|text| is_option(text)));
        let Some(target) = targets.next() else { return };
        let here = &self.now.directories;
        let there: Vec<PathBuf> =
            here.iter().flat_map(|here| target.texts.iter().map(|text| here.join(text))).collect();
        match target.is_complete {
            true => self.now.directories = there,
            false => {
                let there = Surroundings { directories: there, ..self.now.clone() };
                self.now = self.now.clone().or(there);
            }
        }
    }

    /// A command in a word of another one.
    fn text(&mut self, text: &str) {
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            self.command(text);
            self.depth -= 1;
        }
    }

    /// The values of a word, whose files are noted.
    fn word(&mut self, word: &Word) -> Values {
        self.inner_commands(word);
        let values = self.now.values(word, self.root);
        self.name_files(&values);
        values
    }

    fn name_files(&mut self, values: &Values) {
        for text in &values.texts {
            let option = text.split_once('=').map(|(_, value)| value);
            for text in [Some(text.as_str()), option].into_iter().flatten() {
                let typed = self.now.directories.iter().map(|at| at.join(text));
                self.files.extend(typed.filter_map(|typed| project_file(&typed, self.root)));
            }
        }
    }

    fn name_modules(&mut self, values: &Values) {
        for text in values.texts.iter().map(|text| text.trim_end_matches('/')) {
            let endings = MODULE_ENDINGS.iter().map(|ending| format!("{text}{ending}"));
            endings.for_each(|text| self.name_files(&Values::one(text)));
        }
    }

    /// The commands in `$(…)`, which cannot change what is around them.
    fn inner_commands(&mut self, word: &Word) {
        for part in &word.0 {
            match part {
                Part::Text { .. } => {}
                Part::Parameter { parameter, .. } => {
                    let inner = parameter.words.iter().chain(&parameter.arithmetic);
                    inner.for_each(|word| self.inner_commands(word));
                }
                Part::Command { list, .. } | Part::Process(list) => {
                    self.apart(|reading| reading.list(list));
                }
                Part::Arithmetic { expression, .. } => self.inner_commands(expression),
            }
        }
    }
}
