use super::RelativePlaces;
use crate::tree_links::TreeLinks;

const FILE: &str = "100644";
const LINK: &str = "120000";

/// Those of one variable, with the project at `/top`.
fn places(name: &str, value: &str) -> RelativePlaces {
    let mut places = RelativePlaces::default();
    places.add(name, value, |path| match path.strip_prefix("/top") {
        Some(inside) => vec![inside.trim_start_matches('/').to_owned()],
        None => Vec::new(),
    });
    places
}

#[test]
fn what_is_loaded_from_relative_places_is_known() {
    for (name, value, loaded, others) in [
        (
            "PYTHONPATH",
            ".",
            "sitecustomize.py a/usercustomize.py sitecustomize/__init__.py encodings/utf_8.py json.py a/os.py",
            "a/json.py app/types.py main.py website/a.py videos/b.py site.css io.md json/data.csv",
        ),
        ("PYTHONPATH", "/opt/y:", "sitecustomize.py", "customize.py"),
        (
            "PYTHONPATH",
            "src",
            "src/sitecustomize.py src/sitecustomize.pyc src/logging/__init__.py a/src/os.py src/_virtualenv.py src",
            "sitecustomize.py src/a.py src/app/json.py",
        ),
        ("PYTHONPATH", "/opt/src", "", "sitecustomize.py src/sitecustomize.py"),
        ("PYTHONPATH", "/top/src", "src/sitecustomize.py src/json.py", "a/src/json.py src/a.py json.py"),
        ("PYTHONPATH", "/top", "json.py", "app/types.py src/json.py"),
        ("PYTHONPATH", "lib.zip", "lib.zip", "lib.py"),
        ("GOTOOLDIR", "own", "own/compile", "compile"),
        ("AWKLIBPATH", "own", "own/x.so", "own.awk"),
        ("ODBCSYSINI", "own", "own/odbcinst.ini", "odbcinst.ini"),
        ("VSCODE_PORTABLE", "own", "own/user-data/User/settings.json", "user-data/User/settings.json"),
        ("CCACHE_PREFIX", "own/p", "own/p", "own/q"),
        ("ESBUILD_BINARY_PATH", "own/p", "own/p", "own/q"),
        ("RSYNC_CONNECT_PROG", "sh own/p", "own/p", "own/q"),
        ("CMAKE_TOOLCHAIN_FILE", "own/t.cmake", "own/t.cmake", "own/q"),
        ("GTK_MODULES", "canberra:own/m.so", "own/m.so", "own/q"),
        ("SCONSFLAGS", "-Q -f own/S", "own/S", "own/q"),
        ("ELIXIR_ERL_OPTIONS", "-pa own -noshell", "own/code.beam", "noshell/x code.beam"),
        ("ERL_FLAGS", "-pz a/own b -s x", "a/own/code.beam b/code.beam", "x/code.beam"),
        ("PYTHONUSERBASE", "base", "base/lib/python3.11/site-packages/a.pth", "a.pth"),
        ("LD_LIBRARY_PATH", "/opt/x:.", "libz.so.1 a/libz.so", "main.c libz.c x.sol a.source.js"),
        ("LD_LIBRARY_PATH", "lib", "lib/libz.so.1 lib/glibc-hwcaps/x86-64-v2/libc.so.6", "libz.so.1"),
        ("LD_LIBRARY_PATH", "/opt/x;lib", "lib/libz.so.1", "libz.so.1"),
        ("LD_LIBRARY_PATH", "lib/$LIB", "lib/lib64/libz.so.1", "libz.so.1"),
        ("LD_PRELOAD", "./x.so", "x.so a/x.so", "y.so"),
        ("LD_PRELOAD", "/opt/a.so ./x.so", "x.so", "a.so"),
        ("ZDOTDIR", "dot", "dot/.zshenv", "dotted/.zshenv"),
        ("PERL5LIB", "lib", "lib/strict.pm lib/Git.pm lib/Error.pm lib/List/Util.pm", "lib/App.pm strict.pm"),
        ("PERL5OPT", "-Ilib -MFoo::Bar", "lib/Foo/Bar.pm lib/strict.pm", "lib/Foo.pm strict.pm"),
        ("PERL5OPT", "-Mlib=own -MCarp=verbose", "Carp.pm own/strict.pm", "strict.pm"),
        ("PERL5OPT", "-d:Trace", "Devel/Trace.pm", "Trace.pm"),
        ("ENV", "test", "test", "test/a.js"),
        ("ENV", "./rc.sh", "rc.sh", "a.sh"),
        ("CC", "gcc", "", "gcc gcc/a.c"),
        ("CC", "ccache ./gcc", "gcc", "gcc/a.c"),
        ("ZDOTDIR", ".", ".zprofile a/.zshrc", "zprofile"),
        ("RUBYOPT", "-r./r/x", "r/x.rb", "x.rb"),
        ("RUBYOPT", "-w -r/top/r/x", "r/x.rb", "x.rb"),
        ("RUBYOPT", "-Ilib -rboot", "boot.rb lib/rubygems.rb lib/boot.rb", "lib/other.rb"),
        ("RUBYLIB", "lib", "lib/rubygems.rb lib/json.rb", "lib/app.rb rubygems.rb"),
        ("PYTHONHOME", "py", "py/lib/python3/os.py", "os.py"),
        ("CARGO_HOME", "ch", "ch/config.toml", "config.toml"),
        (
            "XDG_CONFIG_HOME",
            ".",
            "git/config a/git/config nvim/.nvimrc fish/config.fish",
            "config.py git/a.c .gitignore",
        ),
        ("CURL_HOME", ".", ".curlrc", "curl.c src/a.c"),
        ("HOME", "/top", ".bashrc .config/x", "main.c a/src/src.rs .github/workflows/ci.yml"),
        ("FLASK_APP", "app.py", "", "app.py"),
        ("COMPOSE_FILE", "./compose.yaml", "", "compose.yaml"),
        ("GIT_TEMPLATE_DIR", "tpl", "tpl/hooks/post-checkout", "post-checkout"),
        ("LUA_INIT", "@d9/i.lua", "d9/i.lua", "i.lua"),
        ("MAKEFILES", "more.mk", "more.mk", "Makefile"),
    ] {
        assert_loaded(name, value, loaded, others);
    }
}

