//! Simple commands: finds the rule for a command's name and applies it.

use super::Walker;
use super::flow::DirectoryFlow;
use crate::rules::{self, assignments, devscript, operands, profiles};
use crate::shell::ast::{Simple, Word};
use crate::verdict::{Denial, RuleResult, deny, deny_with_hint};
use crate::words::{Arg, arguments, literal};

/// Directories in which an allowed command may be named by its path.
const SYSTEM: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// Directories in which package managers install a project's own programs.
const INSTALLED: [&str; 4] = ["node_modules/.bin/", ".venv/bin/", "venv/bin/", "vendor/bin/"];

/// How deep commands may be wrapped, as in `timeout 5 nice ls`.
const MAX_WRAPPER_DEPTH: usize = 8;

/// What runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The shell, which looks for functions and built-ins first.
    Shell,
    /// Another program, which can only run programs.
    Program,
}

/// A command to judge.
#[derive(Debug, Clone, Copy)]
pub struct CommandCall<'c> {
    pub name: &'c str,
    pub args: &'c [Arg],
    pub caller: Caller,
}

impl<'a> Walker<'a> {
    pub fn simple(&mut self, simple: &'a Simple) -> Result<Option<DirectoryFlow>, Denial> {
        let is_read = simple.words.first().and_then(Word::bare) == Some("read");
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            // In `IFS= read line` the assignment only affects `read`.
            if !(is_read && assignment.name == "IFS") {
                assignments::judge_name(&assignment.name)?;
            }
            assignments::judge_value(self, assignment)?;
        }
        simple.declared.iter().try_for_each(|declared| assignments::judge_declared(self, declared))?;
        simple.words.iter().try_for_each(|word| self.word(word))?;
        let Some(first) = simple.words.first() else { return Ok(None) };
        let Some(name) = literal(first) else {
            return deny_with_hint(
                "command.dynamic",
                "The command name is not known before the command runs.",
                "Write a literal command name.",
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
        self.sequential &= simple.assignments.is_empty();
        self.dispatch(&argv, Caller::Shell)?;
        Ok(self.flow_after.take())
    }

    /// Judges a command that another command runs.
    pub fn dispatch_wrapped(&mut self, argv: &[Arg]) -> RuleResult {
        if self.wrapper_depth == MAX_WRAPPER_DEPTH {
            return deny(
                "command.wrapped",
                format!("More than {MAX_WRAPPER_DEPTH} commands are wrapped in each other."),
            );
        }
        self.wrapper_depth += 1;
        let result = self.dispatch(argv, Caller::Program);
        self.wrapper_depth -= 1;
        result
    }

    fn dispatch(&mut self, argv: &[Arg], caller: Caller) -> RuleResult {
        let Some((name, args)) = argv.split_first() else {
            return deny("command.missing", "A command is missing.");
        };
        let Some(name) = name.literal().filter(|name| !name.is_empty()) else {
            return deny_with_hint(
                "command.dynamic",
                "The command name is not known before the command runs.",
                "Write a literal command name.",
            );
        };
        if name.contains('/') {
            return self.dispatch_path(name, args);
        }
        self.dispatch_name(CommandCall { name, args, caller })
    }

    fn dispatch_name(&mut self, call: CommandCall<'_>) -> RuleResult {
        if call.caller == Caller::Shell && self.calls_function(call.name)? {
            self.allowed_by("function");
            return Ok(());
        }
        let added = self.is_user_command(call);
        if let Some(rule) = rules::find(call.name) {
            if !added && self.policy.is_sync() && rule.run_only {
                return deny_with_hint(
                    "sync.command",
                    format!("'{}' is not available in sync, which only verifies.", call.name),
                    "Use test, lint and build commands, or commands that only read.",
                );
            }
            self.allowed_by(rule.name);
            self.files_changed |= matches!(rule.name, "rm" | "mv" | "git");
            return (rule.judge)(self, call);
        }
        self.files_changed = true;
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

    /// Judges a command named by its path. The file name identifies the command only in the directories where the
    /// system or the project's package managers install programs.
    fn dispatch_path(&mut self, path: &str, args: &[Arg]) -> RuleResult {
        if devscript::is_dev_script(self, path) {
            self.files_changed = true;
            self.allowed_by("devscript");
            return devscript::judge(path, args);
        }
        if self.policy.options.allow_commands.iter().any(|allowed| allowed == path) {
            self.files_changed = true;
            self.allowed_by("allowCommands");
            return Ok(());
        }
        let system = SYSTEM.iter().find_map(|directory| path.strip_prefix(directory));
        let name = system.or_else(|| installed_in_project(path));
        match name.filter(|name| !name.contains('/')) {
            Some(name) => self.dispatch_name(CommandCall { name, args, caller: Caller::Program }),
            None => {
                let bare = path.rsplit('/').next().unwrap_or(path);
                deny_with_hint(
                    "command.path",
                    format!("'{path}' is a path, not an allowed command."),
                    format!(
                        "Use the bare command '{bare}' if it is allowed, or add '{path}' to allowCommands."
                    ),
                )
            }
        }
    }

    /// Whether the user's `allowCommands` contains this command.
    fn is_user_command(&self, call: CommandCall<'_>) -> bool {
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
        "curl" | "wget" => denial.instead("Use the project's tests, or run a script with its interpreter."),
        "bash" | "sh" | "zsh" | "dash" => {
            denial.instead("Write the commands directly, without another shell.")
        }
        "rm" | "mv" => denial.instead("Run with --allow-destructive, or leave the file in place."),
        "kill" | "killall" => denial.instead("Use pkill with the name of a development process."),
        _ => denial.instead(format!(
            "Add '{name}' to allowCommands in .autonoe/agent.json, or use an allowed command."
        )),
    }
}

/// The name of a language's program that is installed in the project. It is judged like the bare name: an agent that
/// may install packages or run an interpreter controls what it does anyway.
fn installed_in_project(path: &str) -> Option<&str> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let name = INSTALLED.iter().find_map(|directory| path.strip_prefix(directory))?;
    profiles::is_known(name).then_some(name)
}
