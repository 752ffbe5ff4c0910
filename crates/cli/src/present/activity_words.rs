//! What an agent does with a tool call, in the words of the activity line. Guesses from names and commands; nothing depends on it.

use std::path::Path;

use autonoe_core::gate::ToolCall;

/// `running tests`, `editing main.rs`. Has no arguments of commands, which may contain secrets.
pub fn activity_of(call: &ToolCall) -> String {
    if let Some(command) = call.command() {
        return match (runs_tests(&command), program(&command)) {
            (true, _) => "running tests".to_owned(),
            (false, Some(name)) => format!("running {name}"),
            (false, None) => "running a command".to_owned(),
        };
    }
    let short_name = call.name.rsplit("__").next().unwrap_or(&call.name);
    let claims = call.input.get("status").and_then(serde_json::Value::as_str) == Some("passed");
    match (call.name.starts_with("mcp__autonoe__"), short_name) {
        (true, "set_status") if claims => "running checks".to_owned(),
        (true, "set_status" | "verify" | "review" | "deprecate") => "updating deliverables".to_owned(),
        (true, "create") => "planning".to_owned(),
        (true, "list") => "reading the plan".to_owned(),
        (false, "Read") => format!("reading {}", file(call)),
        (false, "Write" | "Edit" | "MultiEdit" | "NotebookEdit") => format!("editing {}", file(call)),
        (false, "Glob" | "Grep") => "searching files".to_owned(),
        (false, "WebFetch" | "WebSearch") => "reading the web".to_owned(),
        (_, name) => format!("using {name}"),
    }
}

/// The name of the file that a call is about.
fn file(call: &ToolCall) -> String {
    let path = call.subject().map(Path::new).and_then(Path::file_name);
    path.map_or_else(|| "a file".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Programs that only run tests.
const TEST_RUNNERS: [&str; 12] = [
    "pytest", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "tox", "nox", "bats", "nextest",
    "unittest",
];

/// Programs that run tests among other things, when one of their first words says so.
const BUILD_TOOLS: [&str; 21] = [
    "cargo", "npm", "npx", "pnpm", "yarn", "bun", "deno", "go", "make", "just", "mvn", "gradle", "gradlew",
    "dotnet", "mix", "swift", "python", "python3", "uv", "poetry", "bundle",
];

const INTERPRETERS: [&str; 6] = ["sh", "bash", "node", "python", "python3", "ruby"];

/// Words after a build tool's name that may say what it does.
const FIRST_WORDS: usize = 4;

fn runs_tests(command: &str) -> bool {
    simple_commands(command).any(|words| {
        let Some((program, rest)) = words.split_first() else { return false };
        let mut first_words = rest.iter().filter(|word| !word.starts_with('-')).take(FIRST_WORDS);
        let is_test_file = |word: &&str| base_name(word).to_lowercase().contains("test");
        TEST_RUNNERS.contains(program)
            || INTERPRETERS.contains(program) && first_words.clone().next().is_some_and(is_test_file)
            || BUILD_TOOLS.contains(program) && first_words.any(|word| names_tests(word))
            || program.starts_with("test") && program.ends_with(".sh")
            || program.contains("run_tests")
            || program.contains("run-tests")
    })
}

fn names_tests(word: &str) -> bool {
    matches!(word, "test" | "tests" | "check") || word.starts_with("test:") || TEST_RUNNERS.contains(&word)
}

/// The first program of a command line.
fn program(command: &str) -> Option<&str> {
    simple_commands(command).find_map(|words| words.first().copied())
}

/// Each command of a line: the name of its program and its words, without the variables in front. Quotes are not understood.
fn simple_commands(command: &str) -> impl Iterator<Item = Vec<&str>> {
    command.split(['\n', ';', '|', '&', '(', ')']).filter_map(|part| {
        let words = part.split_whitespace().skip_while(|word| word.contains('=') || *word == "time");
        let mut words: Vec<&str> = words.collect();
        // Entering a directory comes before what is done there.
        if words.first() == Some(&"cd") {
            return None;
        }
        let program = words.first_mut()?;
        *program = base_name(program);
        Some(words)
    })
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::activity_of;
    use autonoe_core::gate::ToolCall;
    use serde_json::{Value, json};

    fn shown(name: &str, input: Value) -> String {
        activity_of(&ToolCall { id: "1".to_owned(), name: name.to_owned(), input })
    }

    #[test]
    fn commands_that_test_are_called_tests() {
        for command in [
            "cargo test -p core",
            "cd sub && cargo nextest run",
            "RUST_BACKTRACE=1 cargo test 2>&1 | tail -5",
            "npm test",
            "npm run test:unit",
            "python -m pytest -q",
            "uv run pytest",
            "go test ./...",
            "make check",
            "./gradlew test",
            "sh tests/test_calc.sh",
            "./run_tests.sh",
        ] {
            assert_eq!(shown("Bash", json!({ "command": command })), "running tests", "{command}");
        }
        for (command, words) in [
            ("cargo build", "running cargo"),
            ("TOKEN=abc /usr/bin/git commit -m 'Add a test'", "running git"),
            ("cat test.txt", "running cat"),
            ("cd sub; ls", "running ls"),
            ("", "running a command"),
        ] {
            assert_eq!(shown("Bash", json!({ "command": command })), words, "{command}");
        }
        assert_eq!(shown("shell", json!({ "command": ["bash", "-lc", "ls"] })), "running bash");
    }

    #[test]
    fn tools_have_plain_names() {
        for (name, input, words) in [
            (
                "mcp__autonoe__set_status",
                json!({ "deliverableId": "A", "status": "passed" }),
                "running checks",
            ),
            ("mcp__autonoe__set_status", json!({ "status": "blocked" }), "updating deliverables"),
            ("mcp__autonoe__create", json!({}), "planning"),
            ("mcp__playwright__browser_click", json!({}), "using browser_click"),
            ("Read", json!({ "file_path": "/a/b/main.rs" }), "reading main.rs"),
            ("Edit", json!({}), "editing a file"),
            ("TodoWrite", json!({}), "using TodoWrite"),
        ] {
            assert_eq!(shown(name, input), words, "{name}");
        }
    }
}
