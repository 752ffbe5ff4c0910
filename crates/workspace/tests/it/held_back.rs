//! What does not land without the user's word, although git could apply it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use autonoe_core::event::HookFile;
use autonoe_test_kit::TestDirectory;
use autonoe_workspace::{Landing, LandingRefusal};

use crate::fixture::HubFixture;
use crate::landing::{landed, refusal};

#[tokio::test]
async fn a_file_that_acts_by_itself_does_not_hide_among_many() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    for number in 0..3000 {
        let name = format!("{}/{number}", "long".repeat(50));
        crate::fixture::write(&workspace.tree().join(name), "");
    }
    fixture.work(&workspace, &[("zzz/.envrc", "x")]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(vec!["zzz/.envrc".to_owned()]));
}

#[tokio::test]
async fn what_the_users_git_runs_does_not_land_under_any_name() {
    let cases: [(&[&str], &str); 4] = [
        (&["core.hooksPath", "ours"], "ours/pre-commit"),
        (&["core.hooksPath", "./"], "pre-commit"),
        (&["core.fsmonitor", "./tools/fsm.sh"], "tools/fsm.sh"),
        (&["include.path", "../settings"], "settings"),
    ];
    for (setting, path) in cases {
        let fixture = HubFixture::new().await;
        fixture.git(&[&["config"], setting].concat());
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[(path, "touch /pwned\n"), ("fine.txt", "")]);
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert_eq!(why, LandingRefusal::SelfActing(vec![path.to_owned()]));
    }
}

#[tokio::test]
async fn what_git_ignores_does_not_land_by_force_behind_links() {
    let fixture = HubFixture::new().await;
    symlink("dir", fixture.path("link")).unwrap();
    fixture.commit(&[("c.txt", "")]);
    fs::rename(fixture.path(".git/info/exclude"), fixture.home().join("exclude")).unwrap();
    fs::write(fixture.home().join("exclude"), "secret.txt\n").unwrap();
    symlink(fixture.home().join("exclude"), fixture.path(".git/info/exclude")).unwrap();
    let (workspace, revision) = fixture.workspace().await;
    fs::remove_file(workspace.tree().join("link")).unwrap();
    crate::fixture::write(&workspace.tree().join("secret.txt"), "x");
    fixture.git_in(&workspace.tree(), &["add", "-f", "secret.txt"]);
    // Git does not look at anything after this one, which is beyond a link of the user's.
    fixture.work(&workspace, &[("link/inside", "")]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(vec!["secret.txt (ignored by git)".to_owned()]));
}

#[tokio::test]
async fn links_and_bare_repositories_do_not_hide_what_acts_by_itself() {
    let fixture = HubFixture::new().await;
    symlink("cfg", fixture.path(".vscode")).unwrap();
    fixture.commit(&[("cfg/tasks.json", "{}"), ("docs/HEAD", "ref: refs/heads/main\n")]);
    let (workspace, revision) = fixture.workspace().await;
    let files = [("cfg/tasks.json", "evil"), ("docs/config", "[core]\n\tfsmonitor = evil\n"), ("docs2", "")];
    fixture.work(&workspace, &files);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(vec!["cfg/tasks.json".into(), "docs/config".into()]));

    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    symlink(".git/hooks", workspace.tree().join("tools")).unwrap();
    fixture.work(&workspace, &[("b.txt", "b\n")]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(vec!["tools".into()]));
}

#[tokio::test]
async fn only_a_head_that_git_accepts_makes_a_repository() {
    let fixture = HubFixture::new().await;
    fixture.commit(&[("docs/HEAD", "not a repository"), ("api/HEAD", "HEAD /users\n")]);
    let (workspace, revision) = fixture.workspace().await;
    let files =
        [("docs/a.md", "a\n"), ("api/x.py", "x\n"), ("new/HEAD", "\0\u{ff}"), ("new/b", ""), ("c/HEAD", "")];
    let commit = fixture.work(&workspace, &files);
    fixture.land(&workspace, &revision).await;
    assert_eq!(fixture.git(&["rev-parse", "HEAD"]), commit);

    let hash = "0123456789abcdefabcd".repeat(2);
    for head in ["ref: refs/heads/x\n", "ref:\n\trefs/x", hash.as_str()] {
        let fixture = HubFixture::new().await;
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[("a/HEAD", "none"), ("a/b", ""), ("api/head", head), ("api/x.py", "")]);
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert_eq!(why, LandingRefusal::SelfActing(vec!["api/head".into(), "api/x.py".into()]), "{head}");
    }
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fs::create_dir(workspace.tree().join("link")).unwrap();
    symlink("../a.txt", workspace.tree().join("link/HEAD")).unwrap();
    fixture.work(&workspace, &[("link/a", "a\n")]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(vec!["link/HEAD".into(), "link/a".into()]));
}

