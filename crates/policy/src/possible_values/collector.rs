//! Collects the values that a script gives its variables and positional parameters.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::{
    ANYTHING, COMPUTED, KnownValues, MAX_PASSES, TOO_MANY, UNKNOWN, computed, is_name, is_spread, joined,
    transformed, unknown,
};
use crate::shell::ast::{
    Assignment, Command, CommandKind, Condition, Join, List, Operation, Parameter, Part, Pipeline, Redirect,
    RedirectKind, Script, Simple, Target, Value, Word,
};
use crate::words::{literal, outline};

/// How often a script is read to find the variables that get values which are not known.
const MAX_HOPS: usize = 32;

impl KnownValues {
    /// The values in a script.
    pub fn of(script: &Script, temp: Option<&Path>) -> Self {
        let temp = temp.map(|temp| temp.to_string_lossy().into_owned());
        let known = Self { bodies: script.bodies.clone(), temp, ..Self::default() };
        let mut collector = Collector {
            known,
            script,
            input: Vec::new(),
            functions: HashMap::new(),
            in_call: false,
            in_function: false,
            in_loop: false,
            repeated: BTreeSet::new(),
            certain: BTreeSet::new(),
        };
        let mut words = BTreeSet::new();
        for _ in 0..MAX_PASSES {
            let before = collector.size();
            words = collector.words_of_repeated();
            collector.certain.clear();
            collector.list(&script.list);
            collector.add_unset();
            if collector.size() == before {
                return collector.known;
            }
        }
        collector.open_grown(&words);
        collector.known
    }
}

struct Collector<'a> {
    known: KnownValues,
    script: &'a Script,
    /// The known text that the commands at this point may read.
    input: Vec<String>,
    functions: HashMap<&'a str, &'a Command>,
    /// Whether the body of a function is read again for a call of it.
    in_call: bool,
    /// Whether this is the body of a function.
    in_function: bool,
    /// Whether this part of the script may run more than once.
    in_loop: bool,
    /// The variables that are assigned in such parts.
    repeated: BTreeSet<String>,
    /// The variables that are set at this point, whatever came before.
    certain: BTreeSet<String>,
}

impl<'a> Collector<'a> {
    /// The words of the variables that are assigned more than once, each with its variable.
    fn words_of_repeated(&self) -> BTreeSet<(String, String)> {
        let variables = self.repeated.iter().filter_map(|name| Some((name, self.known.variables.get(name)?)));
        let texts = variables.flat_map(|(name, values)| values.iter().map(move |text| (name, text)));
        let words = texts.flat_map(|(name, text)| {
            text.split_whitespace().map(move |word| (name.clone(), word.to_owned()))
        });
        words.collect()
    }

    /// Opens the variables that have other words than `before`, and all that get their values: each turn of a loop may make more of them. Those
    /// that may be paths could be any path.
    fn open_grown(&mut self, before: &BTreeSet<(String, String)>) {
        let words = self.words_of_repeated();
        let grown: Vec<_> = words.difference(before).collect();
        for (name, word) in &grown {
            let values = self.known.variables.entry(name.clone()).or_default();
            values.insert(UNKNOWN.to_string());
            if word.contains(['/', '.']) {
                values.insert(TOO_MANY.to_string());
            }
        }
        let mut open = self.open_variables();
        for _ in 0..MAX_HOPS {
            if grown.is_empty() {
                return;
            }
            self.list(&self.script.list);
            let now = self.open_variables();
            if now == open {
                return;
            }
            open = now;
        }
        for name in self.repeated.clone() {
            self.known.add(&name, too_many());
        }
        self.list(&self.script.list);
    }

    /// How many variables may have a value that is not known, and how many any at all.
    fn open_variables(&self) -> (usize, usize) {
        let having = |mark: char| {
            self.known
                .variables
                .values()
                .filter(|values| values.iter().any(|value| value.contains(mark)))
                .count()
        };
        (having(UNKNOWN), having(TOO_MANY))
    }

