//! Names of files that tools read by themselves, of compiled files, and of common commands. They are only named, while those of
//! [`crate::runner_files`] must also not appear beside tests for a moment.

/// Ends of paths, wherever they are.
const TOOL_FILES: [&str; 18] = [
    ".eslintignore",
    ".flake8",
    ".gitattributes",
    ".ignore",
    ".jvmopts",
    ".mypy.ini",
    ".pnp.loader.mjs",
    ".rgignore",
    ".rubocop.yml",
    ".ruff.toml",
    "clippy.toml",
    "junit-platform.properties",
    "mypy.ini",
    "ruff.toml",
    "setup_suite.bash",
    "test_helper.bash",
    "test_helper.rb",
    "testng.xml",
];

pub(crate) fn is_tool_file(path: &str) -> bool {
    TOOL_FILES.contains(&path.rsplit('/').next().unwrap_or(path))
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
const COMMANDS: [&str; 114] = [
    "activate", "ar", "as", "awk", "basename", "bash", "bats", "bun", "bundle", "busted", "c++", "cargo",
    "cat", "cc", "chmod", "clang", "clang++", "cmake", "cmp", "comm", "composer", "coverage", "cp",
    "ctest", "curl", "cut", "date", "deno", "diff", "dirname", "docker", "dotnet", "echo", "egrep", "env",
    "expr", "false", "fgrep", "find", "g++", "gawk", "gcc", "git", "go", "gradle", "gradlew", "grep",
    "head", "java", "javac", "jest", "jq", "ld", "ln", "ls", "make", "meson", "mix", "mkdir", "mktemp",
    "mocha", "mv", "mvn", "mvnw", "ninja", "node", "nose2", "nox", "npm", "npx", "perl", "php", "phpunit",
    "pip", "pnpm", "poetry", "printf", "prove", "pytest", "python", "python3", "rake", "rm", "rspec",
    "ruby", "rustc", "rustup", "sbt", "sed", "seq", "sh", "sleep", "sort", "stat", "swift", "tail", "tap",
    "tee", "test", "timeout", "touch", "tox", "tr", "true", "uname", "uniq", "uv", "uvx", "vitest", "wc",
    "which", "xargs", "yarn", "zig",
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
    use super::{is_common_command, is_compiled, is_of_java_lang, is_tool_file};

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
        assert!(is_tool_file("a/.gitattributes") && is_tool_file("mypy.ini") && !is_tool_file("my.ini"));
        assert!(is_common_command("sh") && is_common_command("clang++") && !is_common_command("calc"));
        assert!(is_of_java_lang("String.java") && is_of_java_lang("Math.class"));
        assert!(!is_of_java_lang("Strings.java") && !is_of_java_lang("String.kt"));
    }
}
