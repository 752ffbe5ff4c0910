use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{HookCommandText, NamedFile};

fn project(files: &[&str]) -> (TempDir, PathBuf) {
    let home = TempDir::new().expect("temporary directory");
    let root = home.path().canonicalize().expect("exists");
    for file in files {
        fs::create_dir_all(root.join(file).parent().expect("a directory")).expect("made");
        fs::write(root.join(file), "").expect("written");
    }
    (home, root)
}

#[test]
fn the_files_of_a_command_are_those_in_the_project() {
    let (_home, root) = project(&["hooks/a.sh", "hooks/b.py"]);
    for (command, files) in [
        ("./hooks/a.sh", &["hooks/a.sh"][..]),
        ("python3 hooks/b.py --strict && hooks/a.sh", &["hooks/a.sh", "hooks/b.py"]),
        ("'${CLAUDE_PROJECT_DIR}'/hooks/a.sh", &["hooks/a.sh"]),
        ("$CLAUDE_PROJECT_DIR/hooks/a.sh", &["hooks/a.sh"]),
        ("python3 -c \"exec(open('hooks/b.py').read())\"", &["hooks/b.py"]),
        ("hooks missing.sh /bin/sh ../x grep", &[]),
    ] {
        let named = |file: &&str| NamedFile { path: root.join(file), named: file.into() };
        let expected: Vec<NamedFile> = files.iter().map(named).collect();
        assert_eq!(HookCommandText::read(command, &root).files, expected, "{command}");
    }
    std::os::unix::fs::symlink("hooks", root.join("link")).expect("linked");
    let through_link = |path, named: &str| NamedFile { path: root.join(path), named: named.into() };
    let expected = [through_link("hooks/a.sh", "link/a.sh"), through_link("hooks/b.py", "hooks/b.py")];
    assert_eq!(HookCommandText::read("./link/a.sh link/../hooks/b.py", &root).files, expected);
}

#[test]
fn a_script_is_found_however_it_is_named() {
    let (_home, root) =
        project(&["tools/h.sh", "tools/h.js", "tools/sub/x", "package.json", ".autonoe/h.sh"]);
    for (command, file) in [
        ("cd tools && ./h.sh", "tools/h.sh"),
        ("cd tools; . ./h.sh", "tools/h.sh"),
        ("cd -- tools || exit 2; sh h.sh", "tools/h.sh"),
        ("cd tools/sub && cd .. && sh h.sh", "tools/h.sh"),
        ("(cd tools && sh h.sh)", "tools/h.sh"),
        ("cat | { cd tools; sh h.sh; }", "tools/h.sh"),
        ("cd \"$CLAUDE_PROJECT_DIR/tools\" && sh h.sh", "tools/h.sh"),
        ("cd \"$CLAUDE_PROJECT_DIR\" && sh tools/h.sh", "tools/h.sh"),
        ("sh \"$(git rev-parse --show-toplevel)/tools/h.sh\"", "tools/h.sh"),
        ("sh \"$(git rev-parse --show-toplevel 2>/dev/null)/tools/h.sh\"", "tools/h.sh"),
        ("sh `git rev-parse --show-toplevel`/tools/h.sh", "tools/h.sh"),
        ("R=$(git rev-parse --show-toplevel); sh $R/tools/h.sh", "tools/h.sh"),
        ("sh \"$(pwd)/tools/h.sh\"", "tools/h.sh"),
        ("sh `pwd -P`/tools/h.sh", "tools/h.sh"),
        ("cd tools && sh \"${PWD}/h.sh\"", "tools/h.sh"),
        ("D=tools; sh $D/h.sh", "tools/h.sh"),
        ("export D=tools S=\"h.sh\"; sh \"${D}/$S\"", "tools/h.sh"),
        ("D='tools/h.sh strict'; sh $D", "tools/h.sh"),
        ("for f in h i; do sh tools/$f.sh; done", "tools/h.sh"),
        ("if [ -d x ]; then D=x; else D=tools; fi; sh $D/h.sh", "tools/h.sh"),
        ("sh tools/h.s*", "tools/h.sh"),
        ("sh t*/h.?h", "tools/h.sh"),
        ("sh tools/{h,}.sh", "tools/h.sh"),
        ("sh tools/{i,{h,j}}.sh", "tools/h.sh"),
        ("sh $'tools/h.sh'", "tools/h.sh"),
        ("sh $'to\\x6fls/h.sh'", "tools/h.sh"),
        ("sh to\"ol\"s/h\\.sh", "tools/h.sh"),
        ("node tools/h", "tools/h.js"),
        ("cd tools && env node ./h", "tools/h.js"),
        ("sh -c 'cd tools && ./h.sh'", "tools/h.sh"),
        ("eval 'cd tools' && ./h.sh", "tools/h.sh"),
        ("out=$(cd tools && sh h.sh) || exit 2", "tools/h.sh"),
        ("cd .autonoe && sh h.sh", ".autonoe/h.sh"),
    ] {
        let found = HookCommandText::read(command, &root).files;
        let found: Vec<&str> = found.iter().filter_map(|file| file.named.to_str()).collect();
        assert_eq!(found, [file], "{command}");
    }
}