    fn repeated(&mut self, read: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.in_loop, true);
        self.branch(read);
        self.in_loop = before;
    }

    /// Reads a part that may not run, or whose variables are its own.
    fn branch(&mut self, read: impl FnOnce(&mut Self)) {
        let before = self.certain.clone();
        read(self);
        self.certain = before;
    }

    /// What is used where it may not be set may be empty.
    fn add_unset(&mut self) {
        for name in &self.known.may_be_unset {
            if let Some(values) = self.known.variables.get_mut(name) {
                values.insert(String::new());
            }
        }
    }

    fn size(&self) -> usize {
        self.known.variables.values().map(BTreeSet::len).sum::<usize>()
            + self.known.parameters.len()
            + self.known.written.len()
            + self.known.functions.values().map(|printed| printed.len() + 1).sum::<usize>()
    }

    fn list(&mut self, list: &'a List) {
        for item in &list.0 {
            match item.background {
                true => self.branch(|c| c.pipeline(&item.first)),
                false => self.pipeline(&item.first),
            }
            self.branch(|c| {
                for (join, pipeline) in &item.rest {
                    match join {
                        Join::And => c.pipeline(pipeline),
                        Join::Or => c.branch(|c| c.pipeline(pipeline)),
                    }
                }
            });
        }
    }

    fn pipeline(&mut self, pipeline: &'a Pipeline) {
        let before = self.input.len();
        let [command] = pipeline.commands.as_slice() else {
            for command in &pipeline.commands {
                self.branch(|c| c.command(command));
                let printed = self.known.printed(command, &self.input);
                self.input.extend(printed);
            }
            return self.input.truncate(before);
        };
        self.command(command);
        self.input.truncate(before);
    }

    fn command(&mut self, command: &'a Command) {
        let before = self.input.len();
        if !command.redirects.is_empty() {
            for redirect in &command.redirects {
                match &redirect.target {
                    Target::Word(word) => self.word(word),
                    Target::HereDocument(slot) => {
                        if let Some(body) = self.script.bodies.get(*slot) {
                            self.word(body);
                        }
                    }
                }
            }
            self.input.extend(self.known.read_by(command));
        }
        self.kind(&command.kind);
        let is_device = |target: &Target| match target {
            Target::Word(word) => literal(word).is_some_and(|path| path.starts_with("/dev/")),
            Target::HereDocument(_) => false,
        };
        let writes =
            |redirect: &Redirect| redirect.kind == RedirectKind::Write && !is_device(&redirect.target);
        let is_tee = matches!(&command.kind, CommandKind::Simple(simple)
            if simple.words.iter().any(|word| word.bare() == Some("tee")));
        if is_tee || command.redirects.iter().any(writes) {
            let printed = self.known.printed(command, &self.input);
            super::insert(&mut self.known.written, printed);
        }
        self.input.truncate(before);
    }

    fn kind(&mut self, kind: &'a CommandKind) {
        match kind {
            CommandKind::Simple(simple) => self.simple(simple),
            CommandKind::Subshell(list) => self.branch(|c| c.list(list)),
            CommandKind::Group(list) => self.list(list),
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.branch(|c| {
                        c.list(condition);
                        c.list(body);
                    });
                }
                otherwise.iter().for_each(|body| self.branch(|c| c.list(body)));
            }
            CommandKind::For { name, values, body } => {
                let given = match values {
                    Some(words) => words.iter().flat_map(|word| self.values_of(word)).collect(),
                    None => self.known.parameters.iter().cloned().collect(),
                };
                let given: Vec<String> = given;
                self.known.add(name, given);
                values.iter().flatten().for_each(|word| self.word(word));
                self.repeated(|c| {
                    c.certain.insert(name.clone());
                    c.list(body);
                });
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                expressions.iter().for_each(|expression| self.arithmetic(expression));
                self.repeated(|c| c.list(body));
            }
            CommandKind::While { condition, body } => self.repeated(|c| {
                c.list(condition);
                c.list(body);
            }),
            CommandKind::Case { subject, arms } => {
                self.word(subject);
                for (patterns, body) in arms {
                    self.branch(|c| {
                        patterns.iter().for_each(|pattern| c.word(pattern));
                        c.list(body);
                    });
                }
            }
            CommandKind::Function { name, body } => {
                self.known.functions.entry(name.clone()).or_default();
                self.functions.insert(name, body);
                let before = std::mem::replace(&mut self.in_function, true);
                self.repeated(|c| c.command(body));
                self.in_function = before;
                let printed = self.known.printed(body, &[]);
                self.known.functions.entry(name.clone()).or_default().extend(printed);
            }
            CommandKind::Test(conditions) => conditions.iter().for_each(|condition| match condition {
                Condition::Bare(word) | Condition::Unary(_, word) => self.word(word),
                Condition::Binary(left, operator, right) => {
                    self.word(left);
                    self.word(right);
                    if operator == "=~" {
                        let expression = outline(&right.0);
                        let parts = self.values_of(left).into_iter();
                        let parts: Vec<String> = parts.flat_map(|text| part_of(&text, &expression)).collect();
                        self.known.add("BASH_REMATCH", parts);
                    }
                }
            }),
            CommandKind::Arithmetic(expression) => self.arithmetic(expression),
        }
    }

    fn simple(&mut self, simple: &'a Simple) {
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            self.assignment(assignment);
        }
        let persistent = simple.assignments.iter().filter(|_| simple.words.is_empty());
        // `local` sets nothing anywhere else.
        let is_local = simple.words.first().and_then(Word::bare) == Some("local");
        let declared = simple.declared.iter().filter(|_| !is_local || self.in_function);
        self.certain.extend(persistent.chain(declared).map(|assignment| assignment.name.clone()));
        simple.words.iter().for_each(|word| self.word(word));
        let Some((first, args)) = simple.words.split_first() else { return };
        if let Some(last) = args.last() {
            self.known.add("_", self.values_of(last));
            self.certain.insert("_".to_owned());
        }
        match literal(first).as_deref() {
            Some("set") => self.parameters(args),
            Some("unset") => args.iter().filter_map(literal).for_each(|name| {
                self.certain.remove(&name);
            }),
            Some("let") => args.iter().filter_map(literal).for_each(|text| self.numbers_in(&text)),
            Some("read" | "mapfile" | "readarray") => self.read(simple, args),
            Some("getopts") => {
                let given = self.known.parameters.iter().cloned();
                let given: Vec<String> =
                    given.chain(args.iter().flat_map(|word| self.values_of(word))).collect();
                let attached =
                    given.iter().filter(|text| text.starts_with('-')).filter_map(|text| text.get(2..));
                let values: Vec<String> =
                    attached.map(str::to_owned).chain(given.clone()).chain(unknown()).collect();
                self.known.add("OPTARG", values);
                if let Some(name) = args.get(1).and_then(literal) {
                    let letters: Vec<String> = self
                        .values_of(&args[0])
                        .iter()
                        .flat_map(|text| text.chars().map(String::from))
                        .collect();
                    self.known.add(&name, letters.into_iter().chain(computed()));
                }
            }
            Some("printf") if args.first().and_then(literal).as_deref() == Some("-v") => {
                let values = self.known.formatted(args.get(2..).unwrap_or_default()).unwrap_or_else(too_many);
                if let Some(name) = args.get(1).and_then(literal) {
                    self.known.add(&name, values);
                }
            }
            Some(name) if self.known.functions.contains_key(name) => {
                self.parameters(args);
                // Where it is defined, it is not known what it reads.
                if let Some(body) = self.functions.get(name).copied()
                    && !self.input.is_empty()
                    && !self.in_call
                {
                    self.in_call = true;
                    self.repeated(|c| c.command(body));
                    self.in_call = false;
                }
            }
            _ => {}
        }
    }

    /// `read` takes the lines and words of its input, divided as its `IFS` and `-d` say.
    fn read(&mut self, simple: &Simple, args: &[Word]) {
        let separators = simple.assignments.iter().filter(|assignment| assignment.name == "IFS");
        let separators = separators.filter_map(|assignment| match &assignment.value {
            Value::Scalar(word) => Some(word),
            Value::Array(_) => None,
        });
        let texts: Vec<Option<String>> = args.iter().map(literal).collect();
        let delimiter = texts.iter().flatten().position(|text| text.starts_with("-d"));
        let delimiter = delimiter.and_then(|at| match texts[at].as_deref() {
            Some("-d") => texts.get(at + 1).cloned().flatten(),
            text => text.map(|text| text[2..].to_owned()),
        });
        let dividing: Option<String> = separators.map(literal).chain(delimiter.map(Some)).collect();
        let counts = texts.iter().flatten().any(|text| text.starts_with("-n") || text.starts_with("-N"));
        let mut values: Vec<String> = unknown().into_iter().collect();
        for text in &self.input {
            values.extend(text.lines().map(str::to_owned));
            values.extend(text.split_whitespace().map(str::to_owned));
            match &dividing {
                // The last name takes the rest.
                Some(characters) => {
                    let at = text.match_indices(|c| characters.contains(c));
                    values.extend(at.map(|(at, found)| text[at + found.len()..].to_owned()));
                    values.extend(text.split(|c| characters.contains(c)).map(str::to_owned));
                }
                None => values.push(TOO_MANY.to_string()),
            }
            if counts {
                values.push(TOO_MANY.to_string());
            }
        }
        if !texts.iter().flatten().any(|text| text.starts_with('-') && text.contains('r')) {
            let unescaped: Vec<String> = values.iter().map(|text| text.replace('\\', "")).collect();
            values.extend(unescaped);
        }
        for name in texts.into_iter().flatten().chain(["REPLY".to_owned(), "MAPFILE".to_owned()]) {
            self.known.add(&name, values.iter().cloned());
        }
    }

    fn parameters(&mut self, args: &[Word]) {
        let values: Vec<String> = args.iter().flat_map(|word| self.values_of(word)).collect();
        self.known.add_parameters(values);
    }

    fn assignment(&mut self, assignment: &'a Assignment) {
        let mut values: Vec<String> = match &assignment.value {
            Value::Scalar(word) => {
                self.word(word);
                // A declaration expands braces, too.
                let values = self.known.expanded(word).unwrap_or_else(too_many);
                let values = &values | &self.known.values(word).unwrap_or_else(too_many);
                if word.0.iter().any(is_spread) { joined(&values) } else { values }.into_iter().collect()
            }
            Value::Array(elements) => {
                elements.iter().for_each(|(_, word)| self.word(word));
                let values = elements.iter().flat_map(|(_, word)| self.values_of(word));
                // Without elements it is empty.
                values.chain(elements.is_empty().then(String::new)).collect()
            }
        };
        if assignment.appends && matches!(assignment.value, Value::Scalar(_)) {
            let before = self.known.variables.get(&assignment.name).cloned().unwrap_or_default();
            let appended = self.known.product(&before, &values.iter().cloned().collect());
            values.extend(appended.unwrap_or_else(too_many));
        }
        if self.in_loop {
            self.repeated.insert(assignment.name.clone());
        }
        self.known.add(&assignment.name, values);
    }

    fn values_of(&self, word: &Word) -> Vec<String> {
        self.known.expanded(word).unwrap_or_else(too_many).into_iter().collect()
    }

    /// The commands and assignments in a word's expansions.
    fn word(&mut self, word: &'a Word) {
        for part in &word.0 {
            match part {
                Part::Text { .. } => {}
                Part::Parameter { parameter, .. } => self.parameter(parameter),
                Part::Command { list, .. } | Part::Process(list) => self.branch(|c| c.list(list)),
                Part::Arithmetic { expression, .. } => self.arithmetic(expression),
            }
        }
    }

    /// An expression may set each variable that it names, to a number.
    fn arithmetic(&mut self, expression: &'a Word) {
        self.word(expression);
        let texts = expression.0.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        for text in texts {
            self.numbers_in(text);
        }
    }

    fn numbers_in(&mut self, expression: &str) {
        let names = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in names.filter(|name| is_name(name)) {
            self.known.add(name, computed());
        }
    }

    fn parameter(&mut self, parameter: &'a Parameter) {
        parameter.arithmetic.iter().for_each(|expression| self.arithmetic(expression));
        parameter.words.iter().for_each(|word| self.word(word));
        if !self.certain.contains(&parameter.name) {
            self.known.may_be_unset.insert(parameter.name.clone());
        }
        if parameter.operation == Operation::Assign {
            let values: Vec<String> = parameter.words.iter().flat_map(|word| self.values_of(word)).collect();
            self.known.add(&parameter.name, values);
        }
    }
}

/// What a part of a text may be that a regular expression matches.
fn part_of(text: &str, expression: &str) -> Vec<String> {
    let is_beginning =
        expression.starts_with('^') && expression.matches('(').count() == expression.matches("^(").count();
    match () {
        () if transformed::leads_nowhere(text) => vec![COMPUTED.to_string()],
        () if is_beginning && !text.starts_with(['/', '~']) && !text.contains("..") => {
            vec![format!("{text}{COMPUTED}"), COMPUTED.to_string()]
        }
        () => vec![ANYTHING.to_string()],
    }
}

fn too_many() -> BTreeSet<String> {
    BTreeSet::from([TOO_MANY.to_string()])
}
