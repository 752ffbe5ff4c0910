//! Git's remotes, as far as the script itself sets them: a push to one that is a local path publishes nothing.

use super::local_targets::is_local_path;
use super::variables::{Value, Variables};
use super::{ContainedWalk, publishing};
use crate::words::Arg;

/// What stands before the name of a remote among the variables.
const REMOTE: &str = "remote ";
/// Stands for a setting after which nothing is known about remotes.
const UNSETTLED: &str = "settings of remotes";
/// Is set in a script that has made its own repository, in which a remote can be added.
const NEW_REPOSITORY: &str = "new repository";

impl ContainedWalk<'_> {
    /// Notes what a call of git makes of remotes.
    pub fn note_remotes(&mut self, args: &[Arg]) {
        let words: Vec<&str> = args.iter().map(|arg| arg.literal().unwrap_or_default()).collect();
        let has = |word: &str| words.contains(&word);
        let is_about_urls =
            |word: &&str| ["remote.", "url.", "branch."].iter().any(|start| word.starts_with(start));
        if words.iter().any(is_about_urls) {
            return self.variables.set(UNSETTLED, vec![Value::text("")]);
        }
        let mut starts = publishing::starts("git", args).into_iter();
        let makes_repository = starts.any(|at| match words[at] {
            // In a directory that it names, not in the repository at hand.
            "init" => !has("--bare") && words[at + 1..].iter().any(|word| !word.starts_with('-')),
            subcommand => subcommand == "clone",
        });
        if makes_repository {
            return self.variables.set(NEW_REPOSITORY, vec![Value::text("")]);
        }
        if let [.., name, url] = words.as_slice()
            && has("remote")
            && (has("add") || has("set-url"))
        {
            self.variables.set(&format!("{REMOTE}{name}"), vec![Value::text(*url)]);
        }
    }

    /// The arguments of git with the paths of remotes instead of their names; `None` if none is certainly a local path.
    pub fn with_local_remotes(&self, args: &[Arg]) -> Option<Vec<Arg>> {
        let path = |arg: &Arg| {
            let values = self.variables.possible(&format!("{REMOTE}{}", arg.literal()?));
            let is_local = |value: &Value| value.elements().first().is_some_and(|url| is_local_path(url));
            values.iter().all(is_local).then(|| values[0].elements()[0].clone())
        };
        let is_settled = *self.variables.possible(UNSETTLED) == [Value::Unset];
        (is_settled && args.iter().any(|arg| path(arg).is_some()))
            .then(|| args.iter().map(|arg| path(arg).map_or_else(|| arg.clone(), Arg::plain)).collect())
    }
}

/// The variables if the command that changed `before` to `after` has failed: a remote that exists is not added again.
pub fn after_failure(before: &Variables, mut after: Variables) -> Variables {
    if *after.possible(NEW_REPOSITORY) == [Value::Unset] {
        for name in after.names_with(REMOTE) {
            after.restore(&name, before);
        }
    }
    after
}
