//! Programs that search files for a pattern. Which of their arguments is the pattern, and not a path, depends on their options:
//! where an option is not known, every argument is judged as a path.

use super::options::names_one_of;
use super::reads::{judge, judge_following, judge_value};
use super::rule::{CommandCall, Rule, always, never};
use super::scope::CommandScope;
use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::{Arg, ArgKind};

pub const RULES: &[Rule] = &[
    Rule {
        name: "rg",
        commands: &["rg", "ag"],
        run_only: false,
        judge: rg,
        examples: &[
            always("rg -n 'TODO|FIXME' --glob '!node_modules'"),
            always("rg --files src | head -50"),
            always("rg -L x && rg --follow x"),
            always("rg -l -g '*.js' foo src lib"),
            always("rg -C3 -e /etc src"),
            never("rg root /etc"),
            never("rg x src ../y"),
            never("rg -ex /etc"),
            never("rg --pre ./x foo"),
            never("rg --pre=cat foo"),
            never("rg --hostname-bin=./x foo"),
            never("rg -f/etc/passwd src"),
            never("rg -uf/etc/passwd src"),
            never("rg --file ../x src"),
            never("rg --ignore-file=/etc/passwd x src"),
            never("ag --pager=./x foo"),
            never("rg $x src"),
            always("rg --max-columns 100 --hidden /api src"),
            always("rg -t js -A 3 /api src && rg --type js -g '!/etc' x"),
            always("rg --no-heading --color never -uu x src"),
            never("rg --unknown x /api src"),
            never("rg -g '*.js' x /etc"),
            never("rg --sort path x /etc"),
            always("ag -A 3 /api src; ag -t x src; ag -G '\\.js$' /api src"),
            never("ag -A x .."),
            never("ag -t x /etc"),
            never("ag --after x .."),
            never("ag -tA x .."),
            never("ag --js -d x /etc"),
            never("ag -p /etc/passwd x src"),
        ],
    },
    Rule {
        name: "grep",
        commands: &["grep", "egrep", "fgrep"],
        run_only: false,
        judge: search,
        examples: &[
            always("grep -rn 'a;b|c' src | wc -l"),
            always("grep -rn /etc src"),
            always("grep -A 3 / a.txt"),
            never("grep root /etc/passwd"),
            never("grep -f /etc/passwd a.txt"),
            never("grep -f/etc/passwd a.txt"),
            never("grep -nf/etc/passwd a.txt"),
            never("grep -nf../x a.txt"),
            never("grep -rf/etc/passwd src"),
            never("grep -e. ../outside/secret.txt"),
            never("grep -rvezz ../outside"),
            never("grep -m1 x ../y"),
            always("grep -rvezz src && grep -m1 /x a.txt"),
            never("grep -Ef/etc/passwd src"),
            never("grep --file=../x a.txt"),
            never("grep --exclude-from=/etc/passwd x a.txt"),
            never("grep -r --exclude-from=src/../../x x ."),
            always("grep -R x src"),
            always("grep -e/etc src/a.js"),
            always("grep -rn --include='*.js' --color=never x src"),
            always("grep -rn --include '*.js' --exclude-dir node_modules --line-number /api src"),
            always("grep -c -- -x a.txt"),
            never("grep --color x /etc"),
            never("grep --colour always x /etc"),
            never("grep -c -- x /etc/passwd"),
            never("grep --label x y /etc"),
            never("grep --context x /etc"),
            never("grep -e x /api a.txt"),
        ],
    },
];

/// The options of a program that searches.
struct SearchSyntax {
    programs: &'static [&'static str],
    flags: &'static str,
    /// Short options with a value that is no path.
    valued: &'static str,
    /// Short options whose value is the next argument only if that is a number.
    numbered: &'static str,
    /// Short options whose value is a path.
    paths: &'static str,
    long_flags: &'static [&'static str],
    long_valued: &'static [&'static str],
    long_paths: &'static [&'static str],
    /// Options that give the pattern, or that need none.
    patterns: &'static [&'static str],
}

