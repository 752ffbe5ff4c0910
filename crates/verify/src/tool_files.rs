//! Names of files that tools read by themselves, of compiled files, and of common commands. They are only named, while those of
//! [`crate::runner_files`] must also not appear beside tests for a moment.

/// Names of files, wherever they are.
const TOOL_FILES: [&str; 7] = [
    ".jvmopts",
    ".pnp.loader.mjs",
    "junit-platform.properties",
    "setup_suite.bash",
    "test_helper.bash",
    "test_helper.rb",
    "testng.xml",
];

pub(crate) fn is_tool_file(path: &str) -> bool {
    TOOL_FILES.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// Names of settings that only some tools read, whole or without what follows a dot, and words of commands that run such a tool.
#[rustfmt::skip]
const SETTINGS_OF: &[(&[&str], &[&str])] = &[
    (&[".agignore"], &["ag"]),
    (&[".bandit"], &["bandit"]),
    (&[".clang-format"], &["clang-format", "git-clang-format"]),
    (&[".clang-tidy"], &["clang-tidy"]),
    (&[".clippy", "clippy"], &["clippy", "cargo-clippy"]),
    (&[".codespellrc"], &["codespell"]),
    (&[".credo"], &["credo"]),
    (&[".editorconfig"], &["dotnet", "eclint", "editorconfig", "editorconfig-checker", "ktlint", "prettier", "shfmt"]),
    (&[".eslintignore", ".eslintrc", "eslint.config"], &["eslint"]),
    (&[".fdignore"], &["fd", "fdfind"]),
    (&[".flake8"], &["flake8"]),
    (&[".gitattributes", ".gitignore"], &["ag", "fd", "fdfind", "git", "rg"]),
    (&[".golangci"], &["golangci-lint"]),
    (&[".hadolint"], &["hadolint"]),
    (&[".ignore", ".rgignore"], &["ag", "fd", "fdfind", "rg"]),
    (&[".isort"], &["isort"]),
    (&[".jshintrc"], &["jshint"]),
    (&[".markdownlint", ".markdownlint-cli2"], &["markdownlint", "markdownlint-cli2", "mdl"]),
    (&[".mypy", "mypy"], &["dmypy", "mypy"]),
    (&[".perlcriticrc"], &["perlcritic"]),
    (&[".perltidyrc"], &["perltidy"]),
    (&[".php-cs-fixer"], &["php-cs-fixer"]),
    (&[".pre-commit-config"], &["pre-commit", "prek"]),
    (&[".prettierignore", ".prettierrc", "prettier.config"], &["prettier"]),
    (&[".pydocstyle"], &["pydocstyle"]),
    (&[".pylintrc", "pylintrc"], &["pylint"]),
    (&[".rubocop"], &["rubocop"]),
    (&[".ruff", "ruff"], &["ruff"]),
    (&[".rustfmt", "rustfmt"], &["fmt", "rustfmt"]),
    (&[".scalafmt"], &["scalafmt", "scalafmtCheck", "scalafmtCheckAll"]),
    (&[".shellcheckrc"], &["shellcheck"]),
    (&[".stylelintignore", ".stylelintrc", "stylelint.config"], &["stylelint"]),
    (&[".swiftlint"], &["swiftlint"]),
    (&[".yamllint"], &["yamllint"]),
    (&["biome"], &["biome"]),
    (&["build.gradle", "build.gradle.kts", "gradle.properties", "settings.gradle", "settings.gradle.kts"], &["gradle", "gradlew"]),
    (&["build.sbt"], &["sbt"]),
    (&["checkstyle"], &["checkstyle"]),
    (&["compose", "docker-compose"], &["docker", "docker-compose", "podman", "podman-compose"]),
    (&["detekt"], &["detekt"]),
    (&["dprint"], &["dprint"]),
    (&["jest.setup", "setupTests", "vitest.setup"], &["jest", "npm", "npx", "pnpm", "vitest", "yarn"]),
    (&["mix"], &["mix"]),
    (&["nx", "project"], &["nx"]),
    (&["phpstan"], &["phpstan"]),
    (&["pom"], &["mvn", "mvnd", "mvnw"]),
    (&["psalm"], &["psalm"]),
    (&["pyrightconfig"], &["basedpyright", "pyright"]),
    (&["tslint"], &["tslint"]),
    (&["turbo"], &["turbo"]),
];

/// Endings of settings.
const SETTINGS_ENDINGS: [&str; 18] = [
    "", "cfg", "cjs", "conf", "dist", "exs", "ini", "js", "json", "json5", "jsonc", "mjs", "neon", "php",
    "toml", "ts", "xml", "yaml",
];

const AWK: &[&str] = &["awk", "gawk", "mawk", "nawk"];

/// Words of commands that run the tools which read a file by itself, if only those do. Awk takes `x=1` for a value.
pub(crate) fn readers_of(path: &str) -> Option<&'static [&'static str]> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_name = |listed: &&str| {
        let rest = name.strip_prefix(*listed)?;
        let ending = if rest.is_empty() { rest } else { rest.strip_prefix('.')? };
        let ending = ending.rsplit('.').next().unwrap_or(ending);
        Some(SETTINGS_ENDINGS.contains(&ending) || ending == "yml").filter(|is_settings| *is_settings)
    };
    let listed = SETTINGS_OF.iter().find(|(names, _)| names.iter().any(|listed| is_name(listed).is_some()));
    let is_value = || {
        name.split_once('=').is_some_and(|(variable, _)| {
            !variable.is_empty() && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    listed.map(|(_, tools)| *tools).or_else(|| is_value().then_some(AWK))
}

/// Endings of what compilers make: headers, libraries, objects, archives, classes and bytecode.
const COMPILED: [&str; 20] = [
    "a", "class", "dll", "dylib", "elc", "exe", "gch", "jar", "lib", "node", "o", "obj", "pch", "pcm", "pyc",
    "pyd", "pyo", "rlib", "so", "war",
];

/// By the end of its name, or that of a library with its version (`libcalc.so.1`).
pub(crate) fn is_compiled(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let versioned = name.split_once(".so.").map(|(_, version)| version);
    ending.is_some_and(|ending| COMPILED.contains(&ending))
        || versioned.is_some_and(|version| version.split('.').all(|part| part.parse::<u32>().is_ok()))
}

/// Commands that tests and build rules start by their names, from wherever the search path says.
#[rustfmt::skip]
const COMMANDS: [&str; 244] = [
    "R", "Rscript", "activate", "ag", "ant", "ar", "as", "awk", "b2sum", "base32", "base64", "basename",
    "bash", "bats", "bc", "black", "bun", "bundle", "busted", "bzip2", "c++", "cabal", "cargo", "cat",
    "cc", "chmod", "cksum", "clang", "clang++", "clang-format", "clang-tidy", "cmake", "cmp", "colordiff",
    "column", "comm", "composer", "coverage", "cp", "crystal", "csc", "csplit", "ctest", "curl", "cut",
    "dash", "date", "dc", "dd", "deno", "diff", "dirname", "docker", "dos2unix", "dotnet", "dune", "echo",
    "egrep", "elixir", "env", "erl", "eslint", "expand", "expr", "factor", "false", "fd", "fgrep", "find",
    "fish", "flake8", "fmt", "fold", "g++", "gawk", "gcc", "gdb", "ghc", "git", "go", "gpg", "gradle",
    "gradlew", "grep", "groovy", "gunzip", "gzip", "hadolint", "head", "hexdump", "hostname", "iconv",
    "id", "isort", "java", "javac", "javap", "jest", "join", "jq", "julia", "kill", "kotlin", "kotlinc",
    "ksh", "ld", "ln", "ls", "lua", "luajit", "make", "markdownlint", "mawk", "md5sum", "meson", "mix",
    "mkdir", "mkfifo", "mktemp", "mocha", "mono", "mv", "mvn", "mvnw", "mypy", "mysql", "nawk", "nim",
    "ninja", "nl", "nm", "node", "node18", "nose2", "nox", "npm", "nproc", "npx", "numfmt", "objdump",
    "ocaml", "od", "openssl", "paste", "patch", "perl", "php", "phpunit", "pip", "pip3", "pnpm", "poetry",
    "pr", "prettier", "printf", "prove", "psql", "pwd", "pylint", "pytest", "python", "python2", "python3",
    "rake", "readelf", "readlink", "realpath", "redis-cli", "rev", "rg", "rm", "rspec", "ruby", "ruff",
    "runghc", "rustc", "rustup", "sbt", "scala", "sdiff", "sed", "seq", "sh", "sha1sum", "sha224sum",
    "sha256sum", "sha384sum", "sha512sum", "shellcheck", "shuf", "sleep", "sort", "split", "sqlite3",
    "stack", "stat", "stdbuf", "strace", "strings", "sum", "swift", "tac", "tail", "tap", "tar", "tclsh",
    "tee", "test", "time", "timeout", "touch", "tox", "tr", "true", "truncate", "tsc", "tsort", "uname",
    "unexpand", "uniq", "unzip", "uv", "uvx", "valgrind", "vitest", "wc", "wdiff", "wget", "which",
    "whoami", "xargs", "xmllint", "xxd", "xz", "yamllint", "yarn", "yq", "zcat", "zcmp", "zdiff", "zgrep",
    "zig", "zip", "zsh",
];

pub(crate) fn is_common_command(name: &str) -> bool {
    COMMANDS.contains(&name)
}

/// Classes of `java.lang` that programs use without an import. One in the default package is taken instead.
const JAVA_LANG: [&str; 36] = [
    "AssertionError",
    "Boolean",
    "Byte",
    "Character",
    "Class",
    "ClassLoader",
    "Double",
    "Enum",
    "Error",
    "Exception",
    "Float",
    "IllegalArgumentException",
    "IllegalStateException",
    "IndexOutOfBoundsException",
    "Integer",
    "Iterable",
    "Long",
    "Math",
    "NullPointerException",
    "Number",
    "NumberFormatException",
    "Object",
    "Override",
    "Process",
    "ProcessBuilder",
    "Record",
    "Runnable",
    "Runtime",
    "RuntimeException",
    "Short",
    "StackTraceElement",
    "String",
    "StringBuilder",
    "System",
    "Thread",
    "Throwable",
];

/// Whether a source or class has the name of one of them.
pub(crate) fn is_of_java_lang(name: &str) -> bool {
    let class = name.strip_suffix(".java").or_else(|| name.strip_suffix(".class"));
    class.is_some_and(|class| JAVA_LANG.contains(&class))
}

#[cfg(test)]
mod tests {
    use super::{is_common_command, is_compiled, is_of_java_lang, is_tool_file, readers_of};

    #[test]
    fn names_are_known() {
        for name in
            ["a.o", "x.h.gch", "libx.a", "libx.so", "libx.so.1.2", "A.class", "x.jar", "m.pyc", "m.node"]
        {
            assert!(is_compiled(name), "{name}");
        }
        for name in ["a.c", "a", "so", "x.so.conf", "notes.so.txt", "java"] {
            assert!(!is_compiled(name), "{name}");
        }
        assert!(is_tool_file("a/testng.xml") && !is_tool_file("my.ini"));
        for (path, tool) in [
            ("a/.gitattributes", "git"),
            ("mypy.ini", "mypy"),
            (".eslintrc", "eslint"),
            ("web/.eslintrc.base.json", "eslint"),
            ("eslint.config.mjs", "eslint"),
            (".rustfmt.toml", "rustfmt"),
            (".clippy.toml", "clippy"),
            ("phpstan.neon.dist", "phpstan"),
            (".golangci.yml", "golangci-lint"),
            ("data/bad=-9.txt", "awk"),
        ] {
            assert!(readers_of(path).is_some_and(|tools| tools.contains(&tool)), "{path}");
        }
        for path in
            ["ruff.py", "mypy/main.py", "src/clippy.rs", "a=b/c.txt", ".mocharc.json", "=x", "biome.md"]
        {
            assert_eq!(readers_of(path), None, "{path}");
        }
        assert!(is_common_command("sh") && is_common_command("clang++") && !is_common_command("calc"));
        assert!(is_of_java_lang("String.java") && is_of_java_lang("Math.class"));
        assert!(!is_of_java_lang("Strings.java") && !is_of_java_lang("String.kt"));
    }
}
