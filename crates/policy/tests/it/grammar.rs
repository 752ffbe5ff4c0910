//! Random shell commands: a grammar of what agents and attackers write, and mutations of the corpora.

use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::sample::{Index, select};
use proptest::{collection, option, prop_oneof};

use crate::bash_sandbox::DENIED;
use crate::pools::{ARGUMENTS, ASSIGNMENTS, BUILTINS, FRAGMENTS, NAMES, PAYLOADS, REDIRECTIONS, WRAPPERS};

fn pick(pool: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(pool).prop_map(str::to_owned)
}

/// A word with a random quoting style.
fn styled(word: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (word, 0..14_u8).prop_map(|(word, style)| match style {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => format!("\\{word}"),
        3 => format!("$'{word}'"),
        4 => {
            let cut = word.char_indices().nth(1).map_or(word.len(), |(at, _)| at);
            format!("{}\"{}\"", &word[..cut], &word[cut..])
        }
        5 => format!("$\"{word}\""),
        _ => word,
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        24 => styled(pick(NAMES)),
        1 => styled(pick(DENIED)),
        5 => pick(BUILTINS),
        1 => pick(&["f", "./ls", "src/ls", "bin/dev.sh", "/bin/rm", "/usr/bin/ls", "$x", "\"$x\"", "{rm,x}", "/tmp/evil/git", "[[", "[ a"]),
    ]
}

/// Quoted text that may or may not be inert.
fn data() -> impl Strategy<Value = String> {
    (pick(PAYLOADS), option::of(pick(PAYLOADS)), 0..7_u8).prop_map(|(first, second, context)| {
        let text = first + &second.unwrap_or_default();
        match context {
            0 | 1 => format!("'{text}'"),
            2 => format!("\"{text}\""),
            3 => format!(
                "\"{}\"",
                text.replace('\\', "\\\\").replace('$', "\\$").replace('`', "\\`").replace('"', "\\\"")
            ),
            4 => format!("$'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            5 => text.chars().flat_map(|c| ['\\', c]).collect(),
            _ => format!("'{}'", text.replace('\'', "'\\''")),
        }
    })
}

fn simple() -> impl Strategy<Value = String> {
    let argument = prop_oneof![5 => styled(pick(ARGUMENTS)), 2 => data()];
    (
        option::weighted(0.1, pick(ASSIGNMENTS)),
        option::weighted(0.15, pick(WRAPPERS)),
        name(),
        collection::vec(argument, 0..4),
        option::weighted(0.2, pick(REDIRECTIONS)),
        option::weighted(0.05, pick(PAYLOADS)),
    )
        .prop_map(|(assignment, wrapper, name, arguments, redirection, comment)| {
            let words =
                assignment.into_iter().chain(wrapper).chain([name]).chain(arguments).chain(redirection);
            let line = words.collect::<Vec<_>>().join(" ");
            comment.map_or(line.clone(), |text| format!("{line} # {text}\n"))
        })
}

fn compound(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let separator = select(&["; ", "\n", " && ", " || ", " | ", " & ", " |& ", ";", "&", "|", " ;\n"][..]);
    let nested = (inner.clone(), option::of(pick(PAYLOADS)), 0..34_u8).prop_map(|(c, p, form)| {
        let p = p.unwrap_or_default();
        match form {
            0 => format!("( {c} )"),
            1 => format!("{{ {c}; }}"),
            2 => format!("if {c}; then ls; fi"),
            3 => format!("if true; then {c}; else echo no; fi"),
            4 => format!("for x in a '{p}'; do {c}; done"),
            5 => format!("for x in $({c}); do echo $x; done"),
            6 => format!("while read x; do {c}; done <<< '{p}'"),
            7 => format!("case a in a) {c};; *) ls;; esac"),
            8 => format!("case \"$({c})\" in '{p}') ls;; esac"),
            9 => format!("f() {{ {c}; }}; f a"),
            10 => format!("function f {{ {c}; }}; f"),
            11 => format!("echo \"$({c})\""),
            12 => format!("echo `{}`", c.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$")),
            13 => format!("echo `{c}`"),
            14 => format!("cat <({c})"),
            15 => format!("x=$({c}); echo \"$x\""),
            16 => format!("cat <<EOF\n{p}\n$({c})\nEOF\n"),
            17 => format!("cat <<'EOF'\n{p}\n$({c})\nEOF\n"),
            18 => format!("cat <<-\"EOF\" > out.txt\n\t{p}\n\tEOF\n{c}"),
            19 => format!("git commit -m \"$(cat <<'EOF'\n{p}\nEOF\n)\"; {c}"),
            20 => format!("echo $(( 1 + $({c}) ))"),
            21 => format!("x='{p}'; echo $((x)); {c}"),
            22 => format!("(cd src); {c}"),
            23 => format!("cd src && {c}"),
            24 => format!("[[ -n '{p}' && $({c}) == a* ]]"),
            25 => format!("x=('{p}' $({c}))"),
            26 => format!("echo ${{x:-$({c})}} '{p}'"),
            27 => format!("{c} # {p}"),
            28 => format!("until {c}; do break; done"),
            29 => format!("for ((i=0;i<2;i++)); do {c}; done"),
            30 => format!("set -- '{p}'; {c}"),
            31 => format!("cat << EOF; {c}\n{p}\nEOF"),
            32 => format!("x='{p}'; [[ $x -eq 0 ]]; {c}"),
            _ => format!("{{ {c}; }} > out.txt 2>&1"),
        }
    });
    prop_oneof![
        2 => (inner.clone(), separator, inner).prop_map(|(left, between, right)| format!("{left}{between}{right}")),
        3 => nested,
    ]
    .boxed()
}

pub fn generated() -> BoxedStrategy<String> {
    simple().boxed().prop_recursive(3, 12, 2, compound).boxed()
}

/// A command from `corpus` or the grammar, possibly followed by another, with random insertions, deletions and
/// duplications.
pub fn mutated(corpus: Vec<String>) -> BoxedStrategy<String> {
    let one = prop_oneof![3 => select(corpus.clone()), 1 => generated()];
    let other = (select(&["\n", "; ", " && ", " | ", " ", ""][..]), prop_oneof![select(corpus), generated()]);
    let change = (0..5_u8, any::<Index>(), any::<Index>(), pick(FRAGMENTS));
    (one, option::weighted(0.35, other), collection::vec(change, 0..4))
        .prop_map(|(first, second, changes)| {
            let mut text: Vec<char> = first.chars().collect();
            if let Some((between, second)) = second {
                text.extend(between.chars().chain(second.chars()));
            }
            for (kind, from, to, fragment) in changes {
                let at = from.index(text.len() + 1);
                let end = (at + to.index(8)).min(text.len());
                match kind {
                    0 | 1 => drop(text.splice(at..at, fragment.chars())),
                    2 => drop(text.drain(at..end)),
                    3 => drop(text.splice(at..end, fragment.chars())),
                    _ => {
                        let piece = text[at..end].to_vec();
                        text.splice(at..at, piece);
                    }
                }
            }
            text.into_iter().collect()
        })
        .boxed()
}

/// Commands that write, copy, move and remove files at all kinds of paths, after `cd`s that may fail.
fn paths() -> BoxedStrategy<String> {
    let part = pick(&[
        "src",
        "lib",
        "..",
        "..",
        ".",
        "x",
        "docs",
        "escape",
        "link-in",
        ".git",
        ".autonoe",
        "state-link",
        "pkg",
        "out",
        "my\\ dir",
        "'my dir'",
        "*",
        "$x",
        "\"..\"",
        "hooks",
        "main.js",
        "README.md",
        "nosuch",
        "dangling",
        ".a*",
        "{x,..}",
        "a\\b",
        "$'\\x2e.'",
    ]);
    let path = (
        pick(&["", "", "", "", "./", "@ROOT@/", "@OUT@/", "/", "~/", "@TEMP@/"]),
        collection::vec(part, 1..4),
        any::<bool>(),
    )
        .prop_map(|(start, parts, slash)| {
            format!("{start}{}{}", parts.join("/"), if slash { "/" } else { "" })
        });
    let path = path.boxed();
    let verb = pick(&[
        "touch",
        "mkdir -p",
        "cp README.md",
        "cp -r src",
        "tee",
        "echo x >",
        "ls >>",
        "sort README.md -o",
        "rm -rf",
        "rm -f",
        "mv README.md",
        "mv",
        "cp",
        "chmod +x",
        "uniq README.md",
        "mv -t docs",
        "cp -t",
        "cat <",
        "touch --",
        "cp -a escape",
        "git checkout --",
        "git mv README.md",
    ]);
    let step = prop_oneof![
        3 => (verb, path.clone()).prop_map(|(verb, path)| format!("{verb} {path}")),
        2 => (pick(&["cd", "cd", "cd -P", "cd --", "pushd"]), path).prop_map(|(verb, path)| format!("{verb} {path}")),
        1 => pick(&["cd src", "cd ..", "cd src/lib", "(cd src)", "cd nosuch", "false", "true", "cd -", "x=..", "f() { cd src; }", "exit", "(exit)", "exit 1 | cat", "exit --help", "return", "break", "cp -a escape e2", "mv src s2", "rm -rf src", "mkdir nosuch", "set -e", "cd docs/top/..", "cd src < nosuch", "cd docs 2>&9", "exit 1 < nosuch", "git stash -u", "trap 'cd src; touch ../x' EXIT", "set +e", "f", "cd docs"]),
    ];
    let joint = pick(&[" && ", "; ", " || ", " | ", " & ", "\n"]);
    (collection::vec((step, joint), 1..5), 0..6_u8)
        .prop_map(|(steps, wrap)| {
            let mut text: String =
                steps.iter().flat_map(|(step, joint)| [step.as_str(), joint.as_str()]).collect();
            text.truncate(text.trim_end_matches([' ', '&', '|', ';', '\n']).len());
            match wrap {
                0 => format!("for i in 1 2; do {text}; done"),
                1 => format!("if {text}; then touch ../x; fi"),
                2 => format!("( {text} ); touch ../x"),
                3 => format!("f() {{ {text}; }}; f; f"),
                _ => text,
            }
        })
        .boxed()
}

/// A command from any of the generators.
pub fn command(corpus: Vec<String>) -> BoxedStrategy<String> {
    let noise = collection::vec(pick(FRAGMENTS), 1..12).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => generated(), 4 => mutated(corpus), 4 => paths(), 1 => noise].boxed()
}
