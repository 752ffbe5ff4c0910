use super::{Printed, without_read_operands};

#[test]
fn files_that_are_only_read_are_left_out() {
    for (text, expected) in [
        ("npx prettier --check \"src/**/*.{js,ts}\"\n", "npx prettier --check"),
        ("black src/*.py && ruff check src", "black && ruff"),
        ("clang-format --dry-run -Werror src/*.c include/*.h", "clang-format --dry-run -Werror"),
        ("if grep -q TODO src/app.py; then sh tools/x; fi", "if grep -q ; then sh tools/x; fi"),
        ("test -f config/app.yaml || exit 1", "test -f || exit 1"),
        (".venv/bin/flake8 src/app.py", ".venv/bin/flake8"),
        ("poetry run black src", "poetry run black"),
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&without_read_operands(text, Printed::Shown)), squeezed(expected), "{text}");
    }
}

#[test]
fn what_may_run_stays() {
    for text in [
        "sh src/app.sh\n",
        "grep -h . tools/x | sh",
        "grep -h . tools/x |\nsh",
        "(grep -h . tools/x) | sh",
        "for x in 1; do grep -h . tools/x; done | sh",
        "{ grep -h . tools/x; } | sh",
        "(\ngrep -h . tools/x\n) | sh",
        "f() {\ngrep -h . tools/x\n}\nf | sh",
        "if true; then\ngrep -h . tools/x\nfi | sh",
        "exec > /tmp/x\ngrep -h . tools/x\nsh /tmp/x",
        "x=$(\ngrep -h . tools/x\n)\neval $x",
        "sh -c \"$(grep -h . tools/x)\"",
        ". <(grep -h . tools/x)",
        "grep -h . tools/x > /tmp/x; sh /tmp/x",
        "eslint --config tools/x.js --rulesdir=own",
        "prettier --plugin ./x.js",
        "python3 -m black",
        "sed -f tools/x src/a",
        "test \"a && sh tools/x",
        "NODE_OPTIONS=-rtools/x eslint src/a.js",
        "eslint -c tools/x.js",
        "jq -rf tools/x",
        "./scripts/test tools/x",
        "yarn test tools/x",
        "if true; then\ngrep -h . tools/x\ntrue; fi | sh",
        "if true; then\ngrep -h . tools/x\necho $(date); fi | sh",
        "if true; then exec > /tmp/x; fi\ngrep -h . tools/x",
        "sh -c '\nfile tools/x\n'",
        "python3 - <<E\nfile = \"tools/x\"\nexec(open(file).read())\nE",
        "alias cat=sh\ncat tools/x",
        "{\ngrep -h . tools/x\n} | sh",
        "true || {\ngrep -h . tools/x\ntrue; } > x",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&without_read_operands(text, Printed::Shown)), squeezed(text), "{text}");
    }
}

#[test]
fn what_a_script_prints_stays() {
    let shortened = |text: &str| without_read_operands(text, Printed::MaybeRun);
    for text in ["echo sh tools/x", "/bin/cat tools/x", "git show :tools/x", "cat <<E\ntools/x\nE\n"] {
        assert_eq!(shortened(text), text);
    }
    for text in ["black tools/x", "bash -n tools/x", "git add tools/x", "test -f tools/x"] {
        assert!(!shortened(text).contains("tools/x"), "{text}");
    }
}
