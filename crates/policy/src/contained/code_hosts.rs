//! Programs that talk to a code host: only the forms that read are allowed.

use crate::words::{Arg, is_unknown};

pub const PROGRAMS: [&str; 3] = ["gh", "glab", "tea"];

#[rustfmt::skip]
const READS: [&str; 12] = [
    "view", "list", "ls", "status", "diff", "checks", "checkout", "clone", "download", "watch", "verify", "show",
];
const READING_PAIRS: [(&str, &str); 6] = [
    ("ci", "lint"),
    ("ci", "trace"),
    ("ci", "get"),
    ("config", "get"),
    ("variable", "get"),
    ("extension", "search"),
];

/// The form of a call that may write; `None` if it only reads.
pub fn writing_form(args: &[Arg]) -> Option<String> {
    // What is not known may be an option or nothing.
    let words = args.iter().filter(|arg| !arg.text.starts_with('-')).skip_while(|arg| is_unknown(arg));
    let mut words = words.map(|arg| arg.literal().unwrap_or("…"));
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
        return methods.is_empty() && !has_input && graphql_fields(args).into_iter().all(may_be_sent);
    }
    match methods.is_empty() {
        true => fields.is_empty() && !has_input,
        false => methods.iter().all(|method| method.is_some_and(|method| method.eq_ignore_ascii_case("get"))),
    }
}

/// A field of a GraphQL call: `name=value`, of which only the beginning may be known.
struct GraphqlField<'a> {
    text: &'a str,
    is_known: bool,
    /// Whether a value that begins with `@` is not the name of a file.
    is_raw: bool,
}

/// Whether a field is part of a call that only reads: the query is known, and no value is read from a file.
fn may_be_sent(field: GraphqlField<'_>) -> bool {
    let Some((name, value)) = field.text.split_once('=') else { return false };
    match name {
        "query" => field.is_known && !value.to_lowercase().contains("mutation") && !value.starts_with('@'),
        _ if field.is_known || !value.is_empty() => !value.starts_with('@'),
        _ => field.is_raw,
    }
}

fn graphql_fields(args: &[Arg]) -> Vec<GraphqlField<'_>> {
    const FIELDS: [(&str, bool); 4] =
        [("-f", true), ("--raw-field", true), ("-F", false), ("--field", false)];
    let field = |(at, arg): (usize, &'_ Arg)| {
        let (rest, is_raw) =
            FIELDS.iter().find_map(|(option, is_raw)| Some((arg.text.strip_prefix(option)?, *is_raw)))?;
        let start = arg.text.len() - rest.strip_prefix('=').unwrap_or(rest).len();
        Some((at, start, is_raw))
    };
    let found = args.iter().enumerate().filter_map(field);
    found
        .map(|(at, start, is_raw)| {
            let arg = &args[at];
            match start == arg.text.len() && arg.literal().is_some() {
                true => {
                    let next = args.get(at + 1);
                    let is_known = next.is_some_and(|next| next.literal().is_some());
                    GraphqlField { text: next.map_or("", |next| next.text.as_str()), is_known, is_raw }
                }
                false => GraphqlField { text: &arg.text[start..], is_known: arg.literal().is_some(), is_raw },
            }
        })
        .collect()
}

/// The values of these options, attached or in the next argument; `None` for one that is not known.
fn option_values<'a>(args: &'a [Arg], options: &[&str]) -> Vec<Option<&'a str>> {
    let value = |(at, arg): (usize, &'a Arg)| {
        let attached = options.iter().find_map(|option| after_option(&arg.text, option))?;
        Some(match attached.strip_prefix('=').unwrap_or(attached) {
            "" => args.get(at + 1).and_then(Arg::literal),
            attached => arg.literal().map(|_| attached),
        })
    };
    args.iter().enumerate().filter_map(value).collect()
}

/// What follows an option in its own argument. `-i` has no value, so another one may follow it, as in `-iX`.
fn after_option<'a>(text: &'a str, option: &str) -> Option<&'a str> {
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
    text.strip_prefix(option).or_else(|| text.strip_prefix("-i")?.strip_prefix(letter?))
}
