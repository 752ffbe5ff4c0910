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
//! $ ./calc price
//! \$ 5.00
//! ```
//!
//! - Check: `./calc --version` prints `calc 1.0`
//! ````

mod item_look_alikes;
mod markdown;
mod open_constructs;

use std::collections::{HashMap, HashSet, VecDeque};

use autonoe_core::check::{Check, CheckOrigin};
use autonoe_core::{check_item, duration};

use crate::check_limit::MAX_CHECKS;
use crate::protect_pattern::ProtectPattern;
use crate::spec_error::{SpecError, SpecProblem};
use markdown::{CheckBlockText, SpecPart};
use open_constructs::{LineEnd, OpenConstructs};

/// A block of checks that is being parsed.
struct CheckBlock {
    line: usize,
    options: Check,
    found: Vec<Check>,
    /// What the command of the last check still lacks.
    lacks: CommandEnd,
    /// What is open in it.
    open: OpenConstructs,
    /// Whether its exit code was written.
    has_exit: bool,
    /// The words that end its here-documents which have not ended. The line with one may be indented, if tabs are removed from it.
    documents: VecDeque<String>,
}

/// What a command needs to be complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CommandEnd {
    #[default]
    Nothing,
    /// Its last line ends with a backslash, or a quote or a parenthesis is open.
    NextLine,
    /// The lines of a here-document.
    Document,
}

/// Parses the checks of a specification.
pub fn read_spec(text: &str) -> Result<Vec<Check>, SpecError> {
    let mut heading = "";
    let mut checks = NamedChecks::default();
    for (line, part) in markdown::parts(text)? {
        match part {
            SpecPart::Heading(title) => heading = title,
            SpecPart::Item(item) => {
                let check = check_item::parse(item, CheckOrigin::Spec)
                    .map_err(|problem| SpecProblem::from(problem).at(line))?;
                checks.add(vec![check], heading);
            }
            SpecPart::Block(block) => checks.add(CheckBlock::read(&block, line)?, heading),
        }
        if checks.found.len() > MAX_CHECKS {
            return Err(SpecProblem::TooMany.at(line));
        }
    }
    Ok(checks.found)
}

