//! Simple commands: finds the rule for a name and asks it.

use super::Walker;
use super::flow::Flow;
use crate::rules::{self, assignments, devscript, operands, profiles};
use crate::shell::ast::{Simple, Word};
use crate::verdict::{Denial, Ruling, deny, deny_but};
use crate::words::{Arg, arguments, literal};

/// Directories in which a listed command may be named by its path.
const SYSTEM: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// Where package managers keep the programs a project installed for itself.
const INSTALLED: [&str; 4] = ["node_modules/.bin/", ".venv/bin/", "venv/bin/", "vendor/bin/"];

/// How many commands may run each other, as in `timeout 5 nice ls`.
const MAX_WRAPPED: usize = 8;

/// Who runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The shell: its functions and built-ins come first.
    Shell,
    /// Another program: only programs can be run.
    Program,
}

/// A command as its rule sees it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    /// Its name.
    pub name: &'c str,
    /// Its arguments.
    pub args: &'c [Arg],
    /// Who runs it.
    pub origin: Origin,
}

impl<'a> Walker<'a> {
    /// A simple command.
    pub fn simple(&mut self, simple: &'a Simple) -> Result<Option<Flow>, Denial> {
        let reads = simple.words.first().and_then(Word::bare) == Some("read");
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            // `IFS= read line` splits for `read` alone.
            if !(reads && assignment.name == "IFS") {
                assignments::judge_name(&assignment.name)?;
            }
            assignments::judge_value(self, assignment)?;
        }
        simple.declared.iter().try_for_each(|declared| assignments::judge_declared(self, declared))?;
        simple.words.iter().try_for_each(|word| self.word(word))?;
        let Some(first) = simple.words.first() else { return Ok(None) };
        let Some(name) = literal(first) else {
            return deny_but(
                "command.dynamic",
                "The command's name is not known before it runs.",
                "Write the command's name out.",
            )
            .map(|()| None);
        };
        let mut argv = Vec::with_capacity(simple.words.len());
        argv.push(Arg::plain(name));
        for word in &simple.words[1..] {
            arguments(word, &mut argv);
        }
        match argv[0].text.as_str() {
            "[" | "test" => operands::judge_test_words(self, &simple.words[1..])?,
            "kill" => operands::judge_kill_words(self, &simple.words[1..])?,
            _ => {}
        }
        self.straight &= simple.assignments.is_empty();
        self.dispatch(&argv, Origin::Shell)?;
        Ok(self.leaves.take())
    }

    /// Judges a command that another one runs.
    pub fn dispatch_wrapped(&mut self, argv: &[Arg]) -> Ruling {
        if self.wrapped == MAX_WRAPPED {
            return deny("command.wrapped", "Too many commands run each other.");
        }
        self.wrapped += 1;
        let judged = self.dispatch(argv, Origin::Program);
        self.wrapped -= 1;
        judged
    }

    /// Judges a name and its arguments.
    fn dispatch(&mut self, argv: &[Arg], origin: Origin) -> Ruling {
        let Some((name, args)) = argv.split_first() else {
            return deny("command.missing", "A command is missing.");
        };
        let Some(name) = name.literal().filter(|name| !name.is_empty()) else {
            return deny_but(
                "command.dynamic",
                "The command's name is not known before it runs.",
                "Write the command's name out.",
            );
        };
        if name.contains('/') {
            return self.dispatch_path(name, args);
        }
        self.dispatch_name(Call { name, args, origin })
    }

    fn dispatch_name(&mut self, call: Call<'_>) -> Ruling {
        if call.origin == Origin::Shell && self.calls_function(call.name)? {
            self.allowed_by("function");
            return Ok(());
        }
        let added = self.is_added(call);
        if let Some(rule) = rules::find(call.name) {
            if !added && self.policy.is_sync() && rule.only_run {
                return deny_but(
                    "sync.command",
                    format!("'{}' is not for sync, which only verifies.", call.name),
                    "Use tests, linters, builds and commands that read.",
                );
            }
            self.allowed_by(rule.name);
            self.changed |= matches!(rule.name, "rm" | "mv" | "git");
            return (rule.judge)(self, call);
        }
        self.changed = true;
        match profiles::judge(self, call) {
            Some(Ok(rule)) => {
                self.allowed_by(rule);
                Ok(())
            }
            _ if added => {
                self.allowed_by("allowCommands");
                Ok(())
            }
            Some(Err(denial)) => Err(denial),
            None => Err(unknown(call.name)),
        }
    }

    /// A command named by its path is what it is called only where the system, or a package manager in the project,
    /// keeps programs.
    fn dispatch_path(&mut self, path: &str, args: &[Arg]) -> Ruling {
        if devscript::is_one(self, path) {
            self.changed = true;
            self.allowed_by("devscript");
            return devscript::judge(path, args);
        }
        if self.policy.options.allow_commands.iter().any(|allowed| allowed == path) {
            self.changed = true;
            self.allowed_by("allowCommands");
            return Ok(());
        }
        let system = SYSTEM.iter().find_map(|directory| path.strip_prefix(directory));
        let name = system.or_else(|| installed_in_project(path));
        match name.filter(|name| !name.contains('/')) {
            Some(name) => self.dispatch_name(Call { name, args, origin: Origin::Program }),
            None => {
                let bare = path.rsplit('/').next().unwrap_or(path);
                deny_but(
                    "command.path",
                    format!("'{path}' is a file, not a listed command."),
                    format!(
                        "Use the bare command '{bare}' if it is listed, or add '{path}' to allowCommands."
                    ),
                )
            }
        }
    }

    /// Whether the user's configuration adds this command.
    fn is_added(&self, call: Call<'_>) -> bool {
        self.policy.options.allow_commands.iter().any(|allowed| {
            let mut words = allowed.split_whitespace();
            words.next() == Some(call.name)
                && words.enumerate().all(|(at, word)| call.args.get(at).and_then(Arg::literal) == Some(word))
        })
    }
}

fn unknown(name: &str) -> Denial {
    let denial = Denial::new("command.unknown", format!("'{name}' is not in the list of allowed commands."));
    match name {
        "sed" | "awk" | "perl" => {
            denial.instead("Use the Edit tool to change files, or grep, cut, head and tail.")
        }
        "curl" | "wget" => denial.instead("Use the project's own tests, or a script run by its interpreter."),
        "bash" | "sh" | "zsh" | "dash" => {
            denial.instead("Write the commands themselves, without another shell.")
        }
        "rm" | "mv" => denial.instead("Start with --allow-destructive, or leave the file."),
        "kill" | "killall" => denial.instead("Use pkill with the name of a development process."),
        _ => denial
            .instead(format!("Add '{name}' to allowCommands in .autonoe/agent.json, or do it another way.")),
    }
}

/// The name of a language's program that the project installed for itself. It is judged like the bare name: anyone who may
/// install packages, or run an interpreter, decides what it does in any case.
fn installed_in_project(path: &str) -> Option<&str> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let name = INSTALLED.iter().find_map(|directory| path.strip_prefix(directory))?;
    profiles::is_known(name).then_some(name)
}
