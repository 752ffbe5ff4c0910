//! Very large and deeply nested commands must get a verdict on a small stack, before a timeout.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::fixture::{PolicyVariant, TestProject};

const SIZE: usize = 100_000;
const STACK: usize = 2 * 1024 * 1024;
/// Linear time stays far below this, exponential time far above.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Repeats `unit` up to about [`SIZE`] bytes.
fn fill(unit: &str) -> String {
    unit.repeat(SIZE / unit.len())
}

/// Nests `core` in 50,000 bytes of `open`, each closed by `close`.
fn nest(open: &str, core: &str, close: &str) -> String {
    let depth = 50_000 / open.len();
    format!("{}{core}{}", open.repeat(depth), close.repeat(depth))
}

fn inputs() -> Vec<(&'static str, String)> {
    let mut inputs: Vec<(&'static str, String)> = [
        "ls;",
        "ls\n",
        "ls&",
        "ls|",
        "ls&&",
        "(",
        ")",
        "$(",
        "${",
        "${x:-",
        "$((",
        "((",
        "[[ ",
        "{ ",
        "<(",
        "`",
        "\\`",
        "'",
        "\"",
        "\\",
        "\"$(",
        "'\"",
        "$'",
        "#",
        "<<A ",
        "<<A\n",
        "<<<",
        ">",
        "> x ",
        "!",
        "! ",
        "if ",
        "if true; then ",
        "while ",
        "for i in a; do ",
        "case x in a) ",
        "f() { ",
        "a=",
        "a=(",
        "a[",
        "x=1 ",
        "$x",
        "${!x}",
        "{a,b}",
        "{1..9}",
        "*",
        "?",
        "[",
        "~",
        "~/",
        "../",
        "a ",
        "é",
        "\u{0}",
        "\r",
        "\t",
        "timeout 1 ",
        "env ",
        "nice ",
        "xargs ",
        "command ",
        "find . -exec ",
        "time ",
        "coproc ",
        "git -c a=b ",
        "1+",
        "a[a[",
        "$((a[",
        "\\\n",
        "ls #\n",
        "eval ",
        "&&",
        ";;",
        "2>&1 ",
        "$(cat <<A\n",
        "\"`",
        "[ ",
        "test ! ",
    ]
    .map(|unit| (unit, fill(unit)))
    .into();
    for (open, core, close) in [
        ("(", "ls", ")"),
        ("{ ", "ls;", " };"),
        ("echo $(", "ls", ")"),
        ("echo \"$(", "ls", ")\""),
        ("echo ${x:-", "y", "}"),
        ("echo $((", "1", "))"),
        ("echo $((a[", "1", "]))"),
        ("cat <(", "ls", ")"),
        ("if ", "true", "; then ls; fi"),
        ("if true; then ", "ls;", " fi;"),
        ("while ", "true", "; do ls; done"),
        ("for i in a; do ", "ls;", " done;"),
        ("case x in x) ", "ls", ";; esac"),
        ("f() { ", "ls;", " };"),
        ("[[ ( ", "a", " ) ]]"),
        ("! ", "ls", ""),
        ("time ", "ls", ""),
        ("timeout 1 ", "ls", ""),
        ("env ", "ls", ""),
        ("a=(", "1", ")"),
        ("{a,", "b", "}"),
        ("echo `", "ls", "`"),
    ] {
        inputs.push((open, nest(open, core, close)));
    }
    inputs.push(("here-document", format!("cat <<A\n{}A\n", "x $y `\n".repeat(SIZE / 7))));
    inputs.push(("here-documents", "cat <<A\nx\nA\n".repeat(SIZE / 12)));
    inputs.push(("one long word", "a".repeat(SIZE)));
    inputs.push(("one long argument", format!("ls {}", "a".repeat(SIZE))));
    inputs.push(("one long path", format!("cat {}", "a/".repeat(SIZE / 2))));
    inputs.push(("many braces", format!("ls {}", "{a,b}".repeat(20_000))));
    inputs.push(("brace bomb", format!("echo {}", "{1..9999}".repeat(20))));
    inputs.push(("cd after cd", "cd src; cd ..;".repeat(SIZE / 14)));
    inputs.push(("branching cd", "cd src || cd docs; ".repeat(SIZE / 19)));
    inputs.push((
        "cd in loops",
        format!("{}ls{}", "for i in a; do cd src; ".repeat(200), "; done".repeat(200)),
    ));
    inputs
        .push(("functions", (0..4000).map(|n| format!("f{n}() {{ f{}; f{}; }}; ", n + 1, n + 1)).collect()));
    inputs.push((
        "functions called",
        (0..200).rev().map(|n| format!("f{n}() {{ f{}; f{}; }}; ", n + 1, n + 1)).collect::<String>() + "f0",
    ));
    for unit in ["git ", "kill ", "find -exec ", "python -m ", "'git push x' ", "git -c alias.a=b ", "-n "] {
        inputs.push((unit, format!("xargs {}", fill(unit))));
    }
    inputs
        .push(("loops", format!("{}ls{}", "for i in 1 2 3 4 5 6 7 8; do ".repeat(30), "; done".repeat(30))));
    inputs.extend(doublings());
    inputs.push(("recursion", "f() { f; f; }; f".into()));
    inputs
}