#[tokio::test]
async fn the_users_specification_does_not_become_a_link() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let tree = workspace.tree();
    symlink("/etc/passwd", tree.join("spec")).unwrap();
    fixture.git_in(&tree, &["add", "spec"]);
    let blob = fixture.git_in(&tree, &["rev-parse", ":spec"]);
    fixture.git_in(&tree, &["update-index", "--add", "--cacheinfo", &format!("120000,{blob},SPEC.md")]);
    fixture.git_in(&tree, &["commit", "-q", "-m", "link"]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(vec!["SPEC.md".into()]));
}

#[tokio::test]
async fn the_specification_of_another_part_is_the_users_too() {
    let directory = TestDirectory::default();
    directory.git(&["init", "-q", "-b", "main", "."]);
    directory.write("linked/a.txt", "");
    symlink("../plan.md", directory.path("linked/SPEC.md")).unwrap();
    directory.commit(&[("app/a.txt", "one\n"), ("other/SPEC.md", "# Other\n"), ("plan.md", "# Linked\n")]);
    let fixture = HubFixture::of(directory, "app").await;
    let (workspace, revision) = fixture.workspace().await;
    let users = ["new/SPEC.md", "other/.autonoe-note.md", "other/SPEC.md", "plan.md"];
    let files = users.map(|path| (path, "the agent's\n"));
    fixture.work(&workspace, &[&files[..], &[("app/a.txt", "two\n"), ("docs/SPEC.txt", "")]].concat());
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(users.map(str::to_owned).to_vec()));
}

#[tokio::test]
async fn what_hooks_run_is_held_back_or_named() {
    let fixture = HubFixture::new().await;
    let scripts =
        [("scripts/lint.sh", "sh scripts/second.sh\n"), ("scripts/second.sh", ""), ("Makefile", "")];
    fixture.commit(&scripts);
    fixture.write(".git/hooks/pre-commit", "#!/bin/sh\nmake lint && sh scripts/lint.sh\n");
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("Makefile", "lint:\n")]);
    let Landing::Landed { hook_files, .. } = fixture.land(&workspace, &revision).await else {
        panic!("files of a runner are changed by honest work");
    };
    assert_eq!(hook_files, [HookFile { hook: "pre-commit".into(), path: "Makefile".into() }]);

    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[("scripts/second.sh", "touch /pwned\n")]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(vec!["scripts/second.sh".to_owned()]));
}

