//! Reads a command from its first word to its last, as far as it says where it is and what its variables are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::programs::{ProgramKind, announces_command, is_flag, is_shell};
use super::word_values::{Surroundings, Values};
use super::{NamedFile, PROJECT_VARIABLE, project_file};
use crate::contained::is_command_variable;
use crate::shell::ast::{
    Command, CommandKind, Condition, Item, List, Part, Pipeline, Script, Simple, Target, Value, Word,
};
use crate::shell::parse;

/// How deeply commands in the words of commands are read.
const MAX_DEPTH: usize = 4;

/// The most directories in which a command may be; beyond them it is not known where it is.
const MAX_PLACES: usize = 64;

/// Variables by which programs find what they run.
#[rustfmt::skip]
const DECIDING_VARIABLES: [&str; 12] = [
    "BASH_ENV", "CDPATH", "ENV", "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_OPTIONS", "NODE_PATH", "PATH", "PERL5LIB",
    "PERL5OPT", "PYTHONPATH", "RUBYOPT",
];

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
    /// Whether it is known so far what is run.
    pub is_complete: bool,
    depth: usize,
    functions: Vec<String>,
}

impl<'r> Reading<'r> {
    pub fn new(root: &'r Path) -> Self {
        let project = Values::one(root.to_string_lossy());
        let variables = BTreeMap::from([(PROJECT_VARIABLE.to_owned(), project)]);
        let now = Surroundings { directories: vec![root.to_owned()], variables };
        Self { root, now, files: Vec::new(), is_complete: true, depth: 0, functions: Vec::new() }
    }