/// Short commands whose values would be longer than any memory.
fn doublings() -> Vec<(&'static str, String)> {
    const COUNT: usize = 48;
    let mut inputs: Vec<(&'static str, String)> = [
        "x=$x$x;",
        "x=\"$x$x\";",
        "x=$x$x ls;",
        "x+=$x$x;",
        "export x=$x$x;",
        "declare x=$x$x;",
        "readonly x=\"$x $x\";",
        "x=(${x[@]} ${x[@]});",
        "x=(\"${x[@]}\" \"${x[@]}\");",
        "for x in $x$x; do ls; done;",
        "for x in \"$x $x\"; do ls $x; done;",
        "alias x=\"$x $x\"; x=$x$x;",
        "env x=$x$x ls; x=$x$x;",
        "echo $x$x | xargs -I{} ls {}{}; x=$x$x;",
        "eval \"x=$x$x\";",
        "f() { x=$x$x; }; f;",
        "{ x=$x$x; } || x=$x$x;",
    ]
    .map(|unit| (unit, format!("x=aa;{}git $x $x", unit.repeat(COUNT))))
    .into();
    let chain = |link: &dyn Fn(usize) -> String| (1..COUNT).map(link).collect::<String>();
    let scalars = chain(&|n| format!("x{n}=$x{0}$x{0};", n - 1));
    inputs.push(("chain", format!("x0=aa;{scalars}git $x{}", COUNT - 1)));
    let arrays = chain(&|n| format!("x{n}=(${{x{0}[@]}} ${{x{0}[@]}});", n - 1));
    inputs.push(("chain of arrays", format!("x0=(a a);{arrays}git ${{x{}[@]}}", COUNT - 1)));
    let long = "a ".repeat(1_500);
    inputs.push(("many uses", format!("x='{long}';{}", fill("ls $x;"))));
    inputs.push(("many uses of an alias", format!("alias x='{long}';{}", fill("x;"))));
    inputs.push(("many marks", format!("echo {long} | xargs -I{{}} ls {}", fill("{}"))));
    inputs.push(("many marks of parallel", format!("parallel ls {} ::: '{long}'", fill("{}"))));
    inputs
}

/// Judges a command on a small stack; a panic or a timeout is an error.
fn judge(variant: PolicyVariant, name: &str, command: String) -> Result<bool, String> {
    let (send, receive) = mpsc::channel();
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            let project = TestProject::new();
            let _ = send.send(project.narrow_policy(variant).check(&command).is_allowed());
        })
        .unwrap();
    receive.recv_timeout(TIMEOUT).map_err(|error| format!("{name:?}: {error}"))
}

#[test]
fn large_inputs_get_a_verdict_on_a_small_stack() {
    let failures: Vec<String> = [PolicyVariant::Run, PolicyVariant::Contained]
        .into_iter()
        .flat_map(|variant| inputs().into_iter().map(move |input| (variant, input)))
        .filter_map(|(variant, (name, command))| judge(variant, name, command).err())
        .collect();
    assert!(failures.is_empty(), "no verdict for {} inputs:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_denied_command_is_found_however_late_it_comes() {
    let late = [
        (PolicyVariant::Run, "rm x"),
        (PolicyVariant::Run, "ls $(rm x)"),
        (PolicyVariant::Run, "cat <<A\n$(rm x)\nA"),
        (PolicyVariant::Run, "ls > ../x"),
        (PolicyVariant::Contained, "git push"),
        (PolicyVariant::Contained, "sh -c 'git push'"),
    ];
    let filler = ["ls;", "ls\n", "true && ", "# x\n", "x=1;", "echo 'a;b';", "ls | cat;", "(ls);"];
    let mut failures = Vec::new();
    for count in [1, 49, 50, 51, 100, 1000, 10_000] {
        for unit in filler {
            for (variant, end) in late {
                let name = format!("{count} times {unit:?}, then {end:?}");
                match judge(variant, &name, unit.repeat(count) + end) {
                    Ok(false) => {}
                    Ok(true) => failures.push(format!("{name}: allowed")),
                    Err(error) => failures.push(error),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