#[tokio::test]
async fn what_git_or_a_tool_would_run_by_a_detour_is_held_back() {
    for (prepare, files, held) in [
        // Settings that include others, in turn.
        (
            "git config include.path ../gitconfig; printf '[include]\\n\\tpath = sub/more.cfg\\n' > gitconfig; git add gitconfig",
            &[("sub/more.cfg", "[core]\n\tfsmonitor = evil\n")][..],
            "sub/more.cfg",
        ),
        (
            "rm -rf .git/hooks; mkdir myhooks; touch myhooks/x; git add myhooks; ln -s ../myhooks .git/hooks",
            &[("myhooks/pre-commit", "#!/bin/sh\n")],
            "myhooks/pre-commit",
        ),
        (
            "mkdir -p .git/hooks tools; printf '#!/bin/sh\\ncd tools && ./x.sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo 1 > tools/x.sh; git add tools",
            &[("tools/x.sh", "evil\n")],
            "tools/x.sh",
        ),
        (
            "mkdir tools; echo '. ./tools/env.sh' > .envrc; echo 1 > tools/env.sh; git add .envrc tools",
            &[("tools/env.sh", "evil\n")],
            "tools/env.sh",
        ),
        (
            "echo '*.key filter=crypt' > .gitattributes; git add .",
            &[(".gitattributes", "*.png binary\n")],
            ".gitattributes",
        ),
        ("true", &[("keys/.gitattributes", "*.key -filter\n")], "keys/.gitattributes"),
        // Other repositories in the checkout, and this one's files under another name.
        ("git init -q sub", &[("sub/tools/x.sh", "evil\n")], "sub/tools/x.sh"),
        ("git worktree add -q wt -b other", &[("wt/tools/x.sh", "evil\n")], "wt/tools/x.sh"),
        ("git init -q --bare x.git", &[("x.git/hooks/update", "evil\n")], "x.git/hooks/update"),
        (
            "git init -q --separate-git-dir=meta .",
            &[("meta/config.worktree", "[core]\n\tfsmonitor = evil\n")],
            "meta/config.worktree",
        ),
        // Parts of this one that are in the checkout.
        (
            "mkdir conf; cp .git/config conf/g; git add conf; ln -sf ../conf/g .git/config",
            &[("conf/g", "[core]\n\tfsmonitor = evil\n")],
            "conf/g",
        ),
        (
            "mkdir -p .git/info; touch attrs; git add attrs; ln -s ../../attrs .git/info/attributes",
            &[("attrs", "* filter=x\n")],
            "attrs",
        ),
        (
            "mv .git/objects store; ln -s ../store .git/objects",
            &[("store/info/commit-graph", "evil\n")],
            "store/info/commit-graph",
        ),
        // Settings that an alias or a hook has for one command.
        (
            "git config alias.ci '-c core.hooksPath=hk commit'",
            &[("hk/pre-commit", "evil\n")],
            "hk/pre-commit",
        ),
        (
            "mkdir -p .git/hooks; echo 'git -c core.hooksPath=hk hook run x' > .git/hooks/pre-push",
            &[("hk/x", "evil\n")],
            "hk/x",
        ),
        (
            "git config init.templateDir tpl",
            &[("tpl/hooks/post-checkout", "evil\n")],
            "tpl/hooks/post-checkout",
        ),
        // Words that a shell makes of others.
        (
            "mkdir -p .git/hooks tl; echo 1 > tl/k; git add tl; echo 'sh tl/x{1,2}.sh' > .git/hooks/pre-commit",
            &[("tl/x1.sh", "evil\n")],
            "tl/x1.sh",
        ),
        ("git config alias.x \"!sh \\$'tl/\\\\x78'\"", &[("tl/x", "evil\n")], "tl/x"),
        (
            "mkdir -p .git/hooks; echo 'git archive HEAD tl | tar xO | sh' > .git/hooks/pre-commit",
            &[("tl/x", "evil\n")],
            "tl/x",
        ),
        (
            "git config extensions.worktreeConfig true; git worktree add -q ../wt -b other; git -C ../wt config --worktree core.hooksPath ../${PWD##*/}/tools",
            &[("tools/pre-commit", "evil\n")],
            "tools/pre-commit",
        ),
    ] {
        let fixture = HubFixture::new().await;
        let script =
            format!("{prepare}; git -c user.name=u -c user.email=u commit -q -n --allow-empty -m prepared");
        let mut shell = Command::new("sh");
        shell.args(["-ec", &script]).current_dir(fixture.root()).env("HOME", fixture.home());
        assert!(shell.status().unwrap().success(), "{prepare}");
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, files);
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert_eq!(why, LandingRefusal::SelfActing(vec![held.to_owned()]), "{prepare}");
    }
}

