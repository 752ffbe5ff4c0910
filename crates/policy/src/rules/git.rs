//! `git`: the subcommands allowed in each mode, and the options that are denied because they make git run other
//! programs or write elsewhere.

use super::git_arguments::{GitSubcommand, arguments, global_options};
use super::git_repository::deny_foreign_repository;
use super::git_special as special;
use super::rule::{CommandCall, Rule, always, in_run, never};
use super::scope::CommandScope;

use crate::verdict::{RuleResult, deny_with_hint};
use crate::words::Arg;

pub const RULES: &[Rule] = &[Rule {
    name: "git",
    commands: &["git"],
    run_only: false,
    judge,
    examples: &[
        always("git status --short"),
        always("git log --oneline -5 | cat"),
        always("git diff HEAD~1 -- src"),
        always("git -C src log -1"),
        always("git --no-pager show --stat"),
        always("git branch --show-current"),
        in_run("git add -A && git commit -m 'x; rm -rf /'"),
        in_run("git commit -m \"$(cat <<'EOF'\nfeat: it's done :) 1) a\n\nEOF\n)\""),
        in_run("git add src && git commit -qm \"fix $x\""),
        in_run("git checkout -b feature/x"),
        in_run("git stash && git stash pop"),
        in_run("git rebase main"),
        in_run("git reset --hard HEAD~1"),
        in_run("git config user.email a@b.c"),
        in_run("git -c user.name=x -c user.email=a@b.c commit -m x"),
        in_run("git init -b main"),
        always("git config --get user.name"),
        never("git -c alias.x='!rm x' x"),
        never("git -c core.pager=rm log"),
        never("git --exec-path=. status"),
        never("git --git-dir=x status"),
        never("git config core.hooksPath x"),
        never("git config --global user.name x"),
        never("git config alias.x '!rm'"),
        never("git submodule foreach rm"),
        never("git bisect run rm"),
        never("git rebase --exec rm main"),
        never("git rebase -x rm main"),
        never("git rebase --ex rm main"),
        never("git clean -fdx"),
        never("git rm -rf ."),
        never("git push"),
        never("git push --force"),
        always("git push --help && git help push && git help"),
        always("git push --dry-run && git push -n origin main"),
        always("git -c core.pager=cat log && GIT_PAGER=cat git log"),
        always("PAGER=cat git log"),
        never("GIT_PAGER=./evil git log"),
        never("GIT_PAGER=$x git log"),
        never("git -c core.pager='cat; rm x' log"),
        never("git push --dry-run --no-dry-run"),
        never("git push --dry-run --receive-pack=./evil origin"),
        never("git push --dry-run ext::./evil"),
        never("git push --dry-run ../other"),
        never("git push ../other"),
        never("git help -w push"),
        never("git push -o -n"),
        never("git push -f origin main"),
        never("git push origin +main"),
        never("git checkout -- .autonoe/status.json"),
        never("git restore .claude"),
        never("git apply x.patch"),
        never("git diff --output=x"),
        never("git rev-list HEAD --output=x"),
        never("git rev-list HEAD --outpu x"),
        never("git blame --output=.git/config a.txt"),
        never("git annotate --output=x a.txt"),
        never("git cherry-pick --output=x"),
        never("git revert HEAD --output=x"),
        never("git log -p -O ../x"),
        never("git show -O /etc/passwd"),
        never("git diff --outp x"),
        never("git log --output x"),
        never("git grep -O x"),
        never("git grep --open-files-in-pager=rm x"),
        never("git fetch --upload-pack=rm origin"),
        never("git clone ext::rm x"),
        never("git clone https://x/y /opt/y"),
        never("git difftool"),
        never("git $x"),
        never("git log $x"),
        never("git log -m \"$x\""),
        never("git log -c --output=x"),
        never("git -C .. status"),
        never("git remote -v add x y"),
        never("git rebase -mxrm main"),
        never("git restore '*.json'"),
        never("git unknown"),
        never("git blame --contents=/etc/passwd a.txt"),
        never("git blame --contents /etc/passwd a.txt"),
        never("git add --pathspec-from-file=../x"),
        never("git add --pathspec-from=../x"),
        never("git ls-files --exclude-from=/etc/passwd -i -o"),
        never("git ls-files -o -X/etc/passwd"),
        never("git grep -f/etc/passwd"),
        never("git grep -nf../x"),
        never("git commit -F/etc/passwd"),
        never("git commit -eF/etc/passwd"),
        never("git commit -evF ../x"),
        never("git format-patch -1 --stdout --signature-file=../x"),
        never("git commit -qF../x"),
        never("git merge -F ../x y"),
        never("git merge --no-ff -F/etc/passwd y"),
        never("git merge --fil=/etc/passwd y"),
        in_run("git merge -F a.txt y"),
        in_run("git merge -mFix y"),
        never("git config -l -f/etc/passwd"),
        never("git config --get -f ../x user.name"),
        never("git config -l"),
        never("git config --list"),
        never("git config list"),
        never("git config edit"),
        never("git config -e"),
        never("git config --get-regexp ."),
        never("git config --get-regexp 'user|http'"),
        never("git config --get-all credential.helper"),
        never("git config --get http.https://github.com/.extraheader"),
        never("git config http.extraheader"),
        never("git config get"),
        always("git config --get-regexp '^user\\.'"),
        always("git config --get remote.origin.url"),
        always("git config user.name"),
        in_run("git fetch"),
        in_run("git fetch origin main:main"),
        in_run("git fetch --depth 1 origin feature/x"),
        in_run("git pull --rebase origin main"),
        in_run("git ls-remote --heads origin"),
        in_run("git submodule update --recursive"),
        in_run("git clone https://x/y"),
        never("git fetch https://x/y"),
        never("git fetch -o x https://x/y"),
        never("git fetch --depth 1 x:y main"),
        never("git fetch --multiple origin https://x/y"),
        never("git fetch src"),
        never("git fetch src/x"),
        never("git fetch \"$x\""),
        never("git pull https://x/y"),
        never("git pull ../x"),
        never("git ls-remote https://x/y"),
        never("git submodule update --init"),
        never("git submodule init"),
        never("git clone \"https://x/$(cat a.txt)\" y"),
        never("git clone \"https://x/$(cat a.txt)\""),
        in_run("git commit -F a.txt"),
        in_run("git commit -m'See -F/etc/x'"),
        always("git grep -e/etc src"),
        always("git log -S/etc/passwd --grep=/x"),
        always("git diff -- src a.txt"),
        always("git diff HEAD~1..HEAD -- '*.js' ':!src'"),
        always("git diff main...HEAD~2 --stat -- ."),
        always("cd src && git diff -- ../a.txt && git log -- .."),
        never("git diff -- a.txt /etc/passwd"),
        never("git diff -- ../x ../y"),
        never("git diff --stat -- src/../../x a.txt"),
        never("git diff a.txt src/../../x"),
        never("git -C src diff -- ../../x ../a.txt"),
        never("git log -p -- ../x"),
        never("git add -- /etc/passwd"),
        never("git blame -- ../x"),
        in_run("git checkout -b x && cat a.txt"),
        in_run("git reset -q && cat a.txt && git checkout main && npm test"),
        in_run("git stash && git checkout main && git stash pop && git add -A"),
        never("git checkout other && cat a.txt"),
        never("git worktree add w; echo x > w/a.txt"),
        never("git reset --hard other; cp a.txt b.txt"),
        never("git stash pop; cat *.txt"),
        never("f() { cat a.txt; }; git switch other; f"),
        never("for i in 1 2; do cat a.txt; git switch other; done"),
        never("git clone https://x/y && cd y"),
        never("trap 'git checkout other' USR1; cat a.txt"),
        never("(trap 'git checkout -q other' EXIT); cp a.txt b.txt"),
        never("echo \"$(git checkout -q other)\" > a.txt"),
        never("echo a > a.txt $(git switch -q other)"),
        never("x=$(git switch -q other) > a.txt"),
        in_run("git pull > a.txt 2>&1"),
        in_run("git stash && npm test > /dev/null 2>&1; git stash pop"),
        in_run("git restore --staged a.txt && git diff a.txt"),
        never("git restore --staged --worktree a.txt && cat a.txt"),
        never("git rev-parse --resolve-git-dir x"),
        never("git ls-files -o -i --exclude-per-directory=x"),
    ],
}];

