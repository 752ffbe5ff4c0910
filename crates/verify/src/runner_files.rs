//! Files that test runners and interpreters read by themselves: one that appears with the work can change what a check shows, without being
//! named by it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use autonoe_core::check::Check;
use autonoe_core::python_modules::is_python_module;
use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

use crate::cargo_manifest::{is_manifest, manifest_text};
use crate::dependencies::dependency_of;
use crate::language_files::is_environment;
use crate::make_rules::{built_by_make, in_the_way_of_make};
use crate::packages::{lists_packages, packages_in};
use crate::test_files::{TestPatterns, is_test_file};
use crate::tool_files::readers_of;

/// Ends of paths, wherever they are.
const NAMES: &[&str] = &[
    ".bundle/config",
    ".busted",
    ".cargo/config",
    ".cargo/config.toml",
    ".config/nextest.toml",
    ".justfile",
    ".pnp.cjs",
    ".pnpmfile.cjs",
    ".pytest.ini",
    ".pytest.toml",
    ".rspec",
    ".rspec-local",
    ".shellspec",
    "BSDmakefile",
    "CMakePresets.json",
    "CMakeUserPresets.json",
    "CTestCustom.cmake",
    "CTestCustom.ctest",
    "CTestTestfile.cmake",
    "GNUmakefile",
    "Justfile",
    "Rakefile",
    "Taskfile.yaml",
    "Taskfile.yml",
    "Test/Builder.pm",
    "Test/More.pm",
    "Test/Simple.pm",
    "Test2/API.pm",
    "babel.config.json",
    "behat.yml",
    "behave.ini",
    "build.rs",
    "bunfig.toml",
    "codeception.yml",
    "config.nims",
    "cucumber.js",
    "dart_test.yaml",
    "deno.json",
    "deno.jsonc",
    "features/environment.py",
    "go.work",
    "gradle.properties",
    // `platform` of Python tries to import it.
    "java/lang.py",
    "java/lang/__init__.py",
    "jest.config.json",
    "junit-platform.properties",
    "justfile",
    "makefile",
    "nim.cfg",
    "node.config.json",
    "nose2.cfg",
    "noxfile.py",
    // `copy` and `pickle` of Python try to import it.
    "org/python/__init__.py",
    "org/python/core.py",
    "org/python/core/__init__.py",
    "pyproject.toml",
    "pytest.ini",
    "pytest.toml",
    "rakefile",
    "rakefile.rb",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "spec/spec_helper.rb",
    "spec/support/jasmine.json",
    "strict.pm",
    "tox.ini",
    "unittest.cfg",
    "warnings.pm",
    "xunit.runner.json",
];

/// What pytest loads wherever it is.
const ALWAYS_LOADED: &[&str] = &["conftest.py"];

/// Modules that Python or pytest imports by itself, and tools that are run as modules.
#[rustfmt::skip]
const RUNNER_MODULES: &[&str] = &[
    "_distutils_hack", "_pytest", "_virtualenv", "apport_python_hook", "bandit", "behave", "conftest", "coverage", "exceptiongroup", "flake8", "green", "hypothesis",
    "iniconfig", "mamba", "mypy", "nose", "nose2", "nox", "packaging", "pluggy", "py", "pygments", "pylint",
    "pyright", "pytest", "pytest_cov", "robot", "ruff", "sitecustomize", "slipcover", "testtools", "tomli",
    "tox", "trial", "twisted", "unittest2", "usercustomize", "ward", "xdist",
];

