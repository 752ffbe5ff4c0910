//! Files that a hook names are held back where it may run them, not where it reads them.

use super::*;

fn holds(hook: &str, path: &str) -> bool {
    let hook = format!("#!/bin/sh\n{hook}\n");
    let files = [(".git/hooks/pre-commit", hook.as_str()), ("tools/x", ""), ("src/index.js", "")];
    let (_directory, top) = repository("", &files);
    named_in(&top).contains(path, "100755")
}

#[test]
fn commands_that_read_a_file_hold_nothing_back() {
    for hook in [
        "php -l tools/x",
        "ruby -c tools/x",
        "ruby -wc tools/x",
        "node --check tools/x",
        "node -c tools/x",
        "bash -n tools/x",
        "sh -n tools/x || exit 1",
        "python -m py_compile tools/x",
        "python3 -m json.tool tools/x > /dev/null",
        "wc -l tools/x",
        "diff tools/x tools/y",
        "diff -q tools/x tools/y || exit 1",
        "cmp tools/x tools/y",
        "ls -la tools/x",
        "jq . tools/x >/dev/null",
        "jq '.a | select(.b)' tools/x 2>&1",
        "yq . tools/x",
        "envsubst < tools/x > /tmp/o",
        "cat tools/x",
        "head -1 tools/x; tail -n 5 tools/x | grep -q y",
        "grep -q TODO tools/x && exit 1",
        "stat -c %s tools/x",
        "test -f tools/x || { echo \"tools/x is missing\"; exit 1; }",
        "[ -f tools/x ] || exit 1",
        "/usr/bin/sha256sum tools/x",
        "file tools/x",
        "git add tools/x",
        "git diff --exit-code -- tools/x",
        "git diff --cached --quiet -- tools/x || echo \"tools/x changed (look at it)\" >&2",
        "git stash; git status; git ls-files tools/x",
        "echo \"please run tools/x by hand\"",
        "printf \"%s\\n\" tools/x tools/y",
        "cat <<EOF\nRun tools/x later, or f() {\nEOF\nexit 0",
        "case $1 in\nmain) exit 1 ;;\nesac\necho 'now run tools/x'",
        "test -f tools/x || {\n  echo \"no tools/x\"\n  exit 1\n}",
        "chmod +x tools/x",
        "touch tools/x",
        "deno lint tools/x src",
        "deno fmt --check src",
        "kubeval tools/x",
        "vale tools/x",
        "djlint tools/x",
        "detect-secrets-hook --baseline .secrets.baseline tools/x",
        "open tools/x.md",
        "node -p \"require('./tools/x.json').version\"",
    ] {
        for path in ["tools/x", "tools/y", "tools/x.md", "tools/x.json", "src/index.js"] {
            assert!(!holds(hook, path), "{hook}: {path}");
        }
    }
}

#[test]
fn commands_that_may_run_a_file_hold_it_back() {
    for hook in [
        "wc -l tools/x | sh",
        "cat tools/x | grep y | sh",
        "cat tools/x | tee .git/hooks/pre-push",
        "bash -n tools/x; bash tools/x",
        "php -l tools/x && php tools/x",
        "php tools/x -l",
        "bash tools/x -n",
        "bash -n +n tools/x",
        "ruby -c -r./tools/x y",
        "node --check -r ./tools/x y",
        "perl -c tools/x",
        "git -c core.hooksPath=tools/x add y",
        "git -c alias.z=!tools/x z",
        "git difftool -x tools/x",
        "eval \"$(cat tools/x)\"",
        "sh <(cat tools/x)",
        ". $(ls tools/x)",
        "`cat tools/x`",
        "cp tools/x .git/hooks/pre-push",
        "cat tools/x > .git/hooks/pre-push",
        "cat tools/x > /tmp/o\nsh /tmp/o",
        "cat tools/x > /tmp/o; cd /tmp; ./o",
        "bash -n -c 'true' tools/x",
        "sh < tools/x",
        "cat tools/x | xargs sh",
        "cat tools/x | while read -r l; do $l; done",
        "while read -r l; do $l; done < tools/x",
        "cat <<EOF | sh\ntools/x\nEOF",
        "cat <<EOF\n$(tools/x)\nEOF",
        "sh <<EOF\ntools/x\nEOF",
        "printf -v z tools/x; $z",
        "[ -n \"${T:=tools/x}\" ] && $T",
        "open tools/x",
        "deno run tools/x",
        "node -p \"require('./tools/x').version\"",
        "node -p \"require('child_process').execSync('tools/x')\"",
        "BASH_ENV=tools/x bash -n y",
        "tools/cat tools/x",
        "test -x tools/x && tools/x",
        "chmod +x tools/x && ./tools/x",
        "f() { cat tools/x; }; f | sh",
    ] {
        assert!(holds(hook, "tools/x"), "{hook}");
    }
    for hook in ["node -p \"require('./a.json').x\" | sh", "eval \"$(node -p \"require('./a.json').x\")\""] {
        assert!(holds(hook, "a.json"), "{hook}");
    }
    // Python looks for the module in the project first.
    assert!(holds("python -m py_compile tools/x", "py_compile.py"));
}

#[test]
fn what_a_script_prints_for_a_shell_is_held_back() {
    for (name, text) in
        [(".git/hooks/pre-commit", "eval \"$(tools/env.sh)\"\n"), (".envrc", "eval \"$(tools/env.sh)\"\n")]
    {
        let files = [(name, text), ("tools/env.sh", "cat tools/x.sh\necho sh tools/y.sh\n")];
        let (_directory, top) = repository("", &files);
        for path in ["tools/x.sh", "tools/y.sh"] {
            assert!(named_in(&top).contains(path, FILE), "{name}: {path}");
        }
    }
}