#[test]
fn directories_and_files_of_variables_are_known() {
    for (name, value) in [
        ("GCONV_PATH", "d"),
        ("OPENSSL_MODULES", "d"),
        ("OPENSSL_ENGINES", "d"),
        ("XDG_DATA_DIRS", "/usr/share:d"),
        ("XDG_CONFIG_DIRS", "d:/etc/xdg"),
        ("BASH_COMPLETION_USER_DIR", "d"),
        ("EMACSLOADPATH", ":d"),
        ("TCLLIBPATH", "/usr/lib/tcl d"),
        ("GUILE_LOAD_PATH", "d:..."),
        ("GUILE_LOAD_COMPILED_PATH", "d"),
        ("JULIA_LOAD_PATH", "d:"),
        ("PHPRC", "d"),
        ("PHP_INI_SCAN_DIR", ":d"),
        ("GTK_PATH", "d"),
        ("GIO_MODULE_DIR", "d"),
        ("GIO_EXTRA_MODULES", "d"),
        ("QT_PLUGIN_PATH", "d"),
        ("LUA_PATH", "./d/?.lua;;"),
        ("LUA_CPATH", "d/?.so"),
        ("LUA_PATH_5_4", "/usr/share/lua/?.lua;d/?/init.lua"),
        ("GCONV_PATH", "/top/d"),
        // Of another variable that acts, if it has a slash.
        ("ANY_PLUGIN_DIR", "./d"),
        ("any_shell", "d/x"),
        ("GOFLAGS", "-v -toolexec=d/x"),
        ("RUSTFLAGS", "-Clinker=./d/x"),
        ("CFLAGS", "-O2 -B./d/"),
        ("JAVA_TOOL_OPTIONS", "-javaagent:d/x"),
        ("npm_config_script_shell", "./d/x"),
        ("MAVEN_OPTS", "-Xmx1g -javaagent:d/x"),
        ("LESSKEYIN", "/top/d/x"),
    ] {
        assert_loaded(name, value, "d/x", "x e/x de/x other/d.txt");
    }
    for (name, value, loaded, others) in [
        ("OPENSSL_CONF", "own.cnf", "own.cnf a/own.cnf", "own.cnf/a other.cnf"),
        ("GDK_PIXBUF_MODULE_FILE", "loaders.cache", "loaders.cache", "cache"),
        ("EMACSLOADPATH", ".", "a.el b/c.elc", "main.c README.md"),
        ("LUA_PATH", "./?.lua;;", "lfs.lua a/luarocks/loader.lua", "main.lua src/app.lua"),
        ("NODE_ENV", "test", "", "test/a.js"),
        ("AWS_PROFILE", "dev", "", "dev/a.sh"),
        ("NODE_OPTIONS", "--require ./hook.js", "hook.js", "other.js"),
        ("NODE_OPTIONS", "-r ./hook", "hook.js hook/index.js a/hook.cjs", "other.js hook.md"),
        ("NODE_OPTIONS", "--import=/top/tools/hook", "tools/hook.mjs", "hook.mjs"),
        ("ANY_DATA", "/top/data", "", "data/x.csv"),
        ("ANY_URL", "https://example.org/src", "", "src/a.c example.org/src/a.c"),
        ("PATH", "tools/bin:/usr/bin", "", "tools/bin/x"),
        ("_", "target/debug/x", "", "target/debug/x"),
        ("GOPRIVATE", "example.org/own", "", "vendor/example.org/own/a.go"),
        ("npm_lifecycle_script", "jest src/", "", "src/a.js"),
        ("EDITOR", "./", "", "a"),
        // Nothing runs or loads what these name by itself.
        ("ANY_FILE", "/top/d/x", "", "d/x"),
        ("ANY_DIRECTORY", "./d", "", "d/x"),
        ("CFLAGS", "-O2 -I./include", "", "include/a.h"),
        ("PYTEST_ADDOPTS", "--ignore=tests/slow", "", "tests/slow/a.py tests/slow"),
        ("MAVEN_OPTS", "-Xmx1g -Dx=src/main", "", "src/main/a.java"),
        ("BUNDLE_GEMFILE", "Gemfile", "", "Gemfile"),
        ("MAIN", "main.py", "", "main.py"),
        ("NOTE", "see README or run make on app.py", "", "README make app.py"),
    ] {
        assert_loaded(name, value, loaded, others);
    }
}