/// Headers of C's library and of Unix, those that they include, and those of C++ whose names are not everyday words. A compiler that looks
/// in the project first takes its file instead.
#[rustfmt::skip]
const HEADERS: &[&str] = &[
    "_G_config.h", "alloca.h", "argp.h", "assert.h", "complex.h", "ctype.h", "dirent.h", "emmintrin.h", "endian.h", "err.h", "errno.h", "execinfo.h", "fcntl.h",
    "features-time64.h", "features.h", "fenv.h", "float.h", "getopt.h", "immintrin.h", "inttypes.h", "iso646.h", "libio.h", "limits.h",
    "locale.h", "malloc.h", "math.h", "mcheck.h", "memory.h", "poll.h", "printf.h", "pthread.h", "regex.h", "sched.h", "setjmp.h",
    "signal.h", "stdalign.h", "stdarg.h", "stdatomic.h", "stdbit.h", "stdbool.h", "stdc-predef.h",
    "stdckdint.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "stdnoreturn.h", "string.h", "strings.h",
    "syslimits.h", "tgmath.h", "threads.h", "time.h", "uchar.h", "unistd.h", "wchar.h", "wctype.h", "x86intrin.h",
    "xlocale.h", "xmmintrin.h",
    "asm-generic/bitsperlong.h", "asm-generic/errno-base.h", "asm-generic/errno.h",
    "asm-generic/posix_types.h", "asm-generic/socket.h", "asm-generic/sockios.h", "asm/bitsperlong.h",
    "asm/errno.h", "asm/posix_types.h", "asm/posix_types_64.h", "asm/socket.h", "asm/sockios.h",
    "backward/auto_ptr.h", "backward/binders.h", "debug/assertions.h", "debug/debug.h",
    "ext/aligned_buffer.h", "ext/alloc_traits.h", "ext/atomicity.h", "ext/concurrence.h",
    "ext/numeric_traits.h", "ext/string_conversions.h", "ext/type_traits.h", "gnu/stubs-64.h", "gnu/stubs.h",
    "linux/errno.h", "linux/limits.h", "linux/posix_types.h", "linux/stddef.h", "sys/cdefs.h", "sys/mman.h",
    "sys/poll.h", "sys/select.h", "sys/socket.h", "sys/stat.h", "sys/time.h", "sys/types.h", "sys/ucontext.h",
    "sys/wait.h",
    "cassert", "cctype", "cerrno", "climits", "clocale", "cmath", "csignal", "cstdarg", "cstddef", "cstdint",
    "cstdio", "cstdlib", "cstring", "ctime", "cwchar", "cwctype", "fstream", "initializer_list", "iomanip",
    "iosfwd", "iostream", "istream", "ostream", "sstream", "stdexcept", "streambuf", "string_view",
    "system_error", "type_traits", "typeinfo", "unordered_map",
];

/// The directory of headers that others of C and C++ include.
const INNER_HEADERS: &str = "/bits/";

/// Tools that only style or build what is there.
const HARMLESS: &[&str] = &["nvm", "postcss", "tailwind"];

/// Endings of JavaScript and TypeScript.
const SCRIPTS: &[&str] = &["cjs", "cts", "js", "mjs", "mts", "ts"];

/// Whether a name follows the customs for settings of tools: `.mocharc.json`, `jest.config.ts`, `karma.conf.js`, `phpunit.dist.xml`.
fn is_settings_name(name: &str) -> bool {
    let tool = |text: &str| !text.is_empty() && !HARMLESS.contains(&text);
    let hidden = name.strip_prefix('.').and_then(|name| name.split('.').next()?.strip_suffix("rc"));
    let script = name.rsplit_once('.').filter(|(_, ending)| SCRIPTS.contains(ending));
    let script = script.and_then(|(stem, _)| stem.rsplit_once('.'));
    let script =
        script.filter(|(_, kind)| ["conf", "config", "workspace"].contains(kind)).map(|(tool, _)| tool);
    hidden.is_some_and(tool)
        || script.is_some_and(tool)
        || (name.starts_with("phpunit") && name.contains(".xml"))
        || (name.starts_with("Directory.")
            && [".props", ".rsp", ".targets"].iter().any(|end| name.ends_with(end)))
}

