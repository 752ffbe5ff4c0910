//! Commands that read files, and the check that a path may be read.

use super::options::names_one_of;
use super::rule::{CommandCall, Rule, always, destructive, in_run, never};
use super::scope::CommandScope;
use super::{links, secrets};
use crate::paths::{has_pattern, is_on_this_machine};
use crate::possible_values::UNKNOWN;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

pub const RULES: &[Rule] = &[Rule {
    name: "read",
    commands: &[
        "ls",
        "cat",
        "head",
        "tail",
        "wc",
        "diff",
        "cut",
        "tac",
        "jq",
        "cmp",
        "comm",
        "stat",
        "du",
        "rev",
        "paste",
        "nl",
        "fold",
        "md5sum",
        "sha256sum",
        "sha1sum",
        "sha512sum",
        "shasum",
        "cksum",
        "od",
        "hexdump",
        "strings",
        "column",
        "join",
        "base64",
        "expand",
    ],
    run_only: false,
    judge: read,
    examples: &[
        always("ls -la src"),
        always("cat package.json | head -5"),
        always("ls /usr/lib"),
        always("cut -d / -f2 a.txt"),
        always("/bin/ls"),
        always("ls 2>&1 | tail -20"),
        always("for f in src/*.js; do cat \"$f\"; done"),
        never("cat /etc/passwd"),
        never("du -X/etc/passwd src"),
        never("diff --from-file=/etc/passwd src/a.js"),
        never("wc --files0-from=../x"),
        never("jq -f/etc/passwd a.txt"),
        never("jq -n env"),
        never("jq -n '$ENV'"),
        never("jq -n '[env | keys]'"),
        never("jq -rn '$ENV|to_entries'"),
        never("jq -n '\"\\(env)\"'"),
        never("jq -n 'null//env'"),
        never("jq -n 'env.NOPE//$ENV'"),
        never("jq -n '$ ENV'"),
        always("jq '.a // .b' src/env/x.json"),
        never("strings @/etc/passwd"),
        never("strings -n 1 @list"),
        never("wc -l --files0-from=list"),
        never("wc --f=list"),
        always("jq '.env.x, .scripts[\"env\"], {env: .a}' a.txt"),
        always("jq --arg env prod '.x[$env]' a.txt; jq . src/env env/x.json"),
        never("jq --rawfile env ../x . a.txt"),
        never("jq -nc 'import \"secret\" as $x {search:\"/etc\"}; $x'"),
        never("jq 'include \"x\"; .' a.txt"),
        never("jq '# a\nimport # b\n \"x\" as x; .' a.txt"),
        always("jq '.import, .include[0], {import: 1}, \"import\"' a.txt"),
        always("jq -n 'env.PATH, $ENV.PATH, $environment'"),
        always("cut -d/ -f2 a.txt"),
        always("paste -sd / a.txt && paste -d /, a.txt src/a.js && cut -sd / -f 1 a.txt"),
        always("join -t / a.txt src/a.js; column -ts / a.txt; nl -s /etc a.txt"),
        always("diff -uI '/etc' -x '/y' a.txt src/a.js; du -d 1 src; base64 -d a.txt"),
        never("diff -d /etc/passwd a.txt"),
        never("od -d /etc/passwd"),
        never("strings -d /etc/passwd"),
        never("base64 -d /etc/passwd"),
        never("base64 -i a.txt -o x"),
        never("du -d /etc"),
        never("diff -ud /etc/passwd a.txt"),
        never("cut -z /etc/passwd -f1"),
        never("cat --arg /etc/passwd x"),
        always("cut --delimiter=/ -f2 a.txt"),
        never("cat ../x"),
        always("cat \"$f\""),
        always("cat src/$x.js \"${x}_test.js\" $TMPDIR/x"),
        always("f=src/a.js; cat $f; for f in src/*.js; do head -2 $f; done"),
        always("cd src && cat \"$PWD/a.js\" \"$(pwd)/a.js\""),
        always("show() { cat \"$1\"; }; show a.txt"),
        always("cat ${x:-a.txt}; cat \"${f%.js}.ts\"; cat src/{a,{b,c}}.js"),
        never("f=/etc/passwd; cat $f"),
        never("f=/etc/passwd; cat \"$f\" a.txt"),
        never("cat ${x:-/etc/passwd}"),
        never("cat ${x:=/etc/passwd}"),
        never("x=/etc; cat $x/passwd"),
        never("x=/etc; x+=/passwd; wc -l \"$x\""),
        never("x=.; x+=./y; wc -l \"$x\""),
        never("a=(/etc/passwd); cat \"${a[0]}\""),
        never("declare -A m=([k]=/etc/passwd); nl ${m[k]}"),
        never("set -- /etc/passwd; cat $1"),
        never("show() { cat \"$1\"; }; show /etc/passwd"),
        never("for f in a.txt ../x; do cat $f; done"),
        never("for f in /etc/*; do cat $f; done"),
        never("for i in 1 2; do cat $f; f=/etc/passwd; done"),
        never("x='-r x /etc'; grep $x"),
        never("read f <<< /etc/passwd; cat $f"),
        never("echo /etc/passwd | while read -r f; do cat \"$f\"; done"),
        never("printf -v f %s /etc/passwd; od $f"),
        never("cat $(echo /etc/passwd)"),
        never("cat \"$(printf '%s' /etc/passwd)\""),
        never("cat \"$(printf '\\057etc/passwd')\""),
        never("cat $(cat <<< /etc/passwd)"),
        never("cat $(realpath ../x)"),
        never("cat $HOME/x"),
        never("ls \"$HOME\""),
        never("cat $OLDPWD/x"),
        never("cat $PWD/../x"),
        never("cat \"$(pwd)/../x\""),
        never("cat $(git rev-parse --show-toplevel)/../x"),
        never("cat $x/../y"),
        never("cat ${x}../y"),
        never("cat \"$TERM\"./y"),
        never("cat $nothing/etc/passwd"),
        never("cat {/etc/passwd,$x}"),
        never("cat {a,{b,/etc/passwd}}"),
        never("cat < \"$HOME/x\""),
        never("f=/etc/passwd; while read -r l; do echo $l; done < $f"),
        never("f=/etc/passwd; echo \"$(< $f)\""),
        never("f=/etc/passwd; trap 'cat $f' EXIT"),
        never("jq -f a.txt -n"),
        never("jq --from-file a.txt -n"),
        never("x=env; jq -n $x"),
        never("ls ~"),
        never("cat ~/.ssh/id_rsa"),
        never("./ls"),
        never("/tmp/evil/ls"),
        destructive("ls $(rm -rf x)"),
        never("cat <(curl evil)"),
        destructive("ls & rm -rf x"),
        in_run("cat > src/a.js <<'EOF'\nhello; world | rm\nEOF"),
        always("cat <<EOF\nhello; world\nEOF"),
        destructive("cat <<EOF\n$(rm x)\nEOF"),
        destructive("ls # it's\nrm -rf x # '"),
    ],
}];

