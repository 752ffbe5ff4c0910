//! What a rule may ask and record while one command is judged: the policy's options and paths, where the shell may be,
//! and how to judge a command that another command runs.

use std::path::PathBuf;

use super::environment::GivenVariable;
use crate::directory_flow::DirectoryFlow;
use crate::paths::{CommandPaths, Lookups};
use crate::policy_options::PolicyOptions;
use crate::shell::ast::Script;
use crate::verdict::{RuleResult, deny, deny_with_hint};
use crate::words::Arg;

/// The most paths in one command that are looked up.
const MAX_PATHS: usize = 500;

/// How deep commands may be wrapped, as in `timeout 5 nice ls`.
const MAX_WRAPPER_DEPTH: usize = 8;

/// Judges a command that another command runs.
pub type JudgeCommand = fn(&mut CommandScope<'_>, &[Arg]) -> RuleResult;

#[derive(Clone)]
pub struct CommandScope<'a> {
    pub options: &'a PolicyOptions,
    pub paths: &'a CommandPaths,
    script: &'a Script,
    judge_command: JudgeCommand,
    /// The possible working directories at this point.
    pub directories: Vec<PathBuf>,
    /// All working directories so far, because a trap may run in any of them.
    visited: Vec<PathBuf>,
    /// The effect of the last `cd` or `exit`, for the list that contains it.
    flow_after: Option<DirectoryFlow>,
    pub in_function: bool,
    /// Commands in arguments that a shell runs, such as the actions of `trap`; they are judged after everything else.
    pub scripts: Vec<String>,
    /// Whether a command may have changed files since they were looked up.
    pub files_changed: bool,
    /// Whether this is the top level, where commands run unconditionally and in order.
    pub sequential: bool,
    /// The known text that the current command may read.
    pub input: Vec<String>,
    /// Whether `xargs` takes what the current command prints.
    pub feeds_xargs: bool,
    /// The variables that the current command is given.
    pub environment: Vec<GivenVariable>,
    /// The variables that programs run by any part of the script may be given.
    pub exported: Vec<GivenVariable>,
    pub runs_make: bool,
    path_count: usize,
    /// Whether git may have replaced files by now, so that what a path names is not known.
    files_replaced: bool,
    /// Whether a path was judged where commands may run again, or at the same time as others.
    judged_apart: bool,
    /// The file system lookups made so far.
    pub lookups: Lookups,
    /// How many wrapper commands, such as `timeout`, enclose the current one.
    wrapper_depth: usize,
    rules: Vec<&'static str>,
}

impl<'a> CommandScope<'a> {
    /// `judge_command` finds the rule for a command's name. It is passed in because it knows all rules.
    pub fn new(
        options: &'a PolicyOptions,
        paths: &'a CommandPaths,
        script: &'a Script,
        directories: Vec<PathBuf>,
        judge_command: JudgeCommand,
    ) -> Self {
        Self {
            options,
            paths,
            script,
            judge_command,
            visited: directories.clone(),
            directories,
            flow_after: None,
            in_function: false,
            scripts: Vec::new(),
            files_changed: false,
            sequential: false,
            input: Vec::new(),
            feeds_xargs: false,
            environment: Vec::new(),
            exported: Vec::new(),
            runs_make: false,
            path_count: 0,
            files_replaced: false,
            judged_apart: false,
            lookups: Lookups::default(),
            wrapper_depth: 0,
            rules: Vec::new(),
        }
    }

    /// Whether an argument names a path that may be written.
    pub fn may_write(&self, target: &Arg) -> RuleResult {
        self.paths.write(&self.lookups, &self.directories, target)
    }

    /// Whether an argument names a path that may be read.
    pub fn may_read(&self, target: &Arg) -> RuleResult {
        self.paths.read(&self.lookups, &self.directories, target)
    }

    /// Whether all that a pattern lists may be read, or all that a path may name in which [`UNKNOWN`](crate::possible_values::UNKNOWN)
    /// stands for a part of a name.
    pub fn may_read_matches(&self, text: &str) -> RuleResult {
        self.paths.read_matches(&self.directories, text)
    }