/// Whether a test runner or an interpreter reads a file of the project by itself.
pub(crate) fn is_runner_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named =
        |listed: &&str| path.strip_suffix(listed).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    NAMES.iter().any(is_named)
        || (is_settings_name(name) && readers_of(name).is_none())
        || is_option(name)
        // `node --env-file` and others take settings of interpreters from it.
        || is_environment(name)
        || name.ends_with(".pth")
        || name.ends_with(".runsettings")
        || name.ends_with(".pyc")
        || HEADERS.iter().any(is_named)
        || (format!("/{path}").contains(INNER_HEADERS) && [".h", ".tcc"].iter().any(|end| name.ends_with(end)))
        || format!("/{path}").contains("/.mvn/")
        // Java and its test runners load what is named there.
        || (format!("/{path}").ends_with(&format!("/META-INF/services/{name}")) && is_service_of_runners(name))
        || (name == "entry_points.txt" && (path.contains(".dist-info/") || path.contains(".egg-info/")))
        || shadows_python(path)
        || shadows_a_program(path)
}

/// Whether a command that gets it from a wildcard or a list takes it, or a part of it, for an option, or for a command of its own.
pub(crate) fn is_option(name: &str) -> bool {
    let has_option = || name.split_whitespace().any(|word| word.starts_with('-') && word.len() > 1);
    let is_command = || name.contains([';', '|', '&', '<', '>', '`', '\n']) || name.contains("$(");
    name.starts_with('-') || has_option() || is_command()
}

/// Services of the language, of its compiler and of test runners, not those of the program.
fn is_service_of_runners(name: &str) -> bool {
    ["com.sun.", "java.", "javax.", "jdk.", "org.junit.", "org.testng."]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Whether it shadows a module of Python only where the directory that it is in is searched for modules, and that directory, which is
/// returned, is a package: imports find it under the package's name.
pub(crate) fn package_of_shadow(path: &str, has: impl Fn(&str) -> bool) -> Option<&str> {
    let directory = path.strip_suffix("/__init__.py").unwrap_or(path).rsplit_once('/')?.0;
    let by_itself = path.rsplit('/').next().is_some_and(|name| ALWAYS_LOADED.contains(&name));
    let is_package = || has(&format!("{directory}/__init__.py"));
    (!by_itself && shadows_python(path) && is_package()).then_some(directory)
}

/// A link with the name of a module may lead to a package.
fn is_linked_package(link: &str) -> bool {
    shadows_python(&format!("{link}/__init__.py"))
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

/// What is below `root`, without dependencies.
fn files_in(root: &Path) -> impl Iterator<Item = DirEntry> {
    let is_skipped = |entry: &DirEntry| SKIPPED.iter().any(|name| entry.file_name() == *name);
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(move |entry| !is_skipped(entry))
        .build();
    walk.filter_map(Result::ok).take(MAX_FILES)
}

/// The files below `root` that test runners and interpreters read by themselves, without those of dependencies, and what is in the way of the targets that a check has made there.
pub(crate) fn decisive_files_in(root: &Path, check: &Check, cancel: &CancellationToken) -> BTreeSet<String> {
    let packages = PROGRAMS.iter().map(|name| format!("node_modules/.bin/{name}"));
    let packages = packages.filter(|path| root.join(path).symlink_metadata().is_ok());
    let mut found: BTreeSet<String> = files_in(root)
        .take_while(|_| !cancel.is_cancelled())
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
            let is_read = is_runner_file(&path) || (entry.path_is_symlink() && is_linked_package(&path));
            is_read.then_some(path)
        })
        .chain(packages)
        .collect();
    found.extend(in_the_way_of_make(root, check, files_in(root).map(DirEntry::into_path), cancel));
    found
}

/// The tests below `root`, by their names or those that a check looks for, without those of dependencies.
pub(crate) fn test_files_in(root: &Path, check: &Check, cancel: &CancellationToken) -> BTreeSet<String> {
    let patterns = TestPatterns::of([check]);
    let files = files_in(root).take_while(|_| !cancel.is_cancelled());
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.filter(|path| is_test_file(path) || patterns.is_match(path)).collect()
}

