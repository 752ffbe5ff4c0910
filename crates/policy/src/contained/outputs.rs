//! What commands print and read: the text of substitutions, what a pipe passes on, and what `read` makes of it.

use std::rc::Rc;

use super::expansions::variable_of;
use super::variables::Value;
use super::{ContainedWalk, MAX_VALUE, signals, too_much};
use crate::possible_values::printed::unescaped;
use crate::shell::ast::{Command, CommandKind, List, Redirect, RedirectKind, Target, Word};
use crate::verdict::RuleResult;
use crate::words::{Arg, UNKNOWN_PART};

/// Options of `echo` that are not printed.
const ECHO_OPTIONS: [&str; 6] = ["-n", "-e", "-E", "-ne", "-en", "--"];
/// Programs that print what they read.
const FILTERS: [&str; 8] = ["cat", "tee", "head", "tail", "sort", "uniq", "xargs", "envsubst"];
/// The most text, in bytes, that is passed through pipes.
const MAX_PASSED: usize = 256 * 1024;
/// The most texts that are passed through one pipe.
const MAX_TEXTS: usize = 256;

impl ContainedWalk<'_> {
    /// What a substitution prints, if it only names a program or prints known text.
    pub fn output(&self, list: &List) -> Option<String> {
        let mut texts = Vec::new();
        for item in &list.0 {
            for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline))
            {
                let mut passed = None;
                for command in &pipeline.commands {
                    passed = self.output_of(command, passed);
                }
                texts.push(passed);
            }
        }
        match texts.as_slice() {
            [None] => None,
            _ if texts.iter().all(Option::is_none) => None,
            _ => {
                let unknown = UNKNOWN_PART.to_string();
                let texts: Vec<String> =
                    texts.into_iter().map(|text| text.unwrap_or_else(|| unknown.clone())).collect();
                let text = texts.join("\n").trim_end_matches('\n').to_owned();
                // An option may make a command harmless, so it must be printed in every case.
                let has_option = text.split_whitespace().any(|word| word.starts_with('-'));
                (!has_option || prints_always(list)).then_some(text)
            }
        }
    }

    fn output_of(&self, command: &Command, passed: Option<String>) -> Option<String> {
        let read = command.redirects.iter().rev().find_map(|redirect| self.redirected(redirect));
        let passed = read.or(passed);
        match &command.kind {
            CommandKind::Simple(simple) => {
                let argv: Vec<Arg> = simple.words.iter().flat_map(|word| self.expand(word)).collect();
                self.output_of_call(&argv, passed)
            }
            CommandKind::Subshell(list) | CommandKind::Group(list) => self.output(list),
            _ => None,
        }
    }

    /// What a call prints, as far as it is known, if it reads this.
    pub fn output_of_call(&self, argv: &[Arg], passed: Option<String>) -> Option<String> {
        let (name, args) = argv.split_first()?;
        let name = name.literal()?;
        if let Some(processes) = signals::processes(self.options, name, args, passed.as_deref()) {
            return Some(processes.to_owned());
        }
        match (name, args) {
            ("echo", args) => Some(echoed(args)),
            ("printf", args) => Some(formatted(args)),
            ("which", args) => {
                let texts: Option<Vec<&str>> = args.iter().map(Arg::script).collect();
                Some(texts?.join(" "))
            }
            ("command" | "type", [_, program]) => program.literal().map(str::to_owned),
            ("pwd", _) => Some(".".to_owned()),
            ("mktemp", _) => Some("/tmp/made".to_owned()),
            (name, _) if FILTERS.contains(&name) => passed,
            _ => None,
        }
    }

    /// The known text that a redirection makes a command read.
    pub fn redirected(&self, redirect: &Redirect) -> Option<String> {
        match (redirect.kind, &redirect.target) {
            (RedirectKind::Text, Target::Word(word)) => Some(self.text_of(word)),
            (RedirectKind::Text, Target::HereDocument(slot)) => {
                self.script.bodies.get(*slot).map(|body| self.text_of(body))
            }
            (RedirectKind::Read, Target::Word(word)) => match word.0.as_slice() {
                [crate::shell::ast::Part::Process(list)] => self.output(list),
                _ => None,
            },
            _ => None,
        }
    }

    /// Judges something and takes what it prints.
    pub fn captured(&mut self, judge: impl FnOnce(&mut Self) -> RuleResult) -> (RuleResult, Vec<String>) {
        let outer = std::mem::take(&mut self.printed);
        self.captures += 1;
        let result = judge(self);
        self.captures -= 1;
        let mut texts = std::mem::replace(&mut self.printed, outer);
        if texts.len() > 1 {
            texts.push(texts.join("\n"));
        }
        (result, texts)
    }

    /// Notes what a call prints.
    pub fn note_output(&mut self, argv: &[Arg]) {
        if self.captures == 0 {
            return;
        }
        let texts: Vec<Option<String>> = match self.input.is_empty() {
            true => vec![self.output_of_call(argv, None)],
            false => self.input.iter().map(|text| self.output_of_call(argv, Some(text.clone()))).collect(),
        };
        for text in texts.into_iter().flatten() {
            if self.printed.contains(&text) {
                continue;
            }
            self.passed_left = self.passed_left.saturating_sub(text.len());
            if self.passed_left == 0 || self.printed.len() == MAX_TEXTS {
                self.is_too_much.set(true);
                return;
            }
            self.printed.push(text);
        }
    }

    /// Notes texts that a command can read from here on.
    pub fn add_input(&mut self, texts: Vec<String>) {
        if !texts.is_empty() {
            Rc::make_mut(&mut self.input).extend(texts);
        }
    }

    /// Judges something with each known text that can be read here. It reads them, so nothing in it reads them again.
    pub fn with_each_input(&mut self, mut judge: impl FnMut(&mut Self, &str) -> RuleResult) -> RuleResult {
        if self.input.len() > MAX_TEXTS {
            return too_much();
        }
        let input = std::mem::take(&mut self.input);
        let result = input.iter().try_for_each(|text| judge(self, text));
        self.input = input;
        result
    }

    /// What `read`, `mapfile` and `printf -v` set.
    pub fn read_input(&mut self, name: &str, args: &[Arg]) {
        if name == "printf" {
            if let [option, variable, format @ ..] = args
                && option.literal() == Some("-v")
                && let Some(variable) = variable.literal()
            {
                self.variables.set(variable, vec![Value::text(shortened(formatted(format)))]);
            }
            return;
        }
        let (names, array) = variables_of_read(name, args);
        let lines = |text: &String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        if name != "read" {
            let mut values: Vec<Value> = self.input.iter().map(|text| Value::words(lines(text))).collect();
            if values.is_empty() {
                values.push(Value::unknown());
            }
            let variable = names.first().map_or("MAPFILE", String::as_str);
            return self.variables.set(variable, values);
        }
        let divides = self.divides();
        let fields: Vec<Vec<String>> = self
            .input
            .iter()
            .flat_map(lines)
            .map(|line| line.split(&divides).filter(|field| !field.is_empty()).map(str::to_owned).collect())
            .collect();
        let known = |values: Vec<Value>| if values.is_empty() { vec![Value::unknown()] } else { values };
        if let Some(array) = array {
            return self.variables.set(&array, known(fields.into_iter().map(Value::words).collect()));
        }
        let names = if names.is_empty() { vec!["REPLY".to_owned()] } else { names };
        for (at, name) in names.iter().enumerate() {
            let is_last = at + 1 == names.len();
            let values = fields.iter().map(|fields| match is_last {
                true => Value::text(fields[at.min(fields.len())..].join(" ")),
                false => Value::text(fields.get(at).cloned().unwrap_or_default()),
            });
            let mut distinct = Vec::new();
            for value in values {
                if !distinct.contains(&value) {
                    distinct.push(value);
                }
            }
            self.variables.set(variable_of(name), known(distinct));
        }
    }
}

