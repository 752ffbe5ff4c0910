//! Names by which test runners find tests.

/// Endings of programs whose tests have names such as `a.test.js` and `a.spec.ts`.
const SCRIPTS: [&str; 8] = ["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"];

/// Whether a test runner that looks for tests would load it.
pub(crate) fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let begins = |starts: &[&str]| starts.iter().any(|start| stem.starts_with(start));
    let ends = |ends: &[&str]| ends.iter().any(|end| stem.ends_with(end));
    match ending {
        "py" => begins(&["test"]) || ends(&["_test"]),
        "rb" => begins(&["test_"]) || ends(&["_spec", "_test"]),
        "go" => ends(&["_test"]),
        "lua" | "dart" | "exs" => ends(&["_spec", "_test"]),
        "groovy" | "java" | "kt" | "php" | "scala" => {
            ends(&["Test", "TestCase", "Tests"]) || is_java_test(stem)
        }
        "bats" | "t" => true,
        _ if SCRIPTS.contains(&ending) => {
            let is_word = |word: &str| ["spec", "test"].contains(&word);
            let words = || stem.split(['.', '-', '_']);
            words().next_back().is_some_and(is_word)
                || words().next() == Some("test")
                || ["/__tests__/", "/test/"].iter().any(|part| format!("/{path}").contains(part))
        }
        _ => false,
    }
}

/// `TestCalc`, not `Testimony`.
fn is_java_test(class: &str) -> bool {
    class.strip_prefix("Test").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::is_test_file;

    #[test]
    fn tests_are_known_by_their_names() {
        for path in [
            "test_a.py",
            "x/testa.py",
            "a_test.py",
            "a_spec.rb",
            "test_a.rb",
            "a_test.go",
            "a.test.js",
            "src/a.spec.tsx",
            "test.js",
            "test-a.mjs",
            "a_test.cjs",
            "__tests__/a.js",
            "pkg/test/a.js",
            "src/test/java/ATest.java",
            "ATest.php",
            "TestA.java",
            "t/a.t",
            "a.bats",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "calc.py",
            "contest.py",
            "latest.js",
            "testing.js",
            "test.md",
            "a.go",
            "Contest.java",
            "Testimony.java",
            "t",
            "test/a.py",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