/// What manifests below `root` say about packages, and the manifests of Cargo themselves.
pub(crate) fn listed_packages_in(
    root: &Path,
    cancel: &CancellationToken,
) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let files = files_in(root).take_while(|_| !cancel.is_cancelled());
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    let paths: Vec<String> = paths.filter(|path| lists_packages(path)).collect();
    let manifests = paths.iter().filter(|path| is_manifest(path));
    let manifests = manifests.map(|path| (path.clone(), manifest_text(root, path))).collect();
    (packages_in(root, paths.iter().map(|path| (path.as_str(), path.as_str()))), manifests)
}

/// The files below `root` that `make` builds, if a check runs it.
pub(crate) fn built_files_in(root: &Path, check: &Check, cancel: &CancellationToken) -> BTreeSet<String> {
    built_by_make(root, check, files_in(root).map(DirEntry::into_path), cancel)
}

/// Whether some of the paths are in a directory.
pub(crate) fn has_directory(paths: &BTreeSet<String>, directory: &str) -> bool {
    let below = format!("{directory}/");
    paths.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
}

/// The first directory of a path with the name of an option.
fn option_above(path: &str) -> Option<&str> {
    let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
    ends.into_iter().find(|directory| directory.rsplit('/').next().is_some_and(is_option))
}

/// Those among the files and links of a commit, and directories that commands take for options. Python imports a module in place of a directory beside it that is not a regular package, and
/// package scripts start programs of dependencies by their names.
pub(crate) fn runner_files_of(paths: &BTreeSet<String>, links: &BTreeSet<String>) -> BTreeSet<String> {
    let shadows_a_directory = |path: &str| {
        let module = path.strip_suffix(".py");
        module.is_some_and(|module| {
            has_directory(paths, module) && !paths.contains(&format!("{module}/__init__.py"))
        })
    };
    let is_own = |path: &str| dependency_of(path).is_none();
    let is_decisive = |path: &&String| {
        (is_runner_file(path) && is_own(path))
            || shadows_a_directory(path)
            || path.contains("node_modules/.bin/")
            || (links.contains(*path) && is_linked_package(path))
    };
    let options = paths.iter().filter_map(|path| option_above(path)).map(str::to_owned);
    paths.iter().filter(is_decisive).cloned().chain(options).collect()
}

/// Whether Python would import it in place of a module of its own.
fn shadows_python(path: &str) -> bool {
    let is_module = [".py", ".so", ".pyd"].iter().any(|ending| path.ends_with(ending));
    let mut parts = path.rsplit('/');
    // A compiled one has the version in its name too.
    let module = parts.next().and_then(|name| name.split('.').next());
    let module = if module.is_some_and(stands_for_package) { parts.next() } else { module };
    let is_known = |module: &str| is_python_module(module) || RUNNER_MODULES.contains(&module);
    is_module && module.is_some_and(is_known)
}

/// The directory that Python must search in order to load it in place of a module of its own; `None` if it is not such a module, or pytest
/// loads it wherever it is.
pub(crate) fn module_directory(path: &str) -> Option<&str> {
    let is_module = shadows_python(path) && !ALWAYS_LOADED.contains(&path.rsplit('/').next().unwrap_or(path));
    is_module.then(|| whole_package(path).rsplit_once('/').map_or("", |(directory, _)| directory))
}

fn stands_for_package(module: &str) -> bool {
    ["__init__", "__main__"].contains(&module)
}

/// What to take away so that Python finds its own module: the whole package, since what is left of it would be found too.
pub(crate) fn whole_package(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((package, name)) if name.split('.').next().is_some_and(stands_for_package) => package,
        _ => path,
    }
}

/// Whether a runner file is known only by the customs for names, which many others follow too.
pub(crate) fn has_customary_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_settings_name(name) || is_environment(name)
}

#[cfg(test)]
mod tests {
    use super::{is_runner_file, package_of_shadow, runner_files_of, whole_package};