#[test]
fn a_quoted_pattern_and_a_directory_name_no_file() {
    let (_home, root) = project(&["tools/h.sh", "package.json"]);
    for command in ["sh 'tools/h.*'", "sh tools/\"{h,i}\".sh", "cd tools", "ls .", "echo '$PWD'/tools/h.sh"] {
        assert_eq!(HookCommandText::read(command, &root).files, [], "{command}");
    }
}

#[test]
fn a_command_whose_files_are_all_written_down_is_complete() {
    let (_home, root) = project(&["tools/h.sh", "tools/h.py", "tools/h.js", ".autonoe/h.sh"]);
    for command in [
        "sh .autonoe/h.sh",
        "./tools/h.sh",
        "bash -eu -o pipefail tools/h.sh \"$(cat)\"",
        "cd tools && ./h.sh",
        "cd \"$CLAUDE_PROJECT_DIR/tools\" && sh h.sh",
        "sh \"$(pwd)/tools/h.sh\"",
        "D=tools; sh $D/h.sh",
        "sh $'tools/h.sh'",
        "sh -c 'cd tools && ./h.sh'",
        "node tools/h.js",
        "python3.12 -I tools/h.py --strict",
        "timeout 5 env X=1 /bin/sh tools/h.sh",
        "exec 2>&1; . tools/h.sh",
        "case \"$(cat)\" in *slowly*) sleep 300;; esac",
        "input=$(cat); deny() { echo \"$1\" >&2; exit 2; }; [[ $input == *x* ]] && deny no",
        "jq -e '.tool_input.command | test(\"rm \")' && exit 2; true",
        "gitleaks stdin --redact",
    ] {
        assert!(HookCommandText::read(command, &root).is_complete, "{command}");
    }
}

#[test]
fn a_command_that_may_run_other_files_is_not_complete() {
    let (_home, root) = project(&["tools/h.sh", "tools/h.js", "a/h.sh", "package.json", "Makefile"]);
    for command in [
        "sh \"$(git rev-parse --show-toplevel)/tools/h.sh\"",
        "sh `cat name`",
        "sh \"$(dirname \"$0\")/tools/h.sh\"",
        "sh $HOOK",
        "$(cat name)",
        "$HOOK tools/h.sh",
        "cd $(cat name) && sh tools/h.sh",
        "cd && sh tools/h.sh",
        "cd ~ && sh tools/h.sh",
        "sh tools/h.*",
        "sh tools/missing.sh",
        "./missing.sh",
        "case \"$(cat)\" in *x*) exec ./missing.sh;; esac",
        "node tools/h",
        "node tools",
        "node --require ./tools/h.js -e 1",
        "python3 -m tools.h",
        "python3 -c 'import h'",
        "cat tools/h.sh | sh",
        "sh -c \"$(cat tools/h.sh)\"",
        "eval \"$(cat tools/h.sh)\"",
        "[ -d b ] && D=b || D=a; sh $D/h.sh",
        "[ -d b ] && cd b; sh tools/h.sh",
        "read f < name; sh $f",
        "f() { cd a; }; f; sh h.sh",
        "f() { sh \"$1\"; }; f a/h.sh",
        "find tools -name 'h*' -exec {} ';'",
        "echo tools/h.sh | xargs sh",
        "npm run hook",
        "make -s hook",
        "PATH=tools h.sh",
        "env PATH=tools h.sh",
        "timeout 5 node tools/h",
        "trap ./missing.sh EXIT",
        "some-tool \"$X\"",
        "sh <<EOF\n. tools/h.sh\nEOF",
        "sh \"${X:-tools/h.sh}\"",
        "if then",
    ] {
        assert!(!HookCommandText::read(command, &root).is_complete, "{command}");
    }
}

/// Without a bound, these values would be longer than any memory.
#[test]
fn values_that_grow_without_bound_are_not_followed() {
    let (_home, root) = project(&["h.sh"]);
    for command in [
        format!("x=aa; {} sh $x", "x=$x$x;".repeat(60)),
        format!("for x in a b; do {} sh $x; done", "x=$x$x;".repeat(60)),
        format!("{} sh h.sh", "cd {a,b,c};".repeat(60)),
        format!("sh {{{}}}{}", "a,".repeat(20_000), "b".repeat(20_000)),
        format!("sh {}", "{a,b}".repeat(60)),
        format!("sh {{{0}b}}{{{0}b}}", "a,".repeat(30)),
    ] {
        assert!(!HookCommandText::read(&command, &root).is_complete, "{command:.60}");
    }
}
