//! Files that test runners and interpreters read by themselves: one that appears with the work can change what a check shows, without being
//! named by it.

use std::collections::BTreeSet;
use std::path::Path;

use autonoe_core::check::Check;
use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

/// File names, wherever they are.
const NAMES: [&str; 97] = [
    ".babelrc",
    ".bazelrc",
    ".bundle/config",
    ".busted",
    ".c8rc.json",
    ".cargo/config",
    ".cargo/config.toml",
    ".config/nextest.toml",
    ".coveragerc",
    ".env",
    ".eslintrc.js",
    ".justfile",
    ".mocharc.cjs",
    ".mocharc.js",
    ".mocharc.json",
    ".mocharc.mjs",
    ".mocharc.yaml",
    ".mocharc.yml",
    ".mvn/jvm.config",
    ".mvn/maven.config",
    ".noserc",
    ".npmrc",
    ".nycrc",
    ".pnp.cjs",
    ".pnpmfile.cjs",
    ".proverc",
    ".pytest.ini",
    ".pytest.toml",
    ".rspec",
    ".swcrc",
    ".taprc",
    ".yarnrc",
    ".yarnrc.yml",
    "BSDmakefile",
    "CMakeUserPresets.json",
    "CTestCustom.cmake",
    "CTestTestfile.cmake",
    "Directory.Build.props",
    "GNUmakefile",
    "Justfile",
    "Rakefile",
    "Taskfile.yaml",
    "Taskfile.yml",
    "Test/More.pm",
    "Test/Simple.pm",
    "Test2/API.pm",
    "ava.config.js",
    "babel.config.js",
    "build.rs",
    "bunfig.toml",
    "conftest.py",
    "cypress.config.js",
    "cypress.config.ts",
    "deno.json",
    "deno.jsonc",
    "go.env",
    "go.work",
    "gradle.properties",
    "jest.config.cjs",
    "jest.config.js",
    "jest.config.mjs",
    "jest.config.ts",
    "justfile",
    "karma.conf.js",
    "makefile",
    "node.config.json",
    "nose2.cfg",
    "noxfile.py",
    "phpunit.xml",
    "phpunit.xml.dist",
    "playwright.config.js",
    "playwright.config.ts",
    "pyproject.toml",
    "pytest.ini",
    "pytest.py",
    "pytest.toml",
    "rakefile",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "sitecustomize.py",
    "spec/spec_helper.rb",
    "spec/support/jasmine.json",
    "strict.pm",
    "tox.ini",
    "unittest.cfg",
    "usercustomize.py",
    "vite.config.js",
    "vite.config.ts",
    "vitest.config.js",
    "vitest.config.mts",
    "vitest.config.ts",
    "vitest.workspace.js",
    "vitest.workspace.ts",
    "warnings.pm",
    "wdio.conf.js",
    "wdio.conf.ts",
];

/// Modules of Python's standard library that tests and their runners import.
#[rustfmt::skip]
const PYTHON_MODULES: [&str; 217] = [
    "abc", "aifc", "antigravity", "argparse", "array", "ast", "asynchat", "asyncio", "asyncore", "atexit",
    "audioop", "base64", "bdb", "binascii", "bisect", "builtins", "bz2", "cProfile", "calendar", "cgi",
    "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections", "colorsys", "compileall",
    "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt", "csv", "ctypes",
    "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis", "distutils", "doctest",
    "email", "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fileinput",
    "fnmatch", "fractions", "ftplib", "functools", "gc", "genericpath", "getopt", "getpass", "gettext",
    "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http", "idlelib", "imaplib",
    "imghdr", "imp", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword", "lib2to3",
    "linecache", "locale", "logging", "lzma", "mailbox", "mailcap", "marshal", "math", "mimetypes", "mmap",
    "modulefinder", "msilib", "msvcrt", "multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath",
    "nturl2path", "numbers", "opcode", "operator", "optparse", "os", "ossaudiodev", "pathlib", "pdb",
    "pickle", "pickletools", "pipes", "pkgutil", "platform", "plistlib", "poplib", "posix", "posixpath",
    "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc", "pydoc_data", "pyexpat",
    "queue", "quopri", "random", "re", "readline", "reprlib", "resource", "rlcompleter", "runpy", "sched",
    "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib",
    "sndhdr", "socket", "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants", "sre_parse",
    "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess", "sunau", "symtable", "sys",
    "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile", "termios", "textwrap", "this",
    "threading", "time", "timeit", "tkinter", "token", "tokenize", "tomllib", "trace", "traceback",
    "tracemalloc", "tty", "turtle", "turtledemo", "types", "typing", "unicodedata", "unittest", "urllib",
    "uu", "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg", "winsound", "wsgiref",
    "xdrlib", "xml", "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
];

/// Whether a test runner or an interpreter reads a file of the project by itself.
pub(crate) fn is_runner_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named =
        |listed: &str| path.strip_suffix(listed).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    NAMES.into_iter().any(is_named)
        || name.ends_with(".pth")
        || name.ends_with(".pyc")
        || shadows_python(path)
        || shadows_a_program(path)
}

/// Endings of files that interpreters load by a name without it.
pub(crate) const CODE: [&str; 18] = [
    ".bash", ".cjs", ".js", ".jsx", ".lua", ".mjs", ".mts", ".php", ".pl", ".pm", ".py", ".pyd", ".rb",
    ".sh", ".so", ".ts", ".tsx", ".zsh",
];

/// Whether an interpreter could load it.
pub(crate) fn is_code(path: &str) -> bool {
    CODE.iter().any(|ending| path.ends_with(ending))
}