    /// The text of a command.
    pub fn command(&mut self, text: &str) {
        match parse(text) {
            Ok(script) => self.script(&script),
            Err(_) => self.is_complete = false,
        }
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
            CommandKind::Function { name, body } => {
                self.functions.push(name.clone());
                let before = self.now.directories.clone();
                self.repeated(|reading| reading.compound(body));
                // It is called later, and where that leads is not followed.
                self.is_complete &= self.now.directories == before;
            }
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
            self.is_complete &= !decides_what_runs(&assignment.name);
            self.now.variables.insert(assignment.name.clone(), values);
        }
        let words: Vec<Values> = simple.words.iter().map(|word| self.word(word)).collect();
        let Some((program, arguments)) = words.split_first() else { return };
        let mut texts = words.iter().flat_map(|word| &word.texts);
        if texts.any(|text| MODULE_RUNNERS.iter().any(|runner| text.rsplit('/').next() == Some(runner))) {
            arguments.iter().for_each(|argument| self.name_modules(argument));
        }
        self.is_complete &= program.is_complete;
        for program in &program.texts {
            self.run(program, arguments);
        }
    }

    fn run(&mut self, program: &str, arguments: &[Values]) {
        match program {
            "cd" | "pushd" => self.change_directory(arguments),
            "popd" | "alias" => self.is_complete = false,
            "source" | "." => self.is_complete &= self.is_script(arguments.first()),
            "trap" => match arguments.first().and_then(Values::only) {
                Some(text) => self.apart(|reading| reading.text(text)),
                None => self.is_complete = false,
            },
            "read" | "unset" | "mapfile" | "readarray" | "getopts" => {
                for name in arguments.iter().flat_map(|argument| &argument.texts) {
                    self.now.variables.insert(name.clone(), Values::unknown());
                }
            }
            "eval" => match joined(arguments) {
                Some(text) => self.text(&text),
                None => self.is_complete = false,
            },
            _ if self.functions.iter().any(|function| function == program) => {}
            _ => self.run_program(program, arguments),
        }
    }

    fn run_program(&mut self, program: &str, arguments: &[Values]) {
        self.name_files_in_texts(arguments);
        if program.contains('/') && !self.is_script(Some(&Values::one(program))) {
            self.is_complete = false;
        }
        match ProgramKind::of(program) {
            ProgramKind::Interpreter => self.interpret(program, arguments),
            ProgramKind::Runner => self.is_complete = false,
            ProgramKind::Wrapper => {
                let is_program = |text: &str| {
                    text.contains('/') && !text.contains('=') || ProgramKind::of(text) != ProgramKind::Other
                };
                let set =
                    |text: &String| text.split_once('=').is_some_and(|(name, _)| decides_what_runs(name));
                self.is_complete &= !arguments.iter().flat_map(|argument| &argument.texts).any(set);
                let at = arguments.iter().position(|argument| argument.texts.iter().any(|t| is_program(t)));
                let before = &arguments[..at.unwrap_or(arguments.len())];
                self.is_complete &= before.iter().all(|argument| argument.is_complete);
                if let Some((inner, rest)) = at.and_then(|at| arguments[at..].split_first()) {
                    self.is_complete &= inner.is_complete;
                    inner.texts.iter().for_each(|inner| self.run_program(inner, rest));
                }
            }
            ProgramKind::Plain => {}
            ProgramKind::Other => self.is_complete &= arguments.iter().all(|argument| argument.is_complete),
        }
    }

    /// The arguments of other programs may be commands too, such as that of `su -c`, or texts that merely look so.
    fn name_files_in_texts(&mut self, arguments: &[Values]) {
        let is_complete = self.is_complete;
        let texts = arguments.iter().flat_map(|argument| &argument.texts);
        texts.filter(|text| text.contains(' ')).for_each(|text| self.apart(|reading| reading.text(text)));
        self.is_complete = is_complete;
    }

    /// An interpreter must name its script, or be a shell whose command is written down.
    fn interpret(&mut self, program: &str, arguments: &[Values]) {
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let Some(option) = argument.only().filter(|text| text.starts_with('-')) else {
                self.is_complete &= self.is_script(Some(argument));
                return;
            };
            if is_shell(program) && announces_command(option) {
                match arguments.next().and_then(Values::only) {
                    Some(text) => self.apart(|reading| reading.text(text)),
                    None => self.is_complete = false,
                }
                return;
            }
            match option {
                "-o" if is_shell(program) => _ = arguments.next(),
                option if is_flag(program, option) => {}
                _ => break,
            }
        }
        self.is_complete = false;
    }

    /// Whether a word is certain to name a file: one of the project that is there, or one elsewhere, which agents cannot write.
    fn is_script(&self, word: Option<&Values>) -> bool {
        let Some(word) = word.filter(|word| word.is_complete && !word.texts.is_empty()) else { return false };
        let typed =
            word.texts.iter().flat_map(|text| self.now.directories.iter().map(move |at| at.join(text)));
        let is_elsewhere = |path: &Path| {
            let found = path.canonicalize();
            found.is_ok_and(|found| found.is_file() && !found.starts_with(self.root))
        };
        typed.into_iter().all(|path| project_file(&path, self.root).is_some() || is_elsewhere(&path))
    }

    fn change_directory(&mut self, arguments: &[Values]) {
        let is_option = |text: &str| matches!(text, "-P" | "-L" | "-e" | "-@" | "--");
        let mut targets = arguments.iter().filter(|values| !values.texts.iter().any(|text| is_option(text)));
        // Without a target it is the home.
        let Some(target) = targets.next() else {
            self.is_complete = false;
            return;
        };
        self.is_complete &= target.is_complete && target.only() != Some("-");
        let here = &self.now.directories;
        let there: Vec<PathBuf> = here
            .iter()
            .flat_map(|here| target.texts.iter().map(|text| here.join(text)))
            .take(MAX_PLACES)
            .collect();
        self.is_complete &= here.len() * target.texts.len() <= MAX_PLACES;
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
        } else {
            self.is_complete = false;
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

/// The arguments as one text; `None` if one of them is not certain.
fn joined(arguments: &[Values]) -> Option<String> {
    let texts: Option<Vec<&str>> = arguments.iter().map(Values::only).collect();
    texts.map(|texts| texts.join(" "))
}

/// Whether the value of a variable decides which files programs run.
fn decides_what_runs(name: &str) -> bool {
    is_command_variable(name) || DECIDING_VARIABLES.contains(&name)
}