const fn reads(name: &'static str, denied: &'static [&'static str]) -> GitSubcommand {
    GitSubcommand { name, reads: true, denied, extra_check: special::no_extra_check }
}

const fn changes(name: &'static str, denied: &'static [&'static str]) -> GitSubcommand {
    GitSubcommand { name, reads: false, denied, extra_check: special::no_extra_check }
}

const fn checked(
    name: &'static str,
    reads: bool,
    denied: &'static [&'static str],
    extra_check: fn(&mut CommandScope<'_>, &[Arg]) -> RuleResult,
) -> GitSubcommand {
    GitSubcommand { name, reads, denied, extra_check }
}

const DIFF: &[&str] = &["--output", "--output-directory", "--ext-diff", "--no-index"];
const PULL: &[&str] = &["--upload-pack", "--server-option", "-o", "--strategy", "-s", "--gpg-sign", "-S"];
const PICK: &[&str] = &["--strategy", "--gpg-sign", "-S", "--edit", "-e"];
const MERGE: &[&str] =
    &["--strategy", "-s", "--gpg-sign", "-S", "--interactive", "-i", "--exec", "-x", "--edit-todo"];

static SUBCOMMANDS: [GitSubcommand; 58] = [
    reads("status", &[]),
    reads("log", DIFF),
    reads("show", DIFF),
    reads("diff", DIFF),
    reads("shortlog", DIFF),
    reads("whatchanged", DIFF),
    reads("range-diff", DIFF),
    reads("diff-tree", DIFF),
    reads("diff-index", DIFF),
    reads("diff-files", DIFF),
    reads("blame", &[]),
    reads("annotate", &[]),
    reads("describe", &[]),
    reads("rev-parse", &["--resolve-git-dir"]),
    reads("rev-list", &[]),
    reads("ls-files", &["--exclude-per-directory"]),
    reads("ls-tree", &[]),
    reads("cat-file", &["--textconv", "--filters"]),
    reads("grep", &["--open-files-in-pager", "-O", "--ext-grep", "--no-index"]),
    reads("merge-base", &[]),
    reads("name-rev", &[]),
    reads("show-ref", &[]),
    reads("show-branch", &[]),
    reads("for-each-ref", &["--shell", "--perl", "--python", "--tcl"]),
    reads("check-ignore", &[]),
    reads("check-attr", &[]),
    reads("count-objects", &[]),
    reads("cherry", &[]),
    reads("version", &[]),
    checked("branch", true, &["--edit-description"], special::branch),
    checked("tag", true, &["--sign", "-s", "--local-user", "-u", "--edit", "-e"], special::tag),
    checked("stash", true, special::STASH, special::stash),
    checked("remote", true, &[], special::remote),
    checked("config", true, &[], special::config),
    checked("reflog", true, DIFF, special::reflog),
    checked("worktree", true, &["--force", "-f"], special::worktree),
    changes("add", &["--edit", "-e"]),
    changes("commit", &["--gpg-sign", "-S", "--template", "-t"]),
    checked("checkout", false, &["--pathspec-from-file"], special::deny_protected),
    changes("switch", &[]),
    checked("restore", false, &["--pathspec-from-file"], special::deny_protected),
    changes("merge", MERGE),
    changes("rebase", MERGE),
    changes("cherry-pick", PICK),
    changes("revert", PICK),
    checked("reset", false, &["--pathspec-from-file"], special::deny_protected),
    checked("mv", false, &["--force", "-f"], special::mv),
    checked("rm", false, &["--pathspec-from-file"], special::rm),
    checked("clean", false, &["--interactive", "-i"], special::clean),
    checked("init", false, &["--template", "--separate-git-dir", "--bare"], special::init),
    checked("clone", false, special::CLONE, special::clone),
    checked("fetch", false, &["--upload-pack", "--server-option", "-o", "--multiple"], special::transport),
    checked("pull", false, PULL, special::transport),
    checked("ls-remote", false, &["--upload-pack", "--exec", "--server-option", "-o"], special::transport),
    checked("submodule", true, &[], special::submodule),
    checked("bisect", false, &[], special::bisect),
    checked("format-patch", true, DIFF, special::format_patch),
    changes("fsck", &[]),
];

fn judge(scope: &mut CommandScope<'_>, call: CommandCall<'_>) -> RuleResult {
    let before = scope.directories.clone();
    let result = judge_in_directory(scope, call.args);
    scope.directories = before;
    result
}

fn judge_in_directory(scope: &mut CommandScope<'_>, args: &[Arg]) -> RuleResult {
    let rest = global_options(scope, args)?;
    deny_foreign_repository(scope)?;
    let Some((name, args)) = rest.split_first() else { return Ok(()) };
    if special::only_shows(name, args) {
        return Ok(());
    }
    let known = name.literal().and_then(|name| SUBCOMMANDS.iter().find(|subcommand| subcommand.name == name));
    let Some(subcommand) = known else {
        return deny_with_hint(
            "git.subcommand",
            format!("'git {}' is not in the list of allowed subcommands.", name.text),
            "Use status, log, diff, show, add, commit, branch, checkout, switch, restore, merge, rebase or stash.",
        );
    };
    if scope.options.is_sync() && !subcommand.reads {
        return deny_with_hint(
            "git.sync",
            format!("'git {}' changes the repository; sync only verifies.", name.text),
            "Use git status, log, diff or show.",
        );
    }
    arguments(scope, subcommand, args)?;
    (subcommand.extra_check)(scope, args)?;
    if replaces_files(subcommand.name, args) { scope.files_are_replaced() } else { Ok(()) }
}

/// Whether git may put files of a commit where others are, or where there are none.
fn replaces_files(subcommand: &str, args: &[Arg]) -> bool {
    const ALWAYS: [&str; 9] =
        ["bisect", "cherry-pick", "clone", "merge", "mv", "pull", "rebase", "revert", "submodule"];
    let text = |at: usize| args.get(at).map(|arg| arg.text.as_str());
    match subcommand {
        // A new branch at the current commit.
        "checkout" | "switch" => {
            !(args.len() == 2 && matches!(text(0), Some("-b" | "-c" | "--create")) && args[1].is_operand())
        }
        "restore" => {
            let is_index = |arg: &Arg| matches!(arg.literal(), Some("--staged" | "-S"));
            !args.first().is_some_and(is_index) || args[1..].iter().any(|arg| arg.may_be_option())
        }
        "reset" => args
            .iter()
            .any(|arg| arg.may_be_option() && !matches!(arg.literal(), Some("--soft" | "--mixed" | "-q"))),
        "stash" => !matches!(text(0), Some("list" | "show" | "drop" | "clear")),
        "worktree" => text(0) == Some("add"),
        name => ALWAYS.contains(&name),
    }
}