/// Programs that package scripts start by their names: npm looks for them in the project first.
const PROGRAMS: [&str; 44] = [
    "awk", "bash", "bun", "cargo", "cat", "cmp", "cp", "cut", "deno", "diff", "echo", "env", "expr", "false",
    "find", "git", "go", "grep", "head", "jq", "ls", "make", "mkdir", "mv", "node", "npm", "npx", "perl",
    "php", "printf", "pytest", "python", "python3", "rm", "ruby", "sed", "sh", "sort", "tail", "test",
    "timeout", "tr", "true", "wc",
];

fn shadows_a_program(path: &str) -> bool {
    path.rsplit_once("node_modules/.bin/").is_some_and(|(_, name)| PROGRAMS.contains(&name))
}

/// Directories of dependencies and build output, whose files have such names without being read.
const SKIPPED: [&str; 12] = [
    ".cache",
    ".git",
    ".nox",
    ".tox",
    ".venv",
    "__pycache__",
    "dist-packages",
    "node_modules",
    "site-packages",
    "target",
    "vendor",
    "venv",
];

/// The most files that are looked at.
const MAX_FILES: usize = 50_000;

/// The files below `root` that test runners and interpreters read by themselves, without those of dependencies.
pub(crate) fn runner_files_in(root: &Path, cancel: &CancellationToken) -> BTreeSet<String> {
    let is_skipped = |entry: &DirEntry| SKIPPED.iter().any(|name| entry.file_name() == *name);
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| !is_skipped(entry))
        .build();
    let packages = PROGRAMS.iter().map(|name| format!("node_modules/.bin/{name}"));
    let packages = packages.filter(|path| root.join(path).symlink_metadata().is_ok());
    walk.filter_map(Result::ok)
        .take(MAX_FILES)
        .take_while(|_| !cancel.is_cancelled())
        .filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()))
        .filter(|path| is_runner_file(path))
        .chain(packages)
        .collect()
}

/// Those among the files of a commit. Python imports a module in place of a directory beside it that is not a regular package.
pub(crate) fn runner_files_of(paths: &BTreeSet<String>) -> BTreeSet<String> {
    let is_in = |directory: &str| {
        let below = format!("{directory}/");
        paths.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
    };
    let shadows_a_directory = |path: &str| {
        let module = path.strip_suffix(".py");
        module.is_some_and(|module| is_in(module) && !paths.contains(&format!("{module}/__init__.py")))
    };
    paths.iter().filter(|path| is_runner_file(path) || shadows_a_directory(path)).cloned().collect()
}

/// What checks have `make` make: it does nothing if a file of that name is there.
pub(crate) fn make_targets<'a>(checks: impl IntoIterator<Item = &'a Check>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let commands = checks.into_iter().flat_map(|check| check.setup.iter().chain([&check.command]));
    for part in commands.flat_map(|command| command.split([';', '&', '|', '\n', '(', ')'])) {
        let mut words = part.split_whitespace().skip_while(|word| word.rsplit('/').next() != Some("make"));
        if words.next().is_some() {
            let targets = words.filter(|word| !word.starts_with('-') && !word.contains(['=', '/', '<', '>']));
            found.extend(targets.map(|word| word.trim_matches(['"', '\'']).to_owned()));
        }
    }
    found
}

/// Whether Python would import it in place of a module of its own.
fn shadows_python(path: &str) -> bool {
    let is_module = [".py", ".so", ".pyd"].iter().any(|ending| path.ends_with(ending));
    let mut parts = path.rsplit('/');
    // A compiled one has the version in its name too.
    let module = parts.next().and_then(|name| name.split('.').next());
    let module = if module == Some("__init__") { parts.next() } else { module };
    is_module && module.is_some_and(|module| PYTHON_MODULES.contains(&module))
}

#[cfg(test)]
mod tests {
    use autonoe_core::check::{Check, CheckOrigin};

    use super::{is_runner_file, make_targets, runner_files_of};

    #[test]
    fn modules_in_place_of_directories_and_targets_of_make_are_known() {
        let paths = ["app.py", "app/tests/test_a.py", "lib.py", "lib/__init__.py", "lib/a.py", "x.py"];
        let paths = paths.map(str::to_owned).into_iter().collect();
        assert_eq!(runner_files_of(&paths).into_iter().collect::<Vec<_>>(), ["app.py"]);
        let check = Check {
            setup: vec!["/usr/bin/make -j4 deps V=1".to_owned()],
            ..Check::of_command("cd a && make 'test' lint; makeup x", CheckOrigin::User)
        };
        assert_eq!(make_targets([&check]).into_iter().collect::<Vec<_>>(), ["deps", "lint", "test"]);
    }

    #[test]
    fn files_that_runners_read_by_themselves_are_known() {
        for path in [
            "conftest.py",
            "a/tests/conftest.py",
            "GNUmakefile",
            "Justfile",
            "Rakefile",
            "Taskfile.yaml",
            "Taskfile.yml",
            ".cargo/config.toml",
            "x/json.py",
            "json/__init__.py",
            "json.so",
            "x/json.cpython-313-x86_64-linux-gnu.so",
            "json/__init__.abi3.so",
            "a.pth",
        ] {
            assert!(is_runner_file(path), "{path}");
        }
        for path in [
            "Makefile",
            "src/main.rs",
            "notconftest.py",
            "my_json.py",
            "tests/test_json.py",
            "jsonx/__init__.py",
        ] {
            assert!(!is_runner_file(path), "{path}");
        }
    }
}