#[rustfmt::skip]
const SYNTAXES: [SearchSyntax; 3] = [
    SearchSyntax {
        programs: &["grep", "egrep", "fgrep"],
        flags: "EFGPivwxcLloqsbHhnTUzZaIrRyV0123456789",
        valued: "eABCmdD",
        numbered: "",
        paths: "f",
        long_flags: &[
            "extended-regexp", "fixed-strings", "basic-regexp", "perl-regexp", "ignore-case", "no-ignore-case",
            "invert-match", "word-regexp", "line-regexp", "count", "color", "colour", "files-without-match",
            "files-with-matches", "only-matching", "quiet", "silent", "no-messages", "byte-offset", "with-filename",
            "no-filename", "line-number", "initial-tab", "null", "null-data", "text", "binary", "recursive",
            "dereference-recursive", "line-buffered", "help", "version",
        ],
        long_valued: &[
            "regexp", "after-context", "before-context", "max-count", "binary-files", "label", "include", "exclude",
            "include-dir", "exclude-dir",
        ],
        long_paths: &["file", "exclude-from"],
        patterns: &["e", "f", "regexp", "file"],
    },
    SearchSyntax {
        programs: &["rg"],
        flags: "acFiIlLnNopPqsSuUvVwxzHhb0.",
        valued: "eABCmdgtTMjrE",
        numbered: "",
        paths: "f",
        long_flags: &[
            "files", "hidden", "files-with-matches", "files-without-match", "count", "count-matches", "ignore-case",
            "smart-case", "case-sensitive", "fixed-strings", "word-regexp", "line-regexp", "invert-match", "line-number",
            "column", "heading", "pretty", "vimgrep", "json", "only-matching", "multiline", "multiline-dotall", "pcre2",
            "text", "binary", "quiet", "stats", "trim", "follow", "null", "null-data", "with-filename", "passthru",
            "one-file-system", "unrestricted", "line-buffered", "crlf", "type-list", "glob-case-insensitive",
            "include-zero", "byte-offset", "version", "help", "no-ignore", "no-ignore-vcs", "no-ignore-parent",
            "no-ignore-dot", "no-ignore-global", "no-heading", "no-filename", "no-line-number", "no-messages",
            "no-hidden", "no-config", "no-column", "no-unicode", "no-mmap", "max-columns-preview",
        ],
        long_valued: &[
            "glob", "iglob", "type", "type-not", "type-add", "max-count", "max-depth", "maxdepth", "max-filesize",
            "max-columns", "context", "after-context", "before-context", "regexp", "sort", "sortr", "threads", "replace",
            "encoding", "color", "colors", "engine", "context-separator",
        ],
        long_paths: &["file", "ignore-file"],
        patterns: &["e", "f", "regexp", "file", "files", "type-list"],
    },
    SearchSyntax {
        programs: &["ag"],
        flags: "acDfFHhiLlnoQRrSsvVtuUwz0",
        valued: "gGmW",
        numbered: "ABC",
        paths: "p",
        long_flags: &[
            "hidden", "nocolor", "color", "nogroup", "group", "noheading", "nonumbers", "literal", "word-regexp",
            "files-with-matches", "ignore-case", "smart-case", "case-sensitive", "count", "column", "vimgrep",
        ],
        long_valued: &["ignore", "ignore-dir", "max-count", "depth"],
        long_paths: &["path-to-ignore"],
        patterns: &["g"],
    },
];

/// Options of `rg` and `ag` that run programs.
const RG_RUNS: &[&str] = &["--pre", "--hostname-bin", "--pager"];

fn rg(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    if call
        .args
        .iter()
        .any(|arg| names_one_of(arg, RG_RUNS) || (arg.kind != ArgKind::Plain && arg.may_be_option()))
    {
        return deny_with_hint("rg", "That option could run a program.", "rg -n pattern path");
    }
    search(scope, call)
}

/// A call as it is read, argument by argument.
struct SearchCall<'s, 'c> {
    syntax: &'s SearchSyntax,
    rest: &'c [Arg],
    operands: Vec<&'c Arg>,
    has_pattern: bool,
    /// Whether an option may or may not have taken the argument after it.
    is_unclear: bool,
}

