//! The parser: what it accepts, what it refuses, and its limits.

use super::ast::{CommandKind, List, Part, Script, ValueKind, Word};
use super::cursor::MAX_DEPTH;
use super::parser::{MAX_LENGTH, parse};

fn script(source: &str) -> Script {
    parse(source).unwrap_or_else(|error| panic!("{source:?}: {error}"))
}

/// The words of every simple command at the top level, quotes removed and expansions as `…`.
fn words(source: &str) -> Vec<String> {
    fn text(word: &Word) -> String {
        word.0
            .iter()
            .map(|part| match part {
                Part::Text { text, .. } => text.as_str(),
                _ => "…",
            })
            .collect()
    }
    let List(items) = script(source).list;
    let commands = items.iter().flat_map(|item| {
        let rest = item.rest.iter().flat_map(|(_, pipeline)| &pipeline.commands);
        item.first.commands.iter().chain(rest)
    });
    commands
        .filter_map(|command| match &command.kind {
            CommandKind::Simple(simple) => Some(simple.words.iter().map(text).collect::<Vec<_>>().join(" ")),
            _ => None,
        })
        .collect()
}

#[test]
fn operators_separate_commands_unless_quoted() {
    for (source, expected) in [
        ("a;b&c|d&&e||f\ng|&h", vec!["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("echo 'a;b' \"c&d\" e\\;f", vec!["echo a;b c&d e;f"]),
        ("echo 'a\\' ; rm x", vec!["echo a\\", "rm x"]),
        ("ls # it's\nrm # '", vec!["ls", "rm"]),
        ("echo a#b", vec!["echo a#b"]),
        ("r\\m \"r\"m $'\\x72m'", vec!["rm rm rm"]),
        ("a \\\n b\\\nc", vec!["a bc"]),
        ("! a; time -p b", vec!["a", "b"]),
        ("echo \"\\a\\\\\\$x\" $", vec!["echo \\a\\$x $"]),
        ("ls 2>&1 >x </y", vec!["ls"]),
        ("", vec![]),
    ] {
        assert_eq!(words(source), expected, "{source:?}");
    }
}

#[test]
fn a_substitution_ends_where_bash_ends_it() {
    for source in [
        "echo \"$(cat <<'EOF'\nit's 1) a\nEOF\n)\" end",
        "echo $(echo ')' \")\" \\)) end",
        "echo `echo ')'` end",
        "echo $((1 + (2))) end",
        "echo \"${x:-a b}\" end",
        "echo <(ls; (ls)) end",
    ] {
        let all = words(source);
        assert_eq!(all.len(), 1, "{source:?}");
        assert!(all[0].ends_with("… end"), "{source:?}: {all:?}");
    }
}

#[test]
fn here_documents_end_at_their_delimiter_only() {
    let script = script("cat <<A <<-'B'; ls\n$(x) \\$y\nA \nA\n\tq $z\n\tB\npwd");
    assert_eq!(script.bodies.len(), 2);
    assert!(script.bodies[0].0.iter().any(|part| matches!(part, Part::Command { .. })));
    assert_eq!(script.bodies[1].0, [Part::Text { text: "\tq $z\n".into(), quoted: true }]);
    assert_eq!(script.list.0.len(), 3);
}

#[test]
fn unsupported_syntax_is_refused() {
    for source in [
        "(",
        ")",
        "ls)",
        "'",
        "\"",
        "`",
        "`a\\`b`",
        "$(",
        "${",
        "${!x}",
        "${x@P}",
        "$[1]",
        "$\"x\"",
        "$'\\xff'",
        "a\\",
        "a &&",
        "| a",
        ";",
        "a ;; b",
        "if a; fi",
        "for x in a; do done",
        "select x in a; do b; done",
        "coproc a",
        "{ a }",
        "() { a; }",
        "f() a",
        "a (b)",
        "a=(",
        "x=1(y)",
        "((a) )",
        "((a)",
        "$((a) )",
        "{fd}>x",
        "cat <<A\nx",
        "cat <<A \"\n\"\nA",
        "cat <<A\nx\\\nA\n",
        "echo \"$(cat <<A\nA)\"",
        "echo $(a # )\n b)",
        "echo $(case x in a) b;; esac)",
        "echo \"${x:-'}'}\"",
        "[[ a",
        "[[ a =~ b c ]]",
        "a<(b)",
        "echo $\\\n(a)",
        "ls \0",
    ] {
        assert!(parse(source).is_err(), "{source:?} is accepted");
    }
}

#[test]
fn compound_commands_are_parsed() {
    for source in [
        "if a; then b; elif c; then d; else e; fi > x",
        "for x in a \"$b\" *.c; do echo $x; done",
        "for x; do :; done",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "while a; do b; done < f",
        "until a\ndo b\ndone",
        "case $x in a|b) c;; (d) e;& *) f;;& esac",
        "f() { a; }; function g { b; }; h() ( c )",
        "[[ -f a && ( $b == c* || ! $d =~ ^(x|y)$ ) ]]",
        "( (a); b )",
        "{ a; } 2>&1 | b",
        "declare -a x=(a b) y=1; z+=(c); w[1]=2; v=([0]=a)",
        "if (a) then b; fi",
    ] {
        script(source);
    }
}

#[test]
fn variables_are_classified_by_their_values() {
    let script = script("a=1; b=x; c=$(ls); d=$((1)); for e in {1..3}; do :; done; \"read\" 'f'; a=y");
    let kind = |name: &str| script.variables.iter().filter(|(n, _)| n == name).map(|(_, k)| *k).max();
    assert_eq!(kind("a"), Some(ValueKind::PlainWord));
    assert_eq!(kind("b"), Some(ValueKind::PlainWord));
    assert_eq!(kind("c"), Some(ValueKind::Arbitrary));
    assert_eq!(kind("d"), Some(ValueKind::Number));
    assert_eq!(kind("e"), Some(ValueKind::Number));
    assert_eq!(kind("f"), Some(ValueKind::Arbitrary));
}

#[test]
fn length_and_depth_are_bounded() {
    assert!(parse(&"a".repeat(MAX_LENGTH)).is_ok());
    assert!(parse(&"a".repeat(MAX_LENGTH + 1)).is_err());
    let nested = |depth: usize| format!("echo {}ls{}", "$(echo ".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(10)).is_ok());
    assert!(parse(&nested(MAX_DEPTH)).is_err());
}