/// Whether a list is one plain command, whose output goes nowhere else.
fn prints_always(list: &List) -> bool {
    let [item] = list.0.as_slice() else { return false };
    let [command] = item.first.commands.as_slice() else { return false };
    let is_diverted = |redirect: &Redirect| redirect.kind != RedirectKind::Text;
    item.rest.is_empty()
        && matches!(command.kind, CommandKind::Simple(_))
        && !command.redirects.iter().any(is_diverted)
}

/// All commands in a list, without those in compound ones other than groups.
pub fn commands(list: &List) -> Vec<&Command> {
    let pipelines = list
        .0
        .iter()
        .flat_map(|item| std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)));
    pipelines
        .flat_map(|pipeline| &pipeline.commands)
        .flat_map(|command| match &command.kind {
            CommandKind::Subshell(list) | CommandKind::Group(list) => commands(list),
            _ => vec![command],
        })
        .collect()
}

/// The word of a redirection, or the text of its here-document.
pub fn text_of<'w>(redirect: &'w Redirect, bodies: &'w [Word]) -> Option<&'w Word> {
    match &redirect.target {
        Target::Word(word) => Some(word),
        Target::HereDocument(slot) => bodies.get(*slot),
    }
}

/// The variables that `read` or `mapfile` sets one by one, and the array that `read -a` sets.
fn variables_of_read(name: &str, args: &[Arg]) -> (Vec<String>, Option<String>) {
    let valued = if name == "read" { "adinNptu" } else { "dnOsuCc" };
    let (mut names, mut array) = (Vec::new(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(text) = arg.literal() else { continue };
        let Some(letters) = text.strip_prefix('-') else {
            names.push(text.to_owned());
            continue;
        };
        let Some(at) = letters.find(|letter| valued.contains(letter)) else { continue };
        let attached = &letters[at + 1..];
        let value = if attached.is_empty() { args.next().and_then(Arg::literal) } else { Some(attached) };
        if name == "read" && letters[at..].starts_with('a') {
            array = value.map(str::to_owned);
        }
    }
    (names, array)
}

/// What `echo` prints.
fn echoed(args: &[Arg]) -> String {
    let unknown = UNKNOWN_PART.to_string();
    let words =
        args.iter().map(|arg| arg.script().unwrap_or(&unknown)).filter(|word| !ECHO_OPTIONS.contains(word));
    with_escapes(&words.collect::<Vec<_>>().join(" "))
}

/// What `printf` prints: the format with its directives replaced, as often as there are arguments.
pub fn formatted(args: &[Arg]) -> String {
    let unknown = UNKNOWN_PART.to_string();
    let text = |arg: &Arg| arg.script().unwrap_or(&unknown).to_owned();
    let args = match args {
        [option, rest @ ..] if option.literal() == Some("--") => rest,
        args => args,
    };
    let Some((format, args)) = args.split_first() else { return String::new() };
    let format = text(format);
    let mut values = args.iter().map(text).peekable();
    let mut printed = String::new();
    loop {
        let mut rest = format.as_str();
        let mut has_directive = false;
        while let Some(at) = rest.find('%') {
            printed.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let end = rest.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(rest.len());
            match rest[end..].chars().next() {
                Some('%') => printed.push('%'),
                Some(_) => {
                    has_directive = true;
                    printed.push_str(&values.next().unwrap_or_default());
                }
                None => {}
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        printed.push_str(rest);
        if !has_directive || values.peek().is_none() || printed.len() > MAX_VALUE {
            return with_escapes(&printed);
        }
    }
}

fn with_escapes(text: &str) -> String {
    let lines: Vec<String> = text.split("\\n").map(unescaped).collect();
    lines.join("\n")
}

/// A value that is no longer than values may be; of a longer one nothing is known.
fn shortened(text: String) -> String {
    if text.len() <= MAX_VALUE { text } else { super::variables::TOO_MANY.to_string() }
}

pub const PASSED: usize = MAX_PASSED;