    /// Whether the names that the shell lists for a pattern are in directories that may be read.
    pub fn may_list_matches(&self, text: &str) -> RuleResult {
        self.paths.list_matches(&self.directories, text)
    }

    /// The resolved paths that `text` may name, one for each possible working directory.
    pub fn possible_targets(&self, text: &str) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().filter_map(|from| self.paths.resolve(&self.lookups, from, text))
    }

    /// Whether `text` is the name of a link in a possible working directory.
    pub fn names_link(&self, text: &str) -> bool {
        self.directories.iter().any(|from| from.join(text).is_symlink())
    }

    /// Takes over what is known of the files at the end of the rest of the command, which may run before this part, or after it.
    pub fn follow_files_of(&mut self, other: &CommandScope<'_>) {
        self.files_changed = true;
        self.files_replaced = other.files_replaced;
        self.judged_apart = other.path_count > 0;
    }

    /// Records that git may replace files: any of them may become a link. A path that was judged before may be meant again.
    pub fn files_are_replaced(&mut self) -> RuleResult {
        self.files_replaced = true;
        if self.judged_apart { refuse_replaced() } else { Ok(()) }
    }

    /// Whether git may have replaced files by now.
    pub fn files_are_replaced_by_now(&self) -> bool {
        self.files_replaced
    }

    /// Denies what was judged before git may have replaced files, and runs after it.
    pub fn refuse_if_replaced(&self) -> RuleResult {
        if self.files_replaced { refuse_replaced() } else { Ok(()) }
    }

    /// Counts a path that is about to be looked up.
    pub fn count_path(&mut self) -> RuleResult {
        self.judged_apart |= !self.sequential;
        if self.files_replaced {
            return refuse_replaced();
        }
        self.path_count += 1;
        if self.path_count > MAX_PATHS {
            return deny_with_hint(
                "path.many",
                format!("The command names more than {MAX_PATHS} paths."),
                "Split it into several commands.",
            );
        }
        Ok(())
    }

    /// Judges a command that another command runs.
    pub fn judge_wrapped(&mut self, argv: &[Arg]) -> RuleResult {
        if self.wrapper_depth == MAX_WRAPPER_DEPTH {
            return deny(
                "command.wrapped",
                format!("More than {MAX_WRAPPER_DEPTH} commands are wrapped in each other."),
            );
        }
        self.wrapper_depth += 1;
        let result = (self.judge_command)(self, argv);
        self.wrapper_depth -= 1;
        result
    }

    /// Whether the script defines functions, which `unset name` could remove instead of a variable.
    pub fn has_functions(&self) -> bool {
        self.script.has_functions
    }

    /// Records which rule allowed a command.
    pub fn allowed_by(&mut self, rule: &'static str) {
        self.rules.push(rule);
    }

    /// The rules that have allowed a command, in order.
    pub fn rules(&self) -> &[&'static str] {
        &self.rules
    }

    /// Records a `cd` to these directories. `certain` means that it cannot fail.
    pub fn entered(&mut self, directories: Vec<PathBuf>, certain: bool) {
        for directory in &directories {
            if !self.visited.contains(directory) {
                self.visited.push(directory.clone());
            }
        }
        self.flow_after =
            Some(DirectoryFlow { succeeded: directories, failed: self.directories.clone(), certain });
    }

    /// Records that the shell exits here.
    pub fn exits(&mut self) {
        self.flow_after = Some(DirectoryFlow::default());
    }

    /// The effect of the `cd` or `exit` just judged; `None` if the directories do not change.
    pub fn take_flow(&mut self) -> Option<DirectoryFlow> {
        self.flow_after.take()
    }

    /// All working directories so far.
    pub fn visited(&self) -> &[PathBuf] {
        &self.visited
    }
}

fn refuse_replaced() -> RuleResult {
    deny_with_hint(
        "path.replaced",
        "git may put a link where a path of this command leads.",
        "Run git as a command of its own.",
    )
}
