//! Says why a program could not write while a check ran: what is in a protected directory is read-only then, which its own error message
//! does not explain.

use std::collections::BTreeSet;

use autonoe_core::file_names::list_names;
use autonoe_store::CheckRegistry;

use crate::protect_pattern::ProtectPattern;

const REFUSALS: [&str; 2] = ["Read-only file system", "Permission denied"];

/// A sentence for the agent; `None` if the output has no such error about a protected directory.
pub(crate) fn refused_write(output: &str, registry: &CheckRegistry) -> Option<String> {
    let refused: Vec<&str> =
        output.lines().filter(|line| REFUSALS.iter().any(|words| line.contains(words))).collect();
    if refused.is_empty() {
        return None;
    }
    let patterns = registry.globs.iter().filter_map(|glob| ProtectPattern::parse(glob).ok());
    let closed = patterns.filter_map(|pattern| pattern.closed_path()).map(|path| path.to_string());
    let named: BTreeSet<String> =
        closed.filter(|path| refused.iter().any(|line| names_path_in(line, path))).collect();
    let shown =
        list_names(named.iter().map(
            |path| match registry.files.keys().any(|file| file.to_string() == *path) {
                true => format!("`{path}`"),
                false => format!("`{path}/`"),
            },
        ));
    (!named.is_empty()).then(|| {
        format!(
            "Files in {shown} are protected while checks run, so nothing can be written there: write to another directory."
        )
    })
}

/// Whether a line names something in a directory, or the directory, with whatever path leads there.
pub(crate) fn names_path_in(line: &str, directory: &str) -> bool {
    let directory = directory.trim_start_matches("../");
    let words = line.split(|c: char| c.is_whitespace() || "\"'`‘’:;,()[]".contains(c));
    words.into_iter().any(|word| {
        let at = word.match_indices(directory).map(|(at, _)| (&word[..at], &word[at + directory.len()..]));
        at.into_iter().any(|(ahead, behind)| {
            (ahead.is_empty() || ahead.ends_with('/')) && (behind.is_empty() || behind.starts_with('/'))
        })
    })
}

#[cfg(test)]
mod tests {
    use autonoe_store::CheckRegistry;

    use super::refused_write;

    #[test]
    fn only_errors_about_protected_directories_are_explained() {
        let mut registry = CheckRegistry::default();
        registry.globs.extend(["tests/**".to_owned(), "../shared/data/**".to_owned()]);
        for (output, named) in [
            ("x\nsh: 1: cannot create tests/out.txt: Read-only file system\n", Some("`tests/`")),
            ("OSError: [Errno 30] Read-only file system: '/tmp/a/tree/tests/x'", Some("`tests/`")),
            ("mkdir: cannot create directory ‘tests/x’: Permission denied", Some("`tests/`")),
            ("touch: ../shared/data/x: Read-only file system", Some("`../shared/data/`")),
            ("touch: out/x: Permission denied", None),
            ("touch: mytests/x: Permission denied", None),
            ("tests/x failed", None),
        ] {
            let found = refused_write(output, &registry);
            assert_eq!(found.is_some(), named.is_some(), "{output}: {found:?}");
            assert!(found.unwrap_or_default().contains(named.unwrap_or_default()), "{output}");
        }
    }
}