#[tokio::test]
async fn what_the_users_home_path_and_variables_lead_to_is_held_back() {
    let mut fixture = HubFixture::new().await;
    let (root, home) = (fixture.root().canonicalize().unwrap(), fixture.home().canonicalize().unwrap());
    symlink(root.join("bin"), home.join("bin")).unwrap();
    fs::create_dir(home.join(".ssh")).unwrap();
    symlink(root.join("dot/ssh"), home.join(".ssh/config")).unwrap();
    fixture.hub.users.search_path = vec![home.join("bin"), root.join("new/../sbin"), PathBuf::from("/bin")];
    fixture.hub.users.home = Some(home);
    let variables =
        [("BASH_ENV", "${X:-benv}"), ("CC", "sh cc.sh"), ("DOCKER_CONFIG", "docker"), ("NODE_ENV", "test")];
    fixture.hub.users.variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    fixture.git(&["config", "alias.x", "!run-parts parts"]);
    let (workspace, revision) = fixture.workspace().await;
    let held = ["benv", "bin/sh", "cc.sh", "docker/config.json", "dot/ssh", "parts/a", "sbin/ls"];
    let others = ["bin/our-own", "src/main.c", "test/a.js", "dot/other", "a/cc.sh"];
    let files: Vec<_> = held.iter().chain(&others).map(|path| (*path, "x\n")).collect();
    fixture.work(&workspace, &files);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(held.map(str::to_owned).to_vec()));
}

#[tokio::test]
async fn programs_behind_links_on_the_search_path_are_held_back() {
    for (entry, held) in
        [("$TOP/bin", "lib/t.sh"), ("bin", "lib/t.sh"), ("tools", "real/ls"), ("bin/sub", "real/ls")]
    {
        let mut fixture = HubFixture::new().await;
        let root = fixture.root().canonicalize().unwrap();
        fs::create_dir(root.join("bin")).unwrap();
        for (link, target) in [("bin/mytool", "../lib/t.sh"), ("bin/sub", "../real"), ("tools", "real")] {
            symlink(target, root.join(link)).unwrap();
        }
        fixture.commit(&[("lib/t.sh", "#!/bin/sh\n"), ("real/k", "")]);
        let entry = entry.replace("$TOP", &root.display().to_string());
        fixture.hub.users.search_path = vec![PathBuf::from(&entry), PathBuf::from("/bin")];
        let (workspace, revision) = fixture.workspace().await;
        fixture.work(&workspace, &[(held, "touch /pwned\n"), ("lib/other.sh", "")]);
        let why = refusal(fixture.land(&workspace, &revision).await);
        assert_eq!(why, LandingRefusal::SelfActing(vec![held.to_owned()]), "{entry}");
    }
}

#[tokio::test]
async fn files_of_the_user_are_not_said_to_act() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[(".autonoe/status.json", "{}"), ("b.txt", "")]);
    fixture.git_in(&workspace.tree(), &["add", "-f", ".autonoe/status.json"]);
    fixture.git_in(&workspace.tree(), &["commit", "-q", "--allow-empty", "-m", "forced"]);
    let why = refusal(fixture.land(&workspace, &revision).await).to_string();
    assert!(why.starts_with("only you and Autonoe write these files: .autonoe/status.json"), "{why}");
    assert!(!why.contains("by themselves"), "{why}");
}

#[tokio::test]
async fn attributes_that_run_no_program_of_the_users_land() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    let attributes = "* text=auto\n*.png binary\n*.md diff=markdown\n*.sh diff=bash eol=lf\n";
    fixture.work(&workspace, &[(".gitattributes", attributes)]);
    assert_eq!(fixture.land(&workspace, &revision).await, landed("main"));

    fixture.git(&["config", "diff.ruby.textconv", "own"]);
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[(".gitattributes", &format!("{attributes}*.rb diff=ruby\n"))]);
    let why = refusal(fixture.land(&workspace, &revision).await);
    assert_eq!(why, LandingRefusal::SelfActing(vec![".gitattributes".to_owned()]));
}

#[tokio::test]
async fn a_gitignore_that_ignores_more_lands() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(
        &workspace,
        &[(".gitignore", "/build/\n.vscode/*\n!.vscode/extensions.json\n.env*\n!.env.example\n")],
    );
    assert_eq!(fixture.land(&workspace, &revision).await, landed("main"));
}

#[tokio::test]
async fn who_merges_by_hand_is_told_what_acts_by_itself() {
    let fixture = HubFixture::new().await;
    let (workspace, revision) = fixture.workspace().await;
    fixture.work(&workspace, &[(".envrc", "evil")]);
    fixture.commit(&[("mine.txt", "")]);
    let why = refusal(fixture.land(&workspace, &revision).await).to_string();
    assert!(why.contains("look at files") && why.ends_with(": .envrc"), "{why}");
}