#[test]
fn a_file_at_the_top_may_be_any_word_of_a_variable_that_acts() {
    for (name, value, loaded, others) in [
        ("CC", "sh cc.sh", "cc.sh", "sh a/cc.sh cc.sh/a"),
        ("MAKEFLAGS", "-s --eval=include\\ x.mk", "x.mk", "y.mk x.mk/a"),
        ("MAKEFLAGS", "-fx.mk", "x.mk", "mk"),
        ("LESSOPEN", "a:b,{c.sh} (d.sh)", "a b c.sh d.sh", "e.sh a/b"),
        ("JAVA_TOOL_OPTIONS", "@args", "args", "args/a"),
        ("ANY_COMMAND", "$(cat x.sh)", "x.sh", "a/x.sh"),
        ("NODE_ENV", "test", "", "test test/a.js"),
        ("EDITOR", "vim -u rc", "rc", "vim a/rc"),
        ("USER", "build", "", "build"),
        ("LS_COLORS", "*.tar=01;31:README=4", "", "README 4"),
        ("CARGO_PKG_README", "README.md", "", "README.md"),
        ("LESSOPEN", ". ..", "", "a"),
    ] {
        assert_loaded(name, value, loaded, others);
    }
    // A link at the top may lead to a file, one below a directory of that name does not matter.
    let test = places("LESSOPEN", "test");
    assert!(test.contains("test", LINK) && !test.contains("test/a", LINK));
    let mut command = places("CC", "sh cc.sh");
    command.follow(&TreeLinks::new([("cc.sh", "tools/cc")].into_iter()));
    assert!(command.contains("tools/cc", FILE) && !command.contains("tools/other", FILE));
}

#[test]
fn variables_named_like_places_name_some_without_a_slash() {
    for (name, value) in [
        ("NPM_CONFIG_USERCONFIG", "place"),
        ("RIPGREP_CONFIG_PATH", "place"),
        ("HGRCPATH", "place"),
        ("DIRENV_CONFIG", "place"),
        ("DOCKER_CONFIG", "place"),
        ("CURL_HOME", "place"),
        ("WGETRC", "place"),
        ("SCREENRC", "place"),
        ("npm_config_prefix", "place"),
        ("GOROOT", "place"),
        ("PYTHONPYCACHEPREFIX", "place"),
        ("NODE_PATH", "/opt/x:place"),
    ] {
        assert_loaded(name, value, "place place/x a/place/x", "x places/x");
    }
    for (name, value) in [("GOENV", "place"), ("EXINIT", "place")] {
        assert_loaded(name, value, "place", "x place/x");
    }
    for (name, value) in
        [("SRC_DIR", "src"), ("CARGO_TARGET_DIR", "src"), ("CDPATH", ".:src"), ("APP_ROOT", "src")]
    {
        assert_loaded(name, value, "", "src/a.c a/src/a.c");
    }
}

