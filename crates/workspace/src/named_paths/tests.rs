use super::*;

mod read_files;
mod variables;

/// The mode of a file that is not a program.
const FILE: &str = "100644";

#[test]
fn settings_and_hooks_name_paths() {
    let directory = tempfile::tempdir().expect("made");
    let top = directory.path().canonicalize().expect("there");
    let git = top.join(".git");
    fs::create_dir_all(git.join("hooks")).expect("made");
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
    let config = format!(
        "[core]\n\tbare = false\n\thooksPath = hooks-of-ours\n\tfsmonitor = ./tools/fsm.sh --fast\n[include]\n\tpath = ../.gitconfig\n\
         [filter \"x\"]\n\tclean = sh '{}/bin/clean' %f\n[remote \"origin\"]\n\turl = git@example.org:a/b.git\n",
        top.display()
    );
    fs::write(git.join("config"), config).expect("written");
    fs::write(git.join("hooks/commit-msg"), "#!/bin/sh\nexec scripts/check.py package.json\n")
        .expect("written");
    fs::write(git.join("hooks/pre-push.sample"), "exec other/check.py\n").expect("written");
    fs::create_dir(top.join("linked")).expect("made");
    fs::write(top.join("linked/pc.sh"), "").expect("written");
    std::os::unix::fs::symlink("../../linked/pc.sh", git.join("hooks/pre-commit")).expect("linked");
    std::os::unix::fs::symlink("../../linked/later.sh", git.join("hooks/post-merge")).expect("linked");
    let named = NamedPaths::of(&Repository::around(&top), &top, &UsersMachine::default());
    for path in [
        "linked/later.sh",
        "hooks-of-ours/pre-commit",
        "tools/fsm.sh",
        ".gitconfig",
        "bin/clean",
        "scripts/check.py",
        "linked/pc.sh",
    ] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    for path in ["package.json", "other/check.py", "tools/other.sh", "false", "a", "src/main.rs"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
}

#[test]
fn a_file_with_a_plain_name_counts_where_a_setting_of_git_is_a_path() {
    for (config, path) in [
        ("[core]\n\tattributesFile = attrs\n", "attrs"),
        ("[core]\n\tattributesfile = ./attrs\n", "attrs"),
        ("[core]\n\texcludesFile = ignored\n", "ignored"),
        ("[gpg \"ssh\"]\n\tallowedSignersFile = signers\n", "signers"),
        ("[http]\n\tsslCAInfo = certificates\n", "certificates"),
    ] {
        let (_directory, top) = repository(config, &[]);
        assert!(named_in(&top).contains(path, FILE), "{config}");
    }
    let (_directory, top) = repository("[commit]\n\tgpgSign = signers\n", &[]);
    assert!(!named_in(&top).contains("signers", FILE));
}

#[test]
fn a_file_with_a_plain_name_counts_where_a_hook_runs_or_loads_it() {
    for hook in [
        "sh < helper.txt\n",
        "cat helper.txt | sh\n",
        "eval \"$(cat helper.txt)\"\n",
        "$(cat helper.txt)\n",
        "sed -n -f helper.txt b.txt\n",
        "awk -f helper.txt b.txt\n",
        "make -f helper.txt\n",
        "pre-commit run --config helper.txt\n",
        "mycheck --config=helper.txt\n",
        "LEFTHOOK_CONFIG=helper.txt lefthook run pre-commit\n",
        "vim -u helper.txt -c q\n",
        "git -c include.path=$PWD/helper.txt status\n",
        "git -c include.path=$(pwd)/tools/../helper.txt status\n",
    ] {
        let (_directory, top) = repository("", &[(".git/hooks/pre-commit", hook)]);
        assert!(named_in(&top).contains("helper.txt", FILE), "{hook}");
    }
    for hook in
        ["grep -q x helper.txt\n", "test -f helper.txt || exit 1\n", "git add helper.txt && npm test\n"]
    {
        let (_directory, top) = repository("", &[(".git/hooks/pre-commit", hook)]);
        assert!(!named_in(&top).contains("helper.txt", FILE), "{hook}");
    }
}

/// A repository with these files; those below `.git/hooks` are hooks.
fn repository(config: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("made");
    let top = directory.path().canonicalize().expect("there");
    let config = config.replace("$TOP", &top.display().to_string());
    for (name, content) in
        files.iter().chain(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", config.as_str())])
    {
        let path = top.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, content).expect("written");
    }
    (directory, top)
}

fn named_in(top: &Path) -> NamedPaths {
    NamedPaths::of(&Repository::around(top), top, &UsersMachine::default())
}

#[test]
fn scripts_that_scripts_run_are_named() {
    let (_directory, top) = repository(
        "",
        &[
            (".git/hooks/pre-commit", "#!/bin/sh\nexec scripts/lint.sh src/\n"),
            ("scripts/lint.sh", ". ./common.sh\npython3 tools/check.py\n\"$(dirname \"$0\")/deep.sh\"\n"),
            ("scripts/common.sh", "sh lib/more.sh\n"),
            ("scripts/deep.sh", "node_modules/.bin/x; sh scripts/lint.sh"),
            ("tools/check.py", "subprocess.run(['tools/new'])\n"),
            ("node_modules/.bin/x", "scripts/other.sh"),
            ("src/main.py", ""),
        ],
    );
    let named = named_in(&top);
    for path in ["scripts/lint.sh", "scripts/common.sh", "tools/check.py", "scripts/deep.sh", "lib/more.sh"] {
        assert!(named.contains(path, FILE), "{path}");
    }
    assert!(named.contains("tools/new", "100755") && !named.contains("tools/new", FILE));
    for path in ["src/main.py", "scripts/other.sh", "scripts/new.sh"] {
        assert!(!named.contains(path, FILE), "{path}");
    }
}

#[test]
fn modules_and_directories_whose_files_are_run_are_named() {
    let hook = "python -m tools.lint\nfor f in checks/*; do sh $f; done\nruff check src/\n";
    let (_directory, top) =
        repository("", &[(".git/hooks/pre-push", hook), ("checks/a", ""), ("src/main.py", "")]);
    let named = named_in(&top);
    for path in ["tools/lint.py", "tools/lint/__main__.py", "tools/__init__.py", "checks/new"] {
        assert!(named.contains(path, FILE), "{path}");
    }
    assert!(!named.contains("src/main.py", FILE));
}

#[test]
fn hooks_in_the_project_itself_are_named_and_followed() {
    for path in ["$TOP", "$TOP/", ".", "./", "\"./\""] {
        let config = format!("[core]\n\thooksPath = {path}\n");
        let files = [("pre-commit", "sh lint.sh; make\n"), ("lint.sh", ""), ("README.md", "See `src/a.py`")];
        let (_directory, top) = repository(&config, &files);
        let named = named_in(&top);
        for file in ["pre-commit", "pre-push", "post-checkout", "lint.sh"] {
            assert!(named.contains(file, FILE), "{path}: {file}");
        }
        for file in ["README.md", "src/a.py", "app/pre-commit"] {
            assert!(!named.contains(file, FILE), "{path}: {file}");
        }
        let hook = |path: &str| HookFile { hook: "pre-commit".to_owned(), path: path.to_owned() };
        assert_eq!(named.hook_files(["Makefile", "package.json"]), [hook("Makefile")], "{path}");
    }
}

#[test]
fn files_that_runners_read_are_named_with_their_hooks() {
    let (_directory, top) = repository(
        "[core]\n\thooksPath = .husky/_\n",
        &[
            (".husky/_/pre-commit", ". \"$(dirname \"$0\")/h\""),
            (".husky/pre-commit", "npm run lint\nscripts/more.sh\n"),
            (".husky/pre-push", "npm test\n"),
            ("scripts/more.sh", "cargo xtask lint\n"),
        ],
    );
    let named = named_in(&top);
    let found = named.hook_files(["src/main.rs", "web/package.json", "xtask/src/main.rs", "Makefile"]);
    let found: Vec<_> = found.iter().map(|file| (file.hook.as_str(), file.path.as_str())).collect();
    let expected = [
        ("pre-commit", "web/package.json"),
        ("pre-commit", "xtask/src/main.rs"),
        ("pre-push", "web/package.json"),
    ];
    assert_eq!(found, expected);
    assert!(!named.contains("web/package.json", FILE) && named.contains("scripts/more.sh", FILE));
}

#[test]
fn what_a_link_elsewhere_or_a_variable_names_is_named() {
    let (_directory, top) = repository("[core]\n\tfsmonitor = ~/lnk/scripts/fs.sh\n", &[]);
    let home = tempfile::tempdir().expect("made");
    let link =
        |from: &Path, to: &str| std::os::unix::fs::symlink(from, home.path().join(to)).expect("linked");
    link(&top, "lnk");
    link(&top.join("dot/gitconfig"), ".gitconfig");
    fs::create_dir_all(home.path().join(".config")).expect("made");
    link(&top.join("dot/git"), ".config/git");
    link(&top.join("dot/later"), ".config/later");
    fs::create_dir_all(top.join("dot/git")).expect("made");
    fs::write(top.join("dot/gitconfig"), "[include]\n\tpath = ~/lnk/team.cfg\n").expect("written");
    let users = UsersMachine {
        home: Some(home.path().canonicalize().expect("there")),
        git_settings: vec![top.join("xdg/git/config"), home.path().join(".config/later")],
        commands: vec![
            "./tools/diff.sh --fast".to_owned(),
            "$HOME/lnk/rc.sh".to_owned(),
            "'core.pager'='bin/page'".to_owned(),
            "less -R".to_owned(),
        ],
        ..UsersMachine::default()
    };
    let named = NamedPaths::of(&Repository::around(&top), &top, &users);
    for path in [
        "scripts/fs.sh",
        "dot/gitconfig",
        "dot/git/ignore",
        "team.cfg",
        "xdg/git/config",
        "dot/later",
        "tools/diff.sh",
        "rc.sh",
        "bin/page",
    ] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    for path in ["scripts/other.sh", "dot/other", "less", "src/main.rs", "xdg/other"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
}

#[test]
fn what_other_settings_say_about_programs_is_followed() {
    let lefthook = "pre-commit: {commands: {b: {root: \"lh/\", run: ./01.sh}}, scripts: {\"02.sh\": {runner: bash}}}\n\
                    source_dir: lhs\nextends: [lh/05.yml]\nrc: ./lh/06.rc\n";
    let (_directory, top) = repository(
        "",
        &[
            ("lefthook.yml", lefthook),
            (
                ".envrc",
                "load_prefix e/09\nPATH_add tools\nsource e/plain\nsource_env_if_exists e/new\n. e/x.inc\n",
            ),
            (
                ".pre-commit-config.yaml",
                "repos:\n- hooks:\n  - id: a\n    entry: >-\n      lh/folded.sh ${D:-new}/default.sh\n    files: src/a.py\n",
            ),
            ("e/plain", "bash e/more\n"),
            ("lh/folded.sh", ""),
            ("src/a.py", ""),
            (
                ".mcp.json",
                "{\"mcpServers\": {\"a\": {\n\"command\": \"python3\",\n\"args\": [\"-m\", \"m.m02\"]}}}\n",
            ),
            (".vscode/settings.json", "{\"git.path\": \"${workspaceFolder}/tools2/git.sh\"}\n"),
            ("conductor.json", "{\n  \"scripts\": {\n    \"setup\": \"./conduct/setup.sh\"}}\n"),
            ("lh/01.sh", ""),
            ("tools2/git.sh", ""),
        ],
    );
    let named = named_in(&top);
    for path in [
        "lh/01.sh",
        "lhs/pre-commit/02.sh",
        "lh/05.yml",
        "lh/06.rc",
        "lh/folded.sh",
        "new/default.sh",
        "e/plain",
        "e/more",
        "e/new",
        "e/x.inc",
        "m/m02.py",
        "conduct/setup.sh",
        "tools2/git.sh",
    ] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    for directory in ["e/09/bin", "tools"] {
        assert!(named.program_directories().iter().any(|found| found == directory), "{directory}");
    }
    for path in ["src/main.rs", "src/a.py", "lh/other.rs", "m/m03.py", "tests/a.sh", "tools/x.sh"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
}

#[test]
fn commands_in_settings_are_read_like_hooks() {
    for command in [
        r#"\"tools/x\" %f"#,
        r#"sh \"tools/x\""#,
        r#"\"$TOP/tools/x\""#,
        r#"bash -c \"tools/x\""#,
        r#"sh\ttools/x"#,
        "cd tools && ./x",
        r#""cd tools; sh x""#,
        "$(git rev-parse --show-toplevel)/tools/x",
        "`git rev-parse --show-toplevel`/tools/x",
        "$PWD/tools/x",
        r#""D=tools; $D/x""#,
        "PATH=tools:$PATH x",
        r"tools\\/x",
    ] {
        let config = format!("[filter \"f\"]\n\tclean = {command}\n");
        let (_directory, top) = repository(&config, &[("tools/x", "")]);
        let named = named_in(&top);
        assert!(named.contains("tools/x", "100755"), "{command}: {named:?}");
        assert!(!named.contains("src/main.rs", FILE), "{command}: {named:?}");
    }
    let (_directory, top) = repository("[filter \"f\"]\n\tclean = python3 -m tools.x\n", &[]);
    assert!(named_in(&top).contains("tools/x.py", FILE));
    let (_directory, top) = repository("[filter \"f\"]\n\tclean = make -s clean\n", &[]);
    assert!(named_in(&top).contains("Makefile", FILE));
}

#[test]
fn commands_of_settings_aliases_hooks_and_variables_run_the_same_scripts() {
    for (command, file) in [
        ("cd tools && ./x.sh", "tools/x.sh"),
        ("node tools/x", "tools/x.js"),
        ("node tools/x", "tools/x/index.js"),
        ("node --no-warnings tools/y", "tools/y.mjs"),
        ("ruby tools/x", "tools/x.rb"),
        ("deno run tools/x", "tools/x.ts"),
        ("python3 tools", "tools/__main__.py"),
        ("perl -I lib x.pl", "lib/strict.pm"),
        ("perl -Ilib -e 1", "lib/List/Util.pm"),
        ("PERL5LIB=lib git-x", "lib/Git.pm"),
        ("PYTHONPATH=$PWD/lib x", "lib/json/__init__.py"),
        ("LD_LIBRARY_PATH=\"$ROOT/lib\" x", "lib/libz.so.1"),
        ("ruby -I lib -e 1", "lib/rubygems.rb"),
        ("ruby -Ilib -rboot -e 1", "lib/boot.rb"),
        ("python3 -Bm tools.z", "tools/z.py"),
        ("python3 -Sumtools.z", "tools/z.py"),
        ("python3 -Xdev -mtools", "tools/__main__.py"),
        ("python3 -c \"__import__('tools.z')\"", "tools/z.py"),
        ("lua -l lib.z -e 1", "lib/z.lua"),
        ("\"${T:-own}/z.sh\"", "own/z.sh"),
        ("sh \"${T:-own/z}\"", "own/z"),
        (". \"${T-own}/z\"", "own/z"),
        ("sh ${T+own}/z", "own/z"),
        ("sh ${T:-${U:-own}}/$name", "own/new"),
        ("true ${T:=own} && sh $T/z", "own/z"),
        ("python3 -m ${T:-own}.z", "own/z.py"),
        ("emacs -nw --init-directory=own", "own/init.el"),
        ("emacs --batch -L own -l z", "own/z.el"),
        ("emacs --batch -l own/z", "own/z.elc"),
        ("emacs --batch --eval \"(load './own/z')\"", "own/z.el"),
        ("tmux -2fown/z", "own/z"),
        ("java @own/args", "own/args"),
        ("java -cp own M", "own/M.class"),
        ("java -jar z.jar", "z.jar"),
        ("jq -L own .", "own/z.jq"),
        ("gpg --homedir own", "own/gpg.conf"),
        ("go run ./own", "own/main.go"),
        ("git -c core.hooksPath=own commit", "own/pre-commit"),
        ("git -c core.fsmonitor=z.sh status", "z.sh"),
        ("T=own git --config-env=core.hooksPath=T commit", "own/pre-commit"),
        (
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=own git commit",
            "own/pre-push",
        ),
        ("sh own/z{1,2}.sh", "own/z1.sh"),
        ("for i in own/z{1..3}.sh; do . ./$i; done", "own/z2.sh"),
        ("bash -c 'sh own/z{,2}'", "own/z2"),
        ("sh own/{1..500}.sh", "own/499.sh"),
        ("sh $'own/\\x7a'", "own/z"),
        ("git archive HEAD own | tar xO | sh", "own/z.txt"),
        ("gcc -Bown/ -c x.c", "own/cc1"),
        ("gcc -specs=lib/a -c x.c", "lib/a"),
    ] {
        let quoted = command.replace('\\', "\\\\").replace('"', "\\\"");
        let files = [("tools/x.sh", ""), ("lib/a", "")];
        let hook = [("tools/x.sh", ""), ("lib/a", ""), (".git/hooks/pre-commit", command)];
        let variable = vec![("GIT_PAGER".to_owned(), command.to_owned())];
        for (config, files, variables) in [
            (format!("[core]\n\tpager = {quoted}\n"), &files[..], Vec::new()),
            (format!("[diff \"foo\"]\n\ttextconv = {quoted}\n"), &files, Vec::new()),
            (format!("[alias]\n\tst = !{quoted}\n"), &files, Vec::new()),
            (format!("[alias]\n\tst = \"!{quoted}\"\n"), &files, Vec::new()),
            (String::new(), &hook, Vec::new()),
            (String::new(), &files, variable),
        ] {
            let (_directory, top) = repository(&config, files);
            let users = UsersMachine { variables: variables.clone(), ..UsersMachine::default() };
            let named = NamedPaths::of(&Repository::around(&top), &top, &users);
            let place = format!("{command}: {file} by {config}{variables:?}");
            assert!(named.contains(file, FILE), "{place}");
            for other in ["src/main.rs", "src/x.js", "docs/x.md"] {
                assert!(!named.contains(other, FILE), "{place}: {other}");
            }
        }
    }
}

#[test]
fn options_of_git_in_aliases_count_as_settings() {
    let config = "[alias]\n\tci = -c core.hooksPath=hk commit\n\tco = --config-env=core.hooksPath=HKV commit\n\
                  \tst = -c core.fsmonitor=fsm.sh -c alias.x='!sh deep/x' status\n[url \"ext::sh -c own/p %S\"]\n\tinsteadOf = own:\n";
    let (_directory, top) = repository(config, &[("hk/pre-push", "sh tools/more.sh\n"), ("fsm.sh", "")]);
    let variables = [
        ("HKV", "more"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.hooksPath"),
        ("GIT_CONFIG_VALUE_0", "by-variable"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let users = UsersMachine { variables, ..UsersMachine::default() };
    let named = NamedPaths::of(&Repository::around(&top), &top, &users);
    for path in [
        "hk/pre-commit",
        "tools/more.sh",
        "more/pre-commit",
        "fsm.sh",
        "deep/x",
        "own/p",
        "by-variable/update",
    ] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    assert!(!named.contains("src/main.rs", FILE), "{named:?}");
}

#[test]
fn options_that_load_files_at_the_top_are_known() {
    let hook = "gcc -specs=specs @args -c x.c; cc -wrapper w,--args y.c; eslint --plugin react src\n";
    let files = [(".git/hooks/pre-commit", hook), ("specs", ""), ("args", ""), ("w", ""), ("react/a", "")];
    let (_directory, top) = repository("", &files);
    let named = named_in(&top);
    for path in ["specs", "args"] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    for path in ["react/a", "src/a.js", "x.c"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
}

#[test]
fn ordinary_hooks_hold_back_no_sources() {
    for hook in [
        "npm test && npx lint-staged --config .lintstagedrc.json",
        "cargo fmt --check && cargo test --manifest-path web/Cargo.toml",
        "make check CFLAGS=-Iinclude",
        "go vet ./... && go test -race ./src/... && golangci-lint run --config .golangci.yml src",
        "python -m pytest --cov=src --rootdir=tests -p no:cacheprovider -m slow tests",
        "ruff check --config pyproject.toml src tests && mypy -p src && black --check ${DIRS:-src tests}",
        "npx eslint --ext .js,.ts --plugin react --cache src && npx prettier --check src",
        "npx tsc -p web --noEmit && npx jest --roots src tests",
        "bundle exec rubocop -c .rubocop.yml src && ruby -Isrc -Itests tests/all.rb",
        "emacs --batch -L src -f batch-byte-compile src/a.el",
        "uv run --directory web pytest && poetry run mypy src",
        "pre-commit run --hook-stage pre-push && lefthook run pre-commit",
        "black src/*.py && clang-format --dry-run -Werror src/*.c include/*.h",
        "npx prettier --check \"src/**/*.{js,ts}\"",
        "if grep -q TODO src/a.py; then exit 1; fi\ntest -f web/index.js",
        "mvn -q -pl web verify; ./gradlew :web:check -PsrcDir=src",
        "tar -czf /tmp/x.tgz src; cp -Rp src /tmp/x; git -C web diff --stat -- src",
    ] {
        let files = [(".git/hooks/pre-commit", hook), ("src/a.js", ""), ("tests/x", ""), ("web/x", "")];
        let (_directory, top) = repository("", &files);
        let named = named_in(&top);
        for path in "src/a.py src/app/b.go src/main.rs src/b.js src/c.rb src/x.el src/A.java include/a.h tests/b.py tests/c.rb \
                     web/src/a.ts web/index.js web/pyproject.toml README.md a.go index.js package.json Cargo.toml"
            .split_whitespace()
        {
            assert!(!named.contains(path, FILE), "{hook}: {path}: {named:?}");
        }
    }
}

#[test]
fn files_of_go_are_named_where_a_hook_generates_from_them() {
    let (_directory, top) = repository("", &[(".git/hooks/pre-commit", "go generate ./... && go vet ./...")]);
    let found = named_in(&top).hook_files(["gen.go", "a/b.go", "go.mod"]);
    assert_eq!(found.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a/b.go", "gen.go"]);
    let (_directory, top) = repository("", &[(".git/hooks/pre-commit", "go vet ./... && go test ./...")]);
    assert_eq!(named_in(&top).hook_files(["gen.go"]), []);
}

#[test]
fn what_completed_names_lead_to_is_followed() {
    let files = [("tools/x.js", "require('./y.js'); exec('scripts/z.sh')"), ("scripts/z.sh", "")];
    let (_directory, top) = repository("[core]\n\tpager = node tools/x\n", &files);
    for path in ["tools/y.js", "scripts/z.sh"] {
        assert!(named_in(&top).contains(path, FILE), "{path}");
    }
}

#[test]
fn files_that_runners_in_aliases_read_are_named_with_them() {
    let config = "[alias]\n\tst = status -sb\n\tci = !make lint && git commit\n\tx = \"!npm run x\"\n";
    let (_directory, top) = repository(config, &[]);
    let named = named_in(&top);
    // Only the user's own word starts an alias.
    assert!(!named.contains("Makefile", FILE));
    let found = named.hook_files(["Makefile", "package.json", "justfile"]);
    let found: Vec<_> = found.iter().map(|file| (file.hook.as_str(), file.path.as_str())).collect();
    assert_eq!(found, [("alias.ci", "Makefile"), ("alias.x", "package.json")]);
}

#[test]
fn a_changed_link_to_what_a_variable_loads_is_held_back() {
    let (_directory, top) = repository("", &[]);
    let fixed = top.join("fixed").display().to_string();
    let variables = [("PYTHONPATH", "src/lib"), ("RUBYLIB", &fixed), ("GOFLAGS", "-toolexec=tools/x.sh")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let users = UsersMachine { variables, ..UsersMachine::default() };
    let mut named = NamedPaths::of(&Repository::around(&top), &top, &users);
    for link in ["src", "src/lib", "src/lib/a", "a/src", "fixed", "tools", "tools/x.sh"] {
        assert!(named.contains(link, "120000"), "{link}: {named:?}");
    }
    for link in ["docs", "lib", "a/fixed"] {
        assert!(!named.contains(link, "120000"), "{link}: {named:?}");
    }
    assert!(!named.contains("other/sitecustomize.py", FILE));
    named.follow(&TreeLinks::new([("src/lib", "../other")].into_iter()));
    assert!(named.contains("other/sitecustomize.py", FILE));
}

#[test]
fn directories_that_an_envrc_puts_on_search_paths_are_known_before_they_exist() {
    for (line, path) in [
        ("export PATH=\"$PWD/bin:$PATH\"", "bin/git"),
        ("export PATH=\"$(pwd)/bin:$PATH\"", "bin/git"),
        ("PATH=./bin:$PATH", "bin/git"),
        ("layout node", "node_modules/.bin/git"),
        ("export PYTHONPATH=$PWD/lib", "lib/sitecustomize.py"),
        ("eval \"$(make -s env)\"", "Makefile"),
        ("export XDG_CONFIG_HOME=$PWD/.cfg", ".cfg/git/config"),
        ("export ZDOTDIR=\"${PWD}/z\"", "z/.zshrc"),
        ("export NPM_CONFIG_PREFIX=$PWD/x; PATH_add $NPM_CONFIG_PREFIX/bin", "x/bin/git"),
    ] {
        let (_directory, top) = repository("", &[(".envrc", line)]);
        let named = named_in(&top);
        let directories = named.program_directories();
        let is_program =
            path.rsplit_once('/').is_some_and(|(directory, _)| directories.contains(&directory.to_owned()));
        assert!(is_program || named.contains(path, "100755"), "{line}: {named:?}");
        assert!(!named_in(&top).contains("src/main.py", "100755"), "{line}");
    }
}

#[test]
fn directories_that_run_parts_runs_are_named_before_they_exist() {
    for command in [
        "run-parts tools",
        "run-parts --exit-on-error ./tools",
        "/usr/bin/run-parts --regex '.*' tools/",
        "run-parts \"$(git rev-parse --show-toplevel)/tools\"",
        "run-parts ${ROOT}/tools",
        "D=tools; run-parts $D",
        "cd tools && run-parts .",
        "cd $ROOT/tools; exec run-parts ./",
        "run-parts $TOP/tools",
    ] {
        let quoted = command.replace('\\', "\\\\").replace('"', "\\\"");
        for (config, hook) in [
            (format!("[alias]\n\tx = \"!{quoted}\"\n"), ""),
            (format!("[core]\n\tfsmonitor = \"{quoted}\"\n"), ""),
            (String::new(), command),
        ] {
            let (_directory, top) = repository(&config, &[]);
            let hook = hook.replace("$TOP", &top.display().to_string());
            fs::create_dir_all(top.join(".git/hooks")).expect("made");
            fs::write(top.join(".git/hooks/post-merge"), hook).expect("written");
            let named = named_in(&top);
            assert!(named.contains("tools/check", "100755"), "{command} by {config}: {named:?}");
            assert!(!named.contains("src/main.rs", FILE), "{command} by {config}: {named:?}");
        }
    }
    let (_directory, top) = repository("[alias]\n\tx = !run-parts .\n", &[]);
    assert!(named_in(&top).contains("check", "100755") && !named_in(&top).contains("src/check", "100755"));
    let (_directory, top) = repository("[alias]\n\tx = !run-parts /etc/tools\n", &[]);
    assert!(!named_in(&top).contains("tools/check", "100755") && !named_in(&top).contains("check", "100755"));
}

#[test]
fn what_links_of_the_home_directory_lead_to_is_named() {
    let (_directory, top) = repository("", &[]);
    let directory = tempfile::tempdir().expect("made");
    let home = directory.path().canonicalize().expect("there");
    for (link, target) in [
        (".local/lib/python3.11/site-packages", "site"),
        (".ssh/config", "dot/ssh"),
        (".bash_completion", "dot/completion"),
        (".own/deep/er/rc", "new/../rc"),
        ("work", "docs"),
    ] {
        let path = home.join(link);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::os::unix::fs::symlink(top.join(target), path).expect("linked");
    }
    let users = UsersMachine { home: Some(home.clone()), ..UsersMachine::default() };
    let named = NamedPaths::of(&Repository::around(&top), &top, &users);
    for path in ["site/a.pth", "site/a/__init__.py", "dot/ssh", "dot/completion", "rc"] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    for path in ["dot/other", "docs/a.md", "src/main.rs", "a.lua"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
    std::os::unix::fs::symlink(&top, home.join(".own/nvim")).expect("linked");
    let named = NamedPaths::of(&Repository::around(&top), &top, &users);
    assert!(named.contains("lua/init.lua", FILE) && !named.contains("README.md", FILE), "{named:?}");
}

#[test]
fn scripts_with_computed_names_are_named() {
    let hook = "#!/bin/sh\nsh hooks/$(basename \"$0\").sh\nname=lint; sh tools/$name.sh\ndir=given; sh $dir/run\n\
                ls checks | while read f; do sh checks/$f; done\nfind more -exec sh {} \\;\n\
                perl -Iown scripts/a.pl\npython3 scripts/b.py\nnode scripts/c.js\npython -m pkg.run\n";
    let (_directory, top) = repository(
        "",
        &[
            (".git/hooks/pre-commit", hook),
            ("scripts/a.pl", "use Foo;\n"),
            ("own/Foo.pm", "use Deep::Er;\n"),
            ("scripts/b.py", "import helper\nfrom src import main\n"),
            ("scripts/helper.py", "import more\n"),
            ("scripts/c.js", "require('./d')\nrequire('../src/e')\n"),
            ("pkg/__init__.py", ""),
            ("pkg/run.py", "from pkg import part\nfrom .other import x\n"),
        ],
    );
    let named = named_in(&top);
    for path in [
        "hooks/pre-commit.sh",
        "tools/lint.sh",
        "given/run",
        "checks/new",
        "more/deep/new",
        "own/Foo.pm",
        "own/Deep/Er.pm",
        "scripts/helper.py",
        "scripts/more.py",
        "scripts/d.js",
        "pkg/part.py",
        "pkg/other.py",
    ] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    for path in ["given/other", "src/main.py", "src/e.js", "hooks/README", "own/Bar.pm", "pkg/alone.py"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
}

#[test]
fn comments_name_nothing() {
    let hook = "#!/bin/sh\n# see tools/old.sh and `make docs`\nsh tools/new.sh # not tools/other.sh\n";
    let (_directory, top) = repository("", &[(".git/hooks/pre-commit", hook)]);
    let named = named_in(&top);
    assert!(named.contains("tools/new.sh", FILE));
    for path in ["tools/old.sh", "tools/other.sh"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
    assert_eq!(named.hook_files(["Makefile"]), []);
}

#[test]
fn parts_of_the_repository_that_are_in_the_checkout_are_known() {
    let files = [("own/x", ""), (".git/info/x", ""), (".git/objects/info/alternates", "# x\n../../store\n")];
    let (_directory, top) = repository("", &files);
    let outside = tempfile::tempdir().expect("made");
    for (link, target) in [
        (".git/packed-refs", "../own/packed"),
        (".git/refs", "../own/refs"),
        (".git/info/attributes", "../../own/attributes"),
        (".git/logs", outside.path().to_str().expect("text")),
    ] {
        std::os::unix::fs::symlink(target, top.join(link)).expect("linked");
    }
    std::os::unix::fs::symlink(top.join("own/heads"), outside.path().join("refs")).expect("linked");
    let named = named_in(&top);
    for path in ["own/packed", "own/refs/heads/x", "own/attributes", "own/heads/x", "store/pack/x.pack"] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    for path in ["own/x", "attributes", "heads/x", "refs/x", "storeroom/x"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
    std::os::unix::fs::symlink("../..", top.join(".git/info/top")).expect("linked");
    assert!(named_in(&top).contains("attributes", FILE));
}

#[test]
fn settings_of_other_working_trees_name_paths() {
    let outside = tempfile::tempdir().expect("made");
    let tree = outside.path().canonicalize().expect("there").join("tree");
    fs::create_dir(&tree).expect("made");
    let (_directory, top) = repository("", &[]);
    let to_top = format!("../../{}", top.file_name().expect("a name").to_str().expect("text"));
    let settings =
        format!("[core]\n\thooksPath = {to_top}/their-hooks\n\tfsmonitor = {}/fsm\n", top.display());
    for (name, content) in [("gitdir", format!("{}/.git\n", tree.display())), ("config.worktree", settings)] {
        let path = top.join(".git/worktrees/tree").join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, content).expect("written");
    }
    let hook = top.join("their-hooks/pre-commit");
    fs::create_dir(hook.parent().expect("a directory")).expect("made");
    fs::write(hook, "sh tools/check.sh\n").expect("written");
    let named = named_in(&top);
    for path in ["their-hooks/pre-commit", "fsm", "tools/check.sh"] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    assert!(!named.contains("hooks/pre-commit", FILE), "{named:?}");
}

#[test]
fn paths_that_are_attached_to_options_are_named() {
    let settings = [
        "diff.x.textconv = awk -ftools/m",
        "filter.x.clean = sed -nftools/m",
        "filter.x.clean = sed -fm",
        "filter.x.clean = sed -fm.sed",
        "filter.x.clean = node -rtools/m",
        "filter.x.clean = ruby -r./tools/m -e 1",
        "filter.x.clean = php -ftools/m",
        "core.sshCommand = ssh -vFtools/m",
        "core.editor = vim -utools/m",
        "core.editor = vim -S'tools/m'",
        "alias.y = !make -ftools/m",
        "alias.y = !tar cf x -Itools/m .",
        "alias.y = !rsync -etools/m a b:",
        "alias.y = !git --exec-path=tools m",
        "alias.y = !python3 .",
        "alias.y = !node .",
    ];
    let files =
        ["tools/m", "m", "m.sed", "tools/m.js", "tools/m.rb", "tools/git-m", "__main__.py", "lib/x.js"];
    let mut missed = Vec::new();
    for (line, file) in
        settings.iter().zip([0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5, 6, 7].map(|at| files[at]))
    {
        let (key, value) = line.split_once(" = ").expect("a setting");
        let (section, key) = key.rsplit_once('.').expect("a key");
        let section = section.split_once('.').map_or(section.to_owned(), |(a, b)| format!("{a} \"{b}\""));
        let config = format!("[{section}]\n\t{key} = {value}\n");
        let (_directory, top) =
            repository(&config, &[("m", ""), ("package.json", r#"{"main": "./lib/x.js"}"#)]);
        let named = named_in(&top);
        if !named.contains(file, "100755") {
            missed.push((line, file));
        }
        for other in ["src/main.rs", "tools/other", "a", "b"] {
            assert!(!named.contains(other, FILE), "{line}: {other}");
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
