//! Says why a program did not find SPEC.md while a check ran: the expected results are not in the checkout, which its own error message
//! does not explain.

use crate::refused_write::names_path_in;

const HIDDEN: [&str; 2] = ["SPEC.md", ".autonoe"];

/// How programs say that a file is not there, in lower case.
const MISSING: [&str; 8] = [
    "no such file",
    "nosuchfile",
    "enoent",
    "not found",
    "cannot find",
    "cannot open",
    "does not exist",
    "no rule to make target",
];

/// A sentence for the agent; `None` if the output has no such error about these files.
pub(crate) fn hidden_files(output: &str) -> Option<String> {
    let names_hidden = |line: &str| HIDDEN.iter().any(|path| names_path_in(line, path));
    let says_missing = |line: &str| {
        let line = line.to_lowercase();
        MISSING.iter().any(|words| line.contains(words))
    };
    output.lines().any(|line| names_hidden(line) && says_missing(line)).then(|| {
        "SPEC.md and `.autonoe/` are not in the checkout that checks see: let the program read another file.".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::hidden_files;

    #[test]
    fn only_errors_about_hidden_files_are_explained() {
        for (output, is_explained) in [
            ("x\ncat: SPEC.md: No such file or directory\n", true),
            ("FileNotFoundError: [Errno 2] No such file or directory: '/tmp/a/tree/SPEC.md'", true),
            ("Error: ENOENT: no such file or directory, open 'SPEC.md'", true),
            ("open .autonoe/status.json: no such file or directory", true),
            ("make: *** No rule to make target 'SPEC.md', needed by 'doc'.  Stop.", true),
            ("java.nio.file.NoSuchFileException: SPEC.md", true),
            ("cat: MYSPEC.md: No such file or directory", false),
            ("see SPEC.md\ncat: a: No such file or directory", false),
            ("SPEC.md has 3 parts", false),
        ] {
            assert_eq!(hidden_files(output).is_some(), is_explained, "{output}");
        }
    }
}