/// Options with which a program follows the links in directories, and how to call it without following them.
const FOLLOWING: [(&[&str], &str, &[&str], &str); 6] = [
    (&["grep", "egrep", "fgrep"], "R", &["--dereference-recursive"], "grep -r"),
    (&["rg"], "L", &["--follow"], "Leave out -L."),
    (&["ag"], "f", &["--follow"], "Leave out -f."),
    (&["du", "ls"], "L", &["--dereference"], "Leave out -L."),
    (&["tree"], "l", &[], "Leave out -l."),
    (&["diff"], "r", &["--recursive"], "Compare files, or add --no-dereference."),
];

/// Short options whose value may be attached, so that its letters are not options.
const ATTACHING: [(&str, &str); 3] = [("rg", "feABCmdgtTMjrE"), ("grep", "feABCmdD"), ("diff", "xXFISUWCL")];

/// Denies following the links in directories where one could lead out of the project.
pub fn judge_following(scope: &CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let Some((_, letter, long, without)) = FOLLOWING.iter().find(|(names, ..)| names.contains(&call.name))
    else {
        return Ok(());
    };
    if call.name == "diff" && compares_directories(scope, call.args) {
        return links::judge_followed(scope, without);
    }
    let attaching =
        ATTACHING.iter().find(|(name, _)| call.name.ends_with(name)).map_or("", |(_, letters)| letters);
    let is_short = |text: &str| {
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        letters.split(|c| attaching.contains(c)).next().is_some_and(|flags| flags.contains(letter))
    };
    let is_long = |text: &str| {
        let beginning = text.len() > "--no".len() && long.iter().any(|option| option.starts_with(text));
        beginning && text != "--color"
    };
    let has = |test: &dyn Fn(&str) -> bool| {
        let options = call.args.iter().take_while(|arg| arg.literal() != Some("--"));
        options.flat_map(|arg| arg.may_be.iter().chain([arg])).any(|arg| test(&arg.text))
    };
    if !has(&|text| is_short(text) || is_long(text)) || has(&|text| text == "--no-dereference") {
        return Ok(());
    }
    links::judge_followed(scope, without)
}

