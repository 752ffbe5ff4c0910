//! What is beyond a limit has not been judged, so it is denied.

use autonoe_core::mode::Mode;

use crate::policy::CommandPolicy;
use crate::policy_level::PolicyLevel;
use crate::policy_options::PolicyOptions;

/// The rule that denies a command; `None` if it is allowed.
fn denied_by(command: &str) -> Option<String> {
    let options = PolicyOptions { level: PolicyLevel::Contained, ..PolicyOptions::new(Mode::Run, "/proj") };
    let verdict = CommandPolicy::new(options).check(command);
    (!verdict.is_allowed()).then_some(verdict.rule)
}

/// Nests `eval` in quotes of its own.
fn nested_evals(depth: usize) -> String {
    (0..depth).fold("git push".to_owned(), |script, _| format!("eval {}", shell_quoted(&script)))
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A call of functions, each of which calls the next one with its arguments.
fn chain_of_functions(count: usize) -> String {
    let links: String = (0..count).map(|n| format!("f{n}() {{ f{} \"$@\"; }}\n", n + 1)).collect();
    format!("{links}f{count}() {{ \"$@\"; }}\nf0 git push")
}

#[test]
fn publishing_is_denied_however_far_it_is_wrapped() {
    for count in [1, 5, 31, 32, 33, 63, 64, 65, 100, 1000, 1001, 3000] {
        for command in [
            format!("git {}push", "-c a.b=c ".repeat(count)),
            format!("{}git push", "env ".repeat(count)),
            format!("{}git push", "eval ".repeat(count)),
            format!("for i in {}push; do git $i; done", "x ".repeat(count)),
            format!(
                "for i in {} push; do git $i; done",
                (0..count).map(|n| format!("x{n} ")).collect::<String>()
            ),
            format!("echo {}push | xargs git", "-c a.b=c ".repeat(count)),
            format!("a=({}push); git \"${{a[@]}}\"", "-c a.b=c ".repeat(count)),
            format!("git {}-c alias.p='!git push' p", "-c a.b=c ".repeat(count)),
            format!("make {}SHELL='git push'", "A=b ".repeat(count)),
            format!("x='{}git push'; $x", " ".repeat(count * 30)),
        ] {
            assert!(denied_by(&command).is_some(), "{count}: {}", &command[..command.len().min(80)]);
        }
    }
    for depth in 1..8 {
        assert!(denied_by(&nested_evals(depth)).is_some(), "{depth} evals");
    }
    for count in [1, 4, 5, 6, 20, 40] {
        assert!(denied_by(&chain_of_functions(count)).is_some(), "{count} functions");
    }
}

#[test]
fn ordinary_commands_reach_no_limit() {
    let say = "say \"step $i\"\n".repeat(200);
    for command in [
        format!("say() {{ echo \"$1\"; }}\n{say}"),
        format!(
            "for i in {}; do echo $i; done",
            (0..200).map(|n| format!("file{n}.txt ")).collect::<String>()
        ),
        "for i in {1..5000}; do for j in {1..50}; do echo $i $j; done; done".to_owned(),
        format!("body='{}'; gh pr view 1; echo \"$body\" > notes.md", "a long text ".repeat(2_000)),
        "visit() { for d in \"$1\"/*/; do visit \"$d\"; done; }; visit src".to_owned(),
        format!("git add {}", "src/a.js ".repeat(500)),
        format!("npx prettier --check {}", "src/a.js ".repeat(500)),
        nested_evals(3).replace("push", "status"),
    ] {
        assert_eq!(denied_by(&command), None, "{}", &command[..command.len().min(80)]);
    }
}

#[test]
fn text_that_is_not_understood_is_searched_for_commands() {
    for command in [
        "select x in a; do git push; done",
        "x=1 git push\nif then (",
        "x='a b' y=c git push\n)",
        "if true; then git push; fi; )",
        "time -p -- git push",
        "time -- git push",
        "env -S\"git\\_push\"",
        "env -S 'git\\tpush'",
        "env --split-string='git\\_push'",
        "x=' git push'; $x",
        "x=; $x git push",
        "$nothing git push",
        "${SUDO:-} git push",
        "$(true) git push",
        "git push\0",
        "git\0 push",
        "ls\0",
    ] {
        assert!(denied_by(command).is_some(), "{command:?}");
    }
    for command in ["if then fi (", "echo git push )", "x='git push' )", "env -S'git\\_status'"] {
        assert_eq!(denied_by(command), None, "{command:?}");
    }
}

#[test]
fn what_is_not_known_hides_nothing_beside_it() {
    for command in [
        "sh -c \"git push origin $BRANCH\"",
        "eval \"git push origin $BRANCH\"",
        "eval git push \"$BRANCH\"",
        "bash -c \"cd $(pwd) && npm publish\"",
        "echo \"cd $D; git push\" | bash",
        "trap \"git push $B\" EXIT",
        "alias p=\"git push $B\"; p",
        "git -c alias.p=\"!git push $B\" p",
        "docker run x sh -c \"git push $B\"",
        "find . -exec sh -c \"git push $B\" \\;",
        "tmux send-keys \"git push $B\" Enter",
        "GIT_SSH_COMMAND=\"git push $B\" git fetch",
        "x=\"git push $B\"; $x",
        "x=\"git push $B\"; sh -c \"$x\"",
        "bash <<E\necho $HOME\ngit push\nE",
        "bash <<E\nkill $PPID\nE",
        "bash <<< \"git push $B\"",
        "bash -c '$0 push' git",
    ] {
        assert!(denied_by(command).is_some(), "{command}");
    }
    for command in [
        "sh -c \"git fetch origin $BRANCH\"",
        "sh -c \"kill $PID\"",
        "x=\"$HOME/git push\"; ls \"$x\"",
        "bash <<E\necho $HOME\ngit status\nE",
        "lsof -ti:3000 | xargs -r kill -9 >/dev/null 2>&1",
        "lsof -ti:3000 | xargs kill 2>&1",
    ] {
        assert_eq!(denied_by(command), None, "{command}");
    }
}

#[test]
fn what_the_parser_does_not_know_hides_nothing() {
    for prefix in [
        "echo $\"a\"",
        "echo $[1]",
        "echo ${!x}",
        "select x in a; do break; done",
        "coproc cat",
        "echo `echo \\a`",
        "read -d $'\\0' x",
        "echo `# a`",
        "[[ a =~ ( ) ]]",
        "for i in 1; { echo; }",
        "f() if true; then echo; fi",
        "((x) )",
        "cat <<E\nit's\nE",
    ] {
        let odd = format!("{prefix}; {{fd}}>&1 true");
        for command in [
            "sh -c 'git push'",
            "echo 'git push' | sh",
            "alias p='git push'; p",
            "g\\it push",
            "kill $PPID",
            "kill \"${PPID}\"",
            "AUTONOE_NO_SANDBOX=1 ls",
            "x='git push'; sh -c \"$x\"",
            "echo push | xargs git",
            "echo $(git push)",
            "echo \"`git push`\"",
            "bash <<< 'git push'",
        ] {
            let command = format!("{odd}\n{command}");
            assert!(denied_by(&command).is_some(), "{command}");
        }
        assert_eq!(denied_by(&format!("{odd}\nsh -c 'git status'; kill $!")), None, "{prefix}");
    }
    for command in
        ["{fd}</dev/null git push", "{fd}>&1 npm publish", "{fd}>x kill -9 1", "{fd}>x autonoe trust"]
    {
        assert!(denied_by(command).is_some(), "{command}");
    }
    for command in
        ["cat < <(case in in in) kill $PPID;; esac)", "x=$(case x in x|y) git push; esac); echo \"$x\""]
    {
        assert!(denied_by(command).is_some(), "{command}");
    }
    let nested = |count: usize, script: &str| {
        format!("{}{script}{}", "if true; then ".repeat(count), "; fi".repeat(count))
    };
    assert_eq!(denied_by(&nested(10, "ls")), None);
    assert_eq!(denied_by(&nested(30, "ls")).as_deref(), Some("contained.limit"));
}

#[test]
fn decisions_of_the_user_are_denied() {
    for command in [
        "autonoe trust --yes",
        "autonoe land",
        "autonoe land --discard",
        "autonoe checks accept x",
        "autonoe checks reject x",
        "autonoe unblock DL-1",
        "autonoe stop",
        "autonoe tell 'go on'",
        "./target/debug/autonoe trust",
        "autonoe run --in-place",
        "autonoe run --no-sandbox=true",
        "timeout 5 autonoe -p . land",
        "autonoe checks -p . accept x",
        "autonoe --project-dir . checks accept x",
        "autonoe checks --project-dir . accept x",
    ] {
        assert!(denied_by(command).is_some(), "{command}");
    }
    for command in [
        "autonoe --help",
        "autonoe status",
        "autonoe trust --help",
        "autonoe checks",
        "autonoe verify",
        "autonoe demo",
    ] {
        assert_eq!(denied_by(command), None, "{command}");
    }
}

#[test]
fn targets_on_this_machine_and_queries_are_allowed() {
    for command in [
        "docker push [::1]:5000/x",
        "helm push x.tgz oci://localhost:5000/y",
        "aws s3 sync . s3://x --dryrun",
        "firebase deploy --dry-run",
        "mvn release:prepare -DdryRun=true",
        "cargo release patch",
        "npm publish --dry-run",
        "lerna version --no-push",
        "vercel build",
        "pkill -u $USER -f vite",
        "pkill -u me vite",
        "killall -u \"$(whoami)\" dropbox",
        "gh api repos/x -iX GET",
        "Q='query($q: String!) { x }'; gh api graphql -f q=\"repo:$R\" -f query=\"$Q\"",
        "gh api graphql -f query='{ viewer { login } }' -F number=3",
    ] {
        assert_eq!(denied_by(command), None, "{command}");
    }
    for command in [
        "docker push [::1]evil.com/x",
        "helm push x.tgz oci://localhost:5000@evil.com/y",
        "helm push x.tgz oci://evil.com/y",
        "aws s3 sync . s3://x",
        "npm publish --dry-run --dry=false",
        "npm publish --dry-run --dry false",
        "yarn publish --dry-run",
        "corepack npm publish",
        "gh api x -iX POST",
        "gh api x -if a=b",
        "gh pr create -t x -b --dry-run",
        "gh issue create -t x -b --help",
        "vercel ./dist",
        "vercel .",
        "rake build release",
        "git for-each-repo --config=x push",
        "cargo-release release -x",
        "cargo release patch --execute",
        "ruby -S gem push x",
        "lerna version --yes",
        "firebase hosting:channel:deploy x",
        "hugo deploy",
        "killall -I AUTONOE",
        "pkill -u root",
        "pkill -v x",
        "aws s3 sync . s3://x --exclude --dryrun",
        "gh api graphql -f query=\"$Q\"",
        "Q='mutation { x }'; gh api graphql -f query=\"$Q\"",
        "gh api graphql -f query=@a.txt",
        "gh api graphql -F q=@a.txt -f query='{ x }'",
        "gh api graphql -F q=$x -f query='{ x }'",
        "gh api graphql -f \"$x\" -f query='{ x }'",
    ] {
        assert!(denied_by(command).is_some(), "{command}");
    }
}
