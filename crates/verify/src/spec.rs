//! Checks in SPEC.md: fenced blocks that are called `check`, and list items that begin with the word.
//!
//! ````text
//! ## Adding
//!
//! ```check ADD-001 time=30s protect=tests/**
//! $ ./calc add 2 3
//! 5
//! $ ./calc add two 3
//! two is not a number
//! ? 2
//! ```
//!
//! - Check: `./calc --version` prints `calc 1.0`
//! ````

use std::collections::{HashMap, HashSet};

use autonoe_core::check::{Check, DEFAULT_TIME_LIMIT, Origin};
use autonoe_core::duration;

use crate::known::{MAX_CHECKS, too_many};

/// What a line is part of.
enum Place {
    Text,
    /// In a block that is opened by so many of this character.
    Block {
        fence: char,
        length: usize,
        check: Option<Box<Block>>,
    },
}

/// A block of checks while it is read.
struct Block {
    line: usize,
    options: Check,
    /// The commands so far.
    found: Vec<Check>,
}

/// Finds the checks of a specification. An error names the line.
pub fn read_spec(text: &str) -> Result<Vec<Check>, String> {
    let mut heading = String::new();
    let mut place = Place::Text;
    let mut checks = Named::default();
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        let trimmed = line.trim();
        match &mut place {
            Place::Text => {
                if let Some((fence, length, info)) = opening(trimmed) {
                    let check =
                        is_check(info).then(|| Block::open(info, number).map(Box::new)).transpose()?;
                    place = Place::Block { fence, length, check };
                } else if let Some(title) = trimmed.strip_prefix('#') {
                    heading = title.trim_start_matches('#').trim().to_owned();
                } else if let Some(item) = list_item(trimmed) {
                    checks.add(vec![read_item(item, number)?], &heading);
                }
            }
            Place::Block { fence, length, check } => {
                let is_end = trimmed.chars().all(|c| c == *fence) && trimmed.len() >= *length;
                match (is_end, check.as_mut()) {
                    (true, _) => {
                        if let Some(block) = check.take() {
                            checks.add(block.close()?, &heading);
                        }
                        place = Place::Text;
                    }
                    (false, Some(block)) => block.add(line, number)?,
                    (false, None) => {}
                }
            }
        }
        if checks.found.len() > MAX_CHECKS {
            return Err(format!("SPEC.md, line {number}: {}", too_many()));
        }
    }
    match place {
        Place::Block { check: Some(block), .. } => {
            Err(format!("SPEC.md, line {}: the check is never closed", block.line))
        }
        Place::Block { check: None, .. } | Place::Text => Ok(checks.found),
    }
}

/// The character, the length and the rest of a line that opens a block.
fn opening(line: &str) -> Option<(char, usize, &str)> {
    let fence = line.chars().next().filter(|c| ['`', '~'].contains(c))?;
    let length = line.chars().take_while(|c| *c == fence).count();
    (length >= 3).then(|| (fence, length, line[length..].trim()))
}

fn is_check(info: &str) -> bool {
    info.split_whitespace().next() == Some("check")
}

/// What follows `- check:`.
fn list_item(line: &str) -> Option<&str> {
    let item = line.strip_prefix(['-', '*', '+'])?.trim_start();
    let (word, rest) = item.split_once(':')?;
    word.trim().trim_matches('*').eq_ignore_ascii_case("check").then(|| rest.trim_start_matches('*').trim())
}

/// Checks that have their names: of the heading that they stand under, unless they have one of their own. No name is given twice.
#[derive(Default)]
struct Named {
    found: Vec<Check>,
    names: HashSet<String>,
    /// The number that the next check of this name gets.
    next: HashMap<String, usize>,
}

impl Named {
    fn add(&mut self, checks: Vec<Check>, heading: &str) {
        for mut check in checks {
            let base = match (check.name.is_empty(), heading.is_empty()) {
                (false, _) => check.name.clone(),
                (true, false) => slug(heading),
                (true, true) => "spec".to_owned(),
            };
            check.name = self.free(base);
            self.found.push(check);
        }
    }

    /// The first name that nobody has: the base, or the base with a number from 2.
    fn free(&mut self, base: String) -> String {
        let next = self.next.entry(base.clone()).or_insert(1);
        loop {
            let name = if *next == 1 { base.clone() } else { format!("{base}-{next}") };
            *next += 1;
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }
}

fn slug(heading: &str) -> String {
    let words = heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "spec".to_owned() } else { slug }
}

fn plain() -> Check {
    Check {
        name: String::new(),
        deliverable: None,
        criteria: Vec::new(),
        command: String::new(),
        exit: 0,
        output: Vec::new(),
        exact: false,
        time_limit: DEFAULT_TIME_LIMIT,
        network: false,
        protect: Vec::new(),
        origin: Origin::Spec,
    }
}

