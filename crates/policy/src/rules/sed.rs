//! `sed`: prints or edits named files. Its script is read command by command, because sed can run programs (`e`) and
//! read and write files (`r`, `w`).

use super::options::{OptionSyntax, parse};
use super::reads;
use super::rule::{CommandCall, Rule, always, in_run, never};
use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::Arg;

pub const RULES: &[Rule] = &[Rule {
    name: "sed",
    commands: &["sed", "gsed"],
    run_only: false,
    judge,
    examples: &[
        always("sed -n '10,20p' a.txt"),
        always("sed -n '/^fn main/,/^}/p' src/a.js"),
        always("git ls-files | sed -E 's#^src/##; s/\\.js$//' | sort"),
        always("sed -ne 5p -e '$p' a.txt"),
        always("sed '1d;$d' a.txt | sed '/^$/d'"),
        in_run("sed -i 's/a/b/g' src/a.js"),
        in_run("sed -i.bak -e 's/a/b/' -e '/x/a\\  more' a.txt"),
        in_run("sed -i '3i hello' a.txt"),
        in_run("sed --in-place=.bak 's/a/b/' a.txt"),
        never("sed -n 10,20p /etc/passwd"),
        never("sed -i s/a/b/ ../x"),
        never("sed -i s/a/b/ .autonoe/status.json"),
        never("sed -i s/a/b/ $x"),
        never("sed '1e rm x' a.txt"),
        never("sed 's/a/rm x/e' a.txt"),
        never("sed -n 'w out' a.txt"),
        never("sed 's/a/b/w out' a.txt"),
        never("sed 'r /etc/passwd' a.txt"),
        never("sed '1R a' a.txt"),
        never("sed -f script.sed a.txt"),
        never("sed \"$x\" a.txt"),
        never("sed '/a/{p;e rm x\n}' a.txt"),
        never("sed 's/a/b/;W x' a.txt"),
        never("sed -s -i../x s/a/b/ a.txt"),
        never("sed"),
    ],
}];

const SED: OptionSyntax = OptionSyntax {
    flags: "nErsuz",
    valued: "e",
    long: &["quiet", "silent", "regexp-extended", "separate", "null-data", "unbuffered", "posix", "sandbox"],
    long_valued: &["expression"],
};

fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    // `-i` takes a suffix only if it is attached, which the parser cannot express.
    let in_place = |arg: &&Arg| {
        arg.literal().is_some_and(|text| {
            text == "--in-place"
                || text.strip_prefix("-i").or(text.strip_prefix("--in-place=")).is_some_and(is_suffix)
        })
    };
    let edits = call.args.iter().any(|arg| in_place(&arg));
    let args: Vec<Arg> = call.args.iter().filter(|arg| !in_place(arg)).cloned().collect();
    let parsed = parse("sed", &SED, &args)?;
    let expressions = parsed.options.iter().filter(|(option, _)| option == "e" || option == "expression");
    let mut scripts: Vec<&Arg> = expressions.filter_map(|(_, value)| value.as_ref()).collect();
    let mut files = parsed.operands.as_slice();
    if scripts.is_empty() {
        let Some((script, rest)) = files.split_first() else { return refuse("sed requires a script.") };
        scripts.push(script);
        files = rest;
    }
    for script in scripts {
        match script.literal() {
            Some(text) if is_harmless(text) => {}
            Some(_) => return refuse("The sed script could run programs or use other files."),
            None => return refuse("The sed script is not known before the command runs."),
        }
    }
    files.iter().try_for_each(|file| {
        reads::judge(scope, file)?;
        if edits { scope.may_write(file) } else { Ok(()) }
    })
}

fn is_suffix(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._~".contains(&b)) && !text.contains("..")
}

fn refuse(reason: &str) -> RuleResult {
    deny_with_hint("sed", reason, "Use addresses with p, d, q, s, y, a, i and c, or the Edit tool.")
}

/// Whether a script consists only of commands that print and change text.
fn is_harmless(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == '}');
        let Some(after) = skip_addresses(rest) else { return false };
        let Some(command) = after.chars().next() else { return after.is_empty() && rest.is_empty() };
        let after = &after[command.len_utf8()..];
        let next = match command {
            '{' => Some(after),
            'p' | 'P' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'x' | '=' | 'l' | 'z' | 'q' | 'Q' => {
                end_of_command(after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '))
            }
            'a' | 'i' | 'c' => Some(after_text(after)),
            's' | 'y' => skip_pair(after).and_then(|flags| {
                end_of_command(
                    flags.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiIMm ".contains(c)),
                )
            }),
            _ => None,
        };
        match next {
            Some(next) => rest = next,
            None => return false,
        }
    }
}

fn end_of_command(rest: &str) -> Option<&str> {
    (rest.is_empty() || rest.starts_with([';', '}', '\n'])).then_some(rest)
}

/// The text after `a`, `i` or `c`: up to a line end that no backslash escapes.
fn after_text(text: &str) -> &str {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            '\n' if !escaped => return &text[at..],
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    ""
}

/// Skips up to two addresses and `!`; `None` if they are not understood.
fn skip_addresses(text: &str) -> Option<&str> {
    let mut rest = skip_address(text)?.trim_start_matches(' ');
    if let Some(second) = rest.strip_prefix(',') {
        rest = skip_address(second.trim_start_matches([' ', '+', '~']))?;
    }
    Some(rest.trim_start_matches([' ', '!']))
}

fn skip_address(text: &str) -> Option<&str> {
    if let Some(pattern) = text.strip_prefix('/') {
        return Some(skip_delimited(pattern, '/')?.trim_start_matches(['I', 'M']));
    }
    if let Some(rest) = text.strip_prefix('\\') {
        let delimiter = rest.chars().next().filter(|c| *c != '\n' && *c != '\\')?;
        let after = skip_delimited(&rest[delimiter.len_utf8()..], delimiter)?;
        return Some(after.trim_start_matches(['I', 'M']));
    }
    Some(
        text.strip_prefix('$')
            .unwrap_or_else(|| text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~')),
    )
}

/// Skips `/pattern/replacement/` of `s` and `y`.
fn skip_pair(text: &str) -> Option<&str> {
    let delimiter = text.chars().next().filter(|c| *c != '\n' && *c != '\\')?;
    skip_delimited(skip_delimited(&text[delimiter.len_utf8()..], delimiter)?, delimiter)
}

/// The text after an unescaped delimiter. A bracket expression may contain the delimiter in some versions of sed, so it
/// is not understood there.
fn skip_delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut escaped = false;
    let mut in_brackets = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == delimiter => return (!in_brackets).then(|| &text[at + c.len_utf8()..]),
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
    }
    None
}
