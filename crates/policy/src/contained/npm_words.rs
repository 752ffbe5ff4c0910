//! The subcommands of npm that publish, as npm resolves them: by aliases and by any unambiguous beginning.

use crate::words::Arg;

/// Subcommands and the shortest beginnings that npm takes for them.
const SHORTEST: [(&str, &str); 16] = [
    ("publish", "pu"),
    ("unpublish", "unp"),
    ("deprecate", "dep"),
    ("login", "logi"),
    ("adduser", "addu"),
    ("owner", "ow"),
    ("access", "ac"),
    ("token", "to"),
    ("dist-tag", "dist"),
    ("undeprecate", "und"),
    ("trust", "tr"),
    ("stage", "stag"),
    ("team", "tea"),
    ("org", "or"),
    ("hook", "hoo"),
    ("profile", "pro"),
];

const ALIASES: [(&str, &str); 3] = [("add-user", "adduser"), ("author", "owner"), ("dist-tags", "dist-tag")];

/// The arguments with subcommands written in full.
pub fn in_full(args: &[Arg]) -> Vec<Arg> {
    args.iter()
        .map(|arg| arg.literal().and_then(subcommand).map_or_else(|| arg.clone(), Arg::plain))
        .collect()
}

fn subcommand(text: &str) -> Option<&'static str> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == text).map(|(_, subcommand)| *subcommand);
    let is_beginning =
        |(subcommand, shortest): &&(&str, &str)| subcommand.starts_with(text) && text.starts_with(shortest);
    alias.or_else(|| SHORTEST.iter().find(is_beginning).map(|(subcommand, _)| *subcommand))
}
