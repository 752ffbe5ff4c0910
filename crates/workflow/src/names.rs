//! Rules for names and paths in a definition.

/// `^[a-z][a-z0-9-]*$`
pub(crate) fn is_agent(name: &str) -> bool {
    matches(
        name,
        |first| first.is_ascii_lowercase(),
        |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-',
    )
}

/// `^[a-z][a-z0-9_-]*$`
pub(crate) fn is_parameter(name: &str) -> bool {
    let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    matches(name, |first| first.is_ascii_lowercase(), rest)
}

/// `^[A-Za-z][A-Za-z0-9_-]*$`
pub(crate) fn is_step(name: &str) -> bool {
    let rest = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    matches(name, |first| first.is_ascii_alphabetic(), rest)
}

/// `^[A-Za-z_][A-Za-z0-9_-]*$`
pub(crate) fn is_variable(name: &str) -> bool {
    let rest = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    matches(name, |first| first.is_ascii_alphabetic() || first == '_', rest)
}

/// `^[A-Za-z_][A-Za-z0-9_]*$`
pub(crate) fn is_environment(name: &str) -> bool {
    is_variable(name) && !name.contains('-')
}

/// `^\d+\.\d+\.\d+$`
pub(crate) fn is_version(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    text.split('.').count() == 3 && text.split('.').all(is_number)
}

/// Whether this is a relative path with `/` between its parts that cannot leave its directory.
pub(crate) fn is_path_below(path: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    !path.contains(['\\', ':', '\0']) && path.split('/').all(is_plain)
}

fn matches(name: &str, first: impl Fn(char) -> bool, rest: impl Fn(char) -> bool) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(first) && chars.all(rest)
}

#[cfg(test)]
mod tests {
    use super::{is_agent, is_environment, is_parameter, is_path_below, is_step, is_variable, is_version};

    #[test]
    fn names_contain_only_allowed_characters() {
        assert!(
            is_agent("fix-2") && !is_agent("Fix") && !is_agent("") && !is_agent("../fix") && !is_agent("2x")
        );
        assert!(is_parameter("a_b-c") && !is_parameter("aB") && !is_parameter("_a"));
        assert!(is_step("Fix_it-2") && !is_step("fix.it") && !is_step("_fix"));
        assert!(is_variable("_x-1") && is_environment("_X") && !is_environment("X-Y") && !is_variable("é"));
    }

    #[test]
    fn a_version_has_three_numbers() {
        assert!(is_version("1.0.22"));
        for wrong in ["1.0", "v1.0.0", "1.0.0-rc", "1..0", "1.0.0.0", ""] {
            assert!(!is_version(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_path_stays_below_its_directory() {
        assert!(is_path_below("a/b.md"));
        for wrong in ["", "/a", "a/../b", "..", "./a", "a//b", "a/", "c:\\x", "a\\b", "a\0"] {
            assert!(!is_path_below(wrong), "{wrong}");
        }
    }
}
