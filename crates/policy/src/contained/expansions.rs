//! What words become, as far as the script shows it.

use std::collections::HashMap;
use std::rc::Rc;

use super::variables::Value;
use super::{ContainedWalk, numbers, outputs, signals};
use crate::possible_values::transformed::transformed;
use crate::possible_values::{ANYTHING, COMPUTED};
use crate::shell::ast::{CommandKind, List, Operation, Parameter, Part, Word};
use crate::words::{Arg, UNKNOWN_PART, arguments, literal};

/// The most combinations of the values of a command's variables that are judged.
const MAX_COMBINATIONS: usize = 256;
/// What each combination costs, as so much text.
const COST_OF_CASE: usize = 48;

impl ContainedWalk<'_> {
    /// What something is for each combination of the values that the variables in these words may have.
    pub fn in_each_case<T: PartialEq>(
        &mut self,
        words: &[&Word],
        more: &[&str],
        read: impl Fn(&Self) -> T,
    ) -> Vec<T> {
        let mut names: Vec<String> = more.iter().map(|name| (*name).to_owned()).collect();
        words.iter().for_each(|word| self.mentions(word, &mut names));
        names.sort();
        names.dedup();
        let mut sets: Vec<(String, Rc<Vec<Value>>)> = Vec::new();
        for name in names {
            let values = match (name.strip_suffix("[?]"), name.strip_suffix("[+]")) {
                (Some(array), _) => Rc::new(self.elements_of(array)),
                (_, Some(_)) => Rc::new(vec![Value::Unset, Value::text("+")]),
                (None, None) => self.variables.possible(&name),
            };
            if values.len() > 1 {
                sets.push((name, values));
            }
        }
        let count = sets.iter().fold(1_usize, |count, (_, values)| count.saturating_mul(values.len()));
        if count > MAX_COMBINATIONS {
            self.is_too_much.set(true);
            return Vec::new();
        }
        let mut results = Vec::new();
        for case in 0..count {
            if self.is_too_much.get() || (count > 1 && !self.may_expand(COST_OF_CASE)) {
                break;
            }
            let mut rest = case;
            let mut chosen = HashMap::new();
            for (name, values) in &sets {
                chosen.insert(name.clone(), values[rest % values.len()].clone());
                rest /= values.len();
            }
            self.chosen = chosen;
            let result = read(self);
            if !results.contains(&result) {
                results.push(result);
            }
        }
        self.chosen.clear();
        results
    }

    /// Each element of an array, as the value of one of which the place is not known.
    fn elements_of(&self, array: &str) -> Vec<Value> {
        let values = self.variables.possible(array);
        values.iter().flat_map(|value| value.elements().iter().map(Value::text)).collect()
    }

    /// The variables that a word's value depends on.
    fn mentions(&self, word: &Word, names: &mut Vec<String>) {
        for part in &word.0 {
            match part {
                Part::Text { .. } => {}
                Part::Parameter { parameter, .. } => {
                    names.push(variable_of(&parameter.name).to_owned());
                    if let ([index], Operation::Value) =
                        (parameter.arithmetic.as_slice(), parameter.operation)
                    {
                        names.push(format!("{}[?]", parameter.name));
                        names.extend(literal(index).map(|index| format!("{}[{index}]", parameter.name)));
                        names.extend(literal(index));
                    }
                    if matches!(parameter.operation, Operation::Alternate | Operation::Default) {
                        let values = self.variables.possible(variable_of(&parameter.name));
                        let is_open = values.iter().any(|value| !is_known(value.elements().first()));
                        names.extend(is_open.then(|| format!("{}[+]", parameter.name)));
                    }
                    let inner = parameter.arithmetic.iter().chain(&parameter.words);
                    inner.for_each(|inner| self.mentions(inner, names));
                }
                Part::Command { list, .. } | Part::Process(list) => self.mentions_of_list(list, names),
                Part::Arithmetic { expression, .. } => {
                    names.extend(identifiers(expression));
                    self.mentions(expression, names);
                }
            }
        }
    }

    fn mentions_of_list(&self, list: &List, names: &mut Vec<String>) {
        for command in outputs::commands(list) {
            if let CommandKind::Simple(simple) = &command.kind {
                simple.words.iter().for_each(|word| self.mentions(word, names));
            }
        }
    }

    /// The value of a variable in the case that is being looked at.
    pub fn current(&self, name: &str) -> Value {
        let possible = || self.variables.possible(name).first().cloned();
        self.chosen.get(name).cloned().or_else(possible).unwrap_or(Value::Unset)
    }

    /// Where the shell divides text into words.
    pub fn divides(&self) -> impl Fn(char) -> bool + 'static {
        let separators = self.current("IFS").elements().first().cloned();
        move |character| match &separators {
            Some(separators) if !separators.contains(UNKNOWN_PART) => separators.contains(character),
            _ => character.is_whitespace(),
        }
    }

    /// The arguments that a word becomes, with known variables and simple substitutions replaced.
    pub fn expand(&self, word: &Word) -> Vec<Arg> {
        let mut fields = vec![Word::default()];
        let divides = self.divides();
        let unknown = UNKNOWN_PART.to_string();
        for (at, part) in word.0.iter().enumerate() {
            let (known, quoted) = match part {
                Part::Parameter { parameter, quoted } => {
                    let words = self.value(parameter);
                    let joins = *quoted && parameter.joins;
                    (words.map(|words| if joins { vec![words.join(" ")] } else { words }), *quoted)
                }
                Part::Command { list, quoted } => (self.output(list).map(|text| vec![text]), *quoted),
                Part::Arithmetic { expression, .. } => (self.number(expression).map(|text| vec![text]), true),
                Part::Text { text, quoted: false } if at == 0 && text.starts_with('~') => {
                    // The home directory of somebody.
                    let (_, path) = text.split_at(text.find('/').unwrap_or(text.len()));
                    if let Some(field) = fields.last_mut() {
                        field.push("~", true);
                        field.push(path, false);
                    }
                    continue;
                }
                Part::Text { .. } | Part::Process(_) => (None, true),
            };
            let length = |words: &Vec<String>| words.iter().map(|word| word.len() + 1).sum();
            let known = known.filter(|words| words.as_slice() != [unknown.as_str()]);
            let Some(words) = known.filter(|words| self.may_expand(length(words))) else {
                if let Some(field) = fields.last_mut() {
                    field.0.push(part.clone());
                }
                continue;
            };
            for (at, text) in words.iter().enumerate() {
                if at > 0 {
                    fields.push(Word::default());
                }
                let pieces = match quoted {
                    true => vec![text.as_str()],
                    false => text.split(&divides).collect(),
                };
                for (at, piece) in pieces.iter().enumerate() {
                    if at > 0 {
                        fields.push(Word::default());
                    }
                    if let Some(field) = fields.last_mut().filter(|_| quoted || !piece.is_empty()) {
                        field.push(piece, true);
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

    /// The text that a word becomes where the shell does not divide it, as in an assignment or a here-document.
    pub fn text_of(&self, word: &Word) -> String {
        let mut text = String::new();
        for part in &word.0 {
            let known = match part {
                Part::Text { text, .. } => Some(text.clone()),
                Part::Parameter { parameter, .. } => self.value(parameter).map(|words| words.join(" ")),
                Part::Command { list, .. } => self.output(list),
                Part::Arithmetic { expression, .. } => self.number(expression),
                Part::Process(_) => None,
            };
            match known.filter(|known| self.may_expand(known.len())) {
                Some(known) => text.push_str(&known),
                None => text.push(UNKNOWN_PART),
            }
        }
        text
    }

    /// The words of an expansion; `None` if they are not known.
    fn value(&self, parameter: &Parameter) -> Option<Vec<String>> {
        let set = self.elements(parameter);
        let is_empty = || set.as_ref().is_none_or(|words| words.iter().all(String::is_empty));
        let is_set = || match is_known(set.as_ref().and_then(|words| words.first())) {
            true => !is_empty(),
            false => self.current(&format!("{}[+]", parameter.name)) != Value::Unset,
        };
        let word = || parameter.words.first().map(|word| self.text_of(word));
        match parameter.operation {
            Operation::Length => None,
            Operation::Value => set,
            // The shell has only those variables that the script sets, and those of its environment.
            Operation::Assign | Operation::Default if set.is_none() || !is_set() => Some(vec![word()?]),
            Operation::Assign | Operation::Default => set,
            Operation::Alternate if is_set() => Some(vec![word()?]),
            Operation::Alternate => Some(Vec::new()),
            _ if parameter.spread => Some(self.slice(parameter, &set?)),
            Operation::RemovePrefix
            | Operation::RemoveSuffix
            | Operation::Replace
            | Operation::ChangeCase
            | Operation::Other => {
                let text = set?.into_iter().next().unwrap_or_default();
                Some(vec![self.changed(parameter, text)])
            }
        }
    }

    /// The words of a variable before an operation changes them.
    fn elements(&self, parameter: &Parameter) -> Option<Vec<String>> {
        let name = parameter.name.as_str();
        if let Some(before) = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1)) {
            let Value::Words(words) = self.current("@") else { return None };
            return Some(vec![words.get(before).cloned().unwrap_or_default()]);
        }
        let value = match (name, self.current(variable_of(name))) {
            ("IFS", Value::Unset) => return Some(vec![" ".to_owned()]),
            ("HOME", Value::Unset) => return Some(vec!["~".to_owned()]),
            ("PWD", Value::Unset) => return Some(vec![".".to_owned()]),
            ("TMPDIR", Value::Unset) => return Some(vec!["/tmp".to_owned()]),
            ("PPID", _) => return Some(vec![signals::PARENT.to_owned()]),
            (_, value) => value,
        };
        let index = parameter.arithmetic.first().filter(|_| parameter.operation != Operation::Other);
        if let Some(index) = index.filter(|_| !parameter.spread) {
            let written = self.index(index);
            let keyed = self.current(&format!("{name}[{written}]"));
            let keyed = if keyed == Value::Unset { self.current(&format!("{name}[?]")) } else { keyed };
            let element = written.parse::<usize>().ok().map(|at| value.elements().get(at).cloned());
            return match element {
                Some(element) => Some(vec![element.unwrap_or_default()]),
                None => keyed.elements().first().map(|text| vec![text.clone()]),
            };
        }
        match value {
            Value::Unset => None,
            Value::Words(words) if parameter.spread => Some(words.to_vec()),
            Value::Words(words) => Some(vec![words.first().cloned().unwrap_or_default()]),
        }
    }

    /// An index of an array: a number if it is known, else what is written.
    pub fn index(&self, index: &Word) -> String {
        let text = self.text_of(index);
        let text = text.trim();
        let named = self.current(text).elements().first().cloned();
        let text = named.unwrap_or_else(|| text.to_owned());
        numbers::sum(&text).map_or(text, |sum| sum.to_string())
    }

    /// `${@:2}`, `${a[@]:1:2}`; other operations leave the words as they are.
    fn slice(&self, parameter: &Parameter, words: &[String]) -> Vec<String> {
        let number = |at: usize| parameter.arithmetic.get(at).and_then(|word| self.index(word).parse().ok());
        // The positional parameters begin with 1.
        let first = usize::from(variable_of(&parameter.name) == "@");
        let Some(start) = number(0).map(|start: usize| start.saturating_sub(first)) else {
            return words.to_vec();
        };
        words.iter().skip(start).take(number(1).unwrap_or(usize::MAX)).cloned().collect()
    }

    /// What an operator makes of a text; the text itself where that is not followed.
    fn changed(&self, parameter: &Parameter, text: String) -> String {
        if text.contains(signals::PARENT) || text.contains(UNKNOWN_PART) {
            return text;
        }
        let number =
            |at: usize| parameter.arithmetic.get(at).and_then(|word| self.index(word).parse::<usize>().ok());
        if let Some(start) = number(0) {
            return text.chars().skip(start).take(number(1).unwrap_or(usize::MAX)).collect();
        }
        if matches!(parameter.operation, Operation::RemovePrefix | Operation::RemoveSuffix) {
            let results = transformed(parameter, &[text.clone()].into());
            let result = results.and_then(|results| results.into_iter().next());
            return result
                .map_or(text, |result| result.replace([ANYTHING, COMPUTED], &UNKNOWN_PART.to_string()));
        }
        let Some(pattern) = parameter.words.first().map(|word| self.text_of(word)) else { return text };
        if parameter.operation == Operation::ChangeCase {
            return match pattern.as_str() {
                "^" => text.to_uppercase(),
                "," => text.to_lowercase(),
                _ => text,
            };
        }
        let (all, pattern) = pattern.strip_prefix('/').map_or((false, pattern.as_str()), |rest| (true, rest));
        let (from, to) = pattern.split_once('/').unwrap_or((pattern, ""));
        // In newer versions of bash, `&` stands for what matches.
        let to = &to.replace('&', from);
        let marks = text.matches(from).count();
        if from.is_empty() || !self.may_expand(to.len().saturating_mul(marks)) {
            return text;
        }
        if all { text.replace(from, to) } else { text.replacen(from, to, 1) }
    }

    /// The value of a sum of numbers. One with `PPID` in it may be the parent.
    pub fn number(&self, expression: &Word) -> Option<String> {
        let text = self.text_of(expression);
        let is_parent =
            |name: String| self.current(&name).elements().iter().any(|text| text.contains("PPID"));
        match text.contains("PPID") || identifiers(expression).any(is_parent) {
            true => Some(signals::PARENT.to_owned()),
            false => numbers::sum(&text).map(|sum| sum.to_string()),
        }
    }
}

/// The variable on which a parameter depends: all positional ones are in one.
pub fn variable_of(name: &str) -> &str {
    match name {
        "*" => "@",
        "0" => name,
        name if name.starts_with(|c: char| c.is_ascii_digit()) => "@",
        name => name,
    }
}

/// Whether a value is known in part at least.
fn is_known(text: Option<&String>) -> bool {
    text.is_some_and(|text| text.is_empty() || text.contains(|character| character != UNKNOWN_PART))
}

/// The names in an arithmetic expression.
pub fn identifiers(expression: &Word) -> impl Iterator<Item = String> {
    let texts = expression.0.iter().filter_map(Part::unquoted_text);
    let names = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).map(str::to_owned)
}