impl Block {
    /// Reads `check [ID] [name=…] [time=…] [criteria=1,2] [protect=GLOB,GLOB] [network]`.
    fn open(info: &str, line: usize) -> Result<Self, String> {
        let mut options = plain();
        for word in info.split_whitespace().skip(1) {
            let wrong = |what: String| format!("SPEC.md, line {line}: {what}");
            match word.split_once('=') {
                Some(("name", name)) => options.name = name.to_owned(),
                Some(("time", time)) => options.time_limit = duration::parse(time).map_err(wrong)?,
                Some(("protect", globs)) => options.protect.extend(globs.split(',').map(str::to_owned)),
                Some(("criteria", numbers)) => {
                    let read = numbers.split(',').map(|number| number.parse().ok().filter(|n| *n > 0));
                    options.criteria = read.collect::<Option<_>>().ok_or_else(|| {
                        wrong(format!("'{numbers}' are no numbers of criteria, such as 1,2"))
                    })?;
                }
                Some((other, _)) => {
                    return Err(wrong(format!(
                        "a check has no option '{other}'; it has name, time, criteria, protect and network"
                    )));
                }
                None if word == "network" => options.network = true,
                None if options.deliverable.is_none() => options.deliverable = Some(word.to_owned()),
                None => {
                    return Err(wrong(format!("'{word}' is one word too many: a check has one deliverable")));
                }
            }
        }
        Ok(Self { line, options, found: Vec::new() })
    }

    /// `$ COMMAND`, then lines that its output must hold, then perhaps `? EXIT CODE`.
    fn add(&mut self, line: &str, number: usize) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("SPEC.md, line {number}: {what}"));
        if let Some(command) = line.trim_start().strip_prefix("$ ") {
            self.found.push(Check {
                command: command.trim().to_owned(),
                exact: true,
                ..self.options.clone()
            });
            return Ok(());
        }
        let Some(check) = self.found.last_mut() else {
            return match line.trim().is_empty() {
                true => Ok(()),
                false => wrong("a check begins with a command, after `$ `"),
            };
        };
        match line.trim_start().strip_prefix("? ") {
            Some(code) => match code.trim().parse() {
                Ok(code) => check.exit = code,
                Err(_) => return wrong("after `?` stands an exit code"),
            },
            None if line.trim().is_empty() => {}
            None => check.output.push(line.trim().to_owned()),
        }
        Ok(())
    }

    fn close(self) -> Result<Vec<Check>, String> {
        match self.found.is_empty() {
            true => {
                Err(format!("SPEC.md, line {}: the check has no command; write it after `$ `", self.line))
            }
            false => Ok(self.found),
        }
    }
}

/// `` `COMMAND` [prints `TEXT`] [exits CODE] [within TIME] [for ID] ``.
fn read_item(item: &str, line: usize) -> Result<Check, String> {
    let wrong = |what: &str| format!("SPEC.md, line {line}: {what}");
    let mut check = plain();
    let (command, mut rest) =
        quoted(item).ok_or_else(|| wrong("after `check:` stands a command between backquotes"))?;
    check.command = command.to_owned();
    loop {
        rest = rest.trim_start_matches([' ', ',', ';', '.']).trim_start_matches("and ");
        if rest.is_empty() {
            return Ok(check);
        }
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "prints" => {
                let (text, after) =
                    quoted(after).ok_or_else(|| wrong("after `prints` stands a text between backquotes"))?;
                check.output.push(text.to_owned());
                rest = after;
                continue;
            }
            "exits" | "within" | "for" => {}
            other => {
                return Err(wrong(&format!(
                    "a check does not know '{other}'; it knows prints, exits, within and for"
                )));
            }
        }
        let after = if word == "exits" { after.strip_prefix("with ").unwrap_or(after) } else { after };
        let (value, after) = after.split_once(' ').unwrap_or((after, ""));
        let value = value.trim_end_matches(['.', ',', ';']).trim_matches('`');
        match word {
            "exits" => check.exit = value.parse().map_err(|_| wrong("after `exits` stands an exit code"))?,
            "within" => check.time_limit = duration::parse(value).map_err(|what| wrong(&what))?,
            _ => check.deliverable = Some(value.to_owned()),
        }
        rest = after;
    }
}

/// What is between backquotes at the beginning, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let marks = text.chars().take_while(|c| *c == '`').count();
    let (mark, inside) = text.split_at(marks);
    let end = inside.find(mark).filter(|_| marks > 0)?;
    Some((inside[..end].trim(), &inside[end + marks..])).filter(|(inside, _)| !inside.is_empty())
}

#[cfg(test)]
mod tests;