#[test]
fn modules_and_programs_that_variables_have_loaded_are_known() {
    for (name, value, loaded, others) in [
        ("PYTHONWARNINGS", "error::mod.W", "mod.py mod/__init__.py src/mod.py mod.so", "mod/other.py W.py"),
        (
            "PYTHONWARNINGS",
            "default,error::a.b.W:x.y",
            "a/__init__.py a.py a/b.py a/b/__init__.pyc",
            "x.py b.py",
        ),
        ("PYTHONWARNINGS", "ignore::DeprecationWarning", "", "DeprecationWarning.py ignore default"),
        ("PYTHONBREAKPOINT", "mod.f", "mod.py mod/__init__.py a/mod.py mod.abi3.so", "f.py mod/f.py"),
        ("PYTHONBREAKPOINT", "0", "", "0.py"),
        ("GIT_EXEC_PATH", ".", "git-status git a/git-upload-pack", "status main.c git.md"),
        ("GIT_EXEC_PATH", "/top/core", "core/git-status", "a/core/x git-status"),
        ("COMPILER_PATH", "/opt/x:.", "as ld cc1", "main.c"),
        ("COMPILER_PATH", "$ROOT/gcc", "gcc/as", "as"),
        ("GCC_EXEC_PREFIX", "gcc/", "gcc/cc1", "cc1"),
        ("AUTOENV_ASSUME_YES", "1", ".env a/.env .env.leave", ".env.example env"),
        ("AUTOENV_ENV_FILENAME", "enter.sh", "enter.sh a/enter.sh .env", "leave.sh"),
        ("ANY", "1", "", ".env"),
    ] {
        assert_loaded(name, value, loaded, others);
    }
}

fn assert_loaded(name: &str, value: &str, loaded: &str, others: &str) {
    let places = places(name, value);
    for path in loaded.split_whitespace() {
        assert!(places.contains(path, FILE), "{name}={value}: {path}");
    }
    for path in others.split_whitespace() {
        assert!(!places.contains(path, FILE), "{name}={value}: {path}");
    }
}

#[test]
fn changed_links_on_the_way_to_a_place_or_in_it_are_known() {
    for (name, value, known, others) in [
        ("PYTHONPATH", "src/lib", "src src/lib a/src src/lib/data", "lib other src/other"),
        ("PYTHONPATH", "/top/src/lib", "src src/lib src/lib/x", "a/src lib"),
        ("PYTHONPATH", ".", "json a/json.py sitecustomize", "data a/docs"),
        ("PERL5LIB", ".", "File strict.pm", "docs"),
        ("LD_LIBRARY_PATH", "lib", "lib a/lib lib/x", "library"),
        ("LD_PRELOAD", "./a/x.so", "a a/x.so", "x.so"),
        ("ENV", "test", "test a/test", "test/a test/json"),
        ("GCONV_PATH", "a/b", "a a/b a/b/c", "b"),
    ] {
        let places = places(name, value);
        for link in known.split_whitespace() {
            assert!(places.contains(link, LINK), "{name}={value}: {link}");
        }
        for link in others.split_whitespace() {
            assert!(!places.contains(link, LINK), "{name}={value}: {link}");
        }
    }
}

#[test]
fn links_that_are_there_already_are_followed() {
    for (name, value, links, loaded, others) in [
        (
            "PYTHONPATH",
            "src/lib",
            [("src/lib", "../other")],
            "other/sitecustomize.py",
            "other/a.py sitecustomize.py",
        ),
        ("PYTHONPATH", "src/lib", [("src", "code")], "code/lib/json.py", "code/json.py code/lib/a.py"),
        ("PYTHONPATH", "/top/lib", [("lib", "a/b")], "a/b/json.py", "a/json.py"),
        ("PYTHONPATH", "src", [("src/json", "../own")], "own/__init__.py", "src/a.py"),
        ("PYTHONPATH", "src", [("src/data", "../data")], "", "data/x.py"),
        ("LD_LIBRARY_PATH", "lib", [("lib/libz.so", "../out/z")], "out/z", "out/y"),
        ("ENV", "test", [("test/json", "../out")], "", "out/x"),
        ("ENV", "d/rc", [("a/d", "../out")], "out/rc", "out/x"),
        ("ENV", "/top/d/rc", [("a/d", "../out")], "d/rc", "out/rc"),
    ] {
        let mut places = places(name, value);
        places.follow(&TreeLinks::new(links.into_iter()));
        for path in loaded.split_whitespace() {
            assert!(places.contains(path, FILE), "{name}={value} {links:?}: {path}");
        }
        for path in others.split_whitespace() {
            assert!(!places.contains(path, FILE), "{name}={value} {links:?}: {path}");
        }
    }
}