/// Whether an argument may be a directory, of which `diff` reads the files, also through links.
fn compares_directories(scope: &CommandScope<'_>, args: &[Arg]) -> bool {
    let keeps_links = args.iter().any(|arg| arg.text == "--no-dereference");
    let is_directory = |arg: &Arg| {
        let text = arg.literal().filter(|text| !text.starts_with('-'));
        text.is_some_and(|text| scope.directories.iter().any(|from| from.join(text).is_dir()))
    };
    let may_be_directory = |arg: &Arg| is_directory(arg) || arg.may_be.iter().any(is_directory);
    !keeps_links && args.iter().any(may_be_directory)
}

/// Judges a path that a command reads, and what it may be as far as that is known.
pub fn judge(scope: &mut CommandScope<'_>, operand: &Arg) -> RuleResult {
    scope.count_path()?;
    scope.may_read(operand)?;
    judge_possible(scope, operand)
}

/// Judges everything that an unknown argument may be as a path or as an option with one.
fn judge_possible(scope: &mut CommandScope<'_>, arg: &Arg) -> RuleResult {
    if arg.may_be_too_many || arg.may_be.iter().any(|arg| arg.may_be_any_path) {
        return deny_with_hint(
            "path.unknown",
            "The path is made of text in a way that is not followed.",
            "Write literal paths, or use several commands.",
        );
    }
    for possible in &arg.may_be {
        match possible.text.starts_with('-') && possible.kind == ArgKind::Plain {
            // After `--` it is a name.
            true => {
                judge_value(scope, possible)?;
                scope.may_read(possible)?;
            }
            false if climbs_from_unknown(&possible.text) => {
                return deny_with_hint(
                    "path.unknown",
                    "The path leads upwards from a directory that is not known before the command runs.",
                    "Write a literal path.",
                );
            }
            // Where it begins with a variable that is empty, for example.
            false if is_absent(&possible.text) => {}
            false => {
                scope.count_path()?;
                let known = possible.text.split(UNKNOWN).next().unwrap_or_default();
                scope.may_read(&Arg::new(known, possible.kind))?;
                if possible.text.contains(UNKNOWN) {
                    judge_open(scope, possible)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether a path is absolute, and there is nothing where it begins.
fn is_absent(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    path.starts_with('/') && !first.is_empty() && !first.contains(UNKNOWN) && !is_on_this_machine(path)
}

/// Judges what a path with parts that are not known may be, as far as the script decides it: the name of a link, or what is left
/// if they are nothing.
fn judge_open(scope: &mut CommandScope<'_>, path: &Arg) -> RuleResult {
    let is_mixed = |component: &str| component.contains(UNKNOWN) && component.contains(|c| c != UNKNOWN);
    // What is not known may begin with a slash.
    let known = path.text.split(UNKNOWN).next().unwrap_or_default();
    scope.may_read(&Arg::plain(known))?;
    if path.is_computed || path.text.split('/').any(is_mixed) {
        scope.may_read_matches(&path.text)?;
    }
    if let Some(path) = absolute_after_nothing(&path.text) {
        scope.may_read(&Arg::plain(path))?;
    }
    let left = path.text.replace(UNKNOWN, "");
    match left.starts_with('/') && !path.text.starts_with('/') {
        // What is not known may be the working directory, or the project's.
        true => [".".to_owned(), scope.paths.root.display().to_string()].iter().try_for_each(|directory| {
            let path = format!("{directory}{left}");
            if has_pattern(&left) { scope.may_read_matches(&path) } else { scope.may_read(&Arg::plain(path)) }
        }),
        false => scope.may_read(&Arg::plain(left)),
    }
}

/// The path that is left where what is not known is empty or a slash, if it may exist: `/etc/x` of `$(y)/etc/x` and `$(y)etc/x`,
/// but not `/src/x` of `$(y)/src/x`.
pub fn absolute_after_nothing(text: &str) -> Option<String> {
    let path = text.strip_prefix(UNKNOWN)?.trim_start_matches(UNKNOWN);
    let path = format!("/{}", path.split(UNKNOWN).next().unwrap_or_default().trim_start_matches('/'));
    is_on_this_machine(&path).then_some(path)
}

/// Whether a part of a path after unknown text is `..`, or may be together with it.
fn climbs_from_unknown(text: &str) -> bool {
    let Some(first) = text.find(UNKNOWN) else { return false };
    let start = text[..first].rfind('/').map_or(0, |slash| slash + 1);
    text[start..].split('/').any(|component| {
        let rest: String = component.chars().filter(|c| *c != UNKNOWN).collect();
        rest == ".." || (rest == "." && rest.len() < component.len())
    })
}

/// Judges the value that is attached to an option: after `=`, or in `-f/path` after the letters.
pub fn judge_value(scope: &mut CommandScope<'_>, option: &Arg) -> RuleResult {
    let value = match option.text.split_once('=') {
        _ if !option.text.starts_with('-') => "",
        Some((_, value)) => value,
        None if option.text.starts_with("--") => "",
        None => option.text.trim_start_matches(|c: char| c == '-' || c.is_ascii_alphanumeric()),
    };
    if !option.may_be.is_empty() || option.may_be_too_many {
        judge_possible(scope, option)?;
    }
    // After `--` it is a name.
    if option.kind == ArgKind::Glob || option.literal().is_some_and(|text| scope.names_link(text)) {
        scope.may_read(option)?;
    }
    let is_path = value.starts_with(['/', '~']) || value.contains("..");
    let is_file = option.text.starts_with("--") && option.kind == ArgKind::Plain && !value.is_empty();
    if is_path || is_file {
        judge(scope, &Arg::new(value, option.kind))?;
    }
    // The value of a short option may also name a link, or a file behind one.
    let letters = option.literal().filter(|text| text.starts_with('-') && !text.starts_with("--"));
    let Some(letters) = letters.filter(|text| text.len() > 2) else { return Ok(()) };
    if letters.contains('/') {
        judge(scope, &Arg::plain(letters.get(2..).unwrap_or_default()))?;
    }
    // It may begin behind any of the letters.
    let values = (2..letters.len()).filter_map(|at| letters.get(at..));
    let links: Vec<&str> = values.filter(|value| scope.names_link(value)).collect();
    links.into_iter().try_for_each(|value| judge(scope, &Arg::plain(value)))
}

fn read(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    judge_following(scope, call)?;
    let mut rest = call.args;
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        let text_value = arg.literal().and_then(|text| text_option(call.name, text));
        match arg.literal() {
            // A delimiter or a pattern is not a path.
            _ if text_value.is_some() => {
                let takes_next = text_value == Some(false) && rest.first().is_some_and(Arg::is_single);
                rest = if takes_next { &rest[1..] } else { rest };
            }
            Some("--arg" | "--argjson") if call.name == "jq" => rest = rest.get(2..).unwrap_or_default(),
            Some("--slurpfile" | "--rawfile") if call.name == "jq" => {
                rest = rest.get(1..).unwrap_or_default()
            }
            _ if call.name == "base64" && names_one_of(arg, &["--output", "-o"]) => {
                return deny_with_hint("read", "base64 would write a file.", "base64 file > out");
            }
            _ if call.name == "strings" && arg.text.starts_with('@') => {
                return deny_with_hint(
                    "read.list",
                    "strings reads its arguments from a file whose name follows '@'.",
                    "Name the files.",
                );
            }
            // Long options may be shortened.
            _ if arg.text.starts_with("--files0") || (counts(call.name) && arg.text.starts_with("--f")) => {
                return deny_with_hint(
                    "read.list",
                    "The files that a list names are not known before the command runs.",
                    "Name the files.",
                );
            }
            _ if call.name == "jq" && is_filter_file(&arg.text) => {
                return deny_with_hint(
                    "read.jq",
                    "A filter of jq in a file is not judged.",
                    "Write the filter as an argument.",
                );
            }
            _ if call.name == "jq" && texts(arg).any(prints_environment) => {
                return secrets::prints_variables("jq");
            }
            _ if call.name == "jq" && texts(arg).any(loads_module) => {
                return deny_with_hint(
                    "read.jq",
                    "A filter of jq may not load other files.",
                    "Leave out import and include.",
                );
            }
            // A filter with a variable in it, such as `.$key`.
            _ if call.name == "jq" && arg.text.starts_with('.') && !texts(arg).any(|t| t.contains('/')) => {}
            _ if arg.is_operand() => judge(scope, arg)?,
            _ => judge_value(scope, arg)?,
        }
    }
    Ok(())
}

/// Whether a program has no other long option with an f than that for a list of files.
fn counts(program: &str) -> bool {
    matches!(program, "wc" | "du")
}

/// The text of an argument, and what it may be.
fn texts(arg: &Arg) -> impl Iterator<Item = &str> {
    arg.may_be.iter().chain([arg]).map(|arg| arg.text.as_str())
}

/// Whether an option of jq names a file with a filter.
fn is_filter_file(text: &str) -> bool {
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| {
        letters.starts_with(|c: char| c.is_ascii_alphabetic()) && letters.contains('f')
    }) || text.starts_with("--from-f")
}

/// Whether a filter of jq may load a file: `import "path" as name;` or `include "path";`, where comments may come between.
fn loads_module(filter: &str) -> bool {
    let begins_statement = |before: &str| {
        before.chars().next_back().is_none_or(|character| character == ';' || character.is_whitespace())
    };
    ["import", "include"].iter().any(|word| {
        filter.match_indices(word).any(|(at, _)| {
            let after = filter[at + word.len()..].trim_start();
            begins_statement(&filter[..at]) && after.starts_with(['"', '#'])
        })
    })
}

/// Whether a filter of jq takes the whole environment: `env` or `$ENV`, but not `env.NAME`, `.env` or a key `env:`.
fn prints_environment(filter: &str) -> bool {
    // White space may come after the dollar; `//` is an operator, and `/` may be part of a path.
    let parts = filter.split('$').enumerate();
    let joined: Vec<&str> = parts.map(|(at, part)| if at > 0 { part.trim_start() } else { part }).collect();
    let filter = &joined.join("$").replace("//", " | ");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_whole = |at: usize, name: &str| {
        let mut after = filter[at + name.len()..].chars();
        let next = after.next();
        let is_member = next == Some('.') && after.next().is_some_and(is_name);
        let is_part = next.is_some_and(|c| is_name(c) || matches!(c, ':' | '"' | '/'));
        let before = filter[..at].chars().next_back();
        !is_member && !is_part && !before.is_some_and(|c| is_name(c) || matches!(c, '.' | '$' | '"' | '/'))
    };
    ["env", "$ENV"].iter().any(|name| filter.match_indices(name).any(|(at, _)| is_whole(at, name)))
}

/// Options whose value is text that may look like a path: the programs that have them, their flags, and the options.
const TEXT_OPTIONS: [(&[&str], &str, &str, &[&str]); 8] = [
    (&["comm"], "", "", &["--output-delimiter"]),
    (&["du", "ls"], "", "", &["--exclude", "--ignore"]),
    (&["cut"], "nsz", "bcdf", &["--delimiter", "--output-delimiter", "--fields"]),
    (&["paste"], "sz", "d", &["--delimiters"]),
    (&["nl"], "p", "bdfhilnsvw", &["--section-delimiter", "--number-separator", "--body-numbering"]),
    (&["join"], "iz", "12aeotvj", &[]),
    (&["column"], "tx", "s", &["--separator"]),
    (
        &["diff"],
        "abBcdeEilnNpqrstTuwyZ",
        "FILUx",
        &["--label", "--ignore-matching-lines", "--show-function-line", "--exclude"],
    ),
];

/// Whether an option of a program has a value that is text, and if so, whether it is attached.
fn text_option(program: &str, option: &str) -> Option<bool> {
    let (_, flags, valued, long) = TEXT_OPTIONS.iter().find(|(names, ..)| names.contains(&program))?;
    if option.starts_with("--") {
        let (name, is_attached) = option.split_once('=').map_or((option, false), |(name, _)| (name, true));
        return long.contains(&name).then_some(is_attached);
    }
    let letters = option.strip_prefix('-')?.trim_start_matches(|letter| flags.contains(letter));
    let letter = letters.chars().next().filter(|letter| valued.contains(*letter))?;
    Some(letters.len() > letter.len_utf8())
}
