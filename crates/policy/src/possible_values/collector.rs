//! Collects the values that a script gives its variables and positional parameters.

use std::collections::BTreeSet;

use super::{KnownValues, MAX_PASSES, TOO_MANY, UNKNOWN, unknown};
use crate::shell::ast::{
    Assignment, Command, CommandKind, Condition, List, Operation, Parameter, Part, Pipeline, Script, Simple,
    Target, Value, Word,
};
use crate::words::literal;

impl KnownValues {
    /// The values in a script.
    pub fn of(script: &Script) -> Self {
        let mut collector = Collector { known: Self::default(), script, input: Vec::new() };
        for _ in 0..MAX_PASSES {
            let before = collector.size();
            collector.list(&script.list);
            if collector.size() == before {
                break;
            }
        }
        collector.known
    }
}

struct Collector<'a> {
    known: KnownValues,
    script: &'a Script,
    /// The known text that the commands at this point may read.
    input: Vec<String>,
}

impl Collector<'_> {
    fn size(&self) -> usize {
        self.known.variables.values().map(BTreeSet::len).sum::<usize>()
            + self.known.parameters.len()
            + self.known.functions.len()
    }

    fn list(&mut self, list: &List) {
        for item in &list.0 {
            self.pipeline(&item.first);
            item.rest.iter().for_each(|(_, pipeline)| self.pipeline(pipeline));
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        let before = self.input.len();
        for command in &pipeline.commands {
            self.command(command);
            if pipeline.commands.len() > 1 {
                self.input.extend(self.known.printed(command, self.script));
            }
        }
        self.input.truncate(before);
    }

    fn command(&mut self, command: &Command) {
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
            self.input.extend(self.known.printed(command, self.script));
        }
        self.kind(&command.kind);
        self.input.truncate(before);
    }

    fn kind(&mut self, kind: &CommandKind) {
        match kind {
            CommandKind::Simple(simple) => self.simple(simple),
            CommandKind::Subshell(list) | CommandKind::Group(list) => self.list(list),
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.list(condition);
                    self.list(body);
                }
                otherwise.iter().for_each(|body| self.list(body));
            }
            CommandKind::For { name, values, body } => {
                let given = match values {
                    Some(words) => words.iter().flat_map(|word| self.values_of(word)).collect(),
                    None => self.known.parameters.iter().cloned().chain([UNKNOWN.to_string()]).collect(),
                };
                let given: Vec<String> = given;
                self.known.add(name, given);
                values.iter().flatten().for_each(|word| self.word(word));
                self.list(body);
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                expressions.iter().for_each(|expression| self.word(expression));
                self.list(body);
            }
            CommandKind::While { condition, body } => {
                self.list(condition);
                self.list(body);
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject);
                arms.iter().for_each(|(_, body)| self.list(body));
            }
            CommandKind::Function { name, body } => {
                self.known.functions.insert(name.clone());
                self.command(body);
            }
            CommandKind::Test(conditions) => conditions.iter().for_each(|condition| match condition {
                Condition::Bare(word) | Condition::Unary(_, word) => self.word(word),
                Condition::Binary(left, _, right) => {
                    self.word(left);
                    self.word(right);
                }
            }),
            CommandKind::Arithmetic(expression) => self.word(expression),
        }
    }

    fn simple(&mut self, simple: &Simple) {
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            self.assignment(assignment);
        }
        simple.words.iter().for_each(|word| self.word(word));
        let Some((first, args)) = simple.words.split_first() else { return };
        if let Some(last) = args.last() {
            self.known.add("_", self.values_of(last));
        }
        match literal(first).as_deref() {
            Some("set") => self.parameters(args),
            Some("read" | "mapfile" | "readarray") => {
                let mut values: Vec<String> = unknown().into_iter().collect();
                for text in &self.input {
                    values.extend(text.lines().map(str::to_owned));
                    values.extend(text.split_whitespace().map(str::to_owned));
                }
                let names = args.iter().filter_map(literal);
                for name in names.chain(["REPLY".to_owned(), "MAPFILE".to_owned()]) {
                    self.known.add(&name, values.iter().cloned());
                }
            }
            Some("printf") if args.first().and_then(literal).as_deref() == Some("-v") => {
                let printed = Simple { words: simple.words[2..].to_vec(), ..Simple::default() };
                let values = self.known.joined("printf", &printed).unwrap_or_else(too_many);
                if let Some(name) = args.get(1).and_then(literal) {
                    self.known.add(&name, values);
                }
            }
            Some(name) if self.known.functions.contains(name) => self.parameters(args),
            _ => {}
        }
    }

    fn parameters(&mut self, args: &[Word]) {
        let values: Vec<String> = args.iter().flat_map(|word| self.values_of(word)).collect();
        self.known.add_parameters(values);
    }

    fn assignment(&mut self, assignment: &Assignment) {
        let mut values: Vec<String> = match &assignment.value {
            Value::Scalar(word) => {
                self.word(word);
                self.known.values(word).unwrap_or_else(too_many).into_iter().collect()
            }
            Value::Array(elements) => {
                elements.iter().for_each(|(_, word)| self.word(word));
                elements.iter().flat_map(|(_, word)| self.values_of(word)).collect()
            }
        };
        if assignment.appends && matches!(assignment.value, Value::Scalar(_)) {
            let before = self.known.variables.get(&assignment.name).cloned().unwrap_or_default();
            let appended = self.known.product(&before, &values.iter().cloned().collect());
            values.extend(appended.unwrap_or_else(too_many));
        }
        self.known.add(&assignment.name, values);
    }

    fn values_of(&self, word: &Word) -> Vec<String> {
        self.known.expanded(word).unwrap_or_else(too_many).into_iter().collect()
    }

    /// The commands and assignments in a word's expansions.
    fn word(&mut self, word: &Word) {
        for part in &word.0 {
            match part {
                Part::Text { .. } => {}
                Part::Parameter { parameter, .. } => self.parameter(parameter),
                Part::Command { list, .. } | Part::Process(list) => self.list(list),
                Part::Arithmetic { expression, .. } => self.word(expression),
            }
        }
    }

    fn parameter(&mut self, parameter: &Parameter) {
        parameter.arithmetic.iter().chain(&parameter.words).for_each(|word| self.word(word));
        if parameter.operation == Operation::Assign {
            let values: Vec<String> = parameter.words.iter().flat_map(|word| self.values_of(word)).collect();
            self.known.add(&parameter.name, values);
        }
    }
}

fn too_many() -> BTreeSet<String> {
    BTreeSet::from([TOO_MANY.to_string()])
}