    #[test]
    fn a_package_is_taken_away_whole() {
        assert!(is_runner_file("pytest/__main__.py") && is_runner_file("nose2.py"));
        for (path, whole) in [
            ("pytest/__init__.py", "pytest"),
            ("a/json/__main__.py", "a/json"),
            ("json/__init__.abi3.so", "json"),
            ("json.py", "json.py"),
            ("tests/conftest.py", "tests/conftest.py"),
        ] {
            assert_eq!(whole_package(path), whole);
        }
    }

    #[test]
    fn a_module_of_a_package_shadows_nothing_under_its_own_name() {
        let has = |path: &str| ["calc/__init__.py", "calc/io/__init__.py"].contains(&path);
        for (path, package) in [
            ("calc/json.py", Some("calc")),
            ("calc/io/__init__.py", Some("calc")),
            ("calc/io/types.py", Some("calc/io")),
            ("json.py", None),
            ("json/__init__.py", None),
            ("tests/json.py", None),
            ("calc/conftest.py", None),
            ("calc/pytest.ini", None),
            ("calc/stdio.h", None),
        ] {
            assert_eq!(package_of_shadow(path, has), package, "{path}");
        }
    }

    #[test]
    fn modules_in_place_of_directories_links_and_programs_are_known() {
        let paths = [
            "app.py",
            "app/tests/test_a.py",
            "lib.py",
            "lib/__init__.py",
            "lib/a.py",
            "data/-q/-v/a",
            "node_modules/.bin/mocha",
            "node_modules/mocha/x.js",
            "select",
            "subprocess",
            "x.py",
        ];
        let paths = paths.map(str::to_owned).into_iter().collect();
        let links = ["subprocess".to_owned()].into_iter().collect();
        let found: Vec<_> = runner_files_of(&paths, &links).into_iter().collect();
        assert_eq!(found, ["app.py", "data/-q", "node_modules/.bin/mocha", "subprocess"]);
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
            ".mocharc.jsonc",
            "jest.config.json",
            "a/babel.config.cjs",
            ".rspec-local",
            "phpunit.dist.xml",
            ".mvn/extensions.xml",
            "Directory.Build.targets",
            "_pytest/__init__.py",
            "sitecustomize/__init__.py",
            "x.dist-info/entry_points.txt",
            "org.py",
            "org/__init__.py",
            "a/org/python/core.py",
            "META-INF/services/javax.annotation.processing.Processor",
            "src/META-INF/services/org.junit.platform.launcher.TestExecutionListener",
            "assert.h",
            "include/stdio.h",
            "a/cassert",
            "stdc-predef.h",
            "include/features.h",
            "sys/cdefs.h",
            "include/bits/types.h",
            "bits/types/FILE.h",
            "_winapi.py",
            "tests/_ctypes.py",
            "vms_lib.py",
            "java/lang.py",
            "_sysconfigdata__linux_x86_64-linux-gnu.py",
            "src/test/resources/junit-platform.properties",
            ".env",
            "go.env",
            "config/app.env",
            ".env.test",
            "babel.config.json",
            "features/environment.py",
            "ci.runsettings",
            "-q",
            "src/b --help c.py",
            "b.txt; exit 0; .txt",
            ">a.txt",
            "apport_python_hook.py",
            "src/_distutils_hack/__init__.py",
            "include/err.h",
            "cases/--files-with-matches",
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
            ".prettierrc",
            "src/config.js",
            "app.config.json",
            "tailwind.config.js",
            "org/python/other/core.py",
            "META-INF/MANIFEST.MF",
            "META-INF/LICENSE",
            "src/META-INF/services/README.md",
            "META-INF/services/LICENSE",
            "META-INF/services/app.Plug",
            ".env.example",
            ".shellcheckrc",
            "myassert.h",
            "sys/calc.h",
            "rabbits/a.h",
            "_calc.py",
            "calc/_version.py",
            "src/list",
            "Cargo.toml",
            "a-b",
            "env",
            "app.env.md",
        ] {
            assert!(!is_runner_file(path), "{path}");
        }
    }
}
