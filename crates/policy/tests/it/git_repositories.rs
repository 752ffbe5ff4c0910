//! Which repositories git may be run in at the strict level.

use std::fs;
use std::os::unix::fs::symlink;

use crate::fixture::write;
use crate::tables::{judge_all, strict};

/// A link changes where the shell thinks it is, but not where git looks for its repository.
#[test]
fn git_does_not_run_in_other_repositories_with_settings_of_their_own() {
    let strict = strict();
    let root = &strict.project.root;
    for path in ["bare/below", "gitfile/below", "nested/below", "cloned/below", "hooked/below"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    write(&root.join("gitfile/.git"), "gitdir: ../bare\n");
    for (name, settings) in
        [("nested", "[core]\n\tfsmonitor = ./x\n"), ("cloned", "[core]\n\tbare = false\n"), ("hooked", "")]
    {
        write(&root.join(name).join(".git/HEAD"), "ref: refs/heads/main\n");
        write(&root.join(name).join(".git/config"), settings);
        write(&root.join(name).join(".git/hooks/pre-commit.sample"), "");
    }
    write(&root.join("hooked/.git/hooks/pre-commit"), "");
    write(&root.join(".git/modules/sub/HEAD"), "ref: refs/heads/main\n");
    write(&root.join("submodule/.git"), "gitdir: ../.git/modules/sub\n");
    for (link, target) in
        [("to-bare", "bare/below"), ("to-gitfile", "gitfile/below"), ("to-nested", "nested/below")]
    {
        symlink(target, root.join(link)).unwrap();
    }
    judge_all(
        &strict,
        false,
        &[
            "cd to-bare && git status",
            "cd to-gitfile && git status",
            "cd to-nested && git status",
            "git -C to-bare status",
            "git -C to-gitfile status",
            "cd bare/below && git status",
            "cd gitfile && git status",
            "git -C nested/below log",
            "git -C hooked commit -m x",
            "(cd to-bare; git diff)",
        ],
    );
    judge_all(
        &strict,
        true,
        &[
            "cd link-in && git status",
            "cd cloned/below && git status",
            "git -C submodule log",
            "git -C src status",
        ],
    );
}