fn search(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    judge_following(scope, call)?;
    let Some(syntax) = SYNTAXES.iter().find(|syntax| syntax.programs.contains(&call.name)) else {
        return Ok(());
    };
    let mut read =
        SearchCall { syntax, rest: call.args, operands: Vec::new(), has_pattern: false, is_unclear: false };
    while let Some((arg, after)) = read.rest.split_first() {
        read.rest = after;
        match arg.text.strip_prefix('-') {
            Some("-") if arg.kind == ArgKind::Plain => read.operands.extend(std::mem::take(&mut read.rest)),
            Some(long) if long.starts_with('-') => read.long(scope, arg, &long[1..])?,
            Some(letters) if !letters.is_empty() => read.letters(scope, arg, letters)?,
            _ => read.operands.push(arg),
        }
    }
    let pattern = read.operands.iter().position(|operand| operand.kind != ArgKind::Several);
    let is_known = !read.has_pattern && !read.is_unclear;
    let pattern = pattern.filter(|_| is_known);
    let paths = read.operands.iter().enumerate().filter(|(at, _)| Some(*at) != pattern);
    paths.into_iter().try_for_each(|(_, path)| judge(scope, path))
}

impl<'c> SearchCall<'_, 'c> {
    fn long(&mut self, scope: &mut CommandScope<'_>, arg: &Arg, text: &str) -> RuleResult {
        let (name, attached) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let is_whole = arg.kind == ArgKind::Plain || attached.is_some();
        let is_one_of = |names: &[&str]| is_whole && names.contains(&name);
        self.has_pattern |= is_one_of(self.syntax.patterns);
        if is_one_of(self.syntax.long_paths) {
            return match (attached, self.next()) {
                (Some(value), _) => judge(scope, &Arg::new(value, arg.kind)),
                (None, Some(value)) => judge(scope, value),
                (None, None) => Ok(()),
            };
        }
        if is_one_of(self.syntax.long_valued) {
            if attached.is_none() {
                self.skip_value();
            }
        } else if !is_one_of(self.syntax.long_flags) {
            self.is_unclear |= attached.is_none();
            return judge_value(scope, arg);
        }
        Ok(())
    }

    fn letters(&mut self, scope: &mut CommandScope<'_>, arg: &Arg, letters: &str) -> RuleResult {
        for (at, letter) in letters.char_indices() {
            let attached = &letters[at + letter.len_utf8()..];
            self.has_pattern |= self.syntax.patterns.contains(&letter.to_string().as_str());
            if self.syntax.flags.contains(letter) {
                continue;
            }
            if self.syntax.paths.contains(letter) {
                return match (attached, arg.kind) {
                    ("", ArgKind::Plain) => self.next().map_or(Ok(()), |value| judge(scope, value)),
                    (value, kind) => judge(scope, &Arg::new(value, kind)),
                };
            }
            let is_number = |next: &Arg| {
                next.literal()
                    .is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
            };
            match attached {
                "" if self.syntax.valued.contains(letter) => self.skip_value(),
                "" if self.syntax.numbered.contains(letter) && self.rest.first().is_some_and(is_number) => {
                    self.skip_value();
                }
                "" => self.is_unclear = true,
                _ if self.syntax.valued.contains(letter) => {}
                _ if self.syntax.numbered.contains(letter)
                    && attached.bytes().all(|b| b.is_ascii_digit()) => {}
                _ => {
                    self.is_unclear = true;
                    return judge_value(scope, arg);
                }
            }
            return Ok(());
        }
        // What follows the known letters of an argument may be more of them.
        self.is_unclear |= arg.kind != ArgKind::Plain;
        Ok(())
    }

    fn next(&mut self) -> Option<&'c Arg> {
        let (value, after) = self.rest.split_first()?;
        self.rest = after;
        Some(value)
    }

    /// Skips the value of an option. What is no single argument may be more than that.
    fn skip_value(&mut self) {
        if let Some(value) = self.next()
            && !value.is_single()
        {
            self.operands.push(value);
            self.is_unclear = true;
        }
    }
}
