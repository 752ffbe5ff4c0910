//! What the variables of the user name.

use super::*;

/// What the variables of the user name, in an empty repository.
fn named_by(variables: &[(&str, &str)]) -> (tempfile::TempDir, NamedPaths) {
    let (directory, top) = repository("", &[]);
    let at_top = |value: &str| value.replace("$TOP", &top.display().to_string());
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), at_top(value))).collect();
    let users = UsersMachine { variables, ..UsersMachine::default() };
    (directory, NamedPaths::of(&Repository::around(&top), &top, &users))
}

#[test]
fn what_the_users_variables_name_is_held_back() {
    let (_directory, top) = repository(
        "",
        &[("cfg/less", ""), ("lib/a.py", ""), (".envrc", "run-parts tools\n"), ("tools/env", "")],
    );
    let at = |path: &str| top.join(path).display().to_string();
    let variables = [
        ("LESSKEYIN", at("cfg/less")),
        ("PYTHONPATH", at("lib")),
        ("ANYTHING", format!("x:{}", at("cfg/other"))),
        ("DATA", at("data")),
        ("MAIN", at("main.py")),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let users = UsersMachine { variables, ..UsersMachine::default() };
    let named = NamedPaths::of(&Repository::around(&top), &top, &users);
    for path in ["cfg/less", "lib/sitecustomize.py", "lib/json.py", "tools/env", "tools/new"] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    // Programs of the user's import no module of this name.
    for path in
        ["lib/a.py", "lib/util.js", "data/x.csv", "lib/notes.txt", "src/main.rs", "main.py", "cfg/other"]
    {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
}

#[test]
fn values_of_variables_are_read_as_a_shell_expands_them() {
    for value in [
        "$PWD/benv",
        "${PWD}/benv",
        "$(pwd)/benv",
        "${X:-benv}",
        "${X:-$PWD}/benv",
        "$AT/benv",
        "${AT}/sub/../benv",
        "$X/benv",
        "./be'n'v",
        "b\\env",
        "$(echo benv)",
    ] {
        for name in ["BASH_ENV", "ENV", "LESSOPEN"] {
            let (_directory, named) = named_by(&[(name, value), ("AT", "$TOP")]);
            assert!(named.contains("benv", FILE), "{name}={value}: {named:?}");
            assert!(!named.contains("src/main.rs", FILE), "{name}={value}: {named:?}");
        }
    }
    let (_directory, named) = named_by(&[("BASH_ENV", "$AT/benv"), ("AT", "sub")]);
    assert!(named.contains("sub/benv", FILE) && !named.contains("benv", FILE), "{named:?}");
}

#[test]
fn variables_count_where_hooks_and_settings_use_them() {
    let variables = [("CHECK", "tools/check"), ("D", "own"), ("UNUSED", "tools/other.sh")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    for (config, files, file) in [
        ("", [(".git/hooks/pre-commit", "sh \"$CHECK\" && x")], "tools/check"),
        ("", [(".git/hooks/pre-commit", "\"${D:-tools}/x.sh\"")], "own/x.sh"),
        ("", [(".git/hooks/pre-commit", "D=${D:-tools}; sh $D/x")], "own/x"),
        ("[alias]\n\tx = !$D/x.sh\n", [("a", "")], "own/x.sh"),
        ("[core]\n\tpager = sh $CHECK\n", [("a", "")], "tools/check"),
        ("", [("lefthook.yml", "pre-commit:\n  run: $D/x.sh\n")], "own/x.sh"),
        ("", [(".envrc", ". $CHECK\n")], "tools/check"),
    ] {
        let (_directory, top) = repository(config, &files);
        let users = UsersMachine { variables: variables.clone(), ..UsersMachine::default() };
        let named = NamedPaths::of(&Repository::around(&top), &top, &users);
        assert!(named.contains(file, FILE), "{config}{files:?}: {named:?}");
        assert!(!named.contains("tools/other.sh", FILE), "{config}{files:?}: {named:?}");
    }
}

#[test]
fn an_ordinary_environment_holds_nothing_back() {
    let variables = [
        ("BROWSER", "firefox"),
        ("CARGO_HOME", "/home/u/.cargo"),
        ("CARGO_TARGET_DIR", "target"),
        ("CC", "gcc"),
        ("CDPATH", ".:~/work"),
        ("BUNDLE_GEMFILE", "Gemfile"),
        ("CFLAGS", "-O2 -g -Iinclude -I./include -L$TOP/lib"),
        ("COLORTERM", "truecolor"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
        ("DEBUG", "app:*"),
        ("DISPLAY", ":0"),
        ("EDITOR", "vim"),
        ("FZF_DEFAULT_OPTS", "--preview 'bat --color=always {}' --height=40%"),
        ("GIT_AUTHOR_NAME", "A U Thor"),
        ("GOPATH", "/home/u/go"),
        ("HISTIGNORE", "ls:make:git status"),
        ("HOME", "/home/u"),
        ("JAVA_HOME", "/usr/lib/jvm/default"),
        ("LANG", "en_US.UTF-8"),
        ("LC_ALL", "C.UTF-8"),
        ("LESS", "-FRX"),
        ("LESSOPEN", "| /usr/bin/lesspipe %s"),
        ("LOGNAME", "dev"),
        ("MAIN", "main.py"),
        ("MAVEN_OPTS", "-Xmx1g -Dx=src/main"),
        ("NOTE", "build and run configure, see README and scripts/build.sh"),
        ("PYTEST_ADDOPTS", "--ignore=tests/slow"),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36:*.tar=01;31:*README=4:*Makefile=33"),
        ("MANPATH", "/usr/share/man:"),
        ("NODE_ENV", "test"),
        ("OLDPWD", "$TOP"),
        ("PAGER", "less -R"),
        ("PROMPT_COMMAND", "history -a"),
        ("PS1", "${debian_chroot:+($debian_chroot)}\\u@\\h:\\w\\$ "),
        ("PWD", "$TOP/src"),
        ("PYTHONBREAKPOINT", "ipdb.set_trace"),
        ("PYTHONWARNINGS", "default::DeprecationWarning"),
        ("RAILS_ENV", "development"),
        ("RUSTFLAGS", "-C target-cpu=native"),
        ("RUST_BACKTRACE", "1"),
        ("RUST_LOG", "info,app=debug"),
        ("SHELL", "/bin/bash"),
        ("SHLVL", "1"),
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
        ("TERM", "xterm-256color"),
        ("TZ", "Europe/Berlin"),
        ("USER", "dev"),
        ("VISUAL", "code --wait"),
        ("XDG_CURRENT_DESKTOP", "GNOME"),
        ("XDG_RUNTIME_DIR", "/run/user/1000"),
    ];
    let (_directory, named) = named_by(&variables);
    for path in "src/main.rs src/lib.rs src/app.py src/app/__init__.py include/a.h Cargo.toml package.json Makefile README.md \
                 README LICENSE Dockerfile .env .env.example test/a.js tests/a.rs app/models.py app/debug.js dev/seed.sql build/x.sh \
                 development/a.rb scripts/build.sh configure run build docs/index.md vim/a.vim less/a.less main.py conftest.py \
                 index.js lib/index.js config/app.yml info/a.md history/a.md 1.md target/a native/a.c Gemfile src/main/A.java tests/slow/a.py"
        .split_whitespace()
    {
        assert!(!named.contains(path, "100755"), "{path}: {named:?}");
    }
}

#[test]
fn what_files_of_variables_load_in_turn_is_named() {
    let (_directory, top) = repository(
        "",
        &[
            ("env.sh", "source ./more.inc\n"),
            ("more.inc", ". tools/deep\n"),
            ("hook.js", "require('./lib/x')\n"),
            ("lib/x.js", "require('./y')\n"),
            ("abs.sh", ". ./last\n"),
        ],
    );
    let fixed = format!("{}/abs.sh", top.display());
    let variables =
        [("BASH_ENV", "./env.sh"), ("NODE_OPTIONS", "--require ./hook.js"), ("ENV", fixed.as_str())];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let users = UsersMachine { variables, ..UsersMachine::default() };
    let named = NamedPaths::of(&Repository::around(&top), &top, &users);
    for path in ["env.sh", "more.inc", "tools/deep", "hook.js", "lib/x.js", "lib/y.js", "last"] {
        assert!(named.contains(path, FILE), "{path}: {named:?}");
    }
    for path in ["lib/z.js", "tools/other"] {
        assert!(!named.contains(path, FILE), "{path}: {named:?}");
    }
}

#[test]
fn a_directory_on_the_search_path_holds_no_file_back_by_itself() {
    let (_directory, named) = named_by(&[("PATH", "$TOP/bin:/usr/bin")]);
    for path in ["bin/tool", "bin/README.md", "bin/x.py"] {
        assert!(!named.contains(path, "100755"), "{path}: {named:?}");
    }
}