/// What a plan is made from: the specification without its checks, which are read anew in every run.
pub fn without_checks(spec: &str) -> Result<String, SpecError> {
    let mut is_check = HashSet::new();
    for (line, part) in markdown::parts(spec)? {
        match part {
            SpecPart::Heading(_) => {}
            SpecPart::Item(_) => drop(is_check.insert(line)),
            SpecPart::Block(block) => {
                let last = block.lines.last().map_or(line, |(number, _)| *number);
                // The last one is the closing fence.
                is_check.extend(line..=last + 1);
            }
        }
    }
    let lines = spec.lines().enumerate().filter(|(index, _)| !is_check.contains(&(index + 1)));
    let lines = lines.map(|(_, line)| line.trim()).filter(|line| !line.is_empty());
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Gives each check a unique name: its own, or one derived from the heading above it.
#[derive(Default)]
struct NamedChecks {
    found: Vec<Check>,
    names: HashSet<String>,
    /// Number of the next check with this base name.
    next: HashMap<String, usize>,
}

impl NamedChecks {
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

    /// The first free name: the base, or the base with a number from 2.
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

/// Maximum number of commands of a block that prepare others.
const MAX_SETUP: usize = 20;

impl CheckBlock {
    fn read(text: &CheckBlockText<'_>, line: usize) -> Result<Vec<Check>, SpecError> {
        let mut block = Self::open(text.info, line).map_err(|problem| problem.at(line))?;
        for (number, line) in &text.lines {
            block.add(line).map_err(|problem| problem.at(*number))?;
        }
        block.close()
    }

    /// Parses `check [ID] [name=…] [time=…] [criteria=1,2] [protect=GLOB,GLOB] [network]`.
    fn open(info: &str, line: usize) -> Result<Self, SpecProblem> {
        let mut options = Check::of_command("", CheckOrigin::Spec);
        let mut seen = HashSet::new();
        let mut only_once = |option: &'static str| match seen.insert(option) {
            true => Ok(()),
            false => Err(SpecProblem::OptionTwice(option)),
        };
        for word in info.split_whitespace().skip(1) {
            match word.split_once('=') {
                Some(("name", name)) => {
                    only_once("name")?;
                    options.name = name.to_owned();
                }
                Some(("time", time)) => {
                    only_once("time")?;
                    options.time_limit = duration::parse(time)?;
                    if options.time_limit.is_zero() {
                        return Err(SpecProblem::TimeLimit);
                    }
                }
                Some(("protect", globs)) => {
                    for glob in globs.split(',') {
                        ProtectPattern::parse(glob)?;
                        options.protect.push(glob.to_owned());
                    }
                }
                Some(("criteria", numbers)) => {
                    only_once("criteria")?;
                    let read = numbers.split(',').map(|number| number.parse().ok().filter(|n| *n > 0));
                    options.criteria = read
                        .collect::<Option<_>>()
                        .ok_or_else(|| SpecProblem::Criteria(numbers.to_owned()))?;
                }
                Some(("network", _)) => return Err(SpecProblem::NetworkValue),
                Some((other, _)) => return Err(SpecProblem::Option(other.to_owned())),
                None if word == "network" => options.network = true,
                None if options.deliverable.is_none() => options.deliverable = Some(word.to_owned()),
                None => return Err(SpecProblem::SecondDeliverable(word.to_owned())),
            }
        }
        Ok(Self {
            line,
            options,
            found: Vec::new(),
            lacks: CommandEnd::Nothing,
            open: OpenConstructs::default(),
            has_exit: false,
            documents: VecDeque::new(),
        })
    }

    /// What the command still lacks after one more line of it.
    fn lacks_after(&mut self, line: &str) -> CommandEnd {
        let LineEnd { documents, is_continued } = self.open.add(line);
        self.documents.extend(documents);
        // A here-document begins after a whole line.
        if is_continued || self.open.is_quoted() {
            CommandEnd::NextLine
        } else {
            self.lacks_between_documents()
        }
    }

    fn lacks_between_documents(&self) -> CommandEnd {
        match (self.documents.is_empty(), self.open.is_empty()) {
            (false, _) => CommandEnd::Document,
            (true, false) => CommandEnd::NextLine,
            (true, true) => CommandEnd::Nothing,
        }
    }

    /// `$ COMMAND`, then expected output lines, then optionally `? EXIT CODE`. An output line that looks like one of these begins with a
    /// backslash.
    fn add(&mut self, line: &str) -> Result<(), SpecProblem> {
        if self.lacks != CommandEnd::Nothing
            && let Some(check) = self.found.last_mut()
        {
            check.command.push('\n');
            check.command.push_str(line);
            self.lacks = match self.lacks {
                CommandEnd::Document if self.documents.front().is_some_and(|word| line.trim() != word) => {
                    return Ok(());
                }
                CommandEnd::Document => {
                    self.documents.pop_front();
                    self.lacks_between_documents()
                }
                CommandEnd::NextLine | CommandEnd::Nothing => self.lacks_after(line),
            };
            return Ok(());
        }
        if let Some(command) = after_sign(line, '$') {
            if command.trim().is_empty() {
                return Err(SpecProblem::EmptyCommand);
            }
            self.has_exit = false;
            self.open = OpenConstructs::default();
            self.documents.clear();
            self.lacks = self.lacks_after(command.trim());
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
                false => Err(SpecProblem::OutputFirst),
            };
        };
        match after_sign(line, '?') {
            Some(_) if self.has_exit => return Err(SpecProblem::SecondExitCode),
            Some(code) => {
                check.exit = code.trim().parse::<u8>().map_err(|_| SpecProblem::ExitCode)?.into();
                self.has_exit = true;
            }
            None if line.trim().is_empty() => {}
            None => check.output.push(unescaped(line.trim()).to_owned()),
        }
        Ok(())
    }

    fn close(mut self) -> Result<Vec<Check>, SpecError> {
        if self.found.is_empty() {
            return Err(SpecProblem::NoCommand.at(self.line));
        }
        if self.lacks != CommandEnd::Nothing {
            return Err(SpecProblem::Unfinished.at(self.line));
        }
        let mut setup = Vec::new();
        for check in &mut self.found {
            check.setup.clone_from(&setup);
            if check.can_prepare() && setup.len() < MAX_SETUP {
                setup.push(check.command.clone());
            }
        }
        Ok(self.found)
    }
}

/// The text after `$ ` or `? `.
fn after_sign(line: &str, sign: char) -> Option<&str> {
    line.trim_start().strip_prefix(sign).filter(|rest| rest.starts_with([' ', '\t']))
}

/// Without the first of the backslashes before `$ ` or `? `.
fn unescaped(line: &str) -> &str {
    let rest = line.trim_start_matches('\\');
    let is_escaped = ['$', '?'].iter().any(|sign| after_sign(rest, *sign).is_some());
    if is_escaped { line.strip_prefix('\\').unwrap_or(line) } else { line }
}

#[cfg(test)]
mod tests;
