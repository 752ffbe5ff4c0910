//! Programs that talk to a code host: only the forms that read are allowed.

use crate::words::Arg;

pub const PROGRAMS: [&str; 3] = ["gh", "glab", "tea"];

#[rustfmt::skip]
const READS: [&str; 12] = [
    "view", "list", "ls", "status", "diff", "checks", "checkout", "clone", "download", "watch", "verify", "show",
];
const READING_PAIRS: [(&str, &str); 3] = [("ci", "lint"), ("ci", "trace"), ("ci", "get")];

/// The form of a call that may write; `None` if it only reads.
pub fn writing_form(args: &[Arg]) -> Option<String> {
    let mut words =
        args.iter().filter(|arg| !arg.text.starts_with('-')).map(|arg| arg.literal().unwrap_or("…"));
    let (Some(first), second) = (words.next(), words.next()) else { return None };
    let reads = match first {
        "search" | "status" | "version" | "help" | "completion" => true,
        "api" => api_reads(args),
        _ => second.is_none_or(|second| READS.contains(&second) || READING_PAIRS.contains(&(first, second))),
    };
    (!reads).then(|| [first, second.unwrap_or_default()].join(" ").trim_end().to_owned())
}

/// Without a method, a call with fields is a POST. With GET, fields become the query. GraphQL only has POST.
fn api_reads(args: &[Arg]) -> bool {
    let fields = option_values(args, &["-f", "-F", "--field", "--raw-field"]);
    let has_input = args.iter().any(|arg| arg.text.starts_with("--input"));
    let methods = option_values(args, &["-X", "--method"]);
    if args.iter().any(|arg| arg.literal() == Some("graphql")) {
        let is_query = |value: &Option<&str>| {
            value.is_some_and(|value| !value.to_lowercase().contains("mutation") && !value.contains("=@"))
        };
        return methods.is_empty() && !has_input && fields.iter().all(is_query);
    }
    match methods.is_empty() {
        true => fields.is_empty() && !has_input,
        false => methods.iter().all(|method| method.is_some_and(|method| method.eq_ignore_ascii_case("get"))),
    }
}

/// The values of these options, attached or in the next argument; `None` for one that is not known.
fn option_values<'a>(args: &'a [Arg], options: &[&str]) -> Vec<Option<&'a str>> {
    let value = |(at, arg): (usize, &'a Arg)| {
        let attached = options.iter().find_map(|option| arg.text.strip_prefix(option))?;
        Some(match attached.strip_prefix('=').unwrap_or(attached) {
            "" => args.get(at + 1).and_then(Arg::literal),
            attached => arg.literal().map(|_| attached),
        })
    };
    args.iter().enumerate().filter_map(value).collect()
}
